/*-------------------------------------------------------------------------
 *
 * claim.h
 *	  Claims partitions for a pop.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_CLAIM_H
#define QUEEN_CLAIM_H

#include "access/tupdesc.h"
#include "utils/tuplestore.h"

#include "lease.h"
#include "search.h"

/* One call of queen.pop: what it asks, what it may still take, where rows go. */
typedef struct QueenPop
{
	QueenQueue *queue;
	QueenGroup *group;
	int64		lease;			/* microseconds */
	bool		auto_ack;
	TimestampTz now;

	int64		messages_left;
	int64		bytes_left;
	int			partitions_left;
	int64		delivered;
	bool		stale;			/* others were quicker: there may be more */
	bool		young;			/* what comes next is too young to be
								 * delivered */
	bool		hinted;			/* shared memory knows the group */
	bool		named;			/* only one partition was looked at */
	bool		left_some;		/* something is left for others, perhaps */
	TimestampTz soonest;		/* when what was passed over may be free */

	QueenLease *held;			/* completed in this call, their cursors not
								 * yet written */
	int			nheld;

	Tuplestorestate *rows;
	TupleDesc	descriptor;
	MemoryContext row_memory;	/* for the values of one row */
} QueenPop;

extern bool queen_pop_has_budget(const QueenPop *pop);
extern QueenVisit queen_claim(QueenPop *pop, int64 partition_id, TimestampTz *at);

#endif							/* QUEEN_CLAIM_H */
