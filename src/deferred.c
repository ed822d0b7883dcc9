/*-------------------------------------------------------------------------
 *
 * deferred.c
 *	  Messages that a transaction keeps until it commits.
 *
 * A message is copied to the end of a spool, which moves to a temporary file
 * where it grows beyond queen.deferred_buffer. The queue's lock is held from
 * the call on, so that nobody drops it meanwhile; no append lock is taken
 * before the transaction commits or is prepared. Then deferred_append.c appends
 * all, in the callback before the commit, where an error still undoes the
 * transaction.
 *
 * What a subtransaction keeps always lies at the end: all before it came
 * before it began, and what came after it began is its own or its children's.
 * So a mark is set where a subtransaction keeps its first message, and undoing
 * it cuts the spool there. A subtransaction that commits gives its mark to its
 * parent, unless that has one, which is lower.
 *
 * Memory: one context, "queen deferred messages", under TopTransactionContext.
 * It outlives subtransactions and goes with the transaction.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "common/hashfn.h"
#include "utils/memutils.h"

#include "compat.h"
#include "deferred.h"
#include "settings.h"

/* What finds the number of a lane by its names. */
typedef struct LaneNumber
{
	const QueenDeferredLane *lane;
	uint32		number;
} LaneNumber;

/* Of this transaction; NULL where it keeps nothing. */
static QueenDeferred *deferred = NULL;

/* The messages of this transaction have been appended: it takes no more. */
static bool closed = false;

/* Hash of a lane's names. */
static uint32
hash_lane(const void *key, Size size)
{
	const QueenDeferredLane *lane = *(const QueenDeferredLane *const *) key;

	return hash_bytes((const unsigned char *) VARDATA_ANY(lane->name),
					  VARSIZE_ANY_EXHDR(lane->name)) ^ (uint32) lane->queue_id;
}

/* 0 where two lanes have the same names. */
static int
match_lanes(const void *a, const void *b, Size size)
{
	const QueenDeferredLane *left = *(const QueenDeferredLane *const *) a;
	const QueenDeferredLane *right = *(const QueenDeferredLane *const *) b;

	return left->queue_id != right->queue_id ||
		VARSIZE_ANY_EXHDR(left->name) != VARSIZE_ANY_EXHDR(right->name) ||
		memcmp(VARDATA_ANY(left->name), VARDATA_ANY(right->name),
			   VARSIZE_ANY_EXHDR(left->name)) != 0;
}

/* Copies a name to memory of the transaction. */
static text *
copy_name(const text *name)
{
	text	   *copy = MemoryContextAlloc(deferred->memory, VARHDRSZ + VARSIZE_ANY_EXHDR(name));

	SET_VARSIZE(copy, VARHDRSZ + VARSIZE_ANY_EXHDR(name));
	memcpy(VARDATA(copy), VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
	return copy;
}

/* Makes the table of lanes. */
static HTAB *
make_lane_numbers(MemoryContext memory)
{
	HASHCTL		control = {
		.keysize = sizeof(const QueenDeferredLane *),
		.entrysize = sizeof(LaneNumber),
		.hash = hash_lane,
		.match = match_lanes,
		.hcxt = memory
	};

	return hash_create("queen lanes of deferred messages", 64, &control,
					   HASH_ELEM | HASH_FUNCTION | HASH_COMPARE | HASH_CONTEXT);
}

/* Takes the newest lane out of the table; never throws. */
static void
forget_last_lane(void)
{
	QueenDeferredLane *lane = deferred->lanes[--deferred->nlanes];

	hash_search(deferred->lane_numbers, &lane, HASH_REMOVE, NULL);
	pfree(lane->name);
	pfree(lane);
}

/* Forgets all from a mark on; never throws. */
static void
cut(const QueenDeferredMark *mark)
{
	queen_spool_cut(&deferred->spool, mark->end);
	deferred->records = mark->records;
	deferred->records_below = Min(deferred->records_below, mark->records);
	while (deferred->nlanes > mark->nlanes)
		forget_last_lane();
}

/* Cuts where a subtransaction is undone, and hands its mark on where it commits. */
static void
at_end_of_subtransaction(SubXactEvent event, SubTransactionId mine,
						 SubTransactionId parent, void *arg)
{
	QueenDeferredMark *mark;

	if (deferred == NULL || deferred->nmarks == 0)
		return;
	mark = &deferred->marks[deferred->nmarks - 1];
	if (mark->subtransaction != mine)
		return;
	if (event == SUBXACT_EVENT_ABORT_SUB)
	{
		cut(mark);
		deferred->nmarks--;
	}
	else if (event == SUBXACT_EVENT_COMMIT_SUB)
	{
		if (deferred->nmarks > 1 && mark[-1].subtransaction == parent)
			deferred->nmarks--;
		else
			mark->subtransaction = parent;
	}
}

/* Appends what is kept, and forgets it. */
static void
append_all(void)
{
	queen_deferred_append(deferred);
	queen_spool_close(&deferred->spool);
	MemoryContextDelete(deferred->memory);
	deferred = NULL;
}

/* Appends before the commit; forgets at the end, as the memory goes then. */
static void
at_end_of_transaction(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			if (deferred)
				append_all();
			closed = true;
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PREPARE:
		case XACT_EVENT_ABORT:
			deferred = NULL;
			closed = false;
			break;
		default:
			break;
	}
}

/* Has the server call us, from the first message of a session on. */
static void
register_callbacks(void)
{
	static bool registered = false;

	if (registered)
		return;
	RegisterXactCallback(at_end_of_transaction, NULL);
	RegisterSubXactCallback(at_end_of_subtransaction, NULL);
	registered = true;
}

/* Begins to keep messages. */
static void
begin(void)
{
	MemoryContext memory = AllocSetContextCreate(TopTransactionContext,
												 "queen deferred messages",
												 ALLOCSET_DEFAULT_SIZES);
	QueenDeferred *made = MemoryContextAllocZero(memory, sizeof(QueenDeferred));

	register_callbacks();
	made->memory = memory;
	made->schema = get_namespace_oid("queen", false);
	queen_spool_init(&made->spool, memory);
	made->lane_room = 16;
	made->lanes = MemoryContextAlloc(memory, sizeof(QueenDeferredLane *) * made->lane_room);
	made->lane_numbers = make_lane_numbers(memory);
	made->mark_room = 8;
	made->marks = MemoryContextAlloc(memory, sizeof(QueenDeferredMark) * made->mark_room);
	deferred = made;
}

/* Refuses where what is kept could not be appended. */
static void
check_open(void)
{
	if (closed)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot defer a message while the transaction is being committed")));
	if (deferred && deferred->schema != get_namespace_oid("queen", false))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot defer a message to an extension made anew in this transaction"),
				 errdetail("The transaction keeps messages for queues that went with the old one.")));
}

/* Marks the end of the spool where this subtransaction comes for the first time. */
static void
mark_subtransaction(void)
{
	SubTransactionId current = GetCurrentSubTransactionId();
	QueenDeferredMark *mark;

	if (deferred->nmarks > 0 &&
		deferred->marks[deferred->nmarks - 1].subtransaction == current)
		return;
	if (deferred->nmarks == deferred->mark_room)
	{
		deferred->marks = repalloc(deferred->marks,
								   sizeof(QueenDeferredMark) * deferred->mark_room * 2);
		deferred->mark_room *= 2;
	}
	mark = &deferred->marks[deferred->nmarks++];
	mark->subtransaction = current;
	mark->end = queen_spool_end(&deferred->spool);
	mark->records = deferred->records;
	mark->nlanes = deferred->nlanes;
}

/* A lane of these names. Lanes that follow each other share the queue's. */
static QueenDeferredLane *
make_lane(const QueenQueue *queue, const text *partition)
{
	QueenDeferredLane *lane = MemoryContextAllocZero(deferred->memory, sizeof(QueenDeferredLane));
	QueenDeferredLane *last = deferred->nlanes > 0 ? deferred->lanes[deferred->nlanes - 1] : NULL;

	lane->queue_id = queue->queue_id;
	lane->name = copy_name(partition);
	if (last && last->queue_id == queue->queue_id)
		lane->queue_name = last->queue_name;
	else
		lane->queue_name = copy_name(queue->name);
	return lane;
}

/* Adds a lane; the table gets it last, so an error leaves no trace there. */
static uint32
add_lane(const QueenQueue *queue, const text *partition)
{
	QueenDeferredLane *lane = make_lane(queue, partition);
	LaneNumber *entry;

	if (deferred->nlanes == deferred->lane_room)
	{
		deferred->lanes = repalloc_huge(deferred->lanes,
										sizeof(QueenDeferredLane *) * deferred->lane_room * 2);
		deferred->lane_room *= 2;
	}
	entry = hash_search(deferred->lane_numbers, &lane, HASH_ENTER, NULL);
	entry->number = deferred->nlanes;
	deferred->lanes[deferred->nlanes++] = lane;

	return entry->number;
}

/* The number of a lane. */
static uint32
find_lane(const QueenQueue *queue, const text *partition)
{
	QueenDeferredLane wanted = {
		.queue_id = queue->queue_id,
		.name = unconstify(text *, partition)
	};
	const QueenDeferredLane *key = &wanted;
	LaneNumber *entry = hash_search(deferred->lane_numbers, &key, HASH_FIND, NULL);

	return entry ? entry->number : add_lane(queue, partition);
}

/* Bytes of a record, the fixed part not counted. */
Size
queen_deferred_size(const QueenDeferredRecord *record)
{
	return (Size) record->transaction_id_len + record->headers_len + record->payload_len;
}

/* The message of a record. */
QueenMessage
queen_deferred_message(const QueenDeferredRecord *record, const char *bytes)
{
	QueenMessage message = {
		.kind = record->kind,
		.transaction_id = bytes,
		.transaction_id_len = record->transaction_id_len,
		.headers = bytes + record->transaction_id_len,
		.headers_len = record->headers_len,
		.payload = bytes + record->transaction_id_len + record->headers_len,
		.payload_len = record->payload_len
	};

	return message;
}

/* Copies bytes, where there are any, and answers the place behind them. */
static char *
put(char *place, const void *bytes, Size size)
{
	if (size > 0)
		memcpy(place, bytes, size);
	return place + size;
}

/* Copies a message to the end of the spool. */
static void
add_record(uint32 lane, const QueenMessage *message)
{
	QueenDeferredRecord record = {
		.lane = lane,
		.payload_len = message->payload_len,
		.headers_len = message->headers_len,
		.transaction_id_len = message->transaction_id_len,
		.kind = message->kind
	};
	char	   *place = queen_spool_add(&deferred->spool,
										sizeof(record) + queen_deferred_size(&record));

	place = put(place, &record, sizeof(record));
	place = put(place, message->transaction_id, message->transaction_id_len);
	place = put(place, message->headers, message->headers_len);
	put(place, message->payload, message->payload_len);
	deferred->records++;
}

/* Whether the part in memory, with what its append will take, is too large. */
static bool
is_full(void)
{
	uint64		records = deferred->records - deferred->records_below;

	return deferred->spool.used + records * sizeof(QueenMessage) >= (uint64) queen_deferred_buffer * 1024;
}

/* Keeps a message. */
void
queen_deferred_add(const QueenQueue *queue, const text *partition,
				   const QueenMessage *message)
{
	check_open();
	if (deferred == NULL)
		begin();
	mark_subtransaction();
	add_record(find_lane(queue, partition), message);
	if (is_full())
	{
		queen_spool_spill(&deferred->spool);
		deferred->records_below = deferred->records;
	}
}
