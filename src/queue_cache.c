/*-------------------------------------------------------------------------
 *
 * queue_cache.c
 *	  Queues and their grants, as this session last read them.
 *
 * Every call needs the row of its queue, and of whom it was granted to; both
 * seldom change. So a session keeps them, and forgets all when any row of the
 * two tables changes: a trigger of theirs, which no session can switch off,
 * invalidates the table's entry in the server's relation cache. That reaches
 * the other sessions when the change commits and before its locks are released,
 * this one at the next command and again when it is rolled back, and
 * knows of savepoints, prepared transactions, standbys and whoever changes
 * rows by hand. Here it is only listened to.
 *
 * Memory: a place for each of some queues, by number, in TopMemoryContext. What
 * is answered is the caller's copy, as anything may make a session forget.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "commands/trigger.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "compat.h"
#include "queue_cache.h"
#include "relation.h"

PG_FUNCTION_INFO_V1(queen_queue_changed);

#define KEPT_QUEUES 64

typedef struct KeptQueue
{
	QueenQueue *queue;			/* NULL: none is kept */
	QueenGrant *grants;			/* NULL: not read yet */
	int			ngrants;
} KeptQueue;

static KeptQueue kept[KEPT_QUEUES];

/* The tables that they come from. */
static Oid	queue_table = InvalidOid;
static Oid	grant_table = InvalidOid;

/* Counts how often all was forgotten. */
static uint64 generation = 0;

/* Empties a place. */
static void
clear_place(KeptQueue *keep)
{
	if (keep->queue)
		pfree(keep->queue);
	if (keep->grants)
		pfree(keep->grants);
	memset(keep, 0, sizeof(KeptQueue));
}

/* A row of a table has changed, or any of any table (InvalidOid). */
static void
forget(Datum argument, Oid table)
{
	if (OidIsValid(table) && table != queue_table && table != grant_table)
		return;
	for (int i = 0; i < KEPT_QUEUES; i++)
		clear_place(&kept[i]);
	generation++;
}

/* Asks to be told of changes, once in a session. */
static void
listen_to_changes(void)
{
	static bool listening = false;

	if (!listening)
		CacheRegisterRelcacheCallback(forget, (Datum) 0);
	listening = true;
}

/* A copy in one piece. */
static QueenQueue *
copy_queue(const QueenQueue *queue, MemoryContext memory)
{
	Size		name_size = VARSIZE_ANY(queue->name);
	QueenQueue *copy = MemoryContextAlloc(memory, MAXALIGN(sizeof(QueenQueue)) + name_size);

	*copy = *queue;
	copy->name = (text *) ((char *) copy + MAXALIGN(sizeof(QueenQueue)));
	memcpy(copy->name, queue->name, name_size);

	return copy;
}

/* Reads a queue, and keeps it unless something changed since before it was read. */
static QueenQueue *
read_queue(int32 queue_id, KeptQueue *keep)
{
	uint64		before;
	QueenQueue *queue;

	listen_to_changes();
	queue_table = queen_find_relation("queue");
	grant_table = queen_find_relation("queue_grant");
	before = generation;
	queue = queen_queue_by_id(queue_id);
	if (queue == NULL || generation != before)
		return queue;
	clear_place(keep);
	keep->queue = copy_queue(queue, TopMemoryContext);

	return queue;
}

/* The place of a queue; what has changed up to now is forgotten. */
static KeptQueue *
find_place(int32 queue_id)
{
	CommandCounterIncrement();
	AcceptInvalidationMessages();
	return &kept[(uint32) queue_id % KEPT_QUEUES];
}

/* Whether a queue is kept in its place. */
static bool
is_kept(const KeptQueue *keep, int32 queue_id)
{
	return keep->queue != NULL && keep->queue->queue_id == queue_id;
}

/* The queue of an id, or NULL. */
QueenQueue *
queen_queue_cached(int32 queue_id)
{
	KeptQueue  *keep = find_place(queue_id);

	if (is_kept(keep, queue_id))
		return copy_queue(keep->queue, CurrentMemoryContext);
	return read_queue(queue_id, keep);
}

/* A copy of some grants. */
static QueenGrant *
copy_grants(const QueenGrant *grants, int count, MemoryContext memory)
{
	QueenGrant *copy = MemoryContextAlloc(memory, sizeof(QueenGrant) * (count + 1));

	return memcpy(copy, grants, sizeof(QueenGrant) * count);
}

/* Whom a queue was granted to; kept where the queue is. */
QueenGrant *
queen_grants_cached(int32 queue_id, int *count)
{
	KeptQueue  *keep = find_place(queue_id);
	uint64		before = generation;
	QueenGrant *grants;

	if (is_kept(keep, queue_id) && keep->grants)
	{
		*count = keep->ngrants;
		return copy_grants(keep->grants, keep->ngrants, CurrentMemoryContext);
	}
	grants = queen_grants_read(queue_id, count);
	if (is_kept(keep, queue_id) && generation == before)
	{
		keep->grants = copy_grants(grants, *count, TopMemoryContext);
		keep->ngrants = *count;
	}
	return grants;
}

/* The trigger: everybody forgets what he kept of this table. */
Datum
queen_queue_changed(PG_FUNCTION_ARGS)
{
	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("queen._queue_changed() is called by triggers only")));
	CacheInvalidateRelcache(((TriggerData *) fcinfo->context)->tg_relation);
	PG_RETURN_POINTER(NULL);
}
