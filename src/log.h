/*-------------------------------------------------------------------------
 *
 * log.h
 *	  Appends messages to partitions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_LOG_H
#define QUEEN_LOG_H

#include "frame.h"
#include "locks.h"
#include "partition_store.h"
#include "queue_store.h"

/* What became of a message. */
typedef enum QueenOutcome
{
	QUEEN_QUEUED,
	QUEEN_DUPLICATE,			/* of another one, which stays the only one */
	QUEEN_SCHEDULED,
	QUEEN_FULL					/* left out, for want of room in the backlog */
} QueenOutcome;

/* Where a message is, or the one that it is a duplicate of. */
typedef struct QueenPlaced
{
	QueenOutcome outcome;
	int64		offset;			/* -1: not in the log */
	int64		scheduled_id;	/* 0: not in queen.scheduled */
} QueenPlaced;

struct QueenDedup;

/* What one call appends to one partition. All zero is a good beginning. */
typedef struct QueenLane
{
	text	   *name;			/* of the partition */
	QueenMessage *messages;
	uint32		count;
	bool		copies;			/* of messages that were pushed before:
								 * neither deduplicated nor remembered */
	const TimestampTz *deliver_at;	/* of each message, -infinity: at once;
									 * NULL: all at once */
	const TimestampTz *pushed_at;	/* for messages whose time has come:
									 * accepted and found new back then */
	bool		fitting;		/* what the backlog has no room for is left
								 * out, else it refuses all */

	/* From here on the append's own. */
	QueenPartition partition;
	bool		made;			/* by this call */
	bool		locked;			/* by this call, to be given back */
	bool		empty;			/* no segment is kept; the row is to be told */
	int64		first_offset;	/* of the messages that are written */
	TimestampTz created_at;
	struct QueenDedup *dedup;	/* NULL: no ids to deduplicate */
	QueenPlaced *placed;		/* NULL: all are written, from first_offset on */
	QueenMessage *written;
	uint32		nwritten;
} QueenLane;

/* Lanes come in the order of their names and go in that of their ids. */
extern void queen_log_append(const QueenQueue *queue, QueenLane *lanes, int nlanes);
extern bool queen_log_try_lock(const QueenQueue *queue, text *name);

/* Where message n of a lane is after the append. */
static inline QueenPlaced
queen_lane_placed(const QueenLane *lane, uint32 n)
{
	QueenPlaced queued = {QUEEN_QUEUED, lane->first_offset + n, 0};

	return lane->placed ? lane->placed[n] : queued;
}

/* For who finds out what becomes of single messages: none is a duplicate yet. */
extern void queen_lane_place_each(QueenLane *lane);

/*
 * The same for the fusion worker, which waits for no lock: a lane is opened, or
 * it is told which lock somebody else has; then all that are open are appended
 * to.
 */
extern bool queen_log_want(const QueenQueue *queue, QueenLane *lane, int64 held_partition,
						   QueenWanted *wanted);
extern void queen_log_append_open(const QueenQueue *queue, QueenLane *lanes, int nlanes);

/* What to say of a message that was left out. */
extern char *queen_log_full_message(const QueenQueue *queue);
extern char *queen_log_full_detail(const QueenQueue *queue, const QueenLane *lane, int64 backlog);

/* The first half of it, for messages that come by the piece: locks all that is appended to. */
extern void queen_log_lock(const QueenQueue *queue, QueenLane *lanes, int nlanes);

#endif							/* QUEEN_LOG_H */
