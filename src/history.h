/*-------------------------------------------------------------------------
 *
 * history.h
 *	  Forgets what the histories need not tell any more.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_HISTORY_H
#define QUEEN_HISTORY_H

#include "maintain.h"

extern bool queen_history_step(QueenPass *pass, int64 *done);

#endif							/* QUEEN_HISTORY_H */
