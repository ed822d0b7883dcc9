/*-------------------------------------------------------------------------
 *
 * retention_store.c
 *	  All SQL on queen.partition_size and queen.retention_log, and which
 *	  queues have something to be removed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "probe.h"
#include "retention_store.h"
#include "statement.h"

/* All columns, in the order of the table. */
static const QueenProbe size_by_id = {"partition_size", "partition_size_pkey", 4};

static QueenStatement size_write = {
	"INSERT INTO queen.partition_size (partition_id, from_offset, to_offset, bytes)"
	" VALUES ($1, $2, $3, $4) ON CONFLICT (partition_id) DO UPDATE"
	" SET from_offset = $2, to_offset = $3, bytes = $4",
	SPI_OK_INSERT, 4, {INT8OID, INT8OID, INT8OID, INT8OID}
};

static QueenStatement size_delete = {
	"DELETE FROM queen.partition_size WHERE partition_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_DELETE, 1, {INT8OID}
};

static QueenStatement size_count = {
	"SELECT pg_catalog.count(*), pg_catalog.sum(pg_catalog.pg_column_size(c.frames))::pg_catalog.int8,"
	" pg_catalog.max(c.base_offset OPERATOR(pg_catalog.+) c.message_count)"
	" FROM (SELECT s.base_offset, s.message_count, s.frames FROM queen.segment s"
	" WHERE s.partition_id OPERATOR(pg_catalog.=) $1 AND s.base_offset OPERATOR(pg_catalog.>=) $2"
	" ORDER BY s.base_offset LIMIT $3) c",
	SPI_OK_SELECT, 3, {INT8OID, INT8OID, INT4OID}
};

static QueenStatement next_queue = {
	"SELECT q.queue_id FROM queen.queue q WHERE q.queue_id OPERATOR(pg_catalog.>) $1"
	" AND (q.retention IS NOT NULL OR q.completed_retention IS NOT NULL"
	" OR q.retention_bytes IS NOT NULL OR q.retention_messages IS NOT NULL)"
	" ORDER BY q.queue_id LIMIT 1",
	SPI_OK_SELECT, 1, {INT4OID}
};

static QueenStatement next_idle_queue = {
	"SELECT q.queue_id FROM queen.queue q WHERE q.queue_id OPERATOR(pg_catalog.>) $1"
	" AND q.drop_idle_partitions IS NOT NULL ORDER BY q.queue_id LIMIT 1",
	SPI_OK_SELECT, 1, {INT4OID}
};

static QueenStatement log_insert = {
	"INSERT INTO queen.retention_log (queue_id, removed_at, removed_by, partitions, segments,"
	" messages, bytes, unread) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
	SPI_OK_INSERT, 8, {INT4OID, TIMESTAMPTZOID, TEXTOID, INT8OID, INT8OID, INT8OID, INT8OID, INT8OID}
};

/*
 * The first rows from an id on, as far as they are older than a time, and nobody
 * is dropping their queue; they are few.
 */
static QueenStatement log_prune = {
	"WITH first AS MATERIALIZED (SELECT l.retention_id, l.removed_at FROM queen.retention_log l"
	" WHERE l.retention_id OPERATOR(pg_catalog.>=) $1 ORDER BY l.retention_id LIMIT $3),"
	" old AS MATERIALIZED (SELECT l.retention_id FROM first f JOIN queen.retention_log l"
	" ON l.retention_id OPERATOR(pg_catalog.=) f.retention_id"
	" WHERE f.removed_at OPERATOR(pg_catalog.<) $2 FOR UPDATE OF l SKIP LOCKED)"
	" DELETE FROM queen.retention_log g USING old"
	" WHERE g.retention_id OPERATOR(pg_catalog.=) old.retention_id RETURNING g.retention_id",
	SPI_OK_DELETE_RETURNING, 3, {INT8OID, TIMESTAMPTZOID, INT4OID}
};

/* What is counted of a partition; false where nothing is. */
bool
queen_size_read(int64 partition_id, QueenSize *size)
{
	QueenKeys	keys = {.count = 0};
	QueenRow	row;

	queen_key_int8(&keys, partition_id);
	if (!queen_probe(&size_by_id, &keys, ForwardScanDirection, &row))
		return false;
	size->from_offset = DatumGetInt64(row.values[1]);
	size->to_offset = DatumGetInt64(row.values[2]);
	size->bytes = DatumGetInt64(row.values[3]);

	return true;
}

/* Keeps what is counted. The caller holds the append lock of the partition. */
void
queen_size_write(int64 partition_id, const QueenSize *size)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int64GetDatum(partition_id));
	queen_bind(&parameters, Int64GetDatum(size->from_offset));
	queen_bind(&parameters, Int64GetDatum(size->to_offset));
	queen_bind(&parameters, Int64GetDatum(size->bytes));
	queen_execute(&size_write, &parameters, 0);
}

/* Forgets it. */
void
queen_size_delete(int64 partition_id)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int64GetDatum(partition_id));
	queen_execute(&size_delete, &parameters, 0);
}

/* Counts on, so many segments at most; true where that reached the end. */
bool
queen_size_count(int64 partition_id, QueenSize *size, int limit)
{
	QueenParameters parameters = {.count = 0};
	QueenRow	row;
	int64		count;

	queen_bind(&parameters, Int64GetDatum(partition_id));
	queen_bind(&parameters, Int64GetDatum(size->to_offset));
	queen_bind(&parameters, Int32GetDatum(limit));
	queen_execute(&size_count, &parameters, 0);
	queen_fetch(SPI_tuptable, 0, &row);
	count = DatumGetInt64(row.values[0]);
	if (count > 0)
	{
		size->bytes += DatumGetInt64(row.values[1]);
		size->to_offset = DatumGetInt64(row.values[2]);
	}
	queen_forget_result();

	return count < limit;
}

/* The first queue after an id that a statement finds. */
static bool
find_queue(QueenStatement *statement, int32 after, int32 *queue_id)
{
	QueenParameters parameters = {.count = 0};
	bool		found;

	queen_bind(&parameters, Int32GetDatum(after));
	found = queen_execute(statement, &parameters, 1) > 0;
	if (found)
	{
		QueenRow	row;

		queen_fetch(SPI_tuptable, 0, &row);
		*queue_id = DatumGetInt32(row.values[0]);
	}
	queen_forget_result();

	return found;
}

/* The next queue that does not keep everything. */
bool
queen_retention_next_queue(int32 after, int32 *queue_id)
{
	return find_queue(&next_queue, after, queue_id);
}

/* The next queue whose idle partitions go. */
bool
queen_idle_next_queue(int32 after, int32 *queue_id)
{
	return find_queue(&next_idle_queue, after, queue_id);
}

/* Remembers what was removed from a queue. */
void
queen_retention_log_insert(const QueenTally *tally, const char *by)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int32GetDatum(tally->queue_id));
	queen_bind(&parameters, TimestampTzGetDatum(GetCurrentTimestamp()));
	queen_bind(&parameters, CStringGetTextDatum(by));
	queen_bind(&parameters, Int64GetDatum(tally->partitions));
	queen_bind(&parameters, Int64GetDatum(tally->segments));
	queen_bind(&parameters, Int64GetDatum(tally->messages));
	queen_bind(&parameters, Int64GetDatum(tally->bytes));
	queen_bind(&parameters, Int64GetDatum(tally->unread));
	queen_execute(&log_insert, &parameters, 0);
}

/* Forgets rows older than a time, from oldest on, which moves on; answers how many. */
int64
queen_retention_log_prune(int64 *oldest, TimestampTz before, int limit)
{
	QueenParameters parameters = {.count = 0};
	int64		removed;

	queen_bind(&parameters, Int64GetDatum(*oldest));
	queen_bind(&parameters, TimestampTzGetDatum(before));
	queen_bind(&parameters, Int32GetDatum(limit));
	removed = (int64) queen_execute(&log_prune, &parameters, 0);
	for (int64 i = 0; i < removed; i++)
	{
		QueenRow	row;

		queen_fetch(SPI_tuptable, i, &row);
		*oldest = Max(*oldest, DatumGetInt64(row.values[0]) + 1);
	}
	queen_forget_result();

	return removed;
}
