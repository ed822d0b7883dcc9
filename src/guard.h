/*-------------------------------------------------------------------------
 *
 * guard.h
 *	  Runs what stored data may make fail.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_GUARD_H
#define QUEEN_GUARD_H

/* Runs work(argument); false where the data made it raise an error. */
extern bool queen_guard(void (*work) (void *argument), void *argument);

#endif							/* QUEEN_GUARD_H */
