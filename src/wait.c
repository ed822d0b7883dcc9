/*-------------------------------------------------------------------------
 *
 * wait.c
 *	  queen.wait.
 *
 * A procedure, since it commits: what the session did before, and each look of
 * its own. Between looks it sleeps in a transaction that has done nothing: it
 * has no snapshot, so it holds back no vacuum, and no lock, so it is in nobody's
 * way. It takes nothing: who is told that there is something pops, and may find
 * that another session was faster.
 *
 * Procedures that commit cannot have a SET clause, so search_path is pinned here,
 * for each look; else saved plans would be made again for each caller's path.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "candidate_store.h"
#include "check.h"
#include "compat.h"
#include "group.h"
#include "locks.h"
#include "queue.h"
#include "schedule.h"
#include "search.h"
#include "settings.h"
#include "shmem.h"
#include "statement.h"
#include "waiting.h"

PG_FUNCTION_INFO_V1(queen_wait);

/* Candidates that one look tries; where all are locked it looks again soon. */
#define MAX_CANDIDATES 64

/* One call. */
typedef struct Call
{
	text	   *queue_name;
	text	   *group_name;
	MemoryContext memory;		/* of a look */
	QueenWait	wait;
	bool		begun;
	QueenQueue *queue;			/* inside a look */
	QueenGroup	group;
	QueenCandidateSearch candidates;
	TimestampTz soonest;		/* when time alone may bring something */
	bool		hinted;			/* shared memory knows the group */
	bool		found;
} Call;

/* Refuses to run where it could not commit. */
static void
check_can_commit(FunctionCallInfo fcinfo)
{
	if (fcinfo->context == NULL || !IsA(fcinfo->context, CallContext) ||
		((CallContext *) fcinfo->context)->atomic || IsSubTransaction())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("queen.wait() cannot run inside a transaction block"),
				 errhint("CALL it on its own, or wait for a short time by queen.pop(..., wait => ...).")));
}

/* The group by its name; what a pop would register where there is none. */
static QueenGroup
find_group(const Call *call, const QueenQueue *queue)
{
	QueenGroup *group = queen_group_by_name(queue->queue_id, call->group_name);
	QueenGroup	unregistered = {0};

	if (group)
		return *group;
	unregistered.queue_id = queue->queue_id;
	unregistered.subscription_from = DT_NOBEGIN;
	return unregistered;
}

/* Stands for a group that is not registered among those who wait. */
static int32
name_key(const text *name)
{
	uint32		hash = hash_bytes((const unsigned char *) VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));

	return -1 - (int32) (hash >> 1);
}

/* Whether nobody has the cursor of a candidate just now. */
static bool
is_unlocked(const QueenGroup *group, int64 partition_id)
{
	if (group->group_id == 0)
		return true;
	if (!queen_try_lock_cursor(partition_id, group->number))
		return false;
	queen_unlock_cursor(partition_id, group->number);
	return true;
}

/* Looks at all partitions of the queue. */
static bool
look_everywhere(Call *call)
{
	QueenCandidateSearch search = call->candidates;
	int64		candidates[MAX_CANDIDATES];
	int			found = queen_partition_candidates(&search, 0, PG_INT64_MAX, candidates, MAX_CANDIDATES);

	for (int i = 0; i < found; i++)
	{
		if (is_unlocked(&call->group, candidates[i]))
			return true;
	}
	if (found > 0)
		call->soonest = search.now + QUEEN_PASSED_OVER_US;
	else if (queen_preloaded())
		call->soonest = queen_partition_soonest(&search);
	return false;
}

/* A partition that the hints name: what does a pop find there? */
static QueenVisit
visit(void *context, int64 partition_id, TimestampTz *at)
{
	Call	   *call = context;
	QueenOutlook outlook;

	if (queen_partition_outlook(&call->candidates, partition_id - 1, partition_id, &outlook, 1) == 0)
		return QUEEN_VISIT_NOTHING;
	*at = outlook.at;
	if (outlook.at > call->candidates.now)
		return QUEEN_VISIT_LATER;
	if (!is_unlocked(&call->group, partition_id))
	{
		call->soonest = call->candidates.now + QUEEN_PASSED_OVER_US;
		return QUEEN_VISIT_LOCKED;
	}
	call->found = true;
	return QUEEN_VISIT_LEFT;
}

/* One that is free is enough. */
static bool
goes_on(void *context)
{
	return !((Call *) context)->found;
}

/* Looks where shared memory says; false where it knows nothing of the group. */
static bool
follow_hints(Call *call)
{
	QueenSearch search = {
		.queue = call->queue,
		.group = &call->group,
		.now = call->candidates.now,
		.visit = visit,
		.goes_on = goes_on,
		.context = call
	};

	if (call->group.group_id == 0 || !queen_search(&search))
		return false;
	call->soonest = Min(call->soonest, queen_ready_soonest(&search.key));
	return true;
}

/* What the look asks the tables. */
static QueenCandidateSearch
search_of(const QueenQueue *queue, const QueenGroup *group)
{
	QueenCandidateSearch search = {
		.queue_id = group->queue_id,
		.group_id = group->group_id,
		.now = GetCurrentTimestamp(),
		.subscription_from = group->subscription_from,
		.delivery_delay = queue->delivery_delay
	};

	return search;
}

/* Whether something can be popped. */
static void
look(Call *call)
{
	QueenQueue *queue = queen_queue_open(call->queue_name, QUEEN_PRIVILEGE_POP);
	QueenWaitKey key = {.queue_id = queue->queue_id};

	call->queue = queue;
	call->group = find_group(call, queue);
	key.group_id = call->group.group_id != 0 ? call->group.group_id : name_key(call->group_name);
	if (!call->begun)
		queen_wait_begin(&call->wait, &key, call->wait.until);
	call->begun = true;
	if (queue->queue_id != call->wait.key.queue_id)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("queue \"%s\" was dropped, and made again",
						text_to_cstring(call->queue_name))));
	queen_wait_follow(&call->wait, key.group_id);
	call->soonest = DT_NOEND;
	call->found = false;
	if (!queue->paused)
		queen_schedule_deliver(queue, QUEEN_DELIVER_LIMIT);
	call->candidates = search_of(queue, &call->group);
	call->hinted = !queue->paused && follow_hints(call);
	if (!queue->paused && !call->hinted)
		call->found = look_everywhere(call);
	if (!queue->paused && !call->found)
		call->soonest = Min(call->soonest, queen_schedule_soonest(queue));
}

/* One look, a transaction of its own, with a snapshot for the bodies that it moves. */
static void
look_and_commit(Call *call)
{
	int			level = NewGUCNestLevel();
	MemoryContext before = MemoryContextSwitchTo(call->memory);

	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	PushActiveSnapshot(GetTransactionSnapshot());
	queen_begin("queen.wait()");
	look(call);
	queen_end();
	PopActiveSnapshot();
	AtEOXact_GUC(true, level);
	MemoryContextSwitchTo(before);
	SPI_commit();
	MemoryContextReset(call->memory);
}

/* Looks and sleeps until there is something, or the time is over. */
static pg_noinline void
look_and_sleep(Call *call)
{
	do
		look_and_commit(call);
	while (!call->found && queen_wait_sleep(&call->wait, call->soonest, call->hinted));
}

/* Ends a wait that has begun; what it was woken for it may have taken. */
static void
end_wait(Call *call, bool taken)
{
	if (call->begun)
		queen_wait_end(&call->wait, taken);
}

/* The same, and whatever comes, the wait ends. */
static void
wait_for_something(Call *call)
{
	PG_TRY();
	{
		look_and_sleep(call);
	}
	PG_CATCH();
	{
		end_wait(call, false);
		PG_RE_THROW();
	}
	PG_END_TRY();
	end_wait(call, call->found);
	if (call->found && queen_preloaded())
		queen_wake_owe(&call->wait.key);
}

/* The answer: a row of one column. */
static Datum
make_answer(bool ready)
{
	TupleDesc	descriptor = CreateTemplateTupleDesc(1);
	Datum		value = BoolGetDatum(ready);
	bool		null = false;

	TupleDescInitEntry(descriptor, 1, "ready", BOOLOID, -1, 0);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), &value, &null));
}

/* Waits until a group can pop something of a queue. */
Datum
queen_wait(PG_FUNCTION_ARGS)
{
	Call		call = {0};
	int64		timeout;

	check_can_commit(fcinfo);
	call.queue_name = queen_name_argument(fcinfo, 0, "queue");
	call.group_name = queen_name_argument(fcinfo, 1, "consumer_group");
	timeout = queen_check_interval(DatumGetIntervalP(queen_required(fcinfo, 2, "timeout")),
								   true, "timeout");
	call.wait.until = GetCurrentTimestamp() + timeout;

	if (SPI_connect_ext(SPI_OPT_NONATOMIC) != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	SPI_commit();
	call.memory = AllocSetContextCreate(CurrentMemoryContext, "queen wait", ALLOCSET_DEFAULT_SIZES);
	wait_for_something(&call);
	SPI_finish();

	PG_RETURN_DATUM(make_answer(call.found));
}
