/*-------------------------------------------------------------------------
 *
 * envelope.h
 *	  The envelope that client libraries put around a message.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_ENVELOPE_H
#define QUEEN_ENVELOPE_H

#include "lib/stringinfo.h"

#include "payload.h"

/* What an envelope says. Strings are NULL where it does not say it. */
typedef struct QueenEnvelope
{
	bool		valid;			/* false: the body is none */
	bool		known;			/* of the version that we know */
	text	   *id;				/* meta.id */
	text	   *queue;			/* meta.queue */
	text	   *urn;
	text	   *trace_id;
	/* of its dead_letter block */
	text	   *reason;
	text	   *error;
	text	   *original_queue;
	int64		failed_at;		/* ms since 1970; 0: not said */
	int32		attempts;
} QueenEnvelope;

extern void queen_envelope_read(QueenPayload body, QueenEnvelope *envelope);

/* These two want the body of an envelope of the known version. */
extern void queen_envelope_reset(QueenSlice body, StringInfo result);
extern void queen_envelope_bury(QueenSlice body, const char *block, StringInfo result);

#endif							/* QUEEN_ENVELOPE_H */
