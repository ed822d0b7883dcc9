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
#include "log_store.h"
#include "queue.h"
#include "statement.h"

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

static const char *const option_names[QUEEN_OPTIONS] = {
	"partitions", "lease", "retry_limit", "retry_delay", "max_deliveries",
	"on_exhausted", "max_backlog"
};

/* Whether NULL is a value of the option: no limit. */
static bool
allows_null(QueenOption option)
{
	return option == QUEEN_OPTION_MAX_DELIVERIES || option == QUEEN_OPTION_MAX_BACKLOG;
}

/* Whether an argument is the default that means "not given". */
static bool
is_given(QueenOption option, Datum value)
{
	Interval   *interval;

	switch (option)
	{
		case QUEEN_OPTION_LEASE:
		case QUEEN_OPTION_RETRY_DELAY:
			interval = DatumGetIntervalP(value);
			return interval->month != NOT_GIVEN_INTERVAL_MONTHS ||
				interval->day != 0 || interval->time != 0;
		case QUEEN_OPTION_ON_EXHAUSTED:
			return VARSIZE_ANY_EXHDR(DatumGetTextPP(value)) > 0;
		case QUEEN_OPTION_MAX_BACKLOG:
			return DatumGetInt64(value) != QUEEN_NOT_GIVEN_INT8;
		default:
			return DatumGetInt32(value) != QUEEN_NOT_GIVEN_INT4;
	}
}

/* Refuses a value that the option cannot have. */
static void
check_option(QueenOption option, Datum value)
{
	const char *name = option_names[option];
	char	   *word;

	switch (option)
	{
		case QUEEN_OPTION_PARTITIONS:
			queen_check_range(DatumGetInt32(value), 1, MAX_DEFAULT_PARTITIONS, name);
			break;
		case QUEEN_OPTION_LEASE:
			queen_check_interval(DatumGetIntervalP(value), false, name);
			break;
		case QUEEN_OPTION_RETRY_LIMIT:
			queen_check_range(DatumGetInt32(value), 0, MAX_RETRIES, name);
			break;
		case QUEEN_OPTION_RETRY_DELAY:
			queen_check_interval(DatumGetIntervalP(value), true, name);
			break;
		case QUEEN_OPTION_MAX_DELIVERIES:
			queen_check_range(DatumGetInt32(value), 1, MAX_RETRIES, name);
			break;
		case QUEEN_OPTION_ON_EXHAUSTED:
			word = text_to_cstring(DatumGetTextPP(value));
			if (strcmp(word, "dead_letter") != 0 && strcmp(word, "drop") != 0)
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("unrecognized value \"%s\" for \"%s\"", word, name),
						 errhint("Valid values are \"dead_letter\" and \"drop\".")));
			break;
		case QUEEN_OPTION_MAX_BACKLOG:
			queen_check_range(DatumGetInt64(value), 1, PG_INT64_MAX, name);
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
		if (!allows_null(i))
			queen_required(fcinfo, i + 1, option_names[i]);
		options.nulls[i] = PG_ARGISNULL(i + 1);
		options.values[i] = PG_GETARG_DATUM(i + 1);
		options.given[i] = all || options.nulls[i] || is_given(i, options.values[i]);
		if (options.given[i] && !options.nulls[i])
			check_option(i, options.values[i]);
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

	queen_begin("queen.alter_queue()");
	queen_queue_update(queen_queue_open_to_change(name, ShareLock)->queue_id, &options);
	queen_end();

	PG_RETURN_VOID();
}

/* Sets one option back to its default. */
Datum
queen_reset_queue_option(PG_FUNCTION_ARGS)
{
	text	   *name = queen_name_argument(fcinfo, 0, "name");
	char	   *option = TextDatumGetCString(queen_required(fcinfo, 1, "option"));

	queen_begin("queen.reset_queue_option()");
	if (!queen_queue_reset(queen_queue_open_to_change(name, ShareLock)->queue_id, option))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized queue option \"%s\"", option)));
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
 * Removes all messages. Pushes wait for it, and it waits for them: a message
 * whose push has not ended is not left behind in the middle of the log.
 */
Datum
queen_purge(PG_FUNCTION_ARGS)
{
	text	   *name = queen_name_argument(fcinfo, 0, "queue");
	QueenQueue *queue;
	int64		removed;

	queen_begin("queen.purge()");
	queue = queen_queue_open(name);
	queen_lock_queue_append_alone(queue->queue_id);
	removed = queen_segments_purge(queue->queue_id);
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
	queen_end();

	PG_RETURN_VOID();
}
