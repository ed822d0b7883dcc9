/*-------------------------------------------------------------------------
 *
 * maintain.h
 *	  The steps of maintenance, and where each of them goes on.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_MAINTAIN_H
#define QUEEN_MAINTAIN_H

#include "access/transam.h"
#include "datatype/timestamp.h"

#include "hold.h"

#define QUEEN_WALKS 256
#define QUEEN_MAX_STEPS 8

/*
 * Where the walks over the partitions of one queue stand. All of it are hints:
 * a walk that is forgotten begins at the bottom.
 */
typedef struct QueenWalk
{
	int32		queue_id;
	TimestampTz marked_at;		/* when the mark was last set to the bottom */
	TimestampTz mark;			/* no partition has anything older */
	TimestampTz done_at;		/* the walk over what groups may have done; it */
	int64		done_id;		/* begins at the mark where done_id is 0 */
	TimestampTz done_left;		/* the oldest that it left behind */
	TimestampTz idle_marked_at; /* the same two for partitions that are idle */
	TimestampTz idle_mark;
	TimestampTz idle_low;		/* of those that were emptied since the walk
								 * over idle ones began */
	int64		size_id;		/* the walk over sizes: the last partition
								 * seen */
} QueenWalk;

/* Nothing before these is kept of the histories. */
typedef struct QueenOldest
{
	int64		seek;
	int64		retention;
	int64		redrive;
} QueenOldest;

/* Of more queues than there is room for, some are forgotten. */
typedef struct QueenWalks
{
	QueenWalk	walks[QUEEN_WALKS];
	QueenHold	holds[QUEEN_HOLDS];
	TimestampTz safe_at;		/* what transactions wrote before it can be
								 * seen */
	TimestampTz epoch_at;		/* will be, once no transaction before
								 * epoch_xid runs */
	TransactionId epoch_xid;
	TimestampTz next_due_at;	/* of a delayed message: of the last pass */
	int32		first_queue[QUEEN_MAX_STEPS];	/* each step begins after it */
	QueenOldest oldest;
} QueenWalks;

/* What retention removed from one queue in a pass. */
typedef struct QueenTally
{
	int32		queue_id;
	int64		partitions;
	int64		segments;
	int64		messages;
	int64		bytes;
	int64		unread;			/* messages, once for each group that had not
								 * done them */
} QueenTally;

/* What one pass keeps between the transactions of a step. */
typedef struct QueenPass
{
	QueenWalks *walks;
	int			step;			/* its number */
	bool		by_hand;		/* looks as far as time allows */
	bool		over;			/* time is up: only write down what was done */
	int32		in_queue;		/* what is being worked on, for the case of an */
	int64		in_partition;	/* error; 0: nothing that it is known of */
	int32		queue_id;		/* where the walk over queues stands */
	int			rule;			/* which walk over its partitions is on */
	TimestampTz at;				/* and where that one stands */
	int64		partition_id;
	TimestampTz left;			/* the oldest that it left behind */
	int64		looks;			/* partitions looked at for nothing */
	QueenTally	tally;
} QueenPass;

/*
 * A step does a bounded piece of work in the transaction that runs, and adds to
 * done what it did. It answers false where there is nothing more for now, and
 * must be good to be called again after an error. It tries queen's locks only.
 */
typedef bool (*QueenTaskFunction) (QueenPass *pass, int64 *done);

typedef struct QueenTask
{
	const char *name;
	QueenTaskFunction run;
} QueenTask;

extern const QueenTask queen_steps[];
extern const int queen_nsteps;

/* One pass, in transactions of its own; false where the extension is gone. */
extern bool queen_maintain(QueenWalks *walks, bool *more);

/* The walk of a queue; a new one begins at the bottom. */
extern QueenWalk *queen_walk(QueenWalks *walks, int32 queue_id);

/* Notes what a step is about to work on; partition_id may be 0. */
static inline void
queen_pass_enter(QueenPass *pass, int32 queue_id, int64 partition_id)
{
	pass->in_queue = queue_id;
	pass->in_partition = partition_id;
}

/* Whether a queue, or a partition of it, failed in this step not long ago. */
static inline bool
queen_pass_is_held(const QueenPass *pass, int32 queue_id, int64 partition_id)
{
	return queen_is_held(pass->walks->holds, pass->step, queue_id, partition_id);
}

/* Goes to the next queue that a function knows and that is not held back; false where there is none. */
extern bool queen_pass_next_queue(QueenPass *pass, bool (*next) (int32 after, int32 *queue_id));

#endif							/* QUEEN_MAINTAIN_H */
