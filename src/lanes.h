/*-------------------------------------------------------------------------
 *
 * lanes.h
 *	  Appends messages that go to several partitions of a queue.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_LANES_H
#define QUEEN_LANES_H

#include "log.h"

/* A message and where it goes. */
typedef struct QueenItem
{
	QueenMessage message;
	text	   *partition;		/* NULL: none is named yet */
	TimestampTz deliver_at;		/* -infinity: at once */
	QueenPlaced placed;			/* where it went */
} QueenItem;

/*
 * Items of one partition keep their order; the pointers are sorted. Copies are
 * of messages that were pushed before.
 */
extern void queen_append_items(const QueenQueue *queue, QueenItem **sorted, uint32 count, bool copies);

#endif							/* QUEEN_LANES_H */
