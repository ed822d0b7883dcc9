/*-------------------------------------------------------------------------
 *
 * schedule_store.h
 *	  All SQL on queen.scheduled.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_SCHEDULE_STORE_H
#define QUEEN_SCHEDULE_STORE_H

#include "utils/array.h"

#include "frame.h"

/* A scheduled message without its content. */
typedef struct QueenScheduled
{
	int64		scheduled_id;
	int32		queue_id;
	text	   *partition;
	int32		bytes;			/* of the payload */
} QueenScheduled;

/* One that was taken out, to go into the log. */
typedef struct QueenTaken
{
	int64		scheduled_id;
	TimestampTz deliver_at;
	TimestampTz pushed_at;
	QueenMessage message;
} QueenTaken;

extern int64 queen_scheduled_insert(int32 queue_id, text *partition, const QueenMessage *message,
									TimestampTz deliver_at, TimestampTz pushed_at);
extern bool queen_scheduled_has_id(int64 scheduled_id, const char *id, int len);
extern bool queen_scheduled_by_id(int64 scheduled_id, QueenScheduled *scheduled);
extern bool queen_scheduled_queue_after(int32 after, int32 *queue_id);
extern bool queen_scheduled_first(int32 queue_id, TimestampTz from, TimestampTz *deliver_at);
extern int	queen_scheduled_due(int32 queue_id, TimestampTz from, TimestampTz now,
								text **passed_over, int npassed_over,
								QueenScheduled *due, int limit);
extern QueenTaken *queen_scheduled_take(const int64 *scheduled_ids, int count, TimestampTz now,
										int *taken);
extern bool queen_scheduled_delete(int64 scheduled_id);
extern bool queen_scheduled_move(int64 scheduled_id, TimestampTz deliver_at);
extern int64 queen_scheduled_delete_all(int32 queue_id);

#endif							/* QUEEN_SCHEDULE_STORE_H */
