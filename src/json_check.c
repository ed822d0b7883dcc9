/*-------------------------------------------------------------------------
 *
 * json_check.c
 *	  Tells quickly that a text is JSON.
 *
 * The server's parser goes through a text token by token, makes copies and
 * calls, and costs more than all else that a push of many messages does with
 * them. This one passes over every byte once, and strings sixteen bytes at a
 * time. It says yes only to what the server takes; where it says no, the
 * server's parser has the last word, and the words of the error. So it can be
 * simple: what is nested deeper than it has bits for is left to the server.
 *
 * Bytes can be looked at singly because no encoding that a PostgreSQL database
 * may have uses ASCII bytes inside a longer character. Whether longer characters
 * are valid is known of every text that a server holds.
 *
 *-------------------------------------------------------------------------
 */
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "json_check.h"

#define MAX_DEPTH 64

/* Where it stands, and in what: a bit for each level, set for an object, the innermost lowest. */
typedef struct Checker
{
	const char *at;
	const char *end;
	uint64_t	objects;
	int			depth;
} Checker;

/* Does a byte of a string need a closer look: a quote, a backslash, a control character? */
static inline bool
is_special(char c)
{
	return c == '"' || c == '\\' || (unsigned char) c < ' ';
}

/* The first such byte, or the end. */
static inline const char *
find_special(const char *at, const char *end)
{
#ifdef __SSE2__
	const __m128i quotes = _mm_set1_epi8('"');
	const __m128i backslashes = _mm_set1_epi8('\\');
	const __m128i controls = _mm_set1_epi8(' ' - 1);

	for (; end - at >= 16; at += 16)
	{
		__m128i		bytes = _mm_loadu_si128((const __m128i *) at);
		__m128i		found = _mm_cmpeq_epi8(_mm_max_epu8(bytes, controls), controls);
		int			mask;

		found = _mm_or_si128(found, _mm_cmpeq_epi8(bytes, quotes));
		found = _mm_or_si128(found, _mm_cmpeq_epi8(bytes, backslashes));
		mask = _mm_movemask_epi8(found);
		if (mask != 0)
			return at + __builtin_ctz((unsigned) mask);
	}
#endif
	while (at < end && !is_special(*at))
		at++;
	return at;
}

/* Passes over white space. */
static inline void
skip_space(Checker *checker)
{
	while (checker->at < checker->end &&
		   (*checker->at == ' ' || *checker->at == '\n' ||
			*checker->at == '\r' || *checker->at == '\t'))
		checker->at++;
}

/* Is this the next byte? */
static inline bool
is_next(const Checker *checker, char c)
{
	return checker->at < checker->end && *checker->at == c;
}

/* Passes over a byte if it is the next one. */
static inline bool
take(Checker *checker, char c)
{
	if (!is_next(checker, c))
		return false;
	checker->at++;
	return true;
}

static inline bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool
is_hex_digit(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Passes over what begins with a backslash. */
static bool
take_escape(Checker *checker)
{
	const char *at = checker->at + 1;

	if (at == checker->end)
		return false;
	if (*at != 'u')
	{
		checker->at = at + 1;
		return *at != '\0' && strchr("\"\\/bfnrt", *at) != NULL;
	}
	if (checker->end - at < 5)
		return false;
	checker->at = at + 5;
	return is_hex_digit(at[1]) && is_hex_digit(at[2]) && is_hex_digit(at[3]) && is_hex_digit(at[4]);
}

/* Passes over a string. */
static inline bool
take_string(Checker *checker)
{
	if (!take(checker, '"'))
		return false;
	for (;;)
	{
		checker->at = find_special(checker->at, checker->end);
		if (take(checker, '"'))
			return true;
		if (!is_next(checker, '\\') || !take_escape(checker))
			return false;
	}
}

/* Passes over one digit or more. */
static inline bool
take_digits(Checker *checker)
{
	const char *start = checker->at;

	while (checker->at < checker->end && is_digit(*checker->at))
		checker->at++;
	return checker->at > start;
}

/* Passes over a number. */
static inline bool
take_number(Checker *checker)
{
	(void) take(checker, '-');
	if (!take(checker, '0') && !take_digits(checker))
		return false;
	if (take(checker, '.') && !take_digits(checker))
		return false;
	if (!take(checker, 'e') && !take(checker, 'E'))
		return true;
	if (!take(checker, '-'))
		(void) take(checker, '+');
	return take_digits(checker);
}

/* Passes over a word. */
static bool
take_word(Checker *checker, const char *word, ptrdiff_t len)
{
	if (checker->end - checker->at < len || memcmp(checker->at, word, (size_t) len) != 0)
		return false;
	checker->at += len;
	return true;
}

/* Passes over a value that is no array and no object. */
static inline bool
take_scalar(Checker *checker)
{
	switch (*checker->at)
	{
		case '"':
			return take_string(checker);
		case 't':
			return take_word(checker, "true", 4);
		case 'f':
			return take_word(checker, "false", 5);
		case 'n':
			return take_word(checker, "null", 4);
		default:
			return take_number(checker);
	}
}

/* Passes over the key of a member, and the colon behind it. */
static inline bool
take_key(Checker *checker)
{
	skip_space(checker);
	if (!take_string(checker))
		return false;
	skip_space(checker);
	return take(checker, ':');
}

static inline bool
in_object(const Checker *checker)
{
	return (checker->objects & 1) != 0;
}

/* Is the next byte the bracket that closes the innermost array or object? */
static inline bool
is_closing_next(const Checker *checker)
{
	return is_next(checker, in_object(checker) ? '}' : ']');
}

/* Passes over opening brackets and the first keys behind them, to a scalar or a closing bracket. */
static inline bool
go_down(Checker *checker)
{
	for (;;)
	{
		bool		object = is_next(checker, '{');

		if (!object && !is_next(checker, '['))
			return checker->at < checker->end && take_scalar(checker);
		if (checker->depth == MAX_DEPTH)
			return false;
		checker->at++;
		checker->depth++;
		checker->objects = checker->objects << 1 | object;
		skip_space(checker);
		if (is_closing_next(checker))
			return true;
		if (object && !take_key(checker))
			return false;
		skip_space(checker);
	}
}

/* Passes over closing brackets. */
static inline void
go_up(Checker *checker)
{
	skip_space(checker);
	while (checker->depth > 0 && is_closing_next(checker))
	{
		checker->at++;
		checker->depth--;
		checker->objects >>= 1;
		skip_space(checker);
	}
}

/* Goes through a text, value by value. */
bool
queen_json_is_valid(const char *data, size_t len)
{
	Checker		checker = {.at = data, .end = data + len};

	skip_space(&checker);
	while (go_down(&checker))
	{
		go_up(&checker);
		if (checker.depth == 0)
			return checker.at == checker.end;
		if (!take(&checker, ',') || (in_object(&checker) && !take_key(&checker)))
			return false;
		skip_space(&checker);
	}
	return false;
}
