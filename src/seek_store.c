/*-------------------------------------------------------------------------
 *
 * seek_store.c
 *	  All SQL on queen.seek_log and queen.seek_move.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "probe.h"
#include "seek_store.h"
#include "spans.h"
#include "statement.h"

static QueenStatement insert = {
	"INSERT INTO queen.seek_log (queue_id, group_id, group_name, target, moved_by, moved_at)"
	" VALUES ($1, $2, $3, $4, $5::pg_catalog.regrole, $6) RETURNING seek_id",
	SPI_OK_INSERT_RETURNING, 6, {INT4OID, INT4OID, TEXTOID, TEXTOID, OIDOID, TIMESTAMPTZOID}
};

static QueenStatement set_undone = {
	"UPDATE queen.seek_log SET undone_at = $2 WHERE seek_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_UPDATE, 2, {INT8OID, TIMESTAMPTZOID}
};

static QueenStatement move_insert = {
	"INSERT INTO queen.seek_move"
	" (seek_id, partition_id, old_committed, old_acked, new_committed)"
	" VALUES ($1, $2, $3, $4, $5)",
	SPI_OK_INSERT, 5, {INT8OID, INT8OID, INT8OID, INT8MULTIRANGEOID, INT8OID}
};

/* A later seek of the group in the partition that is not undone. */
static QueenStatement followed = {
	"SELECT EXISTS (SELECT 1 FROM queen.seek_log l JOIN queen.seek_move m"
	" ON m.seek_id OPERATOR(pg_catalog.=) l.seek_id AND m.partition_id OPERATOR(pg_catalog.=) $4"
	" WHERE l.queue_id OPERATOR(pg_catalog.=) $1 AND l.seek_id OPERATOR(pg_catalog.>) $3"
	" AND l.group_id OPERATOR(pg_catalog.=) $2 AND l.undone_at IS NULL)",
	SPI_OK_SELECT, 4, {INT4OID, INT4OID, INT8OID, INT8OID}
};

/* What the seeks of a queue did in one partition. */
static QueenStatement delete_partition = {
	"DELETE FROM queen.seek_move WHERE ctid OPERATOR(pg_catalog.=) ANY (ARRAY("
	"SELECT m.ctid FROM queen.seek_log l JOIN queen.seek_move m"
	" ON m.seek_id OPERATOR(pg_catalog.=) l.seek_id AND m.partition_id OPERATOR(pg_catalog.=) $2"
	" WHERE l.queue_id OPERATOR(pg_catalog.=) $1))",
	SPI_OK_DELETE, 2, {INT4OID, INT8OID}
};

static QueenStatement lock = {
	"SELECT l.seek_id FROM queen.seek_log l WHERE l.seek_id OPERATOR(pg_catalog.=) $1 FOR UPDATE",
	SPI_OK_SELECT, 1, {INT8OID}
};

/* The first seek from an id on that nobody is just about to undo. */
static QueenStatement oldest_seek = {
	"SELECT l.seek_id, l.moved_at FROM queen.seek_log l WHERE l.seek_id OPERATOR(pg_catalog.>=) $1"
	" ORDER BY l.seek_id LIMIT 1 FOR UPDATE SKIP LOCKED",
	SPI_OK_SELECT, 1, {INT8OID}
};

static QueenStatement prune_moves = {
	"DELETE FROM queen.seek_move WHERE ctid OPERATOR(pg_catalog.=) ANY (ARRAY("
	"SELECT m.ctid FROM queen.seek_move m WHERE m.seek_id OPERATOR(pg_catalog.=) $1 LIMIT $2))",
	SPI_OK_DELETE, 2, {INT8OID, INT4OID}
};

static QueenStatement prune_log = {
	"DELETE FROM queen.seek_log WHERE seek_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_DELETE, 1, {INT8OID}
};

/* All columns of each table, in its order. */
static const QueenProbe by_id = {"seek_log", "seek_log_pkey", 8};
static const QueenProbe moves = {"seek_move", "seek_move_pkey", 5};

/* Remembers a seek that is about to move cursors. */
int64
queen_seek_insert(const QueenGroup *group, const char *target, Oid moved_by)
{
	QueenParameters parameters = {.count = 0};
	QueenRow	row;
	int64		seek_id;

	queen_bind(&parameters, Int32GetDatum(group->queue_id));
	queen_bind(&parameters, Int32GetDatum(group->group_id));
	queen_bind(&parameters, PointerGetDatum(group->name));
	queen_bind(&parameters, CStringGetTextDatum(target));
	queen_bind(&parameters, ObjectIdGetDatum(moved_by));
	queen_bind(&parameters, TimestampTzGetDatum(GetCurrentTimestamp()));
	queen_execute(&insert, &parameters, 0);
	queen_fetch(SPI_tuptable, 0, &row);
	seek_id = DatumGetInt64(row.values[0]);
	queen_forget_result();

	return seek_id;
}

/* The seek of an id. */
bool
queen_seek_by_id(int64 seek_id, QueenSeekRecord *record)
{
	QueenKeys	keys = {.count = 0};
	QueenRow	row;

	queen_key_int8(&keys, seek_id);
	if (!queen_probe(&by_id, &keys, ForwardScanDirection, &row))
		return false;
	record->seek_id = seek_id;
	record->queue_id = DatumGetInt32(row.values[1]);
	record->group_id = DatumGetInt32(row.values[2]);
	record->undone = !row.nulls[7];

	return true;
}

/* Keeps a seek, and the moves that belong to it, from being forgotten meanwhile. */
void
queen_seek_lock(int64 seek_id)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int64GetDatum(seek_id));
	queen_execute(&lock, &parameters, 0);
	queen_forget_result();
}

/* Whether a later seek moved the group in the partition, and is not undone. */
bool
queen_seek_is_followed(const QueenGroup *group, int64 seek_id, int64 partition_id)
{
	QueenParameters parameters = {.count = 0};
	QueenRow	row;
	bool		result;

	queen_bind(&parameters, Int32GetDatum(group->queue_id));
	queen_bind(&parameters, Int32GetDatum(group->group_id));
	queen_bind(&parameters, Int64GetDatum(seek_id));
	queen_bind(&parameters, Int64GetDatum(partition_id));
	queen_execute(&followed, &parameters, 1);
	queen_fetch(SPI_tuptable, 0, &row);
	result = DatumGetBool(row.values[0]);
	queen_forget_result();

	return result;
}

/* Notes that a seek was undone. */
void
queen_seek_set_undone(int64 seek_id)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int64GetDatum(seek_id));
	queen_bind(&parameters, TimestampTzGetDatum(GetCurrentTimestamp()));
	queen_execute(&set_undone, &parameters, 0);
}

/* Remembers one cursor as it was and as it is. */
void
queen_seek_move_insert(int64 seek_id, const QueenSeekMove *move)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int64GetDatum(seek_id));
	queen_bind(&parameters, Int64GetDatum(move->partition_id));
	queen_bind(&parameters, Int64GetDatum(move->old_committed));
	queen_bind_if(&parameters, move->nold_acked > 0,
				  queen_spans_encode(move->old_acked, move->nold_acked));
	queen_bind(&parameters, Int64GetDatum(move->new_committed));
	queen_execute(&move_insert, &parameters, 0);
}

/* The next move of a seek after a partition; false where there is none. */
bool
queen_seek_move_next(int64 seek_id, int64 after, QueenSeekMove *move)
{
	QueenKeys	keys = {.count = 0};
	QueenRow	row;

	queen_key_int8(&keys, seek_id);
	queen_key_int8_from(&keys, after + 1);
	if (!queen_probe(&moves, &keys, ForwardScanDirection, &row))
		return false;
	memset(move, 0, sizeof(QueenSeekMove));
	move->partition_id = DatumGetInt64(row.values[1]);
	move->old_committed = DatumGetInt64(row.values[2]);
	if (!row.nulls[3])
		move->old_acked = queen_spans_decode(row.values[3], &move->nold_acked);
	move->new_committed = DatumGetInt64(row.values[4]);

	return true;
}

/* Forgets what seeks did in a partition. */
void
queen_seek_moves_delete_partition(int32 queue_id, int64 partition_id)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int32GetDatum(queue_id));
	queen_bind(&parameters, Int64GetDatum(partition_id));
	queen_execute(&delete_partition, &parameters, 0);
}

/* The first seek from an id on, if it is older than a time. */
static bool
find_old_seek(int64 from, TimestampTz before, int64 *seek_id)
{
	QueenParameters parameters = {.count = 0};
	QueenRow	row;
	bool		old = false;

	queen_bind(&parameters, Int64GetDatum(from));
	if (queen_execute(&oldest_seek, &parameters, 1) > 0)
	{
		queen_fetch(SPI_tuptable, 0, &row);
		*seek_id = DatumGetInt64(row.values[0]);
		old = DatumGetTimestampTz(row.values[1]) < before;
	}
	queen_forget_result();

	return old;
}

/*
 * Forgets the first seek from oldest on, which moves on, if it is older than a
 * time; in pieces, where it moved many cursors, and what is forgotten in part
 * counts as undone. False where there is none.
 */
bool
queen_seek_prune(int64 *oldest, TimestampTz before, int limit, int64 *removed)
{
	QueenParameters moves = {.count = 0};
	QueenParameters log = {.count = 0};
	int64		seek_id;
	int64		count;

	if (!find_old_seek(*oldest, before, &seek_id))
		return false;
	queen_bind(&moves, Int64GetDatum(seek_id));
	queen_bind(&moves, Int32GetDatum(limit));
	count = (int64) queen_execute(&prune_moves, &moves, 0);
	*removed += count;
	*oldest = seek_id;
	if (count == limit)
		queen_seek_set_undone(seek_id);
	else
	{
		queen_bind(&log, Int64GetDatum(seek_id));
		*removed += (int64) queen_execute(&prune_log, &log, 0);
		*oldest = seek_id + 1;
	}
	return true;
}
