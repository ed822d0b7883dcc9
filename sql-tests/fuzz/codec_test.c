/*-------------------------------------------------------------------------
 *
 * codec_test.c
 *	  Unit tests of src/frame.c, src/slice.c and src/json_check.c, without a
 *	  server.
 *
 * Prints what fails, then "N passed, N failed"; exits with 1 if any failed.
 * Buffers are malloc'ed to size, so that a run under AddressSanitizer sees
 * one byte too far.
 *
 *-------------------------------------------------------------------------
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "json_check.h"
#include "slice.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define PART(literal) (literal), sizeof(literal) - 1
#define CHECK(condition) check((condition), #condition, __LINE__)
#define CHECK_STATUS(status, expected) \
	check_status((status), (expected), __LINE__)

/* Where fields stand, said a second time so that the layout cannot drift. */
#define HEADER_VERSION 0
#define HEADER_BYTE_ORDER 1
#define HEADER_RESERVED 2
#define HEADER_COUNT 4
#define HEADER_ENDS 8
#define FRAME_CRC 0
#define FRAME_KIND 4
#define FRAME_FLAGS 5
#define FRAME_TRANSACTION_ID_LEN 6
#define FRAME_HEADERS_LEN 8
#define FRAME_PAYLOAD_LEN 12
#define FRAME_GROUP 16

/* A value in memory of its own. */
typedef struct Value
{
	uint8_t    *data;
	size_t		len;
	uint32_t	count;
} Value;

/* A text, and what cutting it should give, joined by '|' (key=value). */
typedef struct SliceCase
{
	const char *text;
	const char *expected;		/* NULL: no array or object at all */
	bool		failed;
} SliceCase;

static int	passed = 0;
static int	failed = 0;

static const QueenMessage samples[] = {
	{QUEEN_KIND_JSON, 0, NULL, 0, NULL, 0, PART("{\"a\":1}")},
	{QUEEN_KIND_BYTES, 3, PART("order-1"), PART("{\"k\":\"v\"}"),
	PART("\0\1\2")},
	{QUEEN_KIND_JSON, UINT32_MAX, PART("t"), NULL, 0, PART("null")},
	{QUEEN_KIND_BYTES, 0, NULL, 0, PART("{}"), NULL, 0},
};

#define SAMPLES ((uint32_t) LENGTH(samples))

static void
check(bool condition, const char *what, int line)
{
	if (condition)
		passed++;
	else
	{
		failed++;
		printf("codec_test.c:%d: failed: %s\n", line, what);
	}
}

static void
check_status(QueenFrameStatus status, QueenFrameStatus expected, int line)
{
	check(status == expected, "status as expected", line);
	if (status != expected)
		printf("  got %d (%s), expected %d (%s)\n",
			   (int) status, queen_frame_status_text(status),
			   (int) expected, queen_frame_status_text(expected));
}

static void *
allocate(size_t size)
{
	void	   *memory = malloc(size > 0 ? size : 1);

	if (memory == NULL)
	{
		fprintf(stderr, "codec_test: out of memory\n");
		exit(1);
	}
	return memory;
}

static uint32_t
get_u32(const uint8_t *at)
{
	return (uint32_t) at[0] | (uint32_t) at[1] << 8 |
		(uint32_t) at[2] << 16 | (uint32_t) at[3] << 24;
}

static void
put_u32(uint8_t *at, uint32_t number)
{
	int			i;

	for (i = 0; i < 4; i++)
		at[i] = (uint8_t) (number >> 8 * i);
}

/* Encodes messages. */
static Value
encode(const QueenMessage *messages, uint32_t count)
{
	Value		value;
	size_t		size = 0;
	uint32_t	i;

	for (i = 0; i < count; i++)
		size += queen_frame_size(&messages[i]);
	value.len = queen_segment_size(count, size);
	value.data = allocate(value.len);
	value.count = count;
	queen_segment_encode(value.data, messages, count);
	return value;
}

/* A copy with another length; bytes beyond the old one are 0. */
static Value
resize(Value value, size_t len)
{
	Value		copy = value;

	copy.len = len;
	copy.data = allocate(len);
	memset(copy.data, 0, len);
	memcpy(copy.data, value.data, len < value.len ? len : value.len);
	return copy;
}

/* The place of frame n. */
static uint8_t *
frame_at(Value value, uint32_t n)
{
	uint8_t    *frames = value.data + queen_segment_size(value.count, 0);

	return n == 0 ? frames :
		frames + get_u32(value.data + HEADER_ENDS + 4 * (n - 1));
}

/* Puts the checksum of the header right. */
static void
repair_header(Value value)
{
	size_t		crc_at = queen_segment_size(value.count, 0) - 4;

	put_u32(value.data + crc_at, queen_frame_crc(value.data, crc_at));
}

/* Puts the checksum of frame n right. */
static void
repair_frame(Value value, uint32_t n)
{
	uint8_t    *frame = frame_at(value, n);
	size_t		size = (size_t) (frame_at(value, n + 1) - frame);

	put_u32(frame, queen_frame_crc(frame + 4, size - 4));
}

static QueenFrameStatus
open_value(Value value)
{
	QueenSegment segment;

	return queen_segment_open(value.data, value.len, value.count, &segment);
}

/* The status of reading message n of a value whose header is sound. */
static QueenFrameStatus
read_message(Value value, uint32_t n)
{
	QueenSegment segment;
	QueenMessage message;
	QueenFrameStatus status;

	status = queen_segment_open(value.data, value.len, value.count, &segment);
	if (status != QUEEN_FRAME_OK)
		return status;
	return queen_segment_message(&segment, n, &message);
}

/* The first status that is not OK when all of a value is read. */
static QueenFrameStatus
read_all(Value value)
{
	QueenFrameStatus status = open_value(value);
	uint32_t	i;

	for (i = 0; status == QUEEN_FRAME_OK && i < value.count; i++)
		status = read_message(value, i);
	return status;
}

static bool
part_equal(const char *a, size_t a_len, const char *b, size_t b_len)
{
	return a_len == b_len && (a_len == 0 || memcmp(a, b, a_len) == 0);
}

static bool
message_equal(const QueenMessage *a, const QueenMessage *b)
{
	return a->kind == b->kind && a->group == b->group &&
		part_equal(a->transaction_id, a->transaction_id_len,
				   b->transaction_id, b->transaction_id_len) &&
		part_equal(a->headers, a->headers_len, b->headers, b->headers_len) &&
		part_equal(a->payload, a->payload_len, b->payload, b->payload_len);
}

/* Do messages come back from a value as they went in? */
static bool
comes_back(Value value, const QueenMessage *messages)
{
	QueenSegment segment;
	QueenMessage message;
	uint32_t	i;

	if (queen_segment_open(value.data, value.len, value.count,
						   &segment) != QUEEN_FRAME_OK)
		return false;
	for (i = 0; i < value.count; i++)
	{
		if (queen_segment_message(&segment, i, &message) != QUEEN_FRAME_OK ||
			!message_equal(&message, &messages[i]))
			return false;
	}
	return true;
}

static void
test_crc(void)
{
	CHECK(queen_frame_crc("123456789", 9) == 0xE3069283U);
	CHECK(queen_frame_crc("", 0) == 0);
}

/* The bytes of a segment, worked out without this code: the format stays. */
static void
test_format(void)
{
	static const uint8_t expected[] = {
		/* version, byte order, reserved, count, end */
		0x01, 0x4C, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x1B, 0x00, 0x00, 0x00,
		/* checksum of the header */
		0xD7, 0x93, 0xA0, 0xA7,
		/* checksum of the frame */
		0xCC, 0xC6, 0xD6, 0x35,
		/* kind, flags, lengths of transaction id and headers */
		0x02, 0x00, 0x02, 0x00, 0x02, 0x00, 0x00, 0x00,
		/* length of payload, group */
		0x03, 0x00, 0x00, 0x00, 0x04, 0x03, 0x02, 0x01,
		/* transaction id, headers, payload */
		0x69, 0x64, 0x7B, 0x7D, 0x78, 0x79, 0x7A,
	};
	static const QueenMessage message = {
		QUEEN_KIND_BYTES, 0x01020304, PART("id"), PART("{}"), PART("xyz")
	};
	Value		value = encode(&message, 1);

	CHECK(value.len == sizeof(expected));
	CHECK(value.len == sizeof(expected) &&
		  memcmp(value.data, expected, sizeof(expected)) == 0);
	free(value.data);
}

static void
test_round_trip(void)
{
	Value		value;
	uint32_t	i;

	for (i = 0; i < SAMPLES; i++)
	{
		value = encode(&samples[i], 1);
		CHECK(comes_back(value, &samples[i]));
		free(value.data);
	}
	value = encode(samples, SAMPLES);
	CHECK(comes_back(value, samples));
	CHECK_STATUS(read_message(value, SAMPLES), QUEEN_FRAME_NO_MESSAGE);
	CHECK_STATUS(read_message(value, UINT32_MAX), QUEEN_FRAME_NO_MESSAGE);
	free(value.data);
}

/* Absent parts have length 0, yet a place that may be copied from. */
static void
test_absent_parts(void)
{
	static const QueenMessage nothing = {
		QUEEN_KIND_BYTES, 0, NULL, 0, NULL, 0, NULL, 0
	};
	Value		value = encode(&nothing, 1);
	QueenSegment segment;
	QueenMessage message;

	CHECK(value.len == QUEEN_SEGMENT_FIXED_SIZE + 4 + QUEEN_FRAME_FIXED_SIZE);
	CHECK(comes_back(value, &nothing));
	CHECK(queen_segment_open(value.data, value.len, 1,
							 &segment) == QUEEN_FRAME_OK &&
		  queen_segment_message(&segment, 0, &message) == QUEEN_FRAME_OK &&
		  message.transaction_id != NULL && message.headers != NULL &&
		  message.payload != NULL);
	free(value.data);
}

/* The largest transaction id, parts of megabytes, many messages. */
static void
test_big(void)
{
	enum
	{
		HEADERS = 1 << 20, PAYLOAD = 5000000, COUNT = 100000
	};
	QueenMessage *messages = allocate(COUNT * sizeof(QueenMessage));
	char	   *bytes = allocate(PAYLOAD);
	Value		value;
	uint32_t	i;

	for (i = 0; i < PAYLOAD; i++)
		bytes[i] = (char) (i * 2654435761U >> 24);
	messages[0] = samples[1];
	messages[1] = samples[0];
	messages[0].transaction_id = bytes;
	messages[0].transaction_id_len = UINT16_MAX;
	messages[0].headers = bytes + 1;
	messages[0].headers_len = HEADERS;
	messages[0].payload = bytes;
	messages[0].payload_len = PAYLOAD;
	value = encode(messages, 2);
	CHECK(comes_back(value, messages));
	free(value.data);

	for (i = 0; i < COUNT; i++)
	{
		messages[i] = samples[i % SAMPLES];
		messages[i].group = i;
	}
	value = encode(messages, COUNT);
	CHECK(comes_back(value, messages));
	free(value.data);
	free(bytes);
	free(messages);
}

/* Sizes are sums without overflow; where size_t is too small, the largest. */
static void
test_sizes(void)
{
	static const QueenMessage huge = {
		QUEEN_KIND_JSON, 0, NULL, UINT16_MAX, NULL, UINT32_MAX,
		NULL, UINT32_MAX
	};
	uint64_t	frame = 20 + (uint64_t) UINT16_MAX + 2 * (uint64_t) UINT32_MAX;
	uint64_t	header = 12 + 4 * (uint64_t) UINT32_MAX;

	CHECK(queen_frame_size(&huge) == (frame < SIZE_MAX ? frame : SIZE_MAX));
	CHECK(queen_segment_size(UINT32_MAX, 0) ==
		  (header < SIZE_MAX ? header : SIZE_MAX));
	CHECK(queen_segment_size(1, SIZE_MAX) == SIZE_MAX);
	CHECK(queen_segment_size(1, SIZE_MAX - 16) == SIZE_MAX);
	CHECK(queen_segment_size(1, SIZE_MAX - 17) == SIZE_MAX - 1);
	CHECK(queen_segment_size(3, 100) == 12 + 3 * 4 + 100);
}

/* Each field of the header, wrong on its own, checksum wrong or right. */
static void
test_header_fields(void)
{
	static const struct
	{
		size_t		at;
		QueenFrameStatus expected;
	}			fields[] =
	{
		{HEADER_VERSION, QUEEN_FRAME_BAD_VERSION},
		{HEADER_BYTE_ORDER, QUEEN_FRAME_BAD_BYTE_ORDER},
		{HEADER_RESERVED, QUEEN_FRAME_BAD_VERSION},
		{HEADER_RESERVED + 1, QUEEN_FRAME_BAD_VERSION},
		{HEADER_COUNT, QUEEN_FRAME_BAD_COUNT},
		{HEADER_COUNT + 1, QUEEN_FRAME_BAD_COUNT},
		{HEADER_COUNT + 2, QUEEN_FRAME_BAD_COUNT},
		{HEADER_COUNT + 3, QUEEN_FRAME_BAD_COUNT},
	};
	size_t		i;

	for (i = 0; i < LENGTH(fields); i++)
	{
		Value		value = encode(samples, SAMPLES);

		value.data[fields[i].at] ^= 0x80;
		CHECK_STATUS(open_value(value), fields[i].expected);
		repair_header(value);
		CHECK_STATUS(open_value(value), fields[i].expected);
		free(value.data);
	}
}

static void
test_count(void)
{
	Value		value = encode(samples, SAMPLES);

	value.count = SAMPLES - 1;
	CHECK_STATUS(open_value(value), QUEEN_FRAME_BAD_COUNT);
	value.count = SAMPLES + 1;
	CHECK_STATUS(open_value(value), QUEEN_FRAME_BAD_COUNT);
	value.count = 0;
	CHECK_STATUS(open_value(value), QUEEN_FRAME_BAD_COUNT);

	/* a segment of no message, sound otherwise, and a row that agrees */
	put_u32(value.data + HEADER_COUNT, 0);
	repair_header(value);
	value.len = QUEEN_SEGMENT_FIXED_SIZE;
	CHECK_STATUS(open_value(value), QUEEN_FRAME_BAD_COUNT);

	/* a count whose ends cannot be there, and a row that agrees */
	value.count = UINT32_MAX;
	put_u32(value.data + HEADER_COUNT, UINT32_MAX);
	CHECK_STATUS(open_value(value), QUEEN_FRAME_TRUNCATED);
	free(value.data);
}

/* The checksum of the header stands before what the ends say. */
static void
test_header_crc(void)
{
	size_t		crc_at = HEADER_ENDS + 4 * (size_t) SAMPLES;
	size_t		i;

	for (i = HEADER_ENDS; i < crc_at + 4; i++)
	{
		Value		value = encode(samples, SAMPLES);

		value.data[i] ^= 0x01;
		CHECK_STATUS(open_value(value), QUEEN_FRAME_BAD_HEADER_CRC);
		free(value.data);
	}
}

/* The status of a segment whose end n is another one, checksum right. */
static QueenFrameStatus
open_with_end(uint32_t n, uint32_t end)
{
	Value		value = encode(samples, SAMPLES);
	QueenFrameStatus status;

	put_u32(value.data + HEADER_ENDS + 4 * n, end);
	repair_header(value);
	status = open_value(value);
	free(value.data);
	return status;
}

static void
test_ends(void)
{
	Value		value = encode(samples, SAMPLES);
	uint32_t	first = get_u32(value.data + HEADER_ENDS);
	uint32_t	last = get_u32(value.data + HEADER_ENDS + 4 * (SAMPLES - 1));
	uint32_t	fixed = QUEEN_FRAME_FIXED_SIZE;

	CHECK_STATUS(open_with_end(0, 0), QUEEN_FRAME_BAD_END);
	CHECK_STATUS(open_with_end(0, fixed - 1), QUEEN_FRAME_BAD_END);
	CHECK_STATUS(open_with_end(0, fixed), QUEEN_FRAME_OK);
	CHECK_STATUS(open_with_end(0, last), QUEEN_FRAME_BAD_END);
	CHECK_STATUS(open_with_end(0, UINT32_MAX), QUEEN_FRAME_BAD_END);
	CHECK_STATUS(open_with_end(1, 0), QUEEN_FRAME_BAD_END);
	CHECK_STATUS(open_with_end(1, first), QUEEN_FRAME_BAD_END);
	CHECK_STATUS(open_with_end(1, first + fixed - 1), QUEEN_FRAME_BAD_END);
	CHECK_STATUS(open_with_end(1, first + fixed), QUEEN_FRAME_OK);
	CHECK_STATUS(open_with_end(SAMPLES - 1, last - 1), QUEEN_FRAME_BAD_END);
	CHECK_STATUS(open_with_end(SAMPLES - 1, last + 1), QUEEN_FRAME_BAD_END);
	CHECK_STATUS(open_with_end(SAMPLES - 1, UINT32_MAX), QUEEN_FRAME_BAD_END);
	free(value.data);
}

/* A value cut anywhere, or with bytes behind it, is never sound. */
static void
test_value_length(void)
{
	Value		value = encode(samples, SAMPLES);
	size_t		header_size = queen_segment_size(SAMPLES, 0);
	size_t		len;
	bool		as_expected = true;

	for (len = 0; len <= value.len + 2; len++)
	{
		Value		copy = resize(value, len);
		QueenFrameStatus status = open_value(copy);

		if (len < header_size)
			as_expected &= status == QUEEN_FRAME_TRUNCATED;
		else if (len != value.len)
			as_expected &= status == QUEEN_FRAME_BAD_END;
		else
			as_expected &= status == QUEEN_FRAME_OK;
		free(copy.data);
	}
	CHECK(as_expected);
	free(value.data);
}

/* The status of message 1 with a byte changed, checksum repaired or not. */
static QueenFrameStatus
read_with_byte(size_t at, uint8_t change, bool repair)
{
	Value		value = encode(samples, SAMPLES);
	QueenFrameStatus status;

	frame_at(value, 1)[at] ^= change;
	if (repair)
		repair_frame(value, 1);
	status = read_message(value, 1);
	/* its neighbours are no worse for it */
	CHECK_STATUS(read_message(value, 0), QUEEN_FRAME_OK);
	CHECK_STATUS(read_message(value, 2), QUEEN_FRAME_OK);
	free(value.data);
	return status;
}

/* Each field of a frame, wrong on its own, checksum right. */
static void
test_frame_fields(void)
{
	size_t		at;

	for (at = FRAME_TRANSACTION_ID_LEN; at < FRAME_GROUP; at++)
	{
		CHECK_STATUS(read_with_byte(at, 0x01, true), QUEEN_FRAME_BAD_LENGTH);
		CHECK_STATUS(read_with_byte(at, 0xFF, true), QUEEN_FRAME_BAD_LENGTH);
	}
	for (at = 0; at < QUEEN_FRAME_FIXED_SIZE + 3; at++)
		CHECK_STATUS(read_with_byte(at, 0x10, false), QUEEN_FRAME_BAD_CRC);
	CHECK_STATUS(read_with_byte(FRAME_KIND, QUEEN_KIND_BYTES, true),
				 QUEEN_FRAME_BAD_KIND);
	CHECK_STATUS(read_with_byte(FRAME_KIND, QUEEN_KIND_BYTES ^ 3, true),
				 QUEEN_FRAME_BAD_KIND);
	CHECK_STATUS(read_with_byte(FRAME_KIND, 0x80, true), QUEEN_FRAME_BAD_KIND);
	CHECK_STATUS(read_with_byte(FRAME_FLAGS, 0x01, true),
				 QUEEN_FRAME_BAD_FLAGS);
	CHECK_STATUS(read_with_byte(FRAME_FLAGS, 0x80, true),
				 QUEEN_FRAME_BAD_FLAGS);
	CHECK_STATUS(read_with_byte(FRAME_CRC, 0x01, true), QUEEN_FRAME_OK);
}

/* Lengths that add up to the size only where 32 bits overflow. */
static void
test_length_overflow(void)
{
	Value		value = encode(samples, SAMPLES);
	uint8_t    *frame = frame_at(value, 1);
	uint32_t	headers = get_u32(frame + FRAME_HEADERS_LEN);
	uint32_t	payload = get_u32(frame + FRAME_PAYLOAD_LEN);

	put_u32(frame + FRAME_HEADERS_LEN, headers + 0x80000000U);
	put_u32(frame + FRAME_PAYLOAD_LEN, payload + 0x80000000U);
	repair_frame(value, 1);
	CHECK_STATUS(read_message(value, 1), QUEEN_FRAME_BAD_LENGTH);
	put_u32(frame + FRAME_HEADERS_LEN, headers + 100);
	put_u32(frame + FRAME_PAYLOAD_LEN, payload - 100);
	repair_frame(value, 1);
	CHECK_STATUS(read_message(value, 1), QUEEN_FRAME_BAD_LENGTH);
	free(value.data);
}

/* Whatever one byte is changed to, anywhere, the change is found. */
static void
test_every_byte(void)
{
	Value		value = encode(samples, SAMPLES);
	size_t		at;

	for (at = 0; at < value.len; at++)
	{
		uint8_t		before = value.data[at];
		bool		found = true;
		int			change;

		for (change = 1; change < 256; change++)
		{
			value.data[at] = (uint8_t) (before ^ change);
			found &= read_all(value) != QUEEN_FRAME_OK;
		}
		value.data[at] = before;
		CHECK(found);
	}
	CHECK(comes_back(value, samples));
	free(value.data);
}

static void
test_status_text(void)
{
	int			i;

	for (i = QUEEN_FRAME_OK; i <= QUEEN_FRAME_NO_MESSAGE; i++)
	{
		const char *text = queen_frame_status_text((QueenFrameStatus) i);

		CHECK(text != NULL && text[0] >= 'a' && text[0] <= 'z' &&
			  text[strlen(text) - 1] != '.');
	}
}

static const SliceCase array_cases[] = {
	{"[]", "", false},
	{" \t\r\n[ \t\r\n] \t\r\n", "", false},
	{"[1]", "1", false},
	{"[1,2,3]", "1|2|3", false},
	{"\t[\r1\n,\t \"a\" , null\r\n]\n", "1|\"a\"|null", false},
	{"[-1.5E+10,true,false]", "-1.5E+10|true|false", false},
	{"[[],[[]],{}]", "[]|[[]]|{}", false},
	{"[{\"a\":[1,{\"b\":[2]}]},3]", "{\"a\":[1,{\"b\":[2]}]}|3", false},
	{"[ [ 1 , 2 ] ]", "[ 1 , 2 ]", false},
	{"[\"\"]", "\"\"", false},
	{"[\"],[\",\"}\"]", "\"],[\"|\"}\"", false},
	{"[[\"]\"],{\"}\":\"{\"}]", "[\"]\"]|{\"}\":\"{\"}", false},
	{"[\"\\\"\",\"\\\\\"]", "\"\\\"\"|\"\\\\\"", false},
	{"[\"a\\\\\\\",\",\"\\\\\\\\\"]", "\"a\\\\\\\",\"|\"\\\\\\\\\"", false},
	{"[[\"\\\"]\"],1]", "[\"\\\"]\"]|1", false},
	{"[\"\303\251\"]", "\"\303\251\"", false},
	{"", NULL, true},
	{" \n", NULL, true},
	{"1", NULL, true},
	{"{}", NULL, true},
	{"\"[]\"", NULL, true},
	{"]", NULL, true},
	{"x[]", NULL, true},
	{"\f[]", NULL, true},
	{"[", "", true},
	{"[ ", "", true},
	{"[1", "", true},
	{"[1,", "1", true},
	{"[1, ", "1", true},
	{"[1,]", "1", true},
	{"[,]", "", true},
	{"[,1]", "", true},
	{"[1,,2]", "1", true},
	{"[1 2]", "", true},
	{"[1\"a\"]", "", true},
	{"[\"a\"\"b\"]", "", true},
	{"[[][]]", "", true},
	{"[1:2]", "", true},
	{"[:]", "", true},
	{"[1}", "", true},
	{"[}", "", true},
	{"[[1}]", "", true},
	{"[{1]]", "", true},
	{"[[1]", "", true},
	{"[\"", "", true},
	{"[\"a", "", true},
	{"[\"a]", "", true},
	{"[\"a\\\"]", "", true},
	{"[\"\\", "", true},
	{"[[\"]]", "", true},
	{"[1]]", "1", true},
	{"[1] x", "1", true},
	{"[] []", "", true},
	{"[],", "", true},
	{"[1\f]", "", true},
	{"[\001]", "", true},
	{"[/**/1]", "", true},
};

static const SliceCase object_cases[] = {
	{"{}", "", false},
	{"\n{\t} ", "", false},
	{"{\"a\":1}", "\"a\"=1", false},
	{"{\"a\":1,\"b\":\"x\"}", "\"a\"=1|\"b\"=\"x\"", false},
	{"{ \"a\"\t:\r\n[ 1 ] ,\n\"b\" : {} }", "\"a\"=[ 1 ]|\"b\"={}", false},
	{"{\"a\":1,\"a\":2}", "\"a\"=1|\"a\"=2", false},
	{"{\"\":null}", "\"\"=null", false},
	{"{\"\\\"}\":\"\\\\\"}", "\"\\\"}\"=\"\\\\\"", false},
	{"{\":\":\",\"}", "\":\"=\",\"", false},
	{"{\"a\":{\"b\":[{}]},\"c\":1}", "\"a\"={\"b\":[{}]}|\"c\"=1", false},
	{"", NULL, true},
	{"[]", NULL, true},
	{"null", NULL, true},
	{"}", NULL, true},
	{"{", "", true},
	{"{\"a\"", "", true},
	{"{\"a\":", "", true},
	{"{\"a\":1", "", true},
	{"{\"a\":1,", "\"a\"=1", true},
	{"{\"a\":1,}", "\"a\"=1", true},
	{"{,}", "", true},
	{"{,\"a\":1}", "", true},
	{"{\"a\":1,,\"b\":2}", "\"a\"=1", true},
	{"{\"a\":1 \"b\":2}", "", true},
	{"{\"a\" 1}", "", true},
	{"{\"a\",1}", "", true},
	{"{\"a\"::1}", "", true},
	{"{\"a\":}", "", true},
	{"{\"a\"}", "", true},
	{"{a:1}", "", true},
	{"{1:1}", "", true},
	{"{[]:1}", "", true},
	{"{:1}", "", true},
	{"{\"a\":1]", "", true},
	{"{]", "", true},
	{"{\"a\":[}", "", true},
	{"{\"a\":[1}}", "", true},
	{"{\"a", "", true},
	{"{\"a\\\":1}", "", true},
	{"{\"a\":1}}", "\"a\"=1", true},
	{"{\"a\":1},", "\"a\"=1", true},
	{"{} {}", "", true},
};

/* A text without the zero byte behind it, in memory of its own. */
static QueenSlice
make_text(const char *string)
{
	QueenSlice	text;
	char	   *copy;

	text.len = strlen(string);
	copy = allocate(text.len);
	memcpy(copy, string, text.len);
	text.data = copy;
	return text;
}

/* Adds a slice to what has been cut so far. */
static void
add_slice(char *result, const char *separator, QueenSlice slice)
{
	strcat(result, separator);
	strncat(result, slice.data, slice.len);
}

/* Cuts an array and joins the elements. */
static void
join_elements(QueenSlicer *slicer, char *result)
{
	QueenSlice	element;

	while (queen_slice_element(slicer, &element))
		add_slice(result, result[0] == '\0' ? "" : "|", element);
}

/* Cuts an object and joins the members. */
static void
join_members(QueenSlicer *slicer, char *result)
{
	QueenSlice	key;
	QueenSlice	value;

	while (queen_slice_member(slicer, &key, &value))
	{
		add_slice(result, result[0] == '\0' ? "" : "|", key);
		add_slice(result, "=", value);
	}
}

/* Cuts one text and compares. */
static void
test_slice_case(const SliceCase *test, bool array)
{
	QueenSlice	text = make_text(test->text);
	QueenSlice	key;
	QueenSlice	value;
	QueenSlicer slicer;
	char		result[200] = "";
	bool		started;
	int			before = failed;

	started = array ? queen_slice_array(&slicer, text) :
		queen_slice_object(&slicer, text);
	CHECK(started == (test->expected != NULL));
	if (array)
		join_elements(&slicer, result);
	else
		join_members(&slicer, result);
	CHECK(strcmp(result, test->expected == NULL ? "" : test->expected) == 0);
	CHECK(slicer.failed == test->failed);
	/* the end stays the end, whoever asks */
	CHECK(!queen_slice_element(&slicer, &value));
	CHECK(!queen_slice_member(&slicer, &key, &value));
	CHECK(slicer.failed == test->failed);
	if (failed > before)
		printf("  text: %s\n  got: %s\n", test->text, result);
	free((char *) text.data);
}

static void
test_slices(void)
{
	size_t		i;

	for (i = 0; i < LENGTH(array_cases); i++)
		test_slice_case(&array_cases[i], true);
	for (i = 0; i < LENGTH(object_cases); i++)
		test_slice_case(&object_cases[i], false);
}

static void
test_slice_says(void)
{
	static const struct
	{
		const char *string;
		const char *name;
		bool		says;
	}			cases[] = {
		{"\"a\"", "a", true},
		{"\"\"", "", true},
		{"\"a\"", "", false},
		{"\"\"", "a", false},
		{"\"ab\"", "a", false},
		{"\"a\"", "ab", false},
		{"\"A\"", "a", false},
		{"\"\\u0061b\"", "ab", true},
		{"\"a\\u0062\"", "ab", true},
		{"\"\\u006A\\u006a\"", "jj", true},
		{"\"dead\\u005fletter\"", "dead_letter", true},
		{"\"\\/\\\"\\\\\\b\\f\\n\\r\\t\"", "/\"\\\b\f\n\r\t", true},
		{"\"\\u0161\"", "a", false},
		{"\"\\u0000\"", "", false},
		{"\"\\u00\"", "", false},
		{"\"\\u006\"", "a", false},
		{"\"\\u00g1\"", "a", false},
		{"\"\\x\"", "x", false},
		{"\"\\\"", "\\", false},
		{"\"\xc3\xa4\"", "a", false},
		{"\"", "", false},
		{"", "", false},
		{"a", "a", false},
		{"{}", "", false},
	};
	size_t		i;

	for (i = 0; i < LENGTH(cases); i++)
	{
		QueenSlice	text = make_text(cases[i].string);
		int			before = failed;

		CHECK(queen_slice_says(text, cases[i].name) == cases[i].says);
		if (failed > before)
			printf("  string: %s\n", cases[i].string);
		free((char *) text.data);
	}
}

static void
test_slice_first(void)
{
	static const QueenSlice nothing = {NULL, 0};
	static const QueenSlice space = {PART(" \t\r\n")};
	static const QueenSlice string = {PART(" \t\r\n\"a\" ")};
	static const QueenSlice feed = {PART("\f1")};
	QueenSlicer slicer;

	CHECK(queen_slice_first(nothing) == 0);
	CHECK(queen_slice_first(space) == 0);
	CHECK(queen_slice_first(string) == '"');
	CHECK(queen_slice_first(feed) == '\f');
	CHECK(!queen_slice_array(&slicer, nothing) && slicer.failed);
	CHECK(!queen_slice_object(&slicer, nothing) && slicer.failed);
}

/* A slicer of one thing that is asked for the other gives nothing. */
static void
test_slice_mixed(void)
{
	static const QueenSlice array = {PART("[\"a\":1,\"b\":2}")};
	static const QueenSlice object = {PART("{1,2]")};
	QueenSlicer slicer;
	QueenSlice	key;
	QueenSlice	value;

	CHECK(queen_slice_array(&slicer, array));
	CHECK(!queen_slice_member(&slicer, &key, &value) && slicer.failed);
	CHECK(queen_slice_object(&slicer, object));
	CHECK(!queen_slice_element(&slicer, &value) && slicer.failed);
}

/* A zero byte is a byte like others: wrong outside strings, passed in them. */
static void
test_slice_zero(void)
{
	static const QueenSlice inside = {PART("[\"a\0]\",1]")};
	static const QueenSlice outside = {PART("[\0]")};
	QueenSlicer slicer;
	QueenSlice	element;

	CHECK(queen_slice_array(&slicer, inside));
	CHECK(queen_slice_element(&slicer, &element) && element.len == 5);
	CHECK(queen_slice_element(&slicer, &element) && element.len == 1);
	CHECK(!queen_slice_element(&slicer, &element) && !slicer.failed);
	CHECK(queen_slice_array(&slicer, outside));
	CHECK(!queen_slice_element(&slicer, &element) && slicer.failed);
}

/*
 * Depth costs no stack and length no second pass: a text of megabytes that
 * only opens, one that is nothing but backslashes, one of escaped quotes.
 */
static void
test_slice_big(void)
{
	enum
	{
		SIZE = 8 << 20
	};
	char	   *bytes = allocate(SIZE);
	QueenSlice	text;
	QueenSlice	element;
	QueenSlicer slicer;
	size_t		i;

	text.data = bytes;
	text.len = SIZE;
	memset(bytes, '[', SIZE / 2);
	memset(bytes + SIZE / 2, ']', SIZE / 2);
	CHECK(queen_slice_array(&slicer, text));
	CHECK(queen_slice_element(&slicer, &element) && element.len == SIZE - 2);
	CHECK(!queen_slice_element(&slicer, &element) && !slicer.failed);

	memset(bytes, '[', SIZE);
	CHECK(queen_slice_array(&slicer, text));
	CHECK(!queen_slice_element(&slicer, &element) && slicer.failed);

	memset(bytes + 2, '\\', SIZE - 4);
	memcpy(bytes, "[\"", 2);
	memcpy(bytes + SIZE - 2, "\"]", 2);
	CHECK(queen_slice_array(&slicer, text));
	CHECK(queen_slice_element(&slicer, &element) && element.len == SIZE - 2);

	for (i = 3; i < SIZE - 2; i += 2)
		bytes[i] = '"';
	CHECK(queen_slice_array(&slicer, text));
	CHECK(queen_slice_element(&slicer, &element) && element.len == SIZE - 2);
	free(bytes);
}

/* What is JSON and what is not; each of them in a buffer of its own size. */
static void
test_json_check(void)
{
	static const char *const valid[] = {
		"0", "-0", "10", "-1.5e+10", "1E5", "0.0", "true", "false", "null", "\"\"", "[]", "{}", " [ ] ",
		"\n{\t}\r", "[1,2]", "[[],{},[[]]]", "{\"a\":1}", " { \"a\" : [ 1 , { \"b\" : null } ] , \"c\":2 } ",
		"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uABCD\"", "\"\\ud800\"", "\"0123456789abcde\"", "\"0123456789abcdef\"",
		"\"0123456789abcdef\\n0123456789abcdef\"", "\"\x7f\xc3\xa9\"", "{\"a\":1,\"a\":2}", "{\"\":\"\"}"
	};
	static const char *const invalid[] = {
		"", " ", "-", "01", "1.", ".5", "1e", "1e+", "+1", "0x1", "1 2", "tru", "truee", "True", "nul", "\"", "\"\\\"",
		"\"a", "\"\n\"", "\"\x1f\"", "\"0123456789abcde\n\"", "\"\\x\"", "\"\\u12g4\"", "\"\\u123\"", "\"\\", "\"\\u", "[", "]", "[1",
		"[1,", "[1,]", "[,1]", "[1 2]", "[1}", "{1}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{\"a\":1]", "{,}", "{\"a\" 1}",
		"{a:1}", "{'a':1}", "[]]", "[] []", "[]x", "{\"a\":1 \"b\":2}", "[\"a\":1]", "{\"a\":1,2}", "//", "\v1", "\xc2\xa0 1", "1a", "true1"
	};

	for (size_t i = 0; i < LENGTH(valid) + LENGTH(invalid); i++)
	{
		const char *text = i < LENGTH(valid) ? valid[i] : invalid[i - LENGTH(valid)];
		size_t		len = strlen(text);
		char	   *copy = allocate(len > 0 ? len : 1);

		memcpy(copy, text, len);
		CHECK(queen_json_is_valid(copy, len) == (i < LENGTH(valid)));
		free(copy);
	}
	CHECK(!queen_json_is_valid("1\0", 2));
	CHECK(!queen_json_is_valid("\"\0\"", 3));
	CHECK(!queen_json_is_valid("\"\\\0\"", 4));
}

/* As deep as it has bits for, and no deeper. */
static void
test_json_check_depth(void)
{
	char		text[130];

	for (int depth = 1; depth <= 65; depth++)
	{
		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		CHECK(queen_json_is_valid(text, 2 * depth) == (depth <= 64));
		text[2 * depth - 1] = '}';
		CHECK(!queen_json_is_valid(text, 2 * depth));
	}
}

int
main(void)
{
	test_crc();
	test_format();
	test_round_trip();
	test_absent_parts();
	test_big();
	test_sizes();
	test_header_fields();
	test_count();
	test_header_crc();
	test_ends();
	test_value_length();
	test_frame_fields();
	test_length_overflow();
	test_every_byte();
	test_status_text();
	test_slices();
	test_slice_says();
	test_slice_first();
	test_slice_mixed();
	test_slice_zero();
	test_slice_big();
	test_json_check();
	test_json_check_depth();
	printf("%d passed, %d failed\n", passed, failed);
	return failed == 0 ? 0 : 1;
}
