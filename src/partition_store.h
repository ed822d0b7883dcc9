/*-------------------------------------------------------------------------
 *
 * partition_store.h
 *	  All SQL on queen.partition.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_PARTITION_STORE_H
#define QUEEN_PARTITION_STORE_H

#include "datatype/timestamp.h"

typedef struct QueenPartition
{
	int64		partition_id;
	int32		queue_id;
	text	   *name;
	int64		log_start;		/* first offset kept */
	TimestampTz last_at;		/* of the tail when it was removed */
	TimestampTz oldest_at;		/* no segment kept is older; infinity: none is
								 * kept */
} QueenPartition;

/* A place in the order of partitions by the age of what they keep, or kept. */
typedef struct QueenPartitionAge
{
	TimestampTz at;
	int64		partition_id;
} QueenPartitionAge;

extern bool queen_partition_by_name(int32 queue_id, text *name, QueenPartition *partition);
extern bool queen_partition_by_id(int64 partition_id, QueenPartition *partition);
extern bool queen_partition_after(int32 queue_id, int64 partition_id, QueenPartition *partition);
extern bool queen_partition_range(int32 queue_id, int64 *first, int64 *last);
extern int64 queen_partition_insert(int32 queue_id, text *name);
extern void queen_partition_set_oldest(int64 partition_id, TimestampTz oldest_at);
extern int	queen_partitions_older(int32 queue_id, const QueenPartitionAge *after,
								   TimestampTz before, QueenPartitionAge *found, int limit);
extern bool queen_partition_idle(int32 queue_id, const QueenPartitionAge *after,
								 TimestampTz before, QueenPartitionAge *found);
extern void queen_partition_set_start(int64 partition_id, int64 log_start,
									  TimestampTz last_at, TimestampTz oldest_at);
extern void queen_partition_delete(int64 partition_id);

#endif							/* QUEEN_PARTITION_STORE_H */
