/*-------------------------------------------------------------------------
 *
 * message.c
 *	  The parts of a message as SQL values.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "message.h"

/* The same at every delivery, and no other message's. */
int
queen_derive_id(char *id, int64 partition_id, int64 offset)
{
	int			len = pg_lltoa(partition_id, id);

	id[len++] = '-';
	return len + pg_lltoa(offset, id + len);
}

/* The producer's id, else one that is the same at every delivery. */
static Datum
transaction_id(const QueenMessage *message, int64 partition_id, int64 offset)
{
	char		id[QUEEN_DERIVED_ID_BYTES];
	int			len;

	if (message->transaction_id_len > 0)
		return PointerGetDatum(cstring_to_text_with_len(message->transaction_id,
														message->transaction_id_len));
	len = queen_derive_id(id, partition_id, offset);
	return PointerGetDatum(cstring_to_text_with_len(id, len));
}

/* Copies a message out of its segment. */
QueenMessageValues
queen_message_values(const QueenMessage *message, int64 partition_id, int64 offset)
{
	QueenMessageValues values = {0};
	Datum		payload = PointerGetDatum(cstring_to_text_with_len(message->payload,
																   message->payload_len));

	values.is_json = message->kind == QUEEN_KIND_JSON;
	if (values.is_json)
		values.payload = payload;
	else
		values.body = payload;
	values.has_headers = message->headers_len > 0;
	if (values.has_headers)
		values.headers = DirectFunctionCall1(jsonb_in,
											 CStringGetDatum(pnstrdup(message->headers,
																	  message->headers_len)));
	values.transaction_id = transaction_id(message, partition_id, offset);

	return values;
}
