/*-------------------------------------------------------------------------
 *
 * fuzz_frame.c
 *	  libFuzzer target for src/frame.c.
 *
 * Each input is used in four ways: as a segment; as a segment whose checksums
 * are put right first, since a fuzzer cannot guess them; as one whose count
 * and last end are put right too, so that bytes inserted or removed anywhere
 * reach the frames; and as a recipe for messages that must come back as they
 * went in.
 *
 * The format has one way to write given messages. So whatever is read as a
 * sound segment must, when its messages are encoded again, be the same bytes.
 *
 * All buffers are malloc'ed to size: AddressSanitizer sees one byte too far.
 *
 *-------------------------------------------------------------------------
 */
#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"

#define MAX_MESSAGES 32			/* of a recipe */
#define END_SIZE 4
#define CRC_SIZE 4
#define HEADER_COUNT 4
#define HEADER_ENDS 8

/* What is left of a recipe. */
typedef struct Recipe
{
	const uint8_t *at;
	size_t		left;
} Recipe;

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Allocates, at least one byte. */
static void *
allocate(size_t size)
{
	void	   *memory = malloc(size > 0 ? size : 1);

	if (memory == NULL)
		abort();
	return memory;
}

/* A copy of its own for bytes. */
static uint8_t *
copy_bytes(const uint8_t *data, size_t len)
{
	uint8_t    *copy = allocate(len);

	if (len > 0)
		memcpy(copy, data, len);
	return copy;
}

static uint32_t
get_u32(const uint8_t *at)
{
	return (uint32_t) at[0] | (uint32_t) at[1] << 8 |
		(uint32_t) at[2] << 16 | (uint32_t) at[3] << 24;
}

static void
put_u32(uint8_t *at, uint32_t value)
{
	int			i;

	for (i = 0; i < 4; i++)
		at[i] = (uint8_t) (value >> 8 * i);
}

/* A message that was read must lie within the value it was read from. */
static void
check_message(const QueenMessage *message, const uint8_t *data, size_t len)
{
	const char *begin = (const char *) data;

	assert(message->kind == QUEEN_KIND_JSON ||
		   message->kind == QUEEN_KIND_BYTES);
	assert(message->transaction_id >= begin);
	assert(message->headers ==
		   message->transaction_id + message->transaction_id_len);
	assert(message->payload == message->headers + message->headers_len);
	assert(message->payload + message->payload_len <= begin + len);
}

/* Encoding must answer the bytes that the messages were read from. */
static void
check_encoding(const QueenMessage *messages, uint32_t count,
			   const uint8_t *data, size_t len)
{
	size_t		frames_size = 0;
	size_t		size;
	uint8_t    *out;
	uint32_t	i;

	for (i = 0; i < count; i++)
		frames_size += queen_frame_size(&messages[i]);
	size = queen_segment_size(count, frames_size);
	assert(size == len);
	out = allocate(size);
	queen_segment_encode(out, messages, count);
	assert(memcmp(out, data, len) == 0);
	free(out);
}

/* Opens and reads a value; true if all of it is sound. */
static bool
read_segment(const uint8_t *data, size_t len, uint32_t expected_count)
{
	QueenSegment segment;
	QueenMessage *messages;
	QueenMessage none;
	bool		sound = true;
	uint32_t	i;

	if (queen_segment_open(data, len, expected_count,
						   &segment) != QUEEN_FRAME_OK)
		return false;
	assert(segment.count == expected_count && segment.count > 0);
	messages = allocate(segment.count * sizeof(QueenMessage));
	for (i = 0; i < segment.count; i++)
	{
		if (queen_segment_message(&segment, i, &messages[i]) == QUEEN_FRAME_OK)
			check_message(&messages[i], data, len);
		else
			sound = false;
	}
	assert(queen_segment_message(&segment, segment.count,
								 &none) == QUEEN_FRAME_NO_MESSAGE);
	assert(queen_segment_message(&segment, UINT32_MAX,
								 &none) == QUEEN_FRAME_NO_MESSAGE);
	if (sound)
		check_encoding(messages, segment.count, data, len);
	free(messages);
	return sound;
}

/* Opens a value as if the row said this or that. */
static void
fuzz_open(const uint8_t *data, size_t len)
{
	uint8_t    *copy = copy_bytes(data, len);

	read_segment(copy, len, 0);
	read_segment(copy, len, 1);
	read_segment(copy, len, 2);
	read_segment(copy, len, UINT32_MAX);
	if (len >= HEADER_ENDS)
		read_segment(copy, len, get_u32(copy + HEADER_COUNT));
	free(copy);
}

/* Puts count and last end right, for there to be as many frames as fit. */
static void
repair_lengths(uint8_t *data, size_t len)
{
	uint32_t	count = get_u32(data + HEADER_COUNT);
	size_t		frame_size = END_SIZE + QUEEN_FRAME_FIXED_SIZE;
	size_t		fit = (len - QUEEN_SEGMENT_FIXED_SIZE) / frame_size;

	if (count > fit)
		count = (uint32_t) fit;
	if (count == 0)
		return;
	put_u32(data + HEADER_COUNT, count);
	put_u32(data + HEADER_ENDS + (count - 1) * (size_t) END_SIZE,
			(uint32_t) (len - queen_segment_size(count, 0)));
}

/* Puts the checksum of each frame right, as far as the ends lie within. */
static void
repair_frames(const uint8_t *ends, uint32_t count, uint8_t *frames, size_t len)
{
	size_t		start = 0;
	uint32_t	i;

	for (i = 0; i < count; i++, ends += END_SIZE)
	{
		size_t		end = get_u32(ends);

		if (end > len || end < start + CRC_SIZE)
			return;
		put_u32(frames + start, queen_frame_crc(frames + start + CRC_SIZE,
												end - start - CRC_SIZE));
		start = end;
	}
}

/* Puts the format and all checksums of a value right. */
static void
repair_checksums(uint8_t *data, size_t len)
{
	uint32_t	count = get_u32(data + HEADER_COUNT);
	size_t		header_size = queen_segment_size(count, 0);
	size_t		crc_at = header_size - CRC_SIZE;

	memcpy(data, "\001L\0\0", HEADER_COUNT);
	if (header_size > len)
		return;
	put_u32(data + crc_at, queen_frame_crc(data, crc_at));
	repair_frames(data + HEADER_ENDS, count, data + header_size,
				  len - header_size);
}

/* Opens a value that was repaired. */
static void
fuzz_repaired(const uint8_t *data, size_t len, bool lengths_too)
{
	uint8_t    *copy;

	if (len < QUEEN_SEGMENT_FIXED_SIZE)
		return;
	copy = copy_bytes(data, len);
	if (lengths_too)
		repair_lengths(copy, len);
	repair_checksums(copy, len);
	read_segment(copy, len, get_u32(copy + HEADER_COUNT));
	free(copy);
}

/* Takes up to so many bytes of the recipe. */
static uint32_t
take(Recipe *recipe, size_t max, const char **data)
{
	size_t		len = max < recipe->left ? max : recipe->left;

	*data = len > 0 ? (const char *) recipe->at : NULL;
	recipe->at += len;
	recipe->left -= len;
	return (uint32_t) len;
}

/* Takes a number of up to four bytes; missing ones are 0. */
static uint32_t
take_number(Recipe *recipe, size_t size)
{
	const char *data;
	uint32_t	value = 0;
	uint32_t	len = take(recipe, size, &data);
	uint32_t	i;

	for (i = 0; i < len; i++)
		value |= (uint32_t) (uint8_t) data[i] << 8 * i;
	return value;
}

/* Takes a message: three lengths, kind, group, and its parts. */
static void
take_message(Recipe *recipe, QueenMessage *message)
{
	size_t		transaction_id_max = take_number(recipe, 1);
	size_t		headers_max = take_number(recipe, 1);
	size_t		payload_max = take_number(recipe, 2);

	message->kind = (uint8_t) (1 + take_number(recipe, 1) % 2);
	message->group = take_number(recipe, 4);
	message->transaction_id_len =
		(uint16_t) take(recipe, transaction_id_max, &message->transaction_id);
	message->headers_len = take(recipe, headers_max, &message->headers);
	message->payload_len = take(recipe, payload_max, &message->payload);
}

/* Two parts must be the same bytes. */
static void
check_part(const char *a, size_t a_len, const char *b, size_t b_len)
{
	assert(a_len == b_len);
	assert(a_len == 0 || memcmp(a, b, a_len) == 0);
}

/* A message must be the same after the way there and back. */
static void
check_equal(const QueenMessage *a, const QueenMessage *b)
{
	assert(a->kind == b->kind);
	assert(a->group == b->group);
	check_part(a->transaction_id, a->transaction_id_len,
			   b->transaction_id, b->transaction_id_len);
	check_part(a->headers, a->headers_len, b->headers, b->headers_len);
	check_part(a->payload, a->payload_len, b->payload, b->payload_len);
}

/* Makes messages of the input, encodes, reads and compares them. */
static void
fuzz_round_trip(const uint8_t *data, size_t len)
{
	Recipe		recipe = {data, len};
	QueenMessage messages[MAX_MESSAGES];
	QueenMessage message;
	QueenSegment segment;
	uint32_t	count = 1 + take_number(&recipe, 1) % MAX_MESSAGES;
	size_t		size = 0;
	uint8_t    *out;
	uint32_t	i;

	for (i = 0; i < count; i++)
	{
		take_message(&recipe, &messages[i]);
		size += queen_frame_size(&messages[i]);
	}
	size = queen_segment_size(count, size);
	out = allocate(size);
	queen_segment_encode(out, messages, count);
	assert(read_segment(out, size, count));
	assert(queen_segment_open(out, size, count, &segment) == QUEEN_FRAME_OK);
	for (i = 0; i < count; i++)
	{
		assert(queen_segment_message(&segment, i, &message) == QUEEN_FRAME_OK);
		check_equal(&message, &messages[i]);
	}
	free(out);
}

/* What libFuzzer calls. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	fuzz_open(data, len);
	fuzz_repaired(data, len, false);
	fuzz_repaired(data, len, true);
	fuzz_round_trip(data, len);
	return 0;
}
