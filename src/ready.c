/*-------------------------------------------------------------------------
 *
 * ready.c
 *	  Which partitions have something for a group: hints in shared memory.
 *
 * A queue has a ring into which commits write the partitions that they appended
 * to; each of its groups reads it at its own pace, into a list of its own. An
 * entry of the list is a partition that is ready, in the order in which they
 * became it, or one that will be at a time: leased, or held back. Whoever pops
 * takes the oldest entry out, looks at the partition, and puts back what it
 * found; what it took is put back by the end of its transaction (touch.c). An
 * entry is taken out before the tables are read, so what commits after that read
 * is entered after it. Who saw a lease in the tables enters it only where nobody has
 * told anything since: it may be over, and what comes after it would stay unseen.
 *
 * All of it may be wrong by excess. It is complete when, besides, nothing can
 * be missing: a group begins incomplete, and becomes it again where its ring or
 * its list overflowed, or where nobody knows (a prepared transaction has ended).
 * Then pops look at the tables too, each going on where the last one stopped,
 * until one has come through all of them with nothing lost meanwhile. Complete
 * or not, all partitions are looked at once in queen.reconcile_interval, a slice
 * by each pop, by the time that has passed.
 *
 * What is left for later may be dropped from a full list without a loss: the
 * group is incomplete from the time of the first such entry on.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "ready.h"
#include "ready_list.h"
#include "ready_slots.h"
#include "settings.h"

/* Into so many slices a look at all partitions is cut, at most. */
#define SLICES 100

/* ------------------------------------------------------------------------
 * For whoever pops
 * ------------------------------------------------------------------------ */

/*
 * Reads the ring. What becomes ready after this has the answer as turn, or a
 * later one.
 */
uint64
queen_ready_turn(const QueenReadyKey *key, TimestampTz now)
{
	QueenReadyPlace place;
	uint64		turn = 0;

	if (!queen_ready_lock(key, &place))
		return 0;
	queen_ready_read_ring(&place);
	queen_list_follow_time(&place, now);
	turn = place.group->turn;
	queen_ready_unlock(&place);
	return turn;
}

/* Takes the oldest ready partition out whose turn is before one, and notes what was told. */
bool
queen_ready_take(const QueenReadyKey *key, uint64 before, int64 *partition_id, uint64 *told)
{
	QueenReadyPlace place;
	int			i;
	bool		found;

	if (!queen_ready_lock(key, &place))
		return false;
	i = place.group->oldest;
	found = i != QUEEN_READY_NONE && place.entries[i].turn < before;
	if (found)
	{
		*partition_id = place.entries[i].partition_id;
		*told = place.group->told;
		queen_list_remove(&place, i);
	}
	queen_ready_unlock(&place);
	return found;
}

/* Puts a partition in as it was seen: ready, or ready at a time. Told is of before the look. */
void
queen_ready_put(const QueenReadyKey *key, int64 partition_id, TimestampTz at, uint64 told)
{
	QueenReadyPlace place;

	if (!queen_ready_lock(key, &place))
		return;
	if (at == DT_NOBEGIN)
		queen_list_set_ready(&place, partition_id);
	else
		queen_list_set_seen(&place, partition_id, at, told == place.group->told);
	queen_ready_unlock(&place);
}

/* Whether more became ready than turns up to this one, and something is. */
bool
queen_ready_since(const QueenReadyKey *key, uint64 turn)
{
	QueenReadyPlace place;
	bool		since;

	if (!queen_ready_lock(key, &place))
		return false;
	since = place.group->turn > turn && place.group->oldest != QUEEN_READY_NONE;
	queen_ready_unlock(&place);
	return since;
}

/* Whether any partition is ready just now. */
bool
queen_ready_any(const QueenReadyKey *key)
{
	QueenReadyPlace place;
	bool		any;

	if (!queen_ready_lock(key, &place))
		return true;
	any = place.group->oldest != QUEEN_READY_NONE || !place.group->complete;
	queen_ready_unlock(&place);
	return any;
}

/* When time alone makes something ready. */
TimestampTz
queen_ready_soonest(const QueenReadyKey *key)
{
	QueenReadyPlace place;
	TimestampTz at = DT_NOEND;

	if (!queen_ready_lock(key, &place))
		return at;
	if (place.group->nlater > 0)
		at = place.entries[place.heap[0]].at;
	at = Min(at, place.group->unlisted_at);
	queen_ready_unlock(&place);
	return at;
}

/* ------------------------------------------------------------------------
 * Looks at the tables
 * ------------------------------------------------------------------------ */

/* Whether it is time to look at some of the tables. */
bool
queen_ready_wants_look(const QueenReadyKey *key, TimestampTz now)
{
	QueenReadyPlace place;
	bool		answer;

	if (!queen_ready_lock(key, &place))
		return false;
	answer = !place.group->complete ||
		now - place.group->sliced_at > queen_reconcile_interval * INT64CONST(1000) / SLICES;
	queen_ready_unlock(&place);
	return answer;
}

/* How far a round should have come by now. */
static int64
due_by_now(const QueenReadyGroup *group, int64 first, int64 last, TimestampTz now)
{
	double		passed = (double) (now - group->round_began) / (queen_reconcile_interval * 1000.0);

	if (passed >= 1)
		return PG_INT64_MAX;
	return first + (int64) ((double) (last - first) * Max(passed, 0));
}

/*
 * What to look at: where the group is incomplete all from where the last look
 * ended, else what the time asks for, which then counts as looked at. False
 * where that is nothing. An incomplete group says so, and whether it is the turn
 * of what the tables have, before what the list has: each second call, so that
 * neither waits for the other's end.
 */
bool
queen_ready_next_slice(const QueenReadyKey *key, int64 first, int64 last, TimestampTz now,
					   QueenReadySlice *slice)
{
	QueenReadyPlace place;
	QueenReadyGroup *group;

	memset(slice, 0, sizeof(QueenReadySlice));
	if (!queen_ready_lock(key, &place))
		return false;
	group = place.group;
	slice->incomplete = !group->complete;
	slice->told = group->told;
	slice->generation = group->generation;
	slice->after = group->looked;
	slice->through = PG_INT64_MAX;
	if (group->complete)
	{
		slice->through = due_by_now(group, first, last, now);
		group->looked = Max(group->looked, slice->through);
		group->sliced_at = now;
		if (slice->through == PG_INT64_MAX)
		{
			group->looked = 0;
			group->round_began = now;
		}
	}
	queen_ready_unlock(&place);
	return slice->after < slice->through;
}

/* A call begins; true where it is the turn of the tables, see above. */
bool
queen_ready_tables_first(const QueenReadyKey *key)
{
	QueenReadyPlace place;
	bool		answer;

	if (!queen_ready_lock(key, &place))
		return false;
	answer = !place.group->complete && place.group->calls++ % 2 == 1;
	queen_ready_unlock(&place);
	return answer;
}

/*
 * A slice of an incomplete group was looked at through a partition, or to the
 * end. Nobody else may have gone on in between, and the group is complete where
 * nothing was lost since the round began.
 */
void
queen_ready_end_slice(const QueenReadyKey *key, const QueenReadySlice *slice, int64 looked,
					  TimestampTz now)
{
	QueenReadyPlace place;
	QueenReadyGroup *group;

	if (!queen_ready_lock(key, &place))
		return;
	group = place.group;
	if (!group->complete && group->looked == slice->after)
	{
		group->clean = group->clean && group->generation == slice->generation;
		group->looked = looked;
		if (looked == PG_INT64_MAX)
		{
			group->looked = 0;
			group->complete = group->clean;
			group->clean = true;
			group->round_began = group->sliced_at = now;
		}
	}
	queen_ready_unlock(&place);
}

/* ------------------------------------------------------------------------
 * For whoever ends a transaction
 * ------------------------------------------------------------------------ */

/*
 * A lease is over, all that it held is done: whether something comes after it.
 * That is taken as likely where there is no entry, if so told.
 */
static bool
end_lease(QueenReadyPlace *place, int64 partition_id, bool likely)
{
	int			i = queen_list_find(place, partition_id);

	if (i == QUEEN_READY_NONE && !likely)
		return false;
	if (i != QUEEN_READY_NONE && place->entries[i].state == QUEEN_READY_LATER && !place->entries[i].more)
	{
		queen_list_remove(place, i);
		return false;
	}
	queen_list_set_ready(place, partition_id);
	return true;
}

/* A lease was renewed, or done in part: what comes after it stays as it is known. */
static bool
knows_more(const QueenReadyPlace *place, int64 partition_id)
{
	int			i = queen_list_find(place, partition_id);

	return i == QUEEN_READY_NONE || place->entries[i].state != QUEEN_READY_LATER || place->entries[i].more;
}

/*
 * A lease was taken or goes on, or a message is put off. Where others made the
 * partition ready before this was told, they may know more: a look finds out.
 */
static void
leave_for_later(QueenReadyPlace *place, int64 partition_id, QueenLeft left, TimestampTz at)
{
	int			i = queen_list_find(place, partition_id);

	if (i != QUEEN_READY_NONE && place->entries[i].state == QUEEN_READY_NOW)
		return;
	if (left == QUEEN_LEFT_LATER)
		queen_list_set_later(place, partition_id, at, knows_more(place, partition_id));
	else
		queen_list_set_later(place, partition_id, at, left == QUEEN_LEFT_LATER_MORE);
}

/* What a transaction left in a partition; true where somebody should look. */
bool
queen_ready_leave(const QueenReadyKey *key, int64 partition_id, QueenLeft left, TimestampTz at)
{
	bool		look = false;
	QueenReadyPlace place;

	if (!queen_ready_lock(key, &place))
		return left == QUEEN_LEFT_AS_IT_WAS || left == QUEEN_LEFT_DONE || left == QUEEN_LEFT_SOMETHING;
	place.group->told++;
	if (left == QUEEN_LEFT_LATER || left == QUEEN_LEFT_LATER_ALL || left == QUEEN_LEFT_LATER_MORE)
		leave_for_later(&place, partition_id, left, at);
	queen_ready_read_ring(&place);
	switch (left)
	{
		case QUEEN_LEFT_LATER:
		case QUEEN_LEFT_LATER_ALL:
		case QUEEN_LEFT_LATER_MORE:
			break;
		case QUEEN_LEFT_NOTHING:
			look = end_lease(&place, partition_id, false);
			break;
		case QUEEN_LEFT_DONE:
			look = end_lease(&place, partition_id, true);
			break;
		default:
			queen_list_set_ready(&place, partition_id);
			look = true;
	}
	queen_ready_unlock(&place);
	return look;
}
