/*-------------------------------------------------------------------------
 *
 * reader.h
 *	  Reads the messages of a partition in order, and finds places in it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_READER_H
#define QUEEN_READER_H

#include "frame.h"
#include "partition_store.h"
#include "segment_store.h"

/* How many segments are fetched at once, at most. */
#define QUEEN_READER_ROWS 64

typedef struct QueenReader
{
	const QueenPartition *partition;
	int64		wanted;			/* messages, a hint for how many rows to fetch */
	int64		offset;			/* of the next message */
	QueenSegmentRow rows[QUEEN_READER_ROWS];	/* fetched, frames as stored */
	int			nrows;
	int			next_row;
	bool		at_end;
	QueenSegmentRow row;		/* the segment that is open */
	bytea	   *frames;			/* NULL: none is */
	QueenSegment segment;
} QueenReader;

extern void queen_reader_open(QueenReader *reader, const QueenPartition *partition,
							  int64 offset, int64 wanted);
extern bool queen_reader_next(QueenReader *reader, int64 *offset, QueenMessage *message);
extern bool queen_reader_at(QueenReader *reader, int64 offset, QueenMessage *message);
extern void queen_reader_close(QueenReader *reader);

extern int64 queen_log_end(const QueenPartition *partition);
extern int64 queen_log_find_time(const QueenPartition *partition, TimestampTz from);

#endif							/* QUEEN_READER_H */
