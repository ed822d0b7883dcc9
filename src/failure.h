/*-------------------------------------------------------------------------
 *
 * failure.h
 *	  Gives up on a message.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_FAILURE_H
#define QUEEN_FAILURE_H

#include "lease.h"

/* Gives up on a message of a place; answers dead_letter, dropped or gone. */
extern const char *queen_bury(QueenPlace *place, int64 offset, const text *reason,
							  const text *error, int32 failures);

#endif							/* QUEEN_FAILURE_H */
