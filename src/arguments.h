/*-------------------------------------------------------------------------
 *
 * arguments.h
 *	  Array arguments of leases, offsets and words.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_ARGUMENTS_H
#define QUEEN_ARGUMENTS_H

#include "fmgr.h"

#include "lease.h"

extern QueenLease *queen_leases_argument(FunctionCallInfo fcinfo, int number,
										 const char *what, int *count);
extern char **queen_texts_argument(FunctionCallInfo fcinfo, int number,
								   const char *what, int *count);
extern QueenSpan *queen_offsets_argument(FunctionCallInfo fcinfo, int number,
										 const char *what, int *count);

#endif							/* QUEEN_ARGUMENTS_H */
