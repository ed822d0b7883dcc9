/*-------------------------------------------------------------------------
 *
 * fuzz_slice.c
 *	  libFuzzer target for src/slice.c and src/json_check.c.
 *
 * Three things are held against the slicers. Whatever the text: what they
 * give lies inside it, in order, and can be cut again where it is an array or
 * object. Where they do not fail: what lies between the slices is the
 * brackets, commas and colons of the outermost structure, no more and no
 * less. Where the text is valid JSON, which a small strict parser decides:
 * they do not fail. And json_check.c decides as that parser does, as deep as it
 * goes.
 *
 *-------------------------------------------------------------------------
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "json_check.h"
#include "slice.h"

/* Slices are cut again down to here; each level costs a pass. */
#define MAX_CUTS 6

/* The parser recurses, so it takes a text nested deeper for invalid. */
#define MAX_DEPTH 200

/* What the parser has yet to read. */
typedef struct Parser
{
	const char *at;
	const char *end;
} Parser;

extern int	LLVMFuzzerTestOneInput(const unsigned char *data, size_t len);

static bool parse_value(Parser *parser, int depth);

/* ----------
 * A strict parser of JSON (RFC 8259), written without a look at slice.c
 * ----------
 */

static bool
peek(const Parser *parser, const char *set)
{
	return parser->at < parser->end && *parser->at != '\0' &&
		strchr(set, *parser->at) != NULL;
}

static bool
accept(Parser *parser, const char *set)
{
	if (!peek(parser, set))
		return false;
	parser->at++;
	return true;
}

static void
parse_space(Parser *parser)
{
	while (accept(parser, " \t\r\n"))
		;
}

static bool
parse_digits(Parser *parser)
{
	if (!accept(parser, "0123456789"))
		return false;
	while (accept(parser, "0123456789"))
		;
	return true;
}

static bool
parse_number(Parser *parser)
{
	accept(parser, "-");
	if (!accept(parser, "0") && !parse_digits(parser))
		return false;
	if (accept(parser, ".") && !parse_digits(parser))
		return false;
	if (!accept(parser, "eE"))
		return true;
	accept(parser, "+-");
	return parse_digits(parser);
}

static bool
parse_word(Parser *parser, const char *word)
{
	size_t		len = strlen(word);

	if ((size_t) (parser->end - parser->at) < len ||
		memcmp(parser->at, word, len) != 0)
		return false;
	parser->at += len;
	return true;
}

static bool
parse_escape(Parser *parser)
{
	int			i;

	if (accept(parser, "\"\\/bfnrt"))
		return true;
	if (!accept(parser, "u"))
		return false;
	for (i = 0; i < 4; i++)
	{
		if (!accept(parser, "0123456789abcdefABCDEF"))
			return false;
	}
	return true;
}

static bool
parse_string(Parser *parser)
{
	if (!accept(parser, "\""))
		return false;
	while (parser->at < parser->end)
	{
		if (accept(parser, "\""))
			return true;
		if ((unsigned char) *parser->at < ' ')
			return false;
		if (*parser->at++ == '\\' && !parse_escape(parser))
			return false;
	}
	return false;
}

static bool
parse_items(Parser *parser, bool keys, const char *close, int depth)
{
	parser->at++;
	parse_space(parser);
	if (accept(parser, close))
		return true;
	do
	{
		parse_space(parser);
		if (keys)
		{
			if (!parse_string(parser))
				return false;
			parse_space(parser);
			if (!accept(parser, ":"))
				return false;
		}
		if (!parse_value(parser, depth + 1))
			return false;
	} while (accept(parser, ","));
	return accept(parser, close);
}

/* A value and the white space around it. */
static bool
parse_value(Parser *parser, int depth)
{
	bool		valid;

	parse_space(parser);
	if (depth > MAX_DEPTH)
		valid = false;
	else if (peek(parser, "["))
		valid = parse_items(parser, false, "]", depth);
	else if (peek(parser, "{"))
		valid = parse_items(parser, true, "}", depth);
	else if (peek(parser, "\""))
		valid = parse_string(parser);
	else if (peek(parser, "-0123456789"))
		valid = parse_number(parser);
	else
		valid = parse_word(parser, "true") || parse_word(parser, "false") ||
			parse_word(parser, "null");
	parse_space(parser);
	return valid;
}

static bool
is_valid(QueenSlice text)
{
	Parser		parser;

	parser.at = text.data;
	parser.end = text.data + text.len;
	return parse_value(&parser, 0) && parser.at == parser.end;
}

/* ----------
 * What is held against the slicers
 * ----------
 */

/* Are the bytes from at to end these, white space aside? */
static bool
gap_is(const char *at, const char *end, const char *bytes)
{
	for (; at < end; at++)
	{
		if (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n')
			continue;
		if (*bytes == '\0' || *at != *bytes)
			return false;
		bytes++;
	}
	return *bytes == '\0';
}

/* Has a scalar no byte that delimits? */
static bool
is_plain(QueenSlice scalar)
{
	size_t		i;

	for (i = 0; i < scalar.len; i++)
	{
		if (scalar.data[i] == '\0' ||
			strchr(" \t\r\n,:[]{}\"", scalar.data[i]) != NULL)
			return false;
	}
	return true;
}

/* A slice must lie between two places and be a value without white space. */
static void
check_slice(QueenSlice slice, const char *begin, const char *end)
{
	char		last;

	assert(slice.data >= begin && slice.data < end);
	assert(slice.len > 0 && slice.len <= (size_t) (end - slice.data));
	last = slice.data[slice.len - 1];
	switch (slice.data[0])
	{
		case '"':
			assert(slice.len >= 2 && last == '"');
			break;
		case '[':
			assert(slice.len >= 2 && last == ']');
			break;
		case '{':
			assert(slice.len >= 2 && last == '}');
			break;
		default:
			assert(is_plain(slice));
			break;
	}
}

/* A slicer that has ended or failed gives nothing more and stays as it is. */
static void
check_ended(QueenSlicer *slicer)
{
	QueenSlicer before = *slicer;
	QueenSlice	key;
	QueenSlice	value;

	assert(!queen_slice_element(slicer, &value));
	assert(!queen_slice_member(slicer, &key, &value));
	assert(slicer->at == slicer->end && before.at == before.end);
	assert(slicer->failed == before.failed);
}

static void cut(QueenSlice text, int cuts);

/* Cuts an array. */
static void
cut_array(QueenSlice text, int cuts)
{
	const char *end = text.data + text.len;
	const char *at = text.data;
	QueenSlicer slicer;
	QueenSlice	element;
	const char *gap = "[";
	bool		clean = true;

	assert(queen_slice_array(&slicer, text));
	while (queen_slice_element(&slicer, &element))
	{
		check_slice(element, at, end);
		clean = clean && gap_is(at, element.data, gap);
		at = element.data + element.len;
		gap = ",";
		cut(element, cuts + 1);
	}
	check_ended(&slicer);
	assert(slicer.failed ||
		   (clean && gap_is(at, end, at == text.data ? "[]" : "]")));
	assert(!slicer.failed || !is_valid(text));
}

/* Cuts an object. */
static void
cut_object(QueenSlice text, int cuts)
{
	const char *end = text.data + text.len;
	const char *at = text.data;
	QueenSlicer slicer;
	QueenSlice	key;
	QueenSlice	value;
	const char *gap = "{";
	bool		clean = true;

	assert(queen_slice_object(&slicer, text));
	while (queen_slice_member(&slicer, &key, &value))
	{
		check_slice(key, at, end);
		assert(key.data[0] == '"');
		check_slice(value, key.data + key.len, end);
		clean = clean && gap_is(at, key.data, gap) &&
			gap_is(key.data + key.len, value.data, ":");
		at = value.data + value.len;
		gap = ",";
		cut(value, cuts + 1);
	}
	check_ended(&slicer);
	assert(slicer.failed ||
		   (clean && gap_is(at, end, at == text.data ? "{}" : "}")));
	assert(!slicer.failed || !is_valid(text));
}

/* Cuts a text, whatever it is. */
static void
cut(QueenSlice text, int cuts)
{
	char		first = queen_slice_first(text);
	QueenSlicer slicer;

	if (cuts > MAX_CUTS)
		return;
	if (first == '[')
		cut_array(text, cuts);
	else
	{
		assert(!queen_slice_array(&slicer, text) && slicer.failed);
		check_ended(&slicer);
	}
	if (first == '{')
		cut_object(text, cuts);
	else
	{
		assert(!queen_slice_object(&slicer, text) && slicer.failed);
		check_ended(&slicer);
	}
}

/*
 * The wrong question, or both in turn, must do no harm. Each slice that is
 * given takes at least one byte, so more of them than bytes is an endless run.
 */
static void
mix(QueenSlice text)
{
	QueenSlicer slicer;
	QueenSlice	key;
	QueenSlice	value;
	size_t		given = 0;

	if (!queen_slice_array(&slicer, text) &&
		!queen_slice_object(&slicer, text))
		return;
	while (queen_slice_member(&slicer, &key, &value) ||
		   queen_slice_element(&slicer, &value))
	{
		given++;
		assert(given <= text.len);
	}
	check_ended(&slicer);
}

/* What json_check.c says must be what the parser says, but for what may be too deep for it. */
static void
check_validity(QueenSlice text)
{
	bool		said = queen_json_is_valid(text.data, text.len);
	int			brackets = 0;

	for (size_t i = 0; i < text.len; i++)
		brackets += text.data[i] == '[' || text.data[i] == '{';
	if (said || brackets <= 64)
		assert(said == is_valid(text));
}

/* What libFuzzer calls. */
int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t len)
{
	char	   *copy = malloc(len > 0 ? len : 1);
	QueenSlice	text;

	if (copy == NULL)
		abort();
	if (len > 0)
		memcpy(copy, data, len);
	text.data = copy;
	text.len = len;
	cut(text, 0);
	mix(text);
	check_validity(text);
	(void) queen_slice_says(text, "dead_letter");
	free(copy);
	return 0;
}
