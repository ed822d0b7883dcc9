/*-------------------------------------------------------------------------
 *
 * push_deferred.c
 *	  queen.push_deferred.
 *
 * All that can be known now is checked now: arguments, the queue, the caller's
 * right to push, whether the transaction may write. The queue's lock is held
 * from here on; nothing else is locked before the commit.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "tcop/utility.h"

#include "check.h"
#include "compat.h"
#include "deferred.h"
#include "outgoing.h"
#include "queue.h"
#include "statement.h"

PG_FUNCTION_INFO_V1(queen_push_deferred);

/* Keeps one message until the transaction commits. */
Datum
queen_push_deferred(PG_FUNCTION_ARGS)
{
	text	   *queue_name = queen_name_argument(fcinfo, 0, "queue");
	text	   *partition = queen_optional_name_argument(fcinfo, 2, "partition");
	QueenMessage message = queen_message_arguments(fcinfo);
	QueenQueue *queue;

	PreventCommandIfParallelMode("queen.push_deferred()");
	queen_begin("queen.push_deferred()");
	queue = queen_queue_open_to_push(queue_name);
	if (partition == NULL)
		partition = queen_lane_for(queue, &message);
	queen_deferred_add(queue, partition, &message);
	queen_end();

	PG_RETURN_TEXT_P(partition);
}
