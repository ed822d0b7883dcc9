/*-------------------------------------------------------------------------
 *
 * letter.h
 *	  A dead letter as redrive and purge look at it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_LETTER_H
#define QUEEN_LETTER_H

#include "dead_letter_store.h"
#include "envelope.h"
#include "queue.h"

/*
 * Where it was pushed first, why it was given up, what it holds. In a queue that
 * a client library uses for its dead letters there is no group, and what a row
 * of ours would tell comes from the envelope.
 */
typedef struct QueenLetter
{
	int64		dead_letter_id; /* 0: a message of a client's queue */
	text	   *queue_name;
	text	   *partition_name;
	text	   *group_name;		/* NULL: none */
	int64		offset;
	text	   *transaction_id;
	QueenPayload body;
	Datum		headers;		/* jsonb; 0: none */
	const text *reason;			/* NULL: not said, as the others */
	const text *error;
	int32		failures;
	int32		deliveries;
	TimestampTz created_at;
	TimestampTz dead_at;		/* -infinity: not said */
	QueenEnvelope envelope;
} QueenLetter;

/* A dead letter of an id, and the name of its queue; NULL where the caller may not know of it. */
extern text *queen_letter_find(int64 dead_letter_id, QueenPrivilege privilege,
							   QueenDeadLetterRow *row);

extern void queen_letter_from_row(QueenLetter *letter, const QueenDeadLetterRow *row,
								  text *queue_name);
extern void queen_letter_from_message(QueenLetter *letter, const QueenMessage *message,
									  text *queue_name, const QueenPartition *partition,
									  int64 offset, TimestampTz created_at);

/* A time in milliseconds since 1970. */
extern int64 queen_letter_ms(TimestampTz time);

/* The message that goes back, not yet meant for any group. */
extern QueenMessage queen_letter_message(const QueenLetter *letter, bool bypass);

#endif							/* QUEEN_LETTER_H */
