/*-------------------------------------------------------------------------
 *
 * dead_letter_store.h
 *	  All SQL on queen.dead_letter and queen.dead_letter_log.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_DEAD_LETTER_STORE_H
#define QUEEN_DEAD_LETTER_STORE_H

#include "frame.h"
#include "group_store.h"
#include "partition_store.h"
#include "utils/jsonb.h"

/* A message that a group gives up on, and why. */
typedef struct QueenDeadLetter
{
	const QueenPartition *partition;
	const QueenGroup *group;
	int64		offset;
	const QueenMessage *message;
	TimestampTz created_at;
	TimestampTz first_created_at;	/* before it was ever sent back */
	const text *reason;
	const text *error;			/* NULL: none */
	int32		failures;
	int32		deliveries;
} QueenDeadLetter;

/* A row of the table; body and headers are as stored until somebody reads them. */
typedef struct QueenDeadLetterRow
{
	int64		dead_letter_id;
	int32		queue_id;
	text	   *partition_name;
	text	   *group_name;
	int64		offset;
	text	   *transaction_id;
	Datum		body;
	bool		is_json;		/* else the body is bytes */
	Datum		headers;		/* jsonb; 0: none */
	text	   *reason;
	text	   *error;			/* NULL: none */
	int32		failures;
	int32		deliveries;
	TimestampTz created_at;
	TimestampTz dead_at;
} QueenDeadLetterRow;

/* What was done to dead letters of a queue. */
typedef struct QueenDeadLetterAction
{
	int64		log_id;			/* 0: not yet noted */
	int32		queue_id;
	const char *action;
	Jsonb	   *arguments;
	int64		done;
	int64		skipped;
} QueenDeadLetterAction;

extern void queen_dead_letter_insert(const QueenDeadLetter *letter);
extern bool queen_dead_letter_after(int32 queue_id, int64 after, QueenDeadLetterRow *letter);
extern bool queen_dead_letter_by_id(int64 dead_letter_id, QueenDeadLetterRow *letter);
extern int64 queen_dead_letter_last(int32 queue_id);
extern bool queen_dead_letter_take(int64 dead_letter_id);
extern int64 queen_dead_letter_forget(int64 *oldest, TimestampTz before, int limit);
extern void queen_dead_letter_note(QueenDeadLetterAction *action, Oid done_by);

#endif							/* QUEEN_DEAD_LETTER_STORE_H */
