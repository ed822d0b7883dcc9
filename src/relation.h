/*-------------------------------------------------------------------------
 *
 * relation.h
 *	  Finds and locks the tables and indexes of schema queen.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_RELATION_H
#define QUEEN_RELATION_H

#include "storage/lockdefs.h"

/* The id of a relation; the name must be a literal. Raises an error where there is none. */
extern Oid	queen_find_relation(const char *name);

/* The same, locked to the end of the transaction. */
extern Oid	queen_lock_relation(const char *name, LOCKMODE mode);

#endif							/* QUEEN_RELATION_H */
