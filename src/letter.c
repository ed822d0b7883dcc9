/*-------------------------------------------------------------------------
 *
 * letter.c
 *	  A dead letter as redrive and purge look at it, and the message that it
 *	  becomes again.
 *
 * What is sent back keeps body (but for the reset of an envelope), headers and
 * transaction id. Headers are added, never changed:
 *
 *	queen-first-queue, -offset, -created-at		where and when it was pushed first,
 *							however often it was sent back
 *	queen-redriven-from		the dead letter that it was, if one of ours
 *	bq-replay-bypass		"1" where the caller asks for it, with
 *	queen-bypass-added		"1" where it was not there before, so that a later
 *							redrive without bypass can take it away again
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "guard.h"
#include "letter.h"
#include "message.h"

/* Reads the envelope; a guarded look. */
static void
read_envelope(void *argument)
{
	QueenLetter *letter = argument;

	queen_envelope_read(letter->body, &letter->envelope);
}

/* Reads the envelope; a body that cannot be decoded is none. */
static void
look_into(QueenLetter *letter)
{
	if (!queen_guard(read_envelope, letter))
		memset(&letter->envelope, 0, sizeof(QueenEnvelope));
}

/* A dead letter of ours. The body is fetched here. */
void
queen_letter_from_row(QueenLetter *letter, const QueenDeadLetterRow *row,
					  text *queue_name)
{
	struct varlena *body = PG_DETOAST_DATUM_PACKED(row->body);

	memset(letter, 0, sizeof(QueenLetter));
	letter->dead_letter_id = row->dead_letter_id;
	letter->queue_name = queue_name;
	letter->partition_name = row->partition_name;
	letter->group_name = row->group_name;
	letter->offset = row->offset;
	letter->transaction_id = row->transaction_id;
	letter->body.kind = row->is_json ? QUEEN_KIND_JSON : QUEEN_KIND_BYTES;
	letter->body.text.data = VARDATA_ANY(body);
	letter->body.text.len = VARSIZE_ANY_EXHDR(body);
	letter->headers = row->headers;
	letter->reason = row->reason;
	letter->error = row->error;
	letter->failures = row->failures;
	letter->deliveries = row->deliveries;
	letter->created_at = row->created_at;
	letter->dead_at = row->dead_at;
	look_into(letter);
}

/* A message of a client's dead letter queue, copied out of its segment. */
void
queen_letter_from_message(QueenLetter *letter, const QueenMessage *message,
						  text *queue_name, const QueenPartition *partition,
						  int64 offset, TimestampTz created_at)
{
	QueenMessageValues values = queen_message_values(message, partition->partition_id, offset);
	struct varlena *body = (struct varlena *) DatumGetPointer(values.is_json ? values.payload :
															  values.body);

	memset(letter, 0, sizeof(QueenLetter));
	letter->queue_name = queue_name;
	letter->partition_name = partition->name;
	letter->offset = offset;
	letter->transaction_id = DatumGetTextPP(values.transaction_id);
	letter->body.kind = message->kind;
	letter->body.text.data = VARDATA_ANY(body);
	letter->body.text.len = VARSIZE_ANY_EXHDR(body);
	letter->headers = values.headers;
	letter->created_at = created_at;
	letter->dead_at = DT_NOBEGIN;
	look_into(letter);
	letter->reason = letter->envelope.reason;
	letter->error = letter->envelope.error;
	letter->failures = letter->envelope.attempts;
	if (letter->envelope.failed_at > 0 && letter->envelope.failed_at < PG_INT32_MAX * INT64CONST(1000000))
		letter->dead_at = (letter->envelope.failed_at -
						   (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY * INT64CONST(1000)) * 1000;
}

/* A JSON object of one string member, as jsonb. */
static void
put_member(StringInfo json, const char *key, const char *value)
{
	appendStringInfo(json, "%s\"%s\": ", json->len > 1 ? ", " : "", key);
	escape_json(json, value);
}

/* An object that is complete but for its closing bracket, as jsonb. */
static Datum
close_object(StringInfo json)
{
	appendStringInfoChar(json, '}');
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(json->data));
}

/* Headers without a key. */
static Datum
without(Datum headers, const char *key)
{
	return DirectFunctionCall2(jsonb_delete, headers, CStringGetTextDatum(key));
}

/* Whether headers have a key. */
static bool
has_key(Datum headers, const char *key)
{
	return DatumGetBool(DirectFunctionCall2(jsonb_exists, headers, CStringGetTextDatum(key)));
}

/* Where and when a message was pushed first; later headers win over these. */
static Datum
origin_headers(const QueenLetter *letter)
{
	StringInfoData json;
	char		number[24];
	char		time[MAXDATELEN + 1];
	int			utc = 0;

	initStringInfo(&json);
	appendStringInfoChar(&json, '{');
	put_member(&json, "queen-first-queue", text_to_cstring(letter->queue_name));
	snprintf(number, sizeof(number), "%lld", (long long) letter->offset);
	put_member(&json, "queen-first-offset", number);
	JsonEncodeDateTime(time, TimestampTzGetDatum(letter->created_at), TIMESTAMPTZOID, &utc);
	put_member(&json, "queen-first-created-at", time);

	return close_object(&json);
}

/* What this redrive adds. */
static Datum
own_headers(const QueenLetter *letter, bool bypass, bool stamped)
{
	StringInfoData json;
	char		number[24];

	initStringInfo(&json);
	appendStringInfoChar(&json, '{');
	if (letter->dead_letter_id != 0)
	{
		snprintf(number, sizeof(number), "%lld", (long long) letter->dead_letter_id);
		put_member(&json, "queen-redriven-from", number);
	}
	if (bypass)
		put_member(&json, "bq-replay-bypass", "1");
	if (bypass && !stamped)
		put_member(&json, "queen-bypass-added", "1");

	return close_object(&json);
}

/* The headers of the message that goes back. */
static Datum
make_headers(const QueenLetter *letter, bool bypass)
{
	Datum		headers = letter->headers;
	bool		stamped;

	if (headers == 0)
		headers = DirectFunctionCall1(jsonb_in, CStringGetDatum("{}"));
	if (has_key(headers, "queen-bypass-added"))
		headers = without(without(headers, "queen-bypass-added"), "bq-replay-bypass");
	stamped = has_key(headers, "bq-replay-bypass");
	headers = DirectFunctionCall2(jsonb_concat, origin_headers(letter), headers);
	return DirectFunctionCall2(jsonb_concat, headers, own_headers(letter, bypass, stamped));
}

/* The message that goes back, not yet meant for any group. */
QueenMessage
queen_letter_message(const QueenLetter *letter, bool bypass)
{
	Jsonb	   *headers = DatumGetJsonbP(make_headers(letter, bypass));
	QueenMessage message = {
		.kind = letter->body.kind,
		.transaction_id = VARDATA_ANY(letter->transaction_id),
		.transaction_id_len = (uint16_t) VARSIZE_ANY_EXHDR(letter->transaction_id),
		.payload = letter->body.text.data,
		.payload_len = (uint32_t) letter->body.text.len
	};
	StringInfoData text;

	initStringInfo(&text);
	JsonbToCString(&text, &headers->root, VARSIZE(headers));
	message.headers = text.data;
	message.headers_len = (uint32_t) text.len;
	if (letter->envelope.known)
	{
		initStringInfo(&text);
		queen_envelope_reset(letter->body.text, &text);
		message.payload = text.data;
		message.payload_len = (uint32_t) text.len;
	}
	return message;
}
