/*-------------------------------------------------------------------------
 *
 * worker.c
 *	  A worker's visit to one database, and the registration of the launcher.
 *
 * A worker takes its place, looks whether the extension is there and whether
 * it is wanted, does one pass, and leaves. It waits for nobody: queen's locks
 * are tried, other locks are waited for no longer than lock_timeout, so that a
 * statement that wants the database empty is not held up. SIGTERM ends it
 * anywhere; the step that ran rolls back.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "process.h"
#include "worker.h"
#include "worker_store.h"

static bool preloaded = false;

/* Whether the server loaded the library at its start, with the launcher. */
bool
queen_worker_preloaded(void)
{
	return preloaded;
}

/* What both ways to start the launcher have in common. */
static void
describe_launcher(BackgroundWorker *worker, bool stands_alone)
{
	memset(worker, 0, sizeof(BackgroundWorker));
	strlcpy(worker->bgw_name, "queen launcher", BGW_MAXLEN);
	strlcpy(worker->bgw_type, "queen launcher", BGW_MAXLEN);
	worker->bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker->bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker->bgw_restart_time = 1;
	strlcpy(worker->bgw_library_name, "queen", sizeof(worker->bgw_library_name));
	strlcpy(worker->bgw_function_name, "queen_launcher_main", sizeof(worker->bgw_function_name));
	worker->bgw_main_arg = BoolGetDatum(stands_alone);
}

/* Called when the library is preloaded. A cluster that is being upgraded is left alone. */
void
queen_worker_register(void)
{
	BackgroundWorker worker;

	if (IsBinaryUpgrade)
		return;
	preloaded = true;
	describe_launcher(&worker, false);
	RegisterBackgroundWorker(&worker);
}

/* Starts a launcher where none was preloaded; false where no slot is free. */
bool
queen_launcher_start(void)
{
	BackgroundWorker worker;
	BackgroundWorkerHandle *handle;
	pid_t		pid;

	describe_launcher(&worker, true);
	worker.bgw_notify_pid = MyProcPid;
	return RegisterDynamicBackgroundWorker(&worker, &handle) &&
		WaitForBackgroundWorkerStartup(handle, &pid) != BGWH_POSTMASTER_DIED;
}

/*
 * Whether queen is here, and wants work to be done. In this order: a restore may
 * end between the questions, and what it brought says whether the worker is stopped.
 */
static QueenVisitEnd
look_around(void)
{
	QueenVisitEnd found = QUEEN_VISIT_DONE;

	StartTransactionCommand();
	if (!OidIsValid(get_extension_oid("queen", true)))
		found = QUEEN_VISIT_ABSENT;
	else if (!queen_database_is_in_use() || queen_worker_is_stopped())
		found = QUEEN_VISIT_STOPPED;
	CommitTransactionCommand();

	return found;
}

/* A visit, and how it ended. */
static QueenVisitEnd
visit(Oid database, QueenWalks *walks)
{
	QueenVisitEnd found;
	bool		more;

	if (!queen_process_begin(QUEEN_WORKER, database))
		return QUEEN_VISIT_AWAY;
	found = look_around();
	if (found != QUEEN_VISIT_DONE)
		return found;
	if (!queen_maintain(walks, &more))
		return QUEEN_VISIT_ABSENT;
	return more ? QUEEN_VISIT_MORE : QUEEN_VISIT_DONE;
}

/* The process. */
void
queen_worker_main(Datum arg)
{
	QueenOrders orders;
	dsm_segment *segment;
	QueenPost  *post;

	memcpy(&orders, MyBgworkerEntry->bgw_extra, sizeof(orders));
	pqsignal(SIGTERM, die);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	BackgroundWorkerUnblockSignals();
	segment = dsm_attach(orders.posts);
	if (segment == NULL)
		proc_exit(0);			/* the launcher has ended */
	dsm_pin_mapping(segment);
	post = (QueenPost *) dsm_segment_address(segment) + orders.post;

	BackgroundWorkerInitializeConnectionByOid(orders.database, InvalidOid, 0);
	queen_process_pin_settings();
	SetConfigOption("synchronous_commit", "off", PGC_SUSET, PGC_S_OVERRIDE);
	pgstat_report_appname("queen worker");
	post->visit = visit(orders.database, &post->walks);
	proc_exit(0);
}
