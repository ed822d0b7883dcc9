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
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "check.h"
#include "compat.h"
#include "filter.h"
#include "json_text.h"
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

/* Removes what is meant of the dead letters that are there now; passes what somebody else is at. */
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
			(purge->dry_run || queen_dead_letter_take(row.dead_letter_id)))
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
	if (purge->filter)
		queen_json_text(&json, "filter", queen_filter_text(purge->filter));
	if (purge->older_than > 0)
		queen_json_text(&json, "older_than",
						cstring_to_text(DatumGetCString(DirectFunctionCall1(interval_out, PG_GETARG_DATUM(2)))));
	if (PG_GETARG_BOOL(4))
		queen_json_raw(&json, "all", "true");
	return DatumGetJsonbP(queen_json_close_jsonb(&json));
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

	initStringInfo(&json);
	queen_json_text(&json, "reason", cstring_to_text(reason_word(letter->reason)));
	queen_json_text(&json, "error", letter->error);
	queen_json_raw(&json, "exception", NULL);
	queen_json_number(&json, "failed_at", queen_letter_ms(letter->dead_at));
	queen_json_text(&json, "original_queue", letter->queue_name);
	queen_json_number(&json, "attempts", letter->failures);
	queen_json_raw(&json, "lang", "\"sql\"");

	return queen_json_close(&json);
}

/* A dead letter as client libraries write theirs; NULL where its body is no envelope. */
Datum
queen_dead_letter_envelope(PG_FUNCTION_ARGS)
{
	int64		dead_letter_id = DatumGetInt64(queen_required(fcinfo, 0, "dead_letter_id"));
	QueenDeadLetterRow row;
	QueenLetter letter;
	StringInfoData result;
	text	   *queue_name;

	queen_begin(NULL);
	queue_name = queen_letter_find(dead_letter_id, QUEEN_PRIVILEGE_READ, &row);
	if (queue_name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("dead letter %lld does not exist", (long long) dead_letter_id)));
	queen_letter_from_row(&letter, &row, queue_name);
	queen_end();

	if (!letter.envelope.known)
		PG_RETURN_NULL();
	initStringInfo(&result);
	queen_envelope_bury(letter.body.text, make_block(&letter), &result);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(result.data, result.len));
}

/* The reset alone, for callers with their own machinery. */
Datum
queen_reset_envelope(PG_FUNCTION_ARGS)
{
	text	   *json = DatumGetTextPP(queen_required(fcinfo, 0, "body"));
	QueenPayload body = {QUEEN_KIND_JSON, {VARDATA_ANY(json), VARSIZE_ANY_EXHDR(json)}};
	QueenEnvelope envelope;
	StringInfoData result;

	queen_envelope_read(body, &envelope);
	if (!envelope.known)
		PG_RETURN_TEXT_P(json);
	initStringInfo(&result);
	queen_envelope_reset(body.text, &result);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(result.data, result.len));
}
