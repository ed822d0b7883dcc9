/*-------------------------------------------------------------------------
 *
 * retention.c
 *	  Removes what a queue does not keep: whole segments, the oldest first.
 *
 * A partition is looked at without a lock. Where something is to go, its
 * append lock is tried, so that no push is between the look and the removal,
 * and the look is repeated; segments go and log_start moves in one transaction.
 * Readers need no lock: they start at the first segment that is there. What
 * the groups have done counts for completed_retention only. Their committed
 * offsets go forward but for a seek, so the locks of the groups (shared, a seek
 * of the queue takes them exclusively) and of retention (a seek of the
 * partition takes it shared) are enough, and those of the cursors, which busy
 * consumers hold most of the time, are not needed.
 *
 * All locks are tried, in any order. retention_walk.c finds the partitions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "group.h"
#include "locks.h"
#include "retention.h"
#include "retention_store.h"
#include "segment_store.h"

/* Rows that are asked for at once. */
#define SEGMENTS_AT_ONCE	64

/* Segments that are counted at once, and offsets from which on a count is kept. */
#define COUNT_AT_ONCE		5000
#define COUNT_TO_KEEP		1000

/* How far oldest_at may be below the truth. */
#define BOUND_SLACK			USECS_PER_SEC

/* How far each rule may go in a partition. */
typedef struct Bounds
{
	int64		done;			/* all groups have done up to here; -1: none */
	int64		messages_end;	/* what ends at or before this is beyond the
								 * limit */
	int64		bytes;			/* that may go; what is left then is the limit */
} Bounds;

/* What a queue keeps, now. Nothing counts as done where no group is registered. */
void
queen_retention_open(const QueenQueue *queue, bool dry_run, QueenRetention *retention)
{
	TimestampTz now = GetCurrentTimestamp();
	bool		complete;		/* the list of groups is, and stays so */

	memset(retention, 0, sizeof(QueenRetention));
	retention->queue = queue;
	retention->age_before = queue->retention > 0 ? now - queue->retention : DT_NOBEGIN;
	retention->done_before = DT_NOBEGIN;
	complete = queue->completed_retention > 0 &&
		(dry_run || queen_try_lock_group_list(queue->queue_id));
	retention->ngroups = queen_group_list(queue->queue_id, &retention->groups);
	if (complete && retention->ngroups > 0)
		retention->done_before = now - queue->completed_retention;
	retention->max_segments = PG_INT64_MAX;
	retention->max_bytes = PG_INT64_MAX;
}

/* The last offset that every group has done; a group that never popped stands at its start. */
static int64
find_done(const QueenRetention *retention, const QueenPartition *partition)
{
	int64		done = PG_INT64_MAX;

	for (int i = 0; i < retention->ngroups; i++)
	{
		QueenCursor cursor;

		queen_group_read_cursor(&retention->groups[i], partition, &cursor);
		done = Min(done, cursor.committed);
	}
	return done;
}

/* The size of a partition as far as it was counted; nothing where that was elsewhere. */
static QueenSize
read_size(const QueenPartition *partition)
{
	QueenSize	size;

	if (!queen_size_read(partition->partition_id, &size) ||
		size.from_offset != partition->log_start)
	{
		size.from_offset = size.to_offset = partition->log_start;
		size.bytes = 0;
	}
	return size;
}

/* How many bytes may go. Nothing does before all segments were counted. */
static int64
find_surplus(const QueenRetention *retention, QueenRemoval *removal)
{
	int64		partition_id = removal->partition.partition_id;
	int64		counted;
	bool		all;

	removal->size = read_size(&removal->partition);
	counted = removal->size.to_offset;
	do
		all = queen_size_count(partition_id, &removal->size, COUNT_AT_ONCE);
	while (!all && !retention->stepwise);
	removal->count_grew = removal->size.to_offset >= counted + COUNT_TO_KEEP;

	return all ? removal->size.bytes - retention->queue->retention_bytes : 0;
}

/* How far each rule may go. */
static Bounds
find_bounds(const QueenRetention *retention, QueenRemoval *removal)
{
	const QueenPartition *partition = &removal->partition;
	const QueenQueue *queue = retention->queue;
	Bounds		bounds = {-1, -1, 0};
	QueenTail	tail;

	if (retention->done_before != DT_NOBEGIN)
		bounds.done = find_done(retention, partition);
	if (queue->retention_messages > 0 &&
		queen_segment_tail(partition->partition_id, partition->log_start, &tail))
		bounds.messages_end = tail.next_offset - queue->retention_messages;
	if (queue->retention_bytes > 0)
		bounds.bytes = find_surplus(retention, removal);

	return bounds;
}

/* The rule that lets a segment go, or NULL. */
static const char *
find_rule(const QueenRetention *retention, const Bounds *bounds,
		  const QueenSegmentSize *segment, int64 bytes)
{
	int64		end = segment->base_offset + segment->message_count;

	if (segment->created_at < retention->age_before)
		return "retention";
	if (segment->created_at < retention->done_before && end - 1 <= bounds->done)
		return "completed_retention";
	if (end <= bounds->messages_end)
		return "retention_messages";
	if (bytes + segment->bytes <= bounds->bytes)
		return "retention_bytes";
	return NULL;
}

/* Adds a segment to what goes; false where it stays, and all after it. */
static bool
add_segment(const QueenRetention *retention, const Bounds *bounds,
			const QueenSegmentSize *segment, QueenRemoval *removal)
{
	const char *rule = find_rule(retention, bounds, segment, removal->bytes);

	removal->oldest_at = segment->created_at;
	if (rule == NULL)
		return false;
	removal->cut = removal->segments >= retention->max_segments ||
		removal->bytes >= retention->max_bytes;
	if (removal->cut)
		return false;
	if (removal->segments == 0)
		removal->first_at = segment->created_at;
	removal->next_start = segment->base_offset + segment->message_count;
	removal->segments++;
	removal->bytes += segment->bytes;
	removal->last_at = segment->created_at;
	removal->rule = rule;

	return true;
}

/*
 * Whether the first segment may go at all, as far as that is known without
 * reading it: most partitions that are looked at for nothing end here.
 */
static bool
may_begin(const QueenRetention *retention, const Bounds *bounds,
		  const QueenPartition *partition)
{
	return partition->oldest_at < retention->age_before ||
		bounds->done >= partition->log_start ||
		bounds->messages_end > partition->log_start ||
		bounds->bytes > 0 || partition->oldest_at == DT_NOEND;
}

/* Which segments go. */
static void
plan_segments(const QueenRetention *retention, QueenRemoval *removal)
{
	const QueenPartition *partition = &removal->partition;
	Bounds		bounds = find_bounds(retention, removal);
	QueenSegmentSize segments[SEGMENTS_AT_ONCE];
	int			limit = 1;
	int			found;

	removal->next_start = partition->log_start;
	removal->last_at = partition->last_at;
	removal->oldest_at = partition->oldest_at;
	if (!may_begin(retention, &bounds, partition))
		return;
	do
	{
		removal->oldest_at = DT_NOEND;
		found = queen_segments_oldest(partition->partition_id, removal->next_start,
									  segments, limit);
		for (int i = 0; i < found; i++)
		{
			if (!add_segment(retention, &bounds, &segments[i], removal))
				return;
		}
		if (found == limit)
			limit = SEGMENTS_AT_ONCE;
	} while (found > 0);
}

/* Which segments of a partition go now; false where it is gone. */
static bool
plan_removal(const QueenRetention *retention, int64 partition_id, QueenRemoval *removal)
{
	memset(removal, 0, sizeof(QueenRemoval));
	if (!queen_partition_by_id(partition_id, &removal->partition))
		return false;
	plan_segments(retention, removal);
	return true;
}

/* How many of the messages that go each group has not done; before they go. */
static void
count_unread(const QueenRetention *retention, QueenRemoval *removal)
{
	removal->unread = palloc0(sizeof(int64) * Max(retention->ngroups, 1));
	for (int i = 0; removal->segments > 0 && i < retention->ngroups; i++)
	{
		QueenCursor cursor;

		queen_group_read_cursor(&retention->groups[i], &removal->partition, &cursor);
		removal->unread[i] = queen_cursor_unfinished(&cursor, removal->partition.log_start,
													 removal->next_start - 1);
	}
}

/* What would go from a partition now; false where it is gone. */
bool
queen_retention_plan(const QueenRetention *retention, int64 partition_id,
					 QueenRemoval *removal)
{
	if (!plan_removal(retention, partition_id, removal))
		return false;
	count_unread(retention, removal);
	return true;
}

/*
 * Whether the time of the oldest segment in a partition's row is so wrong that
 * it is worth a write. A push that makes a partition notes its own beginning,
 * a moment before the segment's time.
 */
static bool
is_bound_off(const QueenRemoval *removal)
{
	TimestampTz noted = removal->partition.oldest_at;

	return noted > removal->oldest_at ||
		(noted < removal->oldest_at && (removal->oldest_at == DT_NOEND ||
										removal->oldest_at - noted > BOUND_SLACK));
}

/* Whether a plan changes anything. */
static bool
changes_anything(const QueenRemoval *removal)
{
	return removal->segments > 0 || removal->count_grew || is_bound_off(removal);
}

/* Whether a partition is worth its locks. */
static bool
has_work(const QueenRetention *retention, int64 partition_id, QueenRemoval *removal)
{
	QueenRetention first = *retention;

	first.max_segments = 1;
	return plan_removal(&first, partition_id, removal) &&
		changes_anything(removal);
}

/* Keeps the groups from going back in a partition, where that matters. */
static bool
try_group_locks(const QueenRetention *retention, int64 partition_id)
{
	if (retention->done_before == DT_NOBEGIN)
		return true;
	for (int i = 0; i < retention->ngroups; i++)
	{
		if (!queen_try_lock_group(retention->groups[i].group_id, ShareLock))
			return false;
	}
	return queen_try_lock_retention(partition_id);
}

/* Keeps pushes out of a partition, and groups from going back in it. */
static bool
try_locks(const QueenRetention *retention, int64 partition_id)
{
	bool		each;
	int32		queue_id = retention->queue->queue_id;

	if (!queen_try_lock_queue(queue_id) || !queen_try_lock_queue_append(queue_id, &each) ||
		!queen_try_lock_partition_append(partition_id))
		return false;
	if (try_group_locks(retention, partition_id))
		return true;
	queen_unlock_partition_append(partition_id);
	return false;
}

/* Keeps the count of bytes, without those that went. */
static void
keep_size(const QueenRemoval *removal)
{
	QueenSize	size = removal->size;

	size.bytes -= removal->bytes;
	size.from_offset = removal->next_start;
	if (size.to_offset < size.from_offset)
	{
		size.to_offset = size.from_offset;	/* what went was not all counted */
		size.bytes = 0;
	}
	queen_size_write(removal->partition.partition_id, &size);
}

/* Removes what a plan says. */
static void
carry_out(const QueenRetention *retention, const QueenRemoval *removal)
{
	const QueenPartition *partition = &removal->partition;
	TimestampTz last_at = partition->last_at;

	if (retention->queue->retention_bytes > 0)
		keep_size(removal);
	if (removal->segments > 0 &&
		queen_segments_remove(partition->partition_id, partition->log_start,
							  removal->next_start) != removal->segments)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("segments of partition \"%s\" are not what they were",
						text_to_cstring(partition->name))));
	if (removal->oldest_at == DT_NOEND)
		last_at = removal->last_at;
	if (removal->segments > 0 || is_bound_off(removal))
		queen_partition_set_start(partition->partition_id, removal->next_start, last_at,
								  removal->oldest_at);
}

/* Removes what a partition does not keep, unless somebody works on it. */
QueenRemoved
queen_retention_apply(const QueenRetention *retention, int64 partition_id,
					  QueenRemoval *removal)
{
	if (!has_work(retention, partition_id, removal))
		return QUEEN_REMOVED_NOTHING;
	if (!try_locks(retention, partition_id))
		return QUEEN_REMOVED_BUSY;
	if (!plan_removal(retention, partition_id, removal) || !changes_anything(removal))
	{
		queen_unlock_partition_append(partition_id);
		return QUEEN_REMOVED_NOTHING;
	}
	count_unread(retention, removal);
	carry_out(retention, removal);
	return QUEEN_REMOVED_SOME;
}

/* Adds a removal to what went from its queue. */
void
queen_retention_tally(const QueenRetention *retention, const QueenRemoval *removal,
					  QueenTally *tally)
{
	tally->queue_id = retention->queue->queue_id;
	tally->partitions++;
	tally->segments += removal->segments;
	tally->messages += removal->next_start - removal->partition.log_start;
	tally->bytes += removal->bytes;
	for (int i = 0; i < retention->ngroups; i++)
		tally->unread += removal->unread[i];
}
