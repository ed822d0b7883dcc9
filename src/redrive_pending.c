/*-------------------------------------------------------------------------
 *
 * redrive_pending.c
 *	  Where the group "redrive" stands in the partitions of a client's queue.
 *
 * A chunk may hold letters of several partitions. The cursor of each is written
 * with the chunk that holds its last letter, and forgotten.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "cursor_store.h"
#include "redrive_step.h"

/* Begins the next partition; its memory is that of what is read of it. */
QueenPending *
queen_pending_begin(QueenRedriveStep *step)
{
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "queen partition of redrive",
												 ALLOCSET_SMALL_SIZES);
	QueenPending *pending = MemoryContextAllocZero(memory, sizeof(QueenPending));

	pending->memory = memory;
	pending->room = 8;
	pending->done = MemoryContextAlloc(memory, sizeof(QueenSpan) * pending->room);
	pending->next = step->pending;
	step->pending = pending;

	return pending;
}

/* Remembers that an offset is done. */
void
queen_pending_add(QueenPending *pending, int64 offset)
{
	if (pending->ndone > 0 && pending->done[pending->ndone - 1].last == offset - 1)
	{
		pending->done[pending->ndone - 1].last = offset;
		return;
	}
	if (pending->ndone == pending->room)
	{
		pending->room *= 2;
		pending->done = repalloc_huge(pending->done, sizeof(QueenSpan) * pending->room);
	}
	pending->done[pending->ndone].first = offset;
	pending->done[pending->ndone++].last = offset;
}

/*
 * Makes what was sent back done for the group. A lease that has expired ends
 * with it: its holder must learn that its messages went elsewhere.
 */
static void
write_cursor(QueenPending *pending)
{
	QueenCursor *cursor = &pending->cursor;
	TimestampTz now = GetCurrentTimestamp();

	queen_cursor_complete(cursor, pending->done, pending->ndone);
	if (cursor->lease_nonce != 0 &&
		(cursor->lease_until <= now || queen_cursor_head(cursor) > cursor->lease_end))
		queen_cursor_end_lease(cursor);
	queen_cursor_write(cursor, now);
}

/* Writes and forgets all partitions that have been walked to their end. */
void
queen_pending_write(QueenRedriveStep *step)
{
	QueenPending **link = &step->pending;

	while (*link)
	{
		QueenPending *pending = *link;
		MemoryContext caller;

		if (!pending->walked)
		{
			link = &pending->next;
			continue;
		}
		*link = pending->next;
		caller = MemoryContextSwitchTo(pending->memory);
		if (pending->ndone > 0)
			write_cursor(pending);
		MemoryContextSwitchTo(caller);
		MemoryContextDelete(pending->memory);
	}
}
