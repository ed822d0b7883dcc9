/*-------------------------------------------------------------------------
 *
 * queue.h
 *	  Finds, locks and makes queues for the verbs, and checks rights.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_QUEUE_H
#define QUEEN_QUEUE_H

#include "storage/lockdefs.h"

#include "queue_store.h"

/* What a role may be granted. Admin implies read; the owner has all. */
typedef enum QueenPrivilege
{
	QUEEN_PRIVILEGE_PUSH,
	QUEEN_PRIVILEGE_POP,		/* and all that consumers do */
	QUEEN_PRIVILEGE_READ,
	QUEEN_PRIVILEGE_ADMIN
} QueenPrivilege;

#define QUEEN_PRIVILEGES (QUEEN_PRIVILEGE_ADMIN + 1)

extern const char *const queen_privilege_names[QUEEN_PRIVILEGES];

extern QueenQueue *queen_queue_open(text *name, QueenPrivilege privilege);
extern QueenQueue *queen_queue_open_to_push(text *name);
extern QueenQueue *queen_queue_open_to_change(text *name, LOCKMODE mode);
extern QueenQueue *queen_queue_create(text *name);
extern bool queen_role_may_create_queue(Oid role);
extern bool queen_queue_is_permitted(const QueenQueue *queue, Oid role, QueenPrivilege privilege);
extern bool queen_queue_may(const QueenQueue *queue, QueenPrivilege privilege);
extern void queen_queue_check_rights(const QueenQueue *queue, QueenPrivilege privilege);
extern void queen_queue_check_owner(const QueenQueue *queue);
extern void queen_queue_report_unknown(const text *name);

#endif							/* QUEEN_QUEUE_H */
