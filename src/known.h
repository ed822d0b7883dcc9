/*-------------------------------------------------------------------------
 *
 * known.h
 *	  Filters over all that a partition remembers, kept by the session.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_KNOWN_H
#define QUEEN_KNOWN_H

#include "dedup_store.h"

/* Partitions that remember fewer ids are looked through run by run. */
#define QUEEN_KNOWN_PRINTS (128 * 1024)

#define QUEEN_KNOWN_FILTERS 8

/* A filter over ids that were taken in one after the other. */
typedef struct QueenKnownFilter
{
	uint8	   *bits;
	uint32		blocks;
	uint32		room;			/* for so many ids */
	uint32		count;
	TimestampTz newest;			/* of them */
} QueenKnownFilter;

/* Lives as long as the session, or until its memory is needed. */
typedef struct QueenKnown
{
	int64		partition_id;	/* the key */
	uint64		visits;			/* to rows, the long way */
	uint64		used;			/* when, in calls of this session */
	QueenKnownFilter filters[QUEEN_KNOWN_FILTERS];	/* oldest first */
	int			nfilters;
	TimestampTz dropped;		/* newest id of filters that were dropped */
	uint64	   *nonces;			/* of the runs taken in */
	int			nnonces;
} QueenKnown;

/* Reads all fingerprints of a run, those since the horizon; answers how many. */
typedef uint32 (*QueenReadRun) (const QueenMemory *memory, const QueenRun *run,
								TimestampTz horizon, QueenPrint *prints);

extern QueenKnown *queen_known_find(const QueenMemory *memory, TimestampTz horizon,
									uint32 sought, QueenReadRun read);
extern uint32 queen_known_test(const QueenKnown *known, const QueenPrint *sought, uint32 count,
							   QueenPrint *perhaps);
extern bool queen_known_covers(const QueenMemory *memory);
extern void queen_known_add(const QueenMemory *memory, const QueenPrint *prints, uint32 count);

#endif							/* QUEEN_KNOWN_H */
