/*-------------------------------------------------------------------------
 *
 * seek.c
 *	  queen.seek and queen.seek_undo.
 *
 * A seek of a whole queue takes the group's lock exclusively: every pop and
 * ack of the group holds it shared to the end of its transaction, so none is in
 * progress, and none of their leases is good afterwards. A seek of one
 * partition takes the cursor's lock, and that of retention, which would remove
 * what the group had done when it looked. Neither waits for long (locks.c).
 *
 * The append locks are not taken: the end is the end of what is committed, and
 * a push that commits later gets an offset behind it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "check.h"
#include "compat.h"
#include "cursor_store.h"
#include "errors.h"
#include "group.h"
#include "lease.h"
#include "locks.h"
#include "queue.h"
#include "reader.h"
#include "seek_store.h"
#include "statement.h"

PG_FUNCTION_INFO_V1(queen_seek);
PG_FUNCTION_INFO_V1(queen_seek_undo);

typedef enum TargetKind
{
	TARGET_NONE,
	TARGET_TIMESTAMP,
	TARGET_END,
	TARGET_BEGINNING,
	TARGET_OFFSET,
	TARGET_BY
} TargetKind;

/* One call. */
typedef struct Seek
{
	TargetKind	kind;
	TimestampTz timestamp;
	int64		number;			/* the offset, or by how many */
	text	   *partition_name; /* NULL: all */
	bool		dry_run;

	QueenQueue *queue;
	QueenGroup *group;
	int64		seek_id;
	ReturnSetInfo *result;
} Seek;

/* Notes a target; there may be one only. */
static void
add_target(Seek *seek, bool written, TargetKind kind)
{
	if (!written)
		return;
	if (seek->kind != TARGET_NONE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("only one target may be given")));
	seek->kind = kind;
}

/* The partition argument; an empty one means all. */
static void
take_partition(FunctionCallInfo fcinfo, Seek *seek)
{
	text	   *name = DatumGetTextPP(queen_required(fcinfo, 5, "partition"));

	if (VARSIZE_ANY_EXHDR(name) > 0)
		seek->partition_name = queen_name_argument(fcinfo, 5, "partition");
}

/* Where to go. NULL is no target: a variable that happens to be NULL must not mean one. */
static void
take_target(FunctionCallInfo fcinfo, Seek *seek)
{
	int64		offset;
	int64		by;

	seek->timestamp = DatumGetTimestampTz(queen_required(fcinfo, 2, "to_timestamp"));
	add_target(seek, seek->timestamp != DT_NOBEGIN, TARGET_TIMESTAMP);
	add_target(seek, DatumGetBool(queen_required(fcinfo, 3, "to_end")), TARGET_END);
	add_target(seek, DatumGetBool(queen_required(fcinfo, 4, "to_beginning")), TARGET_BEGINNING);
	offset = DatumGetInt64(queen_required(fcinfo, 6, "to_offset"));
	add_target(seek, offset != QUEEN_NOT_GIVEN_INT8, TARGET_OFFSET);
	by = DatumGetInt64(queen_required(fcinfo, 7, "by"));
	add_target(seek, by != QUEEN_NOT_GIVEN_INT8, TARGET_BY);
	seek->number = seek->kind == TARGET_OFFSET ? offset : by;

	if (seek->kind == TARGET_NONE && seek->partition_name)
		seek->kind = TARGET_END;
	if (seek->kind == TARGET_NONE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("must specify to_end, to_beginning, by or a timestamp")));
	if (seek->kind == TARGET_OFFSET && seek->partition_name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"to_offset\" needs \"partition\"")));
}

/* The target in words, for the history. */
static char *
describe_target(const Seek *seek)
{
	char	   *words = NULL;

	switch (seek->kind)
	{
		case TARGET_TIMESTAMP:
			words = psprintf("to_timestamp %s", timestamptz_to_str(seek->timestamp));
			break;
		case TARGET_END:
			words = "to_end";
			break;
		case TARGET_BEGINNING:
			words = "to_beginning";
			break;
		case TARGET_OFFSET:
			words = psprintf("to_offset %lld", (long long) seek->number);
			break;
		default:
			words = psprintf("by %lld", (long long) seek->number);
	}
	if (seek->partition_name)
		words = psprintf("%s, partition \"%s\"", words, text_to_cstring(seek->partition_name));
	return words;
}

/*
 * How a group that never popped is registered: partitions that become visible
 * later start from the seek's target, at its end from their beginning.
 */
static QueenSubscription
subscription_of(const Seek *seek)
{
	QueenSubscription subscription = {0};

	subscription.mode = "all";
	subscription.from = DT_NOBEGIN;
	if (seek->partition_name == NULL &&
		(seek->kind == TARGET_END || seek->timestamp == DT_NOEND))
		subscription.mode = "new";
	if (seek->partition_name == NULL && seek->kind == TARGET_TIMESTAMP &&
		!TIMESTAMP_NOT_FINITE(seek->timestamp))
	{
		subscription.mode = "timestamp";
		subscription.from = seek->timestamp;
	}
	return subscription;
}

/* The group of a dry run: it is neither made nor locked. */
static QueenGroup *
look_at_group(const QueenQueue *queue, text *name)
{
	QueenGroup *group = queen_group_by_name(queue->queue_id, name);

	if (group == NULL)
	{
		group = palloc0(sizeof(QueenGroup));
		group->queue_id = queue->queue_id;
		group->name = name;
		group->subscription_from = DT_NOBEGIN;
	}
	return group;
}

/* The one partition of a seek. */
static void
find_partition(const Seek *seek, QueenPartition *partition)
{
	if (!queen_partition_by_name(seek->queue->queue_id, seek->partition_name, partition))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("partition \"%s\" of queue \"%s\" does not exist",
						text_to_cstring(seek->partition_name),
						text_to_cstring(seek->queue->name))));
}

/*
 * The one partition of a seek, with its cursor locked. It is found again by
 * name under the locks: an idle one may have been removed and made anew.
 */
static void
lock_partition(const Seek *seek, QueenPartition *partition)
{
	int64		locked;

	find_partition(seek, partition);
	do
	{
		locked = partition->partition_id;
		queen_lock_retention_in_time(locked);
		queen_group_lock_cursor_in_time(seek->group, locked);
		find_partition(seek, partition);
	} while (partition->partition_id != locked);
}

/* Locks what the seek moves. */
static void
lock_cursors(Seek *seek, text *group_name)
{
	QueenSubscription subscription = subscription_of(seek);
	LOCKMODE	mode = seek->partition_name ? ShareLock : ExclusiveLock;
	QueenPartition partition;
	bool		made;

	if (seek->partition_name)
		find_partition(seek, &partition);
	seek->group = queen_group_open(seek->queue, group_name, &subscription, mode, true, &made);
	if (made)
		seek->group->subscription_from = DT_NOBEGIN;	/* it stood nowhere yet */
	if (seek->partition_name)
		lock_partition(seek, &partition);
}

/* Refuses a position that the log does not hold. */
static void
check_position(const QueenPartition *partition, int64 offset, int64 end)
{
	if (offset < partition->log_start || offset > end)
		ereport(ERROR,
				(errcode(ERRCODE_QUEEN_NO_POSITION),
				 errmsg("offset %lld is not in partition \"%s\"", (long long) offset,
						text_to_cstring(partition->name)),
				 errdetail("Its offsets run from %lld, its end is %lld.",
						   (long long) partition->log_start, (long long) end)));
}

/* Where committed goes in a partition. Only times and distances are clamped. */
static int64
find_target(const Seek *seek, const QueenPartition *partition, int64 committed)
{
	int64		end = queen_log_end(partition);
	int64		target = committed;

	switch (seek->kind)
	{
		case TARGET_TIMESTAMP:
			return queen_log_find_time(partition, seek->timestamp) - 1;
		case TARGET_BEGINNING:
			return partition->log_start - 1;
		case TARGET_OFFSET:
			check_position(partition, seek->number, end);
			return seek->number - 1;
		case TARGET_BY:
			if (pg_add_s64_overflow(committed, seek->number, &target))
				target = seek->number < 0 ? PG_INT64_MIN : PG_INT64_MAX;
			return Min(Max(target, partition->log_start - 1), end - 1);
		default:
			return end - 1;
	}
}

/* A row of the answer. */
static void
put_row(const Seek *seek, const QueenPartition *partition, const QueenCursor *before,
		int64 committed)
{
	bool		leased = before->lease_nonce != 0;
	Datum		values[7] = {
		Int64GetDatum(seek->seek_id),
		PointerGetDatum(partition->name),
		Int64GetDatum(before->committed),
		Int64GetDatum(committed),
		Int64GetDatum(before->committed - committed + queen_cursor_done_ahead(before)),
		UUIDPGetDatum(queen_lease_encode(partition->partition_id, before->group_id,
										 before->lease_nonce)),
		TimestampTzGetDatum(before->lease_until)
	};
	bool		nulls[7] = {seek->dry_run, false, false, false, false, !leased, !leased};

	tuplestore_putvalues(seek->result->setResult, seek->result->setDesc, values, nulls);
}

/* Moves the group in one partition. */
static void
move_partition(Seek *seek, const QueenPartition *partition)
{
	QueenCursor cursor;
	QueenSeekMove move = {0};

	queen_group_read_cursor(seek->group, partition, &cursor);
	move.partition_id = partition->partition_id;
	move.old_committed = cursor.committed;
	move.old_acked = cursor.acked;
	move.nold_acked = cursor.nacked;
	move.new_committed = find_target(seek, partition, cursor.committed);

	put_row(seek, partition, &cursor, move.new_committed);
	if (seek->dry_run)
		return;
	queen_cursor_seek(&cursor, move.new_committed, NULL, 0);
	queen_cursor_write(&cursor, GetCurrentTimestamp());
	queen_seek_move_insert(seek->seek_id, &move);
}

/* Moves the group in all partitions of the queue, or in the one named. */
static void
move_partitions(Seek *seek)
{
	MemoryContext memory;
	MemoryContext caller;
	QueenPartition partition = {.partition_id = 0};
	int64		moved = 0;

	if (seek->partition_name)
	{
		find_partition(seek, &partition);
		move_partition(seek, &partition);
		return;
	}
	memory = AllocSetContextCreate(CurrentMemoryContext, "queen partition of seek",
								   ALLOCSET_DEFAULT_SIZES);
	caller = MemoryContextSwitchTo(memory);
	while (queen_partition_after(seek->queue->queue_id, partition.partition_id, &partition))
	{
		CHECK_FOR_INTERRUPTS();
		move_partition(seek, &partition);
		MemoryContextReset(memory);
		moved++;
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(memory);
	if (moved == 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("queue \"%s\" has no partitions", text_to_cstring(seek->queue->name))));
}

/* Moves a group. */
Datum
queen_seek(PG_FUNCTION_ARGS)
{
	text	   *queue_name = queen_name_argument(fcinfo, 0, "queue");
	text	   *group_name = queen_name_argument(fcinfo, 1, "consumer_group");
	Seek		seek = {.kind = TARGET_NONE};

	take_partition(fcinfo, &seek);
	take_target(fcinfo, &seek);
	seek.dry_run = DatumGetBool(queen_required(fcinfo, 8, "dry_run"));
	InitMaterializedSRF(fcinfo, 0);
	seek.result = (ReturnSetInfo *) fcinfo->resultinfo;

	queen_begin(seek.dry_run ? NULL : "queen.seek()");
	seek.queue = queen_queue_open(queue_name, QUEEN_PRIVILEGE_ADMIN);
	if (seek.dry_run)
		seek.group = look_at_group(seek.queue, group_name);
	else
	{
		lock_cursors(&seek, group_name);
		seek.seek_id = queen_seek_insert(seek.group, describe_target(&seek), GetUserId());
	}
	move_partitions(&seek);
	queen_end();

	return (Datum) 0;
}

/* The seek to be undone, its queue and group locked. */
static QueenSeekRecord
open_record(int64 seek_id, QueenGroup **group)
{
	QueenSeekRecord record;
	QueenQueue *queue = NULL;

	*group = NULL;
	if (queen_seek_by_id(seek_id, &record))
		queue = queen_queue_by_id(record.queue_id);
	if (queue)
	{
		queen_queue_check_rights(queue, QUEEN_PRIVILEGE_ADMIN);
		queen_lock_queue(record.queue_id, ShareLock);
		queen_lock_group(record.group_id, ExclusiveLock, true);
		*group = queen_group_by_id(record.group_id);
		queen_seek_lock(seek_id);
	}
	if (*group == NULL || !queen_seek_by_id(seek_id, &record))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("seek %lld does not exist, or its consumer group is gone",
						(long long) seek_id)));
	if (record.undone)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("seek %lld is undone already", (long long) seek_id)));
	return record;
}

/* Puts one cursor back. */
static void
undo_move(const QueenGroup *group, int64 seek_id, const QueenSeekMove *move,
		  bool force, ReturnSetInfo *result)
{
	QueenPartition partition;
	QueenCursor cursor;
	int64		stood;
	int64		messages;
	bool		nulls[4] = {false};
	Datum		values[4];

	if (!queen_partition_by_id(move->partition_id, &partition))
		return;
	queen_group_read_cursor(group, &partition, &cursor);
	stood = cursor.committed;
	messages = stood + queen_cursor_done_ahead(&cursor);
	if (!force &&
		(!queen_cursor_stands_at(&cursor, Max(move->new_committed, partition.log_start - 1)) ||
		 queen_seek_is_followed(group, seek_id, move->partition_id)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("consumer group \"%s\" has moved in partition \"%s\" since the seek",
						text_to_cstring(group->name), text_to_cstring(partition.name)),
				 errhint("Pass force => true to put it back all the same.")));
	queen_cursor_seek(&cursor, move->old_committed, move->old_acked, move->nold_acked);
	queen_cursor_pass_removed(&cursor, partition.log_start);
	queen_cursor_write(&cursor, GetCurrentTimestamp());
	messages -= cursor.committed + queen_cursor_done_ahead(&cursor);

	values[0] = PointerGetDatum(partition.name);
	values[1] = Int64GetDatum(stood);
	values[2] = Int64GetDatum(cursor.committed);
	values[3] = Int64GetDatum(messages);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* Undoes a seek. */
Datum
queen_seek_undo(PG_FUNCTION_ARGS)
{
	int64		seek_id = DatumGetInt64(queen_required(fcinfo, 0, "seek_id"));
	bool		force = DatumGetBool(queen_required(fcinfo, 1, "force"));
	QueenSeekMove move = {0};
	QueenGroup *group;
	MemoryContext memory;
	MemoryContext caller;

	InitMaterializedSRF(fcinfo, 0);
	queen_begin("queen.seek_undo()");
	open_record(seek_id, &group);
	memory = AllocSetContextCreate(CurrentMemoryContext, "queen partition of seek",
								   ALLOCSET_DEFAULT_SIZES);
	caller = MemoryContextSwitchTo(memory);
	while (queen_seek_move_next(seek_id, move.partition_id, &move))
	{
		CHECK_FOR_INTERRUPTS();
		undo_move(group, seek_id, &move, force, (ReturnSetInfo *) fcinfo->resultinfo);
		MemoryContextReset(memory);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(memory);
	queen_seek_set_undone(seek_id);
	queen_end();

	return (Datum) 0;
}
