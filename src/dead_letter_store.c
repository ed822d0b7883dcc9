/*-------------------------------------------------------------------------
 *
 * dead_letter_store.c
 *	  All SQL on queen.dead_letter and queen.dead_letter_log.
 *
 * A dead letter is inserted and deleted, never updated: what was read without a
 * lock is still true when the row has been taken.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "dead_letter_store.h"
#include "message.h"
#include "probe.h"
#include "statement.h"

/*
 * The first entries of the history from an id on, as far as they are older than
 * a time, and nobody is dropping their queue.
 */
static QueenStatement forget = {
	"WITH first AS MATERIALIZED (SELECT l.log_id, l.done_at FROM queen.dead_letter_log l"
	" WHERE l.log_id OPERATOR(pg_catalog.>=) $1 ORDER BY l.log_id LIMIT $3),"
	" old AS MATERIALIZED (SELECT l.log_id FROM first f JOIN queen.dead_letter_log l"
	" ON l.log_id OPERATOR(pg_catalog.=) f.log_id"
	" WHERE f.done_at OPERATOR(pg_catalog.<) $2 FOR UPDATE OF l SKIP LOCKED)"
	" DELETE FROM queen.dead_letter_log g USING old"
	" WHERE g.log_id OPERATOR(pg_catalog.=) old.log_id RETURNING g.log_id",
	SPI_OK_DELETE_RETURNING, 3, {INT8OID, TIMESTAMPTZOID, INT4OID}
};

/* All columns up to dead_at, in the order of the table. */
static const QueenProbe by_id = {"dead_letter", "dead_letter_pkey", 17};
static const QueenProbe by_queue = {"dead_letter", "dead_letter_queue_idx", 17};
static const QueenProbe last_of_queue = {"dead_letter", "dead_letter_queue_idx", 1};

/* A message that was sent back says in a header as which dead letter it was known. */
static QueenStatement insert = {
	"INSERT INTO queen.dead_letter (queue_id, partition_id, group_id, partition_name, group_name,"
	" message_offset, transaction_id, payload, body, headers, reason, error, failures,"
	" deliveries, created_at, dead_at, first_created_at, redriven_from)"
	" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,"
	" CASE WHEN ($10 OPERATOR(pg_catalog.->>) 'queen-redriven-from')"
	" OPERATOR(pg_catalog.~) '^[0-9]{1,18}$'"
	" THEN ($10 OPERATOR(pg_catalog.->>) 'queen-redriven-from')::pg_catalog.int8 END)",
	SPI_OK_INSERT, 17, {INT4OID, INT8OID, INT4OID, TEXTOID, TEXTOID, INT8OID, TEXTOID,
		JSONOID, BYTEAOID, JSONBOID, TEXTOID, TEXTOID, INT4OID, INT4OID,
	TIMESTAMPTZOID, TIMESTAMPTZOID, TIMESTAMPTZOID}
};

static QueenStatement take = {
	"WITH free AS MATERIALIZED (SELECT d.dead_letter_id FROM queen.dead_letter d"
	" WHERE d.dead_letter_id OPERATOR(pg_catalog.=) $1 FOR UPDATE SKIP LOCKED)"
	" DELETE FROM queen.dead_letter d USING free f"
	" WHERE d.dead_letter_id OPERATOR(pg_catalog.=) f.dead_letter_id",
	SPI_OK_DELETE, 1, {INT8OID}
};

static QueenStatement note = {
	"INSERT INTO queen.dead_letter_log (queue_id, action, arguments, done_by, done_at, done, skipped)"
	" VALUES ($1, $2, $3, $4::pg_catalog.regrole, $5, $6, $7) RETURNING log_id",
	SPI_OK_INSERT_RETURNING, 7, {INT4OID, TEXTOID, JSONBOID, OIDOID, TIMESTAMPTZOID, INT8OID, INT8OID}
};

static QueenStatement note_more = {
	"UPDATE queen.dead_letter_log SET done = $2, skipped = $3"
	" WHERE log_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_UPDATE, 3, {INT8OID, INT8OID, INT8OID}
};

/* Keeps a copy of the message, whatever becomes of its segment. */
void
queen_dead_letter_insert(const QueenDeadLetter *letter)
{
	QueenParameters parameters = {.count = 0};
	QueenMessageValues message = queen_message_values(letter->message,
													  letter->partition->partition_id,
													  letter->offset);

	queen_bind(&parameters, Int32GetDatum(letter->partition->queue_id));
	queen_bind(&parameters, Int64GetDatum(letter->partition->partition_id));
	queen_bind(&parameters, Int32GetDatum(letter->group->group_id));
	queen_bind(&parameters, PointerGetDatum(letter->partition->name));
	queen_bind(&parameters, PointerGetDatum(letter->group->name));
	queen_bind(&parameters, Int64GetDatum(letter->offset));
	queen_bind(&parameters, message.transaction_id);
	queen_bind_if(&parameters, message.is_json, message.payload);
	queen_bind_if(&parameters, !message.is_json, message.body);
	queen_bind_if(&parameters, message.has_headers, message.headers);
	queen_bind(&parameters, PointerGetDatum(letter->reason));
	queen_bind_if(&parameters, letter->error != NULL, PointerGetDatum(letter->error));
	queen_bind(&parameters, Int32GetDatum(letter->failures));
	queen_bind(&parameters, Int32GetDatum(letter->deliveries));
	queen_bind(&parameters, TimestampTzGetDatum(letter->created_at));
	queen_bind(&parameters, TimestampTzGetDatum(GetCurrentTimestamp()));
	queen_bind(&parameters, TimestampTzGetDatum(letter->first_created_at));
	queen_execute(&insert, &parameters, 0);
}

/* A row as a dead letter. */
static bool
find_letter(const QueenProbe *probe, QueenKeys *keys, QueenDeadLetterRow *letter)
{
	QueenRow	row;

	if (!queen_probe(probe, keys, ForwardScanDirection, &row))
		return false;
	letter->dead_letter_id = DatumGetInt64(row.values[0]);
	letter->queue_id = DatumGetInt32(row.values[1]);
	letter->partition_name = DatumGetTextPP(row.values[4]);
	letter->group_name = DatumGetTextPP(row.values[5]);
	letter->offset = DatumGetInt64(row.values[6]);
	letter->transaction_id = DatumGetTextPP(row.values[7]);
	letter->is_json = !row.nulls[8];
	letter->body = letter->is_json ? row.values[8] : row.values[9];
	letter->headers = row.values[10];
	letter->reason = DatumGetTextPP(row.values[11]);
	letter->error = row.nulls[12] ? NULL : DatumGetTextPP(row.values[12]);
	letter->failures = DatumGetInt32(row.values[13]);
	letter->deliveries = DatumGetInt32(row.values[14]);
	letter->created_at = DatumGetTimestampTz(row.values[15]);
	letter->dead_at = DatumGetTimestampTz(row.values[16]);

	return true;
}

/* The next dead letter of a queue, oldest first. */
bool
queen_dead_letter_after(int32 queue_id, int64 after, QueenDeadLetterRow *letter)
{
	QueenKeys	keys = {.count = 0};

	if (after == PG_INT64_MAX)
		return false;
	queen_key_int4(&keys, queue_id);
	queen_key_int8_from(&keys, after + 1);
	return find_letter(&by_queue, &keys, letter);
}

/* The dead letter of an id. */
bool
queen_dead_letter_by_id(int64 dead_letter_id, QueenDeadLetterRow *letter)
{
	QueenKeys	keys = {.count = 0};

	queen_key_int8(&keys, dead_letter_id);
	return find_letter(&by_id, &keys, letter);
}

/* The newest dead letter of a queue; 0 where it has none. */
int64
queen_dead_letter_last(int32 queue_id)
{
	QueenKeys	keys = {.count = 0};
	QueenRow	row;

	queen_key_int4(&keys, queue_id);
	if (!queen_probe(&last_of_queue, &keys, BackwardScanDirection, &row))
		return 0;
	return DatumGetInt64(row.values[0]);
}

/* Removes a dead letter unless somebody else is at it or has removed it. */
bool
queen_dead_letter_take(int64 dead_letter_id)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int64GetDatum(dead_letter_id));
	return queen_execute(&take, &parameters, 0) > 0;
}

/* Notes what was done; again, where it is noted already and has gone on. */
void
queen_dead_letter_note(QueenDeadLetterAction *action, Oid done_by)
{
	QueenParameters parameters = {.count = 0};
	QueenRow	row;

	if (action->log_id != 0)
	{
		queen_bind(&parameters, Int64GetDatum(action->log_id));
		queen_bind(&parameters, Int64GetDatum(action->done));
		queen_bind(&parameters, Int64GetDatum(action->skipped));
		queen_execute(&note_more, &parameters, 0);
		return;
	}
	queen_bind(&parameters, Int32GetDatum(action->queue_id));
	queen_bind(&parameters, CStringGetTextDatum(action->action));
	queen_bind(&parameters, JsonbPGetDatum(action->arguments));
	queen_bind(&parameters, ObjectIdGetDatum(done_by));
	queen_bind(&parameters, TimestampTzGetDatum(GetCurrentTimestamp()));
	queen_bind(&parameters, Int64GetDatum(action->done));
	queen_bind(&parameters, Int64GetDatum(action->skipped));
	queen_execute(&note, &parameters, 0);
	queen_fetch(SPI_tuptable, 0, &row);
	action->log_id = DatumGetInt64(row.values[0]);
	queen_forget_result();
}

/* Forgets entries of the history from before a time; oldest is where to look first. */
int64
queen_dead_letter_forget(int64 *oldest, TimestampTz before, int limit)
{
	QueenParameters parameters = {.count = 0};
	int64		removed;

	queen_bind(&parameters, Int64GetDatum(*oldest));
	queen_bind(&parameters, TimestampTzGetDatum(before));
	queen_bind(&parameters, Int32GetDatum(limit));
	removed = (int64) queen_execute(&forget, &parameters, 0);
	for (int64 i = 0; i < removed; i++)
	{
		QueenRow	row;

		queen_fetch(SPI_tuptable, i, &row);
		*oldest = Max(*oldest, DatumGetInt64(row.values[0]) + 1);
	}
	queen_forget_result();

	return removed;
}
