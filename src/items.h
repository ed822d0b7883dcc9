/*-------------------------------------------------------------------------
 *
 * items.h
 *	  Takes the items argument of queen.push_items apart.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_ITEMS_H
#define QUEEN_ITEMS_H

#include "utils/jsonb.h"

#include "frame.h"
#include "log.h"
#include "payload.h"

typedef struct QueenItem
{
	QueenMessage message;
	text	   *partition;		/* NULL: none is named */
	TimestampTz deliver_at;		/* -infinity: at once */
	QueenPlaced placed;			/* where it went */
} QueenItem;

extern QueenItem *queen_parse_items(QueenPayload argument, uint32 *count);

/* These serve queen.push too: item is the place in the array, or -1. */
extern void queen_check_transaction_id(size_t len, int64 item);
extern void queen_take_headers(QueenMessage *message, Jsonb *headers, int64 item);

#endif							/* QUEEN_ITEMS_H */
