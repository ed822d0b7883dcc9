/*-------------------------------------------------------------------------
 *
 * search.h
 *	  Finds partitions that are ready, by the hints in shared memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_SEARCH_H
#define QUEEN_SEARCH_H

#include "group_store.h"
#include "queue.h"
#include "ready.h"

/* What became of a visit to a partition. */
typedef enum QueenVisit
{
	QUEEN_VISIT_TOOK,			/* the end of the transaction says what is
								 * left */
	QUEEN_VISIT_LEFT,			/* there is something, and it was not taken */
	QUEEN_VISIT_LOCKED,			/* by somebody else */
	QUEEN_VISIT_LATER,			/* there is something at a time */
	QUEEN_VISIT_NOTHING			/* is there */
} QueenVisit;

/* One search: whose, and what to do with a partition that looks ready. */
typedef struct QueenSearch
{
	const QueenQueue *queue;
	const QueenGroup *group;
	TimestampTz now;
	QueenVisit	(*visit) (void *context, int64 partition_id, TimestampTz *at);
	bool		(*goes_on) (void *context);
	void	   *context;

	/* Whether others made something ready while it looked, which it left alone. */
	bool		overtaken;

	/* From here on the search's own. */
	QueenReadyKey key;
	uint64		turn;			/* what is in the list before it is visited */
	uint64		put_back;		/* what was visited since, and is in the list again */
	int64		visiting;		/* taken out of the list; 0: none is */
	bool		scanning;		/* what counts as looked at already */
} QueenSearch;

extern bool queen_search(QueenSearch *search);

#endif							/* QUEEN_SEARCH_H */
