/*-------------------------------------------------------------------------
 *
 * soon.h
 *	  Tells the launcher of work that will be due before its next visit.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_SOON_H
#define QUEEN_SOON_H

#include "datatype/timestamp.h"

/* The signal by which the launcher is told that something is due soon. */
#define QUEEN_DUE_SIGNAL SIGINT

/* A message of this transaction is due at a time. */
extern void queen_due_at(TimestampTz at);

#endif							/* QUEEN_SOON_H */
