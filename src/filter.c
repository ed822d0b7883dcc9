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

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
#include "utils/jsonb.h"

#include "check.h"
#include "compat.h"
#include "filter.h"
#include "guard.h"

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

/* Begins a member of the document. */
static void
put_key(StringInfo json, const char *key)
{
	appendStringInfo(json, "%c\"%s\":", json->len > 0 ? ',' : '{', key);
}

/* A string, or null. */
static void
put_text(StringInfo json, const char *key, const text *value)
{
	put_key(json, key);
	if (value)
		escape_json(json, text_to_cstring(value));
	else
		appendStringInfoString(json, "null");
}

/* A number. */
static void
put_number(StringInfo json, const char *key, int32 value)
{
	put_key(json, key);
	appendStringInfo(json, "%d", value);
}

/* A time as ISO 8601 writes it, in UTC. */
static void
put_time(StringInfo json, const char *key, TimestampTz value)
{
	char		time[MAXDATELEN + 1];
	int			utc = 0;

	put_key(json, key);
	if (value == DT_NOBEGIN)
	{
		appendStringInfoString(json, "null");
		return;
	}
	JsonEncodeDateTime(time, TimestampTzGetDatum(value), TIMESTAMPTZOID, &utc);
	appendStringInfo(json, "\"%s\"", time);
}

/* The document over which filters are evaluated. */
static Datum
make_document(const QueenLetter *letter)
{
	StringInfoData json;

	initStringInfo(&json);
	put_text(&json, "reason", letter->reason);
	put_text(&json, "error", letter->error);
	put_number(&json, "failures", letter->failures);
	put_number(&json, "deliveries", letter->deliveries);
	put_text(&json, "partition", letter->partition_name);
	put_time(&json, "dead_at", letter->dead_at);
	put_time(&json, "created_at", letter->created_at);
	put_key(&json, "headers");
	if (letter->headers != 0)
	{
		Jsonb	   *headers = DatumGetJsonbP(letter->headers);

		(void) JsonbToCString(&json, &headers->root, VARSIZE(headers));
	}
	else
		appendStringInfoString(&json, "null");
	put_key(&json, "payload");
	if (!queen_payload_is_json(letter->body))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("the body is not JSON")));
	appendBinaryStringInfo(&json, letter->body.text.data, (int) letter->body.text.len);
	appendStringInfoChar(&json, '}');
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data));
}

/* Whether a path is a predicate, whose unknown is null. */
static bool
is_predicate(JsonPath *path)
{
	JsonPathItem item;

	jspInit(&item, path);
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

/* Whether a filter selects a letter. */
QueenSelected
queen_filter(JsonPath *filter, const QueenLetter *letter)
{
	Evaluation	evaluation = {.filter = filter, .letter = letter};

	if (filter == NULL)
		return QUEEN_SELECTED;
	if (!queen_guard(evaluate, &evaluation))
		return QUEEN_FILTER_FAILED;
	return evaluation.selected ? QUEEN_SELECTED : QUEEN_NOT_SELECTED;
}
