/*-------------------------------------------------------------------------
 *
 * schedule.c
 *	  Moves delayed messages into the log when their time has come.
 *
 * A message with a delay is a row of queen.scheduled. When it is due, a pop of
 * its queue or the worker deletes the row and appends the message, in one
 * transaction, in the order of times and ids inside each partition. For this the
 * partition's schedule lock and its locks of appending are tried, never waited
 * for: a partition that somebody holds is passed over, with all its messages, so
 * none overtakes another. cancel and reschedule take the schedule lock too, so
 * nobody ever waits for a row. What a step moves is bounded: messages, bytes,
 * and partitions, as many as one push locks one by one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "locks.h"
#include "log.h"
#include "schedule.h"
#include "schedule_store.h"
#include "settings.h"
#include "waiting.h"

/* Payload that one step moves, about; the first message always goes. */
#define DELIVER_BYTES (8 * 1024 * 1024)

/* How long a session may trust that below its mark nothing is left. */
#define MARK_LIFE USECS_PER_SEC

/*
 * Up to where this session has moved the messages of a queue, so that the next
 * look does not walk over the dead rows. Nothing comes to be below it but by
 * transactions that were open then, so it is forgotten after a second; and it
 * counts only if the transaction that moved them was not undone.
 */
typedef struct Mark
{
	int32		queue_id;
	TransactionId moved_by;
	TimestampTz moved_to;
	TimestampTz since;
} Mark;

static Mark marks[64];

/* A partition some of whose messages are due; its locks are held. */
typedef struct DueLane
{
	text	   *partition;
	int64	   *ids;
	int			count;
	int			room;
} DueLane;

/* One step. */
typedef struct Step
{
	const QueenQueue *queue;
	TimestampTz now;
	TimestampTz from;			/* below it nothing is left */
	QueenScheduled *due;
	int			ndue;
	DueLane    *lanes;
	int			nlanes;
	text	  **passed_over;	/* partitions that somebody holds */
	int			npassed_over;
} Step;

/* The mark of a queue. */
static Mark *
find_mark(int32 queue_id)
{
	return &marks[(uint32) queue_id % lengthof(marks)];
}

/* Below which time nothing is left to be looked for. */
static TimestampTz
look_from(int32 queue_id, TimestampTz now)
{
	Mark	   *mark = find_mark(queue_id);

	if (mark->queue_id == queue_id && mark->since <= now && now < mark->since + MARK_LIFE &&
		(TransactionIdIsCurrentTransactionId(mark->moved_by) ||
		 TransactionIdDidCommit(mark->moved_by)))
		return mark->moved_to;
	mark->queue_id = 0;
	return DT_NOBEGIN;
}

/* Remembers that all up to a time were moved. */
static void
set_mark(int32 queue_id, TimestampTz moved_to, TimestampTz now)
{
	Mark	   *mark = find_mark(queue_id);

	if (mark->queue_id != queue_id)
		mark->since = now;
	mark->queue_id = queue_id;
	mark->moved_by = GetCurrentTransactionId();
	mark->moved_to = moved_to;
}

/* Whether two names are one. */
static bool
same_name(const text *a, const text *b)
{
	return VARSIZE_ANY_EXHDR(a) == VARSIZE_ANY_EXHDR(b) &&
		memcmp(VARDATA_ANY(a), VARDATA_ANY(b), VARSIZE_ANY_EXHDR(a)) == 0;
}

/* Locks a partition to take its messages, or passes over it. */
static bool
lock_lane(Step *step, text *partition)
{
	int32		queue_id = step->queue->queue_id;
	const char *name = VARDATA_ANY(partition);
	int			len = VARSIZE_ANY_EXHDR(partition);

	for (int i = 0; i < step->npassed_over; i++)
	{
		if (same_name(step->passed_over[i], partition))
			return false;
	}
	if (queen_try_lock_schedule(queue_id, name, len))
	{
		if (queen_log_try_lock(step->queue, partition))
			return true;
		queen_unlock_schedule(queue_id, name, len);
	}
	step->passed_over = repalloc(step->passed_over, sizeof(text *) * (step->npassed_over + 1));
	step->passed_over[step->npassed_over++] = partition;

	return false;
}

/* The lane of a partition, with its locks; NULL where it is passed over. */
static DueLane *
find_lane(Step *step, text *partition)
{
	DueLane    *lane;

	for (int i = 0; i < step->nlanes; i++)
	{
		if (same_name(step->lanes[i].partition, partition))
			return &step->lanes[i];
	}
	if (!lock_lane(step, partition))
		return NULL;
	lane = &step->lanes[step->nlanes++];
	lane->partition = partition;
	lane->ids = NULL;
	lane->count = lane->room = 0;

	return lane;
}

/* Adds a message to a lane. */
static void
add_to_lane(DueLane *lane, int64 scheduled_id)
{
	if (lane->count == lane->room)
	{
		lane->room = Max(lane->room * 2, 16);
		lane->ids = lane->ids ? repalloc(lane->ids, sizeof(int64) * lane->room) :
			palloc(sizeof(int64) * lane->room);
	}
	lane->ids[lane->count++] = scheduled_id;
}

/* Sorts what is due into lanes, as long as there is room for more. */
static void
sort_into_lanes(Step *step)
{
	int64		bytes = 0;

	for (int i = 0; i < step->ndue; i++)
	{
		DueLane    *lane = find_lane(step, step->due[i].partition);

		if (lane == NULL)
			continue;
		add_to_lane(lane, step->due[i].scheduled_id);
		bytes += step->due[i].bytes;
		if (bytes >= DELIVER_BYTES || step->nlanes >= queen_max_partition_locks)
			break;
	}
}

/* Moves the messages of one lane; answers how many. */
static int
move_lane(Step *step, const DueLane *due)
{
	int			count;
	QueenTaken *taken = queen_scheduled_take(due->ids, due->count, step->now, &count);
	QueenMessage *messages = palloc(sizeof(QueenMessage) * Max(count, 1));
	TimestampTz *pushed_at = palloc(sizeof(TimestampTz) * Max(count, 1));
	QueenLane	lane = {
		.name = due->partition,
		.messages = messages,
		.count = (uint32) count,
		.pushed_at = pushed_at
	};

	for (int i = 0; i < count; i++)
	{
		messages[i] = taken[i].message;
		pushed_at[i] = taken[i].pushed_at;
	}
	if (count > 0)
	{
		queen_log_append(step->queue, &lane, 1);
		step->from = Max(step->from, taken[count - 1].deliver_at);
	}
	return count;
}

/*
 * Moves due messages of a queue into its log, at most limit, and answers how
 * many. 0 means that nothing is due but in partitions that others hold, which are
 * all where somebody holds the whole queue, or this transaction may lock no
 * more. The caller holds the queue's lock.
 */
int64
queen_schedule_deliver(const QueenQueue *queue, int limit)
{
	Step		step = {.queue = queue, .now = GetCurrentTimestamp()};
	TimestampTz first;
	int64		moved = 0;
	bool		each;

	step.from = look_from(queue->queue_id, step.now);
	if (!queen_scheduled_first(queue->queue_id, step.from, &first) || first > step.now)
		return 0;
	if (!queen_try_lock_queue_append(queue->queue_id, &each))
		return 0;
	step.due = palloc(sizeof(QueenScheduled) * limit);
	step.lanes = palloc(sizeof(DueLane) * Min(queen_max_partition_locks, limit));
	step.passed_over = palloc(sizeof(text *));
	do
	{
		CHECK_FOR_INTERRUPTS();
		step.ndue = queen_scheduled_due(queue->queue_id, step.from, step.now, step.passed_over,
										step.npassed_over, step.due, limit);
		sort_into_lanes(&step);
	} while (step.ndue > 0 && step.nlanes == 0 && !queen_lock_budget_spent());
	for (int i = 0; i < step.nlanes; i++)
		moved += move_lane(&step, &step.lanes[i]);
	if (moved > 0 && moved == step.ndue && step.npassed_over == 0)
		set_mark(queue->queue_id, step.from, step.now);

	return moved;
}

/*
 * When the next message of a queue is due, for who waits for it: the worker may
 * be stopped or busy. What is due and was not moved, somebody holds.
 */
TimestampTz
queen_schedule_soonest(const QueenQueue *queue)
{
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz first;

	if (!queen_scheduled_first(queue->queue_id, DT_NOBEGIN, &first))
		return DT_NOEND;
	return first > now ? first : now + QUEEN_PASSED_OVER_US;
}

/* One step of the worker in a queue. */
int64
queen_schedule_step(int32 queue_id, int limit, TimestampTz *next_at)
{
	QueenQueue *queue;
	int64		moved = 0;

	*next_at = DT_NOEND;
	if (!queen_try_lock_queue(queue_id))
		return 0;
	queue = queen_queue_by_id(queue_id);
	if (queue)
		moved = queen_schedule_deliver(queue, limit);
	if (!queen_scheduled_first(queue_id, DT_NOBEGIN, next_at))
		*next_at = DT_NOEND;
	return moved;
}
