/*-------------------------------------------------------------------------
 *
 * pop.c
 *	  queen.pop.
 *
 * Candidates come from the hints in shared memory (search.c). Where there are
 * none they are found by a walk over the queue's partitions, without a lock;
 * claim.c takes them. The walk begins where this session's last pop of the
 * group ended, at first anywhere, so that partitions take turns. Partitions in
 * which this very call completed a lease come last: they had their turn.
 *
 * A call that may wait looks again, in its own transaction, when there may be
 * something (waiting.c): with the newest snapshot, and with the locks of its
 * queue and group, so whoever drops or seeks them waits for it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "arguments.h"
#include "candidate_store.h"
#include "check.h"
#include "claim.h"
#include "compat.h"
#include "group.h"
#include "queue.h"
#include "schedule.h"
#include "search.h"
#include "settings.h"
#include "shmem.h"
#include "statement.h"
#include "waiting.h"

#define MAX_BATCH			1000000

/* Candidates are asked for by the one first: often it has all that is wanted. */
#define MANY_CANDIDATES		64

/* A pop that got nothing as others were quicker looks again, this often. */
#define MAX_ROUNDS			8

PG_FUNCTION_INFO_V1(queen_pop);

/* Where the last walk of a group ended in this session: a hint, may be stale. */
typedef struct Turn
{
	int32		group_id;
	int64		partition_id;
} Turn;

/* Lives as long as the session; one entry a group that was popped. */
static HTAB *turns = NULL;

/* Finds the entry of a group, or makes it. */
static Turn *
find_turn(int32 group_id, bool *found)
{
	if (turns == NULL)
	{
		HASHCTL		control = {
			.keysize = sizeof(int32),
			.entrysize = sizeof(Turn),
			.hcxt = TopMemoryContext
		};

		turns = hash_create("queen turns of pop", 16, &control,
							HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	return hash_search(turns, &group_id, HASH_ENTER, found);
}

/* Where the walk begins: after this partition. */
static int64
first_turn(const QueenPop *pop)
{
	bool		found;
	Turn	   *turn = find_turn(pop->group->group_id, &found);
	int64		first;
	int64		last;

	if (!found)
	{
		turn->partition_id = 0;
		if (queen_partition_range(pop->queue->queue_id, &first, &last))
			turn->partition_id = first - 1 +
				(int64) pg_prng_uint64_range(&pg_global_prng_state, 0, last - first);
	}
	return turn->partition_id;
}

/* Claims what looks ready in (after, through]; remembers where it ended. */
static void
walk(QueenPop *pop, int64 after, int64 through)
{
	QueenCandidateSearch search = {
		.queue_id = pop->queue->queue_id,
		.group_id = pop->group->group_id,
		.now = pop->now,
		.subscription_from = pop->group->subscription_from,
		.delivery_delay = pop->queue->delivery_delay
	};
	int64		candidates[MANY_CANDIDATES];
	int			limit = 1;
	bool		known;
	TimestampTz at;
	Turn	   *turn = find_turn(search.group_id, &known);

	while (queen_pop_has_budget(pop))
	{
		int			found = queen_partition_candidates(&search, after, through, candidates, limit);
		int			tried = 0;

		while (tried < found && queen_pop_has_budget(pop))
		{
			/* Even a partition that cannot be read has had its turn. */
			turn->partition_id = after = candidates[tried++];
			queen_claim(pop, after, &at);
		}
		if (tried < found)
			break;
		if (found < limit)
		{
			/* Nothing is left above: the next walk begins at the bottom. */
			if (through == PG_INT64_MAX)
				turn->partition_id = 0;
			break;
		}
		limit = Min(limit * 8, MANY_CANDIDATES);
	}
}

/* A partition that the hints name. */
static QueenVisit
visit(void *context, int64 partition_id, TimestampTz *at)
{
	return queen_claim(context, partition_id, at);
}

static bool
goes_on(void *context)
{
	return queen_pop_has_budget(context);
}

/* Claims what shared memory says is ready; false where it knows nothing. */
static bool
follow_hints(QueenPop *pop)
{
	QueenSearch search = {
		.queue = pop->queue,
		.group = pop->group,
		.now = pop->now,
		.visit = visit,
		.goes_on = goes_on,
		.context = pop
	};

	if (!queen_search(&search))
		return false;
	pop->stale = search.overtaken;
	pop->soonest = Min(pop->soonest, queen_ready_soonest(&search.key));
	pop->left_some = queen_ready_any(&search.key);
	return true;
}

/* One round over all partitions, begun where the last one ended. */
static void
walk_everywhere(QueenPop *pop)
{
	int64		start = first_turn(pop);

	walk(pop, start, PG_INT64_MAX);
	walk(pop, 0, start);
	pop->left_some = !queen_pop_has_budget(pop);
}

/* What is ready, then the partitions whose lease this call completed. */
static void
look_everywhere(QueenPop *pop)
{
	TimestampTz at;

	pop->now = GetCurrentTimestamp();
	pop->stale = false;
	pop->hinted = follow_hints(pop);
	if (!pop->hinted)
		walk_everywhere(pop);
	for (int i = 0; i < pop->nheld && queen_pop_has_budget(pop); i++)
	{
		if (pop->held[i].place && pop->held[i].place->changed)
			queen_claim(pop, pop->held[i].partition_id, &at);
	}
}

/* Completes the leases of the ack argument; their cursors are written later. */
static void
complete_leases(QueenPop *pop, bool strict)
{
	queen_leases_open_within(pop->held, pop->nheld, pop->queue, pop->group);
	for (int i = 0; i < pop->nheld; i++)
	{
		switch (queen_lease_state(&pop->held[i]))
		{
			case QUEEN_LEASE_LIVE:
				queen_lease_complete(pop->held[i].place);
				break;
			case QUEEN_LEASE_COMPLETED:
				break;
			case QUEEN_LEASE_LOST:
				queen_lease_report_lost(&pop->held[i], strict ? ERROR : WARNING);
				break;
		}
	}
}

/* Claims what the call may take, of one partition or of all. */
static void
claim_all(QueenPop *pop, text *partition_name)
{
	pop->soonest = DT_NOEND;
	queen_schedule_deliver(pop->queue, QUEEN_DELIVER_LIMIT);
	if (partition_name)
	{
		QueenPartition partition;
		TimestampTz at;

		pop->now = GetCurrentTimestamp();
		if (queen_partition_by_name(pop->queue->queue_id, partition_name, &partition))
			queen_claim(pop, partition.partition_id, &at);
		pop->named = true;
	}
	else
	{
		for (int round = 0; round < MAX_ROUNDS; round++)
		{
			look_everywhere(pop);
			if (pop->delivered > 0 || !pop->stale)
				break;
		}
	}
	for (int i = 0; i < pop->nheld; i++)
	{
		if (pop->held[i].place)
			queen_place_write(pop->held[i].place);
	}
}

/* When time alone may bring something that is in the log, as far as a look at all partitions knows. */
static TimestampTz
find_soonest_kept(const QueenPop *pop, bool all)
{
	QueenCandidateSearch search = {
		.queue_id = pop->queue->queue_id,
		.group_id = pop->group->group_id,
		.now = pop->now
	};

	if (!all || pop->hinted || !queen_preloaded() || pop->soonest != DT_NOEND)
		return pop->soonest;
	return queen_partition_soonest(&search);
}

/* The same, and what comes into the log only then. */
static TimestampTz
find_soonest(const QueenPop *pop, bool all)
{
	TimestampTz kept = find_soonest_kept(pop, all);

	return queen_preloaded() ? Min(kept, queen_schedule_soonest(pop->queue)) : kept;
}

/* Claims; where nothing is there, again when something may be, until the time is over. */
static void
claim_in_time(QueenPop *pop, text *partition_name, int64 timeout)
{
	QueenWaitKey key = {.queue_id = pop->queue->queue_id, .group_id = pop->group->group_id};
	QueenPartition partition;
	QueenWait	wait;

	if (partition_name &&
		queen_partition_by_name(pop->queue->queue_id, partition_name, &partition))
		key.partition_id = partition.partition_id;
	queen_wait_begin(&wait, &key, GetCurrentTimestamp() + timeout);
	PG_TRY();
	{
		do
			claim_all(pop, partition_name);
		while (pop->delivered == 0 &&
			   queen_wait_sleep(&wait, find_soonest(pop, partition_name == NULL), pop->hinted));
	}
	PG_FINALLY();
	{
		queen_wait_end(&wait, pop->delivered > 0);
	}
	PG_END_TRY();
}

/* Tells the next one who waits, where this call left something to others. */
static void
pass_on(const QueenPop *pop)
{
	bool		told = queen_wake_settle(pop->queue->queue_id, pop->group->group_id);

	if ((pop->delivered > 0 && pop->left_some) || (pop->named && told))
		queen_wake_group(pop->queue->queue_id, pop->group->group_id, 0);
}

/* Counts the call; one that found nothing counts whatever becomes of the transaction. */
static void
count_call(const QueenPop *pop)
{
	int32		queue_id = pop->queue->queue_id;
	int32		group_id = pop->group->group_id;

	if (pop->delivered > 0)
	{
		queen_count(queue_id, group_id, QUEEN_COUNT_POPS, 1);
		return;
	}
	queen_count_now(queue_id, group_id, QUEEN_COUNT_POPS, 1);
	queen_count_now(queue_id, group_id, QUEEN_COUNT_EMPTY_POPS, 1);
}

/* How long a call waits: what it asks for, but no longer than the setting allows. */
static int64
take_wait(FunctionCallInfo fcinfo, int number)
{
	if (PG_ARGISNULL(number))
		return 0;
	return Min(queen_check_interval(PG_GETARG_INTERVAL_P(number), true, "wait"),
			   queen_max_pop_wait * INT64CONST(1000));
}

/* The limits of a call. */
static void
take_limits(FunctionCallInfo fcinfo, QueenPop *pop)
{
	pop->messages_left = DatumGetInt32(queen_required(fcinfo, 2, "batch"));
	queen_check_range(pop->messages_left, 1, MAX_BATCH, "batch");
	pop->messages_left = Min(pop->messages_left, queen_max_batch);
	pop->lease = 0;
	if (!PG_ARGISNULL(4))
		pop->lease = queen_check_interval(PG_GETARG_INTERVAL_P(4), false, "lease_time");
	pop->auto_ack = DatumGetBool(queen_required(fcinfo, 5, "auto_ack"));
	pop->partitions_left = DatumGetInt32(queen_required(fcinfo, 8, "max_partitions"));
	queen_check_range(pop->partitions_left, 1, PG_INT32_MAX, "max_partitions");
	pop->bytes_left = PG_INT64_MAX;
	if (!PG_ARGISNULL(9))
	{
		pop->bytes_left = PG_GETARG_INT64(9);
		queen_check_range(pop->bytes_left, 1, PG_INT64_MAX, "max_bytes");
	}
}

/* Hands out messages. */
Datum
queen_pop(PG_FUNCTION_ARGS)
{
	text	   *queue_name = queen_name_argument(fcinfo, 0, "queue");
	text	   *group_name = queen_name_argument(fcinfo, 1, "consumer_group");
	text	   *partition_name = queen_optional_name_argument(fcinfo, 3, "partition");
	QueenSubscription subscription = queen_subscription_arguments(fcinfo, 6, 7);
	bool		strict = DatumGetBool(queen_required(fcinfo, 11, "strict_ack"));
	int64		timeout = take_wait(fcinfo, 12);
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	QueenPop	pop = {.delivered = 0};
	bool		made;

	take_limits(fcinfo, &pop);
	if (!PG_ARGISNULL(10))
		pop.held = queen_leases_argument(fcinfo, 10, "ack", &pop.nheld);
	InitMaterializedSRF(fcinfo, 0);
	pop.rows = result->setResult;
	pop.descriptor = result->setDesc;
	pop.row_memory = AllocSetContextCreate(CurrentMemoryContext, "queen row of pop",
										   ALLOCSET_DEFAULT_SIZES);

	queen_begin("queen.pop()");
	pop.queue = queen_queue_open(queue_name, QUEEN_PRIVILEGE_POP);
	if (pop.queue->paused)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("queue \"%s\" is paused", text_to_cstring(queue_name)),
				 errhint("queen.resume_queue() ends the pause.")));
	if (pop.lease == 0)
		pop.lease = pop.queue->lease;
	pop.group = queen_group_open(pop.queue, group_name, &subscription, ShareLock, false, &made);
	complete_leases(&pop, strict);
	if (timeout > 0)
		claim_in_time(&pop, partition_name, timeout);
	else
		claim_all(&pop, partition_name);
	pass_on(&pop);
	count_call(&pop);
	queen_end();

	MemoryContextDelete(pop.row_memory);
	return (Datum) 0;
}
