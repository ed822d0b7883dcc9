/*-------------------------------------------------------------------------
 *
 * slice.c
 *	  Cuts a JSON array or object into the texts of its members.
 *
 * Two words: a value is any JSON value; an item is what stands between two
 * delimiters of the array or object being cut, an element or a member.
 *
 * A slicer stands on a delimiter: the opening bracket at first, then the
 * comma or closing bracket behind the item last given. Thus the byte it
 * stands on says all it has to remember. Past the closing bracket, and after
 * a failure, it stands at the end and gives nothing more.
 *
 * The outermost structure is checked: one item between two delimiters, and
 * nothing but white space around the whole. Of a value only its end is
 * looked for. Nested brackets are counted, not kept on a stack, so neither
 * depth nor length of a text makes the scanner use memory, and every byte is
 * passed over once.
 *
 * Bytes can be looked at singly because no encoding that a PostgreSQL
 * database may have uses ASCII bytes inside a longer character.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "slice.h"

/* Is this a byte that JSON calls white space? */
static inline bool
is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Can this byte stand in a number, true, false or null? */
static inline bool
is_scalar(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
		(c >= 'A' && c <= 'Z') || c == '-' || c == '+' || c == '.';
}

/* The bracket that closes what the given one opens. */
static inline char
closing(char open)
{
	return open == '[' ? ']' : '}';
}

/* Gives up on the text. */
static bool
fail(QueenSlicer *slicer)
{
	slicer->at = slicer->end;
	slicer->failed = true;
	return false;
}

/* Passes over white space. */
static inline void
skip_space(QueenSlicer *slicer)
{
	while (slicer->at < slicer->end && is_space(*slicer->at))
		slicer->at++;
}

/* Is the quote at this place one of a string's content? */
static inline bool
is_escaped(const char *quote)
{
	const char *at = quote;

	/* the quote that opens the string stops this at the latest */
	while (at[-1] == '\\')
		at--;
	return (quote - at) % 2 != 0;
}

/* Where the string ends that the quote at this place opens; NULL: nowhere. */
static inline const char *
string_end(const char *at, const char *end)
{
	do
	{
		at++;
		at = memchr(at, '"', (size_t) (end - at));
	} while (at != NULL && is_escaped(at));
	return at == NULL ? NULL : at + 1;
}

/* Where the array or object ends that opens at this place; NULL: nowhere. */
static const char *
nested_end(const char *at, const char *end)
{
	char		close = closing(*at);
	size_t		depth = 0;

	while (at < end)
	{
		char		c = *at;

		if (c == '"')
		{
			at = string_end(at, end);
			if (at == NULL)
				return NULL;
			continue;
		}
		at++;
		if (c == '[' || c == '{')
			depth++;
		else if ((c == ']' || c == '}') && --depth == 0)
			return c == close ? at : NULL;
	}
	return NULL;
}

/* Where the number, true, false or null ends that begins here; NULL: none. */
static const char *
scalar_end(const char *at, const char *end)
{
	const char *start = at;

	while (at < end && is_scalar(*at))
		at++;
	return at > start ? at : NULL;
}

/* Where the value ends that begins at this place; NULL where there is none. */
static inline const char *
value_end(const char *at, const char *end)
{
	if (at == end)
		return NULL;
	switch (*at)
	{
		case '"':
			return string_end(at, end);
		case '[':
		case '{':
			return nested_end(at, end);
		default:
			return scalar_end(at, end);
	}
}

/* Takes the value at the slicer's place. */
static inline bool
take_value(QueenSlicer *slicer, QueenSlice *value)
{
	const char *end = value_end(slicer->at, slicer->end);

	if (end == NULL)
		return fail(slicer);
	value->data = slicer->at;
	value->len = (size_t) (end - slicer->at);
	slicer->at = end;
	return true;
}

/* Takes the key at the slicer's place, and the colon behind it. */
static bool
take_key(QueenSlicer *slicer, QueenSlice *key)
{
	if (slicer->at == slicer->end || *slicer->at != '"' ||
		!take_value(slicer, key))
		return fail(slicer);
	skip_space(slicer);
	if (slicer->at == slicer->end || *slicer->at != ':')
		return fail(slicer);
	slicer->at++;
	skip_space(slicer);
	return true;
}

/* Passes over the closing bracket; nothing may come after it. */
static bool
finish(QueenSlicer *slicer)
{
	slicer->at++;
	skip_space(slicer);
	if (slicer->at < slicer->end)
		return fail(slicer);
	return false;
}

/* Passes from the delimiter to the item behind it; false where none is. */
static inline bool
begin_item(QueenSlicer *slicer, char open)
{
	char		delimiter;

	if (slicer->at == slicer->end)
		return false;
	delimiter = *slicer->at;
	if (delimiter == closing(open))
		return finish(slicer);
	/* a slicer of an array asked for a member, or the reverse */
	if (delimiter != open && delimiter != ',')
		return fail(slicer);
	slicer->at++;
	skip_space(slicer);
	/* only behind the opening bracket may the closing one come at once */
	if (delimiter == open && slicer->at < slicer->end &&
		*slicer->at == closing(open))
		return finish(slicer);
	return true;
}

/* Passes from an item to the delimiter behind it. */
static inline bool
end_item(QueenSlicer *slicer, char open)
{
	skip_space(slicer);
	if (slicer->at == slicer->end ||
		(*slicer->at != ',' && *slicer->at != closing(open)))
		return fail(slicer);
	return true;
}

/* Starts over a text that has to begin with the given bracket. */
static bool
start(QueenSlicer *slicer, QueenSlice text, char open)
{
	slicer->at = text.data;
	slicer->end = text.data;

	/* this first: an empty text may have no address to count from */
	slicer->failed = queen_slice_first(text) != open;
	if (slicer->failed)
		return false;
	slicer->end = text.data + text.len;

	skip_space(slicer);
	return true;
}

/* The first byte of the value in text; 0 where there is none. */
char
queen_slice_first(QueenSlice text)
{
	size_t		i;

	for (i = 0; i < text.len; i++)
	{
		if (!is_space(text.data[i]))
			return text.data[i];
	}
	return 0;
}

/* Starts over the elements of an array; false where text is no array. */
bool
queen_slice_array(QueenSlicer *slicer, QueenSlice text)
{
	return start(slicer, text, '[');
}

/* The next element; false at the end, and where the text is malformed. */
bool
queen_slice_element(QueenSlicer *slicer, QueenSlice *element)
{
	return begin_item(slicer, '[') &&
		take_value(slicer, element) &&
		end_item(slicer, '[');
}

/* Starts over the members of an object; false where text is no object. */
bool
queen_slice_object(QueenSlicer *slicer, QueenSlice text)
{
	return start(slicer, text, '{');
}

/* The next member; false at the end, and where the text is malformed. */
bool
queen_slice_member(QueenSlicer *slicer, QueenSlice *key, QueenSlice *value)
{
	return begin_item(slicer, '{') &&
		take_key(slicer, key) &&
		take_value(slicer, value) &&
		end_item(slicer, '{');
}

/* The value of a hexadecimal digit; -1 where it is none. */
static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* The character that an escape stands for, or -1; at is moved behind it. */
static int
unescape(const char **at, const char *end)
{
	static const char from[] = "\"\\/bfnrt";
	static const char to[] = "\"\\/\b\f\n\r\t";
	char		c = *(*at)++;
	const char *known;
	int			code = 0;

	if (c != 'u')
	{
		known = memchr(from, c, sizeof(from) - 1);
		return known == NULL ? -1 : to[known - from];
	}
	for (int i = 0; i < 4; i++)
	{
		int			digit = *at < end ? hex_digit(*(*at)++) : -1;

		if (digit < 0)
			return -1;
		code = code << 4 | digit;
	}
	return code;
}

/* Whether a string, its escapes resolved, is a name of ASCII characters. */
bool
queen_slice_says(QueenSlice string, const char *name)
{
	const char *at;
	const char *end;

	if (string.len < 2 || string.data[0] != '"')
		return false;
	at = string.data + 1;
	end = string.data + string.len - 1;
	for (; at < end && *name != '\0'; name++)
	{
		int			c = (unsigned char) *at++;

		if (c == '\\')
			c = at < end ? unescape(&at, end) : -1;
		if (c != *name)
			return false;
	}
	return at == end && *name == '\0';
}
