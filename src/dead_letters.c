/*-------------------------------------------------------------------------
 *
 * dead_letters.c
 *	  queen.purge_dead_letters, queen.dead_letter_envelope and
 *	  queen.reset_envelope. Redrive is in redrive_verbs.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "check.h"
#include "compat.h"
#include "filter.h"
#include "guard.h"
#include "queue.h"
#include "statement.h"

PG_FUNCTION_INFO_V1(queen_purge_dead_letters);
PG_FUNCTION_INFO_V1(queen_dead_letter_envelope);
PG_FUNCTION_INFO_V1(queen_reset_envelope);

/* What a purge is asked for. */
typedef struct Purge
{
	text	   *queue_name;
	JsonPath   *filter;			/* NULL: all */
	int64		older_than;		/* microseconds */
	bool		dry_run;
} Purge;

/* Whether a purge means a dead letter. */
static bool
is_meant(const Purge *purge, const QueenDeadLetterRow *row, TimestampTz now)
{
	QueenLetter letter;

	if (row->dead_at > now - purge->older_than)
		return false;
	if (purge->filter == NULL)
		return true;
	queen_letter_from_row(&letter, row, purge->queue_name);
	return queen_filter(purge->filter, &letter) == QUEEN_SELECTED;
}

/* Removes what is meant of the dead letters that are there now. */
static void
purge_letters(const Purge *purge, QueenDeadLetterAction *action)
{
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "queen dead letter of purge",
												 ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(memory);
	int64		through = queen_dead_letter_last(action->queue_id);
	TimestampTz now = GetCurrentTimestamp();
	QueenDeadLetterRow row = {.dead_letter_id = 0};

	while (queen_dead_letter_after(action->queue_id, row.dead_letter_id, &row) &&
		   row.dead_letter_id <= through)
	{
		CHECK_FOR_INTERRUPTS();
		if (is_meant(purge, &row, now) &&
			(purge->dry_run || queen_dead_letter_delete(row.dead_letter_id)))
			action->done++;
		else
			action->skipped++;
		MemoryContextReset(memory);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(memory);
}

/* The arguments of a purge, for the history. */
static Jsonb *
keep_arguments(FunctionCallInfo fcinfo, const Purge *purge)
{
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfoString(&json, "{\"filter\": ");
	escape_json(&json, purge->filter == NULL ? "$" :
				DatumGetCString(DirectFunctionCall1(jsonpath_out, PointerGetDatum(purge->filter))));
	appendStringInfoString(&json, ", \"older_than\": ");
	escape_json(&json, DatumGetCString(DirectFunctionCall1(interval_out, PG_GETARG_DATUM(2))));
	appendStringInfoChar(&json, '}');

	return DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data)));
}

/* Removes dead letters. */
Datum
queen_purge_dead_letters(PG_FUNCTION_ARGS)
{
	Purge		purge = {
		.queue_name = queen_name_argument(fcinfo, 0, "queue"),
		.filter = queen_filter_argument(fcinfo, 1),
		.older_than = queen_interval_us(DatumGetIntervalP(queen_required(fcinfo, 2, "older_than"))),
		.dry_run = DatumGetBool(queen_required(fcinfo, 3, "dry_run"))
	};
	bool		all = DatumGetBool(queen_required(fcinfo, 4, "all"));
	QueenDeadLetterAction action = {.action = "purge"};

	if (purge.older_than < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"older_than\" must not be negative")));
	if (purge.filter == NULL && purge.older_than == 0 && !all)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("nothing restricts which dead letters are removed"),
				 errhint("Give \"filter\" or \"older_than\", or pass \"all\" => true.")));

	queen_begin(purge.dry_run ? NULL : "queen.purge_dead_letters()");
	action.queue_id = queen_queue_open(purge.queue_name, QUEEN_PRIVILEGE_ADMIN)->queue_id;
	action.arguments = keep_arguments(fcinfo, &purge);
	purge_letters(&purge, &action);
	if (!purge.dry_run)
		queen_dead_letter_note(&action, GetUserId());
	queen_end();

	PG_RETURN_INT64(action.done);
}

/* The reasons that client libraries know; any other is a failure to them. */
static const char *
reason_word(const text *reason)
{
	char	   *word = text_to_cstring(reason);

	if (strcmp(word, "poison") == 0 || strcmp(word, "unknown_urn") == 0)
		return word;
	return "failed";
}

/* The dead_letter block of a letter. */
static char *
make_block(const QueenLetter *letter)
{
	StringInfoData json;
	int64		failed_at = letter->dead_at / 1000 +
		(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY * INT64CONST(1000);

	initStringInfo(&json);
	appendStringInfo(&json, "{\"reason\":\"%s\",\"error\":", reason_word(letter->reason));
	if (letter->error)
		escape_json(&json, text_to_cstring(letter->error));
	else
		appendStringInfoString(&json, "null");
	appendStringInfo(&json, ",\"exception\":null,\"failed_at\":%lld,\"original_queue\":",
					 (long long) failed_at);
	escape_json(&json, text_to_cstring(letter->queue_name));
	appendStringInfo(&json, ",\"attempts\":%d,\"lang\":\"sql\"}", letter->failures);

	return json.data;
}

/* Finds a dead letter that the caller may know of. */
static void
find_letter(int64 dead_letter_id, QueenLetter *letter)
{
	QueenDeadLetterRow row;
	QueenQueue *queue = NULL;

	if (queen_dead_letter_by_id(dead_letter_id, &row))
		queue = queen_queue_by_id(row.queue_id);
	if (queue == NULL || !queen_queue_may(queue, QUEEN_PRIVILEGE_READ))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("dead letter %lld does not exist", (long long) dead_letter_id)));
	queen_letter_from_row(letter, &row, queue->name);
}

/* A dead letter as client libraries write theirs; NULL where its body is no envelope. */
Datum
queen_dead_letter_envelope(PG_FUNCTION_ARGS)
{
	int64		dead_letter_id = DatumGetInt64(queen_required(fcinfo, 0, "dead_letter_id"));
	QueenLetter letter;
	StringInfoData result;

	queen_begin(NULL);
	find_letter(dead_letter_id, &letter);
	queen_end();

	if (!letter.envelope.known)
		PG_RETURN_NULL();
	initStringInfo(&result);
	queen_envelope_bury(letter.body.text, make_block(&letter), &result);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(result.data, result.len));
}

/* A body and what it says. */
typedef struct Body
{
	QueenPayload payload;
	QueenEnvelope envelope;
} Body;

/* Reads the envelope; a guarded look. */
static void
read_body(void *argument)
{
	Body	   *body = argument;

	queen_envelope_read(body->payload, &body->envelope);
}

/* The reset alone, for callers with their own machinery. */
Datum
queen_reset_envelope(PG_FUNCTION_ARGS)
{
	text	   *json = DatumGetTextPP(queen_required(fcinfo, 0, "body"));
	Body		body = {
		.payload = {QUEEN_KIND_JSON, {VARDATA_ANY(json), VARSIZE_ANY_EXHDR(json)}}
	};
	StringInfoData result;

	if (!queen_guard(read_body, &body) || !body.envelope.known)
		PG_RETURN_TEXT_P(json);
	initStringInfo(&result);
	queen_envelope_reset(body.payload.text, &result);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(result.data, result.len));
}
