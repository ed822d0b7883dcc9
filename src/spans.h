/*-------------------------------------------------------------------------
 *
 * spans.h
 *	  Spans of offsets as an int8multirange, and back.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_SPANS_H
#define QUEEN_SPANS_H

#include "cursor.h"

extern Datum queen_spans_encode(const QueenSpan *spans, int count);
extern QueenSpan *queen_spans_decode(Datum value, int *count);

#endif							/* QUEEN_SPANS_H */
