/*-------------------------------------------------------------------------
 *
 * arena.c
 *	  What the C library keeps of the memory that a session gave back.
 *
 * A statement with a large batch takes some hundred kilobytes, for the server's
 * own copies of it, too, and gives all back at its end. From 128 kB on, glibc
 * returns what lies free at the top of its arena to the system, and gets it
 * again, page by page, in the next statement: up to a third of the processor time
 * of a batch of 1,000 messages. How much it keeps follows the largest block that was
 * ever given back: twice that. So a session that moves much gives back such a
 * block, which it never used. Where the environment of the server sets these
 * limits, or another library serves, nothing changes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/memutils.h"

#include "arena.h"

/* From so many bytes in one statement on it is worth it. */
#define LARGE_STATEMENT (64 * 1024)

/* Half of what a session then keeps at most. */
#define LARGEST_BLOCK (4 * 1024 * 1024)

void
queen_arena_note(Size bytes)
{
	static TimestampTz statement = 0;
	static Size total = 0;

	if (total >= LARGE_STATEMENT)
		return;
	if (statement != GetCurrentStatementStartTimestamp())
	{
		statement = GetCurrentStatementStartTimestamp();
		total = 0;
	}
	total += bytes;
	if (total >= LARGE_STATEMENT)
		pfree(MemoryContextAlloc(TopMemoryContext, LARGEST_BLOCK));
}
