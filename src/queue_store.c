/*-------------------------------------------------------------------------
 *
 * queue_store.c
 *	  All SQL on queen.queue.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "check.h"
#include "compat.h"
#include "probe.h"
#include "queue_store.h"
#include "statement.h"

/* All columns up to paused_at, in the order of the table. */
static const QueenProbe by_name = {"queue", "queue_name_key", 18};
static const QueenProbe by_id = {"queue", "queue_pkey", 18};

static QueenStatement insert = {
	"INSERT INTO queen.queue (name, owner, created_at) VALUES ($1, $2::pg_catalog.regrole, $3)",
	SPI_OK_INSERT, 3, {TEXTOID, OIDOID, TIMESTAMPTZOID}
};

/* For each option whether it is given, and its value. */
static QueenStatement update = {
	"UPDATE queen.queue SET"
	" partitions = CASE WHEN $2 THEN $3 ELSE partitions END,"
	" lease = CASE WHEN $4 THEN $5 ELSE lease END,"
	" retry_limit = CASE WHEN $6 THEN $7 ELSE retry_limit END,"
	" retry_delay = CASE WHEN $8 THEN $9 ELSE retry_delay END,"
	" max_deliveries = CASE WHEN $10 THEN $11 ELSE max_deliveries END,"
	" on_exhausted = CASE WHEN $12 THEN $13 ELSE on_exhausted END,"
	" max_backlog = CASE WHEN $14 THEN $15 ELSE max_backlog END,"
	" retention = CASE WHEN $16 THEN $17 ELSE retention END,"
	" completed_retention = CASE WHEN $18 THEN $19 ELSE completed_retention END,"
	" retention_bytes = CASE WHEN $20 THEN $21 ELSE retention_bytes END,"
	" retention_messages = CASE WHEN $22 THEN $23 ELSE retention_messages END,"
	" drop_idle_partitions = CASE WHEN $24 THEN $25 ELSE drop_idle_partitions END,"
	" dedup_window = CASE WHEN $26 THEN $27 ELSE dedup_window END,"
	" delivery_delay = CASE WHEN $28 THEN $29 ELSE delivery_delay END"
	" WHERE queue_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_UPDATE, 29, {INT4OID, BOOLOID, INT4OID, BOOLOID, INTERVALOID,
		BOOLOID, INT4OID, BOOLOID, INTERVALOID, BOOLOID, INT4OID, BOOLOID, TEXTOID,
		BOOLOID, INT8OID, BOOLOID, INTERVALOID, BOOLOID, INTERVALOID, BOOLOID, INT8OID,
	BOOLOID, INT8OID, BOOLOID, INTERVALOID, BOOLOID, INTERVALOID, BOOLOID, INTERVALOID}
};

#define RESET(column) {column, \
	{"UPDATE queen.queue SET " column " = DEFAULT WHERE queue_id OPERATOR(pg_catalog.=) $1", \
		SPI_OK_UPDATE, 1, {INT4OID}}}

static struct
{
	const char *option;
	QueenStatement statement;
}			resets[QUEEN_OPTIONS] = {

	RESET("partitions"), RESET("lease"), RESET("retry_limit"), RESET("retry_delay"),
	RESET("max_deliveries"), RESET("on_exhausted"), RESET("max_backlog"),
	RESET("retention"), RESET("completed_retention"), RESET("retention_bytes"),
	RESET("retention_messages"), RESET("drop_idle_partitions"), RESET("dedup_window"),
	RESET("delivery_delay")
};

static QueenStatement set_paused = {
	"UPDATE queen.queue SET paused_at = $2 WHERE queue_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_UPDATE, 2, {INT4OID, TIMESTAMPTZOID}
};

static QueenStatement set_owner = {
	"UPDATE queen.queue SET owner = $2::pg_catalog.regrole WHERE queue_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_UPDATE, 2, {INT4OID, OIDOID}
};

static QueenStatement has_content = {
	"SELECT EXISTS (SELECT 1 FROM queen.partition p, LATERAL (SELECT 1 FROM queen.segment s"
	" WHERE s.partition_id OPERATOR(pg_catalog.=) p.partition_id"
	" AND s.base_offset OPERATOR(pg_catalog.>=) p.log_start LIMIT 1) t"
	" WHERE p.queue_id OPERATOR(pg_catalog.=) $1)"
	" OR EXISTS (SELECT 1 FROM queen.dead_letter d WHERE d.queue_id OPERATOR(pg_catalog.=) $1)"
	" OR EXISTS (SELECT 1 FROM queen.scheduled s WHERE s.queue_id OPERATOR(pg_catalog.=) $1)",
	SPI_OK_SELECT, 1, {INT4OID}
};

/* All that belongs to a queue, the queue last. */
static QueenStatement deletes[] = {
	{"DELETE FROM queen.cursor c USING queen.partition p"
		" WHERE p.queue_id OPERATOR(pg_catalog.=) $1"
		" AND c.partition_id OPERATOR(pg_catalog.=) p.partition_id",
	SPI_OK_DELETE, 1, {INT4OID}},
	{"DELETE FROM queen.segment s USING queen.partition p"
		" WHERE p.queue_id OPERATOR(pg_catalog.=) $1"
		" AND s.partition_id OPERATOR(pg_catalog.=) p.partition_id"
		" AND s.base_offset OPERATOR(pg_catalog.>=) p.log_start",
	SPI_OK_DELETE, 1, {INT4OID}},
	{"DELETE FROM queen.partition_size s USING queen.partition p"
		" WHERE p.queue_id OPERATOR(pg_catalog.=) $1"
		" AND s.partition_id OPERATOR(pg_catalog.=) p.partition_id",
	SPI_OK_DELETE, 1, {INT4OID}},
	{"DELETE FROM queen.retention_log WHERE queue_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_DELETE, 1, {INT4OID}},
	{"DELETE FROM queen.seek_move m USING queen.seek_log l"
		" WHERE l.queue_id OPERATOR(pg_catalog.=) $1"
		" AND m.seek_id OPERATOR(pg_catalog.=) l.seek_id",
	SPI_OK_DELETE, 1, {INT4OID}},
	{"DELETE FROM queen.seek_log WHERE queue_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_DELETE, 1, {INT4OID}},
	{"DELETE FROM queen.dead_letter WHERE queue_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_DELETE, 1, {INT4OID}},
	{"DELETE FROM queen.dead_letter_log WHERE queue_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_DELETE, 1, {INT4OID}},
	{"DELETE FROM queen.scheduled WHERE queue_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_DELETE, 1, {INT4OID}},
	{"DELETE FROM queen.dedup d USING queen.dedup_due u"
		" WHERE u.queue_id OPERATOR(pg_catalog.=) $1"
		" AND d.partition_id OPERATOR(pg_catalog.=) u.partition_id",
	SPI_OK_DELETE, 1, {INT4OID}},
	{"DELETE FROM queen.dedup_run r USING queen.dedup_due u"
		" WHERE u.queue_id OPERATOR(pg_catalog.=) $1"
		" AND r.partition_id OPERATOR(pg_catalog.=) u.partition_id",
	SPI_OK_DELETE, 1, {INT4OID}},
	{"DELETE FROM queen.dedup_due WHERE queue_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_DELETE, 1, {INT4OID}},
	{"DELETE FROM queen.consumer_group WHERE queue_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_DELETE, 1, {INT4OID}},
	{"DELETE FROM queen.partition WHERE queue_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_DELETE, 1, {INT4OID}},
	{"DELETE FROM queen.queue_grant WHERE queue_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_DELETE, 1, {INT4OID}},
	{"DELETE FROM queen.queue WHERE queue_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_DELETE, 1, {INT4OID}}
};

/* Runs a statement whose only parameter is the queue. */
static uint64
run_for_queue(QueenStatement *statement, int32 queue_id)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int32GetDatum(queue_id));
	return queen_execute(statement, &parameters, 0);
}

/* Whether a value of on_exhausted is "drop". */
static bool
is_drop(Datum on_exhausted)
{
	text	   *word = DatumGetTextPP(on_exhausted);

	return VARSIZE_ANY_EXHDR(word) == 4 && memcmp(VARDATA_ANY(word), "drop", 4) == 0;
}

/* A number that may be NULL, which is 0. */
static int64
take_number(const QueenRow *row, int column)
{
	return row->nulls[column] ? 0 : DatumGetInt64(row->values[column]);
}

/* An interval that may be NULL, which is 0. */
static int64
take_interval(const QueenRow *row, int column)
{
	return row->nulls[column] ? 0 : queen_interval_us(DatumGetIntervalP(row->values[column]));
}

/* A row as a queue. */
static QueenQueue *
find_queue(const QueenProbe *probe, QueenKeys *keys)
{
	QueenQueue *queue;
	QueenRow	row;

	if (!queen_probe(probe, keys, ForwardScanDirection, &row))
		return NULL;
	queue = palloc(sizeof(QueenQueue));
	queue->queue_id = DatumGetInt32(row.values[0]);
	queue->name = DatumGetTextPP(row.values[1]);
	queue->owner = DatumGetObjectId(row.values[2]);
	queue->partitions = DatumGetInt32(row.values[3]);
	queue->lease = take_interval(&row, 4);
	queue->retry_limit = DatumGetInt32(row.values[5]);
	queue->retry_delay = take_interval(&row, 6);
	queue->max_deliveries = row.nulls[7] ? 0 : DatumGetInt32(row.values[7]);
	queue->drop_exhausted = is_drop(row.values[8]);
	queue->max_backlog = take_number(&row, 9);
	queue->retention = take_interval(&row, 10);
	queue->completed_retention = take_interval(&row, 11);
	queue->retention_bytes = take_number(&row, 12);
	queue->retention_messages = take_number(&row, 13);
	queue->drop_idle_partitions = take_interval(&row, 14);
	queue->dedup_window = take_interval(&row, 15);
	queue->delivery_delay = take_interval(&row, 16);
	queue->paused = !row.nulls[17];

	return queue;
}

/* The queue of a name, or NULL. */
QueenQueue *
queen_queue_by_name(text *name)
{
	QueenKeys	keys = {.count = 0};

	queen_key_text(&keys, name);
	return find_queue(&by_name, &keys);
}

/* The queue of an id, or NULL. */
QueenQueue *
queen_queue_by_id(int32 queue_id)
{
	QueenKeys	keys = {.count = 0};

	queen_key_int4(&keys, queue_id);
	return find_queue(&by_id, &keys);
}

/* Makes a queue with the defaults of the table. */
void
queen_queue_insert(text *name, Oid owner)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, PointerGetDatum(name));
	queen_bind(&parameters, ObjectIdGetDatum(owner));
	queen_bind(&parameters, TimestampTzGetDatum(GetCurrentTimestamp()));
	queen_execute(&insert, &parameters, 0);
}

/* Writes the options that are given. */
void
queen_queue_update(int32 queue_id, const QueenOptions *options)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int32GetDatum(queue_id));
	for (int i = 0; i < QUEEN_OPTIONS; i++)
	{
		queen_bind(&parameters, BoolGetDatum(options->given[i]));
		if (options->given[i] && !options->nulls[i])
			queen_bind(&parameters, options->values[i]);
		else
			queen_bind_null(&parameters);
	}
	queen_execute(&update, &parameters, 0);
}

/* Sets an option back to the default of its column; false where there is no such option. */
bool
queen_queue_reset(int32 queue_id, const char *option)
{
	for (int i = 0; i < QUEEN_OPTIONS; i++)
	{
		if (strcmp(resets[i].option, option) == 0)
		{
			run_for_queue(&resets[i].statement, queue_id);
			return true;
		}
	}
	return false;
}

/* Gives a queue to another role. */
void
queen_queue_set_owner(int32 queue_id, Oid owner)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int32GetDatum(queue_id));
	queen_bind(&parameters, ObjectIdGetDatum(owner));
	queen_execute(&set_owner, &parameters, 0);
}

/* Pauses a queue, or ends the pause. */
void
queen_queue_set_paused(int32 queue_id, bool paused)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int32GetDatum(queue_id));
	if (paused)
		queen_bind(&parameters, TimestampTzGetDatum(GetCurrentTimestamp()));
	else
		queen_bind_null(&parameters);
	queen_execute(&set_paused, &parameters, 0);
}

/* Whether messages or dead letters are left. */
bool
queen_queue_has_content(int32 queue_id)
{
	QueenRow	row;
	bool		result;

	run_for_queue(&has_content, queue_id);
	queen_fetch(SPI_tuptable, 0, &row);
	result = DatumGetBool(row.values[0]);
	queen_forget_result();

	return result;
}

/* Removes a queue and all that belongs to it. */
void
queen_queue_delete(int32 queue_id)
{
	for (int i = 0; i < lengthof(deletes); i++)
		run_for_queue(&deletes[i], queue_id);
}
