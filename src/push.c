/*-------------------------------------------------------------------------
 *
 * push.c
 *	  queen.push, queen.push_batch, queen.push_items.
 *
 * A verb checks its arguments and sorts its messages into lanes, one for each
 * partition; log.c appends them. Nothing is locked or written before the last
 * message has been found good.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"

#include "check.h"
#include "compat.h"
#include "items.h"
#include "lanes.h"
#include "log.h"
#include "payload.h"
#include "queue.h"
#include "settings.h"
#include "statement.h"

PG_FUNCTION_INFO_V1(queen_push);
PG_FUNCTION_INFO_V1(queen_push_batch);
PG_FUNCTION_INFO_V1(queen_push_items);

/* The lane of a number: Default, Default-2 and so on. */
static text *
default_lane(uint32 number)
{
	if (number == 0)
		return cstring_to_text("Default");
	return cstring_to_text(psprintf("Default-%u", number + 1));
}

/* The lane of a queue that is next in turn in this session. */
static uint32
next_in_turn(const QueenQueue *queue)
{
	static uint32 turns[64];
	static bool started = false;

	for (int i = 0; !started && i < lengthof(turns); i++)
		turns[i] = pg_prng_uint32(&pg_global_prng_state);
	started = true;
	return turns[queue->queue_id % lengthof(turns)]++ % (uint32) queue->partitions;
}

/* The lane of a message by its id, or NULL where it has none. */
static text *
lane_of_id(const QueenQueue *queue, const QueenMessage *message)
{
	if (message->transaction_id_len == 0)
		return NULL;
	return default_lane(hash_bytes((const unsigned char *) message->transaction_id,
								   message->transaction_id_len) % (uint32) queue->partitions);
}

/* Refuses a body or headers that are too large; item is where it stands, or -1. */
static void
check_sizes(const QueenMessage *message, int64 item)
{
	if (message->payload_len > (uint32) queen_max_message_bytes)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 item < 0 ? errmsg("message is too large")
				 : errmsg("message of element %lld is too large", (long long) item),
				 errdetail("It has %u bytes, \"queen.max_message_bytes\" allows %d.",
						   message->payload_len, queen_max_message_bytes)));
}

/* The transaction id and headers arguments of push. */
static void
take_envelope(FunctionCallInfo fcinfo, QueenMessage *message)
{
	if (!PG_ARGISNULL(3))
	{
		text	   *id = PG_GETARG_TEXT_PP(3);

		queen_check_transaction_id(VARSIZE_ANY_EXHDR(id), -1);
		message->transaction_id = VARDATA_ANY(id);
		message->transaction_id_len = (uint16_t) VARSIZE_ANY_EXHDR(id);
	}
	if (!PG_ARGISNULL(4))
		queen_take_headers(message, PG_GETARG_JSONB_P(4), -1);
}

/* A composite result of three columns. */
static Datum
make_record(FunctionCallInfo fcinfo, Datum *values, bool *nulls)
{
	TupleDesc	descriptor;

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls));
}

/* Appends one message. */
Datum
queen_push(PG_FUNCTION_ARGS)
{
	text	   *queue_name = queen_name_argument(fcinfo, 0, "queue");
	QueenPayload payload = queen_payload_argument(fcinfo, 1, "payload");
	QueenMessage message = {
		.kind = payload.kind,
		.payload = payload.text.data,
		.payload_len = (uint32_t) payload.text.len
	};
	QueenLane	lane = {
		.name = queen_optional_name_argument(fcinfo, 2, "partition"),
		.messages = &message,
		.count = 1
	};
	Datum		values[3];
	bool		nulls[3] = {false};
	QueenQueue *queue;

	take_envelope(fcinfo, &message);
	check_sizes(&message, -1);

	queen_begin("queen.push()");
	queue = queen_queue_open_to_push(queue_name);
	if (lane.name == NULL)
		lane.name = lane_of_id(queue, &message);
	if (lane.name == NULL)
		lane.name = default_lane(next_in_turn(queue));
	queen_log_append(queue, &lane, 1);
	queen_end();

	values[0] = PointerGetDatum(lane.name);
	values[1] = Int64GetDatum(lane.first_offset);
	values[2] = CStringGetTextDatum("queued");
	PG_RETURN_DATUM(make_record(fcinfo, values, nulls));
}

/* Cuts an array of bodies into messages. */
static QueenMessage *
slice_bodies(QueenPayload payloads, uint32 *count)
{
	QueenMessage *messages;
	QueenSlicer slicer;
	QueenSlice	body;
	uint32		room = 64;

	if (payloads.kind != QUEEN_KIND_JSON || !queen_slice_array(&slicer, payloads.text))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"payloads\" must be a JSON array")));
	messages = palloc(sizeof(QueenMessage) * room);
	for (*count = 0; queen_slice_element(&slicer, &body); (*count)++)
	{
		QueenMessage message = {
			.kind = QUEEN_KIND_JSON,
			.payload = body.data,
			.payload_len = (uint32_t) body.len
		};

		if (*count == room)
		{
			room *= 2;
			messages = repalloc_huge(messages, sizeof(QueenMessage) * room);
			CHECK_FOR_INTERRUPTS();
		}
		check_sizes(&message, *count);
		messages[*count] = message;
	}
	if (slicer.failed)
		elog(ERROR, "payload is not valid JSON");
	return messages;
}

/* Appends each element of an array, all to one partition. */
Datum
queen_push_batch(PG_FUNCTION_ARGS)
{
	text	   *queue_name = queen_name_argument(fcinfo, 0, "queue");
	QueenPayload payloads = queen_payload_argument(fcinfo, 1, "payloads");
	QueenLane	lane = {.name = queen_optional_name_argument(fcinfo, 2, "partition")};
	Datum		values[3];
	bool		nulls[3] = {false};
	QueenQueue *queue;

	lane.messages = slice_bodies(payloads, &lane.count);

	queen_begin("queen.push_batch()");
	queue = queen_queue_open_to_push(queue_name);
	if (lane.name == NULL)
		lane.name = default_lane(next_in_turn(queue));
	if (lane.count > 0)
		queen_log_append(queue, &lane, 1);
	queen_end();

	values[0] = PointerGetDatum(lane.name);
	values[1] = Int64GetDatum(lane.first_offset);
	nulls[1] = lane.count == 0;
	values[2] = Int64GetDatum(lane.count);
	PG_RETURN_DATUM(make_record(fcinfo, values, nulls));
}

/* Appends an array of objects and answers a row for each. */
Datum
queen_push_items(PG_FUNCTION_ARGS)
{
	text	   *queue_name = queen_name_argument(fcinfo, 0, "queue");
	QueenPayload argument = queen_payload_argument(fcinfo, 1, "items");
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	uint32		count;
	QueenItem  *items = queen_parse_items(argument, &count);
	QueenQueue *queue;
	text	   *turn = NULL;

	for (uint32 i = 0; i < count; i++)
		check_sizes(&items[i].message, i);
	InitMaterializedSRF(fcinfo, 0);

	queen_begin("queen.push_items()");
	queue = queen_queue_open_to_push(queue_name);
	for (uint32 i = 0; i < count; i++)
	{
		if (items[i].partition == NULL)
			items[i].partition = lane_of_id(queue, &items[i].message);
		if (items[i].partition == NULL && turn == NULL)
			turn = default_lane(next_in_turn(queue));
		if (items[i].partition == NULL)
			items[i].partition = turn;
	}
	if (count > 0)
		queen_append_items(queue, items, count);
	queen_end();

	for (uint32 i = 0; i < count; i++)
	{
		Datum		values[4] = {
			Int64GetDatum(i),
			PointerGetDatum(items[i].partition),
			Int64GetDatum(items[i].offset),
			CStringGetTextDatum("queued")
		};
		bool		nulls[4] = {false};

		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
