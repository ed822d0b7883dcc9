/*-------------------------------------------------------------------------
 *
 * locks.h
 *	  Queen's heavyweight locks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_LOCKS_H
#define QUEEN_LOCKS_H

#include "storage/lock.h"

/*
 * Each answers true where this transaction did not hold the lock before: then
 * what was read earlier may be stale and is read again.
 */
extern bool queen_lock_queue(int32 queue_id, LOCKMODE mode);
extern bool queen_lock_group(int32 group_id, LOCKMODE mode, bool in_time);
extern bool queen_lock_cursor(int64 partition_id, int16 group_number);
extern bool queen_lock_partition_append(int64 partition_id);

extern void queen_lock_cursor_in_time(int64 partition_id, int16 group_number);

extern bool queen_lock_queue_append(int32 queue_id, bool many);
extern void queen_lock_queue_append_alone(int32 queue_id);
extern void queen_lock_retention_in_time(int64 partition_id);

extern void queen_lock_queue_creation(const char *name, int len);
extern void queen_lock_group_creation(int32 queue_id, const char *name, int len, bool in_time);
extern void queen_lock_partition_creation(int32 queue_id, const char *name, int len);

extern void queen_lock_schedule(int32 queue_id, const char *partition, int len);

/* While a queue's groups are counted on, none is added. */
extern void queen_lock_group_list(int32 queue_id);
extern bool queen_try_lock_group_list(int32 queue_id);

/* These never wait: false means that somebody else has it. */
extern bool queen_try_lock_group_creation(int32 queue_id, const char *name, int len);
extern bool queen_try_lock_group(int32 group_id, LOCKMODE mode);
extern bool queen_try_lock_queue_append(int32 queue_id, bool *each);
extern bool queen_try_lock_partition_creation(int32 queue_id, const char *name, int len);
extern bool queen_try_lock_schedule(int32 queue_id, const char *partition, int len);
extern bool queen_try_lock_cursor(int64 partition_id, int16 group_number);
extern bool queen_try_lock_group_number(int32 queue_id, int16 group_number);
extern bool queen_try_lock_queue(int32 queue_id);
extern bool queen_try_lock_retention(int64 partition_id);
extern bool queen_try_lock_partition_append(int64 partition_id);

/*
 * What the fusion worker tries and does not get: it hands that to the caller for
 * whom it tried, who waits for it in a transaction of his own.
 */
typedef struct QueenWanted
{
	LOCKTAG		tag;
	LOCKMODE	mode;
} QueenWanted;

extern bool queen_want_queue(int32 queue_id, QueenWanted *wanted);
extern bool queen_want_queue_append(int32 queue_id, QueenWanted *wanted);
extern bool queen_want_partition_append(int64 partition_id, QueenWanted *wanted);
extern bool queen_want_queue_creation(const char *name, int len, QueenWanted *wanted);
extern bool queen_want_partition_creation(int32 queue_id, const char *name, int len,
										  QueenWanted *wanted);
extern bool queen_want_table(Oid relation, LOCKMODE mode, QueenWanted *wanted);

/* For that caller: whether his own transaction holds it, wait for it, give it back. */
extern bool queen_wanted_is_held(const QueenWanted *wanted);
extern bool queen_holds_queue_creation(const char *name, int len);
extern void queen_wanted_lock(const QueenWanted *wanted);
extern void queen_wanted_unlock(const QueenWanted *wanted);

/* The partition whose append lock it is, or 0 for any other lock. */
extern int64 queen_wanted_partition(const QueenWanted *wanted);

extern void queen_unlock_schedule(int32 queue_id, const char *partition, int len);
extern void queen_unlock_group(int32 group_id, LOCKMODE mode);
extern void queen_unlock_queue(int32 queue_id);
extern void queen_unlock_group_creation(int32 queue_id, const char *name, int len);
extern void queen_unlock_cursor(int64 partition_id, int16 group_number);
extern void queen_unlock_partition_append(int64 partition_id);
extern void queen_unlock_group_number(int32 queue_id, int16 group_number);

/* Whether this transaction may lock no more partitions or cursors. */
extern bool queen_lock_budget_spent(void);

#endif							/* QUEEN_LOCKS_H */
