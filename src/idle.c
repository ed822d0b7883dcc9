/*-------------------------------------------------------------------------
 *
 * idle.c
 *	  Removes partitions that are empty and have been idle for long.
 *
 * With its row go the cursors in it and what seeks did there. The locks keep
 * out whoever might write one of these: the queue against drop, the queue's
 * append lock and the partition's against pushes, each group against a seek of
 * the queue and the cursors against all the rest. A push that has found the
 * partition, and waits for its lock, finds it gone and makes it anew (log.c);
 * a lease in it is lost, as leases name the partition by its id.
 *
 * Not before a transaction id in it may be forgotten: dedup_window counts, too.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "cursor_store.h"
#include "dedup.h"
#include "group_store.h"
#include "idle.h"
#include "locks.h"
#include "partition_store.h"
#include "queue_store.h"
#include "retention_store.h"
#include "runs.h"
#include "seek_store.h"
#include "segment_store.h"

#define RECONCILE_MS	600000
#define LOOKS_AT_ONCE	100

/* The time before which the last push must have been. */
static TimestampTz
idle_before(const QueenQueue *queue)
{
	return GetCurrentTimestamp() - Max(queue->drop_idle_partitions, queue->dedup_window);
}

/* Keeps everybody out of a partition. */
static bool
try_locks(const QueenGroup *groups, int ngroups, int32 queue_id, int64 partition_id)
{
	bool		each;

	if (!queen_try_lock_queue(queue_id) || !queen_try_lock_queue_append(queue_id, &each))
		return false;
	for (int i = 0; i < ngroups; i++)
	{
		if (!queen_try_lock_group(groups[i].group_id, ShareLock))
			return false;
	}
	if (!queen_try_lock_partition_append(partition_id))
		return false;
	for (int i = 0; i < ngroups; i++)
	{
		if (!queen_try_lock_cursor(partition_id, groups[i].number))
			return false;
	}
	return true;
}

/* Whether a partition knows ids that its queue must not forget yet. */
static bool
knows_ids(const QueenQueue *queue, int64 partition_id)
{
	QueenMemory memory;

	return queue->dedup_window > 0 && queen_memory_read(partition_id, &memory) &&
		queen_memory_newest(&memory) >= GetCurrentTimestamp() - queue->dedup_window;
}

/*
 * Whether it is still empty and idle, now that it is locked. A delayed message
 * leaves no trace in the log before its time, but its id is known.
 */
static bool
is_idle(const QueenQueue *queue, int64 partition_id)
{
	QueenPartition partition;
	QueenTail	tail;

	return queen_partition_by_id(partition_id, &partition) &&
		partition.last_at < idle_before(queue) &&
		!queen_segment_tail(partition_id, partition.log_start, &tail) &&
		!knows_ids(queue, partition_id);
}

/* Removes a partition with all that belongs to it, unless somebody is there. */
static bool
drop_partition(const QueenQueue *queue, int64 partition_id)
{
	QueenGroup *groups;
	int			ngroups;

	if (!queen_try_lock_group_list(queue->queue_id))
		return false;			/* one is being added, with a cursor here */
	ngroups = queen_group_list(queue->queue_id, &groups);
	if (!try_locks(groups, ngroups, queue->queue_id, partition_id) ||
		!is_idle(queue, partition_id))
		return false;
	queen_cursors_delete_partition(partition_id);
	queen_seek_moves_delete_partition(queue->queue_id, partition_id);
	queen_size_delete(partition_id);
	queen_dedup_forget(partition_id);
	queen_partition_delete(partition_id);
	return true;
}

/* Begins with the next queue whose idle partitions go. */
static bool
begin_queue(QueenPass *pass)
{
	TimestampTz now = GetCurrentTimestamp();
	QueenWalk  *walk;

	if (!queen_pass_next_queue(pass, queen_idle_next_queue))
		return false;
	walk = queen_walk(pass->walks, pass->queue_id);
	if (walk->idle_mark > now || walk->idle_marked_at > now ||
		TimestampDifferenceExceeds(walk->idle_marked_at, now, RECONCILE_MS))
	{
		walk->idle_mark = DT_NOBEGIN;
		walk->idle_marked_at = now;
	}
	walk->idle_low = DT_NOEND;
	pass->rule = 1;
	pass->at = walk->idle_mark;
	pass->partition_id = 0;
	pass->left = DT_NOEND;
	return true;
}

/* Ends with a queue, all of whose idle partitions were seen. */
static bool
end_queue(QueenPass *pass, const QueenQueue *queue)
{
	if (queue)
	{
		QueenWalk  *walk = queen_walk(pass->walks, pass->queue_id);

		walk->idle_mark = Min(Min(pass->left, walk->idle_low), idle_before(queue));
	}
	pass->rule = 0;
	return true;
}

/* Removes the partition at which the walk stands, if that can be. */
static bool
try_partition(QueenPass *pass, const QueenQueue *queue)
{
	bool		dropped;

	if (queen_pass_is_held(pass, queue->queue_id, pass->partition_id))
		return false;
	queen_pass_enter(pass, queue->queue_id, pass->partition_id);
	dropped = drop_partition(queue, pass->partition_id);
	queen_pass_enter(pass, queue->queue_id, 0);
	return dropped;
}

/* The step. One partition goes in a transaction. */
bool
queen_idle_step(QueenPass *pass, int64 *done)
{
	QueenQueue *queue;

	if (pass->over)
		return false;
	if (pass->rule == 0)
		return begin_queue(pass);
	queen_pass_enter(pass, pass->queue_id, 0);
	queue = queen_queue_by_id(pass->queue_id);
	if (queue == NULL || queue->drop_idle_partitions == 0)
		return end_queue(pass, NULL);
	for (int i = 0; i < LOOKS_AT_ONCE; i++)
	{
		QueenPartitionAge after = {pass->at, pass->partition_id};
		QueenPartitionAge found;
		TimestampTz left = pass->left;

		if (!queen_partition_idle(queue->queue_id, &after, idle_before(queue), &found))
			return end_queue(pass, queue);
		pass->at = found.at;
		pass->partition_id = found.partition_id;
		pass->left = Min(left, found.at);	/* also where it fails */
		if (try_partition(pass, queue))
		{
			pass->left = left;
			(*done)++;
			return true;
		}
	}
	return true;
}
