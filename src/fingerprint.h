/*-------------------------------------------------------------------------
 *
 * fingerprint.h
 *	  Fingerprints of transaction ids, sorted sets of them, and filters.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_FINGERPRINT_H
#define QUEEN_FINGERPRINT_H

#include "datatype/timestamp.h"

/*
 * What is remembered of an id: 64 bits of hash, 16 more in the stamp, where its
 * message is (an offset, or below 0 a scheduled message), and when it was
 * pushed, to the millisecond. Stored as it is, in the byte order of the machine.
 */
typedef struct QueenPrint
{
	uint64		hash;
	int64		place;
	uint64		stamp;			/* milliseconds since 2000, 16 bits of hash */
} QueenPrint;

/* Whether two are of the same id, as far as can be told without the ids. */
static inline bool
queen_print_equal(const QueenPrint *a, const QueenPrint *b)
{
	return a->hash == b->hash && (uint16) a->stamp == (uint16) b->stamp;
}

/* When its message was pushed. */
static inline TimestampTz
queen_print_time(const QueenPrint *print)
{
	return (TimestampTz) (print->stamp >> 16) * 1000;
}

/* Which of some equal parts of all hashes a hash belongs to; grows with it. */
static inline uint32
queen_print_part(uint64 hash, uint32 parts)
{
	return (uint32) (((hash >> 32) * parts) >> 32);
}

/* The same by the other half of the hash. */
static inline uint32
queen_print_low_part(uint64 hash, uint32 parts)
{
	return (uint32) (((hash & 0xffffffff) * parts) >> 32);
}

/* Bits of a filter for each id, and what it takes at most: one page. */
#define QUEEN_FILTER_BITS		14
#define QUEEN_FILTER_BLOCK		32	/* bytes */
#define QUEEN_FILTER_BLOCKS		250

extern QueenPrint queen_print_make(const char *id, int len, int64 place, TimestampTz at);
extern void queen_prints_sort(QueenPrint *prints, uint32 count);
extern void queen_prints_merge(const QueenPrint *a, uint32 na, const QueenPrint *b, uint32 nb,
							   QueenPrint *out);
extern uint32 queen_prints_find(const QueenPrint *prints, uint32 count, uint64 hash);
extern uint32 queen_filter_blocks(uint32 count);
extern void queen_filter_set(uint8 *block, const QueenPrint *print);
extern bool queen_filter_has(const uint8 *block, const QueenPrint *print);

#endif							/* QUEEN_FINGERPRINT_H */
