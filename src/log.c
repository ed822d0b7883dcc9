/*-------------------------------------------------------------------------
 *
 * log.c
 *	  Appends messages to partitions.
 *
 * The append lock of a partition is taken before its tail is read and held to
 * the end of the transaction: so the order of offsets is the order of commits,
 * and a rollback leaves no hole. One call locks its partitions in ascending
 * order of id, after it has found or made them in the order of their names.
 *
 * A partition that this call made needs no append lock: nobody else can see
 * it, and by the time they can, this transaction has ended.
 *
 * Under the lock, dedup.c says which messages are duplicates; they are left out.
 * Those with a delay go to queen.scheduled instead of the log; they come here
 * at all only where their ids have to be looked at.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "arena.h"
#include "compat.h"
#include "counters.h"
#include "cursor.h"
#include "dedup.h"
#include "errors.h"
#include "group.h"
#include "locks.h"
#include "log.h"
#include "schedule_store.h"
#include "segment_store.h"
#include "settings.h"
#include "soon.h"
#include "touch.h"

/* About how large the frames of a segment grow before the next one begins. */
#define SEGMENT_BYTES (512 * 1024)

/* By id of the partition. */
static int
compare_ids(const void *a, const void *b)
{
	int64		left = ((const QueenLane *) a)->partition.partition_id;
	int64		right = ((const QueenLane *) b)->partition.partition_id;

	return left < right ? -1 : left > right;
}

/* By name, which is the order in which partitions are made. */
static int
compare_names(const void *a, const void *b)
{
	const text *left = ((const QueenLane *) a)->name;
	const text *right = ((const QueenLane *) b)->name;
	int			result = memcmp(VARDATA_ANY(left), VARDATA_ANY(right),
								Min(VARSIZE_ANY_EXHDR(left), VARSIZE_ANY_EXHDR(right)));

	if (result == 0)
		result = (int) VARSIZE_ANY_EXHDR(left) - (int) VARSIZE_ANY_EXHDR(right);
	return result;
}

/* Makes the partition of a lane. */
static void
make_partition(const QueenQueue *queue, QueenLane *lane)
{
	lane->made = true;
	lane->partition.partition_id = queen_partition_insert(queue->queue_id, lane->name);
	lane->partition.queue_id = queue->queue_id;
	lane->partition.name = lane->name;
	lane->partition.log_start = 0;
	lane->partition.last_at = DT_NOBEGIN;
}

/* Finds the partition of a lane, or makes it. */
static void
open_lane(const QueenQueue *queue, QueenLane *lane, bool lock)
{
	if (queen_partition_by_name(queue->queue_id, lane->name, &lane->partition))
		return;
	if (lock)
	{
		queen_lock_partition_creation(queue->queue_id, VARDATA_ANY(lane->name),
									  VARSIZE_ANY_EXHDR(lane->name));
		if (queen_partition_by_name(queue->queue_id, lane->name, &lane->partition))
			return;
	}
	make_partition(queue, lane);
}

/*
 * Where the messages of a lane go, and when. Time does not run backward in a
 * partition, whatever the clock does. Where no segment is kept, the partition's
 * row, read again under the lock, knows where the log stood; false where that
 * is gone, since only a partition without a segment can be removed.
 */
static bool
place_lane(QueenLane *lane)
{
	QueenPartition *partition = &lane->partition;
	TimestampTz now = GetCurrentTimestamp();
	QueenTail	tail;

	if (!lane->made &&
		queen_segment_tail(partition->partition_id, partition->log_start, &tail))
	{
		lane->first_offset = tail.next_offset;
		lane->created_at = Max(now, tail.created_at);
		return true;
	}
	if (!lane->made)
	{
		if (!queen_partition_by_id(partition->partition_id, partition))
			return false;
		lane->empty = true;
	}
	lane->first_offset = partition->log_start;
	lane->created_at = Max(now, partition->last_at);

	return true;
}

/*
 * Locks the lanes in the order of their ids and places them. False where the
 * partition of one was removed, because it had been idle, while its lock was
 * waited for: then the locks are given back, as nothing has been written, and
 * the partition is to be made anew.
 */
static bool
lock_lanes(QueenLane *lanes, int nlanes, bool lock)
{
	bool		all = true;

	qsort(lanes, nlanes, sizeof(QueenLane), compare_ids);
	for (int i = 0; lock && i < nlanes; i++)
		lanes[i].locked = !lanes[i].made &&
			queen_lock_partition_append(lanes[i].partition.partition_id);
	for (int i = 0; all && i < nlanes; i++)
		all = place_lane(&lanes[i]);
	for (int i = 0; !all && i < nlanes; i++)
	{
		if (lanes[i].locked)
			queen_unlock_partition_append(lanes[i].partition.partition_id);
	}
	return all;
}

/* Whether a message of a lane waits for its time. */
static bool
is_delayed(const QueenLane *lane, uint32 n)
{
	return lane->deliver_at && lane->deliver_at[n] != DT_NOBEGIN;
}

/* Puts the messages with a delay where they wait. */
static void
schedule_delayed(const QueenQueue *queue, QueenLane *lane)
{
	for (uint32 i = 0; lane->deliver_at && i < lane->count; i++)
	{
		QueenPlaced *placed = &lane->placed[i];

		if (!is_delayed(lane, i) || placed->outcome == QUEEN_DUPLICATE)
			continue;
		queen_due_at(lane->deliver_at[i]);
		placed->outcome = QUEEN_SCHEDULED;
		placed->offset = -1;
		placed->scheduled_id = queen_scheduled_insert(queue->queue_id, lane->name,
													  &lane->messages[i], lane->deliver_at[i],
													  lane->created_at);
	}
}

/* Gives each message of a lane a place of its own, all to be numbered. */
void
queen_lane_place_each(QueenLane *lane)
{
	lane->placed = palloc_extended(sizeof(QueenPlaced) * lane->count,
								   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

/* Gathers the messages that are written, and numbers them. */
static void
number_messages(QueenLane *lane)
{
	lane->written = lane->messages;
	lane->nwritten = lane->count;
	if (lane->placed == NULL)
		return;
	lane->written = palloc_extended(sizeof(QueenMessage) * lane->count, MCXT_ALLOC_HUGE);
	lane->nwritten = 0;
	for (uint32 i = 0; i < lane->count; i++)
	{
		if (lane->placed[i].outcome != QUEEN_QUEUED || is_delayed(lane, i))
			continue;
		lane->placed[i].offset = lane->first_offset + lane->nwritten;
		lane->written[lane->nwritten++] = lane->messages[i];
	}
}

/* How many messages wait in a partition for its slowest group, before an append. */
static int64
find_backlog(const QueenLane *lane, const QueenGroup *groups, int ngroups)
{
	int64		slowest = lane->first_offset;

	if (ngroups == 0)
		slowest = lane->partition.log_start;
	for (int i = 0; i < ngroups; i++)
	{
		QueenCursor cursor;

		queen_group_read_cursor(&groups[i], &lane->partition, &cursor);
		slowest = Min(slowest, queen_cursor_head(&cursor));
	}
	return lane->first_offset - slowest;
}

/* What is said of a queue with no room for a message. */
char *
queen_log_full_message(const QueenQueue *queue)
{
	return psprintf("queue \"%s\" is full", text_to_cstring(queue->name));
}

/* backlog is what there would be with that message. */
char *
queen_log_full_detail(const QueenQueue *queue, const QueenLane *lane, int64 backlog)
{
	return psprintf("Partition \"%s\" would have a backlog of %lld messages, %lld are allowed.",
					text_to_cstring(lane->name), (long long) backlog,
					(long long) queue->max_backlog);
}

/* Takes out of a lane the messages for which there is no room, the last ones. */
static void
leave_out(QueenLane *lane, int64 room)
{
	if (lane->placed == NULL)
	{
		QueenPlaced *all = palloc_extended(sizeof(QueenPlaced) * lane->count, MCXT_ALLOC_HUGE);

		for (uint32 i = 0; i < lane->count; i++)
			all[i] = queen_lane_placed(lane, i);
		lane->placed = all;
	}
	for (uint32 i = 0; i < lane->count; i++)
	{
		QueenPlaced *placed = &lane->placed[i];

		if (placed->outcome != QUEEN_QUEUED || placed->offset < lane->first_offset + room)
			continue;
		placed->outcome = QUEEN_FULL;
		placed->offset = -1;
	}
	lane->nwritten = (uint32) room;
}

/*
 * Refuses what would take a partition beyond the backlog that its queue allows,
 * or leaves it out.
 */
static void
check_backlog(const QueenQueue *queue, QueenLane *lane, const QueenGroup *groups, int ngroups)
{
	int64		backlog = find_backlog(lane, groups, ngroups);

	if (backlog + lane->nwritten <= queue->max_backlog)
		return;
	if (!lane->fitting)
		ereport(ERROR,
				(errcode(ERRCODE_QUEEN_QUEUE_FULL),
				 errmsg_internal("%s", queen_log_full_message(queue)),
				 errdetail_internal("%s", queen_log_full_detail(queue, lane,
																backlog + lane->nwritten))));
	leave_out(lane, Max(queue->max_backlog - backlog, 0));
}

/* Writes one segment. */
static void
write_segment(const QueenLane *lane, uint32 first, uint32 count, size_t frames_size)
{
	size_t		size = queen_segment_size(count, frames_size);
	bytea	   *frames = palloc(VARHDRSZ + size);
	QueenSegmentRow row = {
		.base_offset = lane->first_offset + first,
		.created_at = lane->created_at,
		.message_count = (int32) count,
		.frames = PointerGetDatum(frames)
	};

	SET_VARSIZE(frames, VARHDRSZ + size);
	queen_segment_encode((uint8_t *) VARDATA(frames), lane->written + first, count);
	queen_segment_insert(lane->partition.partition_id, &row);
	pfree(frames);
	queen_arena_note(size);
}

/* No message goes behind the last offset, to which a superuser's hand may bring a log. */
static void
check_offsets(const QueenLane *lane)
{
	if (lane->first_offset >= 0 && lane->first_offset <= PG_INT64_MAX - (int64) lane->nwritten)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("no offset is left in partition %lld after %lld",
					(long long) lane->partition.partition_id, (long long) lane->first_offset - 1)));
}

/* Cuts the messages of a lane into segments and writes them. */
static void
write_lane(const QueenLane *lane)
{
	uint32		first = 0;
	size_t		size = 0;

	check_offsets(lane);
	for (uint32 i = 0; i < lane->nwritten; i++)
	{
		size_t		frame = queen_frame_size(&lane->written[i]);

		if (i > first && size + frame > SEGMENT_BYTES)
		{
			CHECK_FOR_INTERRUPTS();
			write_segment(lane, first, i - first, size);
			first = i;
			size = 0;
		}
		size += frame;
	}
	write_segment(lane, first, lane->nwritten - first, size);
}

/* Counts what a lane brought into the log: no duplicate, nothing that was left out. */
static void
count_lane(const QueenQueue *queue, const QueenLane *lane)
{
	int64		bytes = 0;

	for (uint32 i = 0; i < lane->nwritten; i++)
		bytes += lane->written[i].payload_len;
	queen_count(queue->queue_id, 0, QUEEN_COUNT_MESSAGES, lane->nwritten);
	queen_count(queue->queue_id, 0, QUEEN_COUNT_BYTES, bytes);
}

/*
 * Appends the messages of a lane that is locked and placed. Those whose time has come
 * were accepted when they were pushed, so no backlog stops them.
 */
static void
append_lane(const QueenQueue *queue, QueenLane *lane, const QueenGroup *groups, int ngroups)
{
	queen_dedup_find(queue, lane);
	if (lane->deliver_at && lane->placed == NULL)
		queen_lane_place_each(lane);
	number_messages(lane);
	if (lane->nwritten > 0 && queue->max_backlog > 0 && lane->pushed_at == NULL)
		check_backlog(queue, lane, groups, ngroups);
	if (lane->nwritten > 0)
	{
		if (lane->empty)
			queen_partition_set_oldest(lane->partition.partition_id, lane->created_at);
		write_lane(lane);
	}
	schedule_delayed(queue, lane);
	queen_dedup_remember(queue, lane);
}

/*
 * Takes the locks of an append to one partition without waiting; false where
 * somebody else has one of them.
 */
bool
queen_log_try_lock(const QueenQueue *queue, text *name)
{
	QueenPartition partition;
	bool		each;

	if (!queen_try_lock_queue_append(queue->queue_id, &each))
		return false;
	if (!queen_partition_by_name(queue->queue_id, name, &partition))
	{
		if (!each)
			return true;
		if (!queen_try_lock_partition_creation(queue->queue_id, VARDATA_ANY(name),
											   VARSIZE_ANY_EXHDR(name)))
			return false;
		if (!queen_partition_by_name(queue->queue_id, name, &partition))
			return true;
	}
	return !each || queen_try_lock_partition_append(partition.partition_id);
}

/*
 * Finds or makes the partitions of all lanes, and locks and places them. The
 * lanes are put in the order of their ids.
 */
void
queen_log_lock(const QueenQueue *queue, QueenLane *lanes, int nlanes)
{
	bool		lock = queen_lock_queue_append(queue->queue_id,
											   nlanes > queen_max_partition_locks);

	do
	{
		CHECK_FOR_INTERRUPTS();
		qsort(lanes, nlanes, sizeof(QueenLane), compare_names);
		for (int i = 0; i < nlanes; i++)
		{
			if (!lanes[i].made)
				open_lane(queue, &lanes[i], lock);
		}
	} while (!lock_lanes(lanes, nlanes, lock));
}

/*
 * Appends to lanes that are locked and placed, and tells each where its messages
 * went. By how many calls they came the caller counts.
 */
void
queen_log_append_open(const QueenQueue *queue, QueenLane *lanes, int nlanes)
{
	QueenGroup *groups = NULL;
	int			ngroups = 0;

	if (queue->max_backlog > 0)
		ngroups = queen_group_list(queue->queue_id, &groups);
	for (int i = 0; i < nlanes; i++)
	{
		append_lane(queue, &lanes[i], groups, ngroups);
		if (lanes[i].nwritten == 0)
			continue;
		queen_touch_append(queue->queue_id, lanes[i].partition.partition_id);
		count_lane(queue, &lanes[i]);
	}
}

/* Appends to each lane its messages. */
void
queen_log_append(const QueenQueue *queue, QueenLane *lanes, int nlanes)
{
	queen_log_lock(queue, lanes, nlanes);
	queen_log_append_open(queue, lanes, nlanes);
	queen_count(queue->queue_id, 0, QUEEN_COUNT_PUSHES, 1);
}

/* Finds the partition of a lane, or makes it, and locks it; or says what stands against it. */
static bool
want_partition(const QueenQueue *queue, QueenLane *lane, int64 held_partition, QueenWanted *wanted)
{
	if (!queen_partition_by_name(queue->queue_id, lane->name, &lane->partition))
	{
		if (!queen_want_partition_creation(queue->queue_id, VARDATA_ANY(lane->name),
										   VARSIZE_ANY_EXHDR(lane->name), wanted))
			return false;
		if (!queen_partition_by_name(queue->queue_id, lane->name, &lane->partition))
		{
			make_partition(queue, lane);
			return true;
		}
	}
	return lane->partition.partition_id == held_partition ||
		queen_want_partition_append(lane->partition.partition_id, wanted);
}

/*
 * Opens a lane: locked and placed; or says which lock somebody else has. Of
 * held_partition the caller of a fused push holds the lock, for the worker. A
 * partition that was removed before its lock was granted is made anew.
 */
bool
queen_log_want(const QueenQueue *queue, QueenLane *lane, int64 held_partition, QueenWanted *wanted)
{
	if (!queen_want_queue_append(queue->queue_id, wanted))
		return false;
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (!want_partition(queue, lane, held_partition, wanted))
			return false;
		if (place_lane(lane))
			return true;
		if (lane->partition.partition_id != held_partition)
			queen_unlock_partition_append(lane->partition.partition_id);
	}
}
