/*-------------------------------------------------------------------------
 *
 * soon.h
 *	  Tells the launcher of what it would learn too late at its next visit.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_SOON_H
#define QUEEN_SOON_H

#include "datatype/timestamp.h"

/* By these it is told: something is due soon; look at all databases, from the start. */
#define QUEEN_DUE_SIGNAL SIGINT
#define QUEEN_LOOK_SIGNAL SIGUSR2

/* A message of this transaction is due at a time. */
extern void queen_due_at(TimestampTz at);

/* A prepared transaction has ended, which may have brought what is due soon. */
extern void queen_due_perhaps(void);

/* Shared memory: whether there were such transactions. */
extern Size queen_soon_size(void);
extern void queen_soon_init(void);

/* This transaction changes what a visit to a database would find. */
extern void queen_look_again(void);

#endif							/* QUEEN_SOON_H */
