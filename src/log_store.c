/*-------------------------------------------------------------------------
 *
 * log_store.c
 *	  All SQL on queen.partition and queen.segment.
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

#include "check.h"
#include "compat.h"
#include "insert.h"
#include "log_store.h"
#include "probe.h"
#include "statement.h"

/* Columns partition_id, queue_id, name, log_start, last_at, oldest_at. */
static const QueenProbe partition_by_name = {"partition", "partition_queue_id_name_key", 6};
static const QueenProbe partition_by_id = {"partition", "partition_pkey", 6};

/* Column partition_id, of the first or last partition of a queue. */
static const QueenProbe partition_after = {"partition", "partition_queue_idx", 6};
static const QueenProbe partition_by_queue = {"partition", "partition_queue_idx", 1};

/* Columns partition_id, base_offset, created_at, message_count; not the frames. */
static const QueenProbe segment_by_offset = {"segment", "segment_pkey", 4};

/* And with the frames. */
static const QueenProbe segment_whole = {"segment", "segment_pkey", 5};

static QueenStatement partition_insert = {
	"INSERT INTO queen.partition (queue_id, name, created_at, oldest_at)"
	" VALUES ($1, $2, $3, $3) RETURNING partition_id",
	SPI_OK_INSERT_RETURNING, 3, {INT4OID, TEXTOID, TIMESTAMPTZOID}
};

static QueenStatement partition_set_oldest = {
	"UPDATE queen.partition SET oldest_at = $2 WHERE partition_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_UPDATE, 2, {INT8OID, TIMESTAMPTZOID}
};

/*
 * Partitions that have something for a group, looked at without a lock: not
 * leased, not held back, and with an offset beyond the cursor. A group that
 * was never there begins at its subscription's time. Compared as rows, since
 * with queue_id = $1 the primary key, too, would give the order, and a walk
 * over it meets the partitions of all queues. In a queue that delays delivery
 * ($7 is not null) the segment of the first offset not done must be that old;
 * for a group that was never there the first one kept, which is no younger.
 */
#define FROM_PARTITIONS_WITH_SOMETHING \
	" FROM queen.partition p" \
	" LEFT JOIN LATERAL (SELECT n.committed, n.lease_until, n.not_before FROM queen.cursor n" \
	" WHERE n.partition_id OPERATOR(pg_catalog.=) p.partition_id AND n.group_id OPERATOR(pg_catalog.=) $2" \
	" ORDER BY n.version DESC LIMIT 1) c ON true" \
	" CROSS JOIN LATERAL (SELECT s.base_offset OPERATOR(pg_catalog.+) s.message_count AS next_offset," \
	" s.created_at FROM queen.segment s" \
	" WHERE s.partition_id OPERATOR(pg_catalog.=) p.partition_id" \
	" AND s.base_offset OPERATOR(pg_catalog.>=) p.log_start" \
	" ORDER BY s.base_offset DESC LIMIT 1) t" \
	" CROSS JOIN LATERAL (SELECT CASE WHEN $7 IS NOT NULL THEN (SELECT f.created_at OPERATOR(pg_catalog.+) $7" \
	" FROM queen.segment f" \
	" WHERE f.partition_id OPERATOR(pg_catalog.=) p.partition_id" \
	" AND f.base_offset OPERATOR(pg_catalog.>=) p.log_start" \
	" AND f.base_offset OPERATOR(pg_catalog.<=) greatest(c.committed OPERATOR(pg_catalog.+) 1, p.log_start)" \
	" ORDER BY f.base_offset DESC LIMIT 1) END AS ready_at) h" \
	" WHERE ROW(p.queue_id, p.partition_id) OPERATOR(pg_catalog.>) ROW($1, $3)" \
	" AND ROW(p.queue_id, p.partition_id) OPERATOR(pg_catalog.<=) ROW($1, $4)" \
	" AND CASE WHEN c.committed IS NULL THEN t.created_at OPERATOR(pg_catalog.>=) $5" \
	" ELSE t.next_offset OPERATOR(pg_catalog.-) 1 OPERATOR(pg_catalog.>) c.committed END"

static QueenStatement candidates = {
	"SELECT p.partition_id" FROM_PARTITIONS_WITH_SOMETHING
	" AND (c.lease_until IS NULL OR c.lease_until OPERATOR(pg_catalog.<=) $8)"
	" AND (c.not_before IS NULL OR c.not_before OPERATOR(pg_catalog.<=) $8)"
	" AND (h.ready_at IS NULL OR h.ready_at OPERATOR(pg_catalog.<=) $8)"
	" ORDER BY p.queue_id, p.partition_id LIMIT $6",
	SPI_OK_SELECT, 8, {INT4OID, INT4OID, INT8OID, INT8OID, TIMESTAMPTZOID, INT4OID, INTERVALOID,
	TIMESTAMPTZOID}
};

/* The same with those that are leased, held back or too young, and until when. */
static QueenStatement outlook = {
	"SELECT p.partition_id, GREATEST(c.lease_until, c.not_before, h.ready_at)" FROM_PARTITIONS_WITH_SOMETHING
	" ORDER BY p.queue_id, p.partition_id LIMIT $6",
	SPI_OK_SELECT, 7, {INT4OID, INT4OID, INT8OID, INT8OID, TIMESTAMPTZOID, INT4OID, INTERVALOID}
};

/*
 * When the first lease or back-off ends of those that hold something back from
 * a group. It looks at each cursor of the group in the queue.
 */
static QueenStatement soonest = {
	"SELECT pg_catalog.min(GREATEST(c.lease_until, c.not_before)) FROM queen.partition p"
	" CROSS JOIN LATERAL (SELECT n.committed, n.lease_until, n.not_before FROM queen.cursor n"
	" WHERE n.partition_id OPERATOR(pg_catalog.=) p.partition_id AND n.group_id OPERATOR(pg_catalog.=) $2"
	" ORDER BY n.version DESC LIMIT 1) c"
	" WHERE p.queue_id OPERATOR(pg_catalog.=) $1"
	" AND GREATEST(c.lease_until, c.not_before) OPERATOR(pg_catalog.>) $3",
	SPI_OK_SELECT, 3, {INT4OID, INT4OID, TIMESTAMPTZOID}
};

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

/*
 * The partitions that keep something older than a time, the oldest first. One
 * index has this order; the upper bound is no row, as a scan does not stop at
 * the second column of one.
 */
static QueenStatement partitions_older = {
	"SELECT p.oldest_at, p.partition_id FROM queen.partition p"
	" WHERE p.queue_id OPERATOR(pg_catalog.=) $1"
	" AND ROW(p.oldest_at, p.partition_id) OPERATOR(pg_catalog.>) ROW($2, $3)"
	" AND p.oldest_at OPERATOR(pg_catalog.<) $4"
	" ORDER BY p.oldest_at, p.partition_id LIMIT $5",
	SPI_OK_SELECT, 5, {INT4OID, TIMESTAMPTZOID, INT8OID, TIMESTAMPTZOID, INT4OID}
};

/* The empty partitions whose last push is older than a time, that for longest first. */
static QueenStatement partition_idle = {
	"SELECT p.last_at, p.partition_id FROM queen.partition p"
	" WHERE p.oldest_at OPERATOR(pg_catalog.=) 'infinity'"
	" AND p.queue_id OPERATOR(pg_catalog.=) $1"
	" AND ROW(p.last_at, p.partition_id) OPERATOR(pg_catalog.>) ROW($2, $3)"
	" AND p.last_at OPERATOR(pg_catalog.<) $4"
	" ORDER BY p.last_at, p.partition_id LIMIT 1",
	SPI_OK_SELECT, 4, {INT4OID, TIMESTAMPTZOID, INT8OID, TIMESTAMPTZOID}
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

static QueenStatement partition_set_start = {
	"UPDATE queen.partition SET log_start = $2, last_at = $3, oldest_at = $4"
	" WHERE partition_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_UPDATE, 4, {INT8OID, INT8OID, TIMESTAMPTZOID, TIMESTAMPTZOID}
};

static QueenStatement partition_delete = {
	"DELETE FROM queen.partition WHERE partition_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_DELETE, 1, {INT8OID}
};

/* A row as a partition; false where there is none. */
static bool
find_partition(const QueenProbe *probe, QueenKeys *keys, QueenPartition *partition)
{
	QueenRow	row;

	if (!queen_probe(probe, keys, ForwardScanDirection, &row))
		return false;
	partition->partition_id = DatumGetInt64(row.values[0]);
	partition->queue_id = DatumGetInt32(row.values[1]);
	partition->name = DatumGetTextPP(row.values[2]);
	partition->log_start = DatumGetInt64(row.values[3]);
	partition->last_at = DatumGetTimestampTz(row.values[4]);
	partition->oldest_at = DatumGetTimestampTz(row.values[5]);

	return true;
}

/* The partition of a name. */
bool
queen_partition_by_name(int32 queue_id, text *name, QueenPartition *partition)
{
	QueenKeys	keys = {.count = 0};

	queen_key_int4(&keys, queue_id);
	queen_key_text(&keys, name);
	return find_partition(&partition_by_name, &keys, partition);
}

/* The partition of an id. */
bool
queen_partition_by_id(int64 partition_id, QueenPartition *partition)
{
	QueenKeys	keys = {.count = 0};

	queen_key_int8(&keys, partition_id);
	return find_partition(&partition_by_id, &keys, partition);
}

/* The next partition of a queue, in the order of ids. */
bool
queen_partition_after(int32 queue_id, int64 partition_id, QueenPartition *partition)
{
	QueenKeys	keys = {.count = 0};

	queen_key_int4(&keys, queue_id);
	queen_key_int8_from(&keys, partition_id + 1);
	return find_partition(&partition_after, &keys, partition);
}

/* Makes a partition, about to be pushed to. */
int64
queen_partition_insert(int32 queue_id, text *name)
{
	QueenParameters parameters = {.count = 0};
	QueenRow	row;
	int64		partition_id;

	queen_bind(&parameters, Int32GetDatum(queue_id));
	queen_bind(&parameters, PointerGetDatum(name));
	queen_bind(&parameters, TimestampTzGetDatum(GetCurrentTimestamp()));
	queen_execute(&partition_insert, &parameters, 0);
	queen_fetch(SPI_tuptable, 0, &row);
	partition_id = DatumGetInt64(row.values[0]);
	queen_forget_result();

	return partition_id;
}

/* For the first push after the partition was emptied. */
void
queen_partition_set_oldest(int64 partition_id, TimestampTz oldest_at)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int64GetDatum(partition_id));
	queen_bind(&parameters, TimestampTzGetDatum(oldest_at));
	queen_execute(&partition_set_oldest, &parameters, 0);
}

/* The lowest and the highest partition of a queue; false where it has none. */
bool
queen_partition_range(int32 queue_id, int64 *first, int64 *last)
{
	QueenKeys	keys = {.count = 0};
	QueenRow	lowest;
	QueenRow	highest;

	queen_key_int4(&keys, queue_id);
	if (!queen_probe(&partition_by_queue, &keys, ForwardScanDirection, &lowest) ||
		!queen_probe(&partition_by_queue, &keys, BackwardScanDirection, &highest))
		return false;
	*first = DatumGetInt64(lowest.values[0]);
	*last = DatumGetInt64(highest.values[0]);

	return true;
}

/* The parameters of candidates and outlook. */
static QueenParameters
search_parameters(const QueenCandidateSearch *search, int64 after, int64 through, int limit)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int32GetDatum(search->queue_id));
	queen_bind(&parameters, Int32GetDatum(search->group_id));
	queen_bind(&parameters, Int64GetDatum(after));
	queen_bind(&parameters, Int64GetDatum(through));
	queen_bind(&parameters, TimestampTzGetDatum(search->subscription_from));
	queen_bind(&parameters, Int32GetDatum(limit));
	queen_bind_if(&parameters, search->delivery_delay > 0,
				  IntervalPGetDatum(queen_interval(search->delivery_delay)));
	return parameters;
}

/* Partitions in (after, through] that look ready, ascending, at most limit. */
int
queen_partition_candidates(const QueenCandidateSearch *search, int64 after,
						   int64 through, int64 *partition_ids, int limit)
{
	QueenParameters parameters = search_parameters(search, after, through, limit);
	int			rows;

	queen_bind(&parameters, TimestampTzGetDatum(search->now));
	rows = (int) queen_execute(&candidates, &parameters, limit);
	for (int i = 0; i < rows; i++)
	{
		QueenRow	row;

		queen_fetch(SPI_tuptable, i, &row);
		partition_ids[i] = DatumGetInt64(row.values[0]);
	}
	queen_forget_result();

	return rows;
}

/* Partitions in (after, through] that have something, ascending, at most limit. */
int
queen_partition_outlook(const QueenCandidateSearch *search, int64 after, int64 through,
						QueenOutlook *found, int limit)
{
	QueenParameters parameters = search_parameters(search, after, through, limit);
	int			rows = (int) queen_execute(&outlook, &parameters, limit);

	for (int i = 0; i < rows; i++)
	{
		QueenRow	row;

		queen_fetch(SPI_tuptable, i, &row);
		found[i].partition_id = DatumGetInt64(row.values[0]);
		found[i].at = row.nulls[1] ? DT_NOBEGIN : DatumGetTimestampTz(row.values[1]);
	}
	queen_forget_result();

	return rows;
}

/* When time alone may bring something; infinity where it cannot. */
TimestampTz
queen_partition_soonest(const QueenCandidateSearch *search)
{
	QueenParameters parameters = {.count = 0};
	QueenRow	row;
	TimestampTz at = DT_NOEND;

	queen_bind(&parameters, Int32GetDatum(search->queue_id));
	queen_bind(&parameters, Int32GetDatum(search->group_id));
	queen_bind(&parameters, TimestampTzGetDatum(search->now));
	queen_execute(&soonest, &parameters, 0);
	queen_fetch(SPI_tuptable, 0, &row);
	if (!row.nulls[0])
		at = DatumGetTimestampTz(row.values[0]);
	queen_forget_result();

	return at;
}

/* The newest segment that begins at or before an offset, without its frames. */
bool
queen_segment_at(int64 partition_id, int64 log_start, int64 offset,
				 QueenSegmentRow *segment)
{
	QueenKeys	keys = {.count = 0};
	QueenRow	row;

	queen_key_int8(&keys, partition_id);
	queen_key_int8_from(&keys, log_start);
	queen_key_int8_to(&keys, offset);
	if (!queen_probe(&segment_by_offset, &keys, BackwardScanDirection, &row))
		return false;
	segment->base_offset = DatumGetInt64(row.values[1]);
	segment->created_at = DatumGetTimestampTz(row.values[2]);
	segment->message_count = DatumGetInt32(row.values[3]);
	segment->frames = (Datum) 0;

	return true;
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

/* A row as a segment; the frames are still as stored, and the row's. */
static void
take_segment(const QueenRow *row, QueenSegmentRow *segment)
{
	segment->base_offset = DatumGetInt64(row->values[1]);
	segment->created_at = DatumGetTimestampTz(row->values[2]);
	segment->message_count = DatumGetInt32(row->values[3]);
	segment->frames = row->values[4];
}

/* The newest segment that begins in a range. */
static bool
find_segment(int64 partition_id, int64 from, int64 to, QueenSegmentRow *segment)
{
	QueenKeys	keys = {.count = 0};
	QueenRow	row;

	queen_key_int8(&keys, partition_id);
	queen_key_int8_from(&keys, from);
	queen_key_int8_to(&keys, to);
	if (!queen_probe(&segment_whole, &keys, BackwardScanDirection, &row))
		return false;
	take_segment(&row, segment);
	return true;
}

/*
 * The segment that holds an offset. It mostly begins there, and looking for that
 * one alone does not read all the entries of its index page.
 */
static bool
find_holder(int64 partition_id, int64 log_start, int64 offset, QueenSegmentRow *segment)
{
	if (find_segment(partition_id, offset, offset, segment))
		return true;
	if (!find_segment(partition_id, log_start, offset, segment))
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
	queen_scan_begin(&scan, &segment_whole, keys.count);
	queen_scan_seek(&scan, &keys);
	while (count < limit && queen_scan_next(&scan, &row))
	{
		take_segment(&row, &rows[count]);
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

/* Partitions that keep something older than a time, after a place in that order. */
int
queen_partitions_older(int32 queue_id, const QueenPartitionAge *after,
					   TimestampTz before, QueenPartitionAge *found, int limit)
{
	QueenParameters parameters = {.count = 0};
	int			rows;

	queen_bind(&parameters, Int32GetDatum(queue_id));
	queen_bind(&parameters, TimestampTzGetDatum(after->at));
	queen_bind(&parameters, Int64GetDatum(after->partition_id));
	queen_bind(&parameters, TimestampTzGetDatum(before));
	queen_bind(&parameters, Int32GetDatum(limit));
	rows = (int) queen_execute(&partitions_older, &parameters, limit);
	for (int i = 0; i < rows; i++)
	{
		QueenRow	row;

		queen_fetch(SPI_tuptable, i, &row);
		found[i].at = DatumGetTimestampTz(row.values[0]);
		found[i].partition_id = DatumGetInt64(row.values[1]);
	}
	queen_forget_result();

	return rows;
}

/* The next partition that is empty, and idle since before a time. */
bool
queen_partition_idle(int32 queue_id, const QueenPartitionAge *after,
					 TimestampTz before, QueenPartitionAge *found)
{
	QueenParameters parameters = {.count = 0};
	bool		exists;

	queen_bind(&parameters, Int32GetDatum(queue_id));
	queen_bind(&parameters, TimestampTzGetDatum(after->at));
	queen_bind(&parameters, Int64GetDatum(after->partition_id));
	queen_bind(&parameters, TimestampTzGetDatum(before));
	exists = queen_execute(&partition_idle, &parameters, 1) > 0;
	if (exists)
	{
		QueenRow	row;

		queen_fetch(SPI_tuptable, 0, &row);
		found->at = DatumGetTimestampTz(row.values[0]);
		found->partition_id = DatumGetInt64(row.values[1]);
	}
	queen_forget_result();

	return exists;
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

/* Where the log begins now, and how old what it keeps is. */
void
queen_partition_set_start(int64 partition_id, int64 log_start, TimestampTz last_at,
						  TimestampTz oldest_at)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int64GetDatum(partition_id));
	queen_bind(&parameters, Int64GetDatum(log_start));
	queen_bind(&parameters, TimestampTzGetDatum(last_at));
	queen_bind(&parameters, TimestampTzGetDatum(oldest_at));
	queen_execute(&partition_set_start, &parameters, 0);
}

/* Removes a partition; it must be empty. */
void
queen_partition_delete(int64 partition_id)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int64GetDatum(partition_id));
	queen_execute(&partition_delete, &parameters, 0);
}
