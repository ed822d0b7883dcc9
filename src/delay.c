/*-------------------------------------------------------------------------
 *
 * delay.c
 *	  queen.cancel_scheduled, queen.reschedule, queen.deliver_scheduled and
 *	  queen.purge_dedup.
 *
 * The first two take the schedule lock of the message's partition: they wait for
 * whoever is about to move it, and then find it gone, or as it was. The last two
 * are the steps of the worker for one queue, for whoever runs none.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "check.h"
#include "compat.h"
#include "dedup.h"
#include "locks.h"
#include "queue.h"
#include "schedule.h"
#include "schedule_store.h"
#include "soon.h"
#include "statement.h"

PG_FUNCTION_INFO_V1(queen_cancel_scheduled);
PG_FUNCTION_INFO_V1(queen_reschedule);
PG_FUNCTION_INFO_V1(queen_deliver_scheduled);
PG_FUNCTION_INFO_V1(queen_purge_dedup);

#define MAX_STEP 1000000

/* Locks a message that waits; false where it does not, or no longer. */
static bool
open_scheduled(int64 scheduled_id)
{
	QueenScheduled scheduled;
	QueenQueue *queue;

	if (!queen_scheduled_by_id(scheduled_id, &scheduled))
		return false;
	queue = queen_queue_by_id(scheduled.queue_id);
	if (queue == NULL)
		return false;
	queen_queue_check_rights(queue, QUEEN_PRIVILEGE_PUSH);
	queen_lock_queue(queue->queue_id, ShareLock);
	queen_lock_queue_append(queue->queue_id, false);
	queen_lock_schedule(queue->queue_id, VARDATA_ANY(scheduled.partition),
						VARSIZE_ANY_EXHDR(scheduled.partition));
	return true;
}

/* Takes a message back that waits for its time. */
Datum
queen_cancel_scheduled(PG_FUNCTION_ARGS)
{
	int64		scheduled_id = DatumGetInt64(queen_required(fcinfo, 0, "scheduled_id"));
	bool		cancelled;

	queen_begin("queen.cancel_scheduled()");
	cancelled = open_scheduled(scheduled_id) && queen_scheduled_delete(scheduled_id);
	queen_end();

	PG_RETURN_BOOL(cancelled);
}

/* The time that delay or deliver_at says; not before now. */
static TimestampTz
new_time(FunctionCallInfo fcinfo)
{
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz deliver_at;

	if (PG_ARGISNULL(1) && PG_ARGISNULL(2))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("\"delay\" or \"deliver_at\" must not be null")));
	if (!PG_ARGISNULL(1) && !PG_ARGISNULL(2))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"delay\" and \"deliver_at\" exclude each other")));
	if (!PG_ARGISNULL(1))
		return now + queen_check_interval(PG_GETARG_INTERVAL_P(1), true, "delay");
	deliver_at = PG_GETARG_TIMESTAMPTZ(2);
	queen_check_deliver_at(deliver_at, now);
	return Max(deliver_at, now);
}

/* Gives a message another time; NULL where it does not wait, or no longer. */
Datum
queen_reschedule(PG_FUNCTION_ARGS)
{
	int64		scheduled_id = DatumGetInt64(queen_required(fcinfo, 0, "scheduled_id"));
	TimestampTz deliver_at = new_time(fcinfo);
	bool		moved;

	queen_begin("queen.reschedule()");
	moved = open_scheduled(scheduled_id) && queen_scheduled_move(scheduled_id, deliver_at);
	if (moved)
		queen_due_at(deliver_at);
	queen_end();

	if (!moved)
		PG_RETURN_NULL();
	PG_RETURN_TIMESTAMPTZ(deliver_at);
}

/* Moves due messages of a queue into its log. */
Datum
queen_deliver_scheduled(PG_FUNCTION_ARGS)
{
	text	   *name = queen_name_argument(fcinfo, 0, "queue");
	int32		limit = DatumGetInt32(queen_required(fcinfo, 1, "max_messages"));
	int64		moved;

	queen_check_range(limit, 1, MAX_STEP, "max_messages");
	queen_begin("queen.deliver_scheduled()");
	moved = queen_schedule_deliver(queen_queue_open(name, QUEEN_PRIVILEGE_ADMIN), limit);
	queen_end();

	PG_RETURN_INT64(moved);
}

/* Forgets ids of a queue that are past. */
Datum
queen_purge_dedup(PG_FUNCTION_ARGS)
{
	text	   *name = queen_name_argument(fcinfo, 0, "queue");
	int32		limit = DatumGetInt32(queen_required(fcinfo, 1, "max_partitions"));
	int64		purged;

	queen_check_range(limit, 1, MAX_STEP, "max_partitions");
	queen_begin("queen.purge_dedup()");
	purged = queen_dedup_purge(queen_queue_open(name, QUEEN_PRIVILEGE_ADMIN), limit);
	queen_end();

	PG_RETURN_INT64(purged);
}
