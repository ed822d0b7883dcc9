/*-------------------------------------------------------------------------
 *
 * deferred.h
 *	  Messages that a transaction keeps until it commits.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_DEFERRED_H
#define QUEEN_DEFERRED_H

#include "frame.h"
#include "queue_store.h"
#include "spool.h"
#include "utils/hsearch.h"

/* A partition that messages are kept for, by its names. */
typedef struct QueenDeferredLane
{
	int32		queue_id;
	text	   *queue_name;
	text	   *name;
	uint64		count;			/* of messages; known while they are appended */
} QueenDeferredLane;

/* What the kept messages were when a subtransaction kept its first. */
typedef struct QueenDeferredMark
{
	SubTransactionId subtransaction;
	uint64		end;
	uint64		records;
	uint32		nlanes;
} QueenDeferredMark;

/* In the spool: a message's lengths and lane, then its id, headers and payload. */
typedef struct QueenDeferredRecord
{
	uint32		lane;
	uint32		payload_len;
	uint32		headers_len;
	uint16		transaction_id_len;
	uint16		kind;
} QueenDeferredRecord;

/* All that a transaction keeps. */
typedef struct QueenDeferred
{
	MemoryContext memory;
	Oid			schema;			/* of the extension that the queues are of */
	QueenSpool	spool;			/* records in the order of calls */
	uint64		records;
	uint64		records_below;	/* of them in the file */
	QueenDeferredLane **lanes;
	uint32		nlanes;
	uint32		lane_room;
	HTAB	   *lane_numbers;
	QueenDeferredMark *marks;	/* innermost subtransaction last */
	int			nmarks;
	int			mark_room;
} QueenDeferred;

/* Keeps a message; the queue is open, and locked by this transaction. */
extern void queen_deferred_add(const QueenQueue *queue, const text *partition,
							   const QueenMessage *message);

/* Appends all messages; deferred_append.c. */
extern void queen_deferred_append(QueenDeferred *deferred);

/* Where the bytes of a record are, and how many. */
extern Size queen_deferred_size(const QueenDeferredRecord *record);
extern QueenMessage queen_deferred_message(const QueenDeferredRecord *record, const char *bytes);

#endif							/* QUEEN_DEFERRED_H */
