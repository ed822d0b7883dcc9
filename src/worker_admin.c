/*-------------------------------------------------------------------------
 *
 * worker_admin.c
 *	  queen.start_worker, queen.worker_stop, queen.worker_start, and what the
 *	  view queen.worker_status asks.
 *
 * A stop is a row of a table: it holds over restarts, for this database only.
 * It waits for the worker to leave, and keeps it out until the transaction
 * ends; from then on the worker sees the row.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/pg_database.h"
#include "commands/dbcommands.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#include "maintain.h"
#include "process.h"
#include "settings.h"
#include "soon.h"
#include "statement.h"
#include "worker.h"
#include "worker_store.h"

PG_FUNCTION_INFO_V1(queen_start_worker);
PG_FUNCTION_INFO_V1(queen_worker_stop);
PG_FUNCTION_INFO_V1(queen_worker_start);
PG_FUNCTION_INFO_V1(queen_worker_steps);
PG_FUNCTION_INFO_V1(queen_worker_reason);

/* Starts the launcher unless it runs, or will by itself; answers whether it did. */
static bool
start_launcher(void)
{
	queen_look_again();
	if (queen_worker_preloaded() || queen_process_pid(QUEEN_LAUNCHER, InvalidOid) != 0)
		return false;
	if (IsBinaryUpgrade)
		return false;
	if (!queen_launcher_start())
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("could not start queen's launcher"),
				 errdetail("No background worker slot is free."),
				 errhint("Increase \"max_worker_processes\".")));
	return true;
}

/* Starts the launcher of a server that has not preloaded it. */
Datum
queen_start_worker(PG_FUNCTION_ARGS)
{
	PreventCommandDuringRecovery("queen.start_worker()");
	PG_RETURN_BOOL(start_launcher());
}

/* Makes the worker leave this database, and stay away. */
Datum
queen_worker_stop(PG_FUNCTION_ARGS)
{
	queen_begin("queen.worker_stop()");
	queen_worker_set_stopped(true, GetUserId());
	queen_process_keep_out(MyDatabaseId);
	queen_end();

	PG_RETURN_VOID();
}

/* Lets it come again, and at once. */
Datum
queen_worker_start(PG_FUNCTION_ARGS)
{
	queen_begin("queen.worker_start()");
	queen_worker_set_stopped(false, GetUserId());
	start_launcher();
	queen_end();

	PG_RETURN_VOID();
}

/* The names of the steps. */
Datum
queen_worker_steps(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	for (int i = 0; i < queen_nsteps; i++)
	{
		Datum		value = CStringGetTextDatum(queen_steps[i].name);
		bool		null = false;

		tuplestore_putvalues(result->setResult, result->setDesc, &value, &null);
	}
	return (Datum) 0;
}

/* Whether the worker serves this database. */
static bool
is_served(void)
{
	HeapTuple	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
	bool		served = false;

	if (HeapTupleIsValid(tuple))
	{
		Form_pg_database row = (Form_pg_database) GETSTRUCT(tuple);

		served = row->datallowconn &&
			queen_serves_database(NameStr(row->datname), row->datistemplate);
		ReleaseSysCache(tuple);
	}
	return served;
}

/* Why no worker comes to this database, or NULL. */
static const char *
find_reason(void)
{
	if (RecoveryInProgress())
		return "the server is a standby";
	if (queen_worker_is_stopped())
		return "queen.worker_stop() was called";
	if (queen_database_is_restored())
		return "the database is being restored";
	if (!is_served())
		return "queen.databases does not name this database, or it is a template";
	if (queen_process_pid(QUEEN_LAUNCHER, InvalidOid) != 0)
		return NULL;
	if (queen_worker_preloaded())
		return "the launcher does not run";
	return "queen is not preloaded, and queen.start_worker() was not called";
}

/* The same as SQL. */
Datum
queen_worker_reason(PG_FUNCTION_ARGS)
{
	const char *reason = find_reason();

	if (reason == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(reason));
}
