/*-------------------------------------------------------------------------
 *
 * wake.h
 *	  Sessions that wait for messages, and how they are woken.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_WAKE_H
#define QUEEN_WAKE_H

#include "datatype/timestamp.h"

/* What a session waits for, in its own database. */
typedef struct QueenWaitKey
{
	int32		queue_id;
	int32		group_id;		/* below 0: not registered, a hash of its name */
	int64		partition_id;	/* 0: any */
} QueenWaitKey;

extern Size queen_wake_size(void);
extern void queen_wake_init(void);

/* The waiter's side. A session waits for one thing at a time. */
extern void queen_wake_enter(const QueenWaitKey *key);
extern bool queen_wake_look_again(const QueenWaitKey *key);
extern bool queen_wake_wait(TimestampTz until, TimestampTz soonest);
extern bool queen_wake_leave(void);
extern void queen_wake_pause(long milliseconds);

/* Told that there is something, and still to take it. */
extern void queen_wake_owe(const QueenWaitKey *key);
extern bool queen_wake_settle(int32 queue_id, int32 group_id);

/* The waker's side. None of these raises an error. */
extern void queen_wake_groups(int32 queue_id, int64 partition_id);
extern void queen_wake_group(int32 queue_id, int32 group_id, int64 partition_id);
extern void queen_wake_group_at(int32 queue_id, int32 group_id, int64 partition_id,
								TimestampTz at);
extern void queen_wake_queue(int32 queue_id);
extern void queen_wake_database(void);

#endif							/* QUEEN_WAKE_H */
