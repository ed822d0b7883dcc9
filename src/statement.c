/*-------------------------------------------------------------------------
 *
 * statement.c
 *	  Runs the saved statements of the stores.
 *
 * Each statement runs as the owner of queen's tables, with the latest
 * snapshot (as foreign-key triggers do, so that READ COMMITTED and
 * REPEATABLE READ see the same truth once a lock is granted), and with the
 * planner's choices pinned: a plan made over an empty table would be a Seq
 * Scan and would stay one. Plans are made again whenever the server throws
 * them away, at any execution, so the pins hold around execution too. They
 * are the planner's own variables, set and put back here: through guc.c each
 * would cost half a microsecond a call, five times the cost of the probe that
 * they guard. Nothing that runs in between can see them: our statements call
 * no function but pg_catalog's.
 *
 * Memory: the caller's context is current again after each call, so what a
 * store copies out of a result lives as long as the caller's. Results live in
 * SPI's own memory, until queen_forget_result() or the end of the verb.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "jit/jit.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "tcop/utility.h"
#include "utils/plancache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "relation.h"
#include "statement.h"

typedef struct PlannerPin
{
	bool	   *variable;
	bool		pinned;
} PlannerPin;

static const PlannerPin pins[] = {
	{&enable_seqscan, false},
	{&enable_bitmapscan, false},
	{&enable_sort, false},
	{&enable_incremental_sort, false},
	{&enable_hashjoin, false},
	{&enable_mergejoin, false},
	{&enable_material, false},
	{&enable_memoize, false},
	{&enable_indexscan, true},
	{&enable_indexonlyscan, true},
	{&enable_nestloop, true},
	{&enable_tidscan, true},
	{&jit_enabled, false},
};

/* The owner of queen's tables, looked up anew by each verb. */
static Oid	tables_owner = InvalidOid;
static Oid	tables_id = InvalidOid;

/* Who owns queen's tables now; notes which they are. */
static Oid
find_tables_owner(void)
{
	Oid			relation = queen_find_relation("segment");
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,			/* dropped since, and not locked yet */
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation \"queen.segment\" does not exist")));
	tables_id = relation;
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);

	return owner;
}

/*
 * Starts a verb. A verb that writes gives its name, and is refused in a
 * read-only transaction and on a standby before it does anything.
 */
void
queen_begin(const char *writing_command)
{
	MemoryContext caller = CurrentMemoryContext;

	if (writing_command)
		PreventCommandIfReadOnly(writing_command);
	tables_owner = find_tables_owner();
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	MemoryContextSwitchTo(caller);
}

/* As the last verb found it. */
Oid
queen_tables_id(void)
{
	return tables_id;
}

/* Ends a verb. */
void
queen_end(void)
{
	MemoryContext caller = CurrentMemoryContext;

	SPI_finish();
	MemoryContextSwitchTo(caller);
}

/* Adds a value to the parameters of an execution. */
void
queen_bind(QueenParameters *parameters, Datum value)
{
	Assert(parameters->count < QUEEN_MAX_PARAMETERS);
	parameters->values[parameters->count] = value;
	parameters->nulls[parameters->count++] = ' ';
}

/* Adds a NULL to the parameters of an execution. */
void
queen_bind_null(QueenParameters *parameters)
{
	Assert(parameters->count < QUEEN_MAX_PARAMETERS);
	parameters->values[parameters->count] = (Datum) 0;
	parameters->nulls[parameters->count++] = 'n';
}

/* Adds a value, or NULL where there is nothing to say. */
void
queen_bind_if(QueenParameters *parameters, bool present, Datum value)
{
	if (present)
		queen_bind(parameters, value);
	else
		queen_bind_null(parameters);
}

/* Makes the plan; it is published only after it has been saved. */
static void
prepare(QueenStatement *statement)
{
	SPIPlanPtr	plan = SPI_prepare_cursor(statement->sql, statement->nparameters,
										  statement->types,
										  CURSOR_OPT_GENERIC_PLAN);

	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s: %s",
			 SPI_result_code_string(SPI_result), statement->sql);
	SPI_keepplan(plan);
	statement->plan = plan;
}

/* Prepares where needed, and executes. */
static int
run(QueenStatement *statement, const QueenParameters *parameters, long limit)
{
	if (statement->plan == NULL)
		prepare(statement);
	return SPI_execute_snapshot(statement->plan,
								(Datum *) parameters->values, parameters->nulls,
								GetLatestSnapshot(), InvalidSnapshot,
								false, true, limit);
}

/*
 * Runs a statement. The caller's user and planner settings are back when it
 * returns, and when it throws.
 */
uint64
queen_execute(QueenStatement *statement, const QueenParameters *parameters,
			  long limit)
{
	MemoryContext caller = CurrentMemoryContext;
	bool		before[lengthof(pins)];
	int			cache_mode = plan_cache_mode;
	Oid			user;
	int			security;
	volatile int code = 0;

	Assert(parameters->count == statement->nparameters);
	GetUserIdAndSecContext(&user, &security);
	for (int i = 0; i < lengthof(pins); i++)
		before[i] = *pins[i].variable;

	PG_TRY();
	{
		for (int i = 0; i < lengthof(pins); i++)
			*pins[i].variable = pins[i].pinned;
		plan_cache_mode = PLAN_CACHE_MODE_AUTO;
		SetUserIdAndSecContext(tables_owner,
							   security | SECURITY_LOCAL_USERID_CHANGE |
							   SECURITY_NOFORCE_RLS);
		code = run(statement, parameters, limit);
	}
	PG_FINALLY();
	{
		for (int i = 0; i < lengthof(pins); i++)
			*pins[i].variable = before[i];
		plan_cache_mode = cache_mode;
		SetUserIdAndSecContext(user, security);
	}
	PG_END_TRY();

	if (code != statement->expected)
		elog(ERROR, "unexpected SPI result %s: %s",
			 SPI_result_code_string(code), statement->sql);
	MemoryContextSwitchTo(caller);

	return SPI_processed;
}

/* Takes row n of a result apart. */
void
queen_fetch(SPITupleTable *result, uint64 n, QueenRow *row)
{
	Assert(n < result->numvals);
	Assert(result->tupdesc->natts <= QUEEN_MAX_COLUMNS);
	heap_deform_tuple(result->vals[n], result->tupdesc, row->values, row->nulls);
}

/* Frees the last result. */
void
queen_forget_result(void)
{
	SPI_freetuptable(SPI_tuptable);
	SPI_tuptable = NULL;
}

/* The version of a row after this one; a superuser's hand may have left none. */
int64
queen_next_version(int64 version)
{
	if (version == PG_INT64_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("no version is left after %lld", (long long) version)));
	return version + 1;
}
