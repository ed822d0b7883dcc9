/*-------------------------------------------------------------------------
 *
 * queue.c
 *	  Finds, locks and makes queues for the verbs, and checks rights.
 *
 * A queue is looked up by name, its rights are checked, then its lock is
 * taken and it is read again by id: whoever waited behind a drop finds it
 * gone, never a new queue of that name. All of it as the caller is now, so a
 * SECURITY DEFINER wrapper works as it does for tables.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"

#include "compat.h"
#include "locks.h"
#include "queue.h"
#include "settings.h"

/* Tells of a queue that is not there. */
void
queen_queue_report_unknown(const text *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("queue \"%s\" does not exist", text_to_cstring(name))));
}

/* The owner and members of the owner may do everything, others nothing. */
bool
queen_queue_is_permitted(const QueenQueue *queue)
{
	return has_privs_of_role(GetUserId(), queue->owner);
}

/* Refuses whoever may not. */
void
queen_queue_check_rights(const QueenQueue *queue)
{
	if (!queen_queue_is_permitted(queue))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for queue \"%s\"", text_to_cstring(queue->name))));
}

/* Locks a queue that was read without a lock, and reads it again. */
static QueenQueue *
lock_queue(QueenQueue *queue, LOCKMODE mode)
{
	QueenQueue *again;

	queen_queue_check_rights(queue);
	if (!queen_lock_queue(queue->queue_id, mode))
		return queue;
	again = queen_queue_by_id(queue->queue_id);
	if (again == NULL)
		queen_queue_report_unknown(queue->name);
	return again;
}

/* The queue, locked against being dropped until the transaction ends. */
QueenQueue *
queen_queue_open(text *name)
{
	QueenQueue *queue = queen_queue_by_name(name);

	if (queue == NULL)
		queen_queue_report_unknown(name);
	return lock_queue(queue, ShareLock);
}

/* The same; one that is missing is made where the setting allows it. */
QueenQueue *
queen_queue_open_to_push(text *name)
{
	QueenQueue *queue = queen_queue_by_name(name);

	if (queue == NULL && queen_auto_create_queue)
	{
		queen_lock_queue_creation(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
		queue = queen_queue_by_name(name);
		if (queue == NULL)
			queue = queen_queue_create(name);
	}
	if (queue == NULL)
		queen_queue_report_unknown(name);
	return lock_queue(queue, ShareLock);
}

/* The same for verbs that change the queue itself: one of them at a time. */
QueenQueue *
queen_queue_open_to_change(text *name, LOCKMODE mode)
{
	QueenQueue *queue = queen_queue_by_name(name);

	if (queue == NULL)
		queen_queue_report_unknown(name);
	queen_queue_check_rights(queue);
	queen_lock_queue_creation(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
	queue = queen_queue_by_id(queue->queue_id);
	if (queue == NULL)
		queen_queue_report_unknown(name);
	return lock_queue(queue, mode);
}

/* Makes a queue with the default options, owned by the caller. */
QueenQueue *
queen_queue_create(text *name)
{
	if (queen_schema_aclcheck(get_namespace_oid("queen", false), GetUserId(),
							  ACL_CREATE) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_SCHEMA, "queen");
	queen_lock_queue_creation(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
	if (queen_queue_by_name(name) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("queue \"%s\" already exists", text_to_cstring(name))));
	queen_queue_insert(name, GetUserId());
	return queen_queue_by_name(name);
}
