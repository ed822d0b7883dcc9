/*-------------------------------------------------------------------------
 *
 * subscribe.c
 *	  queen.subscribe and queen.unsubscribe.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "check.h"
#include "cursor_store.h"
#include "group.h"
#include "queue.h"
#include "statement.h"

PG_FUNCTION_INFO_V1(queen_subscribe);
PG_FUNCTION_INFO_V1(queen_unsubscribe);

/* Registers a group ahead of its first pop. */
Datum
queen_subscribe(PG_FUNCTION_ARGS)
{
	text	   *queue_name = queen_name_argument(fcinfo, 0, "queue");
	text	   *group_name = queen_name_argument(fcinfo, 1, "consumer_group");
	QueenSubscription subscription = queen_subscription_arguments(fcinfo, 2, 3);
	QueenQueue *queue;
	bool		made;

	queen_begin("queen.subscribe()");
	queue = queen_queue_open(queue_name, QUEEN_PRIVILEGE_POP);
	queen_group_open(queue, group_name, &subscription, ShareLock, false, &made);
	queen_end();

	PG_RETURN_BOOL(made);
}

/* Removes a group, its cursors and its leases; its dead letters stay. */
Datum
queen_unsubscribe(PG_FUNCTION_ARGS)
{
	text	   *queue_name = queen_name_argument(fcinfo, 0, "queue");
	text	   *group_name = queen_name_argument(fcinfo, 1, "consumer_group");
	QueenQueue *queue;
	QueenGroup *group;

	queen_begin("queen.unsubscribe()");
	queue = queen_queue_open(queue_name, QUEEN_PRIVILEGE_ADMIN);
	group = queen_group_open_to_remove(queue, group_name);
	queen_cursors_delete(group->queue_id, group->group_id);
	queen_group_delete(group->group_id);
	queen_end();

	PG_RETURN_VOID();
}
