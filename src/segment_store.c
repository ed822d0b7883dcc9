/*-------------------------------------------------------------------------
 *
 * segment_store.c
 *	  All SQL on queen.segment.
 *
 * Every probe of a partition's segments has its log_start as lower bound, so
 * that none walks over rows that were removed. A log_start that was read
 * before the lock may be too small, never too large, and does as well.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/timestamp.h"

#include "insert.h"
#include "probe.h"
#include "segment_store.h"
#include "statement.h"

/* Columns partition_id, base_offset, created_at, message_count; not the frames. */
static const QueenProbe without_frames = {"segment", "segment_pkey", 4};
static const QueenProbe with_frames = {"segment", "segment_pkey", 5};

static QueenInsert segment_insert = {
	"segment",
	{
		"INSERT INTO queen.segment (partition_id, base_offset, created_at, message_count, frames)"
		" VALUES ($1, $2, $3, $4, $5)",
		SPI_OK_INSERT, 5, {INT8OID, INT8OID, TIMESTAMPTZOID, INT4OID, BYTEAOID}
	}
};

/*
 * Removes all messages and keeps where the partitions stood. Both halves see
 * the rows as they were; the old log_start bounds the range from below.
 */
static QueenStatement purge = {
	"WITH moved AS (UPDATE queen.partition p"
	" SET log_start = t.next_offset, last_at = t.created_at, oldest_at = 'infinity'"
	" FROM queen.partition o CROSS JOIN LATERAL ("
	"SELECT s.base_offset OPERATOR(pg_catalog.+) s.message_count AS next_offset, s.created_at"
	" FROM queen.segment s WHERE s.partition_id OPERATOR(pg_catalog.=) o.partition_id"
	" AND s.base_offset OPERATOR(pg_catalog.>=) o.log_start"
	" ORDER BY s.base_offset DESC LIMIT 1) t"
	" WHERE o.queue_id OPERATOR(pg_catalog.=) $1"
	" AND p.partition_id OPERATOR(pg_catalog.=) o.partition_id"
	" RETURNING o.partition_id, o.log_start AS first_offset, t.next_offset),"
	" gone AS (DELETE FROM queen.segment s USING moved m"
	" WHERE s.partition_id OPERATOR(pg_catalog.=) m.partition_id"
	" AND s.base_offset OPERATOR(pg_catalog.>=) m.first_offset"
	" AND s.base_offset OPERATOR(pg_catalog.<) m.next_offset RETURNING s.message_count)"
	" SELECT coalesce(pg_catalog.sum(message_count), 0)::pg_catalog.int8 FROM gone",
	SPI_OK_SELECT, 1, {INT4OID}
};

/* Sizes come from the row and its pointers; no frames are read. */
static QueenStatement segments_oldest = {
	"SELECT s.base_offset, s.created_at, s.message_count, pg_catalog.pg_column_size(s.frames)"
	" FROM queen.segment s WHERE s.partition_id OPERATOR(pg_catalog.=) $1"
	" AND s.base_offset OPERATOR(pg_catalog.>=) $2 ORDER BY s.base_offset LIMIT $3",
	SPI_OK_SELECT, 3, {INT8OID, INT8OID, INT4OID}
};

static QueenStatement segments_remove = {
	"DELETE FROM queen.segment WHERE partition_id OPERATOR(pg_catalog.=) $1"
	" AND base_offset OPERATOR(pg_catalog.>=) $2 AND base_offset OPERATOR(pg_catalog.<) $3",
	SPI_OK_DELETE, 3, {INT8OID, INT8OID, INT8OID}
};

/* A row as a segment; the frames are still as stored, and the row's. */
static void
take_segment(const QueenProbe *probe, const QueenRow *row, QueenSegmentRow *segment)
{
	segment->base_offset = DatumGetInt64(row->values[1]);
	segment->created_at = DatumGetTimestampTz(row->values[2]);
	segment->message_count = DatumGetInt32(row->values[3]);
	segment->frames = probe->ncolumns > 4 ? row->values[4] : (Datum) 0;
}

/* The newest segment that begins in a range. */
static bool
find_segment(const QueenProbe *probe, int64 partition_id, int64 from, int64 to,
			 QueenSegmentRow *segment)
{
	QueenKeys	keys = {.count = 0};
	QueenRow	row;

	queen_key_int8(&keys, partition_id);
	queen_key_int8_from(&keys, from);
	queen_key_int8_to(&keys, to);
	if (!queen_probe(probe, &keys, BackwardScanDirection, &row))
		return false;
	take_segment(probe, &row, segment);

	return true;
}

/* The newest segment that begins at or before an offset, without its frames. */
bool
queen_segment_at(int64 partition_id, int64 log_start, int64 offset,
				 QueenSegmentRow *segment)
{
	return find_segment(&without_frames, partition_id, log_start, offset, segment);
}

/* Where the next message goes; false where no segment is kept. */
bool
queen_segment_tail(int64 partition_id, int64 log_start, QueenTail *tail)
{
	static QueenHint tails[QUEEN_HINTS];
	QueenHint  *hint = queen_hint(tails, (uint64) partition_id);
	QueenSegmentRow segment;

	if (hint->value < log_start ||
		!queen_segment_at(partition_id, hint->value, PG_INT64_MAX, &segment))
	{
		if (!queen_segment_at(partition_id, log_start, PG_INT64_MAX, &segment))
			return false;
	}
	hint->value = segment.base_offset;
	tail->next_offset = segment.base_offset + segment.message_count;
	tail->created_at = segment.created_at;

	return true;
}

/* Appends a segment. */
void
queen_segment_insert(int64 partition_id, const QueenSegmentRow *segment)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int64GetDatum(partition_id));
	queen_bind(&parameters, Int64GetDatum(segment->base_offset));
	queen_bind(&parameters, TimestampTzGetDatum(segment->created_at));
	queen_bind(&parameters, Int32GetDatum(segment->message_count));
	queen_bind(&parameters, segment->frames);
	queen_insert(&segment_insert, &parameters);
}

/*
 * The segment that holds an offset. It mostly begins there, and looking for that
 * one alone does not read all the entries of its index page.
 */
static bool
find_holder(int64 partition_id, int64 log_start, int64 offset, QueenSegmentRow *segment)
{
	if (find_segment(&with_frames, partition_id, offset, offset, segment))
		return true;
	if (!find_segment(&with_frames, partition_id, log_start, offset, segment))
		return false;
	if (segment->base_offset + segment->message_count > offset)
		return true;
	pfree(DatumGetPointer(segment->frames));
	return false;
}

/* Segments that begin at an offset or after it, ascending, at most limit. */
static int
scan_segments(int64 partition_id, int64 offset, QueenSegmentRow *rows, int limit)
{
	QueenKeys	keys = {.count = 0};
	QueenScan	scan;
	QueenRow	row;
	int			count = 0;

	queen_key_int8(&keys, partition_id);
	queen_key_int8_from(&keys, offset);
	queen_scan_begin(&scan, &with_frames, keys.count);
	queen_scan_seek(&scan, &keys);
	while (count < limit && queen_scan_next(&scan, &row))
	{
		take_segment(&with_frames, &row, &rows[count]);
		rows[count].frames = datumCopy(rows[count].frames, false, -1);
		count++;
	}
	queen_scan_end(&scan);

	return count;
}

/*
 * The segments from the one that holds an offset, or the first one after it.
 * Their frames, as stored, are the caller's to free.
 */
int
queen_segments_from(int64 partition_id, int64 log_start, int64 offset,
					QueenSegmentRow *rows, int limit)
{
	int			count = 0;

	if (find_holder(partition_id, log_start, offset, &rows[0]))
	{
		offset = rows[0].base_offset + rows[0].message_count;
		count = 1;
	}
	if (count < limit)
		count += scan_segments(partition_id, offset, rows + count, limit - count);
	return count;
}

/* The sizes and times of the first segments from an offset on; answers how many. */
int
queen_segments_oldest(int64 partition_id, int64 offset, QueenSegmentSize *segments, int limit)
{
	QueenParameters parameters = {.count = 0};
	int			rows;

	queen_bind(&parameters, Int64GetDatum(partition_id));
	queen_bind(&parameters, Int64GetDatum(offset));
	queen_bind(&parameters, Int32GetDatum(limit));
	rows = (int) queen_execute(&segments_oldest, &parameters, limit);
	for (int i = 0; i < rows; i++)
	{
		QueenRow	row;

		queen_fetch(SPI_tuptable, i, &row);
		segments[i].base_offset = DatumGetInt64(row.values[0]);
		segments[i].created_at = DatumGetTimestampTz(row.values[1]);
		segments[i].message_count = DatumGetInt32(row.values[2]);
		segments[i].bytes = DatumGetInt32(row.values[3]);
	}
	queen_forget_result();

	return rows;
}

/* Removes the segments of a range, bounded below by the old log_start; answers how many. */
int64
queen_segments_remove(int64 partition_id, int64 log_start, int64 next_start)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int64GetDatum(partition_id));
	queen_bind(&parameters, Int64GetDatum(log_start));
	queen_bind(&parameters, Int64GetDatum(next_start));
	return (int64) queen_execute(&segments_remove, &parameters, 0);
}

/* Removes all messages of a queue and answers how many. */
int64
queen_segments_purge(int32 queue_id)
{
	QueenParameters parameters = {.count = 0};
	QueenRow	row;
	int64		removed;

	queen_bind(&parameters, Int32GetDatum(queue_id));
	queen_execute(&purge, &parameters, 0);
	queen_fetch(SPI_tuptable, 0, &row);
	removed = DatumGetInt64(row.values[0]);
	queen_forget_result();

	return removed;
}
