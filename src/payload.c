/*-------------------------------------------------------------------------
 *
 * payload.c
 *	  queen.payload, the type of every payload argument.
 *
 * A value is one byte, its QueenKind, and the body: JSON text as the client
 * wrote it, or bytes. JSON text is checked here and nowhere later, so whoever
 * reads a payload may trust it. The type exists so that one signature takes
 * an untyped literal, json, jsonb, text and bytea; it is not meant for
 * columns, but it reads back what it writes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"

#include "check.h"
#include "compat.h"
#include "guard.h"
#include "json_check.h"
#include "payload.h"

PG_FUNCTION_INFO_V1(queen_payload_in);
PG_FUNCTION_INFO_V1(queen_payload_out);
PG_FUNCTION_INFO_V1(queen_payload_from_text);
PG_FUNCTION_INFO_V1(queen_payload_from_json);
PG_FUNCTION_INFO_V1(queen_payload_from_jsonb);
PG_FUNCTION_INFO_V1(queen_payload_from_bytea);

/* A value of a kind. */
static struct varlena *
make_payload(QueenKind kind, const char *data, size_t len)
{
	struct varlena *result = palloc(VARHDRSZ + 1 + len);

	SET_VARSIZE(result, VARHDRSZ + 1 + len);
	*VARDATA(result) = (char) kind;
	memcpy(VARDATA(result) + 1, data, len);

	return result;
}

/* Refuses what is not JSON, in the words of type json. */
static void
check_json(const char *data, size_t len)
{
	if (!queen_json_is_valid(data, len))
		pg_parse_json_or_ereport(queen_lex_context(data, (int) len, false), &nullSemAction);
}

/* JSON text, or bytes as bytea writes them: no JSON text begins with a backslash. */
Datum
queen_payload_in(PG_FUNCTION_ARGS)
{
	char	   *input = PG_GETARG_CSTRING(0);

	if (input[0] == '\\' && input[1] == 'x')
	{
		bytea	   *bytes = DatumGetByteaPP(DirectFunctionCall1(byteain, CStringGetDatum(input)));

		PG_RETURN_POINTER(make_payload(QUEEN_KIND_BYTES, VARDATA_ANY(bytes),
									   VARSIZE_ANY_EXHDR(bytes)));
	}
	check_json(input, strlen(input));
	PG_RETURN_POINTER(make_payload(QUEEN_KIND_JSON, input, strlen(input)));
}

/* What queen_payload_in() reads. */
Datum
queen_payload_out(PG_FUNCTION_ARGS)
{
	QueenPayload payload = queen_payload_argument(fcinfo, 0, "payload");
	char	   *result;

	if (payload.kind == QUEEN_KIND_JSON)
		PG_RETURN_CSTRING(pnstrdup(payload.text.data, payload.text.len));

	result = palloc(payload.text.len * 2 + 3);
	result[0] = '\\';
	result[1] = 'x';
	result[2 + hex_encode(payload.text.data, payload.text.len, result + 2)] = '\0';
	PG_RETURN_CSTRING(result);
}

/* text and varchar: JSON text. */
Datum
queen_payload_from_text(PG_FUNCTION_ARGS)
{
	text	   *input = PG_GETARG_TEXT_PP(0);

	check_json(VARDATA_ANY(input), VARSIZE_ANY_EXHDR(input));
	PG_RETURN_POINTER(make_payload(QUEEN_KIND_JSON, VARDATA_ANY(input),
								   VARSIZE_ANY_EXHDR(input)));
}

/* json has been checked by its own input. */
Datum
queen_payload_from_json(PG_FUNCTION_ARGS)
{
	text	   *input = PG_GETARG_TEXT_PP(0);

	PG_RETURN_POINTER(make_payload(QUEEN_KIND_JSON, VARDATA_ANY(input),
								   VARSIZE_ANY_EXHDR(input)));
}

/* jsonb, as text. */
Datum
queen_payload_from_jsonb(PG_FUNCTION_ARGS)
{
	Jsonb	   *input = PG_GETARG_JSONB_P(0);
	StringInfoData json;

	initStringInfo(&json);
	JsonbToCString(&json, &input->root, VARSIZE(input));
	PG_RETURN_POINTER(make_payload(QUEEN_KIND_JSON, json.data, json.len));
}

/* bytes, of any content. */
Datum
queen_payload_from_bytea(PG_FUNCTION_ARGS)
{
	bytea	   *input = PG_GETARG_BYTEA_PP(0);

	PG_RETURN_POINTER(make_payload(QUEEN_KIND_BYTES, VARDATA_ANY(input),
								   VARSIZE_ANY_EXHDR(input)));
}

/* A payload argument taken apart. */
QueenPayload
queen_payload_argument(FunctionCallInfo fcinfo, int number, const char *what)
{
	struct varlena *value = PG_DETOAST_DATUM_PACKED(queen_required(fcinfo, number, what));
	QueenPayload payload;

	if (VARSIZE_ANY_EXHDR(value) < 1)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("invalid value of type queen.payload")));
	payload.kind = (QueenKind) *VARDATA_ANY(value);
	payload.text.data = VARDATA_ANY(value) + 1;
	payload.text.len = VARSIZE_ANY_EXHDR(value) - 1;

	return payload;
}

/* Resolves the escapes of a JSON string. */
static text *
resolve_escapes(QueenSlice value, JsonParseErrorType *error, JsonLexContext **lex)
{
	*lex = queen_lex_context(value.data, (int) value.len, true);
	*error = json_lex(*lex);
	if (*error != JSON_SUCCESS)
		return NULL;
	return cstring_to_text_with_len((*lex)->strval->data, (*lex)->strval->len);
}

/* A JSON string, its escapes resolved; NULL where the value is none. */
text *
queen_json_string(QueenSlice value)
{
	JsonLexContext *lex;
	JsonParseErrorType error;
	text	   *result;

	if (queen_slice_first(value) != '"')
		return NULL;
	if (memchr(value.data, '\\', value.len) == NULL)
		return cstring_to_text_with_len(value.data + 1, value.len - 2);
	result = resolve_escapes(value, &error, &lex);
	if (result == NULL)
		queen_json_error(error, lex);
	return result;
}

/* A string that a guarded look takes apart. */
typedef struct Look
{
	QueenPayload payload;
	text	   *string;
	bool		is_json;
} Look;

/* What queen_json_string() answers. */
static void
look_at_string(void *argument)
{
	Look	   *look = argument;

	look->string = queen_json_string(look->payload.text);
}

/* The same; NULL, too, where the escapes say what no text can hold. */
text *
queen_json_string_or_null(QueenSlice value)
{
	Look		look = {.payload = {QUEEN_KIND_JSON, value}};

	if (value.len < 2 || memchr(value.data, '\\', value.len) == NULL)
		return queen_json_string(value);
	return queen_guard(look_at_string, &look) ? look.string : NULL;
}

/* Whether bytes are JSON; deep nesting raises an error. */
static void
look_at_bytes(void *argument)
{
	Look	   *look = argument;
	const char *data = look->payload.text.data;
	int			len = (int) look->payload.text.len;

	look->is_json = pg_verify_mbstr(GetDatabaseEncoding(), data, len, true) &&
		pg_parse_json(queen_lex_context(data, len, false), &nullSemAction) == JSON_SUCCESS;
}

/* Whether a body is JSON; bytes may be that, too. */
bool
queen_payload_is_json(QueenPayload payload)
{
	Look		look = {.payload = payload};

	return payload.kind == QUEEN_KIND_JSON ||
		(queen_guard(look_at_bytes, &look) && look.is_json);
}
