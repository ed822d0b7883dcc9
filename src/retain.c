/*-------------------------------------------------------------------------
 *
 * retain.c
 *	  queen.retain: retention by hand, or a look at what it would do.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "check.h"
#include "queue.h"
#include "retention.h"
#include "statement.h"

PG_FUNCTION_INFO_V1(queen_retain);

/* What one call removes at most: its locks and rows are one transaction's. */
#define MAX_SEGMENTS	100000
#define MAX_PARTITIONS	1000

/* {"group": messages} of those that had not done what went; or NULL for none. */
static char *
describe_unread(const QueenRetention *retention, const QueenRemoval *removal)
{
	StringInfoData json;

	initStringInfo(&json);
	for (int i = 0; i < retention->ngroups; i++)
	{
		int64		unread = removal->unread[i];

		if (unread == 0)
			continue;
		appendStringInfoChar(&json, json.len == 0 ? '{' : ',');
		escape_json(&json, text_to_cstring(retention->groups[i].name));
		appendStringInfo(&json, ":" INT64_FORMAT, unread);
	}
	if (json.len == 0)
		return NULL;
	appendStringInfoChar(&json, '}');
	return json.data;
}

/* A row of the answer. */
static void
put_row(ReturnSetInfo *result, const QueenRetention *retention, const QueenRemoval *removal)
{
	char	   *unread = describe_unread(retention, removal);
	Datum		values[9] = {
		PointerGetDatum(removal->partition.name),
		Int64GetDatum(removal->partition.log_start),
		Int64GetDatum(removal->next_start - 1),
		Int64GetDatum(removal->segments),
		Int64GetDatum(removal->next_start - removal->partition.log_start),
		Int64GetDatum(removal->bytes),
		TimestampTzGetDatum(removal->first_at),
		CStringGetTextDatum(removal->rule)
	};
	bool		nulls[9] = {false};

	nulls[8] = unread == NULL;
	if (unread)
		values[8] = DirectFunctionCall1(jsonb_in, CStringGetDatum(unread));
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* Works on one partition, or looks; true where something goes. */
static bool
work_on(const QueenRetention *retention, int64 partition_id, bool dry_run, QueenRemoval *removal)
{
	if (dry_run)
		queen_retention_plan(retention, partition_id, removal);
	else if (queen_retention_apply(retention, partition_id, removal) != QUEEN_REMOVED_SOME)
		return false;
	return removal->segments > 0;
}

/* Goes through the partitions of a queue. */
static void
walk(const QueenRetention *retention, bool dry_run, ReturnSetInfo *result, QueenTally *tally)
{
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "queen partition of retain",
												 ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(memory);
	QueenPartition partition = {.partition_id = 0};

	while (queen_partition_after(retention->queue->queue_id, partition.partition_id, &partition))
	{
		QueenRemoval removal;

		CHECK_FOR_INTERRUPTS();
		if (work_on(retention, partition.partition_id, dry_run, &removal))
		{
			put_row(result, retention, &removal);
			queen_retention_tally(retention, &removal, tally);
		}
		MemoryContextReset(memory);
		if (!dry_run &&
			(tally->segments >= MAX_SEGMENTS || tally->partitions >= MAX_PARTITIONS))
			break;
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(memory);
}

/* Removes what a queue does not keep, or shows it; a row for each partition. */
Datum
queen_retain(PG_FUNCTION_ARGS)
{
	text	   *name = queen_name_argument(fcinfo, 0, "queue");
	bool		dry_run = DatumGetBool(queen_required(fcinfo, 1, "dry_run"));
	QueenTally	tally = {0};
	QueenRetention retention;

	InitMaterializedSRF(fcinfo, 0);
	queen_begin(dry_run ? NULL : "queen.retain()");
	queen_retention_open(queen_queue_open(name, QUEEN_PRIVILEGE_ADMIN), dry_run, &retention);
	retention.max_segments = dry_run ? PG_INT64_MAX : MAX_SEGMENTS;
	walk(&retention, dry_run, (ReturnSetInfo *) fcinfo->resultinfo, &tally);
	if (!dry_run && tally.segments > 0)
		queen_retention_log_insert(&tally, GetUserNameFromId(GetUserId(), false));
	queen_end();

	return (Datum) 0;
}
