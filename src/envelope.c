/*-------------------------------------------------------------------------
 *
 * envelope.c
 *	  The envelope that client libraries put around a message.
 *
 * A body is an envelope where it is a JSON object that names a job and has a
 * meta object with a schema_version; docs/dead-letters.md describes it. We know
 * version 1. Libraries in other languages write and read it too, so what we do
 * not have to change keeps its bytes: members are cut out of the text and put
 * in, the rest is copied as it stands. Where a key stands twice its last value
 * counts, as it does for jsonb, and each of them is rewritten.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "compat.h"
#include "envelope.h"

#define KNOWN_VERSION 1

/* A whole number, or 0 where the value is none or a very large one. */
static int64
take_number(QueenSlice value)
{
	char		digits[20] = {0};

	if (value.len >= sizeof(digits))
		return 0;
	memcpy(digits, value.data, value.len);
	return strspn(digits, "-0123456789") == value.len ? strtoll(digits, NULL, 10) : 0;
}

/* A string that says something, else NULL: one that no text can hold does not. */
static text *
take_text(QueenSlice value)
{
	text	   *string = queen_json_string_or_null(value);

	return string && VARSIZE(string) > VARHDRSZ ? string : NULL;
}

/* Whether a version is the one that we know: 1, or 1.0, but not "1". */
static bool
is_known_version(QueenSlice value)
{
	size_t		i = 1;

	if (value.data[0] != '0' + KNOWN_VERSION)
		return false;
	if (value.len > 1 && value.data[i++] != '.')
		return false;
	while (i < value.len && value.data[i] == '0')
		i++;
	return i == value.len;
}

/* The meta object; answers whether it says a version. */
static bool
read_meta(QueenSlice meta, QueenEnvelope *envelope)
{
	QueenSlicer slicer;
	QueenSlice	key;
	QueenSlice	value;
	bool		versioned = false;

	envelope->id = envelope->queue = NULL;
	envelope->known = false;
	if (!queen_slice_object(&slicer, meta))
		return false;
	while (queen_slice_member(&slicer, &key, &value))
	{
		if (queen_slice_says(key, "id"))
			envelope->id = take_text(value);
		else if (queen_slice_says(key, "queue"))
			envelope->queue = take_text(value);
		else if (queen_slice_says(key, "schema_version"))
		{
			versioned = true;
			envelope->known = is_known_version(value);
		}
	}
	return versioned;
}

/* The dead_letter block. */
static void
read_block(QueenSlice block, QueenEnvelope *envelope)
{
	QueenSlicer slicer;
	QueenSlice	key;
	QueenSlice	value;

	envelope->reason = envelope->error = envelope->original_queue = NULL;
	envelope->failed_at = envelope->attempts = 0;
	if (!queen_slice_object(&slicer, block))
		return;
	while (queen_slice_member(&slicer, &key, &value))
	{
		if (queen_slice_says(key, "reason"))
			envelope->reason = take_text(value);
		else if (queen_slice_says(key, "error"))
			envelope->error = take_text(value);
		else if (queen_slice_says(key, "original_queue"))
			envelope->original_queue = take_text(value);
		else if (queen_slice_says(key, "failed_at"))
			envelope->failed_at = take_number(value);
		else if (queen_slice_says(key, "attempts"))
			envelope->attempts = (int32) Min(Max(take_number(value), 0), PG_INT32_MAX);
	}
}

/* What an envelope says, or that the body is none. */
void
queen_envelope_read(QueenPayload body, QueenEnvelope *envelope)
{
	QueenSlicer slicer;
	QueenSlice	key;
	QueenSlice	value;
	text	   *alias = NULL;
	bool		versioned = false;

	memset(envelope, 0, sizeof(QueenEnvelope));
	if (!queen_payload_is_json(body) || !queen_slice_object(&slicer, body.text))
		return;
	while (queen_slice_member(&slicer, &key, &value))
	{
		if (queen_slice_says(key, "job"))
			envelope->urn = take_text(value);
		else if (queen_slice_says(key, "urn"))
			alias = take_text(value);
		else if (queen_slice_says(key, "trace_id"))
			envelope->trace_id = take_text(value);
		else if (queen_slice_says(key, "meta"))
			versioned = read_meta(value, envelope);
		else if (queen_slice_says(key, "dead_letter"))
			read_block(value, envelope);
	}
	if (envelope->urn == NULL)
		envelope->urn = alias;
	envelope->valid = envelope->urn != NULL && versioned;
	if (!envelope->valid)
		memset(envelope, 0, sizeof(QueenEnvelope));
}

/*
 * Copies the body without its dead_letter members, and puts a number in the
 * place of each value of attempts unless that is NULL. A member takes along
 * what separates it from the one before, the first one that stays what stands
 * before all. Answers whether any member was copied, and leaves the closing
 * bracket, and what stands around it, to the caller.
 */
static QueenSlice
copy_members(QueenSlice body, const char *attempts, StringInfo result, bool *any, bool *counted)
{
	QueenSlicer slicer;
	QueenSlice	key;
	QueenSlice	value;
	const char *at = NULL;		/* the end of the member before */
	QueenSlice	rest;

	*any = *counted = false;
	queen_slice_object(&slicer, body);
	rest.data = slicer.at + 1;
	while (queen_slice_member(&slicer, &key, &value))
	{
		if (at == NULL)
			appendBinaryStringInfo(result, body.data, (int) (key.data - body.data));
		if (!queen_slice_says(key, "dead_letter"))
		{
			if (*any)
				appendBinaryStringInfo(result, at, (int) (key.data - at));
			appendBinaryStringInfo(result, key.data, (int) (value.data - key.data));
			if (attempts && queen_slice_says(key, "attempts"))
			{
				*counted = true;
				appendStringInfoString(result, attempts);
			}
			else
				appendBinaryStringInfo(result, value.data, (int) value.len);
			*any = true;
		}
		at = rest.data = value.data + value.len;
	}
	rest.len = (size_t) (body.data + body.len - rest.data);

	return rest;
}

/* Adds a member behind those that were copied. */
static void
add_member(StringInfo result, bool any, const char *key, const char *value)
{
	appendStringInfo(result, "%s\"%s\":%s", any ? "," : "", key, value);
}

/* Takes dead_letter away and sets attempts to 0; every other byte stays. */
void
queen_envelope_reset(QueenSlice body, StringInfo result)
{
	bool		any;
	bool		counted;
	QueenSlice	rest = copy_members(body, "0", result, &any, &counted);

	if (!counted)
		add_member(result, any, "attempts", "0");
	appendBinaryStringInfo(result, rest.data, (int) rest.len);
}

/* Puts a dead_letter block in the place of those that are there. */
void
queen_envelope_bury(QueenSlice body, const char *block, StringInfo result)
{
	bool		any;
	bool		counted;
	QueenSlice	rest = copy_members(body, NULL, result, &any, &counted);

	add_member(result, any, "dead_letter", block);
	appendBinaryStringInfo(result, rest.data, (int) rest.len);
}
