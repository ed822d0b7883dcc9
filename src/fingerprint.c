/*-------------------------------------------------------------------------
 *
 * fingerprint.c
 *	  Fingerprints of transaction ids, sorted sets of them, and filters.
 *
 * Sets are arrays in the order of hashes. A filter tells that an id is surely
 * not in a set: it is cut into blocks of 256 bits, an id sets one bit in each
 * of the eight words of one block, so a test costs one cache line. With 14 bits
 * an id about one test in 400 says "perhaps" where the id is not there.
 *
 * The hash must never change: it is stored.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "fingerprint.h"

#define SEED_HASH	UINT64CONST(0x71756565)
#define SEED_CHECK	UINT64CONST(0x6e2d6964)

/* One for each word of a block: which of its bits an id sets. */
static const uint32 salts[] = {
	0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
	0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31
};

/* The fingerprint of an id; times before 2000 count as 2000. */
QueenPrint
queen_print_make(const char *id, int len, int64 place, TimestampTz at)
{
	const unsigned char *bytes = (const unsigned char *) id;
	QueenPrint	print;

	print.hash = hash_bytes_extended(bytes, len, SEED_HASH);
	print.place = place;
	print.stamp = ((uint64) (Max(at, 0) / 1000) << 16) |
		(hash_bytes_extended(bytes, len, SEED_CHECK) & 0xffff);
	return print;
}

/* By hash, those of one hash in the order of their places. */
static inline int
compare(const QueenPrint *left, const QueenPrint *right)
{
	if (left->hash != right->hash)
		return left->hash < right->hash ? -1 : 1;
	return left->place < right->place ? -1 : left->place > right->place;
}

#define ST_SORT sort_prints
#define ST_ELEMENT_TYPE QueenPrint
#define ST_COMPARE(left, right) compare(left, right)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Brings a set into its order. */
void
queen_prints_sort(QueenPrint *prints, uint32 count)
{
	sort_prints(prints, count);
}

/* One set out of two. */
void
queen_prints_merge(const QueenPrint *a, uint32 na, const QueenPrint *b, uint32 nb,
				   QueenPrint *out)
{
	const QueenPrint *a_end = a + na;
	const QueenPrint *b_end = b + nb;

	while (a < a_end && b < b_end)
		*out++ = b->hash < a->hash ? *b++ : *a++;
	while (a < a_end)
		*out++ = *a++;
	while (b < b_end)
		*out++ = *b++;
}

/* The first one whose hash is not below; count where there is none. */
uint32
queen_prints_find(const QueenPrint *prints, uint32 count, uint64 hash)
{
	uint32		low = 0;
	uint32		high = count;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (prints[middle].hash < hash)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* How many blocks the filter of so many ids has. */
uint32
queen_filter_blocks(uint32 count)
{
	return Min(count * QUEEN_FILTER_BITS / (QUEEN_FILTER_BLOCK * BITS_PER_BYTE) + 1,
			   QUEEN_FILTER_BLOCKS);
}

/*
 * What an id sets in a word of its block: bits that do not choose the block, be
 * it chosen by one half of the hash or by the other.
 */
static inline uint32
bit_of(const QueenPrint *print, int word)
{
	uint32		key = (uint32) (print->hash >> 32) ^ ((uint32) (uint16) print->stamp << 16) ^
	(uint32) print->hash * 0x9e3779b1;

	return (uint32) 1 << ((key * salts[word]) >> 27);
}

/* Adds an id to its block. */
void
queen_filter_set(uint8 *block, const QueenPrint *print)
{
	for (int word = 0; word < lengthof(salts); word++)
	{
		uint32		bits;

		memcpy(&bits, block + word * sizeof(bits), sizeof(bits));
		bits |= bit_of(print, word);
		memcpy(block + word * sizeof(bits), &bits, sizeof(bits));
	}
}

/* False where an id was not added to its block. */
bool
queen_filter_has(const uint8 *block, const QueenPrint *print)
{
	for (int word = 0; word < lengthof(salts); word++)
	{
		uint32		bits;

		memcpy(&bits, block + word * sizeof(bits), sizeof(bits));
		if ((bits & bit_of(print, word)) == 0)
			return false;
	}
	return true;
}
