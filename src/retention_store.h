/*-------------------------------------------------------------------------
 *
 * retention_store.h
 *	  All SQL on queen.partition_size and queen.retention_log.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_RETENTION_STORE_H
#define QUEEN_RETENTION_STORE_H

#include "maintain.h"

/* How many bytes the segments of a partition have, as far as they were counted. */
typedef struct QueenSize
{
	int64		from_offset;	/* counted from here */
	int64		to_offset;		/* to here, not included */
	int64		bytes;
} QueenSize;

extern bool queen_size_read(int64 partition_id, QueenSize *size);
extern void queen_size_write(int64 partition_id, const QueenSize *size);
extern void queen_size_delete(int64 partition_id);
extern bool queen_size_count(int64 partition_id, QueenSize *size, int limit);

extern bool queen_retention_next_queue(int32 after, int32 *queue_id);
extern bool queen_idle_next_queue(int32 after, int32 *queue_id);
extern void queen_retention_log_insert(const QueenTally *tally, const char *by);
extern int64 queen_retention_log_prune(int64 *oldest, TimestampTz before, int limit);

#endif							/* QUEEN_RETENTION_STORE_H */
