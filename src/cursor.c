/*-------------------------------------------------------------------------
 *
 * cursor.c
 *	  The rules by which a cursor moves: arithmetic only, no SQL, no locks.
 *
 * Arrays are in the current memory context and are replaced, never grown in
 * place, so a cursor may be copied by value.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "cursor.h"

/* Where an offset was done ahead of the head. */
bool
queen_cursor_is_acked(const QueenCursor *cursor, int64 offset)
{
	int			low = 0;
	int			high = cursor->nacked;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (cursor->acked[middle].last < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < cursor->nacked && cursor->acked[low].first <= offset;
}

/* How many of some offsets are not done yet. */
int64
queen_cursor_unfinished(const QueenCursor *cursor, int64 first, int64 last)
{
	int64		count;

	first = Max(first, queen_cursor_head(cursor));
	if (first > last)
		return 0;
	count = last - first + 1;
	for (int i = 0; i < cursor->nacked; i++)
	{
		int64		from = Max(first, cursor->acked[i].first);
		int64		to = Min(last, cursor->acked[i].last);

		if (from <= to)
			count -= to - from + 1;
	}
	return count;
}

static int
compare_spans(const void *a, const void *b)
{
	const QueenSpan *left = a;
	const QueenSpan *right = b;

	return left->first < right->first ? -1 : left->first > right->first;
}

/* Sorts spans and joins those that overlap or touch; answers how many remain. */
static int
join_spans(QueenSpan *spans, int n)
{
	int			kept = 0;

	qsort(spans, n, sizeof(QueenSpan), compare_spans);
	for (int i = 1; i < n; i++)
	{
		if (spans[i].first <= spans[kept].last + 1)
			spans[kept].last = Max(spans[kept].last, spans[i].last);
		else
			spans[++kept] = spans[i];
	}
	return n > 0 ? kept + 1 : 0;
}

/* Forgets the deliveries of what is done. */
static void
drop_passed_steps(QueenCursor *cursor)
{
	int			passed = 0;

	while (passed < cursor->nsteps && cursor->steps[passed].up_to <= cursor->committed)
		passed++;
	cursor->steps += passed;
	cursor->nsteps -= passed;
}

/*
 * Moves committed over what was done ahead. A head that is done leaves neither
 * failures nor back-off to the next one.
 */
static void
advance(QueenCursor *cursor, int64 committed)
{
	int			passed = 0;

	while (passed < cursor->nacked && cursor->acked[passed].first <= committed + 1)
	{
		committed = Max(committed, cursor->acked[passed].last);
		passed++;
	}
	cursor->acked += passed;
	cursor->nacked -= passed;
	if (committed == cursor->committed)
		return;
	cursor->committed = committed;
	cursor->failures = 0;
	cursor->not_before = DT_NOBEGIN;
	drop_passed_steps(cursor);
}

/* Marks spans done, in any order; answers how many offsets that completed. */
int64
queen_cursor_complete(QueenCursor *cursor, QueenSpan *spans, int nspans)
{
	int64		done = cursor->committed + queen_cursor_done_ahead(cursor);
	QueenSpan  *all;

	nspans = join_spans(spans, nspans);
	all = palloc_extended(sizeof(QueenSpan) * (cursor->nacked + nspans + 1), MCXT_ALLOC_HUGE);
	if (cursor->nacked > 0)
		memcpy(all, cursor->acked, sizeof(QueenSpan) * cursor->nacked);
	if (nspans > 0)
		memcpy(all + cursor->nacked, spans, sizeof(QueenSpan) * nspans);
	cursor->nacked = join_spans(all, cursor->nacked + nspans);
	cursor->acked = all;
	advance(cursor, cursor->committed);

	return cursor->committed + queen_cursor_done_ahead(cursor) - done;
}

/* The same for one span. */
int64
queen_cursor_complete_span(QueenCursor *cursor, int64 first, int64 last)
{
	QueenSpan	span = {first, last};

	return queen_cursor_complete(cursor, &span, 1);
}

/* How often an offset was delivered to the group. */
int32
queen_cursor_deliveries(const QueenCursor *cursor, int64 offset)
{
	for (int i = 0; i < cursor->nsteps; i++)
	{
		if (offset <= cursor->steps[i].up_to)
			return cursor->steps[i].count;
	}
	return 0;
}

/* Adds a step unless it would be empty, or joins it to an equal one before it. */
static void
add_step(QueenCursor *cursor, int64 up_to, int32 count)
{
	QueenStep  *last = cursor->nsteps > 0 ? &cursor->steps[cursor->nsteps - 1] : NULL;

	if (last && last->up_to >= up_to)
		return;
	if (last && last->count == count)
		last->up_to = up_to;
	else
	{
		cursor->steps[cursor->nsteps].up_to = up_to;
		cursor->steps[cursor->nsteps++].count = count;
	}
}

/* Counts one more delivery of all from the head through an offset. */
void
queen_cursor_count_delivery(QueenCursor *cursor, int64 through)
{
	QueenStep  *old = cursor->steps;
	int			nold = cursor->nsteps;

	cursor->steps = palloc(sizeof(QueenStep) * (nold + 2));
	cursor->nsteps = 0;
	for (int i = 0; i < nold; i++)
	{
		add_step(cursor, Min(old[i].up_to, through),
				 old[i].count < PG_INT32_MAX ? old[i].count + 1 : PG_INT32_MAX);
		if (old[i].up_to > through)
			add_step(cursor, old[i].up_to, old[i].count);
	}
	add_step(cursor, through, 1);
}

/* Passes over what was removed from the log. */
void
queen_cursor_pass_removed(QueenCursor *cursor, int64 log_start)
{
	if (queen_cursor_head(cursor) < log_start)
		advance(cursor, log_start - 1);
}

/* Leases all from the head through an offset. */
void
queen_cursor_start_lease(QueenCursor *cursor, int64 nonce, int64 last,
						 TimestampTz until)
{
	cursor->lease_nonce = nonce;
	cursor->lease_start = queen_cursor_head(cursor);
	cursor->lease_end = last;
	cursor->lease_until = until;
}

/* Ends a lease that was not completed; its holder is refused from now on. */
void
queen_cursor_end_lease(QueenCursor *cursor)
{
	cursor->lease_nonce = 0;
	cursor->lease_start = 0;
	cursor->lease_end = 0;
	cursor->lease_until = DT_NOBEGIN;
}

/* Ends a lease that was completed, and remembers it among the last four. */
void
queen_cursor_finish_lease(QueenCursor *cursor)
{
	memmove(cursor->recent + 1, cursor->recent,
			sizeof(int64) * (QUEEN_RECENT_LEASES - 1));
	cursor->recent[0] = cursor->lease_nonce;
	cursor->nrecent = Min(cursor->nrecent + 1, QUEEN_RECENT_LEASES);
	queen_cursor_end_lease(cursor);
}

/* Puts a cursor somewhere: no lease of before is good, nothing is remembered. */
void
queen_cursor_seek(QueenCursor *cursor, int64 committed, QueenSpan *acked, int nacked)
{
	queen_cursor_end_lease(cursor);
	cursor->committed = committed;
	cursor->nrecent = 0;
	cursor->acked = acked;
	cursor->nacked = nacked;
	cursor->nsteps = 0;
	cursor->failures = 0;
	cursor->not_before = DT_NOBEGIN;
}

/* How many offsets are done beyond committed. */
int64
queen_cursor_done_ahead(const QueenCursor *cursor)
{
	int64		count = 0;

	for (int i = 0; i < cursor->nacked; i++)
		count += cursor->acked[i].last - cursor->acked[i].first + 1;
	return count;
}

/* Whether a cursor is as a seek left it: nothing was delivered since. */
bool
queen_cursor_stands_at(const QueenCursor *cursor, int64 committed)
{
	return cursor->committed == committed && cursor->lease_nonce == 0 &&
		cursor->nacked == 0 && cursor->nsteps == 0 && cursor->failures == 0;
}

/* Whether a lease is one of the last four completed ones. */
bool
queen_cursor_finished(const QueenCursor *cursor, int64 nonce)
{
	for (int i = 0; i < cursor->nrecent; i++)
	{
		if (cursor->recent[i] == nonce)
			return true;
	}
	return false;
}
