/*-------------------------------------------------------------------------
 *
 * letter.c
 *	  A dead letter as redrive and purge look at it, and the message that it
 *	  becomes again.
 *
 * What is sent back keeps body (but for the reset of an envelope), headers (but
 * for those of trace.c) and transaction id.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "letter.h"
#include "message.h"
#include "trace.h"

/* 1970 in milliseconds of 2000. */
#define UNIX_EPOCH_MS ((POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY * INT64CONST(1000))

/* A dead letter of an id, and the name of its queue. */
text *
queen_letter_find(int64 dead_letter_id, QueenPrivilege privilege, QueenDeadLetterRow *row)
{
	QueenQueue *queue = NULL;

	if (queen_dead_letter_by_id(dead_letter_id, row))
		queue = queen_queue_by_id(row->queue_id);
	return queue && queen_queue_may(queue, privilege) ? queue->name : NULL;
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
	queen_envelope_read(letter->body, &letter->envelope);
}

/* A time in milliseconds since 1970; -infinity where it is none or far away. */
static TimestampTz
time_of_ms(int64 ms)
{
	if (ms <= 0 || ms > PG_INT32_MAX * INT64CONST(1000000))
		return DT_NOBEGIN;
	return (ms - UNIX_EPOCH_MS) * 1000;
}

/* And back. */
int64
queen_letter_ms(TimestampTz time)
{
	return time / 1000 + UNIX_EPOCH_MS;
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
	queen_envelope_read(letter->body, &letter->envelope);
	letter->reason = letter->envelope.reason;
	letter->error = letter->envelope.error;
	letter->failures = letter->envelope.attempts;
	letter->dead_at = time_of_ms(letter->envelope.failed_at);
}

/* The headers of the message that goes back, as text. */
static void
make_headers(const QueenLetter *letter, bool bypass, StringInfo result)
{
	QueenOrigin origin = {
		.queue_name = letter->queue_name,
		.offset = letter->offset,
		.created_at = letter->created_at,
		.dead_letter_id = letter->dead_letter_id
	};
	Jsonb	   *headers = DatumGetJsonbP(queen_trace_add(letter->headers, &origin, bypass));

	(void) JsonbToCString(result, &headers->root, VARSIZE(headers));
}

/* The message that goes back, not yet meant for any group. */
QueenMessage
queen_letter_message(const QueenLetter *letter, bool bypass)
{
	QueenMessage message = {
		.kind = letter->body.kind,
		.transaction_id = VARDATA_ANY(letter->transaction_id),
		.transaction_id_len = (uint16_t) VARSIZE_ANY_EXHDR(letter->transaction_id),
		.payload = letter->body.text.data,
		.payload_len = (uint32_t) letter->body.text.len
	};
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext memory = AllocSetContextCreate(caller, "queen headers of redrive",
												 ALLOCSET_SMALL_SIZES);
	StringInfoData text;

	initStringInfo(&text);
	MemoryContextSwitchTo(memory);
	make_headers(letter, bypass, &text);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(memory);
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
