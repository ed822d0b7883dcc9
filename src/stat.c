/*-------------------------------------------------------------------------
 *
 * stat.c
 *	  queen.reset_stats, and what the views of counters ask.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "check.h"
#include "compat.h"
#include "counters.h"
#include "queue.h"
#include "shmem.h"
#include "statement.h"

PG_FUNCTION_INFO_V1(queen_counters_of);
PG_FUNCTION_INFO_V1(queen_reset_stats);

/* Whether the caller has a privilege on a queue, if it is there. */
static bool
may(int32 queue_id, QueenPrivilege privilege)
{
	QueenQueue *queue = queen_queue_by_id(queue_id);

	return queue && queen_queue_may(queue, privilege);
}

/*
 * The counters of a queue, or of a group of it: NULLs where the caller may not
 * see the queue, or nothing is counted.
 */
Datum
queen_counters_of(PG_FUNCTION_ARGS)
{
	int32		queue_id = DatumGetInt32(queen_required(fcinfo, 0, "queue_id"));
	int32		group_id = DatumGetInt32(queen_required(fcinfo, 1, "group_id"));
	Datum		values[QUEEN_COUNTERS + 1];
	bool		nulls[QUEEN_COUNTERS + 1];
	TupleDesc	descriptor;
	QueenCounts counts;
	bool		counted;

	queen_begin(NULL);
	counted = may(queue_id, QUEEN_PRIVILEGE_READ) &&
		queen_counters_read(queue_id, group_id, &counts);
	queen_end();

	memset(nulls, !counted, sizeof(nulls));
	for (int i = 0; counted && i < QUEEN_COUNTERS; i++)
		values[i] = Int64GetDatum(counts.values[i]);
	if (counted)
	{
		values[QUEEN_COUNTERS] = TimestampTzGetDatum(counts.since);
		nulls[QUEEN_COUNTERS] = counts.since == 0;
	}
	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls)));
}

/* Counts from 0 on: one queue, or all that are the caller's to change. */
Datum
queen_reset_stats(PG_FUNCTION_ARGS)
{
	text	   *name = DatumGetTextPP(queen_required(fcinfo, 0, "queue"));
	int32	   *queue_ids;
	int			count;

	queen_require_preloaded("queen.reset_stats()");
	queen_begin(NULL);
	if (VARSIZE_ANY_EXHDR(name) > 0)
	{
		name = queen_name_argument(fcinfo, 0, "queue");
		queen_counters_reset(queen_queue_open(name, QUEEN_PRIVILEGE_ADMIN)->queue_id);
	}
	else
	{
		count = queen_counters_queues(&queue_ids);
		for (int i = 0; i < count; i++)
		{
			if (may(queue_ids[i], QUEEN_PRIVILEGE_ADMIN))
				queen_counters_reset(queue_ids[i]);
		}
	}
	queen_end();

	PG_RETURN_VOID();
}
