/*-------------------------------------------------------------------------
 *
 * filter.h
 *	  Selects dead letters by a jsonpath.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_FILTER_H
#define QUEEN_FILTER_H

#include "fmgr.h"
#include "utils/jsonpath.h"

#include "letter.h"

typedef enum QueenSelected
{
	QUEEN_SELECTED,
	QUEEN_NOT_SELECTED,
	QUEEN_FILTER_FAILED			/* on this letter: not selected, either */
} QueenSelected;

/* The filter argument; NULL where it is the one that selects all. */
extern JsonPath *queen_filter_argument(FunctionCallInfo fcinfo, int number);

extern text *queen_filter_text(JsonPath *filter);
extern QueenSelected queen_filter(JsonPath *filter, const QueenLetter *letter);

#endif							/* QUEEN_FILTER_H */
