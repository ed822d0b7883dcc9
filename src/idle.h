/*-------------------------------------------------------------------------
 *
 * idle.h
 *	  Removes partitions that are empty and have been idle for long.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_IDLE_H
#define QUEEN_IDLE_H

#include "maintain.h"

extern bool queen_idle_step(QueenPass *pass, int64 *done);

#endif							/* QUEEN_IDLE_H */
