/*-------------------------------------------------------------------------
 *
 * ready_slots.h
 *	  The shared memory of ready.c: who has which part of it, and the rings.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_READY_SLOTS_H
#define QUEEN_READY_SLOTS_H

#include "ready.h"
#include "ready_list.h"

extern bool queen_ready_lock(const QueenReadyKey *key, QueenReadyPlace *place);
extern void queen_ready_unlock(const QueenReadyPlace *place);
extern void queen_ready_read_ring(QueenReadyPlace *place);

#endif							/* QUEEN_READY_SLOTS_H */
