/*-------------------------------------------------------------------------
 *
 * reader.c
 *	  Reads the messages of a partition in order, and finds places in it.
 *
 * Rows are fetched in rounds: one first, then as many as its message count
 * says are wanted, so a pop of 100 costs a few probes whether the log was
 * written one by one or a thousand at a time. One segment is unpacked at a
 * time, and freed before the next.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"

#include "arena.h"
#include "compat.h"
#include "reader.h"

/* Begins at an offset, or at the first one kept after it. */
void
queen_reader_open(QueenReader *reader, const QueenPartition *partition,
				  int64 offset, int64 wanted)
{
	memset(reader, 0, sizeof(QueenReader));
	reader->partition = partition;
	reader->offset = Max(offset, partition->log_start);
	reader->wanted = wanted;
}

/* Forgets the segment that is open. */
static void
close_segment(QueenReader *reader)
{
	if (reader->frames && (Pointer) reader->frames != DatumGetPointer(reader->row.frames))
		pfree(reader->frames);
	reader->frames = NULL;
}

/* Forgets the rows that were fetched. */
static void
forget_rows(QueenReader *reader)
{
	for (int i = 0; i < reader->nrows; i++)
		pfree(DatumGetPointer(reader->rows[i].frames));
	reader->nrows = reader->next_row = 0;
}

/* Raises for bytes that are not what was written. */
static void
report_corruption(const QueenReader *reader, QueenFrameStatus status)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("corrupted segment in partition \"%s\" at offset %lld",
					text_to_cstring(reader->partition->name), (long long) reader->offset),
			 errdetail("Segment %lld of partition %lld: %s.",
					   (long long) reader->row.base_offset,
					   (long long) reader->partition->partition_id,
					   queen_frame_status_text(status))));
}

/* Fetches the next rows; false where the log ends. */
static bool
fetch_rows(QueenReader *reader)
{
	int64		limit = 1;

	if (reader->nrows > 0)
		limit = Max(reader->wanted, 0) / Max(reader->row.message_count, 1) + 1;
	forget_rows(reader);
	reader->nrows = queen_segments_from(reader->partition->partition_id,
										reader->partition->log_start, reader->offset,
										reader->rows, (int) Min(limit, QUEEN_READER_ROWS));
	return reader->nrows > 0;
}

/* Opens the next segment; false where the log ends. */
static bool
open_segment(QueenReader *reader)
{
	QueenFrameStatus status;

	CHECK_FOR_INTERRUPTS();
	close_segment(reader);
	if (reader->next_row >= reader->nrows && !fetch_rows(reader))
		return false;
	reader->row = reader->rows[reader->next_row++];
	reader->offset = Max(reader->offset, reader->row.base_offset);
	reader->frames = DatumGetByteaPP(reader->row.frames);
	status = queen_segment_open((const uint8_t *) VARDATA_ANY(reader->frames),
								VARSIZE_ANY_EXHDR(reader->frames),
								(uint32_t) reader->row.message_count, &reader->segment);
	if (status != QUEEN_FRAME_OK)
		report_corruption(reader, status);
	queen_arena_note(VARSIZE_ANY_EXHDR(reader->frames));
	return true;
}

/*
 * The next message and its offset; false at the end of the log. The message
 * points into the segment and is good until the next call.
 */
bool
queen_reader_next(QueenReader *reader, int64 *offset, QueenMessage *message)
{
	QueenFrameStatus status;

	while (!reader->frames ||
		   reader->offset >= reader->row.base_offset + reader->segment.count)
	{
		if (reader->at_end || !open_segment(reader))
		{
			reader->at_end = true;
			return false;
		}
	}
	status = queen_segment_message(&reader->segment,
								   (uint32_t) (reader->offset - reader->row.base_offset),
								   message);
	if (status != QUEEN_FRAME_OK)
		report_corruption(reader, status);
	*offset = reader->offset++;
	reader->wanted--;

	return true;
}

/*
 * The message of an offset; false where it was removed. Messages of one segment
 * that are asked for one after the other open it once.
 */
bool
queen_reader_at(QueenReader *reader, int64 offset, QueenMessage *message)
{
	int64		found;

	if (reader->frames && offset >= reader->row.base_offset &&
		offset < reader->row.base_offset + reader->segment.count)
		reader->offset = offset;
	else
	{
		const QueenPartition *partition = reader->partition;

		queen_reader_close(reader);
		queen_reader_open(reader, partition, offset, 1);
	}
	return queen_reader_next(reader, &found, message) && found == offset;
}

/* Frees what the reader holds. */
void
queen_reader_close(QueenReader *reader)
{
	close_segment(reader);
	forget_rows(reader);
}

/* The offset of the next message to be pushed, as far as can be seen. */
int64
queen_log_end(const QueenPartition *partition)
{
	QueenTail	tail;

	if (queen_segment_tail(partition->partition_id, partition->log_start, &tail))
		return tail.next_offset;
	return partition->log_start;
}

/*
 * The first offset of the first segment that is not older than a time, or the
 * end. Time does not run backward in a partition, so the search is binary:
 * all before low is older, all from high on is not.
 */
int64
queen_log_find_time(const QueenPartition *partition, TimestampTz from)
{
	int64		low = partition->log_start;
	int64		high = queen_log_end(partition);

	while (low < high)
	{
		int64		middle = low + (high - low) / 2;
		QueenSegmentRow segment;

		if (!queen_segment_at(partition->partition_id, low, middle, &segment))
			low = middle + 1;	/* removed meanwhile */
		else if (segment.created_at >= from)
			high = segment.base_offset;
		else
			low = segment.base_offset + segment.message_count;
	}
	return high;
}
