/*-------------------------------------------------------------------------
 *
 * trace.c
 *	  The headers by which a message that was sent back tells where it was.
 *
 *	queen-first-queue, -offset, -created-at		where and when it was pushed first,
 *							however often it was sent back
 *	queen-redriven-from		the dead letter that it was, if one of ours
 *	bq-replay-bypass		"1" where the operator asks for it, with
 *	queen-bypass-added		"1" where that was not its value before, and
 *	queen-bypass-before		what was its value before, if it had one: so a later
 *							redrive without bypass puts it back
 *
 * All other headers stay as they are.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "guard.h"
#include "json_text.h"
#include "trace.h"

#define FIRST_QUEUE			"queen-first-queue"
#define FIRST_OFFSET		"queen-first-offset"
#define FIRST_CREATED_AT	"queen-first-created-at"
#define REDRIVEN_FROM		"queen-redriven-from"
#define BYPASS				"bq-replay-bypass"
#define BYPASS_ADDED		"queen-bypass-added"
#define BYPASS_BEFORE		"queen-bypass-before"

/* Headers without a key. */
static Datum
without(Datum headers, const char *key)
{
	return DirectFunctionCall2(jsonb_delete, headers, CStringGetTextDatum(key));
}

/* The value of a key, as JSON; NULL where there is none. */
static char *
value_of(Datum headers, const char *key)
{
	JsonbValue	found;
	Jsonb	   *value;

	if (getKeyJsonValueFromContainer(&DatumGetJsonbP(headers)->root, key,
									 (int) strlen(key), &found) == NULL)
		return NULL;
	value = JsonbValueToJsonb(&found);
	return JsonbToCString(NULL, &value->root, VARSIZE(value));
}

/* Headers and others, which win. */
static Datum
merge(Datum headers, StringInfo others)
{
	return DirectFunctionCall2(jsonb_concat, headers, queen_json_close_jsonb(others));
}

/* Takes the bypass away that a redrive added. */
static Datum
remove_bypass(Datum headers)
{
	StringInfoData before;
	char	   *value;

	if (value_of(headers, BYPASS_ADDED) == NULL)
		return headers;
	value = value_of(headers, BYPASS_BEFORE);
	headers = without(without(without(headers, BYPASS_ADDED), BYPASS), BYPASS_BEFORE);
	if (value == NULL)
		return headers;
	initStringInfo(&before);
	queen_json_raw(&before, BYPASS, value);
	return merge(headers, &before);
}

/* Adds the bypass, unless a producer did. */
static void
add_bypass(StringInfo json, Datum headers)
{
	char	   *before = value_of(headers, BYPASS);

	if (before && strcmp(before, "\"1\"") == 0)
		return;
	queen_json_raw(json, BYPASS, "\"1\"");
	queen_json_raw(json, BYPASS_ADDED, "\"1\"");
	if (before)
		queen_json_raw(json, BYPASS_BEFORE, before);
}

/* A number as a JSON string. */
static char *
quoted(int64 number)
{
	return psprintf("\"%lld\"", (long long) number);
}

/* Where and when a message was pushed first, where its headers do not say it. */
static Datum
add_origin(Datum headers, const QueenOrigin *origin)
{
	StringInfoData first;

	initStringInfo(&first);
	queen_json_text(&first, FIRST_QUEUE, origin->queue_name);
	queen_json_raw(&first, FIRST_OFFSET, quoted(origin->offset));
	queen_json_time(&first, FIRST_CREATED_AT, origin->created_at);
	return DirectFunctionCall2(jsonb_concat, queen_json_close_jsonb(&first), headers);
}

/* No headers. */
static Datum
empty_headers(void)
{
	return DirectFunctionCall1(jsonb_in, CStringGetDatum("{}"));
}

/* Headers of a message that is sent back. */
Datum
queen_trace_add(Datum headers, const QueenOrigin *origin, bool bypass)
{
	StringInfoData own;

	headers = headers ? JsonbPGetDatum(DatumGetJsonbP(headers)) : empty_headers();
	headers = remove_bypass(headers);
	initStringInfo(&own);
	if (origin->dead_letter_id != 0)
		queen_json_raw(&own, REDRIVEN_FROM, quoted(origin->dead_letter_id));
	if (bypass)
		add_bypass(&own, headers);
	return merge(add_origin(headers, origin), &own);
}

/* Headers of a message that is copied otherwise. */
Datum
queen_trace_remove(Datum headers)
{
	return without(remove_bypass(headers), REDRIVEN_FROM);
}

/* A header to be read as a time. */
typedef struct Reading
{
	const QueenMessage *message;
	TimestampTz time;
} Reading;

/* Reads the header; a guarded look, as anybody may have written it. */
static void
read_time(void *argument)
{
	Reading    *reading = argument;
	char	   *json = pnstrdup(reading->message->headers, reading->message->headers_len);
	Datum		value = DirectFunctionCall2(jsonb_object_field_text,
											DirectFunctionCall1(jsonb_in, CStringGetDatum(json)),
											CStringGetTextDatum(FIRST_CREATED_AT));

	reading->time = DatumGetTimestampTz(DirectFunctionCall3(timestamptz_in,
															CStringGetDatum(TextDatumGetCString(value)),
															ObjectIdGetDatum(InvalidOid),
															Int32GetDatum(-1)));
}

/* When a message was pushed first; never later than now. */
TimestampTz
queen_trace_first_created_at(const QueenMessage *message, TimestampTz created_at)
{
	Reading		reading = {.message = message};

	if (message->headers_len == 0 ||
		strstr(pnstrdup(message->headers, message->headers_len), "\"" FIRST_CREATED_AT "\"") == NULL)
		return created_at;
	if (!queen_guard(read_time, &reading) || TIMESTAMP_NOT_FINITE(reading.time))
		return created_at;
	return Min(reading.time, created_at);
}
