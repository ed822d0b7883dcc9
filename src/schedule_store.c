/*-------------------------------------------------------------------------
 *
 * schedule_store.c
 *	  All SQL on queen.scheduled.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "probe.h"
#include "schedule_store.h"
#include "statement.h"

/* Columns scheduled_id, queue_id, deliver_at, partition_name, transaction_id. */
static const QueenProbe by_id = {"scheduled", "scheduled_pkey", 5};

/* Columns scheduled_id, queue_id, deliver_at. */
static const QueenProbe by_time = {"scheduled", "scheduled_due_idx", 3};

static QueenStatement insert = {
	"INSERT INTO queen.scheduled (queue_id, deliver_at, partition_name, transaction_id,"
	" payload, body, headers, bytes, pushed_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
	" RETURNING scheduled_id",
	SPI_OK_INSERT_RETURNING, 9, {INT4OID, TIMESTAMPTZOID, TEXTOID, TEXTOID,
	JSONOID, BYTEAOID, JSONBOID, INT4OID, TIMESTAMPTZOID}
};

/* From a time on, below which nothing is left, and not of partitions passed over. */
static QueenStatement due = {
	"SELECT s.scheduled_id, s.partition_name, s.bytes FROM queen.scheduled s"
	" WHERE s.queue_id OPERATOR(pg_catalog.=) $1"
	" AND s.deliver_at OPERATOR(pg_catalog.>=) $2 AND s.deliver_at OPERATOR(pg_catalog.<=) $3"
	" AND s.partition_name OPERATOR(pg_catalog.<>) ALL ($4)"
	" ORDER BY s.queue_id, s.deliver_at, s.scheduled_id LIMIT $5",
	SPI_OK_SELECT, 5, {INT4OID, TIMESTAMPTZOID, TIMESTAMPTZOID, TEXTARRAYOID, INT4OID}
};

/* Looks at the time again: one may have been put off between look and lock. */
static QueenStatement take = {
	"DELETE FROM queen.scheduled s WHERE s.scheduled_id OPERATOR(pg_catalog.=) ANY ($1)"
	" AND s.deliver_at OPERATOR(pg_catalog.<=) $2"
	" RETURNING s.scheduled_id, s.deliver_at, s.pushed_at, s.transaction_id, s.payload, s.body,"
	" s.headers",
	SPI_OK_DELETE_RETURNING, 2, {INT8ARRAYOID, TIMESTAMPTZOID}
};

static QueenStatement delete = {
	"DELETE FROM queen.scheduled WHERE scheduled_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_DELETE, 1, {INT8OID}
};

static QueenStatement move = {
	"UPDATE queen.scheduled SET deliver_at = $2 WHERE scheduled_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_UPDATE, 2, {INT8OID, TIMESTAMPTZOID}
};

static QueenStatement delete_all = {
	"DELETE FROM queen.scheduled WHERE queue_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_DELETE, 1, {INT4OID}
};

/* Text or bytes as a value. */
static Datum
make_value(const char *data, size_t len)
{
	return PointerGetDatum(cstring_to_text_with_len(data, len));
}

/* Headers as jsonb; any value where there are none. */
static Datum
make_headers(const QueenMessage *message)
{
	if (message->headers_len == 0)
		return (Datum) 0;
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(pnstrdup(message->headers,
																  message->headers_len)));
}

/* Keeps a message until its time; answers its id. */
int64
queen_scheduled_insert(int32 queue_id, text *partition, const QueenMessage *message,
					   TimestampTz deliver_at, TimestampTz pushed_at)
{
	QueenParameters parameters = {.count = 0};
	bool		is_json = message->kind == QUEEN_KIND_JSON;
	Datum		payload = make_value(message->payload, message->payload_len);
	QueenRow	row;
	int64		scheduled_id;

	queen_bind(&parameters, Int32GetDatum(queue_id));
	queen_bind(&parameters, TimestampTzGetDatum(deliver_at));
	queen_bind(&parameters, PointerGetDatum(partition));
	queen_bind_if(&parameters, message->transaction_id_len > 0,
				  make_value(message->transaction_id, message->transaction_id_len));
	queen_bind_if(&parameters, is_json, payload);
	queen_bind_if(&parameters, !is_json, payload);
	queen_bind_if(&parameters, message->headers_len > 0, make_headers(message));
	queen_bind(&parameters, Int32GetDatum((int32) message->payload_len));
	queen_bind(&parameters, TimestampTzGetDatum(pushed_at));
	queen_execute(&insert, &parameters, 0);
	queen_fetch(SPI_tuptable, 0, &row);
	scheduled_id = DatumGetInt64(row.values[0]);
	queen_forget_result();
	pfree(DatumGetPointer(payload));

	return scheduled_id;
}

/* The row of an id. */
static bool
probe_id(int64 scheduled_id, QueenRow *row)
{
	QueenKeys	keys = {.count = 0};

	queen_key_int8(&keys, scheduled_id);
	return queen_probe(&by_id, &keys, ForwardScanDirection, row);
}

/* Whether a message still waits and has that transaction id. */
bool
queen_scheduled_has_id(int64 scheduled_id, const char *id, int len)
{
	QueenRow	row;
	text	   *found;

	if (!probe_id(scheduled_id, &row) || row.nulls[4])
		return false;
	found = DatumGetTextPP(row.values[4]);
	return VARSIZE_ANY_EXHDR(found) == len && memcmp(VARDATA_ANY(found), id, len) == 0;
}

/* Whose message it is; false where it does not wait, or no longer. */
bool
queen_scheduled_by_id(int64 scheduled_id, QueenScheduled *scheduled)
{
	QueenRow	row;

	if (!probe_id(scheduled_id, &row))
		return false;
	scheduled->scheduled_id = scheduled_id;
	scheduled->queue_id = DatumGetInt32(row.values[1]);
	scheduled->partition = DatumGetTextPP(row.values[3]);
	scheduled->bytes = 0;

	return true;
}

/* The next queue, in the order of ids, that has messages waiting. */
bool
queen_scheduled_queue_after(int32 after, int32 *queue_id)
{
	QueenKeys	keys = {.count = 0};
	QueenRow	row;

	if (after == PG_INT32_MAX)
		return false;
	queen_key_int4_from(&keys, after + 1);
	if (!queen_probe(&by_time, &keys, ForwardScanDirection, &row))
		return false;
	*queue_id = DatumGetInt32(row.values[1]);
	return true;
}

/* When the first message of a queue is due, of those from a time on. */
bool
queen_scheduled_first(int32 queue_id, TimestampTz from, TimestampTz *deliver_at)
{
	QueenKeys	keys = {.count = 0};
	QueenRow	row;

	queen_key_int4(&keys, queue_id);
	queen_key_time_from(&keys, from);
	if (!queen_probe(&by_time, &keys, ForwardScanDirection, &row))
		return false;
	*deliver_at = DatumGetTimestampTz(row.values[2]);
	return true;
}

/* Messages that are due, in the order in which they go into the log. */
int
queen_scheduled_due(int32 queue_id, TimestampTz from, TimestampTz now,
					text **passed_over, int npassed_over, QueenScheduled *found, int limit)
{
	QueenParameters parameters = {.count = 0};
	ArrayType  *names = construct_array((Datum *) passed_over, npassed_over, TEXTOID, -1, false,
										TYPALIGN_INT);
	int			rows;

	queen_bind(&parameters, Int32GetDatum(queue_id));
	queen_bind(&parameters, TimestampTzGetDatum(from));
	queen_bind(&parameters, TimestampTzGetDatum(now));
	queen_bind(&parameters, PointerGetDatum(names));
	queen_bind(&parameters, Int32GetDatum(limit));
	rows = (int) queen_execute(&due, &parameters, limit);
	for (int i = 0; i < rows; i++)
	{
		QueenRow	row;

		queen_fetch(SPI_tuptable, i, &row);
		found[i].scheduled_id = DatumGetInt64(row.values[0]);
		found[i].queue_id = queue_id;
		found[i].partition = DatumGetTextPCopy(row.values[1]);
		found[i].bytes = DatumGetInt32(row.values[2]);
	}
	queen_forget_result();

	return rows;
}

/* Bytes of a result, copied; the end of the message is theirs. */
static const char *
copy_bytes(Datum value, uint32 *len)
{
	struct varlena *bytes = PG_DETOAST_DATUM_PACKED(value);
	char	   *copy = palloc_extended(VARSIZE_ANY_EXHDR(bytes) + 1, MCXT_ALLOC_HUGE);

	*len = (uint32) VARSIZE_ANY_EXHDR(bytes);
	memcpy(copy, VARDATA_ANY(bytes), *len);
	if ((Pointer) bytes != DatumGetPointer(value))
		pfree(bytes);
	return copy;
}

/* A row that no function of queen has written. */
static void
report_damaged(int64 scheduled_id)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("delayed message %lld is damaged", (long long) scheduled_id),
			 errhint("queen.cancel_scheduled() removes it.")));
}

/* A row as a message. */
static void
take_row(const QueenRow *row, QueenTaken *taken)
{
	QueenMessage *message = &taken->message;
	bool		is_json = !row->nulls[4];

	if (row->nulls[4] == row->nulls[5])
		report_damaged(DatumGetInt64(row->values[0]));
	memset(taken, 0, sizeof(QueenTaken));
	taken->scheduled_id = DatumGetInt64(row->values[0]);
	taken->deliver_at = DatumGetTimestampTz(row->values[1]);
	taken->pushed_at = DatumGetTimestampTz(row->values[2]);
	message->kind = is_json ? QUEEN_KIND_JSON : QUEEN_KIND_BYTES;
	message->payload = copy_bytes(row->values[is_json ? 4 : 5], &message->payload_len);
	if (!row->nulls[3])
	{
		uint32		len;

		message->transaction_id = copy_bytes(row->values[3], &len);
		if (len > PG_UINT16_MAX)
			report_damaged(taken->scheduled_id);
		message->transaction_id_len = (uint16) len;
	}
	if (!row->nulls[6])
	{
		Jsonb	   *headers = DatumGetJsonbP(row->values[6]);

		message->headers = JsonbToCString(NULL, &headers->root, VARSIZE(headers));
		message->headers_len = (uint32) strlen(message->headers);
	}
}

/* In the order in which they go into the log. */
static int
compare_taken(const void *a, const void *b)
{
	const QueenTaken *left = a;
	const QueenTaken *right = b;

	if (left->deliver_at != right->deliver_at)
		return left->deliver_at < right->deliver_at ? -1 : 1;
	return left->scheduled_id < right->scheduled_id ? -1 : left->scheduled_id > right->scheduled_id;
}

/* Takes messages out, those that still wait and are due, in their order. */
QueenTaken *
queen_scheduled_take(const int64 *scheduled_ids, int count, TimestampTz now, int *ntaken)
{
	QueenParameters parameters = {.count = 0};
	Datum	   *ids = palloc(sizeof(Datum) * count);
	QueenTaken *taken;

	for (int i = 0; i < count; i++)
		ids[i] = Int64GetDatum(scheduled_ids[i]);
	queen_bind(&parameters, PointerGetDatum(construct_array(ids, count, INT8OID, sizeof(int64),
															FLOAT8PASSBYVAL, TYPALIGN_DOUBLE)));
	queen_bind(&parameters, TimestampTzGetDatum(now));
	*ntaken = (int) queen_execute(&take, &parameters, 0);
	taken = palloc(sizeof(QueenTaken) * Max(*ntaken, 1));
	for (int i = 0; i < *ntaken; i++)
	{
		QueenRow	row;

		queen_fetch(SPI_tuptable, i, &row);
		take_row(&row, &taken[i]);
	}
	queen_forget_result();
	qsort(taken, *ntaken, sizeof(QueenTaken), compare_taken);

	return taken;
}

/* Removes a message; false where it does not wait, or no longer. */
bool
queen_scheduled_delete(int64 scheduled_id)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int64GetDatum(scheduled_id));
	return queen_execute(&delete, &parameters, 0) > 0;
}

/* Gives a message another time; false where it does not wait, or no longer. */
bool
queen_scheduled_move(int64 scheduled_id, TimestampTz deliver_at)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int64GetDatum(scheduled_id));
	queen_bind(&parameters, TimestampTzGetDatum(deliver_at));
	return queen_execute(&move, &parameters, 0) > 0;
}

/* Removes all messages of a queue that wait, and answers how many. */
int64
queen_scheduled_delete_all(int32 queue_id)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int32GetDatum(queue_id));
	return (int64) queen_execute(&delete_all, &parameters, 0);
}
