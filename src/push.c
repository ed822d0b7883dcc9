/*-------------------------------------------------------------------------
 *
 * push.c
 *	  queen.push, queen.push_batch, queen.push_items.
 *
 * A verb checks its arguments and sorts its messages into lanes, one for each
 * partition; log.c appends them. Nothing is locked or written before the last
 * message has been found good. A message with a delay is put into
 * queen.scheduled at once, unless it has an id that must be looked at, which
 * takes its partition's append lock.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "check.h"
#include "compat.h"
#include "items.h"
#include "lanes.h"
#include "locks.h"
#include "log.h"
#include "outgoing.h"
#include "payload.h"
#include "queue.h"
#include "record.h"
#include "schedule_store.h"
#include "soon.h"
#include "statement.h"

PG_FUNCTION_INFO_V1(queen_push);
PG_FUNCTION_INFO_V1(queen_push_batch);
PG_FUNCTION_INFO_V1(queen_push_items);

/* What push and push_batch answer. */
static QueenRecord placed_row = {
	4, {{"partition", TEXTOID}, {"message_offset", INT8OID}, {"status", TEXTOID}, {"scheduled_id", INT8OID}}
};
static QueenRecord batch_row = {
	3, {{"partition", TEXTOID}, {"first_offset", INT8OID}, {"messages", INT8OID}}
};

/* The time of a delay from now; -infinity where there is none. */
static TimestampTz
delay_argument(FunctionCallInfo fcinfo, int number)
{
	int64		delay = 0;

	if (!PG_ARGISNULL(number))
		delay = queen_check_interval(PG_GETARG_INTERVAL_P(number), true, "delay");
	return delay > 0 ? GetCurrentTimestamp() + delay : DT_NOBEGIN;
}

/* Whether a message's id must be looked at before it is taken. */
static bool
has_id_to_check(const QueenQueue *queue, const QueenMessage *message)
{
	return queue->dedup_window > 0 && message->transaction_id_len > 0;
}

/* Puts a message where it waits for its time; a purge waits for its end. */
static QueenPlaced
schedule(const QueenQueue *queue, text *partition, const QueenMessage *message,
		 TimestampTz deliver_at)
{
	QueenPlaced placed = {QUEEN_SCHEDULED, -1, 0};

	queen_lock_queue_append(queue->queue_id, false);
	queen_due_at(deliver_at);
	placed.scheduled_id = queen_scheduled_insert(queue->queue_id, partition, message, deliver_at,
												 GetCurrentTimestamp());
	return placed;
}

/* The columns partition, message_offset, status, scheduled_id of an answer. */
static void
put_placed(Datum *values, bool *nulls, text *partition, const QueenPlaced *placed)
{
	static const char *const statuses[] = {"queued", "duplicate", "scheduled"};

	values[0] = PointerGetDatum(partition);
	values[1] = Int64GetDatum(placed->offset);
	nulls[1] = placed->offset < 0;
	values[2] = CStringGetTextDatum(statuses[placed->outcome]);
	values[3] = Int64GetDatum(placed->scheduled_id);
	nulls[3] = placed->scheduled_id == 0;
}

/* Appends one message. */
Datum
queen_push(PG_FUNCTION_ARGS)
{
	text	   *queue_name = queen_name_argument(fcinfo, 0, "queue");
	QueenMessage message;
	TimestampTz deliver_at = delay_argument(fcinfo, 5);
	QueenLane	lane = {
		.name = queen_optional_name_argument(fcinfo, 2, "partition"),
		.messages = &message,
		.count = 1,
		.deliver_at = deliver_at == DT_NOBEGIN ? NULL : &deliver_at
	};
	QueenPlaced placed;
	Datum		values[4];
	bool		nulls[4] = {false};
	QueenQueue *queue;

	message = queen_message_arguments(fcinfo);

	queen_begin("queen.push()");
	queue = queen_queue_open_to_push(queue_name);
	if (lane.name == NULL)
		lane.name = queen_lane_for(queue, &message);
	if (lane.deliver_at && !has_id_to_check(queue, &message))
		placed = schedule(queue, lane.name, &message, deliver_at);
	else
	{
		queen_log_append(queue, &lane, 1);
		placed = queen_lane_placed(&lane, 0);
	}
	queen_end();

	put_placed(values, nulls, lane.name, &placed);
	PG_RETURN_DATUM(queen_record(&placed_row, values, nulls));
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

		queen_check_batch(*count);
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
	PG_RETURN_DATUM(queen_record(&batch_row, values, nulls));
}

/*
 * Schedules and appends items. If the id of one with a delay must be looked at,
 * all with a delay go through the lanes, so that those of one partition get
 * their scheduled_ids in order.
 */
static void
push_items(const QueenQueue *queue, QueenItem *items, uint32 count)
{
	QueenItem **appended = palloc_extended(sizeof(QueenItem *) * Max(count, 1), MCXT_ALLOC_HUGE);
	uint32		nappended = 0;
	bool		check = false;

	for (uint32 i = 0; i < count; i++)
	{
		if (items[i].deliver_at != DT_NOBEGIN && has_id_to_check(queue, &items[i].message))
			check = true;
	}
	for (uint32 i = 0; i < count; i++)
	{
		if (items[i].deliver_at == DT_NOBEGIN || check)
			appended[nappended++] = &items[i];
	}
	/* First, as this takes the queue's append lock in the mode that it needs. */
	if (nappended > 0)
		queen_append_items(queue, appended, nappended, false);
	for (uint32 i = 0; i < count; i++)
	{
		if (items[i].deliver_at != DT_NOBEGIN && !check)
			items[i].placed = schedule(queue, items[i].partition, &items[i].message,
									   items[i].deliver_at);
	}
}

/* Names the partition of each item that names none. */
static void
name_partitions(const QueenQueue *queue, QueenItem *items, uint32 count)
{
	text	   *turn = NULL;

	for (uint32 i = 0; i < count; i++)
	{
		if (items[i].partition == NULL)
			items[i].partition = queen_lane_of_id(queue, &items[i].message);
		if (items[i].partition == NULL && turn == NULL)
			turn = queen_lane_in_turn(queue);
		if (items[i].partition == NULL)
			items[i].partition = turn;
	}
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

	for (uint32 i = 0; i < count; i++)
		queen_check_message_size(&items[i].message, i);
	InitMaterializedSRF(fcinfo, 0);

	queen_begin("queen.push_items()");
	queue = queen_queue_open_to_push(queue_name);
	name_partitions(queue, items, count);
	push_items(queue, items, count);
	queen_end();

	for (uint32 i = 0; i < count; i++)
	{
		Datum		values[5] = {Int64GetDatum(i)};
		bool		nulls[5] = {false};

		put_placed(values + 1, nulls + 1, items[i].partition, &items[i].placed);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
