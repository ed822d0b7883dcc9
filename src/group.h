/*-------------------------------------------------------------------------
 *
 * group.h
 *	  Finds, locks and registers consumer groups for the verbs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_GROUP_H
#define QUEEN_GROUP_H

#include "fmgr.h"
#include "storage/lockdefs.h"

#include "cursor.h"
#include "group_store.h"
#include "partition_store.h"
#include "queue_store.h"

/* Where a group begins, decided when it is registered. */
typedef struct QueenSubscription
{
	const char *mode;			/* all, new or timestamp */
	bool		at_end;			/* puts the group at the end of every
								 * partition */
	TimestampTz from;			/* -infinity but for timestamp */
} QueenSubscription;

extern QueenSubscription queen_subscription_arguments(FunctionCallInfo fcinfo,
													  int mode_number, int from_number);
extern QueenGroup *queen_group_open(const QueenQueue *queue, text *name,
									const QueenSubscription *subscription,
									LOCKMODE mode, bool in_time, bool *made);
extern QueenGroup *queen_group_open_to_remove(const QueenQueue *queue, text *name);
extern void queen_group_lock_cursor(const QueenGroup *group, int64 partition_id);
extern void queen_group_lock_cursor_in_time(const QueenGroup *group, int64 partition_id);
extern bool queen_group_try_lock_cursor(const QueenGroup *group, int64 partition_id);
extern void queen_group_unlock_cursor(const QueenGroup *group, int64 partition_id);
extern bool queen_group_read_cursor(const QueenGroup *group, const QueenPartition *partition,
									QueenCursor *cursor);

#endif							/* QUEEN_GROUP_H */
