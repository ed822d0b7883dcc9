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
#include "log_store.h"
#include "queue_store.h"

/* What one call appends to one partition. */
typedef struct QueenLane
{
	text	   *name;			/* of the partition */
	QueenMessage *messages;
	uint32		count;

	/* From here on the append's own. */
	QueenPartition partition;
	bool		made;			/* by this call */
	bool		locked;			/* by this call, to be given back */
	bool		empty;			/* no segment is kept; the row is to be told */
	int64		first_offset;	/* of the messages */
	TimestampTz created_at;
} QueenLane;

/* Lanes come in the order of their names and go in that of their ids. */
extern void queen_log_append(const QueenQueue *queue, QueenLane *lanes, int nlanes);

/* The first half of it, for messages that come by the piece: locks all that is appended to. */
extern void queen_log_lock(const QueenQueue *queue, QueenLane *lanes, int nlanes);

#endif							/* QUEEN_LOG_H */
