/*-------------------------------------------------------------------------
 *
 * json_text.h
 *	  Writes small JSON objects.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_JSON_TEXT_H
#define QUEEN_JSON_TEXT_H

#include "datatype/timestamp.h"
#include "lib/stringinfo.h"

/* Members are added to an empty string; a value of NULL is null. */
extern void queen_json_key(StringInfo json, const char *key);
extern void queen_json_raw(StringInfo json, const char *key, const char *value);
extern void queen_json_text(StringInfo json, const char *key, const text *value);
extern void queen_json_number(StringInfo json, const char *key, int64 value);
extern void queen_json_time(StringInfo json, const char *key, TimestampTz value);

/* The object, complete: as text, as jsonb. */
extern char *queen_json_close(StringInfo json);
extern Datum queen_json_close_jsonb(StringInfo json);

#endif							/* QUEEN_JSON_TEXT_H */
