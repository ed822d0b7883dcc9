/*-------------------------------------------------------------------------
 *
 * payload.h
 *	  queen.payload, the type of every payload argument.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_PAYLOAD_H
#define QUEEN_PAYLOAD_H

#include "fmgr.h"

#include "frame.h"
#include "slice.h"

/* A payload argument taken apart, pointing into the argument. */
typedef struct QueenPayload
{
	QueenKind	kind;
	QueenSlice text;
} QueenPayload;

extern QueenPayload queen_payload_argument(FunctionCallInfo fcinfo, int number,
										   const char *what);

/* Whether a body is JSON; bytes may be that, too. */
extern bool queen_payload_is_json(QueenPayload payload);

/* A JSON string, its escapes resolved; NULL where the value is none. */
extern text *queen_json_string(QueenSlice value);
extern text *queen_json_string_or_null(QueenSlice value);

#endif							/* QUEEN_PAYLOAD_H */
