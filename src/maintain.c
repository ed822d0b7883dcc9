/*-------------------------------------------------------------------------
 *
 * maintain.c
 *	  One pass of maintenance: the steps, in turn, until all are done or time
 *	  is up.
 *
 * A step is run again and again, each time in a transaction of its own that
 * locks the extension in share mode first and looks whether it still is there:
 * DROP EXTENSION locks it exclusively before anything that belongs to it, so it
 * waits for a step, and no step is in its way. That lock, too, is only tried.
 *
 * What a step fails in, a queue or a partition of it, is held back for some time
 * (hold.c), and the step goes on behind it; where neither is known the step itself
 * is held back, and the others go on. What a pass did is noted where
 * something was done or went wrong, else once a minute: an idle database is
 * hardly written to.
 *
 * What outlives a transaction is in "queen pass", as long as the pass.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_extension.h"
#include "commands/extension.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/lock.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/xid8.h"

#include "due.h"
#include "history.h"
#include "idle.h"
#include "maintain.h"
#include "retention.h"
#include "statement.h"
#include "worker_store.h"

PG_FUNCTION_INFO_V1(queen_maintain_by_hand);

/*
 * How long a pass lasts before the worker leaves the database again. Each step is
 * run so many times all the same: else a machine on which they take long would
 * find the next queue in each pass and never come to work on it.
 */
#define PASS_MS			1000
#define LEAST_ROUNDS	16

/* How often a pass that did nothing is noted. */
#define NOTE_EVERY		(60 * USECS_PER_SEC)

/* Errors in the partitions of one queue in a pass, until that is held back as a whole. */
#define MAX_ERRORS		10

const QueenTask queen_steps[] = {
	{"delayed messages", queen_due_step},
	{"retention", queen_retention_step},
	{"remembered ids", queen_ids_step},
	{"idle partitions", queen_idle_step},
	{"history", queen_history_step},
};
const int	queen_nsteps = lengthof(queen_steps);

StaticAssertDecl(lengthof(queen_steps) <= QUEEN_MAX_STEPS, "a step has no place for its turn");

/* A step in a pass. */
typedef struct StepRun
{
	const QueenTask *step;
	bool		held;			/* back, for all of this pass */
	bool		active;			/* has more to do */
	bool		wraps;			/* began in the middle of the queues, and goes
								 * on at the first */
	bool		failed;
	bool		lost;			/* an error was in no queue */
	int32		failing_queue;	/* errors in the partitions of a queue */
	int			errors;
	QueenPass	pass;
	QueenStepState state;
	QueenStepResult result;
} StepRun;

/* The steps of a pass, none of them begun. */
static StepRun *
begin_runs(QueenWalks *walks)
{
	StepRun    *runs = palloc0(sizeof(StepRun) * queen_nsteps);

	for (int i = 0; i < queen_nsteps; i++)
	{
		runs[i].step = &queen_steps[i];
		runs[i].active = true;
		runs[i].pass.walks = walks;
		runs[i].pass.step = i;
		runs[i].pass.queue_id = walks->first_queue[i];
		runs[i].wraps = walks->first_queue[i] > 0;
	}
	return runs;
}

/* Locks the extension against being dropped; false where it is gone, or goes. */
static bool
lock_extension(void)
{
	Oid			extension = get_extension_oid("queen", true);
	LOCKTAG		tag;

	if (!OidIsValid(extension))
		return false;
	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, ExtensionRelationId, extension, 0);
	if (LockAcquire(&tag, AccessShareLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return false;
	AcceptInvalidationMessages();
	return get_extension_oid("queen", true) == extension;
}

/* Begins a transaction of the worker; false, and none, where queen is gone. */
static bool
begin_transaction(const char *what)
{
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	pgstat_report_activity(STATE_RUNNING, what);
	if (lock_extension())
		return true;
	PopActiveSnapshot();
	AbortCurrentTransaction();
	return false;
}

/* And ends it. */
static void
end_transaction(void)
{
	PopActiveSnapshot();
	CommitTransactionCommand();
	pgstat_report_stat(false);
	pgstat_report_activity(STATE_IDLE, NULL);
}

/* Runs a step once, in the transaction that is open. */
static void
run_step(StepRun *run)
{
	queen_pass_enter(&run->pass, 0, 0);
	queen_begin(NULL);
	run->active = run->step->run(&run->pass, &run->result.done);
	if (!run->active && run->wraps && !run->pass.over)
	{
		run->wraps = false;
		run->active = true;
		run->pass.queue_id = 0;
	}
	queen_end();
}

/* The line of context of an error. */
static void
add_context(void *arg)
{
	const StepRun *run = arg;

	if (run->pass.in_partition != 0)
		errcontext("step \"%s\" of queen's maintenance, queue %d, partition %lld", run->step->name,
				   run->pass.in_queue, (long long) run->pass.in_partition);
	else if (run->pass.in_queue != 0)
		errcontext("step \"%s\" of queen's maintenance, queue %d", run->step->name,
				   run->pass.in_queue);
	else
		errcontext("step \"%s\" of queen's maintenance", run->step->name);
}

/*
 * Holds back what a step failed in. It goes on behind that: in the same queue
 * where it was one of a few partitions, else in the next one.
 */
static void
hold_back(StepRun *run)
{
	QueenPass  *pass = &run->pass;

	if (pass->in_queue == 0)
	{
		run->lost = true;
		run->active = false;
		return;
	}
	if (run->failing_queue != pass->in_queue)
		run->errors = 0;
	run->failing_queue = pass->in_queue;
	if (pass->in_partition != 0)
		queen_hold(pass->walks->holds, pass->step, pass->in_queue, pass->in_partition);
	if (pass->in_partition != 0 && ++run->errors < MAX_ERRORS)
		return;
	queen_hold(pass->walks->holds, pass->step, pass->in_queue, 0);
	pass->rule = 0;
}

/* Logs the error that was caught and keeps it; the transaction is undone. */
static void
take_error(StepRun *run, MemoryContext memory)
{
	ErrorData  *error;

	MemoryContextSwitchTo(memory);
	error = CopyErrorData();
	EmitErrorReport();
	FlushErrorState();
	AbortCurrentTransaction();
	MemoryContextSwitchTo(memory);
	run->result.error = error->message;
	run->result.sqlstate = pstrdup(unpack_sql_state(error->sqlerrcode));
	run->result.context = error->context;
	run->failed = true;
	hold_back(run);
}

/* Runs a step once in a transaction of its own; false where queen is gone. */
static bool
run_alone(StepRun *run, MemoryContext memory)
{
	QueenTally	tally = run->pass.tally;
	QueenOldest oldest = run->pass.walks->oldest;
	int64		done = run->result.done;
	volatile bool here = true;

	PG_TRY();
	{
		ErrorContextCallback callback = {
			.previous = error_context_stack,
			.callback = add_context,
			.arg = run
		};

		error_context_stack = &callback;
		here = begin_transaction(run->step->name);
		if (here)
		{
			run_step(run);
			end_transaction();
		}
		error_context_stack = callback.previous;
	}
	PG_CATCH();
	{
		run->pass.tally = tally;
		run->pass.walks->oldest = oldest;
		run->result.done = done;
		take_error(run, memory);
	}
	PG_END_TRY();

	MemoryContextSwitchTo(memory);
	return here;
}

/* Reads which steps are held back. */
static bool
read_states(StepRun *runs)
{
	if (!begin_transaction("reading the state of the steps"))
		return false;
	queen_begin(NULL);
	for (int i = 0; i < queen_nsteps; i++)
	{
		queen_step_read(runs[i].step->name, &runs[i].state);
		runs[i].held = runs[i].state.not_before > GetCurrentTimestamp();
		runs[i].active = !runs[i].held;
	}
	queen_end();
	end_transaction();
	return true;
}

/* Counts a failure, or forgets the ones before where nothing is held back for them. */
static void
settle(StepRun *run, TimestampTz now)
{
	run->state.not_before = DT_NOBEGIN;
	if (run->lost)
		run->state.not_before = queen_hold_until(run->state.failures, now);
	if (run->failed)
		run->state.failures++;
	else if (!queen_holds_any(run->pass.walks->holds, run->pass.step))
		run->state.failures = 0;
}

/* Whether a row of what a step did is worth writing. */
static bool
is_worth_noting(const StepRun *run, bool was_failing, TimestampTz now)
{
	return run->failed || was_failing || run->result.done > 0 ||
		run->state.noted_at <= now - NOTE_EVERY || run->state.noted_at > now;
}

/* Writes down what became of the steps that were not held back. */
static bool
write_states(StepRun *runs)
{
	TimestampTz now = GetCurrentTimestamp();

	if (!begin_transaction("noting what the steps did"))
		return false;
	queen_begin(NULL);
	for (int i = 0; i < queen_nsteps; i++)
	{
		bool		was_failing = runs[i].state.failures > 0;

		if (runs[i].held)
			continue;
		settle(&runs[i], now);
		if (is_worth_noting(&runs[i], was_failing, now))
			queen_step_write(runs[i].step->name, &runs[i].state, &runs[i].result, now);
	}
	queen_end();
	end_transaction();
	return true;
}

/*
 * Where the next pass begins: with the first queue, or, where time was up, behind
 * the one that was being worked on, so that none is kept from its turn.
 */
static void
keep_turn(StepRun *run, int number, bool over)
{
	run->pass.walks->first_queue[number] = over ? run->pass.queue_id : 0;
}

/* Whether a pass goes on. */
static bool
has_time(int round, TimestampTz end)
{
	return round < LEAST_ROUNDS || GetCurrentTimestamp() < end;
}

/* The steps in turn, until none has more to do or time is up; false where queen is gone. */
static bool
run_all(StepRun *runs, bool *more, MemoryContext memory)
{
	TimestampTz end = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), PASS_MS);
	bool		going_on = true;

	for (int round = 0; going_on && has_time(round, end); round++)
	{
		going_on = false;
		for (int i = 0; i < queen_nsteps; i++)
		{
			CHECK_FOR_INTERRUPTS();
			if (runs[i].active && !run_alone(&runs[i], memory))
				return false;
			going_on |= runs[i].active;
		}
	}
	*more = false;
	for (int i = 0; i < queen_nsteps; i++)
	{
		*more |= runs[i].active && runs[i].result.done > 0;
		keep_turn(&runs[i], i, runs[i].active || runs[i].failed);
		runs[i].pass.over = true;
		if ((runs[i].active || runs[i].failed) && !run_alone(&runs[i], memory))
			return false;
	}
	return true;
}

/* A pass of the worker. */
bool
queen_maintain(QueenWalks *walks, bool *more)
{
	MemoryContext memory = AllocSetContextCreate(TopMemoryContext, "queen pass",
												 ALLOCSET_DEFAULT_SIZES);
	StepRun    *runs;

	MemoryContextSwitchTo(memory);
	walks->next_due_at = DT_NOEND;
	runs = begin_runs(walks);
	return read_states(runs) && run_all(runs, more, memory) && write_states(runs);
}

/* Whether what a transaction did is there, for this session or for all. */
static bool
came_to_be(FullTransactionId transaction)
{
	LOCAL_FCINFO(status, 1);
	Datum		answer;

	if (!FullTransactionIdIsValid(transaction) ||
		TransactionIdIsCurrentTransactionId(XidFromFullTransactionId(transaction)))
		return FullTransactionIdIsValid(transaction);
	InitFunctionCallInfoData(*status, NULL, 1, InvalidOid, NULL, NULL);
	status->args[0].value = FullTransactionIdGetDatum(transaction);
	status->args[0].isnull = false;
	answer = pg_xact_status(status);

	return !status->isnull && strcmp(TextDatumGetCString(answer), "committed") == 0;
}

/*
 * Where the walks of this session stand, so that a call by hand goes on where the
 * one before it ended; anew where that was undone. It looks from the bottom, as
 * what it is called for may have been mended by hand, too.
 */
static QueenWalks *
walks_by_hand(void)
{
	static QueenWalks walks;
	static FullTransactionId moved_by = {0};

	if (!came_to_be(moved_by))
		memset(&walks, 0, sizeof(QueenWalks));
	for (int i = 0; i < QUEEN_WALKS; i++)
		walks.walks[i].marked_at = walks.walks[i].idle_marked_at = 0;
	memset(&walks.oldest, 0, sizeof(QueenOldest));
	moved_by = GetCurrentFullTransactionId();
	return &walks;
}

/*
 * The same in the caller's transaction: an error ends it, nothing is held back
 * and nothing noted. Answers a row for each step.
 */
Datum
queen_maintain_by_hand(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	TimestampTz end = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), PASS_MS);
	StepRun    *runs;

	InitMaterializedSRF(fcinfo, 0);
	queen_begin("queen.maintain()");
	queen_end();
	runs = begin_runs(walks_by_hand());
	for (int i = 0; i < queen_nsteps; i++)
	{
		StepRun    *run = &runs[i];
		Datum		values[3];
		bool		nulls[3] = {false};

		run->pass.by_hand = true;
		for (int round = 0; run->active && has_time(round, end); round++)
		{
			CHECK_FOR_INTERRUPTS();
			run_step(run);
		}
		values[2] = BoolGetDatum(run->active);
		keep_turn(run, i, run->active);
		run->pass.over = true;
		if (run->active)
			run_step(run);
		values[0] = CStringGetTextDatum(run->step->name);
		values[1] = Int64GetDatum(run->result.done);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
