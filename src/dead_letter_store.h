/*-------------------------------------------------------------------------
 *
 * dead_letter_store.h
 *	  All SQL on queen.dead_letter.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_DEAD_LETTER_STORE_H
#define QUEEN_DEAD_LETTER_STORE_H

#include "frame.h"
#include "group_store.h"
#include "log_store.h"

/* A message that a group gives up on, and why. */
typedef struct QueenDeadLetter
{
	const QueenPartition *partition;
	const QueenGroup *group;
	int64		offset;
	const QueenMessage *message;
	TimestampTz created_at;
	const text *reason;
	const text *error;			/* NULL: none */
	int32		failures;
	int32		deliveries;
} QueenDeadLetter;

extern void queen_dead_letter_insert(const QueenDeadLetter *letter);

#endif							/* QUEEN_DEAD_LETTER_STORE_H */
