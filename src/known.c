/*-------------------------------------------------------------------------
 *
 * known.c
 *	  Filters over all that a partition remembers, kept by the session.
 *
 * To look for a thousand ids among ten millions in pages costs a visit to each
 * page of each filter. A session that pushes much to such a partition keeps
 * filters of its own over all runs: most ids are new, and these say so. It knows
 * which runs it has taken in by their nonces, which are never used twice, and
 * takes in those that it does not know before it answers. So it may be wrong by
 * excess, for what was undone or is past, and never by absence.
 *
 * They are made when the session has spent about as long on visits to rows as it
 * takes to read all that is remembered. A filter that is full is followed by a
 * smaller one; when there are too many all are made anew; one goes when all in it
 * is past.
 * All of a session together take queen.dedup_memory at most: the partition that
 * was not used for the longest time goes first.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "compat.h"
#include "known.h"
#include "settings.h"

/* Bits for each id that a filter has room for, and when memory is scarce. */
#define ROOMY_BITS	18
#define SCARCE_BITS	11

/* So many ids are taken in in the time that a visit to a row takes. */
#define IDS_A_VISIT	50

/* The part of all that is remembered for which a further filter has room. */
#define FURTHER_PART	4

/* So many runs more than twice those of a partition may be remembered. */
#define GONE_RUNS	64

static HTAB *table = NULL;
static MemoryContext memory_of_table = NULL;
static uint64 calls = 0;
static size_t bytes_used = 0;

/* The entry of a partition, or NULL; make says whether to make one. */
static QueenKnown *
find_entry(int64 partition_id, bool make)
{
	QueenKnown *known;
	bool		found;

	if (table == NULL)
	{
		HASHCTL		control = {
			.keysize = sizeof(int64),
			.entrysize = sizeof(QueenKnown)
		};

		if (!make)
			return NULL;
		if (memory_of_table == NULL)
			memory_of_table = AllocSetContextCreate(TopMemoryContext, "queen known ids",
													ALLOCSET_DEFAULT_SIZES);
		control.hcxt = memory_of_table;
		table = hash_create("queen known ids", 16, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	known = hash_search(table, &partition_id, make ? HASH_ENTER : HASH_FIND, &found);
	if (known && !found)
	{
		memset(known, 0, sizeof(QueenKnown));
		known->partition_id = partition_id;
		known->dropped = DT_NOBEGIN;
	}
	return known;
}

/* Bytes of a filter. */
static size_t
filter_bytes(const QueenKnownFilter *filter)
{
	return (size_t) filter->blocks * QUEEN_FILTER_BLOCK;
}

/* Forgets the oldest filters of a partition. */
static void
drop_filters(QueenKnown *known, int count)
{
	for (int i = 0; i < count; i++)
	{
		bytes_used -= filter_bytes(&known->filters[i]);
		pfree(known->filters[i].bits);
	}
	known->nfilters -= count;
	memmove(known->filters, known->filters + count, sizeof(QueenKnownFilter) * known->nfilters);
}

/* Forgets all of a partition; the entry goes on counting. */
static void
drop_all(QueenKnown *known)
{
	drop_filters(known, known->nfilters);
	if (known->nonces)
		pfree(known->nonces);
	known->nonces = NULL;
	known->nnonces = 0;
	known->dropped = DT_NOBEGIN;
}

/* The partition that was not used for the longest time, but for one; or NULL. */
static QueenKnown *
least_used(const QueenKnown *but)
{
	HASH_SEQ_STATUS status;
	QueenKnown *entry;
	QueenKnown *least = NULL;

	hash_seq_init(&status, table);
	while ((entry = hash_seq_search(&status)) != NULL)
	{
		if (entry != but && entry->nfilters > 0 && (least == NULL || entry->used < least->used))
			least = entry;
	}
	return least;
}

/*
 * Adds an empty filter with room for so many ids, or as many as memory allows;
 * false where that is not even half.
 */
static bool
add_filter(QueenKnown *known, uint64 room)
{
	size_t		allowed = (size_t) queen_dedup_memory * 1024;
	size_t		least = room / 2 * SCARCE_BITS / BITS_PER_BYTE;
	size_t		wanted = room * ROOMY_BITS / BITS_PER_BYTE;
	QueenKnownFilter *filter = &known->filters[known->nfilters];
	QueenKnown *other;
	size_t		bytes;

	while (bytes_used + wanted > allowed && (other = least_used(known)) != NULL)
		drop_all(other);
	if (known->nfilters == QUEEN_KNOWN_FILTERS || bytes_used + least > allowed)
		return false;
	bytes = Min(wanted, allowed - bytes_used);
	filter->bits = MemoryContextAllocExtended(memory_of_table, bytes,
											  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	filter->blocks = (uint32) (bytes / QUEEN_FILTER_BLOCK);
	filter->room = (uint32) Min(room, bytes * BITS_PER_BYTE / SCARCE_BITS);
	filter->count = 0;
	filter->newest = DT_NOBEGIN;
	known->nfilters++;
	bytes_used += filter_bytes(filter);

	return true;
}

/* The block of an id: in the order of hashes, so that sorted sets walk straight. */
static uint8 *
block_of(const QueenKnownFilter *filter, const QueenPrint *print)
{
	return filter->bits + (size_t) queen_print_part(print->hash, filter->blocks) * QUEEN_FILTER_BLOCK;
}

/* Takes fingerprints in; false where there is no room for them. */
static bool
take_in(QueenKnown *known, uint64 total, const QueenPrint *prints, uint32 count)
{
	QueenKnownFilter *filter = known->nfilters > 0 ? &known->filters[known->nfilters - 1] : NULL;

	if (filter == NULL || filter->count + count > filter->room)
	{
		uint64		further = Max(total / FURTHER_PART, QUEEN_KNOWN_PRINTS);

		if (!add_filter(known, (filter ? 0 : total) + further + count))
			return false;
		filter = &known->filters[known->nfilters - 1];
	}
	for (uint32 i = 0; i < count; i++)
	{
		queen_filter_set(block_of(filter, &prints[i]), &prints[i]);
		filter->newest = Max(filter->newest, queen_print_time(&prints[i]));
	}
	filter->count += count;

	return true;
}

/* Whether a run was taken in. */
static bool
has_run(const QueenKnown *known, const QueenRun *run)
{
	for (int i = 0; i < known->nnonces; i++)
	{
		if (known->nonces[i] == run->nonce)
			return true;
	}
	return false;
}

/* Whether all runs of a partition were taken in. */
static bool
has_all_runs(const QueenKnown *known, const QueenMemory *memory)
{
	for (int i = 0; i < memory->nruns; i++)
	{
		if (!has_run(known, &memory->runs[i]))
			return false;
	}
	return true;
}

/*
 * Whether most runs that were taken in are gone, merged into others or past: a
 * session that adds its own would remember them for ever.
 */
static bool
has_many_gone(const QueenKnown *known, const QueenMemory *memory)
{
	return known->nnonces > 2 * memory->nruns + GONE_RUNS;
}

/*
 * Takes in the runs that are missing, and remembers no others; false where there
 * is no room for them. What is gone may come back by a rollback, and is read
 * again then.
 */
static bool
take_in_missing(QueenKnown *known, const QueenMemory *memory, uint64 total, QueenReadRun read)
{
	uint64	   *nonces = MemoryContextAlloc(memory_of_table, sizeof(uint64) * (memory->nruns + 1));
	bool		room = true;

	for (int i = 0; room && i < memory->nruns; i++)
	{
		const QueenRun *run = &memory->runs[i];
		QueenPrint *prints;

		nonces[i] = run->nonce;
		if (has_run(known, run))
			continue;
		CHECK_FOR_INTERRUPTS();
		prints = palloc_extended(sizeof(QueenPrint) * run->count, MCXT_ALLOC_HUGE);
		room = take_in(known, total, prints, read(memory, run, DT_NOBEGIN, prints));
		pfree(prints);
	}
	if (known->nonces)
		pfree(known->nonces);
	known->nonces = nonces;
	known->nnonces = memory->nruns;

	return room;
}

/*
 * Forgets filters that hold nothing but what is past; and all, where a longer
 * window has brought back what was past.
 */
static void
drop_past(QueenKnown *known, TimestampTz horizon)
{
	int			past = 0;

	if (known->dropped >= horizon)
		drop_all(known);
	while (past < known->nfilters - 1 && known->filters[past].newest < horizon)
	{
		known->dropped = Max(known->dropped, known->filters[past].newest);
		past++;
	}
	drop_filters(known, past);
}

/*
 * The filters of a partition, complete; NULL where there are none, as they are
 * not worth their price or have no room. sought is how many ids will be looked
 * up.
 */
QueenKnown *
queen_known_find(const QueenMemory *memory, TimestampTz horizon, uint32 sought, QueenReadRun read)
{
	uint64		total = 0;
	uint64		visits = 0;
	QueenKnown *known;

	for (int i = 0; i < memory->nruns; i++)
	{
		total += memory->runs[i].count;
		visits += Min(sought, memory->runs[i].slots);
	}
	if (total < QUEEN_KNOWN_PRINTS)
		return NULL;
	known = find_entry(memory->partition_id, true);
	known->used = ++calls;
	drop_past(known, horizon);
	if (known->nfilters == 0)
	{
		known->visits += visits;
		if (known->visits < total / IDS_A_VISIT)
			return NULL;
		known->visits = 0;
	}
	if ((!has_many_gone(known, memory) && has_all_runs(known, memory)) ||
		take_in_missing(known, memory, total, read))
		return known;
	drop_all(known);
	if (take_in_missing(known, memory, total, read))
		return known;
	drop_all(known);
	return NULL;
}

/* Whether a filter of a partition lets an id pass. */
static bool
may_have(const QueenKnown *known, const QueenPrint *print)
{
	for (int i = known->nfilters - 1; i >= 0; i--)
	{
		if (queen_filter_has(block_of(&known->filters[i], print), print))
			return true;
	}
	return false;
}

/* Those of the ids that the filters let pass; answers how many. */
uint32
queen_known_test(const QueenKnown *known, const QueenPrint *sought, uint32 count,
				 QueenPrint *perhaps)
{
	uint32		passed = 0;

	for (uint32 i = 0; i < count; i++)
	{
		if (may_have(known, &sought[i]))
			perhaps[passed++] = sought[i];
	}
	return passed;
}

/* Whether the session has filters that have taken in all runs of a partition. */
bool
queen_known_covers(const QueenMemory *memory)
{
	QueenKnown *known = find_entry(memory->partition_id, false);

	return known && known->nfilters > 0 && has_all_runs(known, memory);
}

/*
 * Takes in a run that this session has just written out of new fingerprints and
 * runs that were taken in. Where there is no room it will be missing.
 */
void
queen_known_add(const QueenMemory *memory, const QueenPrint *prints, uint32 count)
{
	QueenKnown *known = find_entry(memory->partition_id, false);
	uint64		total = 0;

	for (int i = 0; i < memory->nruns; i++)
		total += memory->runs[i].count;
	if (!take_in(known, total, prints, count))
		return;
	known->nonces = repalloc(known->nonces, sizeof(uint64) * (known->nnonces + 1));
	known->nonces[known->nnonces++] = memory->runs[memory->nruns - 1].nonce;
}
