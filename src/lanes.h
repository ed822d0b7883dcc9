/*-------------------------------------------------------------------------
 *
 * lanes.h
 *	  Appends messages that go to several partitions of a queue.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_LANES_H
#define QUEEN_LANES_H

#include "frame.h"
#include "queue_store.h"

/* A message and where it goes. */
typedef struct QueenItem
{
	QueenMessage message;
	text	   *partition;		/* NULL: none is named yet */
	int64		offset;			/* where it went */
} QueenItem;

/* Items of one partition keep their order. */
extern void queen_append_items(const QueenQueue *queue, QueenItem *items, uint32 count);

#endif							/* QUEEN_LANES_H */
