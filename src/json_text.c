/*-------------------------------------------------------------------------
 *
 * json_text.c
 *	  Writes small JSON objects.
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

#include "json_text.h"

/* Begins a member; its value comes next. */
void
queen_json_key(StringInfo json, const char *key)
{
	appendStringInfo(json, "%c\"%s\":", json->len > 0 ? ',' : '{', key);
}

/* A value that is JSON already. */
void
queen_json_raw(StringInfo json, const char *key, const char *value)
{
	queen_json_key(json, key);
	appendStringInfoString(json, value ? value : "null");
}

/* A string. */
void
queen_json_text(StringInfo json, const char *key, const text *value)
{
	queen_json_key(json, key);
	if (value)
		escape_json(json, text_to_cstring(value));
	else
		appendStringInfoString(json, "null");
}

/* A whole number. */
void
queen_json_number(StringInfo json, const char *key, int64 value)
{
	queen_json_key(json, key);
	appendStringInfo(json, "%lld", (long long) value);
}

/* A time as ISO 8601 writes it, in UTC; -infinity is null. */
void
queen_json_time(StringInfo json, const char *key, TimestampTz value)
{
	char		time[MAXDATELEN + 1];
	int			utc = 0;

	queen_json_key(json, key);
	if (value == DT_NOBEGIN)
	{
		appendStringInfoString(json, "null");
		return;
	}
	JsonEncodeDateTime(time, TimestampTzGetDatum(value), TIMESTAMPTZOID, &utc);
	appendStringInfo(json, "\"%s\"", time);
}

/* The object, complete. */
char *
queen_json_close(StringInfo json)
{
	appendStringInfoString(json, json->len > 0 ? "}" : "{}");
	return json->data;
}

/* The same as jsonb. */
Datum
queen_json_close_jsonb(StringInfo json)
{
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(queen_json_close(json)));
}
