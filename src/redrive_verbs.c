/*-------------------------------------------------------------------------
 *
 * redrive_verbs.c
 *	  queen.redrive, queen.redrive_ids, queen.redrive_in_steps.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "tcop/pquery.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "arguments.h"
#include "check.h"
#include "compat.h"
#include "json_text.h"
#include "redrive.h"
#include "statement.h"

#define MAX_LETTERS_OF_STEP	1000
#define MAX_KEPT_IDS		1000
#define MIN_RATE			0.001
#define MAX_RATE			1000000

PG_FUNCTION_INFO_V1(queen_redrive);
PG_FUNCTION_INFO_V1(queen_redrive_ids);
PG_FUNCTION_INFO_V1(queen_redrive_in_steps);

/* A name that may be left out: '' is none, NULL is refused. */
static text *
name_or_none(FunctionCallInfo fcinfo, int number, const char *what)
{
	text	   *name = DatumGetTextPP(queen_required(fcinfo, number, what));

	if (VARSIZE_ANY_EXHDR(name) == 0)
		return NULL;
	return queen_name_argument(fcinfo, number, what);
}

/* A flag. */
static bool
flag_argument(FunctionCallInfo fcinfo, int number, const char *what)
{
	return DatumGetBool(queen_required(fcinfo, number, what));
}

/* The ids, or, where they are many, the first, the last and how many. */
static void
keep_ids(StringInfo json, const QueenRedrive *redrive)
{
	StringInfoData ids;

	if (redrive->nids > MAX_KEPT_IDS)
	{
		queen_json_number(json, "first_id", redrive->ids[0]);
		queen_json_number(json, "last_id", redrive->ids[redrive->nids - 1]);
		queen_json_number(json, "ids", redrive->nids);
		return;
	}
	initStringInfo(&ids);
	for (int i = 0; i < redrive->nids; i++)
		appendStringInfo(&ids, "%c%lld", i == 0 ? '[' : ',', (long long) redrive->ids[i]);
	appendStringInfoChar(&ids, ']');
	queen_json_raw(json, "ids", ids.data);
}

/* The arguments that were given, for the history. */
static Jsonb *
keep_arguments(const QueenRedrive *redrive, const char *per_second)
{
	StringInfoData json;

	initStringInfo(&json);
	if (redrive->from_queue)
		queen_json_text(&json, "from_queue", redrive->from_queue);
	if (redrive->nids > 0)
		keep_ids(&json, redrive);
	if (redrive->group_name)
		queen_json_text(&json, "consumer_group", redrive->group_name);
	if (redrive->filter)
		queen_json_text(&json, "filter", queen_filter_text(redrive->filter));
	if (redrive->to_queue)
		queen_json_text(&json, "to_queue", redrive->to_queue);
	if (redrive->max > 0)
		queen_json_number(&json, "max", redrive->max);
	if (redrive->bypass)
		queen_json_raw(&json, "bypass", "true");
	if (redrive->all_groups)
		queen_json_raw(&json, "all_groups", "true");
	if (per_second)
		queen_json_raw(&json, "per_second", per_second);

	return DatumGetJsonbP(queen_json_close_jsonb(&json));
}

/* Refuses a call that names no source, or two. */
static void
check_source(const QueenRedrive *redrive)
{
	if ((redrive->queue_name == NULL) == (redrive->from_queue == NULL))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("must specify either \"queue\" or \"from_queue\""),
				 errdetail("\"queue\" names a queue whose dead letters go back, "
						   "\"from_queue\" one that a client library fills with dead letters.")));
	if (redrive->from_queue && redrive->group_name)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"from_queue\" takes no \"consumer_group\"")));
	if (redrive->from_queue && redrive->to_queue &&
		strcmp(text_to_cstring(redrive->from_queue), text_to_cstring(redrive->to_queue)) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"to_queue\" must be another queue than \"from_queue\"")));
}

/* Makes room for the rows of the answer. */
static void
answer_rows(FunctionCallInfo fcinfo, QueenRedrive *redrive)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	redrive->rows = result->setResult;
	redrive->descriptor = result->setDesc;
}

/* Sends dead letters of a queue back, or what a client's queue holds. */
Datum
queen_redrive(PG_FUNCTION_ARGS)
{
	QueenRedrive redrive = {
		.queue_name = name_or_none(fcinfo, 0, "queue"),
		.group_name = name_or_none(fcinfo, 1, "consumer_group"),
		.filter = queen_filter_argument(fcinfo, 2),
		.to_queue = name_or_none(fcinfo, 3, "to_queue"),
		.max = DatumGetInt64(queen_required(fcinfo, 4, "max")),
		.dry_run = flag_argument(fcinfo, 5, "dry_run"),
		.bypass = flag_argument(fcinfo, 6, "bypass"),
		.all_groups = flag_argument(fcinfo, 7, "all_groups"),
		.from_queue = name_or_none(fcinfo, 8, "from_queue")
	};

	queen_check_range(redrive.max, 0, PG_INT64_MAX, "max");
	check_source(&redrive);
	redrive.arguments = keep_arguments(&redrive, NULL);
	answer_rows(fcinfo, &redrive);

	queen_begin(redrive.dry_run ? NULL : "queen.redrive()");
	queen_redrive_step(&redrive);
	queen_end();

	return (Datum) 0;
}

static int
compare_ids(const void *a, const void *b)
{
	int64		left = *(const int64 *) a;
	int64		right = *(const int64 *) b;

	return left < right ? -1 : left > right;
}

/* The ids argument: ascending, so oldest first, each once. */
static void
take_ids(FunctionCallInfo fcinfo, QueenRedrive *redrive)
{
	int			count;
	QueenSpan  *spans = queen_offsets_argument(fcinfo, 0, "ids", &count);

	redrive->ids = palloc_extended(sizeof(int64) * Max(count, 1), MCXT_ALLOC_HUGE);
	for (int i = 0; i < count; i++)
		redrive->ids[i] = spans[i].first;
	qsort(redrive->ids, count, sizeof(int64), compare_ids);
	for (int i = 0; i < count; i++)
	{
		if (i == 0 || redrive->ids[i] != redrive->ids[redrive->nids - 1])
			redrive->ids[redrive->nids++] = redrive->ids[i];
	}
}

/* Sends the dead letters of some ids back. */
Datum
queen_redrive_ids(PG_FUNCTION_ARGS)
{
	QueenRedrive redrive = {
		.to_queue = name_or_none(fcinfo, 1, "to_queue"),
		.dry_run = flag_argument(fcinfo, 2, "dry_run"),
		.bypass = flag_argument(fcinfo, 3, "bypass"),
		.all_groups = flag_argument(fcinfo, 4, "all_groups")
	};

	take_ids(fcinfo, &redrive);
	redrive.arguments = keep_arguments(&redrive, NULL);
	answer_rows(fcinfo, &redrive);

	queen_begin(redrive.dry_run ? NULL : "queen.redrive_ids()");
	queen_redrive_step(&redrive);
	queen_end();

	return (Datum) 0;
}

/* Refuses a call that could not commit. */
static void
check_may_commit(FunctionCallInfo fcinfo)
{
	if (fcinfo->context == NULL || !IsA(fcinfo->context, CallContext) ||
		castNode(CallContext, fcinfo->context)->atomic)
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("queen.redrive_in_steps() cannot run inside a transaction block"),
				 errhint("queen.redrive() works in one transaction.")));
}

/* Sleeps until a time. */
static void
sleep_until(TimestampTz due)
{
	long		ms;

	while ((ms = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), due)) > 0)
	{
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 Min(ms, 60000), PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
}

/* One step in a transaction of its own; answers whether there is another one. */
static bool
do_step(QueenRedrive *redrive)
{
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "queen step of redrive",
												 ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(memory);
	bool		more;

	EnsurePortalSnapshotExists();
	queen_begin("queen.redrive_in_steps()");
	more = queen_redrive_step(redrive);
	queen_end();
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(memory);
	SPI_commit();

	return more;
}

/* The row that a procedure with two results answers. */
static Datum
answer_counts(FunctionCallInfo fcinfo, const QueenRedrive *redrive)
{
	TupleDesc	descriptor;
	Datum		values[2] = {Int64GetDatum(redrive->redriven), Int64GetDatum(redrive->skipped)};
	bool		nulls[2] = {false, false};

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls));
}

/*
 * Sends dead letters back at a rate: a step takes what may go in a quarter of a
 * second, and the next one begins when its time is over, however long it had to
 * wait. What was done stays done where the call is cancelled.
 */
Datum
queen_redrive_in_steps(PG_FUNCTION_ARGS)
{
	QueenRedrive redrive = {
		.queue_name = name_or_none(fcinfo, 0, "queue"),
		.group_name = name_or_none(fcinfo, 1, "consumer_group"),
		.filter = queen_filter_argument(fcinfo, 2),
		.to_queue = name_or_none(fcinfo, 3, "to_queue"),
		.bypass = flag_argument(fcinfo, 5, "bypass"),
		.all_groups = flag_argument(fcinfo, 6, "all_groups"),
		.from_queue = name_or_none(fcinfo, 7, "from_queue")
	};
	double		per_second = DatumGetFloat8(queen_required(fcinfo, 4, "per_second"));
	TimestampTz due = 0;
	int64		before;
	bool		more;

	check_may_commit(fcinfo);
	if (!(per_second >= MIN_RATE && per_second <= MAX_RATE))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"per_second\" is outside the valid range"),
				 errdetail("It must be at least 0.001 and at most 1000000.")));
	check_source(&redrive);
	redrive.arguments = keep_arguments(&redrive, psprintf("%g", per_second));
	redrive.max = MAX_LETTERS_OF_STEP;
	redrive.max_redriven = (int64) Min(Max(per_second / 4, 1), MAX_LETTERS_OF_STEP);

	SPI_connect_ext(SPI_OPT_NONATOMIC);
	do
	{
		sleep_until(due);
		before = redrive.redriven;
		due = GetCurrentTimestamp();
		more = do_step(&redrive);
		due += (int64) ((redrive.redriven - before) / per_second * USECS_PER_SEC);
	} while (more);
	SPI_finish();

	return answer_counts(fcinfo, &redrive);
}
