/*-------------------------------------------------------------------------
 *
 * queue_store.h
 *	  All SQL on queen.queue.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_QUEUE_STORE_H
#define QUEEN_QUEUE_STORE_H

#include "datatype/timestamp.h"

/* A queue and its options, as its row is now. */
typedef struct QueenQueue
{
	int32		queue_id;
	text	   *name;
	Oid			owner;
	int32		partitions;
	int64		lease;			/* microseconds */
	int32		retry_limit;
	int64		retry_delay;	/* microseconds */
	int32		max_deliveries; /* 0: no limit */
	bool		drop_exhausted;
	int64		max_backlog;	/* 0: no limit */
	int64		retention;		/* microseconds; 0: keep */
	int64		completed_retention;	/* microseconds; 0: keep */
	int64		retention_bytes;	/* 0: keep */
	int64		retention_messages; /* 0: keep */
	int64		drop_idle_partitions;	/* microseconds; 0: keep */
	int64		dedup_window;	/* microseconds; 0: off */
	int64		delivery_delay; /* microseconds */
	bool		paused;
} QueenQueue;

/* What create_queue and alter_queue write; options in the order of the columns. */
typedef enum QueenOption
{
	QUEEN_OPTION_PARTITIONS,
	QUEEN_OPTION_LEASE,
	QUEEN_OPTION_RETRY_LIMIT,
	QUEEN_OPTION_RETRY_DELAY,
	QUEEN_OPTION_MAX_DELIVERIES,
	QUEEN_OPTION_ON_EXHAUSTED,
	QUEEN_OPTION_MAX_BACKLOG,
	QUEEN_OPTION_RETENTION,
	QUEEN_OPTION_COMPLETED_RETENTION,
	QUEEN_OPTION_RETENTION_BYTES,
	QUEEN_OPTION_RETENTION_MESSAGES,
	QUEEN_OPTION_DROP_IDLE_PARTITIONS,
	QUEEN_OPTION_DEDUP_WINDOW,
	QUEEN_OPTION_DELIVERY_DELAY
} QueenOption;

#define QUEEN_OPTIONS (QUEEN_OPTION_DELIVERY_DELAY + 1)

typedef struct QueenOptions
{
	bool		given[QUEEN_OPTIONS];
	bool		nulls[QUEEN_OPTIONS];
	Datum		values[QUEEN_OPTIONS];
} QueenOptions;

extern QueenQueue *queen_queue_by_name(text *name);
extern QueenQueue *queen_queue_by_id(int32 queue_id);
extern void queen_queue_insert(text *name, Oid owner);
extern void queen_queue_update(int32 queue_id, const QueenOptions *options);
extern bool queen_queue_reset(int32 queue_id, const char *option);
extern void queen_queue_set_owner(int32 queue_id, Oid owner);
extern void queen_queue_set_paused(int32 queue_id, bool paused);
extern bool queen_queue_has_content(int32 queue_id);
extern void queen_queue_delete(int32 queue_id);

#endif							/* QUEEN_QUEUE_STORE_H */
