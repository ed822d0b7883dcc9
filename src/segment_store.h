/*-------------------------------------------------------------------------
 *
 * segment_store.h
 *	  All SQL on queen.segment.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_SEGMENT_STORE_H
#define QUEEN_SEGMENT_STORE_H

#include "datatype/timestamp.h"

/* One row of queen.segment. */
typedef struct QueenSegmentRow
{
	int64		base_offset;
	TimestampTz created_at;
	int32		message_count;
	Datum		frames;
} QueenSegmentRow;

/* Where the next message of a partition goes. */
typedef struct QueenTail
{
	int64		next_offset;
	TimestampTz created_at;
} QueenTail;

/* A segment as retention sees it. */
typedef struct QueenSegmentSize
{
	int64		base_offset;
	TimestampTz created_at;
	int32		message_count;
	int64		bytes;			/* stored, compressed or not */
} QueenSegmentSize;

extern bool queen_segment_at(int64 partition_id, int64 log_start, int64 offset,
							 QueenSegmentRow *segment);
extern bool queen_segment_tail(int64 partition_id, int64 log_start, QueenTail *tail);
extern void queen_segment_insert(int64 partition_id, const QueenSegmentRow *segment);
extern int	queen_segments_from(int64 partition_id, int64 log_start, int64 offset,
								QueenSegmentRow *rows, int limit);
extern int	queen_segments_oldest(int64 partition_id, int64 offset,
								  QueenSegmentSize *segments, int limit);
extern int64 queen_segments_remove(int64 partition_id, int64 log_start, int64 next_start);
extern int64 queen_segments_purge(int32 queue_id);

#endif							/* QUEEN_SEGMENT_STORE_H */
