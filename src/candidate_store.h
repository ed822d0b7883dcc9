/*-------------------------------------------------------------------------
 *
 * candidate_store.h
 *	  The SQL that finds partitions with something for a consumer group.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_CANDIDATE_STORE_H
#define QUEEN_CANDIDATE_STORE_H

#include "datatype/timestamp.h"

/* What a pop asks of the partitions of a queue. */
typedef struct QueenCandidateSearch
{
	int32		queue_id;
	int32		group_id;
	TimestampTz now;
	TimestampTz subscription_from;
	int64		delivery_delay; /* microseconds */
} QueenCandidateSearch;

/* A partition that has something for a group: now, or at a time. */
typedef struct QueenOutlook
{
	int64		partition_id;
	TimestampTz at;				/* -infinity: nothing holds it back */
} QueenOutlook;

extern int	queen_partition_candidates(const QueenCandidateSearch *search,
									   int64 after, int64 through,
									   int64 *partition_ids, int limit);
extern int	queen_partition_outlook(const QueenCandidateSearch *search, int64 after,
									int64 through, QueenOutlook *found, int limit);
extern TimestampTz queen_partition_soonest(const QueenCandidateSearch *search);

#endif							/* QUEEN_CANDIDATE_STORE_H */
