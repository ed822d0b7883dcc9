/*-------------------------------------------------------------------------
 *
 * record.h
 *	  The row that a function with OUT parameters answers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_RECORD_H
#define QUEEN_RECORD_H

#include "access/tupdesc.h"

#define QUEEN_RECORD_COLUMNS 4

/* Its columns, as the SQL script declares them. */
typedef struct QueenRecord
{
	int			ncolumns;
	struct
	{
		const char *name;
		Oid			type;
	}			columns[QUEEN_RECORD_COLUMNS];
	TupleDesc	descriptor;		/* NULL until the first row */
} QueenRecord;

extern Datum queen_record(QueenRecord *record, Datum *values, bool *nulls);

#endif							/* QUEEN_RECORD_H */
