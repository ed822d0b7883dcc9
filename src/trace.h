/*-------------------------------------------------------------------------
 *
 * trace.h
 *	  The headers by which a message that was sent back tells where it was.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_TRACE_H
#define QUEEN_TRACE_H

#include "datatype/timestamp.h"

#include "frame.h"

/* Where a message was pushed. */
typedef struct QueenOrigin
{
	const text *queue_name;
	int64		offset;
	TimestampTz created_at;
	int64		dead_letter_id; /* as which it was known; 0: as none of ours */
} QueenOrigin;

/* Headers (0: none) of a message that is sent back. */
extern Datum queen_trace_add(Datum headers, const QueenOrigin *origin, bool bypass);

/* Headers of a message that is copied otherwise, without what only a redrive means. */
extern Datum queen_trace_remove(Datum headers);

/* When a message was pushed first. */
extern TimestampTz queen_trace_first_created_at(const QueenMessage *message,
												TimestampTz created_at);

#endif							/* QUEEN_TRACE_H */
