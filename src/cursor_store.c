/*-------------------------------------------------------------------------
 *
 * cursor_store.c
 *	  All SQL on queen.cursor.
 *
 * A cursor is its newest version. Writing one inserts the next version; every
 * PRUNE_INTERVAL versions the writer removes the ones before, a range that is
 * bounded on both sides, so that no deletion walks over what an earlier one
 * removed. That keeps the table small where no worker runs.
 *
 * Each write leaves a note for those who wait (touch.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "cursor_store.h"
#include "probe.h"
#include "insert.h"
#include "spans.h"
#include "statement.h"
#include "touch.h"

#define PRUNE_INTERVAL 16

/* All columns up to not_before, in the order of the table. */
static const QueenProbe newest = {"cursor", "cursor_pkey", 13};

static QueenInsert insert = {
	"cursor",
	{
		"INSERT INTO queen.cursor (partition_id, group_id, version, committed, lease_nonce,"
		" lease_start, lease_end, lease_until, recent, acked, deliveries, failures, not_before, at)"
		" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
		SPI_OK_INSERT, 14, {INT8OID, INT4OID, INT8OID, INT8OID, INT8OID, INT8OID, INT8OID,
		TIMESTAMPTZOID, INT8ARRAYOID, INT8MULTIRANGEOID, INT8ARRAYOID, INT4OID, TIMESTAMPTZOID, TIMESTAMPTZOID}
	}
};

static QueenStatement prune = {
	"DELETE FROM queen.cursor WHERE partition_id OPERATOR(pg_catalog.=) $1"
	" AND group_id OPERATOR(pg_catalog.=) $2"
	" AND version OPERATOR(pg_catalog.>=) $3 AND version OPERATOR(pg_catalog.<) $4",
	SPI_OK_DELETE, 4, {INT8OID, INT4OID, INT8OID, INT8OID}
};

/* For a subscription to what is new: each partition that is visible, at its end. */
static QueenStatement seed = {
	"INSERT INTO queen.cursor (partition_id, group_id, version, committed, at)"
	" SELECT p.partition_id, $2, 1, coalesce(t.next_offset, p.log_start) OPERATOR(pg_catalog.-) 1, $3"
	" FROM queen.partition p LEFT JOIN LATERAL ("
	"SELECT s.base_offset OPERATOR(pg_catalog.+) s.message_count AS next_offset FROM queen.segment s"
	" WHERE s.partition_id OPERATOR(pg_catalog.=) p.partition_id"
	" AND s.base_offset OPERATOR(pg_catalog.>=) p.log_start"
	" ORDER BY s.base_offset DESC LIMIT 1) t ON true"
	" WHERE p.queue_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_INSERT, 3, {INT4OID, INT4OID, TIMESTAMPTZOID}
};

/*
 * By ctid, as a join might go through all cursors first. The group is locked
 * against everybody, so no row of its moves in between.
 */
static QueenStatement delete = {
	"DELETE FROM queen.cursor WHERE ctid OPERATOR(pg_catalog.=) ANY (ARRAY("
	"SELECT v.ctid FROM queen.partition p CROSS JOIN LATERAL (SELECT n.ctid FROM queen.cursor n"
	" WHERE n.partition_id OPERATOR(pg_catalog.=) p.partition_id"
	" AND n.group_id OPERATOR(pg_catalog.=) $2 OFFSET 0) v"
	" WHERE p.queue_id OPERATOR(pg_catalog.=) $1))",
	SPI_OK_DELETE, 2, {INT4OID, INT4OID}
};

/* Those of all groups in a partition. */
static QueenStatement delete_partition = {
	"DELETE FROM queen.cursor WHERE partition_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_DELETE, 1, {INT8OID}
};

/* The numbers of an int8[] without NULLs, which is all that we write. */
static int64 *
decode_numbers(Datum value, int *count)
{
	ArrayType  *array = DatumGetArrayTypePCopy(value);

	*count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	return (int64 *) ARR_DATA_PTR(array);
}

/* Numbers as an int8[]; nothing for none. */
static Datum
encode_numbers(const int64 *numbers, int count)
{
	Datum	   *values;

	if (count == 0)
		return (Datum) 0;
	values = palloc(sizeof(Datum) * count);
	for (int i = 0; i < count; i++)
		values[i] = Int64GetDatum(numbers[i]);
	return PointerGetDatum(construct_array(values, count, INT8OID, sizeof(int64),
										   FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

/* The steps of deliveries, flattened in the row. */
static void
decode_steps(Datum value, QueenCursor *cursor)
{
	int			count;
	int64	   *numbers = decode_numbers(value, &count);

	cursor->nsteps = count / 2;
	cursor->steps = palloc(sizeof(QueenStep) * Max(cursor->nsteps, 1));
	for (int i = 0; i < cursor->nsteps; i++)
	{
		cursor->steps[i].up_to = numbers[2 * i];
		cursor->steps[i].count = (int32) numbers[2 * i + 1];
	}
}

/* And back. */
static Datum
encode_steps(const QueenCursor *cursor)
{
	int64	   *numbers = palloc(sizeof(int64) * 2 * Max(cursor->nsteps, 1));

	for (int i = 0; i < cursor->nsteps; i++)
	{
		numbers[2 * i] = cursor->steps[i].up_to;
		numbers[2 * i + 1] = cursor->steps[i].count;
	}
	return encode_numbers(numbers, 2 * cursor->nsteps);
}

/* The nonces of the completed leases. */
static void
decode_recent(Datum value, QueenCursor *cursor)
{
	int			count;
	int64	   *numbers = decode_numbers(value, &count);

	cursor->nrecent = Min(count, QUEEN_RECENT_LEASES);
	memcpy(cursor->recent, numbers, sizeof(int64) * cursor->nrecent);
}

/* A row as a cursor. */
static void
take_cursor(const QueenRow *row, QueenCursor *cursor)
{
	cursor->version = DatumGetInt64(row->values[2]);
	cursor->committed = DatumGetInt64(row->values[3]);
	if (!row->nulls[4])
	{
		cursor->lease_nonce = DatumGetInt64(row->values[4]);
		cursor->lease_start = DatumGetInt64(row->values[5]);
		cursor->lease_end = DatumGetInt64(row->values[6]);
		cursor->lease_until = DatumGetTimestampTz(row->values[7]);
		cursor->leased_before = cursor->lease_end;
	}
	if (!row->nulls[8])
		decode_recent(row->values[8], cursor);
	if (!row->nulls[9])
		cursor->acked = queen_spans_decode(row->values[9], &cursor->nacked);
	if (!row->nulls[10])
		decode_steps(row->values[10], cursor);
	cursor->failures = DatumGetInt32(row->values[11]);
	if (!row->nulls[12])
		cursor->not_before = DatumGetTimestampTz(row->values[12]);
}

/* Reads the newest version that is not below another one. */
static bool
probe_newest(int64 partition_id, int32 group_id, int64 version, QueenRow *row)
{
	QueenKeys	keys = {.count = 0};

	queen_key_int8(&keys, partition_id);
	queen_key_int4(&keys, group_id);
	queen_key_int8_from(&keys, version);
	return queen_probe(&newest, &keys, BackwardScanDirection, row);
}

/* The newest version; false, and a cursor never written, where there is none. */
bool
queen_cursor_read(int64 partition_id, int32 group_id, QueenCursor *cursor)
{
	static QueenHint versions[QUEEN_HINTS];
	QueenHint  *hint = queen_hint(versions, (uint64) partition_id ^ ((uint64) group_id << 48));
	QueenRow	row;
	bool		found;

	memset(cursor, 0, sizeof(QueenCursor));
	cursor->partition_id = partition_id;
	cursor->group_id = group_id;
	cursor->committed = -1;
	cursor->leased_before = -1;
	cursor->lease_until = DT_NOBEGIN;
	cursor->not_before = DT_NOBEGIN;

	found = (hint->value > 0 && probe_newest(partition_id, group_id, hint->value, &row)) ||
		probe_newest(partition_id, group_id, 1, &row);
	if (found)
	{
		take_cursor(&row, cursor);
		hint->value = cursor->version;
	}
	return found;
}

/* Removes the versions before the one just written. */
static void
prune_before(const QueenCursor *cursor)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int64GetDatum(cursor->partition_id));
	queen_bind(&parameters, Int32GetDatum(cursor->group_id));
	queen_bind(&parameters, Int64GetDatum(cursor->version - PRUNE_INTERVAL));
	queen_bind(&parameters, Int64GetDatum(cursor->version));
	queen_execute(&prune, &parameters, 0);
}

/* What others need to know of a cursor that is written, and for when. */
static QueenLeft
what_is_left(const QueenCursor *cursor, TimestampTz now, TimestampTz *at)
{
	static const QueenLeft leased[] = {QUEEN_LEFT_LATER, QUEEN_LEFT_LATER_ALL, QUEEN_LEFT_LATER_MORE};

	*at = cursor->lease_nonce != 0 ? cursor->lease_until : cursor->not_before;
	if (cursor->lease_nonce != 0)
		return leased[cursor->rest];
	if (cursor->not_before > now)
		return QUEEN_LEFT_LATER_MORE;
	if (cursor->rest == QUEEN_REST_NOTHING)
		return QUEEN_LEFT_NOTHING;
	if (cursor->rest == QUEEN_REST_UNKNOWN && cursor->leased_before >= 0 &&
		cursor->committed >= cursor->leased_before)
		return QUEEN_LEFT_DONE;
	return QUEEN_LEFT_SOMETHING;
}

/* Notes what a write leaves, to be told when the transaction has ended. */
static void
touch(QueenCursor *cursor, TimestampTz now)
{
	TimestampTz at;
	QueenLeft	left = what_is_left(cursor, now, &at);

	Assert(cursor->queue_id != 0);
	queen_touch_cursor(cursor->queue_id, cursor->group_id, cursor->partition_id, left, at);
	cursor->leased_before = cursor->lease_nonce != 0 ? cursor->lease_end : -1;
	cursor->rest = QUEEN_REST_UNKNOWN;
}

/* Writes the next version. The caller holds the cursor's lock. */
void
queen_cursor_write(QueenCursor *cursor, TimestampTz now)
{
	QueenParameters parameters = {.count = 0};
	bool		leased = cursor->lease_nonce != 0;

	cursor->version = queen_next_version(cursor->version);
	queen_bind(&parameters, Int64GetDatum(cursor->partition_id));
	queen_bind(&parameters, Int32GetDatum(cursor->group_id));
	queen_bind(&parameters, Int64GetDatum(cursor->version));
	queen_bind(&parameters, Int64GetDatum(cursor->committed));
	queen_bind_if(&parameters, leased, Int64GetDatum(cursor->lease_nonce));
	queen_bind_if(&parameters, leased, Int64GetDatum(cursor->lease_start));
	queen_bind_if(&parameters, leased, Int64GetDatum(cursor->lease_end));
	queen_bind_if(&parameters, leased, TimestampTzGetDatum(cursor->lease_until));
	queen_bind_if(&parameters, cursor->nrecent > 0,
				  encode_numbers(cursor->recent, cursor->nrecent));
	queen_bind_if(&parameters, cursor->nacked > 0, queen_spans_encode(cursor->acked, cursor->nacked));
	queen_bind_if(&parameters, cursor->nsteps > 0, encode_steps(cursor));
	queen_bind(&parameters, Int32GetDatum(cursor->failures));
	queen_bind_if(&parameters, cursor->not_before != DT_NOBEGIN, TimestampTzGetDatum(cursor->not_before));
	queen_bind(&parameters, TimestampTzGetDatum(now));
	queen_insert(&insert, &parameters);
	touch(cursor, now);

	if (cursor->version % PRUNE_INTERVAL == 0)
		prune_before(cursor);
}

/* Puts a group at the end of every partition of a queue. */
void
queen_cursors_seed(int32 queue_id, int32 group_id)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int32GetDatum(queue_id));
	queen_bind(&parameters, Int32GetDatum(group_id));
	queen_bind(&parameters, TimestampTzGetDatum(GetCurrentTimestamp()));
	queen_execute(&seed, &parameters, 0);
}

/* Removes all cursors of a group. */
void
queen_cursors_delete(int32 queue_id, int32 group_id)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int32GetDatum(queue_id));
	queen_bind(&parameters, Int32GetDatum(group_id));
	queen_execute(&delete, &parameters, 0);
	queen_touch_group_gone(queue_id, group_id);
}

/* Removes all cursors in a partition. */
void
queen_cursors_delete_partition(int64 partition_id)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int64GetDatum(partition_id));
	queen_execute(&delete_partition, &parameters, 0);
}
