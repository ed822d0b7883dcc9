/*-------------------------------------------------------------------------
 *
 * waiting.h
 *	  Waits until there may be something to pop.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_WAITING_H
#define QUEEN_WAITING_H

#include "wake.h"

/* One wait: begin, then look and sleep in turn, then end. */
typedef struct QueenWait
{
	QueenWaitKey key;
	TimestampTz until;			/* it gives up */
	long		pause;			/* the next one, where nobody can wake us */
	bool		owes;			/* was woken, and has not found out for what */
	TimestampTz soonest;		/* when time brings something to the group */
} QueenWait;

/* How soon who passed over a locked cursor looks again. */
#define QUEEN_PASSED_OVER_US (100 * 1000)

extern void queen_wait_begin(QueenWait *wait, const QueenWaitKey *key, TimestampTz until);
extern bool queen_wait_sleep(QueenWait *wait, TimestampTz soonest, bool shared);
extern void queen_wait_follow(QueenWait *wait, int32 group_id);
extern void queen_wait_end(QueenWait *wait, bool taken);

#endif							/* QUEEN_WAITING_H */
