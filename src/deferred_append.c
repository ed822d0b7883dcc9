/*-------------------------------------------------------------------------
 *
 * deferred_append.c
 *	  Appends the messages that a transaction has kept, as it commits.
 *
 * Queues come in the order of their ids and partitions in that of queen_log_lock(),
 * so that transactions which only defer never wait for each other in a circle. What
 * fits in memory is appended in one call a queue: one segment a partition, more
 * where it is large. What was spilled is sorted by partition, by the server's
 * tuplesort in as much memory as it was kept in, and comes by the piece, after
 * all partitions have been locked.
 *
 * The rights were checked at each call; statements run as the owner of the
 * tables. The path that a verb has from its function is set here. A transaction
 * made read-only after its calls keeps what it did before, deferred messages
 * among it. Whatever is set here goes with the transaction where it fails.
 *
 * Memory: "queen append of deferred messages", under that of the messages, and
 * "queen piece of deferred messages", reset after each piece.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/tuplesort.h"

#include "compat.h"
#include "deferred.h"
#include "log.h"
#include "settings.h"
#include "statement.h"

/*
 * A lane of more than these is appended by the piece. A segment holds fewer
 * messages, also of the smallest, and fewer bytes.
 */
#define PIECE_BYTES (4 * 1024 * 1024)
#define PIECE_MESSAGES (32 * 1024)

/* What is under way. */
typedef struct Work
{
	QueenDeferred *deferred;
	uint32	   *order;			/* lanes that have messages, by queue and name */
	int			nlanes;
	QueenQueue **queues;		/* of each lane in that order */
} Work;

/* Messages of one lane, copied, to be appended together. */
typedef struct Piece
{
	MemoryContext memory;
	QueenMessage *messages;
	uint32		count;
	Size		bytes;
	uint32		lane;
} Piece;

/* Queues by id, their partitions by name. */
static int
compare_lanes(const void *a, const void *b, void *lanes)
{
	const QueenDeferredLane *left = ((QueenDeferredLane **) lanes)[*(const uint32 *) a];
	const QueenDeferredLane *right = ((QueenDeferredLane **) lanes)[*(const uint32 *) b];
	int			left_len = VARSIZE_ANY_EXHDR(left->name);
	int			right_len = VARSIZE_ANY_EXHDR(right->name);
	int			result;

	if (left->queue_id != right->queue_id)
		return left->queue_id < right->queue_id ? -1 : 1;
	result = memcmp(VARDATA_ANY(left->name), VARDATA_ANY(right->name), Min(left_len, right_len));
	return result != 0 ? result : left_len - right_len;
}

/* The queue as it is now. Only this transaction itself can have dropped it. */
static QueenQueue *
find_queue(const QueenDeferred *deferred, const QueenDeferredLane *lane)
{
	QueenQueue *queue = NULL;

	if (get_namespace_oid("queen", true) == deferred->schema)
		queue = queen_queue_by_id(lane->queue_id);
	if (queue == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("queue \"%s\" does not exist", text_to_cstring(lane->queue_name)),
				 errdetail("It was dropped by the transaction that deferred messages to it.")));
	return queue;
}

/* Puts the lanes that have messages in order, and finds their queues. */
static void
order_lanes(Work *work)
{
	QueenDeferred *deferred = work->deferred;
	QueenQueue *queue = NULL;

	work->order = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(uint32) * deferred->nlanes);
	work->queues = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(QueenQueue *) * deferred->nlanes);
	work->nlanes = 0;
	for (uint32 i = 0; i < deferred->nlanes; i++)
	{
		if (deferred->lanes[i]->count > 0)
			work->order[work->nlanes++] = i;
	}
	qsort_arg(work->order, work->nlanes, sizeof(uint32), compare_lanes, deferred->lanes);
	for (int i = 0; i < work->nlanes; i++)
	{
		QueenDeferredLane *lane = deferred->lanes[work->order[i]];

		if (queue == NULL || queue->queue_id != lane->queue_id)
			queue = find_queue(deferred, lane);
		work->queues[i] = queue;
	}
}

/* Calls what appends or locks with the lanes of each queue. */
static void
for_each_queue(const Work *work, QueenLane *lanes,
			   void (*call) (const QueenQueue *queue, QueenLane *lanes, int nlanes))
{
	int			first = 0;

	for (int i = 1; i <= work->nlanes; i++)
	{
		if (i < work->nlanes && work->queues[i] == work->queues[first])
			continue;
		call(work->queues[first], lanes + first, i - first);
		first = i;
	}
}

/* Lanes for log.c, in order and empty. */
static QueenLane *
make_lanes(const Work *work)
{
	QueenLane  *lanes = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(QueenLane) * work->nlanes);

	memset(lanes, 0, sizeof(QueenLane) * work->nlanes);
	for (int i = 0; i < work->nlanes; i++)
		lanes[i].name = work->deferred->lanes[work->order[i]]->name;
	return lanes;
}

/* Reads a record at a place in memory; answers its message and the next place. */
static const char *
read_record(const char *place, QueenDeferredRecord *record, QueenMessage *message)
{
	memcpy(record, place, sizeof(QueenDeferredRecord));
	place += sizeof(QueenDeferredRecord);
	*message = queen_deferred_message(record, place);
	return place + queen_deferred_size(record);
}

/* Appends what is in memory, where that is all. */
static void
append_from_memory(Work *work)
{
	QueenDeferred *deferred = work->deferred;
	const char *end = deferred->spool.bytes + deferred->spool.used;
	QueenMessage *messages = MemoryContextAllocHuge(CurrentMemoryContext,
													sizeof(QueenMessage) * deferred->records);
	QueenLane **lane_of = MemoryContextAllocHuge(CurrentMemoryContext,
												 sizeof(QueenLane *) * deferred->nlanes);
	QueenDeferredRecord record;
	QueenMessage message;
	QueenLane  *lanes;

	for (const char *place = deferred->spool.bytes; place < end;)
	{
		place = read_record(place, &record, &message);
		deferred->lanes[record.lane]->count++;
	}
	order_lanes(work);
	lanes = make_lanes(work);
	for (int i = 0; i < work->nlanes; i++)
	{
		lanes[i].messages = messages;
		messages += deferred->lanes[work->order[i]]->count;
		lane_of[work->order[i]] = &lanes[i];
	}
	for (const char *place = deferred->spool.bytes; place < end;)
	{
		place = read_record(place, &record, &message);
		lane_of[record.lane]->messages[lane_of[record.lane]->count++] = message;
	}
	for_each_queue(work, lanes, queen_log_append);
}

/* Rows of lane, number of the message, record. */
static TupleDesc
make_descriptor(void)
{
	TupleDesc	descriptor = CreateTemplateTupleDesc(3);

	TupleDescInitEntry(descriptor, 1, "lane", INT8OID, -1, 0);
	TupleDescInitEntry(descriptor, 2, "number", INT8OID, -1, 0);
	TupleDescInitEntry(descriptor, 3, "record", BYTEAOID, -1, 0);
	return descriptor;
}

/* A sort of such rows by lane and number. */
static Tuplesortstate *
begin_sort(TupleDesc descriptor)
{
	AttrNumber	columns[] = {1, 2};
	Oid			operators[] = {Int8LessOperator, Int8LessOperator};
	Oid			collations[] = {InvalidOid, InvalidOid};
	bool		nulls_first[] = {false, false};

	return tuplesort_begin_heap(descriptor, 2, columns, operators, collations, nulls_first,
								queen_deferred_buffer, NULL, TUPLESORT_NONE);
}

/* The next record of the file, as a bytea. */
static bytea *
read_spilled(QueenSpool *spool, QueenDeferredRecord *record)
{
	bytea	   *value;

	queen_spool_read(spool, record, sizeof(QueenDeferredRecord));
	value = palloc(VARHDRSZ + sizeof(QueenDeferredRecord) + queen_deferred_size(record));
	SET_VARSIZE(value, VARHDRSZ + sizeof(QueenDeferredRecord) + queen_deferred_size(record));
	memcpy(VARDATA(value), record, sizeof(QueenDeferredRecord));
	queen_spool_read(spool, VARDATA(value) + sizeof(QueenDeferredRecord), queen_deferred_size(record));

	return value;
}

/* Reads all records into the sort, and counts those of each lane. */
static void
fill_sort(QueenDeferred *deferred, Tuplesortstate *sort, TupleTableSlot *slot)
{
	queen_spool_rewind(&deferred->spool);
	for (uint64 i = 0; i < deferred->records; i++)
	{
		QueenDeferredRecord record;
		bytea	   *value = read_spilled(&deferred->spool, &record);

		CHECK_FOR_INTERRUPTS();
		deferred->lanes[record.lane]->count++;
		ExecClearTuple(slot);
		slot->tts_values[0] = Int64GetDatum(record.lane);
		slot->tts_values[1] = Int64GetDatum(i);
		slot->tts_values[2] = PointerGetDatum(value);
		memset(slot->tts_isnull, 0, sizeof(bool) * 3);
		ExecStoreVirtualTuple(slot);
		tuplesort_puttupleslot(sort, slot);
		pfree(value);
	}
	ExecClearTuple(slot);
	queen_spool_close(&deferred->spool);
	tuplesort_performsort(sort);
}

/* Appends a piece and empties it. */
static void
append_piece(const Work *work, const uint32 *places, Piece *piece)
{
	MemoryContext caller;
	QueenLane	lane = {
		.name = work->deferred->lanes[piece->lane]->name,
		.messages = piece->messages,
		.count = piece->count
	};

	if (piece->count == 0)
		return;
	caller = MemoryContextSwitchTo(piece->memory);
	queen_log_append(work->queues[places[piece->lane]], &lane, 1);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(piece->memory);
	piece->count = 0;
	piece->bytes = 0;
}

/* Copies a record into a piece. */
static void
add_to_piece(Piece *piece, uint32 lane, const bytea *value)
{
	Size		size = VARSIZE_ANY_EXHDR(value);
	char	   *copy = MemoryContextAllocHuge(piece->memory, size);
	QueenDeferredRecord record;

	memcpy(copy, VARDATA_ANY(value), size);
	read_record(copy, &record, &piece->messages[piece->count++]);
	piece->bytes += size;
	piece->lane = lane;
}

/* Appends what comes out of the sort. */
static void
append_sorted(const Work *work, Tuplesortstate *sort, TupleTableSlot *slot)
{
	uint32	   *places = MemoryContextAllocHuge(CurrentMemoryContext,
												sizeof(uint32) * work->deferred->nlanes);
	Piece		piece = {
		.memory = AllocSetContextCreate(CurrentMemoryContext, "queen piece of deferred messages",
										ALLOCSET_DEFAULT_SIZES),
		.messages = palloc(sizeof(QueenMessage) * PIECE_MESSAGES)
	};

	for (int i = 0; i < work->nlanes; i++)
		places[work->order[i]] = i;
	while (tuplesort_gettupleslot(sort, true, false, slot, NULL))
	{
		uint32		lane;

		slot_getallattrs(slot);
		lane = (uint32) DatumGetInt64(slot->tts_values[0]);
		if (lane != piece.lane || piece.bytes >= PIECE_BYTES || piece.count == PIECE_MESSAGES)
			append_piece(work, places, &piece);
		add_to_piece(&piece, lane, DatumGetByteaPP(slot->tts_values[2]));
	}
	append_piece(work, places, &piece);
}

/* Appends what was spilled, and with it the rest, in little memory. */
static void
append_from_file(Work *work)
{
	TupleDesc	descriptor = make_descriptor();
	TupleTableSlot *slot = MakeSingleTupleTableSlot(descriptor, &TTSOpsMinimalTuple);
	Tuplesortstate *sort = begin_sort(descriptor);

	queen_spool_spill(&work->deferred->spool);
	pfree(work->deferred->spool.bytes);
	fill_sort(work->deferred, sort, slot);
	order_lanes(work);
	for_each_queue(work, make_lanes(work), queen_log_lock);
	append_sorted(work, sort, slot);
	tuplesort_end(sort);
	ExecDropSingleTupleTableSlot(slot);
}

/* Appends all, inside a verb of its own. */
static void
append_messages(QueenDeferred *deferred)
{
	Work		work = {.deferred = deferred};
	MemoryContext memory = AllocSetContextCreate(deferred->memory,
												 "queen append of deferred messages",
												 ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(memory);

	PushActiveSnapshot(GetTransactionSnapshot());
	queen_begin(NULL);
	if (deferred->spool.below == 0)
		append_from_memory(&work);
	else
		append_from_file(&work);
	queen_end();
	PopActiveSnapshot();
	MemoryContextSwitchTo(caller);
}

/* Appends all messages of a transaction. */
void
queen_deferred_append(QueenDeferred *deferred)
{
	ResourceOwner owner = CurrentResourceOwner;
	bool		read_only = XactReadOnly;
	int			nest_level;

	if (deferred->records == 0)
		return;
	CurrentResourceOwner = TopTransactionResourceOwner;
	XactReadOnly = false;
	nest_level = NewGUCNestLevel();
	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	append_messages(deferred);
	AtEOXact_GUC(true, nest_level);
	XactReadOnly = read_only;
	CurrentResourceOwner = owner;
}
