/*-------------------------------------------------------------------------
 *
 * spool.h
 *	  Bytes put one behind the other, in memory and then in a temporary file.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_SPOOL_H
#define QUEEN_SPOOL_H

#include "storage/buffile.h"

typedef struct QueenSpool
{
	MemoryContext memory;		/* of all that the spool allocates */
	char	   *bytes;			/* the upper part */
	Size		used;
	Size		room;
	uint64		below;			/* how many lie below it, in the file */
	BufFile    *file;			/* NULL: none was needed yet */
	bool		broken;			/* a write was begun and never ended */
} QueenSpool;

extern void queen_spool_init(QueenSpool *spool, MemoryContext memory);
extern uint64 queen_spool_end(const QueenSpool *spool);
extern char *queen_spool_add(QueenSpool *spool, Size size);
extern void queen_spool_spill(QueenSpool *spool);
extern void queen_spool_close(QueenSpool *spool);

/* Forgets all from a place on; never throws. */
extern void queen_spool_cut(QueenSpool *spool, uint64 end);

/* Reading from the beginning what lies in the file. */
extern void queen_spool_rewind(QueenSpool *spool);
extern void queen_spool_read(QueenSpool *spool, void *data, Size size);

#endif							/* QUEEN_SPOOL_H */
