/*-------------------------------------------------------------------------
 *
 * worker_store.c
 *	  All SQL on queen.worker_step and queen.worker_switch.
 *
 * A step has one row, updated in place: seldom, and read by nobody in a hurry.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "statement.h"
#include "worker_store.h"

static QueenStatement is_stopped = {
	"SELECT stopped_at FROM queen.worker_switch WHERE switch OPERATOR(pg_catalog.=) 1",
	SPI_OK_SELECT, 0
};

/*
 * A dump loads the rows of all tables before it sets a sequence. A restore that
 * runs in parallel does not keep to that, and says by its name what it is.
 */
#define RESTORE_RUNS \
	" EXISTS (SELECT 1 FROM pg_catalog.pg_stat_activity a" \
	" JOIN pg_catalog.pg_extension e ON e.extname OPERATOR(pg_catalog.=) 'queen'" \
	" WHERE a.datid OPERATOR(pg_catalog.=) $1 AND a.application_name OPERATOR(pg_catalog.=) 'pg_restore'" \
	" AND pg_catalog.pg_has_role(a.usesysid, e.extowner, 'USAGE'))"

static QueenStatement is_restored = {
	"SELECT 1 WHERE" RESTORE_RUNS
	" OR EXISTS (SELECT 1 FROM queen.queue) AND NOT (SELECT is_called FROM queen.queue_queue_id_seq)",
	SPI_OK_SELECT, 1, {OIDOID}
};

/* Where there was no queue yet there is no work, and a restore may be about to begin. */
static QueenStatement is_in_use = {
	"SELECT 1 FROM queen.queue_queue_id_seq WHERE is_called AND NOT" RESTORE_RUNS,
	SPI_OK_SELECT, 1, {OIDOID}
};

static QueenStatement set_stopped = {
	"INSERT INTO queen.worker_switch (switch, stopped_at, stopped_by) VALUES (1, $1, $2)"
	" ON CONFLICT (switch) DO NOTHING",
	SPI_OK_INSERT, 2, {TIMESTAMPTZOID, TEXTOID}
};

static QueenStatement set_started = {
	"DELETE FROM queen.worker_switch WHERE switch OPERATOR(pg_catalog.=) 1",
	SPI_OK_DELETE, 0
};

static QueenStatement read_step = {
	"SELECT last_run_at, failures, not_before FROM queen.worker_step"
	" WHERE step OPERATOR(pg_catalog.=) $1",
	SPI_OK_SELECT, 1, {TEXTOID}
};

/* $1 step, $2 now, $3 done, $4 failures, $5 not_before, $6 error, $7 its state, $8 its context */
static QueenStatement write_step = {
	"INSERT INTO queen.worker_step AS s (step, last_run_at, last_done, last_work_at, total,"
	" failures, not_before, error, error_state, error_context, error_at)"
	" VALUES ($1, $2, $3, CASE WHEN $3 OPERATOR(pg_catalog.>) 0 THEN $2 END, $3,"
	" $4, $5, $6, $7, $8, CASE WHEN $6 IS NOT NULL THEN $2 END)"
	" ON CONFLICT (step) DO UPDATE SET last_run_at = $2, last_done = $3,"
	" last_work_at = coalesce(excluded.last_work_at, s.last_work_at),"
	" total = s.total OPERATOR(pg_catalog.+) $3, failures = $4, not_before = $5,"
	" error = coalesce($6, s.error), error_state = coalesce($7, s.error_state),"
	" error_context = CASE WHEN $6 IS NOT NULL THEN $8 ELSE s.error_context END,"
	" error_at = coalesce(excluded.error_at, s.error_at)",
	SPI_OK_INSERT, 8, {TEXTOID, TIMESTAMPTZOID, INT8OID, INT4OID, TIMESTAMPTZOID,
	TEXTOID, TEXTOID, TEXTOID}
};

/* Whether the worker was told to stay out of this database. */
bool
queen_worker_is_stopped(void)
{
	QueenParameters parameters = {.count = 0};
	bool		stopped;

	queen_begin(NULL);
	stopped = queen_execute(&is_stopped, &parameters, 1) > 0;
	queen_end();

	return stopped;
}

/* Whether a statement about this database answers a row. */
static bool
ask(QueenStatement *statement)
{
	QueenParameters parameters = {.count = 0};
	bool		answer;

	queen_begin(NULL);
	queen_bind(&parameters, ObjectIdGetDatum(MyDatabaseId));
	answer = queen_execute(statement, &parameters, 1) > 0;
	queen_end();

	return answer;
}

/* Whether this database is being restored from a dump, and is not complete yet. */
bool
queen_database_is_restored(void)
{
	return ask(&is_restored);
}

/* Whether there was a queue ever, and no restore goes on. */
bool
queen_database_is_in_use(void)
{
	return ask(&is_in_use);
}

/* Tells it so, or not any more. */
void
queen_worker_set_stopped(bool stopped, Oid by)
{
	QueenParameters parameters = {.count = 0};

	if (!stopped)
	{
		queen_execute(&set_started, &parameters, 0);
		return;
	}
	queen_bind(&parameters, TimestampTzGetDatum(GetCurrentTimestamp()));
	queen_bind(&parameters, CStringGetTextDatum(GetUserNameFromId(by, false)));
	queen_execute(&set_stopped, &parameters, 0);
}

/* What is known of a step. */
void
queen_step_read(const char *step, QueenStepState *state)
{
	QueenParameters parameters = {.count = 0};
	QueenRow	row;

	state->noted_at = DT_NOBEGIN;
	state->failures = 0;
	state->not_before = DT_NOBEGIN;
	queen_bind(&parameters, CStringGetTextDatum(step));
	if (queen_execute(&read_step, &parameters, 1) > 0)
	{
		queen_fetch(SPI_tuptable, 0, &row);
		state->noted_at = DatumGetTimestampTz(row.values[0]);
		state->failures = DatumGetInt32(row.values[1]);
		if (!row.nulls[2])
			state->not_before = DatumGetTimestampTz(row.values[2]);
	}
	queen_forget_result();
}

/* A text that may be missing. */
static void
bind_text(QueenParameters *parameters, const char *value)
{
	if (value)
		queen_bind(parameters, CStringGetTextDatum(value));
	else
		queen_bind_null(parameters);
}

/* Notes what a pass made of a step. */
void
queen_step_write(const char *step, const QueenStepState *state,
				 const QueenStepResult *result, TimestampTz now)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, CStringGetTextDatum(step));
	queen_bind(&parameters, TimestampTzGetDatum(now));
	queen_bind(&parameters, Int64GetDatum(result->done));
	queen_bind(&parameters, Int32GetDatum(state->failures));
	queen_bind_if(&parameters, state->not_before != DT_NOBEGIN,
				  TimestampTzGetDatum(state->not_before));
	bind_text(&parameters, result->error);
	bind_text(&parameters, result->sqlstate);
	bind_text(&parameters, result->context);
	queen_execute(&write_step, &parameters, 0);
}
