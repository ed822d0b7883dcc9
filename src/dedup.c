/*-------------------------------------------------------------------------
 *
 * dedup.c
 *	  Recognises messages that were pushed before, by their transaction ids.
 *
 * All of it happens under the append lock of the partition and reads after the
 * lock was granted: of two pushes of one id the second waits for the first to
 * end, then sees what became of it. What a rollback undoes is not remembered.
 *
 * A partition remembers a fingerprint of 80 bits for each id (fingerprint.c,
 * runs.c). One that is found again is checked against the message itself, so two
 * ids with one fingerprint are two ids; only where the first message has been
 * removed from the log meanwhile the fingerprint alone decides.
 *
 * A delayed message is remembered by its scheduled_id when it is pushed, and by
 * its offset when it comes into the log, with the time of its push both times.
 * The first counts as long as the message waits; a cancelled one is forgotten.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "dedup.h"
#include "locks.h"
#include "reader.h"
#include "runs.h"
#include "schedule_store.h"
#include "settings.h"

/* What is known of a lane from one half of the append to the other. */
typedef struct QueenDedup
{
	QueenMemory memory;
	TimestampTz horizon;		/* what was pushed before it is past */
	uint32	   *same_as;		/* for each message: the first one of its id */
	QueenPrint *prints;			/* of the lane's ids, each once, sorted; their
								 * places are numbers of messages */
	uint32		count;
} QueenDedup;

/* The time before which ids are past, for a moment. */
static TimestampTz
horizon_at(const QueenQueue *queue, TimestampTz now)
{
	TimestampTz horizon = now - queue->dedup_window;

	return horizon - horizon % 1000;	/* times are kept to the millisecond */
}

/* Whether a lane has ids that the queue wants to be unique. */
static bool
is_wanted(const QueenQueue *queue, const QueenLane *lane)
{
	if (queue->dedup_window == 0 || lane->copies)
		return false;
	for (uint32 i = 0; i < lane->count; i++)
	{
		if (lane->messages[i].transaction_id_len > 0)
			return true;
	}
	return false;
}

/* Whether two messages have the same id. */
static bool
same_id(const QueenMessage *a, const QueenMessage *b)
{
	return a->transaction_id_len == b->transaction_id_len &&
		memcmp(a->transaction_id, b->transaction_id, a->transaction_id_len) == 0;
}

/* The fingerprints of a lane's ids, their places being the numbers of messages. */
static QueenPrint *
print_lane(const QueenLane *lane, uint32 *count)
{
	QueenPrint *prints = palloc_extended(sizeof(QueenPrint) * lane->count, MCXT_ALLOC_HUGE);

	*count = 0;
	for (uint32 i = 0; i < lane->count; i++)
	{
		const QueenMessage *message = &lane->messages[i];

		if (message->transaction_id_len > 0)
			prints[(*count)++] = queen_print_make(message->transaction_id,
												  message->transaction_id_len, i,
												  lane->pushed_at ? lane->pushed_at[i] :
												  lane->created_at);
	}
	queen_prints_sort(prints, *count);

	return prints;
}

/*
 * Inside one call the first of an id wins. Leaves only those in the sorted set;
 * the others learn which it is.
 */
static void
find_in_call(QueenLane *lane, QueenPrint *prints, uint32 *count)
{
	uint32		kept = 0;

	for (uint32 i = 0; i < *count; i++)
	{
		uint32		number = (uint32) prints[i].place;
		bool		first = true;

		for (uint32 j = kept; first && j > 0 && prints[j - 1].hash == prints[i].hash; j--)
		{
			if (!same_id(&lane->messages[prints[j - 1].place], &lane->messages[number]))
				continue;
			lane->placed[number].outcome = QUEEN_DUPLICATE;
			lane->dedup->same_as[number] = (uint32) prints[j - 1].place;
			first = false;
		}
		if (first)
			prints[kept++] = prints[i];
	}
	*count = kept;
}

/* Whether a hit is the message sought, as far as the log still can tell. */
static bool
is_same_message(QueenReader *reader, const QueenHit *hit, const QueenMessage *sought)
{
	QueenMessage found;

	if (hit->place < 0)
		return queen_scheduled_has_id(-hit->place, sought->transaction_id,
									  sought->transaction_id_len);
	return !queen_reader_at(reader, hit->place, &found) || same_id(&found, sought);
}

/* Looks at what the fingerprints say; the duplicates learn of what. */
static void
check_hits(QueenLane *lane, const QueenHits *hits)
{
	QueenReader reader;

	queen_reader_open(&reader, &lane->partition, 0, 1);
	for (int i = 0; i < hits->count; i++)
	{
		const QueenHit *hit = &hits->hits[i];
		QueenPlaced *placed = &lane->placed[hit->sought];

		if (placed->outcome == QUEEN_DUPLICATE ||
			!is_same_message(&reader, hit, &lane->messages[hit->sought]))
			continue;
		placed->outcome = QUEEN_DUPLICATE;
		placed->offset = hit->place < 0 ? -1 : hit->place;
		placed->scheduled_id = hit->place < 0 ? -hit->place : 0;
	}
	queen_reader_close(&reader);
}

/* In the order of messages, which is that of a batch which comes again. */
static int
compare_hits(const void *a, const void *b)
{
	const QueenHit *left = a;
	const QueenHit *right = b;

	if (left->place != right->place)
		return left->place < right->place ? -1 : 1;
	return left->sought < right->sought ? -1 : left->sought > right->sought;
}

/* Looks the ids of a lane up, in itself and in what its partition remembers. */
static void
find(QueenLane *lane)
{
	QueenDedup *dedup = lane->dedup;
	QueenHits	hits = {0};

	queen_lane_place_each(lane);
	dedup->same_as = palloc_extended(sizeof(uint32) * lane->count, MCXT_ALLOC_HUGE);
	for (uint32 i = 0; i < lane->count; i++)
		dedup->same_as[i] = i;
	find_in_call(lane, dedup->prints, &dedup->count);
	queen_memory_search(&dedup->memory, dedup->horizon, dedup->prints, dedup->count, &hits);
	if (hits.count > 0)
	{
		qsort(hits.hits, hits.count, sizeof(QueenHit), compare_hits);
		check_hits(lane, &hits);
	}
}

/*
 * Marks the duplicates of a lane whose lock is held. Messages whose time has
 * come are not looked up, they were when they were pushed.
 */
void
queen_dedup_find(const QueenQueue *queue, QueenLane *lane)
{
	if (!is_wanted(queue, lane))
		return;
	lane->dedup = palloc0(sizeof(QueenDedup));
	lane->dedup->horizon = horizon_at(queue, lane->created_at);
	lane->dedup->memory.partition_id = lane->partition.partition_id;
	if (!lane->made)
		queen_memory_read(lane->partition.partition_id, &lane->dedup->memory);
	lane->dedup->prints = print_lane(lane, &lane->dedup->count);
	if (lane->pushed_at == NULL)
		find(lane);
}

/* Leaves the fingerprints of what is new, with the places that it got. */
static void
keep_new(const QueenLane *lane)
{
	QueenDedup *dedup = lane->dedup;
	uint32		kept = 0;

	for (uint32 i = 0; i < dedup->count; i++)
	{
		QueenPrint	print = dedup->prints[i];
		QueenPlaced placed = queen_lane_placed(lane, (uint32) print.place);

		if (placed.outcome == QUEEN_DUPLICATE || placed.outcome == QUEEN_FULL ||
			queen_print_time(&print) < dedup->horizon)
			continue;
		print.place = placed.outcome == QUEEN_SCHEDULED ? -placed.scheduled_id : placed.offset;
		dedup->prints[kept++] = print;
	}
	dedup->count = kept;
}

/* Those that came second in one call are where the first one is. */
static void
follow_first(QueenLane *lane)
{
	for (uint32 i = 0; i < lane->count; i++)
	{
		uint32		first = lane->dedup->same_as[i];

		if (first == i)
			continue;
		lane->placed[i] = lane->placed[first];
		if (lane->placed[first].outcome != QUEEN_FULL)
			lane->placed[i].outcome = QUEEN_DUPLICATE;
	}
}

/* Remembers the ids of a lane that has been written. */
void
queen_dedup_remember(const QueenQueue *queue, QueenLane *lane)
{
	QueenDedup *dedup = lane->dedup;

	if (dedup == NULL)
		return;
	keep_new(lane);
	if (dedup->count > 0)
	{
		if (dedup->memory.version == 0)
			queen_dedup_due_insert(queue->queue_id, lane->partition.partition_id,
								   lane->created_at + queue->dedup_window);
		queen_memory_add(&dedup->memory, dedup->horizon, dedup->prints, dedup->count);
	}
	if (dedup->same_as)
		follow_first(lane);
	pfree(dedup->prints);
}

/*
 * Forgets what is past in a partition whose append lock is held: some runs, or
 * all where that is no more. A look that finds something young is put off until
 * that is past too.
 */
static void
purge_partition(const QueenQueue *queue, int64 partition_id, TimestampTz now)
{
	TimestampTz horizon = horizon_at(queue, now);
	QueenMemory memory;
	TimestampTz newest;
	int			expired;

	if (!queen_memory_read(partition_id, &memory))
	{
		queen_memory_delete(partition_id);
		return;
	}
	newest = queen_memory_newest(&memory);
	expired = queen_memory_expire(&memory, horizon, QUEEN_DEDUP_PURGE_RUNS);
	if (memory.nruns == 0 && newest < horizon)
		queen_memory_delete(partition_id);
	else
	{
		if (expired > 0)
			queen_memory_write(&memory);
		if (expired < QUEEN_DEDUP_PURGE_RUNS)
			queen_dedup_due_move(partition_id, Max(newest, horizon) + queue->dedup_window + 1000);
	}
}

/*
 * Looks at partitions of a queue that are due, at most so many. Those that
 * somebody appends to are passed over. Answers how many were looked at; fewer
 * than asked for means that nothing more is due.
 */
int64
queen_dedup_purge(const QueenQueue *queue, int max_partitions)
{
	TimestampTz now = GetCurrentTimestamp();
	QueenDue	due = {DT_NOBEGIN, 0};
	int64		done = 0;
	bool		each;

	if (!queen_try_lock_queue_append(queue->queue_id, &each))
		return 0;
	while (done < max_partitions && queen_dedup_due(queue->queue_id, now, &due, &due, 1) > 0)
	{
		CHECK_FOR_INTERRUPTS();
		if (each && !queen_try_lock_partition_append(due.partition_id))
			continue;
		purge_partition(queue, due.partition_id, now);
		done++;
	}
	return done;
}

/* One step of the worker in a queue. */
int64
queen_dedup_step(int32 queue_id, int max_partitions)
{
	QueenQueue *queue;

	if (!queen_try_lock_queue(queue_id))
		return 0;
	queue = queen_queue_by_id(queue_id);
	return queue ? queen_dedup_purge(queue, max_partitions) : 0;
}

/* Forgets all that a partition remembers. The caller keeps everybody out. */
void
queen_dedup_forget(int64 partition_id)
{
	QueenMemory memory;

	if (queen_memory_read(partition_id, &memory))
		queen_memory_expire(&memory, DT_NOEND, memory.nruns);
	queen_memory_delete(partition_id);
}
