/*-------------------------------------------------------------------------
 *
 * retention_walk.c
 *	  The step of maintenance that finds the partitions in which something is
 *	  to go, and has one of them done in each transaction.
 *
 * Three walks over the partitions of a queue, each for the rules that need it:
 *
 *	  age	by the index on the time of the oldest segment, over those that are
 *			due and no others; each is done, so the walk costs what there is to do
 *	  done	by the same index, over those that are old enough; most may wait for
 *			a group, so it goes on where the last pass stopped
 *	  size	over all, as no index knows how large a partition is; it goes on
 *			where the last pass stopped, too
 *
 * The latter two look at MAX_LOOKS partitions for nothing in a pass of the worker. A queue's
 * mark is a time before which no partition keeps anything: walks by the index
 * begin there and meet no entries of what was removed, which stay in the index
 * for as long as somebody's snapshot may see them. It does not pass the time
 * since which a transaction has been open that may yet show a partition. One
 * that says an earlier time all the same (the clock was set back) is found when
 * the mark is taken back to the bottom, every RECONCILE_MS.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "locks.h"
#include "retention.h"
#include "retention_store.h"

#define RECONCILE_MS		600000
#define MAX_LOOKS			10000
#define LOOKS_AT_ONCE		100

/* What one transaction removes at most, so that a push waits some milliseconds. */
#define MAX_SEGMENTS		500
#define MAX_BYTES			(8 * 1024 * 1024)

/* How much longer than the age messages stay, so that a row is not written for each segment. */
#define SLACK_PART			16
#define MAX_SLACK			(60 * USECS_PER_SEC)

typedef enum Rule
{
	RULE_NONE,					/* a queue is to be found */
	RULE_AGE,
	RULE_DONE,
	RULE_SIZE,
	RULE_END
} Rule;

/* The time before which a partition's oldest segment makes it due, or -infinity. */
static TimestampTz
due_before(const QueenRetention *retention, Rule rule)
{
	TimestampTz before = rule == RULE_AGE ? retention->age_before : retention->done_before;
	int64		age = rule == RULE_AGE ? retention->queue->retention :
	retention->queue->completed_retention;

	if (before == DT_NOBEGIN)
		return before;
	return before - Min(age / SLACK_PART, MAX_SLACK);
}

/* Whether a queue has a rule that needs a walk. */
static bool
is_needed(const QueenRetention *retention, Rule rule)
{
	if (rule == RULE_SIZE)
		return retention->queue->retention_bytes > 0 || retention->queue->retention_messages > 0;
	return due_before(retention, rule) != DT_NOBEGIN;
}

/* Where no older entries are worth to be looked for. */
static TimestampTz
find_mark(QueenWalk *walk)
{
	TimestampTz now = GetCurrentTimestamp();

	if (walk->mark > now || walk->marked_at > now ||
		TimestampDifferenceExceeds(walk->marked_at, now, RECONCILE_MS))
	{
		walk->mark = DT_NOBEGIN;
		walk->marked_at = now;
	}
	return walk->mark;
}

/*
 * A time such that whatever a transaction wrote before it can be seen by now,
 * or never will be: when it was taken, no transaction had an id that is not
 * ended since.
 */
static TimestampTz
find_safe_time(QueenWalks *walks)
{
	TimestampTz now = GetCurrentTimestamp();
	TransactionId next = ReadNextTransactionId();

	if (!TransactionIdIsValid(walks->epoch_xid))
		walks->safe_at = DT_NOBEGIN;
	else if (TransactionIdPrecedes(GetLatestSnapshot()->xmin, walks->epoch_xid))
		return walks->safe_at;
	else
		walks->safe_at = walks->epoch_at;
	walks->epoch_at = now - USECS_PER_SEC;	/* a time is taken before the id */
	walks->epoch_xid = next;
	return walks->safe_at;
}

/* Begins a walk, or goes on with the one of an earlier pass. */
static void
begin_walk(QueenPass *pass, Rule rule)
{
	QueenWalk  *walk = queen_walk(pass->walks, pass->queue_id);

	pass->rule = rule;
	pass->looks = 0;
	pass->left = find_safe_time(pass->walks);
	pass->at = find_mark(walk);
	pass->partition_id = 0;
	if (rule == RULE_SIZE)
		pass->partition_id = walk->size_id;
	if (rule == RULE_DONE && walk->done_id > 0)
	{
		pass->at = walk->done_at;
		pass->partition_id = walk->done_id;
		pass->left = walk->done_left;
	}
}

/* Ends a walk: at its end it begins anew, else it is to go on here. */
static void
end_walk(const QueenRetention *retention, QueenPass *pass, bool at_end)
{
	QueenWalk  *walk = queen_walk(pass->walks, pass->queue_id);

	if (pass->rule == RULE_SIZE)
		walk->size_id = at_end ? 0 : pass->partition_id;
	else if (at_end)
	{
		walk->mark = Max(walk->mark, Min(pass->left, due_before(retention, pass->rule)));
		if (pass->rule == RULE_DONE)
			walk->done_id = 0;
	}
	else if (pass->rule == RULE_DONE)
	{
		walk->done_at = pass->at;
		walk->done_id = pass->partition_id;
		walk->done_left = pass->left;
	}
}

/* The next partitions of a walk. */
static int
find_partitions(const QueenRetention *retention, const QueenPass *pass,
				QueenPartitionAge *found)
{
	QueenPartitionAge after = {pass->at, pass->partition_id};
	QueenPartition partition;
	int			count = 0;

	if (pass->rule != RULE_SIZE)
		return queen_partitions_older(pass->queue_id, &after,
									  due_before(retention, pass->rule), found, LOOKS_AT_ONCE);
	while (count < LOOKS_AT_ONCE &&
		   queen_partition_after(pass->queue_id, after.partition_id, &partition))
	{
		after.partition_id = partition.partition_id;
		found[count].at = partition.oldest_at;
		found[count++].partition_id = partition.partition_id;
	}
	return count;
}

/* Removes what is to go from the partition at which the walk stands, if that can be. */
static QueenRemoved
try_partition(const QueenRetention *retention, QueenPass *pass, QueenRemoval *removal)
{
	QueenRemoved removed;

	if (queen_pass_is_held(pass, pass->queue_id, pass->partition_id))
		return QUEEN_REMOVED_NOTHING;
	queen_pass_enter(pass, pass->queue_id, pass->partition_id);
	removed = queen_retention_apply(retention, pass->partition_id, removal);
	queen_pass_enter(pass, pass->queue_id, 0);
	return removed;
}

/* Works on one partition; true where something was written. */
static bool
work_on(const QueenRetention *retention, QueenPass *pass, const QueenPartitionAge *place,
		int64 *done)
{
	TimestampTz left = pass->left;
	QueenRemoval removal;

	pass->at = place->at;
	pass->partition_id = place->partition_id;
	pass->left = Min(left, place->at);	/* also where it fails */
	if (try_partition(retention, pass, &removal) != QUEEN_REMOVED_SOME)
	{
		pass->looks++;
		return false;
	}
	pass->left = Min(left, removal.oldest_at);
	if (removal.oldest_at == DT_NOEND)
	{
		QueenWalk  *walk = queen_walk(pass->walks, pass->queue_id);

		walk->idle_mark = Min(walk->idle_mark, removal.last_at);
		walk->idle_low = Min(walk->idle_low, removal.last_at);
	}
	if (removal.segments > 0)
		queen_retention_tally(retention, &removal, &pass->tally);
	*done += removal.segments;
	if ((removal.cut && (pass->rule == RULE_SIZE || removal.oldest_at == place->at)) ||
		(pass->rule == RULE_SIZE && removal.count_grew))
		pass->partition_id--;	/* the same one again */
	return true;
}

/* Goes on with a walk until something was written; false where it ends for now. */
static bool
go_on(const QueenRetention *retention, QueenPass *pass, int64 *done)
{
	QueenPartitionAge found[LOOKS_AT_ONCE];
	int			count = find_partitions(retention, pass, found);

	for (int i = 0; i < count; i++)
	{
		if (work_on(retention, pass, &found[i], done))
			return true;
	}
	if (count == LOOKS_AT_ONCE &&
		(pass->rule == RULE_AGE || pass->by_hand || pass->looks < MAX_LOOKS))
		return true;
	end_walk(retention, pass, count < LOOKS_AT_ONCE);
	return false;
}

/* Writes down what went from the queue that was worked on. */
static void
write_tally(QueenPass *pass)
{
	QueenTally	tally = pass->tally;

	if (tally.segments == 0)
		return;
	memset(&pass->tally, 0, sizeof(QueenTally));
	if (queen_try_lock_queue(tally.queue_id) && queen_queue_by_id(tally.queue_id))
		queen_retention_log_insert(&tally, "worker");
}

/* Finds the next queue that does not keep everything. */
static bool
find_queue(QueenPass *pass)
{
	write_tally(pass);
	if (!queen_pass_next_queue(pass, queen_retention_next_queue))
		return false;
	begin_walk(pass, RULE_AGE);
	return true;
}

/* The step. */
bool
queen_retention_step(QueenPass *pass, int64 *done)
{
	QueenRetention retention;
	QueenQueue *queue;

	if (pass->over && pass->rule == RULE_NONE)
	{
		write_tally(pass);
		return false;
	}
	if (pass->rule == RULE_NONE)
		return find_queue(pass);
	queen_pass_enter(pass, pass->queue_id, 0);
	queue = queen_queue_by_id(pass->queue_id);
	if (queue == NULL)
	{
		pass->rule = RULE_NONE;
		return !pass->over;
	}
	queen_retention_open(queue, false, &retention);
	if (pass->over)
	{
		end_walk(&retention, pass, false);
		write_tally(pass);
		return false;
	}
	retention.max_segments = MAX_SEGMENTS;
	retention.max_bytes = MAX_BYTES;
	retention.stepwise = true;
	if (!is_needed(&retention, pass->rule) || !go_on(&retention, pass, done))
	{
		if (pass->rule + 1 < RULE_END)
			begin_walk(pass, pass->rule + 1);
		else
			pass->rule = RULE_NONE;
	}
	return true;
}
