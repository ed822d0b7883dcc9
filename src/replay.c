/*-------------------------------------------------------------------------
 *
 * replay.c
 *	  queen.replay: copies a range of the log into another queue.
 *
 * No cursor moves. The copies keep partition name, body and transaction id (a
 * derived one becomes theirs) and say in a header where they come from. They
 * are read and appended by the chunk, so memory does not grow with the range.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"

#include "check.h"
#include "compat.h"
#include "errors.h"
#include "json_text.h"
#include "log.h"
#include "message.h"
#include "queue.h"
#include "reader.h"
#include "statement.h"
#include "trace.h"

PG_FUNCTION_INFO_V1(queen_replay);

#define CHUNK_MESSAGES	1000
#define CHUNK_BYTES		(1024 * 1024)

/* Messages copied, to be appended together. */
typedef struct Chunk
{
	QueenMessage messages[CHUNK_MESSAGES];
	uint32		count;
	size_t		bytes;
	MemoryContext memory;
} Chunk;

/* The header that says where a copy comes from, added to those it has. */
static Jsonb *
make_headers(const QueenQueue *queue, const QueenPartition *partition, int64 offset,
			 const QueenMessage *message)
{
	StringInfoData from;
	StringInfoData json;
	Datum		origin;

	initStringInfo(&from);
	queen_json_text(&from, "queue", queue->name);
	queen_json_text(&from, "partition", partition->name);
	queen_json_number(&from, "offset", offset);
	initStringInfo(&json);
	queen_json_raw(&json, "replayed-from", queen_json_close(&from));
	origin = queen_json_close_jsonb(&json);
	if (message->headers_len > 0)
	{
		Datum		headers = DirectFunctionCall1(jsonb_in,
												  CStringGetDatum(pnstrdup(message->headers,
																		   message->headers_len)));

		origin = DirectFunctionCall2(jsonb_concat, queen_trace_remove(headers), origin);
	}
	return DatumGetJsonbP(origin);
}

/* Copies a message into a chunk. */
static void
copy_message(Chunk *chunk, const QueenQueue *queue, const QueenPartition *partition,
			 int64 offset, const QueenMessage *message)
{
	MemoryContext caller = MemoryContextSwitchTo(chunk->memory);
	QueenMessage *copy = &chunk->messages[chunk->count++];
	Jsonb	   *headers = make_headers(queue, partition, offset, message);
	StringInfoData json;

	*copy = *message;
	copy->group = 0;
	copy->payload = memcpy(palloc_extended(message->payload_len + 1, MCXT_ALLOC_HUGE),
						   message->payload, message->payload_len);
	if (message->transaction_id_len > 0)
		copy->transaction_id = pnstrdup(message->transaction_id, message->transaction_id_len);
	else
	{
		char	   *id = palloc(QUEEN_DERIVED_ID_BYTES);

		copy->transaction_id_len = (uint16_t) queen_derive_id(id, partition->partition_id, offset);
		copy->transaction_id = id;
	}
	initStringInfo(&json);
	JsonbToCString(&json, &headers->root, VARSIZE(headers));
	copy->headers = json.data;
	copy->headers_len = (uint32_t) json.len;
	chunk->bytes += message->payload_len;
	MemoryContextSwitchTo(caller);
}

/* Appends a chunk and empties it. */
static void
append_chunk(Chunk *chunk, const QueenQueue *target, text *partition_name)
{
	QueenLane	lane = {
		.name = partition_name,
		.messages = chunk->messages,
		.count = chunk->count,
		.copies = true
	};

	CHECK_FOR_INTERRUPTS();
	if (chunk->count > 0)
		queen_log_append(target, &lane, 1);
	chunk->count = 0;
	chunk->bytes = 0;
	MemoryContextReset(chunk->memory);
}

/* Copies a range and answers how many messages that were. */
static int64
copy_range(const QueenQueue *source, const QueenPartition *partition, int64 from,
		   int64 to, const QueenQueue *target, text *partition_name)
{
	Chunk	   *chunk = palloc0(sizeof(Chunk));
	QueenReader reader;
	QueenMessage message;
	int64		offset;
	int64		copied = 0;

	chunk->memory = AllocSetContextCreate(CurrentMemoryContext, "queen chunk of replay",
										  ALLOCSET_DEFAULT_SIZES);
	queen_reader_open(&reader, partition, from, to - from + 1);
	while (queen_reader_next(&reader, &offset, &message) && offset <= to)
	{
		copy_message(chunk, source, partition, offset, &message);
		copied++;
		if (chunk->count == CHUNK_MESSAGES || chunk->bytes >= CHUNK_BYTES)
			append_chunk(chunk, target, partition_name);
	}
	append_chunk(chunk, target, partition_name);
	queen_reader_close(&reader);
	MemoryContextDelete(chunk->memory);

	return copied;
}

/* Refuses a range that the log does not hold. */
static void
check_range(const QueenPartition *partition, int64 from, int64 to)
{
	int64		end = queen_log_end(partition);

	if (from > to)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"from_offset\" must not be greater than \"to_offset\"")));
	if (from < partition->log_start || to >= end)
		ereport(ERROR,
				(errcode(ERRCODE_QUEEN_NO_POSITION),
				 errmsg("offsets %lld to %lld are not all in partition \"%s\"",
						(long long) from, (long long) to, text_to_cstring(partition->name)),
				 errdetail("Its offsets run from %lld, its end is %lld.",
						   (long long) partition->log_start, (long long) end)));
}

/* Opens both queues, the lower id first, so that two replays never cross. */
static void
open_queues(text *source_name, text *target_name, QueenQueue **source, QueenQueue **target)
{
	QueenQueue *first = queen_queue_by_name(source_name);
	QueenQueue *second = queen_queue_by_name(target_name);
	bool		ascending = !first || !second || first->queue_id <= second->queue_id;

	if (ascending)
		*source = queen_queue_open(source_name, QUEEN_PRIVILEGE_READ);
	*target = queen_queue_open(target_name, QUEEN_PRIVILEGE_PUSH);
	if (!ascending)
		*source = queen_queue_open(source_name, QUEEN_PRIVILEGE_READ);
}

/* Copies a range of the log into another queue. */
Datum
queen_replay(PG_FUNCTION_ARGS)
{
	text	   *queue_name = queen_name_argument(fcinfo, 0, "queue");
	text	   *partition_name = queen_name_argument(fcinfo, 1, "partition");
	int64		from = DatumGetInt64(queen_required(fcinfo, 2, "from_offset"));
	int64		to = DatumGetInt64(queen_required(fcinfo, 3, "to_offset"));
	text	   *target_name = queen_name_argument(fcinfo, 4, "to_queue");
	QueenPartition partition;
	QueenQueue *source;
	QueenQueue *target;
	int64		copied;

	queen_begin("queen.replay()");
	open_queues(queue_name, target_name, &source, &target);
	if (source->queue_id == target->queue_id)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"to_queue\" must be another queue")));
	if (!queen_partition_by_name(source->queue_id, partition_name, &partition))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("partition \"%s\" of queue \"%s\" does not exist",
						text_to_cstring(partition_name), text_to_cstring(queue_name))));
	check_range(&partition, from, to);
	copied = copy_range(source, &partition, from, to, target, partition_name);
	if (copied != to - from + 1)
		ereport(ERROR,
				(errcode(ERRCODE_QUEEN_NO_POSITION),
				 errmsg("offsets %lld to %lld of partition \"%s\" were removed meanwhile",
						(long long) from, (long long) to, text_to_cstring(partition_name))));
	queen_end();

	PG_RETURN_INT64(copied);
}
