/*-------------------------------------------------------------------------
 *
 * log_store.h
 *	  All SQL on queen.partition and queen.segment.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_LOG_STORE_H
#define QUEEN_LOG_STORE_H

#include "datatype/timestamp.h"
#include "executor/spi.h"

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

/* A segment as retention sees it. */
typedef struct QueenSegmentSize
{
	int64		base_offset;
	TimestampTz created_at;
	int32		message_count;
	int64		bytes;			/* stored, compressed or not */
} QueenSegmentSize;

/* A place in the order of partitions by the age of what they keep, or kept. */
typedef struct QueenPartitionAge
{
	TimestampTz at;
	int64		partition_id;
} QueenPartitionAge;

/* Where the next message of a partition goes. */
typedef struct QueenTail
{
	int64		next_offset;
	TimestampTz created_at;
} QueenTail;

/* One row of queen.segment. */
typedef struct QueenSegmentRow
{
	int64		base_offset;
	TimestampTz created_at;
	int32		message_count;
	Datum		frames;
} QueenSegmentRow;

/* What a pop asks of the partitions of a queue. */
typedef struct QueenCandidateSearch
{
	int32		queue_id;
	int32		group_id;
	TimestampTz now;
	TimestampTz subscription_from;
	int64		delivery_delay; /* microseconds */
} QueenCandidateSearch;

/* A partition that has something for a group: now, or at a time. */
typedef struct QueenOutlook
{
	int64		partition_id;
	TimestampTz at;				/* -infinity: nothing holds it back */
} QueenOutlook;

extern bool queen_partition_by_name(int32 queue_id, text *name, QueenPartition *partition);
extern bool queen_partition_by_id(int64 partition_id, QueenPartition *partition);
extern int64 queen_partition_insert(int32 queue_id, text *name);
extern void queen_partition_set_oldest(int64 partition_id, TimestampTz oldest_at);
extern bool queen_partition_after(int32 queue_id, int64 partition_id, QueenPartition *partition);
extern bool queen_partition_range(int32 queue_id, int64 *first, int64 *last);
extern int	queen_partition_candidates(const QueenCandidateSearch *search,
									   int64 after, int64 through,
									   int64 *partition_ids, int limit);

extern int	queen_partition_outlook(const QueenCandidateSearch *search, int64 after,
									int64 through, QueenOutlook *found, int limit);
extern TimestampTz queen_partition_soonest(const QueenCandidateSearch *search);

extern bool queen_segment_tail(int64 partition_id, int64 log_start, QueenTail *tail);
extern void queen_segment_insert(int64 partition_id, const QueenSegmentRow *segment);
extern int	queen_segments_from(int64 partition_id, int64 log_start, int64 offset,
								QueenSegmentRow *rows, int limit);
extern bool queen_segment_at(int64 partition_id, int64 log_start, int64 offset,
							 QueenSegmentRow *segment);
extern int64 queen_segments_purge(int32 queue_id);

extern int	queen_partitions_older(int32 queue_id, const QueenPartitionAge *after,
								   TimestampTz before, QueenPartitionAge *found, int limit);
extern bool queen_partition_idle(int32 queue_id, const QueenPartitionAge *after,
								 TimestampTz before, QueenPartitionAge *found);
extern int	queen_segments_oldest(int64 partition_id, int64 offset,
								  QueenSegmentSize *segments, int limit);
extern int64 queen_segments_remove(int64 partition_id, int64 log_start, int64 next_start);
extern void queen_partition_set_start(int64 partition_id, int64 log_start,
									  TimestampTz last_at, TimestampTz oldest_at);
extern void queen_partition_delete(int64 partition_id);

#endif							/* QUEEN_LOG_STORE_H */
