/*-------------------------------------------------------------------------
 *
 * dedup_store.c
 *	  All SQL on queen.dedup, queen.dedup_run and queen.dedup_due.
 *
 * queen.dedup has versions, as cursors have: the newest row of a partition says
 * what it remembers, a few fingerprints in the row itself and the runs that hold
 * the others. Nobody looks for runs: their keys come from that row, so no dead
 * row is ever walked over. Versions before the newest go by the dozen, removed
 * by whoever writes.
 *
 * queen.dedup_due has one row for each partition that remembers anything, and
 * the time from which it is worth a look whether all of it is past.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "dedup_store.h"
#include "insert.h"
#include "statement.h"

#define PRUNE_INTERVAL 32

/* Columns partition_id, version, recent, runs. */
static const QueenProbe newest = {"dedup", "dedup_pkey", 4};

/* Columns partition_id, run, slot, filter, entries. */
static const QueenProbe run_rows = {"dedup_run", "dedup_run_pkey", 5};

/* Columns partition_id, queue_id. */
static const QueenProbe due_queues = {"dedup_due", "dedup_due_queue_idx", 2};

static QueenInsert insert = {
	"dedup",
	{
		"INSERT INTO queen.dedup (partition_id, version, recent, runs) VALUES ($1, $2, $3, $4)",
		SPI_OK_INSERT, 4, {INT8OID, INT8OID, BYTEAOID, BYTEAOID}
	}
};

/* Bounded below, so that no range walks over what went before. */
static QueenStatement prune = {
	"DELETE FROM queen.dedup WHERE partition_id OPERATOR(pg_catalog.=) $1"
	" AND version OPERATOR(pg_catalog.>=) $2 AND version OPERATOR(pg_catalog.<) $3",
	SPI_OK_DELETE, 3, {INT8OID, INT8OID, INT8OID}
};

static QueenInsert run_insert = {
	"dedup_run",
	{
		"INSERT INTO queen.dedup_run (partition_id, run, slot, filter, entries)"
		" VALUES ($1, $2, $3, $4, $5)",
		SPI_OK_INSERT, 5, {INT8OID, INT8OID, INT8OID, BYTEAOID, BYTEAOID}
	}
};

static QueenStatement run_delete = {
	"DELETE FROM queen.dedup_run WHERE partition_id OPERATOR(pg_catalog.=) $1"
	" AND run OPERATOR(pg_catalog.=) $2",
	SPI_OK_DELETE, 2, {INT8OID, INT8OID}
};

static QueenStatement due_insert = {
	"INSERT INTO queen.dedup_due (partition_id, queue_id, due_at) VALUES ($1, $2, $3)"
	" ON CONFLICT DO NOTHING",
	SPI_OK_INSERT, 3, {INT8OID, INT4OID, TIMESTAMPTZOID}
};

static QueenStatement due_move = {
	"UPDATE queen.dedup_due SET due_at = $2 WHERE partition_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_UPDATE, 2, {INT8OID, TIMESTAMPTZOID}
};

static QueenStatement due_delete = {
	"DELETE FROM queen.dedup_due WHERE partition_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_DELETE, 1, {INT8OID}
};

static QueenStatement due = {
	"SELECT d.partition_id, d.due_at FROM queen.dedup_due d"
	" WHERE d.queue_id OPERATOR(pg_catalog.=) $1 AND d.due_at OPERATOR(pg_catalog.<=) $2"
	" AND ROW(d.due_at, d.partition_id) OPERATOR(pg_catalog.>) ROW($3, $4)"
	" ORDER BY d.queue_id, d.due_at, d.partition_id LIMIT $5",
	SPI_OK_SELECT, 5, {INT4OID, TIMESTAMPTZOID, TIMESTAMPTZOID, INT8OID, INT4OID}
};

/* Bytes as a value. */
static bytea *
make_bytes(const void *data, size_t len)
{
	bytea	   *value = palloc(VARHDRSZ + len);

	SET_VARSIZE(value, VARHDRSZ + len);
	if (len > 0)
		memcpy(VARDATA(value), data, len);
	return value;
}

/* A copy of stored bytes that is aligned for what they hold; NULL is nothing. */
static void *
take_bytes(const QueenRow *row, int column, size_t size, int *count)
{
	bytea	   *value;
	void	   *copy;

	*count = 0;
	if (row->nulls[column])
		return NULL;
	value = DatumGetByteaPP(row->values[column]);
	*count = (int) (VARSIZE_ANY_EXHDR(value) / size);
	copy = palloc(Max(VARSIZE_ANY_EXHDR(value), 1));
	memcpy(copy, VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));
	return copy;
}

/* Reads the newest version that is not below another one. */
static bool
probe_newest(int64 partition_id, int64 version, QueenRow *row)
{
	QueenKeys	keys = {.count = 0};

	queen_key_int8(&keys, partition_id);
	queen_key_int8_from(&keys, version);
	return queen_probe(&newest, &keys, BackwardScanDirection, row);
}

/* What a partition remembers; false, and nothing, where it never did. */
bool
queen_memory_read(int64 partition_id, QueenMemory *memory)
{
	static QueenHint versions[QUEEN_HINTS];
	QueenHint  *hint = queen_hint(versions, (uint64) partition_id);
	QueenRow	row;

	memset(memory, 0, sizeof(QueenMemory));
	memory->partition_id = partition_id;
	if (!(hint->value > 0 && probe_newest(partition_id, hint->value, &row)) &&
		!probe_newest(partition_id, 1, &row))
		return false;
	memory->version = hint->value = DatumGetInt64(row.values[1]);
	memory->recent = take_bytes(&row, 2, sizeof(QueenPrint), &memory->nrecent);
	memory->runs = take_bytes(&row, 3, sizeof(QueenRun), &memory->nruns);

	return true;
}

/* Removes versions in [first, last). */
static void
delete_versions(int64 partition_id, int64 first, int64 last)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int64GetDatum(partition_id));
	queen_bind(&parameters, Int64GetDatum(first));
	queen_bind(&parameters, Int64GetDatum(last));
	queen_execute(&prune, &parameters, 0);
}

/* Writes the next version. The caller holds the partition's append lock. */
void
queen_memory_write(QueenMemory *memory)
{
	QueenParameters parameters = {.count = 0};
	bytea	   *recent = make_bytes(memory->recent, sizeof(QueenPrint) * memory->nrecent);
	bytea	   *runs = make_bytes(memory->runs, sizeof(QueenRun) * memory->nruns);

	memory->version = queen_next_version(memory->version);
	queen_bind(&parameters, Int64GetDatum(memory->partition_id));
	queen_bind(&parameters, Int64GetDatum(memory->version));
	queen_bind_if(&parameters, memory->nrecent > 0, PointerGetDatum(recent));
	queen_bind_if(&parameters, memory->nruns > 0, PointerGetDatum(runs));
	queen_insert(&insert, &parameters);

	if (memory->version % PRUNE_INTERVAL == 0)
		delete_versions(memory->partition_id, memory->version - PRUNE_INTERVAL, memory->version);
}

/* Forgets a partition, but for its runs. The caller holds the append lock. */
void
queen_memory_delete(int64 partition_id)
{
	QueenParameters parameters = {.count = 0};

	delete_versions(partition_id, 1, PG_INT64_MAX);
	queen_bind(&parameters, Int64GetDatum(partition_id));
	queen_execute(&due_delete, &parameters, 0);
}

/* Writes a row of a run; a small one has no filter. */
void
queen_run_insert(int64 partition_id, int64 run, int64 slot, bytea *filter, bytea *entries)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int64GetDatum(partition_id));
	queen_bind(&parameters, Int64GetDatum(run));
	queen_bind(&parameters, Int64GetDatum(slot));
	queen_bind_if(&parameters, filter != NULL, PointerGetDatum(filter));
	queen_bind(&parameters, PointerGetDatum(entries));
	queen_insert(&run_insert, &parameters);
}

/* Removes a run. */
void
queen_run_delete(int64 partition_id, int64 run)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int64GetDatum(partition_id));
	queen_bind(&parameters, Int64GetDatum(run));
	queen_execute(&run_delete, &parameters, 0);
}

/* Begins to read rows of runs. */
void
queen_run_scan_begin(QueenScan *scan)
{
	queen_scan_begin(scan, &run_rows, 4);
}

/* Goes to some slots of a run. */
void
queen_run_scan_seek(QueenScan *scan, int64 partition_id, int64 run,
					int64 first_slot, int64 last_slot)
{
	QueenKeys	keys = {.count = 0};

	queen_key_int8(&keys, partition_id);
	queen_key_int8(&keys, run);
	queen_key_int8_from(&keys, first_slot);
	queen_key_int8_to(&keys, last_slot);
	queen_scan_seek(scan, &keys);
}

/* The next row; false after the last. */
bool
queen_run_scan_next(QueenScan *scan, QueenRunRow *row)
{
	QueenRow	values;

	if (!queen_scan_next(scan, &values))
		return false;
	row->slot = DatumGetInt64(values.values[2]);
	row->blocks = 0;
	row->filter = NULL;
	if (!values.nulls[3])
	{
		row->filter = (const uint8 *) VARDATA_ANY(DatumGetPointer(values.values[3]));
		row->blocks = VARSIZE_ANY_EXHDR(DatumGetPointer(values.values[3])) / QUEEN_FILTER_BLOCK;
	}
	row->entries = values.values[4];

	return true;
}

/* Notes that a partition remembers something, and when to look again. */
void
queen_dedup_due_insert(int32 queue_id, int64 partition_id, TimestampTz due_at)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int64GetDatum(partition_id));
	queen_bind(&parameters, Int32GetDatum(queue_id));
	queen_bind(&parameters, TimestampTzGetDatum(due_at));
	queen_execute(&due_insert, &parameters, 0);
}

/* Puts the next look off. */
void
queen_dedup_due_move(int64 partition_id, TimestampTz due_at)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int64GetDatum(partition_id));
	queen_bind(&parameters, TimestampTzGetDatum(due_at));
	queen_execute(&due_move, &parameters, 0);
}

/* The next queue, in the order of ids, that remembers anything. */
bool
queen_dedup_due_queue_after(int32 after, int32 *queue_id)
{
	QueenKeys	keys = {.count = 0};
	QueenRow	row;

	if (after == PG_INT32_MAX)
		return false;
	queen_key_int4_from(&keys, after + 1);
	if (!queen_probe(&due_queues, &keys, ForwardScanDirection, &row))
		return false;
	*queue_id = DatumGetInt32(row.values[1]);
	return true;
}

/* Partitions of a queue that are due for a look and come after one, in order of time. */
int
queen_dedup_due(int32 queue_id, TimestampTz now, const QueenDue *after, QueenDue *found,
				int limit)
{
	QueenParameters parameters = {.count = 0};
	int			rows;

	queen_bind(&parameters, Int32GetDatum(queue_id));
	queen_bind(&parameters, TimestampTzGetDatum(now));
	queen_bind(&parameters, TimestampTzGetDatum(after->due_at));
	queen_bind(&parameters, Int64GetDatum(after->partition_id));
	queen_bind(&parameters, Int32GetDatum(limit));
	rows = (int) queen_execute(&due, &parameters, limit);
	for (int i = 0; i < rows; i++)
	{
		QueenRow	row;

		queen_fetch(SPI_tuptable, i, &row);
		found[i].partition_id = DatumGetInt64(row.values[0]);
		found[i].due_at = DatumGetTimestampTz(row.values[1]);
	}
	queen_forget_result();

	return rows;
}
