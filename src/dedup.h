/*-------------------------------------------------------------------------
 *
 * dedup.h
 *	  Recognises messages that were pushed before, by their transaction ids.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_DEDUP_H
#define QUEEN_DEDUP_H

#include "log.h"

/* Runs that one step of purging removes in a partition: each has thousands of rows. */
#define QUEEN_DEDUP_PURGE_RUNS 1

/* For the append, before and after it writes a lane. */
extern void queen_dedup_find(const QueenQueue *queue, QueenLane *lane);
extern void queen_dedup_remember(const QueenQueue *queue, QueenLane *lane);

/* Forgets what is past in some partitions of a queue; never waits. */
extern int64 queen_dedup_purge(const QueenQueue *queue, int max_partitions);

/* One step of the worker in a queue; answers how many partitions were looked at. */
extern int64 queen_dedup_step(int32 queue_id, int max_partitions);

/* Forgets all that a partition remembers, which goes for good. */
extern void queen_dedup_forget(int64 partition_id);

#endif							/* QUEEN_DEDUP_H */
