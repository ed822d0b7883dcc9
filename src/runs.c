/*-------------------------------------------------------------------------
 *
 * runs.c
 *	  The runs of fingerprints that a partition remembers.
 *
 * New fingerprints stand in the newest version of the partition's memory, at
 * most RECENT_PRINTS of them; the push that has no room there writes all of them
 * as a run, sorted by hash. When 4 or 16 runs of about one size stand side by
 * side they are merged into one, so an id is written a handful of times and a
 * partition has few runs, in the order of time. Runs are never changed, and go
 * as a whole when all in them is older than the window.
 *
 * A run is cut by hash into slots, one row each, of about SLOT_PRINTS
 * fingerprints: the filter in the row, the fingerprints beside it (TOAST). To
 * look for a thousand ids reads each filter once, in order, where it is in its
 * page; a single id reads one row of a run. Fingerprints are read only where a
 * filter says "perhaps", and of them only the stretch where the hash must be,
 * since hashes are spread evenly. A session that looks up many ids in a large
 * partition asks a filter of its own first (known.c).
 *
 * Who calls holds the partition's append lock.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "compat.h"
#include "known.h"
#include "runs.h"

#define RECENT_PRINTS	16
#define SLOT_PRINTS		4480

/* A row with fewer fingerprints has no filter: they are in the row. */
#define FILTER_PRINTS	64

/* Sizes are of one level up to a factor of 8; runs of the top level stay as they are. */
#define LARGE_LEVEL		3
#define TOP_LEVEL		5

/* How many runs are merged into one: of large ones more, as that writes more. */
#define FANOUT(level)	((level) < LARGE_LEVEL ? 4 : 16)

/* How far from where evenly spread hashes have it a fingerprint is looked for. */
#define STRETCH			96

/* Expired runs that one push removes. */
#define EXPIRE_LIMIT	1

/* Adds a hit. */
static void
add_hit(QueenHits *hits, const QueenPrint *sought, const QueenPrint *found)
{
	if (hits->count == hits->room)
	{
		hits->room = Max(hits->room * 2, 16);
		hits->hits = hits->hits ?
			repalloc_huge(hits->hits, sizeof(QueenHit) * hits->room) :
			palloc(sizeof(QueenHit) * hits->room);
	}
	hits->hits[hits->count].sought = sought->place;
	hits->hits[hits->count++].place = found->place;
}

/* Looks for one fingerprint in a sorted set. */
static void
search_prints(const QueenPrint *prints, uint32 count, TimestampTz horizon,
			  const QueenPrint *sought, QueenHits *hits)
{
	for (uint32 i = queen_prints_find(prints, count, sought->hash);
		 i < count && prints[i].hash == sought->hash; i++)
	{
		if (queen_print_equal(&prints[i], sought) && queen_print_time(&prints[i]) >= horizon)
			add_hit(hits, sought, &prints[i]);
	}
}

/* Raises for bytes that are not what was written. */
static void
report_damage(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("unexpected length of a value in \"queen.dedup_run\"")));
}

/* How many fingerprints a stored value has. */
static uint32
count_prints(Datum entries)
{
	size_t		size = toast_raw_datum_size(entries) - VARHDRSZ;

	if (size % sizeof(QueenPrint) != 0)
		report_damage();
	return (uint32) (size / sizeof(QueenPrint));
}

/* Some fingerprints of a stored value, aligned. */
static QueenPrint *
read_prints(Datum entries, uint32 first, uint32 count)
{
	bytea	   *slice = DatumGetByteaPSlice(entries, first * sizeof(QueenPrint),
											count * sizeof(QueenPrint));
	QueenPrint *prints = palloc(count * sizeof(QueenPrint) + 1);

	if (VARSIZE_ANY_EXHDR(slice) != count * sizeof(QueenPrint))
		report_damage();
	memcpy(prints, VARDATA_ANY(slice), count * sizeof(QueenPrint));
	if ((Pointer) slice != DatumGetPointer(entries))
		pfree(slice);
	return prints;
}

/*
 * Looks for a fingerprint that a filter let pass: in the stretch where it must
 * be, or in all of the row where that turns out not to hold it.
 */
static void
search_entries(const QueenRun *run, Datum entries, TimestampTz horizon,
			   const QueenPrint *sought, QueenHits *hits)
{
	uint32		count = count_prints(entries);
	uint64		within = ((sought->hash >> 32) * run->slots) & 0xffffffff;
	uint32		middle = (uint32) ((within * count) >> 32);
	uint32		first = middle > STRETCH ? middle - STRETCH : 0;
	uint32		last = Min(middle + STRETCH, count);
	QueenPrint *prints = read_prints(entries, first, last - first);

	if ((first > 0 && prints[0].hash >= sought->hash) ||
		(last < count && prints[last - first - 1].hash <= sought->hash))
	{
		pfree(prints);
		first = 0;
		last = count;
		prints = read_prints(entries, first, last);
	}
	search_prints(prints, last - first, horizon, sought, hits);
	pfree(prints);
}

/* Looks for some fingerprints in a row. */
static void
search_row(const QueenRun *run, const QueenRunRow *row, TimestampTz horizon,
		   const QueenPrint *sought, uint32 count, QueenHits *hits)
{
	QueenPrint *prints = NULL;
	uint32		nprints = 0;

	if (row->filter == NULL)
	{
		nprints = count_prints(row->entries);
		prints = read_prints(row->entries, 0, nprints);
	}
	for (uint32 i = 0; i < count; i++)
	{
		if (row->filter == NULL)
			search_prints(prints, nprints, horizon, &sought[i], hits);
		else if (queen_filter_has(row->filter + queen_print_low_part(sought[i].hash, row->blocks) *
								  QUEEN_FILTER_BLOCK, &sought[i]))
			search_entries(run, row->entries, horizon, &sought[i], hits);
	}
	if (prints)
		pfree(prints);
}

/* How many of the fingerprints, which are sorted, belong to a slot. */
static uint32
count_of_slot(const QueenRun *run, int64 slot, const QueenPrint *prints, uint32 count)
{
	uint32		n = 0;

	while (n < count && queen_print_part(prints[n].hash, run->slots) == slot)
		n++;
	return n;
}

/*
 * Looks for some fingerprints, sorted, in a run: through all rows where there
 * are more than a few for each, else row by row.
 */
static void
search_run(QueenScan *scan, const QueenMemory *memory, const QueenRun *run,
		   TimestampTz horizon, const QueenPrint *sought, uint32 count, QueenHits *hits)
{
	bool		all = count >= run->slots / 2;
	QueenRunRow row;
	uint32		n;

	if (all)
		queen_run_scan_seek(scan, memory->partition_id, run->run, 0, run->slots - 1);
	for (uint32 done = 0; done < count; done += n)
	{
		int64		slot = queen_print_part(sought[done].hash, run->slots);

		n = count_of_slot(run, slot, sought + done, count - done);
		if (!all)
			queen_run_scan_seek(scan, memory->partition_id, run->run, slot, slot);
		do
		{
			if (!queen_run_scan_next(scan, &row))
				ereport(ERROR,
						(errcode(ERRCODE_DATA_CORRUPTED),
						 errmsg("row missing in \"queen.dedup_run\""),
						 errdetail("Partition %lld, run %lld, slot %lld.",
								   (long long) memory->partition_id, (long long) run->run,
								   (long long) slot)));
		} while (row.slot < slot);
		search_row(run, &row, horizon, sought + done, n, hits);
	}
}

/* Reads a whole run, but for what is past; answers how many. */
static uint32
read_run(const QueenMemory *memory, const QueenRun *run, TimestampTz horizon,
		 QueenPrint *prints)
{
	QueenScan	scan;
	QueenRunRow row;
	uint32		count = 0;

	queen_run_scan_begin(&scan);
	queen_run_scan_seek(&scan, memory->partition_id, run->run, 0, run->slots - 1);
	while (queen_run_scan_next(&scan, &row))
	{
		uint32		n = count_prints(row.entries);
		QueenPrint *entries = read_prints(row.entries, 0, n);

		for (uint32 i = 0; i < n && count < run->count; i++)
		{
			if (queen_print_time(&entries[i]) >= horizon)
				prints[count++] = entries[i];
		}
		pfree(entries);
	}
	queen_scan_end(&scan);

	return count;
}

/* Looks for fingerprints, sorted, in the runs. */
static void
search_runs(const QueenMemory *memory, TimestampTz horizon, const QueenPrint *sought,
			uint32 count, QueenHits *hits)
{
	QueenScan	scan;

	queen_run_scan_begin(&scan);
	for (int i = 0; i < memory->nruns; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (memory->runs[i].newest >= horizon)
			search_run(&scan, memory, &memory->runs[i], horizon, sought, count, hits);
	}
	queen_scan_end(&scan);
}

/* Looks for fingerprints, sorted, in all that is remembered since the horizon. */
void
queen_memory_search(const QueenMemory *memory, TimestampTz horizon,
					const QueenPrint *sought, uint32 count, QueenHits *hits)
{
	QueenKnown *known;
	QueenPrint *perhaps;

	for (int i = 0; i < memory->nrecent; i++)
	{
		const QueenPrint *recent = &memory->recent[i];

		for (uint32 n = queen_prints_find(sought, count, recent->hash);
			 n < count && sought[n].hash == recent->hash; n++)
			search_prints(recent, 1, horizon, &sought[n], hits);
	}
	if (memory->nruns == 0)
		return;
	known = queen_known_find(memory, horizon, count, read_run);
	if (known == NULL)
	{
		search_runs(memory, horizon, sought, count, hits);
		return;
	}
	perhaps = palloc_extended(sizeof(QueenPrint) * count, MCXT_ALLOC_HUGE);
	count = queen_known_test(known, sought, count, perhaps);
	if (count > 0)
		search_runs(memory, horizon, perhaps, count, hits);
	pfree(perhaps);
}

/*
 * Makes the filter of a row. The low half of the hash chooses the block, as the
 * ids of one row have much of the high half in common.
 */
static bytea *
make_filter(const QueenPrint *prints, uint32 count)
{
	uint32		blocks = queen_filter_blocks(count);
	size_t		size = VARHDRSZ + (size_t) blocks * QUEEN_FILTER_BLOCK;
	bytea	   *filter = palloc0(size);

	SET_VARSIZE(filter, size);
	for (uint32 i = 0; i < count; i++)
		queen_filter_set((uint8 *) VARDATA(filter) +
						 queen_print_low_part(prints[i].hash, blocks) * QUEEN_FILTER_BLOCK,
						 &prints[i]);
	return filter;
}

/* Writes one row of a run. */
static void
write_slot(const QueenMemory *memory, const QueenRun *run, int64 slot,
		   const QueenPrint *prints, uint32 count)
{
	size_t		size = sizeof(QueenPrint) * count;
	bytea	   *entries = palloc(VARHDRSZ + size);
	bytea	   *filter = NULL;

	SET_VARSIZE(entries, VARHDRSZ + size);
	memcpy(VARDATA(entries), prints, size);
	if (count >= FILTER_PRINTS)
		filter = make_filter(prints, count);
	queen_run_insert(memory->partition_id, run->run, slot, filter, entries);
	pfree(entries);
	if (filter)
		pfree(filter);
}

/* Writes a sorted set as the newest run; the version that names it comes next. */
static void
write_run(QueenMemory *memory, const QueenPrint *prints, uint32 count)
{
	QueenRun	run = {
		.run = memory->version + 1,
		.nonce = pg_prng_uint64(&pg_global_prng_state),
		.newest = DT_NOBEGIN,
		.count = count,
		.slots = (count + SLOT_PRINTS - 1) / SLOT_PRINTS
	};
	uint32		done = 0;

	for (uint32 i = 0; i < count; i++)
		run.newest = Max(run.newest, queen_print_time(&prints[i]));
	for (int64 slot = 0; slot < run.slots; slot++)
	{
		uint32		n = count_of_slot(&run, slot, prints + done, count - done);

		CHECK_FOR_INTERRUPTS();
		write_slot(memory, &run, slot, prints + done, n);
		done += n;
	}
	memory->runs = memory->runs ?
		repalloc(memory->runs, sizeof(QueenRun) * (memory->nruns + 1)) :
		palloc(sizeof(QueenRun));
	memory->runs[memory->nruns++] = run;
}

/* The level of a size. */
static int
level_of(uint32 count)
{
	return pg_leftmost_one_pos32(Max(count, 1)) / 3;
}

/*
 * How many of the newest runs are merged with a set that is about to be written:
 * level by level, those that with it are enough.
 */
static int
choose_merged(const QueenMemory *memory, uint32 count)
{
	int			chosen = 0;

	for (int level = level_of(count); level < TOP_LEVEL; level++)
	{
		int			n = chosen;
		uint32		total = count;

		while (n < memory->nruns && level_of(memory->runs[memory->nruns - 1 - n].count) <= level)
			total += memory->runs[memory->nruns - 1 - n++].count;
		if (n - chosen + 1 < FANOUT(level))
			break;
		chosen = n;
		count = total;
		level = Max(level, level_of(count) - 1);
	}
	return chosen;
}

/* Takes the newest run out and merges it with a set; answers the new set. */
static QueenPrint *
absorb_run(QueenMemory *memory, TimestampTz horizon, QueenPrint *prints, uint32 *count)
{
	const QueenRun *run = &memory->runs[memory->nruns - 1];
	QueenPrint *read = palloc_extended(sizeof(QueenPrint) * run->count, MCXT_ALLOC_HUGE);
	uint32		nread = read_run(memory, run, horizon, read);
	QueenPrint *merged = palloc_extended(sizeof(QueenPrint) * (nread + *count + 1), MCXT_ALLOC_HUGE);

	queen_prints_merge(read, nread, prints, *count, merged);
	queen_run_delete(memory->partition_id, run->run);
	memory->nruns--;
	*count += nread;
	pfree(read);

	return merged;
}

/*
 * Writes a sorted set that has no room in the version, with as many runs as it
 * is merged with.
 */
static void
flush(QueenMemory *memory, TimestampTz horizon, QueenPrint *prints, uint32 count)
{
	bool		known = queen_known_covers(memory);
	int			merged = choose_merged(memory, count);
	const QueenPrint *added = prints;
	uint32		nadded = count;

	for (int i = 0; i < merged; i++)
	{
		QueenPrint *both = absorb_run(memory, horizon, prints, &count);

		if (prints != added)
			pfree(prints);
		prints = both;
	}
	write_run(memory, prints, count);
	if (known)
		queen_known_add(memory, added, nadded);
	if (prints != added)
		pfree(prints);
}

/* Remembers fingerprints, which are sorted. */
void
queen_memory_add(QueenMemory *memory, TimestampTz horizon, const QueenPrint *prints, uint32 count)
{
	uint32		total = memory->nrecent + count;
	QueenPrint *all = palloc_extended(sizeof(QueenPrint) * total, MCXT_ALLOC_HUGE);

	queen_prints_sort(memory->recent, memory->nrecent);
	queen_prints_merge(memory->recent, memory->nrecent, prints, count, all);
	if (total <= RECENT_PRINTS)
	{
		memory->recent = all;
		memory->nrecent = (int) total;
	}
	else
	{
		queen_memory_expire(memory, horizon, EXPIRE_LIMIT);
		memory->recent = NULL;
		memory->nrecent = 0;
		flush(memory, horizon, all, total);
		pfree(all);
	}
	queen_memory_write(memory);
}

/* Removes the oldest runs that are past, at most limit; answers how many. */
int
queen_memory_expire(QueenMemory *memory, TimestampTz horizon, int limit)
{
	int			expired = 0;

	while (expired < memory->nruns && expired < limit && memory->runs[expired].newest < horizon)
		queen_run_delete(memory->partition_id, memory->runs[expired++].run);
	memory->nruns -= expired;
	if (expired > 0)
		memmove(memory->runs, memory->runs + expired, sizeof(QueenRun) * memory->nruns);

	return expired;
}

/* The time of the newest fingerprint. */
TimestampTz
queen_memory_newest(const QueenMemory *memory)
{
	TimestampTz newest = DT_NOBEGIN;

	for (int i = 0; i < memory->nrecent; i++)
		newest = Max(newest, queen_print_time(&memory->recent[i]));
	for (int i = 0; i < memory->nruns; i++)
		newest = Max(newest, memory->runs[i].newest);
	return newest;
}
