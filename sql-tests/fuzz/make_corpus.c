/*-------------------------------------------------------------------------
 *
 * make_corpus.c
 *	  Writes the seed corpus: make_corpus DIRECTORY, which has to hold the
 *	  directories frame and slice.
 *
 * The corpus is kept in the tree, and sql-tests/fuzz/run compares it with
 * what this program writes. A segment written by an earlier version must stay
 * readable, so a difference in corpus/frame means that the format has changed.
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* The bytes of a literal, and their number. */
#define PART(literal) (literal), sizeof(literal) - 1

typedef struct TextSeed
{
	const char *name;
	const char *text;
	size_t		len;
} TextSeed;

static const TextSeed text_seeds[] = {
	{"empty_array", PART("[]")},
	{"empty_object", PART("{}")},
	{"scalars", PART("[1, -2.5e+3, true, false, null, \"\"]")},
	{"objects", PART("[{\"id\":1,\"a\":[1,2]},{\"id\":2,\"a\":[]},{}]")},
	{"nested", PART("[[[[]]],{\"a\":{\"b\":{\"c\":[{}]}}}]")},
	{"escapes", PART("[\"a\\\"b\", \"\\\\\", \"\\\\\\\"\", \"\\u005b\\n\"]")},
	{"brackets", PART("[\"][}{,:\", {\"]\":\"}\"}]")},
	{"space", PART(" \t\r\n[ \t1\r\n,\n2 ,\t[ ] ] \n")},
	{"batch", PART("[{\"partition\": \"p1\", \"payload\": {\"a\": 1}, "
				   "\"headers\": {\"k\": \"v\"}}, "
				   "{\"transaction_id\": \"t-1\", \"payload\": \"x\"}]")},
	{"members", PART("{\"a\" : 1 , \"a\":[2], \"\":{}, \"\\\"\":null}")},
	{"utf8", PART("[\"\303\251\", {\"\346\227\245\": \"\360\237\220\235\"}]")},
	{"trailing_comma", PART("[1,2,]")},
	{"missing_comma", PART("[1 2]")},
	{"unterminated", PART("[\"a\\\"]")},
	{"unbalanced", PART("[[1,2]")},
	{"trailing", PART("{\"a\":1} x")},
};

static const QueenMessage one[] = {
	{QUEEN_KIND_JSON, 0, NULL, 0, NULL, 0, PART("{\"a\":1}")},
};

static const QueenMessage empty[] = {
	{QUEEN_KIND_BYTES, 0, NULL, 0, NULL, 0, NULL, 0},
};

static const QueenMessage full[] = {
	{QUEEN_KIND_JSON, 7, PART("order-1"), PART("{\"k\":\"v\"}"),
	PART("[1, 2, 3]")},
};

static const QueenMessage several[] = {
	{QUEEN_KIND_JSON, 0, NULL, 0, NULL, 0, PART("1")},
	{QUEEN_KIND_BYTES, 0, PART("t"), NULL, 0, PART("\0\1\377")},
	{QUEEN_KIND_JSON, 0, NULL, 0, PART("{}"), PART("\"x\"")},
	{QUEEN_KIND_BYTES, UINT32_MAX, NULL, 0, NULL, 0, NULL, 0},
	{QUEEN_KIND_JSON, 1, PART("t2"), PART("{\"a\":[]}"), PART("null")},
};

/* Writes a file of the corpus. */
static void
write_file(const char *directory, const char *kind, const char *name,
		   const void *data, size_t len)
{
	char		path[4096];
	FILE	   *file;
	int			n;

	n = snprintf(path, sizeof(path), "%s/%s/%s", directory, kind, name);
	if (n < 0 || (size_t) n >= sizeof(path))
	{
		fprintf(stderr, "make_corpus: path is too long\n");
		exit(1);
	}
	file = fopen(path, "wb");
	if (file == NULL || fwrite(data, 1, len, file) != len || fclose(file) != 0)
	{
		perror(path);
		exit(1);
	}
}

/* Writes messages as a segment. */
static void
write_segment(const char *directory, const char *name,
			  const QueenMessage *messages, size_t count)
{
	size_t		size = 0;
	uint8_t    *out;
	size_t		i;

	for (i = 0; i < count; i++)
		size += queen_frame_size(&messages[i]);
	size = queen_segment_size((uint32_t) count, size);
	out = malloc(size);
	if (out == NULL)
		abort();
	queen_segment_encode(out, messages, (uint32_t) count);
	write_file(directory, "frame", name, out, size);
	free(out);
}

int
main(int argc, char **argv)
{
	size_t		i;

	if (argc != 2)
	{
		fprintf(stderr, "usage: make_corpus DIRECTORY\n");
		return 1;
	}
	for (i = 0; i < LENGTH(text_seeds); i++)
		write_file(argv[1], "slice", text_seeds[i].name,
				   text_seeds[i].text, text_seeds[i].len);
	write_segment(argv[1], "one", one, LENGTH(one));
	write_segment(argv[1], "empty", empty, LENGTH(empty));
	write_segment(argv[1], "full", full, LENGTH(full));
	write_segment(argv[1], "several", several, LENGTH(several));
	/* also a recipe of fuzz_frame.c: two messages */
	write_file(argv[1], "frame", "recipe",
			   PART("\1" "\2\2\3\0\0\0\0\0\0" "id{}[1]"
					"\0\0\2\0\1\1\0\0\0" "\0\377"));
	return 0;
}
