/*-------------------------------------------------------------------------
 *
 * statement.h
 *	  Runs the saved statements of the stores.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_STATEMENT_H
#define QUEEN_STATEMENT_H

#include "executor/spi.h"

#define QUEEN_MAX_PARAMETERS 32
#define QUEEN_MAX_COLUMNS 20

/*
 * One statement of a store, a static variable there. The plan is made at the
 * first execution in a session and kept for its life.
 */
typedef struct QueenStatement
{
	const char *sql;
	int			expected;		/* SPI_OK_SELECT and its like */
	int			nparameters;
	Oid			types[QUEEN_MAX_PARAMETERS];
	SPIPlanPtr	plan;
} QueenStatement;

/* The values of one execution. */
typedef struct QueenParameters
{
	Datum		values[QUEEN_MAX_PARAMETERS];
	char		nulls[QUEEN_MAX_PARAMETERS];
	int			count;
} QueenParameters;

/* One row of the last result, taken apart; it lives as long as the result. */
typedef struct QueenRow
{
	Datum		values[QUEEN_MAX_COLUMNS];
	bool		nulls[QUEEN_MAX_COLUMNS];
	ItemPointerData place;		/* where a probe found it */
} QueenRow;

/* Every verb is between a begin and an end. */
extern void queen_begin(const char *writing_command);
extern void queen_end(void);

/* The id of a table of queen's, which no later making of the extension has. */
extern Oid	queen_tables_id(void);

extern void queen_bind(QueenParameters *parameters, Datum value);
extern void queen_bind_null(QueenParameters *parameters);
extern void queen_bind_if(QueenParameters *parameters, bool present, Datum value);

/* Runs a statement and answers the number of rows; 0 for limit means all. */
extern uint64 queen_execute(QueenStatement *statement,
							const QueenParameters *parameters, long limit);

/* Row n of a result, and what frees the result when it has been read. */
extern void queen_fetch(SPITupleTable *result, uint64 n, QueenRow *row);
extern void queen_forget_result(void);

extern int64 queen_next_version(int64 version);

#endif							/* QUEEN_STATEMENT_H */
