/*-------------------------------------------------------------------------
 *
 * frame.h
 *	  The codec of queen.segment.frames: bytes in, bytes out.
 *
 * A segment is a header, then its frames, one a message. All numbers are
 * little-endian; nothing in it is aligned.
 *
 *	header	version u8 (1) · byte order u8 ('L') · reserved u16 (0) · count u32
 *			· end u32 of each frame, counted from the end of the header
 *			· crc u32 (CRC-32C of all header bytes before it)
 *	frame	crc u32 (CRC-32C of the rest of the frame) · kind u8 · flags u8 (0)
 *			· transaction id length u16 · headers length u32
 *			· payload length u32 · group u32 · transaction id · headers · payload
 *
 * Transaction id and headers of length 0 are absent. The file knows no
 * server: it includes neither postgres.h nor any of ours, allocates nothing,
 * raises nothing, and answers a status that the caller turns into an error.
 * queen_frame_crc() is the one thing that it needs from outside.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_FRAME_H
#define QUEEN_FRAME_H

#include <stddef.h>
#include <stdint.h>

typedef enum QueenFrameStatus
{
	QUEEN_FRAME_OK = 0,
	QUEEN_FRAME_TRUNCATED,		/* fewer bytes than the lengths promise */
	QUEEN_FRAME_BAD_VERSION,	/* a format version that is not ours */
	QUEEN_FRAME_BAD_BYTE_ORDER,
	QUEEN_FRAME_BAD_COUNT,		/* no message, or not the number expected */
	QUEEN_FRAME_BAD_HEADER_CRC,
	QUEEN_FRAME_BAD_END,		/* ends that go back or beyond the value */
	QUEEN_FRAME_BAD_CRC,		/* a frame whose checksum is wrong */
	QUEEN_FRAME_BAD_KIND,
	QUEEN_FRAME_BAD_FLAGS,
	QUEEN_FRAME_BAD_LENGTH,		/* a frame whose lengths do not add up */
	QUEEN_FRAME_NO_MESSAGE		/* a message number beyond the count */
} QueenFrameStatus;

typedef enum QueenKind
{
	QUEEN_KIND_JSON = 1,
	QUEEN_KIND_BYTES = 2
} QueenKind;

/* One message. Its bytes belong to whoever made it or to the segment. */
typedef struct QueenMessage
{
	uint8_t		kind;			/* QueenKind */
	uint32_t	group;			/* the one group it is meant for, 0: all */
	const char *transaction_id;
	uint16_t	transaction_id_len;
	const char *headers;
	uint32_t	headers_len;
	const char *payload;
	uint32_t	payload_len;
} QueenMessage;

/* A segment whose header has been checked. */
typedef struct QueenSegment
{
	const uint8_t *ends;
	const uint8_t *frames;
	uint32_t	count;
} QueenSegment;

#define QUEEN_FRAME_FIXED_SIZE 20
#define QUEEN_SEGMENT_FIXED_SIZE 12 /* header without the ends */

/* CRC-32C of len bytes; given by the host program. */
extern uint32_t queen_frame_crc(const void *data, size_t len);

/* Bytes that a frame, or a segment of count frames, takes. */
extern size_t queen_frame_size(const QueenMessage *message);
extern size_t queen_segment_size(uint32_t count, size_t frames_size);

/* Writes a segment of queen_segment_size() bytes; the messages are in order. */
extern void queen_segment_encode(uint8_t *out, const QueenMessage *messages,
								 uint32_t count);

/* Checks the header of a value; expected_count is what the row says. */
extern QueenFrameStatus queen_segment_open(const uint8_t *data, size_t len,
										   uint32_t expected_count,
										   QueenSegment *segment);

/* Checks and reads message n (from 0) of an opened segment. */
extern QueenFrameStatus queen_segment_message(const QueenSegment *segment,
											  uint32_t n, QueenMessage *message);

/* What a status means, for errdetail: a sentence's end without full stop. */
extern const char *queen_frame_status_text(QueenFrameStatus status);

#endif							/* QUEEN_FRAME_H */
