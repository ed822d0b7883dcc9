/*-------------------------------------------------------------------------
 *
 * read.c
 *	  queen.read: looks at a partition without a group and without a lease.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "check.h"
#include "compat.h"
#include "group_store.h"
#include "message.h"
#include "queue.h"
#include "reader.h"
#include "settings.h"
#include "statement.h"

#define MAX_MESSAGES	1000000

PG_FUNCTION_INFO_V1(queen_read);

/* The name of the one group that a message is meant for: empty where it is gone. */
static Datum
name_group(const QueenMessage *message)
{
	QueenGroup *group = queen_group_by_id((int32) message->group);

	return PointerGetDatum(group ? group->name : cstring_to_text(""));
}

/* A row of the answer. */
static void
put_row(ReturnSetInfo *result, const QueenReader *reader, int64 offset,
		const QueenMessage *message)
{
	QueenMessageValues parts = queen_message_values(message, reader->partition->partition_id, offset);
	bool		nulls[7] = {false, !parts.is_json, !parts.has_headers, false, false,
	parts.is_json, message->group == 0};
	Datum		values[7] = {
		Int64GetDatum(offset),
		parts.payload,
		parts.headers,
		parts.transaction_id,
		TimestampTzGetDatum(reader->row.created_at),
		parts.body
	};

	if (message->group != 0)
		values[6] = name_group(message);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* Reads at most max messages from an offset on. */
static void
read_messages(ReturnSetInfo *result, const QueenPartition *partition, int64 from, int64 max)
{
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "queen row of read",
												 ALLOCSET_DEFAULT_SIZES);
	QueenReader reader;
	QueenMessage message;
	int64		offset;

	queen_reader_open(&reader, partition, from, max);
	while (max-- > 0 && queen_reader_next(&reader, &offset, &message))
	{
		MemoryContext caller = MemoryContextSwitchTo(memory);

		put_row(result, &reader, offset, &message);
		MemoryContextSwitchTo(caller);
		MemoryContextReset(memory);
	}
	queen_reader_close(&reader);
	MemoryContextDelete(memory);
}

/* Looks at messages of a partition. One that does not exist is empty. */
Datum
queen_read(PG_FUNCTION_ARGS)
{
	text	   *queue_name = queen_name_argument(fcinfo, 0, "queue");
	text	   *partition_name = queen_name_argument(fcinfo, 1, "partition");
	int64		from = DatumGetInt64(queen_required(fcinfo, 2, "from_offset"));
	int32		max = DatumGetInt32(queen_required(fcinfo, 3, "max"));
	QueenPartition partition;
	QueenQueue *queue;

	queen_check_range(max, 1, MAX_MESSAGES, "max");
	InitMaterializedSRF(fcinfo, 0);

	queen_begin(NULL);
	queue = queen_queue_open(queue_name, QUEEN_PRIVILEGE_READ);
	if (queen_partition_by_name(queue->queue_id, partition_name, &partition))
		read_messages((ReturnSetInfo *) fcinfo->resultinfo, &partition, from,
					  Min(max, queen_max_batch));
	queen_end();

	return (Datum) 0;
}
