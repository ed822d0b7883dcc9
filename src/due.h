/*-------------------------------------------------------------------------
 *
 * due.h
 *	  Steps of maintenance: delayed messages that are due, remembered ids that
 *	  are old.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_DUE_H
#define QUEEN_DUE_H

#include "maintain.h"

extern bool queen_due_step(QueenPass *pass, int64 *done);
extern bool queen_ids_step(QueenPass *pass, int64 *done);

#endif							/* QUEEN_DUE_H */
