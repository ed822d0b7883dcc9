/*-------------------------------------------------------------------------
 *
 * touch.h
 *	  What a transaction made poppable: told to others when it has ended.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_TOUCH_H
#define QUEEN_TOUCH_H

#include "datatype/timestamp.h"

/* What a transaction that commits leaves in a partition for a group. */
typedef enum QueenLeft
{
	QUEEN_LEFT_AS_IT_WAS,		/* nothing was written; others may have passed
								 * over it */
	QUEEN_LEFT_NOTHING,			/* nothing that the group could pop */
	QUEEN_LEFT_DONE,			/* a lease was completed; what came after it
								 * is not known */
	QUEEN_LEFT_LATER,			/* something, at a time; what comes after a
								 * lease is not known */
	QUEEN_LEFT_LATER_ALL,		/* the same, and nothing comes after the lease */
	QUEEN_LEFT_LATER_MORE,		/* the same, and something comes after the
								 * lease */
	QUEEN_LEFT_SOMETHING		/* perhaps something, at once */
} QueenLeft;

extern void queen_define_touches(void);
extern void queen_touch_unknown(void);

extern void queen_touch_append(int32 queue_id, int64 partition_id);
extern void queen_touch_cursor(int32 queue_id, int32 group_id, int64 partition_id,
							   QueenLeft left, TimestampTz at);
extern void queen_untouch_cursor(int32 queue_id, int32 group_id, int64 partition_id);

/* All partitions: all who wait look; or, besides, nobody knows what holds. */
extern void queen_touch_queue(int32 queue_id);
extern void queen_touch_queue_unknown(int32 queue_id);
extern void queen_touch_group_unknown(int32 queue_id, int32 group_id);

/* Dropped, with all that is remembered of it. */
extern void queen_touch_queue_gone(int32 queue_id);
extern void queen_touch_group_gone(int32 queue_id, int32 group_id);

/* What this transaction knows and others do not: false where it is not all noted. */
extern bool queen_touched_all_noted(int32 queue_id, int32 group_id);
extern bool queen_touched_cursor(int32 queue_id, int32 group_id, int64 partition_id);
extern int	queen_touched_count(void);
extern int64 queen_touched_partition(int number, int32 queue_id, int32 group_id,
									 TimestampTz now);

#endif							/* QUEEN_TOUCH_H */
