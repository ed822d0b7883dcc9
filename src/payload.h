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
	QueenSlice	text;
} QueenPayload;

extern QueenPayload queen_payload_argument(FunctionCallInfo fcinfo, int number,
										   const char *what);

#endif							/* QUEEN_PAYLOAD_H */
