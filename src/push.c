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
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "check.h"
#include "compat.h"
#include "outgoing.h"
#include "items.h"
#include "lanes.h"
#include "log.h"
#include "payload.h"
#include "queue.h"
#include "statement.h"

PG_FUNCTION_INFO_V1(queen_push);
PG_FUNCTION_INFO_V1(queen_push_batch);
PG_FUNCTION_INFO_V1(queen_push_items);

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
	QueenMessage message;
	QueenLane	lane = {
		.name = queen_optional_name_argument(fcinfo, 2, "partition"),
		.messages = &message,
		.count = 1
	};
	Datum		values[3];
	bool		nulls[3] = {false};
	QueenQueue *queue;

	message = queen_message_arguments(fcinfo);

	queen_begin("queen.push()");
	queue = queen_queue_open_to_push(queue_name);
	if (lane.name == NULL)
		lane.name = queen_lane_for(queue, &message);
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
		queen_check_message_size(&message, *count);
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
		lane.name = queen_lane_in_turn(queue);
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
		queen_check_message_size(&items[i].message, i);
	InitMaterializedSRF(fcinfo, 0);

	queen_begin("queen.push_items()");
	queue = queen_queue_open_to_push(queue_name);
	for (uint32 i = 0; i < count; i++)
	{
		if (items[i].partition == NULL)
			items[i].partition = queen_lane_of_id(queue, &items[i].message);
		if (items[i].partition == NULL && turn == NULL)
			turn = queen_lane_in_turn(queue);
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
