/*-------------------------------------------------------------------------
 *
 * frame.c
 *	  The codec of queen.segment.frames: bytes in, bytes out.
 *
 * The layout stands in frame.h. Nothing here allocates, raises or keeps
 * state; a segment and its messages point into the bytes they were read
 * from, and live as long as those.
 *
 * What is read is not trusted before its checksum is right, and not even
 * then: a checksum finds accidents, it does not stop whoever can write it.
 * So every length is held against the bytes that are there. The header is
 * checked once, by queen_segment_open(); after that message n costs its own
 * bytes only, whatever the count.
 *
 * Numbers are taken apart and put together byte by byte. Compilers make one
 * load or store of that where the machine is little-endian.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "frame.h"

#define FORMAT_VERSION 1
#define BYTE_ORDER_MARK 'L'

/* Where the fields of the header stand. */
#define HEADER_VERSION 0
#define HEADER_BYTE_ORDER 1
#define HEADER_RESERVED 2
#define HEADER_COUNT 4
#define HEADER_ENDS 8

/* Where the fields of a frame stand. */
#define FRAME_CRC 0
#define FRAME_KIND 4
#define FRAME_FLAGS 5
#define FRAME_TRANSACTION_ID_LEN 6
#define FRAME_HEADERS_LEN 8
#define FRAME_PAYLOAD_LEN 12
#define FRAME_GROUP 16

#define CRC_SIZE 4
#define END_SIZE 4

/* Reads two bytes as a number. */
static inline uint16_t
get_u16(const uint8_t *at)
{
	return (uint16_t) (at[0] | at[1] << 8);
}

/* Reads four bytes as a number. */
static inline uint32_t
get_u32(const uint8_t *at)
{
	return (uint32_t) at[0] | (uint32_t) at[1] << 8 |
		(uint32_t) at[2] << 16 | (uint32_t) at[3] << 24;
}

/* Writes a number as two bytes. */
static inline void
put_u16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t) value;
	at[1] = (uint8_t) (value >> 8);
}

/* Writes a number as four bytes. */
static inline void
put_u32(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t) value;
	at[1] = (uint8_t) (value >> 8);
	at[2] = (uint8_t) (value >> 16);
	at[3] = (uint8_t) (value >> 24);
}

/* Writes bytes and answers where they end; data may be NULL if len is 0. */
static inline uint8_t *
put_bytes(uint8_t *at, const char *data, size_t len)
{
	if (len > 0)
		memcpy(at, data, len);
	return at + len;
}

/*
 * Adds sizes. Where size_t has 32 bits a sum can be too large for it; the
 * largest number stands for all of those, and no allocation grants it.
 */
static inline size_t
add_sizes(size_t a, size_t b)
{
	return b > SIZE_MAX - a ? SIZE_MAX : a + b;
}

/* Checksum of a frame: all of it but the checksum. */
static inline uint32_t
frame_crc(const uint8_t *frame, size_t size)
{
	return queen_frame_crc(frame + CRC_SIZE, size - CRC_SIZE);
}

/* Writes one frame and answers where it ends. */
static uint8_t *
put_frame(uint8_t *frame, const QueenMessage *message)
{
	uint8_t    *at = frame + QUEEN_FRAME_FIXED_SIZE;

	frame[FRAME_KIND] = message->kind;
	frame[FRAME_FLAGS] = 0;
	put_u16(frame + FRAME_TRANSACTION_ID_LEN, message->transaction_id_len);
	put_u32(frame + FRAME_HEADERS_LEN, message->headers_len);
	put_u32(frame + FRAME_PAYLOAD_LEN, message->payload_len);
	put_u32(frame + FRAME_GROUP, message->group);
	at = put_bytes(at, message->transaction_id, message->transaction_id_len);
	at = put_bytes(at, message->headers, message->headers_len);
	at = put_bytes(at, message->payload, message->payload_len);
	put_u32(frame + FRAME_CRC, frame_crc(frame, (size_t) (at - frame)));
	return at;
}

/* Checks the fixed fields of the header: is this a format that we read? */
static QueenFrameStatus
check_format(const uint8_t *data)
{
	if (data[HEADER_VERSION] != FORMAT_VERSION)
		return QUEEN_FRAME_BAD_VERSION;
	if (data[HEADER_BYTE_ORDER] != BYTE_ORDER_MARK)
		return QUEEN_FRAME_BAD_BYTE_ORDER;
	/* whoever gives the reserved field a meaning makes another format */
	if (get_u16(data + HEADER_RESERVED) != 0)
		return QUEEN_FRAME_BAD_VERSION;
	return QUEEN_FRAME_OK;
}

/*
 * Checks that each end leaves room for a frame behind the end before it, and
 * that the last one is the end of the value. None can then lie beyond it.
 */
static QueenFrameStatus
check_ends(const QueenSegment *segment, size_t frames_size)
{
	const uint8_t *at = segment->ends;
	uint64_t	end = 0;
	uint32_t	i;

	for (i = 0; i < segment->count; i++, at += END_SIZE)
	{
		uint64_t	start = end;

		end = get_u32(at);
		if (end < start + QUEEN_FRAME_FIXED_SIZE)
			return QUEEN_FRAME_BAD_END;
	}
	return end == frames_size ? QUEEN_FRAME_OK : QUEEN_FRAME_BAD_END;
}

/* Checks a frame, all but its lengths. */
static QueenFrameStatus
check_frame(const uint8_t *frame, size_t size)
{
	if (get_u32(frame + FRAME_CRC) != frame_crc(frame, size))
		return QUEEN_FRAME_BAD_CRC;
	if (frame[FRAME_KIND] != QUEEN_KIND_JSON &&
		frame[FRAME_KIND] != QUEEN_KIND_BYTES)
		return QUEEN_FRAME_BAD_KIND;
	if (frame[FRAME_FLAGS] != 0)
		return QUEEN_FRAME_BAD_FLAGS;
	return QUEEN_FRAME_OK;
}

/*
 * Reads a frame of size bytes into a message. A part of length 0 gets a place
 * too, not NULL, so that callers may copy it without asking.
 */
static QueenFrameStatus
read_frame(const uint8_t *frame, size_t size, QueenMessage *message)
{
	const char *at = (const char *) frame + QUEEN_FRAME_FIXED_SIZE;

	message->kind = frame[FRAME_KIND];
	message->group = get_u32(frame + FRAME_GROUP);
	message->transaction_id_len = get_u16(frame + FRAME_TRANSACTION_ID_LEN);
	message->headers_len = get_u32(frame + FRAME_HEADERS_LEN);
	message->payload_len = get_u32(frame + FRAME_PAYLOAD_LEN);
	if ((uint64_t) QUEEN_FRAME_FIXED_SIZE + message->transaction_id_len +
		message->headers_len + message->payload_len != size)
		return QUEEN_FRAME_BAD_LENGTH;

	message->transaction_id = at;
	message->headers = message->transaction_id + message->transaction_id_len;
	message->payload = message->headers + message->headers_len;
	return QUEEN_FRAME_OK;
}

/* Bytes that the frame of a message takes; SIZE_MAX if size_t is too small. */
size_t
queen_frame_size(const QueenMessage *message)
{
	size_t		size = QUEEN_FRAME_FIXED_SIZE;

	size = add_sizes(size, message->transaction_id_len);
	size = add_sizes(size, message->headers_len);
	return add_sizes(size, message->payload_len);
}

/* Bytes that a segment of count frames takes; SIZE_MAX as above. */
size_t
queen_segment_size(uint32_t count, size_t frames_size)
{
	size_t		ends_size = add_sizes(count, count);

	ends_size = add_sizes(ends_size, ends_size);
	return add_sizes(add_sizes(QUEEN_SEGMENT_FIXED_SIZE, ends_size),
					 frames_size);
}

/*
 * Writes a segment. The ends have 32 bits, so the frames must stay below
 * 4 GiB; the server allocates no value of even 1 GiB to write into.
 */
void
queen_segment_encode(uint8_t *out, const QueenMessage *messages,
					 uint32_t count)
{
	uint8_t    *end = out + HEADER_ENDS;
	uint8_t    *frames = out + queen_segment_size(count, 0);
	uint8_t    *at = frames;
	uint32_t	i;

	out[HEADER_VERSION] = FORMAT_VERSION;
	out[HEADER_BYTE_ORDER] = BYTE_ORDER_MARK;
	put_u16(out + HEADER_RESERVED, 0);
	put_u32(out + HEADER_COUNT, count);
	for (i = 0; i < count; i++, end += END_SIZE)
	{
		at = put_frame(at, &messages[i]);
		put_u32(end, (uint32_t) (at - frames));
	}
	put_u32(end, queen_frame_crc(out, (size_t) (end - out)));
}

/* Checks the header of a value and makes a segment of it. */
QueenFrameStatus
queen_segment_open(const uint8_t *data, size_t len, uint32_t expected_count,
				   QueenSegment *segment)
{
	QueenFrameStatus status;
	uint32_t	count;
	size_t		header_size;
	size_t		crc_at;

	if (len < QUEEN_SEGMENT_FIXED_SIZE)
		return QUEEN_FRAME_TRUNCATED;
	status = check_format(data);
	if (status != QUEEN_FRAME_OK)
		return status;
	count = get_u32(data + HEADER_COUNT);
	if (count == 0 || count != expected_count)
		return QUEEN_FRAME_BAD_COUNT;
	header_size = queen_segment_size(count, 0);
	if (header_size > len)
		return QUEEN_FRAME_TRUNCATED;
	crc_at = header_size - CRC_SIZE;
	if (get_u32(data + crc_at) != queen_frame_crc(data, crc_at))
		return QUEEN_FRAME_BAD_HEADER_CRC;

	segment->ends = data + HEADER_ENDS;
	segment->frames = data + header_size;
	segment->count = count;
	return check_ends(segment, len - header_size);
}

/* Checks and reads message n, from 0, of a segment that was opened. */
QueenFrameStatus
queen_segment_message(const QueenSegment *segment, uint32_t n,
					  QueenMessage *message)
{
	const uint8_t *end;
	const uint8_t *frame;
	size_t		start;
	size_t		size;
	QueenFrameStatus status;

	if (n >= segment->count)
		return QUEEN_FRAME_NO_MESSAGE;
	end = segment->ends + (size_t) n * END_SIZE;
	start = n == 0 ? 0 : get_u32(end - END_SIZE);
	size = get_u32(end) - start;
	frame = segment->frames + start;
	status = check_frame(frame, size);
	if (status != QUEEN_FRAME_OK)
		return status;
	return read_frame(frame, size, message);
}

/* What a status means: a clause that ends a sentence, without full stop. */
const char *
queen_frame_status_text(QueenFrameStatus status)
{
	switch (status)
	{
		case QUEEN_FRAME_OK:
			return "nothing is wrong";
		case QUEEN_FRAME_TRUNCATED:
			return "the value is shorter than its header";
		case QUEEN_FRAME_BAD_VERSION:
			return "the format version is unknown";
		case QUEEN_FRAME_BAD_BYTE_ORDER:
			return "the byte order mark is wrong";
		case QUEEN_FRAME_BAD_COUNT:
			return "the number of messages is not the one expected";
		case QUEEN_FRAME_BAD_HEADER_CRC:
			return "the checksum of the header is wrong";
		case QUEEN_FRAME_BAD_END:
			return "the ends of the frames do not fit the value";
		case QUEEN_FRAME_BAD_CRC:
			return "the checksum of the frame is wrong";
		case QUEEN_FRAME_BAD_KIND:
			return "the kind of the message is unknown";
		case QUEEN_FRAME_BAD_FLAGS:
			return "the frame has flags that are unknown";
		case QUEEN_FRAME_BAD_LENGTH:
			return "the lengths in the frame do not add up to its size";
		case QUEEN_FRAME_NO_MESSAGE:
			return "there is no message of that number";
	}
	return "the status is unknown"; /* not reached */
}
