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
 * A session remembers the ids of the queues that it opened. It takes the lock
 * at once, if it need not wait, and asks for the queue by id, which is kept as
 * well (queue_cache.c); if that has the name and the caller has the rights,
 * nothing was read at all.
 *
 * Rights are those of the queue's owner and of its grants, whoever inherits
 * them. A role that no longer exists has none.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"

#include "compat.h"
#include "locks.h"
#include "probe.h"
#include "queue.h"
#include "queue_cache.h"
#include "settings.h"

/* Tells of a queue that is not there. */
void
queen_queue_report_unknown(const text *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("queue \"%s\" does not exist", text_to_cstring(name))));
}

/* Whether a role inherits one that a privilege was granted to. */
static bool
has_grant(const QueenQueue *queue, Oid role, QueenPrivilege privilege)
{
	int			count;
	QueenGrant *grants = queen_grants_cached(queue->queue_id, &count);

	for (int i = 0; i < count; i++)
	{
		if (grants[i].privilege == privilege &&
			(grants[i].grantee == ACL_ID_PUBLIC || has_privs_of_role(role, grants[i].grantee)))
			return true;
	}
	return false;
}

/* Whether a role has a privilege on a queue. */
bool
queen_queue_is_permitted(const QueenQueue *queue, Oid role, QueenPrivilege privilege)
{
	return has_privs_of_role(role, queue->owner) ||
		has_grant(queue, role, privilege) ||
		(privilege == QUEEN_PRIVILEGE_READ && has_grant(queue, role, QUEEN_PRIVILEGE_ADMIN));
}

/* Whether the current user has it. */
bool
queen_queue_may(const QueenQueue *queue, QueenPrivilege privilege)
{
	return queen_queue_is_permitted(queue, GetUserId(), privilege);
}

/* Refuses whoever is not the owner, nor inherits his rights. */
void
queen_queue_check_owner(const QueenQueue *queue)
{
	if (!has_privs_of_role(GetUserId(), queue->owner))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be owner of queue \"%s\"", text_to_cstring(queue->name))));
}

/* Refuses whoever may not. */
void
queen_queue_check_rights(const QueenQueue *queue, QueenPrivilege privilege)
{
	if (!queen_queue_may(queue, privilege))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for queue \"%s\"", text_to_cstring(queue->name))));
}

/* Locks a queue that was read without a lock, and reads it again. */
static QueenQueue *
lock_queue(QueenQueue *queue, QueenPrivilege privilege, LOCKMODE mode)
{
	QueenQueue *again;

	queen_queue_check_rights(queue, privilege);
	if (!queen_lock_queue(queue->queue_id, mode))
		return queue;
	again = queen_queue_by_id(queue->queue_id);
	if (again == NULL)
		queen_queue_report_unknown(queue->name);
	return again;
}

/* Where the id of a name is remembered: a hint, it may have gone to another queue. */
static QueenHint *
id_hint(const text *name)
{
	static QueenHint ids[QUEEN_HINTS];

	return queen_hint(ids, hash_bytes_extended((const unsigned char *) VARDATA_ANY(name),
											   VARSIZE_ANY_EXHDR(name), 0));
}

/* Whether this is the name of a queue. */
static bool
has_name(const QueenQueue *queue, const text *name)
{
	return VARSIZE_ANY_EXHDR(queue->name) == VARSIZE_ANY_EXHDR(name) &&
		memcmp(VARDATA_ANY(queue->name), VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name)) == 0;
}

/* A queue that was opened before, locked; NULL where it is to be looked up by name. */
static QueenQueue *
reopen_queue(const text *name, QueenPrivilege privilege)
{
	int32		queue_id = (int32) id_hint(name)->value;
	QueenQueue *queue;

	if (queue_id <= 0 || !queen_try_lock_queue(queue_id))
		return NULL;
	queue = queen_queue_cached(queue_id);
	if (queue == NULL || !has_name(queue, name))
	{
		queen_unlock_queue(queue_id);
		return NULL;
	}
	queen_queue_check_rights(queue, privilege);

	return queue;
}

/* Locks a queue that was looked up by name, and remembers its id. */
static QueenQueue *
open_queue(QueenQueue *queue, QueenPrivilege privilege)
{
	queue = lock_queue(queue, privilege, ShareLock);
	id_hint(queue->name)->value = queue->queue_id;
	return queue;
}

/* The queue, locked against being dropped until the transaction ends. */
QueenQueue *
queen_queue_open(text *name, QueenPrivilege privilege)
{
	QueenQueue *queue = reopen_queue(name, privilege);

	if (queue)
		return queue;
	queue = queen_queue_by_name(name);
	if (queue == NULL)
		queen_queue_report_unknown(name);
	return open_queue(queue, privilege);
}

/* The same; one that is missing is made where the setting allows it. */
QueenQueue *
queen_queue_open_to_push(text *name)
{
	QueenQueue *queue = reopen_queue(name, QUEEN_PRIVILEGE_PUSH);

	if (queue)
		return queue;
	queue = queen_queue_by_name(name);
	if (queue == NULL && queen_auto_create_queue)
	{
		queen_lock_queue_creation(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
		queue = queen_queue_by_name(name);
		if (queue == NULL)
			queue = queen_queue_create(name);
	}
	if (queue == NULL)
		queen_queue_report_unknown(name);
	return open_queue(queue, QUEEN_PRIVILEGE_PUSH);
}

/* The same for verbs that change the queue itself: one of them at a time. */
QueenQueue *
queen_queue_open_to_change(text *name, LOCKMODE mode)
{
	QueenQueue *queue = queen_queue_by_name(name);

	if (queue == NULL)
		queen_queue_report_unknown(name);
	queen_queue_check_rights(queue, QUEEN_PRIVILEGE_ADMIN);
	queen_lock_queue_creation(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
	queue = queen_queue_by_id(queue->queue_id);
	if (queue == NULL)
		queen_queue_report_unknown(name);
	return lock_queue(queue, QUEEN_PRIVILEGE_ADMIN, mode);
}

/* Whether a role may make queues. */
bool
queen_role_may_create_queue(Oid role)
{
	return queen_schema_aclcheck(get_namespace_oid("queen", false), role,
								 ACL_CREATE) == ACLCHECK_OK;
}

/* Makes a queue with the default options, owned by the caller. */
QueenQueue *
queen_queue_create(text *name)
{
	if (!queen_role_may_create_queue(GetUserId()))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_SCHEMA, "queen");
	queen_lock_queue_creation(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
	if (queen_queue_by_name(name) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("queue \"%s\" already exists", text_to_cstring(name))));
	queen_queue_insert(name, GetUserId());
	return queen_queue_by_name(name);
}
