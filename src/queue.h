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

#include "grant_store.h"
#include "queue_store.h"

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
