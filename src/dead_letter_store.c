/*-------------------------------------------------------------------------
 *
 * dead_letter_store.c
 *	  All SQL on queen.dead_letter.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "dead_letter_store.h"
#include "message.h"
#include "statement.h"

static QueenStatement insert = {
	"INSERT INTO queen.dead_letter (queue_id, partition_id, group_id, partition_name, group_name,"
	" message_offset, transaction_id, payload, body, headers, reason, error, failures,"
	" deliveries, created_at, dead_at)"
	" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
	SPI_OK_INSERT, 16, {INT4OID, INT8OID, INT4OID, TEXTOID, TEXTOID, INT8OID, TEXTOID,
		JSONOID, BYTEAOID, JSONBOID, TEXTOID, TEXTOID, INT4OID, INT4OID,
	TIMESTAMPTZOID, TIMESTAMPTZOID}
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
	queen_execute(&insert, &parameters, 0);
}
