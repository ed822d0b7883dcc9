/*-------------------------------------------------------------------------
 *
 * items.c
 *	  Takes the items argument of queen.push_items apart.
 *
 * Bodies stay slices of the argument, byte for byte. A key that nobody knows,
 * or one that stands twice, refuses the whole call: a misspelt "partiton" must
 * not send a message to another lane in silence.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"

#include "check.h"
#include "compat.h"
#include "items.h"
#include "outgoing.h"
#include "settings.h"

/* Says in the context of any error which element it is about. */
static void
item_context(void *argument)
{
	errcontext("element %u of \"items\"", *(uint32 *) argument);
}

/* Refuses an element; what is wrong with it is the detail. */
static void
refuse(uint32 item, int sqlstate, const char *detail)
{
	ereport(ERROR,
			(errcode(sqlstate),
			 errmsg("invalid element %u of \"items\"", item),
			 errdetail_internal("%s", detail)));
}

/* A member that must be a string. */
static text *
require_string(uint32 item, QueenSlice value, const char *key)
{
	text	   *result = queen_json_string(value);

	if (result == NULL)
		refuse(item, ERRCODE_INVALID_PARAMETER_VALUE,
			   psprintf("\"%s\" must be a string.", key));
	return result;
}

/* Refuses an id that is empty or too long. */
void
queen_check_transaction_id(size_t len, int64 item)
{
	if (len > 0 && len <= QUEEN_MAX_TRANSACTION_ID_BYTES)
		return;
	ereport(ERROR,
			(errcode(len == 0 ? ERRCODE_INVALID_PARAMETER_VALUE : ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 item < 0 ? errmsg("invalid transaction id")
			 : errmsg("invalid transaction id in element %lld of \"items\"", (long long) item),
			 len == 0 ? errdetail("It must not be empty.")
			 : errdetail("Transaction ids are limited to %d bytes.",
						 QUEEN_MAX_TRANSACTION_ID_BYTES)));
}

/* Headers, which are an object, as text. */
void
queen_take_headers(QueenMessage *message, Jsonb *headers, int64 item)
{
	StringInfoData json;

	if (!JB_ROOT_IS_OBJECT(headers))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 item < 0 ? errmsg("\"headers\" must be a JSON object")
				 : errmsg("\"headers\" of element %lld must be a JSON object", (long long) item)));
	initStringInfo(&json);
	JsonbToCString(&json, &headers->root, VARSIZE(headers));
	if (json.len > queen_max_headers_bytes)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 item < 0 ? errmsg("headers are too large")
				 : errmsg("headers of element %lld are too large", (long long) item),
				 errdetail("They have %d bytes, \"queen.max_headers_bytes\" allows %d.",
						   json.len, queen_max_headers_bytes)));
	message->headers = json.data;
	message->headers_len = (uint32_t) json.len;
}

/* The name of the partition. */
static void
take_partition(uint32 number, QueenItem *item, QueenSlice value)
{
	const char *fault;
	int			sqlstate;

	item->partition = require_string(number, value, "partition");
	fault = queen_name_fault(VARDATA(item->partition), VARSIZE(item->partition) - VARHDRSZ,
							 &sqlstate);
	if (fault)
		refuse(number, sqlstate, psprintf("Invalid name in \"partition\". %s", fault));
}

/* The producer's id. */
static void
take_transaction_id(uint32 number, QueenItem *item, QueenSlice value)
{
	text	   *id = require_string(number, value, "transactionId");

	queen_check_transaction_id(VARSIZE(id) - VARHDRSZ, number);
	item->message.transaction_id = VARDATA(id);
	item->message.transaction_id_len = (uint16_t) (VARSIZE(id) - VARHDRSZ);
}

/* Headers go through jsonb, so that no pop meets any that jsonb refuses. */
static void
take_headers(uint32 number, QueenItem *item, QueenSlice value)
{
	Datum		headers = DirectFunctionCall1(jsonb_in,
											  CStringGetDatum(pnstrdup(value.data, value.len)));

	queen_take_headers(&item->message, DatumGetJsonbP(headers), number);
}

/* An interval as a string, or a number of seconds. */
static Interval *
take_interval(uint32 number, QueenSlice value)
{
	char		first = queen_slice_first(value);
	Interval   *interval;
	double		seconds;

	if (first == '"')
		return DatumGetIntervalP(DirectFunctionCall3(interval_in,
													 CStringGetDatum(text_to_cstring(queen_json_string(value))),
													 ObjectIdGetDatum(InvalidOid),
													 Int32GetDatum(-1)));
	if (first != '-' && (first < '0' || first > '9'))
		refuse(number, ERRCODE_INVALID_PARAMETER_VALUE,
			   "\"delay\" must be a string or a number of seconds.");
	seconds = DatumGetFloat8(DirectFunctionCall1(float8in,
												 CStringGetDatum(pnstrdup(value.data, value.len))));
	interval = palloc0(sizeof(Interval));
	interval->time = (TimeOffset) (Min(Max(seconds, -1e12), 1e12) * USECS_PER_SEC);

	return interval;
}

/* How long the message waits, from now. */
static void
take_delay(uint32 number, QueenItem *item, QueenSlice value, TimestampTz now)
{
	int64		delay = queen_check_interval(take_interval(number, value), true, "delay");

	if (delay > 0)
		item->deliver_at = now + delay;
}

/* Until when the message waits; a time that is past is at once. */
static void
take_deliver_at(uint32 number, QueenItem *item, QueenSlice value, TimestampTz now)
{
	text	   *time = require_string(number, value, "deliver_at");
	TimestampTz deliver_at;

	deliver_at = DatumGetTimestampTz(DirectFunctionCall3(timestamptz_in,
														 CStringGetDatum(text_to_cstring(time)),
														 ObjectIdGetDatum(InvalidOid),
														 Int32GetDatum(-1)));
	queen_check_deliver_at(deliver_at, now);
	if (deliver_at > now)
		item->deliver_at = deliver_at;
}

/* One member of an element; seen has a bit for each key that stood before. */
static void
take_member(uint32 number, QueenItem *item, QueenSlice key, QueenSlice value, TimestampTz now,
			int *seen)
{
	static const char *const keys[] = {"payload", "partition", "transactionId", "headers",
	"delay", "deliver_at"};
	int			which = 0;

	while (which < lengthof(keys) && !queen_slice_says(key, keys[which]))
		which++;
	if (which == lengthof(keys))
		refuse(number, ERRCODE_INVALID_PARAMETER_VALUE,
			   psprintf("Unrecognized key %s.", pnstrdup(key.data, key.len)));
	if (*seen & (1 << which))
		refuse(number, ERRCODE_INVALID_PARAMETER_VALUE,
			   psprintf("Key \"%s\" stands twice.", keys[which]));
	*seen |= 1 << which;

	/* null means not given, but for the body, where it is one. */
	if (which > 0 && queen_slice_first(value) == 'n')
		return;
	if (which == 0)
	{
		item->message.payload = value.data;
		item->message.payload_len = (uint32_t) value.len;
	}
	else if (which == 1)
		take_partition(number, item, value);
	else if (which == 2)
		take_transaction_id(number, item, value);
	else if (which == 3)
		take_headers(number, item, value);
	else if (item->deliver_at != DT_NOBEGIN)
		refuse(number, ERRCODE_INVALID_PARAMETER_VALUE,
			   "\"delay\" and \"deliver_at\" exclude each other.");
	else if (which == 4)
		take_delay(number, item, value, now);
	else
		take_deliver_at(number, item, value, now);
}

/* One element. */
static void
parse_item(uint32 number, QueenItem *item, QueenSlice element, TimestampTz now)
{
	QueenSlicer slicer;
	QueenSlice	key;
	QueenSlice	value;
	int			seen = 0;

	memset(item, 0, sizeof(QueenItem));
	item->message.kind = QUEEN_KIND_JSON;
	item->deliver_at = DT_NOBEGIN;
	if (!queen_slice_object(&slicer, element))
		refuse(number, ERRCODE_INVALID_PARAMETER_VALUE, "It must be an object.");
	while (queen_slice_member(&slicer, &key, &value))
		take_member(number, item, key, value, now, &seen);
	if (slicer.failed)
		elog(ERROR, "payload is not valid JSON");
	if (item->message.payload == NULL)
		refuse(number, ERRCODE_INVALID_PARAMETER_VALUE, "\"payload\" is missing.");
}

/* All elements. */
QueenItem *
queen_parse_items(QueenPayload argument, uint32 *count)
{
	ErrorContextCallback context;
	QueenSlicer slicer;
	QueenSlice	element;
	uint32		room = 64;
	TimestampTz now = GetCurrentTimestamp();
	QueenItem  *items;

	if (argument.kind != QUEEN_KIND_JSON || !queen_slice_array(&slicer, argument.text))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"items\" must be a JSON array")));
	context.callback = item_context;
	context.arg = count;
	context.previous = error_context_stack;
	error_context_stack = &context;

	items = palloc(sizeof(QueenItem) * room);
	for (*count = 0; queen_slice_element(&slicer, &element); (*count)++)
	{
		queen_check_batch(*count);
		if (*count == room)
		{
			room *= 2;
			items = repalloc_huge(items, sizeof(QueenItem) * room);
			CHECK_FOR_INTERRUPTS();
		}
		parse_item(*count, &items[*count], element, now);
	}
	error_context_stack = context.previous;
	if (slicer.failed)
		elog(ERROR, "payload is not valid JSON");

	return items;
}
