/*-------------------------------------------------------------------------
 *
 * search.c
 *	  Finds partitions that are ready, by the hints in shared memory.
 *
 * Entries are taken out of the group's list one by one, visited, and put back as
 * the visit says. What becomes ready during a call is left to the next one, so
 * that a call ends; the caller is told that there is some. Besides, each call
 * looks at that slice of the tables that is due (ready.c); where the group is
 * incomplete, at all of them until it has found enough, and each second call
 * begins there.
 *
 * What this transaction itself made poppable others do not know yet: that comes
 * from its own notes (touch.c), last.
 *
 * What is taken out or counts as looked at, and is not visited for an error, is
 * put back, or the group is forgotten.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "candidate_store.h"
#include "partition_store.h"
#include "search.h"
#include "touch.h"

#define FIRST_CHUNK		16
#define LARGEST_CHUNK	512

/* Visits a partition that is in the list no more, and puts it back; told is of before. */
static void
visit(QueenSearch *search, int64 partition_id, uint64 told)
{
	TimestampTz at = DT_NOEND;

	search->visiting = partition_id;
	switch (search->visit(search->context, partition_id, &at))
	{
		case QUEEN_VISIT_LEFT:
		case QUEEN_VISIT_LOCKED:
			search->put_back++;
			queen_ready_put(&search->key, partition_id, DT_NOBEGIN, told);
			break;
		case QUEEN_VISIT_LATER:
			queen_ready_put(&search->key, partition_id, at, told);
			break;
		case QUEEN_VISIT_TOOK:
		case QUEEN_VISIT_NOTHING:
			break;
	}
	search->visiting = 0;
}

/* What is ready by now is to be visited, and nothing later. */
static void
take_turn(QueenSearch *search)
{
	search->put_back = 0;
	search->turn = queen_ready_turn(&search->key, search->now);
}

/* Visits what was ready at the turn. */
static void
visit_listed(QueenSearch *search)
{
	int64		partition_id;
	uint64		told;

	while (search->goes_on(search->context) &&
		   queen_ready_take(&search->key, search->turn, &partition_id, &told))
	{
		CHECK_FOR_INTERRUPTS();
		visit(search, partition_id, told);
	}
}

/*
 * Enters what the tables have. Not what this transaction has taken: the tables
 * show it as nobody else sees it, and its end will tell.
 */
static void
enter(const QueenSearch *search, const QueenOutlook *found, uint64 told)
{
	if (!queen_touched_cursor(search->group->queue_id, search->group->group_id, found->partition_id))
		queen_ready_put(&search->key, found->partition_id,
						found->at <= search->now ? DT_NOBEGIN : found->at, told);
}

/* Asks the tables for partitions of a slice; answers how many. */
static int
ask(const QueenSearch *search, const QueenReadySlice *slice, QueenOutlook *found, int limit)
{
	QueenCandidateSearch candidates = {
		.queue_id = search->group->queue_id,
		.group_id = search->group->group_id,
		.now = search->now,
		.subscription_from = search->group->subscription_from,
		.delivery_delay = search->queue->delivery_delay
	};

	return queen_partition_outlook(&candidates, slice->after, slice->through, found, limit);
}

/* Enters what the tables have in a chunk of a slice; answers how far it looked. */
static int64
enter_chunk(QueenSearch *search, const QueenReadySlice *slice, int limit)
{
	QueenOutlook found[LARGEST_CHUNK];
	int			n = ask(search, slice, found, limit);

	for (int i = 0; i < n; i++)
		enter(search, &found[i], slice->told);
	return n == limit ? found[n - 1].partition_id : slice->through;
}

/* The next slice of the queue, if it has partitions at all. */
static bool
next_slice(QueenSearch *search, QueenReadySlice *slice)
{
	int64		first;
	int64		last;

	return queen_ready_wants_look(&search->key, search->now) &&
		queen_partition_range(search->group->queue_id, &first, &last) &&
		queen_ready_next_slice(&search->key, first, last, search->now, slice);
}

/* Looks at what is due of the tables of a complete group. */
static void
look_at_slice(QueenSearch *search, QueenReadySlice *slice)
{
	search->scanning = true;
	while (slice->after < slice->through)
	{
		CHECK_FOR_INTERRUPTS();
		slice->after = enter_chunk(search, slice, LARGEST_CHUNK);
	}
	search->scanning = false;
	take_turn(search);
	visit_listed(search);
}

/* Looks at the tables, chunk by chunk, until the call has enough or all is looked at. */
static void
look_on(QueenSearch *search, QueenReadySlice *slice)
{
	int			limit = FIRST_CHUNK;
	bool		again = slice->after > 0;	/* begins in the middle */

	for (;;)
	{
		int64		looked = enter_chunk(search, slice, limit);

		CHECK_FOR_INTERRUPTS();
		queen_ready_end_slice(&search->key, slice, looked, search->now);
		take_turn(search);
		visit_listed(search);
		if (!search->goes_on(search->context))
			return;
		if (looked == PG_INT64_MAX && !again)
			return;
		if (looked == PG_INT64_MAX)
			again = false;
		if (!next_slice(search, slice) || !slice->incomplete)
			return;
		limit = Min(limit * 2, LARGEST_CHUNK);
	}
}

/* Visits what the tables have, not the list; puts what it does not visit into it. */
static void
visit_tables(QueenSearch *search)
{
	QueenReadySlice slice;
	QueenOutlook found[FIRST_CHUNK];
	int			n;

	if (!next_slice(search, &slice) || !slice.incomplete)
		return;
	n = ask(search, &slice, found, FIRST_CHUNK);
	for (int i = 0; i < n; i++)
	{
		if (found[i].at <= search->now && search->goes_on(search->context))
			visit(search, found[i].partition_id, slice.told);
		else
			enter(search, &found[i], slice.told);
	}
	queen_ready_end_slice(&search->key, &slice,
						  n == FIRST_CHUNK ? found[n - 1].partition_id : slice.through,
						  search->now);
}

/*
 * Visits what this transaction has pushed, given back or left; nobody else knows
 * of it yet, so it does not go into the list. It begins where the last search
 * ended: these partitions, too, take turns.
 */
static void
visit_own(QueenSearch *search)
{
	static int	turn = 0;
	int			count = queen_touched_count();
	int			first = turn;
	TimestampTz at;

	for (int i = 0; i < count && search->goes_on(search->context); i++)
	{
		int			number = (first + i) % count;
		int64		partition_id = queen_touched_partition(number, search->group->queue_id,
														   search->group->group_id, search->now);

		CHECK_FOR_INTERRUPTS();
		if (partition_id == 0)
			continue;
		search->visit(search->context, partition_id, &at);
		turn = number + 1;
	}
}

/* The list, then what is due of the tables. */
static void
search_shared(QueenSearch *search)
{
	QueenReadySlice slice;

	take_turn(search);
	if (queen_ready_tables_first(&search->key))
		visit_tables(search);
	visit_listed(search);
	if (!next_slice(search, &slice))
		return;
	if (!slice.incomplete)
		look_at_slice(search, &slice);
	else if (search->goes_on(search->context))
		look_on(search, &slice);
}

/* After an error. */
static void
give_back(QueenSearch *search)
{
	if (search->visiting != 0)
		queen_ready_put(&search->key, search->visiting, DT_NOBEGIN, 0);
	if (search->scanning)
		queen_ready_forget_group(&search->key);
}

/* Searches; false where shared memory knows nothing of the group. */
bool
queen_search(QueenSearch *search)
{
	search->key.queue_id = search->group->queue_id;
	search->key.group_id = search->group->group_id;
	if (!queen_touched_all_noted(search->group->queue_id, search->group->group_id) ||
		!queen_ready_open(&search->key))
		return false;
	PG_TRY();
	{
		search_shared(search);
		visit_own(search);
		search->overtaken = search->goes_on(search->context) &&
			queen_ready_since(&search->key, search->turn + search->put_back);
	}
	PG_CATCH();
	{
		give_back(search);
		PG_RE_THROW();
	}
	PG_END_TRY();
	return true;
}
