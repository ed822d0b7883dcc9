/*-------------------------------------------------------------------------
 *
 * hold.h
 *	  What maintenance leaves alone for some time, since it failed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_HOLD_H
#define QUEEN_HOLD_H

#include "datatype/timestamp.h"

#define QUEEN_HOLDS 64

/* A queue, or one partition of it, that a step failed in. */
typedef struct QueenHold
{
	int			step;
	int32		queue_id;		/* 0: this place is free */
	int64		partition_id;	/* 0: the whole queue */
	int			failures;
	TimestampTz not_before;
} QueenHold;

extern TimestampTz queen_hold_until(int failures, TimestampTz now);
extern void queen_hold(QueenHold *holds, int step, int32 queue_id, int64 partition_id);
extern bool queen_holds_any(const QueenHold *holds, int step);
extern bool queen_is_held(const QueenHold *holds, int step, int32 queue_id, int64 partition_id);

#endif							/* QUEEN_HOLD_H */
