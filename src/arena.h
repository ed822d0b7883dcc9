/*-------------------------------------------------------------------------
 *
 * arena.h
 *	  What the C library keeps of the memory that a session gave back.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_ARENA_H
#define QUEEN_ARENA_H

/* So many bytes of messages were read or written. */
extern void queen_arena_note(Size bytes);

#endif							/* QUEEN_ARENA_H */
