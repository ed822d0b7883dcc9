/*-------------------------------------------------------------------------
 *
 * retention.h
 *	  Removes what a queue does not keep: whole segments, the oldest first.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_RETENTION_H
#define QUEEN_RETENTION_H

#include "group_store.h"
#include "partition_store.h"
#include "queue_store.h"
#include "retention_store.h"

/* What a queue keeps, now. */
typedef struct QueenRetention
{
	const QueenQueue *queue;
	TimestampTz age_before;		/* what is older goes; -infinity: none for its
								 * age */
	TimestampTz done_before;	/* what is older and done by all groups goes */
	QueenGroup *groups;
	int			ngroups;
	int64		max_segments;	/* to be removed at once */
	int64		max_bytes;
	bool		stepwise;		/* sizes are counted in steps, too */
} QueenRetention;

/* What goes, or went, from one partition. */
typedef struct QueenRemoval
{
	QueenPartition partition;	/* as it was before */
	int64		next_start;		/* log_start after it */
	int64		segments;
	int64		bytes;
	TimestampTz first_at;		/* created_at of the first and last one
								 * removed */
	TimestampTz last_at;
	TimestampTz oldest_at;		/* of what is left; infinity: nothing is */
	const char *rule;			/* which let the last segment go */
	int64	   *unread;			/* for each group, how many of the messages it
								 * had not done */
	bool		cut;			/* more would go, but this is enough at once */
	QueenSize	size;			/* where the queue limits bytes */
	bool		count_grew;		/* so much that it is worth keeping */
} QueenRemoval;

typedef enum QueenRemoved
{
	QUEEN_REMOVED_NOTHING,		/* and nothing is to be */
	QUEEN_REMOVED_SOME,
	QUEEN_REMOVED_BUSY			/* somebody works on the partition */
} QueenRemoved;

extern void queen_retention_open(const QueenQueue *queue, bool dry_run, QueenRetention *retention);
extern bool queen_retention_plan(const QueenRetention *retention, int64 partition_id,
								 QueenRemoval *removal);
extern QueenRemoved queen_retention_apply(const QueenRetention *retention,
										  int64 partition_id, QueenRemoval *removal);
extern void queen_retention_tally(const QueenRetention *retention,
								  const QueenRemoval *removal, QueenTally *tally);

extern bool queen_retention_step(QueenPass *pass, int64 *done);

#endif							/* QUEEN_RETENTION_H */
