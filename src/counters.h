/*-------------------------------------------------------------------------
 *
 * counters.h
 *	  How much queues and groups do: counters in shared memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_COUNTERS_H
#define QUEEN_COUNTERS_H

#include "datatype/timestamp.h"

/* In the order of the columns of queen._counters(). */
typedef enum QueenCounter
{
	QUEEN_COUNT_PUSHES,			/* calls */
	QUEEN_COUNT_MESSAGES,		/* appended, or delivered to a group */
	QUEEN_COUNT_BYTES,			/* of their bodies */
	QUEEN_COUNT_POPS,			/* calls */
	QUEEN_COUNT_EMPTY_POPS,		/* of them, those that found nothing */
	QUEEN_COUNT_ACKS,			/* messages completed */
	QUEEN_COUNT_NACKS,			/* messages said to have failed */
	QUEEN_COUNT_DEAD_LETTERS,
	QUEEN_COUNT_EXPIRIES		/* leases found expired */
} QueenCounter;

#define QUEEN_COUNTERS (QUEEN_COUNT_EXPIRIES + 1)

/* What has been counted of a queue (group 0) or of a group. */
typedef struct QueenCounts
{
	int64		values[QUEEN_COUNTERS];
	TimestampTz since;
} QueenCounts;

extern Size queen_counters_size(void);
extern void queen_counters_init(void);

/* Counts when the transaction has committed, or at once, whatever becomes of it. */
extern void queen_count(int32 queue_id, int32 group_id, QueenCounter counter, int64 number);
extern void queen_count_now(int32 queue_id, int32 group_id, QueenCounter counter, int64 number);

/* For whoever ends a transaction or savepoint. */
extern void queen_count_commit(void);
extern void queen_count_abort(int level);
extern void queen_count_release(int level);
extern void queen_counters_forget(int32 queue_id, int32 group_id);

extern bool queen_counters_read(int32 queue_id, int32 group_id, QueenCounts *counts);
extern void queen_counters_reset(int32 queue_id);
extern int	queen_counters_queues(int32 **queue_ids);

#endif							/* QUEEN_COUNTERS_H */
