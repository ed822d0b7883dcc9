/*-------------------------------------------------------------------------
 *
 * runs.h
 *	  The runs of fingerprints that a partition remembers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_RUNS_H
#define QUEEN_RUNS_H

#include "dedup_store.h"

/* A remembered fingerprint that equals one that is looked for. */
typedef struct QueenHit
{
	int64		sought;			/* the place of the one that is looked for */
	int64		place;			/* of the one that is remembered */
} QueenHit;

typedef struct QueenHits
{
	QueenHit   *hits;
	int			count;
	int			room;
} QueenHits;

extern void queen_memory_search(const QueenMemory *memory, TimestampTz horizon,
								const QueenPrint *sought, uint32 count, QueenHits *hits);
extern void queen_memory_add(QueenMemory *memory, TimestampTz horizon,
							 const QueenPrint *prints, uint32 count);
extern int	queen_memory_expire(QueenMemory *memory, TimestampTz horizon, int limit);
extern TimestampTz queen_memory_newest(const QueenMemory *memory);

#endif							/* QUEEN_RUNS_H */
