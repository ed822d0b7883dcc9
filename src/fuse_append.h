/*-------------------------------------------------------------------------
 *
 * fuse_append.h
 *	  Appends what a cycle of the fusion worker has taken.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_FUSE_APPEND_H
#define QUEEN_FUSE_APPEND_H

#include "fuse.h"

/* One request that was taken. */
typedef struct QueenFusedPush
{
	int			number;			/* of its slot */
	QueenSlot  *slot;
	dsm_segment *segment;		/* that holds its bytes, or NULL */
	text	   *queue;
	text	   *partition;		/* NULL: none is named and none was chosen yet */
	bool		named;
	QueenMessage message;
	bool		answered;

	QueenFusionResult result;
	int64		offset;			/* -1: not in the log */
	int64		scheduled_id;	/* 0: not in queen.scheduled */
	QueenWanted wanted;
	int			sqlstate;
	const char *error;
	const char *detail;
	const char *hint;
} QueenFusedPush;

/* Appends all, in the current transaction; each learns its result. */
extern void queen_fused_append(QueenFusedPush **requests, int count);

/* Refuses a request; detail and hint may be NULL. */
extern void queen_fused_refuse(QueenFusedPush *request, int sqlstate, const char *error,
							   const char *detail, const char *hint);

/* Gives all whose fate is open the same result; wanted may be NULL. */
extern void queen_fused_settle(QueenFusedPush **requests, int count,
							   QueenFusionResult result, const QueenWanted *wanted);

/* Keeps the requests whose fate is open; answers how many. */
extern int	queen_fused_keep_open(QueenFusedPush **requests, int count);

#endif							/* QUEEN_FUSE_APPEND_H */
