/*-------------------------------------------------------------------------
 *
 * record.c
 *	  The row that a function with OUT parameters answers.
 *
 * Its type is always the same, and looking it up is dear where the rest is
 * cheap: so each session makes it once and keeps it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/memutils.h"

#include "record.h"

/* Makes the type of a row, which lives as long as the session. */
static TupleDesc
make_descriptor(const QueenRecord *record)
{
	MemoryContext caller = MemoryContextSwitchTo(TopMemoryContext);
	TupleDesc	descriptor = CreateTemplateTupleDesc(record->ncolumns);

	for (int i = 0; i < record->ncolumns; i++)
		TupleDescInitEntry(descriptor, i + 1, record->columns[i].name,
						   record->columns[i].type, -1, 0);
	MemoryContextSwitchTo(caller);
	return BlessTupleDesc(descriptor);
}

/* A row. */
Datum
queen_record(QueenRecord *record, Datum *values, bool *nulls)
{
	if (record->descriptor == NULL)
		record->descriptor = make_descriptor(record);
	return HeapTupleGetDatum(heap_form_tuple(record->descriptor, values, nulls));
}
