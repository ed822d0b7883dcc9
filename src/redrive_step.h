/*-------------------------------------------------------------------------
 *
 * redrive_step.h
 *	  What the parts of a redrive share; see redrive.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_REDRIVE_STEP_H
#define QUEEN_REDRIVE_STEP_H

#include "cursor.h"
#include "endpoint.h"
#include "group_store.h"
#include "lanes.h"
#include "partition_store.h"
#include "redrive.h"

#define QUEEN_CHUNK_LETTERS	1000
#define QUEEN_CHUNK_BYTES	(1024 * 1024)

/* What is pending of a partition of a client's queue. */
typedef struct QueenPending
{
	struct QueenPending *next;
	MemoryContext memory;		/* holds all of it */
	QueenPartition partition;
	QueenCursor cursor;
	QueenSpan  *done;			/* sent back, or meant for others */
	int			ndone;
	int			room;
	bool		walked;			/* no letter of it comes any more */
} QueenPending;

/* A letter of a chunk, and what becomes of it. */
typedef struct QueenVerdict
{
	QueenLetter letter;
	QueenPending *pending;		/* NULL: a dead letter of ours */
	QueenEndpoint *source;
	text	   *target_name;	/* NULL: none is known */
	QueenEndpoint *target;
	const char *why_not;		/* NULL: it goes back */
	QueenItem	item;
} QueenVerdict;

/* One step. */
typedef struct QueenRedriveStep
{
	QueenRedrive *redrive;
	bool		surveying;
	QueenEndpoints endpoints;
	int64		looked_at;
	int64		chosen;			/* of those: to be sent back */
	int64		bytes;			/* of bodies and headers */
	int64		surveyed;		/* how many letters the survey met */
	bool		is_done;		/* nothing is left */
	bool		is_over;		/* the budget is, and a letter is left */

	/* A client's queue. */
	QueenGroup *group;
	bool		is_busy;		/* somebody else holds the group */
	QueenPending *pending;		/* not yet written, the one at hand first */

	/* The chunk; all that it points to is in its memory. */
	MemoryContext memory;
	QueenVerdict *verdicts;
	int			nverdicts;
	int64		chunk_bytes;
} QueenRedriveStep;

/* redrive_judge.c */
extern text *queen_redrive_target(const QueenRedrive *redrive, const QueenLetter *letter);
extern void queen_redrive_judge(const QueenRedriveStep *step, QueenVerdict *verdict);

/* redrive_chunk.c */
extern void queen_redrive_take_up(QueenRedriveStep *step, QueenVerdict *verdict);
extern void queen_redrive_finish_chunk(QueenRedriveStep *step);

/* redrive_pending.c */
extern QueenPending *queen_pending_begin(QueenRedriveStep *step);
extern void queen_pending_add(QueenPending *pending, int64 offset);
extern void queen_pending_write(QueenRedriveStep *step);

/* redrive_source.c */
extern QueenQueue *queen_redrive_queue(const QueenRedriveStep *step, text *name);
extern bool queen_redrive_is_many(const QueenRedriveStep *step);
extern void queen_redrive_walk(QueenRedriveStep *step, bool surveying);

#endif							/* QUEEN_REDRIVE_STEP_H */
