/*-------------------------------------------------------------------------
 *
 * schedule.h
 *	  Moves delayed messages into the log when their time has come.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_SCHEDULE_H
#define QUEEN_SCHEDULE_H

#include "datatype/timestamp.h"

#include "queue_store.h"

/* Messages that one step moves at most. */
#define QUEEN_DELIVER_LIMIT 1000

/* Moves what is due in a queue whose lock is held; never waits. */
extern int64 queen_schedule_deliver(const QueenQueue *queue, int limit);

/* When a look that has just moved what it could should look again; infinity: never. */
extern TimestampTz queen_schedule_soonest(const QueenQueue *queue);

/*
 * One step of the worker in a queue; answers how many it moved. next_at is when
 * the first message that is left is due.
 */
extern int64 queen_schedule_step(int32 queue_id, int limit, TimestampTz *next_at);

#endif							/* QUEEN_SCHEDULE_H */
