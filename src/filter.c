/*-------------------------------------------------------------------------
 *
 * filter.c
 *	  Selects dead letters by a jsonpath.
 *
 * The path is evaluated over one document a letter. A predicate decides by its
 * result, and unknown is not true; a path that finds one boolean decides by it;
 * any other selects where it finds something. Whatever fails, in the making of
 * the document or in the path, fails for its letter only.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"

#include "check.h"
#include "compat.h"
#include "filter.h"
#include "guard.h"
#include "json_text.h"

/* One evaluation. */
typedef struct Evaluation
{
	JsonPath   *filter;
	const QueenLetter *letter;
	bool		selected;
} Evaluation;

/* The filter argument; NULL where it is the one that selects all. */
JsonPath *
queen_filter_argument(FunctionCallInfo fcinfo, int number)
{
	Datum		filter = queen_required(fcinfo, number, "filter");

	if (strcmp(DatumGetCString(DirectFunctionCall1(jsonpath_out, filter)), "$") == 0)
		return NULL;
	return DatumGetJsonPathP(filter);
}

/* The filter as it would be written. */
text *
queen_filter_text(JsonPath *filter)
{
	return cstring_to_text(DatumGetCString(DirectFunctionCall1(jsonpath_out, PointerGetDatum(filter))));
}

/* The document over which filters are evaluated. */
static Datum
make_document(const QueenLetter *letter)
{
	StringInfoData json;

	initStringInfo(&json);
	queen_json_text(&json, "reason", letter->reason);
	queen_json_text(&json, "error", letter->error);
	queen_json_number(&json, "failures", letter->failures);
	queen_json_number(&json, "deliveries", letter->deliveries);
	queen_json_text(&json, "partition", letter->partition_name);
	queen_json_time(&json, "dead_at", letter->dead_at);
	queen_json_time(&json, "created_at", letter->created_at);
	queen_json_key(&json, "headers");
	if (letter->headers != 0)
	{
		Jsonb	   *headers = DatumGetJsonbP(letter->headers);

		(void) JsonbToCString(&json, &headers->root, VARSIZE(headers));
	}
	else
		appendStringInfoString(&json, "null");
	if (!queen_payload_is_json(letter->body))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("the body is not JSON")));
	queen_json_key(&json, "payload");
	appendBinaryStringInfo(&json, letter->body.text.data, (int) letter->body.text.len);

	return queen_json_close_jsonb(&json);
}

/* Whether a path is a predicate and nothing behind it, whose unknown is null. */
static bool
is_predicate(JsonPath *path)
{
	JsonPathItem item;

	jspInit(&item, path);
	if (jspHasNext(&item))
		return false;
	switch (item.type)
	{
		case jpiAnd:
		case jpiOr:
		case jpiNot:
		case jpiIsUnknown:
		case jpiEqual:
		case jpiNotEqual:
		case jpiLess:
		case jpiGreater:
		case jpiLessOrEqual:
		case jpiGreaterOrEqual:
		case jpiExists:
		case jpiStartsWith:
		case jpiLikeRegex:
			return true;
		default:
			return false;
	}
}

/* Evaluates the path; a guarded look. */
static void
evaluate(void *argument)
{
	Evaluation *evaluation = argument;
	Datum		nothing = DirectFunctionCall1(jsonb_in, CStringGetDatum("{}"));
	Datum		found = DirectFunctionCall4(jsonb_path_query_array_tz,
											make_document(evaluation->letter),
											PointerGetDatum(evaluation->filter),
											nothing, BoolGetDatum(false));
	Jsonb	   *items = DatumGetJsonbP(found);
	JsonbValue *only = NULL;

	if (JB_ROOT_COUNT(items) == 1)
		only = getIthJsonbValueFromContainer(&items->root, 0);
	if (only && only->type == jbvBool)
		evaluation->selected = only->val.boolean;
	else
		evaluation->selected = JB_ROOT_COUNT(items) > 0 && !is_predicate(evaluation->filter);
}

/* Whether a filter selects a letter. What that takes is freed at once. */
QueenSelected
queen_filter(JsonPath *filter, const QueenLetter *letter)
{
	Evaluation	evaluation = {.filter = filter, .letter = letter};
	MemoryContext memory;
	MemoryContext caller;
	bool		good;

	if (filter == NULL)
		return QUEEN_SELECTED;
	memory = AllocSetContextCreate(CurrentMemoryContext, "queen document of filter",
								   ALLOCSET_DEFAULT_SIZES);
	caller = MemoryContextSwitchTo(memory);
	good = queen_guard(evaluate, &evaluation);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(memory);
	if (!good)
		return QUEEN_FILTER_FAILED;
	return evaluation.selected ? QUEEN_SELECTED : QUEEN_NOT_SELECTED;
}
