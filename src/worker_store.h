/*-------------------------------------------------------------------------
 *
 * worker_store.h
 *	  All SQL on queen.worker_step and queen.worker_switch.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_WORKER_STORE_H
#define QUEEN_WORKER_STORE_H

#include "datatype/timestamp.h"

/* What is known of a step of the worker in this database. */
typedef struct QueenStepState
{
	TimestampTz noted_at;		/* when the row was written; -infinity: never */
	int32		failures;		/* in a row */
	TimestampTz not_before;		/* held back after a failure until then */
} QueenStepState;

/* What one pass made of a step. */
typedef struct QueenStepResult
{
	int64		done;
	char	   *error;			/* NULL: none */
	char	   *sqlstate;
	char	   *context;
} QueenStepResult;

extern bool queen_worker_is_stopped(void);
extern bool queen_database_is_restored(void);
extern bool queen_database_is_in_use(void);
extern void queen_worker_set_stopped(bool stopped, Oid by);
extern void queen_step_read(const char *step, QueenStepState *state);
extern void queen_step_write(const char *step, const QueenStepState *state,
							 const QueenStepResult *result, TimestampTz now);

#endif							/* QUEEN_WORKER_STORE_H */
