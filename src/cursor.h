/*-------------------------------------------------------------------------
 *
 * cursor.h
 *	  What a cursor is, and the rules by which it moves.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_CURSOR_H
#define QUEEN_CURSOR_H

#include "datatype/timestamp.h"

#define QUEEN_RECENT_LEASES 4

/* Offsets first to last, both included. */
typedef struct QueenSpan
{
	int64		first;
	int64		last;
} QueenSpan;

/* The offsets up to up_to, from the step before, were delivered count times. */
typedef struct QueenStep
{
	int64		up_to;
	int32		count;
} QueenStep;

/* What the log has after the last offset that is leased or done. */
typedef enum QueenRest
{
	QUEEN_REST_UNKNOWN,
	QUEEN_REST_NOTHING,
	QUEEN_REST_SOMETHING
} QueenRest;

/*
 * Where a group stands in a partition. acked is sorted, its spans do not touch
 * each other nor the offset after committed, which is therefore the first one
 * not done: the head.
 */
typedef struct QueenCursor
{
	int64		partition_id;
	int32		queue_id;		/* of the group; 0 where the reader did not
								 * say */
	int32		group_id;
	int64		version;		/* 0: never written */
	int64		committed;
	int64		lease_nonce;	/* 0: no lease */
	int64		lease_start;	/* the lease's first and last offset */
	int64		lease_end;
	TimestampTz lease_until;
	int64		recent[QUEEN_RECENT_LEASES];	/* completed, newest first */
	int			nrecent;
	QueenSpan  *acked;
	int			nacked;
	QueenStep  *steps;
	int			nsteps;
	int32		failures;		/* of the head */
	TimestampTz not_before;		/* -infinity: at once */

	/* Not kept: what whoever writes it knows, for those who wait. */
	int64		leased_before;	/* last offset of the lease that was read, or
								 * -1 */
	QueenRest	rest;
} QueenCursor;

static inline int64
queen_cursor_head(const QueenCursor *cursor)
{
	return cursor->committed + 1;
}

extern bool queen_cursor_is_acked(const QueenCursor *cursor, int64 offset);
extern int64 queen_cursor_unfinished(const QueenCursor *cursor, int64 first, int64 last);
extern int64 queen_cursor_complete(QueenCursor *cursor, QueenSpan *spans, int nspans);
extern int64 queen_cursor_complete_span(QueenCursor *cursor, int64 first, int64 last);
extern int32 queen_cursor_deliveries(const QueenCursor *cursor, int64 offset);
extern void queen_cursor_count_delivery(QueenCursor *cursor, int64 through);
extern void queen_cursor_pass_removed(QueenCursor *cursor, int64 log_start);
extern void queen_cursor_start_lease(QueenCursor *cursor, int64 nonce, int64 last, TimestampTz until);
extern void queen_cursor_end_lease(QueenCursor *cursor);
extern void queen_cursor_finish_lease(QueenCursor *cursor);
extern void queen_cursor_seek(QueenCursor *cursor, int64 committed, QueenSpan *acked, int nacked);
extern int64 queen_cursor_done_ahead(const QueenCursor *cursor);
extern bool queen_cursor_stands_at(const QueenCursor *cursor, int64 committed);
extern bool queen_cursor_finished(const QueenCursor *cursor, int64 nonce);

#endif							/* QUEEN_CURSOR_H */
