/*-------------------------------------------------------------------------
 *
 * shmem.h
 *	  Queen's shared memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_SHMEM_H
#define QUEEN_SHMEM_H

/* Called by _PG_init: asks for the memory while the server preloads. */
extern void queen_shmem_define(void);

/* Whether the memory is there. */
extern bool queen_preloaded(void);

/* Raises 55000 where it is not; what is what cannot be done then. */
extern void queen_require_preloaded(const char *what);

#endif							/* QUEEN_SHMEM_H */
