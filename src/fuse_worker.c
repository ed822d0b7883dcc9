/*-------------------------------------------------------------------------
 *
 * fuse_worker.c
 *	  The process that appends the fused pushes of a database.
 *
 * It is started by the first caller, takes the seat of its database, runs
 * cycles as long as somebody calls, and leaves when nobody has for
 * queen.fusion_idle, when somebody wants the database for himself, and when
 * the extension is gone. Between cycles it has no transaction and no lock. It
 * works as the server's first superuser; whose request it is and what he may
 * the cycle looks at.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "fuse.h"
#include "fuse_cycle.h"
#include "process.h"
#include "settings.h"

/* Pauses while all that waits is set aside. */
#define SHORTEST_PAUSE_MS 1
#define LONGEST_PAUSE_MS 20

/*
 * A flush from which on the worker waits for callers to come back, how long it
 * does so at most, and how often it looks.
 */
#define SLOW_FLUSH_US 1000
#define LONGEST_GATHERING_US 5000
#define GATHERING_STEP_US 100

static uint32 wait_event = 0;

/* Whether the seat is this worker's; another one may have it once it was emptied. */
static bool seated = false;

PGDLLEXPORT void queen_fusion_worker_main(Datum number);

/* What was taken and not committed is given back before the process is gone. */
static void
leave(int code, Datum number)
{
	AbortOutOfAnyTransaction();
	queen_fusion_give_back();
	if (seated)
		queen_fusion_empty_seat(queen_fusion_seat(DatumGetInt32(number)));
	queen_fusion_wake_all();
}

/* Connects to the database of the seat. */
static void
start(int number)
{
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	pqsignal(SIGINT, queen_fusion_cancel);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(queen_fusion_seat(number)->database, InvalidOid, 0);
	queen_process_pin_settings();
}

/* Sleeps until somebody calls, no longer than so many milliseconds. */
static bool
sleep_for(long ms)
{
	int			event = WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
								  ms, queen_wait_event(&wait_event, "QueenFusionWorker"));

	return (event & WL_LATCH_SET) != 0;
}

/* Adds what has called to what waits. */
static void
collect(QueenSeat *seat, QueenFusionCycle *cycle)
{
	cycle->count = queen_fusion_collect(seat, cycle->slots, cycle->queued, cycle->count);
}

/* How the cycles go. */
typedef struct Pace
{
	TimestampTz ended;			/* the last one */
	int			expected;		/* its callers, and who called meanwhile */
	int64		flush;			/* what a commit takes at least, microseconds */
} Pace;

/*
 * Where a flush takes long, gives the callers of the last cycle time to call
 * again. Without it they part into two halves, one that waits for the disk and
 * one that waits for the next cycle, and each flush serves one of them. Where a
 * flush is fast the processor is what counts, and a worker that sleeps has to
 * wait for it.
 */
static void
gather(QueenSeat *seat, QueenFusionCycle *cycle, const Pace *pace)
{
	TimestampTz until = pace->ended + Min(pace->flush / 2, LONGEST_GATHERING_US);

	if (pace->flush < SLOW_FLUSH_US)
		return;
	while (cycle->count < pace->expected && GetCurrentTimestamp() < until)
	{
		pg_usleep(GATHERING_STEP_US);
		collect(seat, cycle);
	}
}

/*
 * Runs a cycle and remembers how it went. Of what commits take the smallest
 * counts, slowly forgotten: a larger one may be the processor's doing.
 */
static void
run_cycle(QueenSeat *seat, QueenFusionCycle *cycle, Pace *pace)
{
	queen_fusion_cycle(cycle);
	pace->ended = GetCurrentTimestamp();
	if (cycle->answered > 0)
		pace->flush = Min(cycle->commit_took, pace->flush + pace->flush / 16 + 1);
	collect(seat, cycle);
	pace->expected = cycle->answered + cycle->count;
}

/* One round: what waits is worked off, or waited for. False: the worker leaves. */
static bool
work(QueenSeat *seat, QueenFusionCycle *cycle)
{
	static long pause = SHORTEST_PAUSE_MS;
	static Pace last = {0};

	ResetLatch(MyLatch);
	QueryCancelPending = false; /* there is nothing to cancel */
	CHECK_FOR_INTERRUPTS();
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
	collect(seat, cycle);
	if (cycle->count == 0)
	{
		pgstat_report_activity(STATE_IDLE, NULL);
		pgstat_report_stat(true);
		return pg_atomic_read_u32(&seat->leave) == 0 && sleep_for(queen_fusion_idle);
	}
	pgstat_report_activity(STATE_RUNNING, "fused pushes");
	gather(seat, cycle, &last);
	run_cycle(seat, cycle, &last);
	pgstat_report_stat(false);
	if (cycle->answered > 0)
		pause = SHORTEST_PAUSE_MS;
	else if (!sleep_for(pause))
		pause = Min(pause * 2, LONGEST_PAUSE_MS);
	return !cycle->gone;
}

/* The process. Its argument is the number of its seat. */
void
queen_fusion_worker_main(Datum number)
{
	QueenSeat  *seat = queen_fusion_seat(DatumGetInt32(number));
	QueenFusionCycle cycle = {0};

	start(DatumGetInt32(number));
	seated = queen_fusion_take_seat(seat);
	if (!seated)
		proc_exit(0);
	before_shmem_exit(leave, number);
	cycle.slots = MemoryContextAlloc(TopMemoryContext, sizeof(int) * MaxBackends);
	cycle.queued = MemoryContextAllocZero(TopMemoryContext, sizeof(bool) * MaxBackends);
	do
	{
		while (work(seat, &cycle))
			;
		seated = false;
		queen_fusion_empty_seat(seat);
		seated = !cycle.gone && queen_fusion_keep_seat(seat);
	} while (seated);
	proc_exit(0);
}
