/*-------------------------------------------------------------------------
 *
 * queue_admin.c
 *	  Making, changing, pausing, emptying and dropping queues.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "check.h"
#include "compat.h"
#include "locks.h"
#include "queue.h"
#include "schedule_store.h"
#include "segment_store.h"
#include "statement.h"
#include "touch.h"

PG_FUNCTION_INFO_V1(queen_create_queue);
PG_FUNCTION_INFO_V1(queen_alter_queue);
PG_FUNCTION_INFO_V1(queen_reset_queue_option);
PG_FUNCTION_INFO_V1(queen_pause_queue);
PG_FUNCTION_INFO_V1(queen_resume_queue);
PG_FUNCTION_INFO_V1(queen_purge);
PG_FUNCTION_INFO_V1(queen_drop_queue);

#define MAX_DEFAULT_PARTITIONS	10000
#define MAX_RETRIES				1000000

/* What alter_queue's defaults say where an option is not given. */
#define NOT_GIVEN_INTERVAL_MONTHS (-178000000 * MONTHS_PER_YEAR)

/* What values an option takes. */
typedef enum OptionType
{
	OPTION_INT4,
	OPTION_INT8,
	OPTION_INTERVAL,
	OPTION_AGE,
	OPTION_WORD
} OptionType;

typedef struct OptionRule
{
	const char *name;
	OptionType	type;
	bool		null;			/* NULL is a value: no limit */
	int64		low;			/* of an interval: 0 or 1 for more than 0 */
	int64		high;
} OptionRule;

/* In the order of QueenOption, which is that of the arguments. */
static const OptionRule rules[QUEEN_OPTIONS] = {
	{"partitions", OPTION_INT4, false, 1, MAX_DEFAULT_PARTITIONS},
	{"lease", OPTION_INTERVAL, false, 1, 0},
	{"retry_limit", OPTION_INT4, false, 0, MAX_RETRIES},
	{"retry_delay", OPTION_INTERVAL, false, 0, 0},
	{"max_deliveries", OPTION_INT4, true, 1, MAX_RETRIES},
	{"on_exhausted", OPTION_WORD, false, 0, 0},
	{"max_backlog", OPTION_INT8, true, 1, PG_INT64_MAX},
	{"retention", OPTION_AGE, true, 1, 0},
	{"completed_retention", OPTION_AGE, true, 1, 0},
	{"retention_bytes", OPTION_INT8, true, 1, PG_INT64_MAX},
	{"retention_messages", OPTION_INT8, true, 1, PG_INT64_MAX},
	{"drop_idle_partitions", OPTION_AGE, true, 1, 0},
	{"dedup_window", OPTION_INTERVAL, false, 0, 0},
	{"delivery_delay", OPTION_INTERVAL, false, 0, 0}
};

/* Whether an argument is the default that means "not given". */
static bool
is_given(const OptionRule *rule, Datum value)
{
	Interval   *interval;

	switch (rule->type)
	{
		case OPTION_INTERVAL:
		case OPTION_AGE:
			interval = DatumGetIntervalP(value);
			return interval->month != NOT_GIVEN_INTERVAL_MONTHS ||
				interval->day != 0 || interval->time != 0;
		case OPTION_WORD:
			return VARSIZE_ANY_EXHDR(DatumGetTextPP(value)) > 0;
		case OPTION_INT8:
			return DatumGetInt64(value) != QUEEN_NOT_GIVEN_INT8;
		default:
			return DatumGetInt32(value) != QUEEN_NOT_GIVEN_INT4;
	}
}

/* Refuses a value that the option cannot have. */
static void
check_option(const OptionRule *rule, Datum value)
{
	char	   *word;

	switch (rule->type)
	{
		case OPTION_INT4:
			queen_check_range(DatumGetInt32(value), rule->low, rule->high, rule->name);
			break;
		case OPTION_INT8:
			queen_check_range(DatumGetInt64(value), rule->low, rule->high, rule->name);
			break;
		case OPTION_INTERVAL:
			queen_check_interval(DatumGetIntervalP(value), rule->low == 0, rule->name);
			break;
		case OPTION_AGE:
			queen_check_age(DatumGetIntervalP(value), rule->name);
			break;
		case OPTION_WORD:
			word = text_to_cstring(DatumGetTextPP(value));
			if (strcmp(word, "dead_letter") != 0 && strcmp(word, "drop") != 0)
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("unrecognized value \"%s\" for \"%s\"", word, rule->name),
						 errhint("Valid values are \"dead_letter\" and \"drop\".")));
			break;
	}
}

/* The options of create_queue and alter_queue: arguments 1 and on. */
static QueenOptions
take_options(FunctionCallInfo fcinfo, bool all)
{
	QueenOptions options = {{false}, {false}, {0}};

	for (int i = 0; i < QUEEN_OPTIONS; i++)
	{
		const OptionRule *rule = &rules[i];

		if (!rule->null)
			queen_required(fcinfo, i + 1, rule->name);
		options.nulls[i] = PG_ARGISNULL(i + 1);
		options.values[i] = PG_GETARG_DATUM(i + 1);
		options.given[i] = all || options.nulls[i] || is_given(rule, options.values[i]);
		if (options.given[i] && !options.nulls[i])
			check_option(rule, options.values[i]);
	}
	return options;
}

/* Makes a queue. */
Datum
queen_create_queue(PG_FUNCTION_ARGS)
{
	text	   *name = queen_name_argument(fcinfo, 0, "name");
	QueenOptions options = take_options(fcinfo, true);

	queen_begin("queen.create_queue()");
	queen_queue_update(queen_queue_create(name)->queue_id, &options);
	queen_end();

	PG_RETURN_VOID();
}

/* Changes the options that are given. */
Datum
queen_alter_queue(PG_FUNCTION_ARGS)
{
	text	   *name = queen_name_argument(fcinfo, 0, "name");
	QueenOptions options = take_options(fcinfo, false);
	QueenQueue *queue;

	queen_begin("queen.alter_queue()");
	queue = queen_queue_open_to_change(name, ShareLock);
	queen_queue_update(queue->queue_id, &options);
	queen_touch_queue_unknown(queue->queue_id);
	queen_end();

	PG_RETURN_VOID();
}

/* Sets one option back to its default. */
Datum
queen_reset_queue_option(PG_FUNCTION_ARGS)
{
	text	   *name = queen_name_argument(fcinfo, 0, "name");
	char	   *option = TextDatumGetCString(queen_required(fcinfo, 1, "option"));
	QueenQueue *queue;

	queen_begin("queen.reset_queue_option()");
	queue = queen_queue_open_to_change(name, ShareLock);
	if (!queen_queue_reset(queue->queue_id, option))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized queue option \"%s\"", option)));
	queen_touch_queue_unknown(queue->queue_id);
	queen_end();

	PG_RETURN_VOID();
}

/* Pauses a queue, or ends the pause. */
static void
set_paused(FunctionCallInfo fcinfo, const char *command, bool paused)
{
	text	   *name = queen_name_argument(fcinfo, 0, "name");
	QueenQueue *queue;

	queen_begin(command);
	queue = queen_queue_open_to_change(name, ShareLock);
	if (queue->paused != paused)
		queen_queue_set_paused(queue->queue_id, paused);
	if (!paused)
		queen_touch_queue(queue->queue_id);
	queen_end();
}

/* Makes a queue refuse pops. */
Datum
queen_pause_queue(PG_FUNCTION_ARGS)
{
	set_paused(fcinfo, "queen.pause_queue()", true);
	PG_RETURN_VOID();
}

/* Ends a pause. */
Datum
queen_resume_queue(PG_FUNCTION_ARGS)
{
	set_paused(fcinfo, "queen.resume_queue()", false);
	PG_RETURN_VOID();
}

/*
 * Removes all messages, and those that wait for their time. Pushes wait for it,
 * and it waits for them: a message whose push has not ended is not left behind
 * in the middle of the log. Whoever moves, cancels or puts off such a message
 * holds a share of the same lock.
 */
Datum
queen_purge(PG_FUNCTION_ARGS)
{
	text	   *name = queen_name_argument(fcinfo, 0, "queue");
	QueenQueue *queue;
	int64		removed;

	queen_begin("queen.purge()");
	queue = queen_queue_open(name, QUEEN_PRIVILEGE_ADMIN);
	queen_lock_queue_append_alone(queue->queue_id);
	removed = queen_segments_purge(queue->queue_id);
	removed += queen_scheduled_delete_all(queue->queue_id);
	queen_end();

	PG_RETURN_INT64(removed);
}

/* Removes a queue and all that belongs to it. */
Datum
queen_drop_queue(PG_FUNCTION_ARGS)
{
	text	   *name = queen_name_argument(fcinfo, 0, "name");
	bool		cascade = DatumGetBool(queen_required(fcinfo, 1, "cascade"));
	QueenQueue *queue;

	queen_begin("queen.drop_queue()");
	queue = queen_queue_open_to_change(name, ExclusiveLock);
	if (!cascade && queen_queue_has_content(queue->queue_id))
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("cannot drop queue \"%s\" because messages or dead letters are left in it",
						text_to_cstring(name)),
				 errhint("Pass cascade => true to drop them too.")));
	queen_queue_delete(queue->queue_id);
	queen_touch_queue_gone(queue->queue_id);
	queen_end();

	PG_RETURN_VOID();
}
