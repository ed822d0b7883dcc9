/*-------------------------------------------------------------------------
 *
 * launcher.c
 *	  The launcher: sends a worker to each database that has queen.
 *
 * It is connected to no database, so it is never in the way of one that is to
 * be dropped, and reads pg_database, which all databases share. Which of them
 * have the extension only a worker that goes there can see: those that have
 * not are visited seldom. What a worker found, and where its walks stand, is in
 * dynamic shared memory that the launcher owns: hints, which a restart forgets.
 *
 * "In" is a database in which a worker is. The entries of databases, and the
 * handles of workers, live in "queen launcher", as long as the process.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/procsignal.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "process.h"
#include "settings.h"
#include "soon.h"
#include "worker.h"

/* The shortest pause between two visits, where delayed messages are due soon. */
#define MIN_PAUSE_MS	200

/* The longest pause between two visits where there is no queen, or they fail. */
#define MAX_PAUSE_MS	60000

typedef struct Database
{
	Oid			oid;
	char		name[NAMEDATALEN];
	bool		listed;			/* still there, and to be served */
	bool		visited;		/* and looked at, since we know it */
	bool		has_queen;		/* at the last visit */
	int			misses;			/* visits in a row for nothing, or that failed */
	TimestampTz due;			/* of the next visit */
	TimestampTz ended_at;		/* the last one */
	bool		due_soon;		/* something came while a worker was there */
	bool		anew;			/* as if new, said while one was there */
	BackgroundWorkerHandle *in; /* NULL: no worker is there */
	int			post;
} Database;

static MemoryContext memory;
static List *databases = NIL;
static QueenPost *posts;
static dsm_handle posts_handle;
static bool stands_alone;		/* was started by SQL, and ends where no
								 * database has queen */
static volatile sig_atomic_t look_again = false;
static volatile sig_atomic_t due_soon = false;

/* Somebody changed what a visit would find. */
static void
handle_look_again(SIGNAL_ARGS)
{
	look_again = true;
	SetLatch(MyLatch);
}

/* Somebody has committed what is due before the next visit. */
static void
handle_due_soon(SIGNAL_ARGS)
{
	due_soon = true;
	SetLatch(MyLatch);
}

/* Connects, and takes the launcher's place; does not return where it is taken. */
static void
take_place(void)
{
	pqsignal(SIGTERM, die);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(QUEEN_LOOK_SIGNAL, handle_look_again);
	pqsignal(QUEEN_DUE_SIGNAL, handle_due_soon);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	if (!queen_process_begin(QUEEN_LAUNCHER, InvalidOid))
		proc_exit(stands_alone ? 0 : 1);
}

/* Makes what the launcher and its workers share. */
static void
make_posts(void)
{
	dsm_segment *segment = dsm_create(sizeof(QueenPost) * QUEEN_POSTS, 0);

	dsm_pin_mapping(segment);
	posts_handle = dsm_segment_handle(segment);
	posts = dsm_segment_address(segment);
	memset(posts, 0, sizeof(QueenPost) * QUEEN_POSTS);
}

/* The entry of a database, made where it is new. */
static Database *
find_database(Oid oid)
{
	Database   *database;
	ListCell   *cell;

	foreach(cell, databases)
	{
		database = lfirst(cell);
		if (database->oid == oid)
			return database;
	}
	database = MemoryContextAllocZero(memory, sizeof(Database));
	database->oid = oid;
	database->post = -1;
	databases = lappend(databases, database);

	return database;
}

/* Notes a row of pg_database. */
static void
take_database(Form_pg_database row)
{
	MemoryContext caller;
	Database   *database;

	if (!row->datallowconn || row->datconnlimit < -1 ||
		!queen_serves_database(NameStr(row->datname), row->datistemplate))
		return;
	caller = MemoryContextSwitchTo(memory);
	database = find_database(row->oid);
	database->listed = true;
	strlcpy(database->name, NameStr(row->datname), NAMEDATALEN);
	MemoryContextSwitchTo(caller);
}

/* Forgets the databases that are not there any more. */
static void
forget_databases(void)
{
	ListCell   *cell;

	foreach(cell, databases)
	{
		Database   *database = lfirst(cell);

		if (database->listed || database->in)
			continue;
		databases = foreach_delete_current(databases, cell);
		pfree(database);
	}
}

/* Brings the entries up to date with pg_database. */
static void
list_databases(void)
{
	ListCell   *cell;
	Relation	relation;
	TableScanDesc scan;
	HeapTuple	tuple;

	foreach(cell, databases)
		((Database *) lfirst(cell))->listed = false;
	StartTransactionCommand();
	(void) GetTransactionSnapshot();
	relation = table_open(DatabaseRelationId, AccessShareLock);
	scan = table_beginscan_catalog(relation, 0, NULL);
	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
		take_database((Form_pg_database) GETSTRUCT(tuple));
	table_endscan(scan);
	table_close(relation, AccessShareLock);
	CommitTransactionCommand();
	MemoryContextSwitchTo(memory);
	forget_databases();
}

/* When to come again after so many visits for nothing. */
static TimestampTz
pause_after(int misses)
{
	int64		ms = queen_naptime;

	for (int i = 0; i < misses && ms < MAX_PAUSE_MS; i++)
		ms *= 2;
	return TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
									   Max(Min(ms, MAX_PAUSE_MS), queen_naptime));
}

/* Plans a visit for a time, but none right after the one before. */
static void
come_again(Database *database, TimestampTz at)
{
	at = Max(at, TimestampTzPlusMilliseconds(database->ended_at, MIN_PAUSE_MS));
	database->due = Min(database->due, at);
}

/* Learns how a visit ended, and plans the next one. */
static void
end_visit(Database *database)
{
	QueenVisitEnd visit = posts[database->post].visit;

	pfree(database->in);
	database->in = NULL;
	if (visit == QUEEN_VISIT_FAILED || visit == QUEEN_VISIT_ABSENT)
		database->misses = Min(database->misses + 1, 30);
	else
		database->misses = 0;
	if (visit != QUEEN_VISIT_FAILED && visit != QUEEN_VISIT_AWAY)
	{
		database->visited = !database->anew;
		database->has_queen = visit != QUEEN_VISIT_ABSENT;
	}
	database->ended_at = GetCurrentTimestamp();
	database->due = visit == QUEEN_VISIT_MORE ? database->ended_at :
		pause_after(database->misses);
	if (database->anew)
		memset(&posts[database->post].walks, 0, sizeof(QueenWalks));
	if (database->anew || database->due_soon)
		come_again(database, 0);
	else if (visit == QUEEN_VISIT_DONE)
		come_again(database, posts[database->post].walks.next_due_at);
	database->anew = database->due_soon = false;
}

/* Looks which visits have ended; answers how many go on. */
static int
end_visits(void)
{
	int			going_on = 0;
	ListCell   *cell;

	foreach(cell, databases)
	{
		Database   *database = lfirst(cell);
		pid_t		pid;

		if (database->in == NULL)
			continue;
		if (GetBackgroundWorkerPid(database->in, &pid) == BGWH_STOPPED)
			end_visit(database);
		else
			going_on++;
	}
	return going_on;
}

/* Whether a worker is in the database of a post. */
static bool
is_post_in_use(int post)
{
	ListCell   *cell;

	foreach(cell, databases)
	{
		Database   *database = lfirst(cell);

		if (database->in && database->post == post)
			return true;
	}
	return false;
}

/* The post of a database: its own, else one that no worker uses now. */
static int
find_post(Oid database)
{
	static int	next = 0;

	for (int i = 0; i < QUEEN_POSTS; i++)
	{
		if (posts[i].database == database)
			return i;
	}
	for (int tries = 0; tries < QUEEN_POSTS; tries++)
	{
		int			post = next++ % QUEEN_POSTS;

		if (is_post_in_use(post))
			continue;
		memset(&posts[post], 0, sizeof(QueenPost));
		posts[post].database = database;
		return post;
	}
	return -1;
}

/* Registers a worker for a database; false where the server has no slot free. */
static bool
send_worker(Database *database)
{
	BackgroundWorker worker = {0};
	QueenOrders orders = {.posts = posts_handle, .database = database->oid};

	database->post = orders.post = find_post(database->oid);
	if (orders.post < 0)
		return false;
	posts[orders.post].visit = QUEEN_VISIT_FAILED;
	snprintf(worker.bgw_name, BGW_MAXLEN, "queen worker for database \"%s\"", database->name);
	strlcpy(worker.bgw_type, "queen worker", BGW_MAXLEN);
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	strlcpy(worker.bgw_library_name, "queen", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "queen_worker_main", sizeof(worker.bgw_function_name));
	memcpy(worker.bgw_extra, &orders, sizeof(orders));
	worker.bgw_notify_pid = MyProcPid;
	return RegisterDynamicBackgroundWorker(&worker, &database->in);
}

/* Says in pg_stat_activity, and once in the log, that no worker can be sent. */
static void
report_no_slot(bool none)
{
	static bool reported = false;

	if (none && !reported)
		ereport(WARNING,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("queen could not start a worker"),
				 errdetail("No background worker slot is free."),
				 errhint("Increase \"max_worker_processes\".")));
	pgstat_report_activity(STATE_IDLE, none ? "no background worker slot is free" : "");
	reported = none;
}

/* Sends workers where they are due; answers when the next one is. */
static TimestampTz
start_visits(int going_on)
{
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz next = TimestampTzPlusMilliseconds(now, queen_naptime);
	TimestampTz latest = pause_after(30);	/* due later only if the clock was
											 * set back */
	bool		full = false;
	ListCell   *cell;

	foreach(cell, databases)
	{
		Database   *database = lfirst(cell);

		if (database->in || !database->listed)
			continue;
		if (database->due > now && database->due <= latest)
		{
			next = Min(next, database->due);
			continue;
		}
		if (full || going_on >= queen_max_workers)
			continue;
		if (!queen_process_is_free(QUEEN_WORKER, database->oid))
			database->due = next;
		else if (send_worker(database))
			going_on++;
		else
			full = true;
	}
	report_no_slot(full);
	return next;
}

/* Moves those that were served to the end, so that all have their turn. */
static void
take_turns(void)
{
	Database   *first;

	if (databases == NIL)
		return;
	first = linitial(databases);
	databases = lappend(list_delete_first(databases), first);
}

/* Whether every database was visited and none has queen. */
static bool
is_needless(void)
{
	ListCell   *cell;

	foreach(cell, databases)
	{
		Database   *database = lfirst(cell);

		if (database->in || !database->visited || database->has_queen)
			return false;
	}
	return true;
}

/* All databases are to be visited now, and every walk begins at the bottom. */
static void
hurry(void)
{
	ListCell   *cell;

	for (int i = 0; i < QUEEN_POSTS; i++)
	{
		if (!is_post_in_use(i))
			memset(&posts[i].walks, 0, sizeof(QueenWalks));
	}
	foreach(cell, databases)
	{
		Database   *database = lfirst(cell);

		database->due = 0;
		database->misses = 0;
		database->visited = false;
		database->anew = database->in != NULL;
	}
}

/* The databases that have queen are to be visited soon. */
static void
visit_soon(void)
{
	ListCell   *cell;

	foreach(cell, databases)
	{
		Database   *database = lfirst(cell);

		if (database->has_queen)
			come_again(database, 0);
		database->due_soon |= database->in != NULL;
	}
}

/* Sleeps until a time, or until something happens. */
static void
sleep_until(TimestampTz wake)
{
	long		ms = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), wake);

	WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
			  Min(Max(ms, 1), queen_naptime), PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
		look_again = true;
	}
}

/* The process. */
void
queen_launcher_main(Datum arg)
{
	TimestampTz listed_at = 0;

	stands_alone = DatumGetBool(arg);
	take_place();
	memory = AllocSetContextCreate(TopMemoryContext, "queen launcher", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(memory);
	make_posts();
	for (;;)
	{
		int			going_on = end_visits();

		bool		again = look_again;
		TimestampTz now = GetCurrentTimestamp();

		look_again = false;
		if (again || listed_at > now || /* the clock was set back */
			TimestampDifferenceExceeds(listed_at, now, queen_naptime))
		{
			list_databases();
			if (again)
				hurry();
			listed_at = now;
		}
		if (due_soon)
		{
			due_soon = false;
			visit_soon();
		}
		if (stands_alone && is_needless())
			proc_exit(0);
		take_turns();
		sleep_until(start_visits(going_on));
	}
}
