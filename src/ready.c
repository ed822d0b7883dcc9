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
 * The directory lock keeps the slots where they are, shared; the lock of a queue
 * guards its ring and its groups. They are taken in this order, and held for
 * memory accesses only.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"

#include "ready.h"
#include "ready_list.h"
#include "settings.h"

/* Into so many slices a look at all partitions is cut, at most. */
#define SLICES 100

typedef struct ReadyState
{
	int			tranche;
	LWLock		directory;
} ReadyState;

/* The arrays in shared memory, each of so many elements a queue or group. */
static ReadyState *state = NULL;
static QueenReadyQueue *queues;
static QueenReadyGroup *groups;
static int64 *rings;			/* partitions */
static uint64 *recent;			/* where in the ring a partition was written,
								 * plus 1 */
static QueenReadyEntry *entries;
static int *buckets;
static int *heaps;

/* What all of it takes. */
Size
queen_ready_size(void)
{
	Size		ring = mul_size(queen_ready_ring, sizeof(int64) + sizeof(uint64));
	Size		list = mul_size(queen_ready_list, sizeof(QueenReadyEntry) + 2 * sizeof(int));

	return add_size(MAXALIGN(sizeof(ReadyState)),
					add_size(mul_size(queen_ready_queues, add_size(ring, sizeof(QueenReadyQueue))),
							 mul_size(queen_ready_groups, add_size(list, sizeof(QueenReadyGroup)))));
}

/* Cuts the next array out of the memory. */
static void *
cut(char **memory, Size size)
{
	char	   *start = *memory;

	*memory += size;
	return start;
}

/* Makes all slots free. */
void
queen_ready_init(void)
{
	bool		found;
	char	   *memory = ShmemInitStruct("queen ready partitions", queen_ready_size(), &found);

	if (!found)
		memset(memory, 0, queen_ready_size());
	state = cut(&memory, MAXALIGN(sizeof(ReadyState)));
	queues = cut(&memory, sizeof(QueenReadyQueue) * queen_ready_queues);
	groups = cut(&memory, sizeof(QueenReadyGroup) * queen_ready_groups);
	rings = cut(&memory, sizeof(int64) * queen_ready_queues * queen_ready_ring);
	recent = cut(&memory, sizeof(uint64) * queen_ready_queues * queen_ready_ring);
	entries = cut(&memory, sizeof(QueenReadyEntry) * queen_ready_groups * queen_ready_list);
	buckets = cut(&memory, sizeof(int) * queen_ready_groups * queen_ready_list);
	heaps = cut(&memory, sizeof(int) * queen_ready_groups * queen_ready_list);
	if (!found)
	{
		state->tranche = LWLockNewTrancheId();
		LWLockInitialize(&state->directory, state->tranche);
		for (int i = 0; i < queen_ready_queues; i++)
			LWLockInitialize(&queues[i].lock, state->tranche);
		for (int i = 0; i < queen_ready_groups; i++)
			groups[i].queue = QUEEN_READY_NONE;
	}
	LWLockRegisterTranche(state->tranche, "QueenReady");
}

/* Reads what commits have written since. */
static void
read_ring(QueenReadyPlace *place)
{
	QueenReadyQueue *queue = place->queue;
	QueenReadyGroup *group = place->group;
	int64	   *ring = rings + (queue - queues) * queen_ready_ring;

	if (queue->written - group->read > (uint64) queen_ready_ring)
	{
		queen_list_lose(group);
		group->read = queue->written;
	}
	for (; group->read < queue->written; group->read++)
	{
		int64		partition_id = ring[group->read % (uint64) queen_ready_ring];
		int			i = queen_list_find(place, partition_id);

		if (i != QUEEN_READY_NONE && place->entries[i].state == QUEEN_READY_LATER)
			place->entries[i].more = true;
		else
			queen_list_set_ready(place, partition_id);
	}
	queue->newest_read = Max(queue->newest_read, group->read);
}

/* ------------------------------------------------------------------------
 * Slots
 * ------------------------------------------------------------------------ */

/* The slot of a queue of this database, or QUEEN_READY_NONE. The caller has the directory. */
static int
find_queue(int32 queue_id)
{
	static int	last[64];		/* where it was found before: a hint */
	int		   *hint = &last[(uint32) queue_id % lengthof(last)];

	if (*hint < queen_ready_queues && queues[*hint].queue_id == queue_id &&
		queues[*hint].database == MyDatabaseId)
		return *hint;
	for (int i = 0; i < queen_ready_queues; i++)
	{
		if (queues[i].queue_id == queue_id && queues[i].database == MyDatabaseId)
			return *hint = i;
	}
	return QUEEN_READY_NONE;
}

/* The slot of a group of a queue, or QUEEN_READY_NONE. */
static int
find_group(const QueenReadyQueue *queue, int32 group_id)
{
	int			i = queue->first_group;

	while (i != QUEEN_READY_NONE && groups[i].group_id != group_id)
		i = groups[i].next;
	return i;
}

/* A group and its parts of the arrays. */
static QueenReadyPlace
place_of(int group)
{
	QueenReadyPlace place = {
		.queue = &queues[groups[group].queue],
		.group = &groups[group],
		.entries = entries + (Size) group * queen_ready_list,
		.buckets = buckets + (Size) group * queen_ready_list,
		.heap = heaps + (Size) group * queen_ready_list
	};

	return place;
}

/* Locks a group; false, and no lock, where nothing is known of it. */
static bool
open_place(const QueenReadyKey *key, QueenReadyPlace *place)
{
	int			queue;
	int			group = QUEEN_READY_NONE;

	if (state == NULL || queen_ready_queues == 0)
		return false;
	LWLockAcquire(&state->directory, LW_SHARED);
	queue = find_queue(key->queue_id);
	if (queue != QUEEN_READY_NONE)
	{
		LWLockAcquire(&queues[queue].lock, LW_EXCLUSIVE);
		group = find_group(&queues[queue], key->group_id);
		if (group == QUEEN_READY_NONE)
			LWLockRelease(&queues[queue].lock);
	}
	if (group == QUEEN_READY_NONE)
	{
		LWLockRelease(&state->directory);
		return false;
	}
	*place = place_of(group);
	return true;
}

/* And gives the locks back. */
static void
close_place(const QueenReadyPlace *place)
{
	LWLockRelease(&place->queue->lock);
	LWLockRelease(&state->directory);
}

/* Frees a group's slot, and its queue's with the last one. The caller has the directory alone. */
static void
free_group(int group)
{
	QueenReadyQueue *queue = &queues[groups[group].queue];
	int		   *link = &queue->first_group;

	while (*link != group)
		link = &groups[*link].next;
	*link = groups[group].next;
	groups[group].queue = QUEEN_READY_NONE;
	if (queue->first_group == QUEEN_READY_NONE)
		queue->queue_id = 0;
}

/* Frees the group that was not used for longest, if that is long. */
static bool
evict_group(void)
{
	int			oldest = QUEEN_READY_NONE;

	for (int i = 0; i < queen_ready_groups; i++)
	{
		if (groups[i].queue != QUEEN_READY_NONE &&
			(oldest == QUEEN_READY_NONE || groups[i].used_at < groups[oldest].used_at))
			oldest = i;
	}
	if (oldest == QUEEN_READY_NONE || groups[oldest].used_at >
		GetCurrentTimestamp() - queen_reconcile_interval * INT64CONST(1000))
		return false;
	free_group(oldest);
	return true;
}

/* A free slot for a queue, or QUEEN_READY_NONE. */
static int
make_queue(int32 queue_id)
{
	int			i = 0;

	while (i < queen_ready_queues && queues[i].queue_id != 0)
		i++;
	if (i == queen_ready_queues)
		return QUEEN_READY_NONE;
	queues[i].database = MyDatabaseId;
	queues[i].queue_id = queue_id;
	queues[i].first_group = QUEEN_READY_NONE;
	queues[i].written = queues[i].newest_read = 0;
	memset(recent + (Size) i * queen_ready_ring, 0, sizeof(uint64) * queen_ready_ring);
	return i;
}

/* A free slot for a group of a queue; false where there is none. */
static bool
make_group(int queue, const QueenReadyKey *key)
{
	int			i = 0;
	QueenReadyPlace place;

	while (i < queen_ready_groups && groups[i].queue != QUEEN_READY_NONE)
		i++;
	if (i == queen_ready_groups)
		return false;
	memset(&groups[i], 0, sizeof(QueenReadyGroup));
	groups[i].group_id = key->group_id;
	groups[i].queue = queue;
	groups[i].next = queues[queue].first_group;
	queues[queue].first_group = i;
	place = place_of(i);
	queen_list_reset(&place);
	groups[i].round_began = groups[i].used_at = GetCurrentTimestamp();
	/* never what it was in an earlier life */
	groups[i].told = groups[i].used_at;
	return true;
}

/* Makes the slots of a group; false where no memory is left for it. */
static bool
make_slots(const QueenReadyKey *key)
{
	int			queue = find_queue(key->queue_id);
	bool		made_queue = queue == QUEEN_READY_NONE;

	if (queue == QUEEN_READY_NONE)
		queue = make_queue(key->queue_id);
	if (queue == QUEEN_READY_NONE)
		return false;
	if (find_group(&queues[queue], key->group_id) != QUEEN_READY_NONE || make_group(queue, key))
		return true;
	if (made_queue)
		queues[queue].queue_id = 0;
	return false;
}

/* ------------------------------------------------------------------------
 * For whoever pops
 * ------------------------------------------------------------------------ */

/* Finds what is known of a group, or begins to know; false where that cannot be. */
bool
queen_ready_open(const QueenReadyKey *key)
{
	QueenReadyPlace place;
	bool		made;

	if (open_place(key, &place))
	{
		place.group->used_at = GetCurrentTimestamp();
		close_place(&place);
		return true;
	}
	if (state == NULL || queen_ready_queues == 0 || queen_ready_groups == 0)
		return false;
	LWLockAcquire(&state->directory, LW_EXCLUSIVE);
	made = make_slots(key) || (evict_group() && make_slots(key));
	LWLockRelease(&state->directory);
	return made;
}

/*
 * Reads the ring. What becomes ready after this has the answer as turn, or a
 * later one.
 */
uint64
queen_ready_turn(const QueenReadyKey *key, TimestampTz now)
{
	QueenReadyPlace place;
	uint64		turn = 0;

	if (!open_place(key, &place))
		return 0;
	read_ring(&place);
	queen_list_follow_time(&place, now);
	turn = place.group->turn;
	close_place(&place);
	return turn;
}

/* Takes the oldest ready partition out whose turn is before one, and notes what was told. */
bool
queen_ready_take(const QueenReadyKey *key, uint64 before, int64 *partition_id, uint64 *told)
{
	QueenReadyPlace place;
	int			i;
	bool		found;

	if (!open_place(key, &place))
		return false;
	i = place.group->oldest;
	found = i != QUEEN_READY_NONE && place.entries[i].turn < before;
	if (found)
	{
		*partition_id = place.entries[i].partition_id;
		*told = place.group->told;
		queen_list_remove(&place, i);
	}
	close_place(&place);
	return found;
}

/* Puts a partition in as it was seen: ready, or ready at a time. Told is of before the look. */
void
queen_ready_put(const QueenReadyKey *key, int64 partition_id, TimestampTz at, uint64 told)
{
	QueenReadyPlace place;

	if (!open_place(key, &place))
		return;
	if (at == DT_NOBEGIN)
		queen_list_set_ready(&place, partition_id);
	else
		queen_list_set_seen(&place, partition_id, at, told == place.group->told);
	close_place(&place);
}

/* Whether any partition is ready just now. */
bool
queen_ready_any(const QueenReadyKey *key)
{
	QueenReadyPlace place;
	bool		any;

	if (!open_place(key, &place))
		return true;
	any = place.group->oldest != QUEEN_READY_NONE || !place.group->complete;
	close_place(&place);
	return any;
}

/* When time alone makes something ready. */
TimestampTz
queen_ready_soonest(const QueenReadyKey *key)
{
	QueenReadyPlace place;
	TimestampTz at = DT_NOEND;

	if (!open_place(key, &place))
		return at;
	if (place.group->nlater > 0)
		at = place.entries[place.heap[0]].at;
	at = Min(at, place.group->unlisted_at);
	close_place(&place);
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

	if (!open_place(key, &place))
		return false;
	answer = !place.group->complete ||
		now - place.group->sliced_at > queen_reconcile_interval * INT64CONST(1000) / SLICES;
	close_place(&place);
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
	if (!open_place(key, &place))
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
	close_place(&place);
	return slice->after < slice->through;
}

/* A call begins; true where it is the turn of the tables, see above. */
bool
queen_ready_tables_first(const QueenReadyKey *key)
{
	QueenReadyPlace place;
	bool		answer;

	if (!open_place(key, &place))
		return false;
	answer = !place.group->complete && place.group->calls++ % 2 == 1;
	close_place(&place);
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

	if (!open_place(key, &place))
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
	close_place(&place);
}

/* ------------------------------------------------------------------------
 * For whoever ends a transaction
 * ------------------------------------------------------------------------ */

/* Whether the ring holds a partition that no group has read yet. */
static bool
is_in_ring(const QueenReadyQueue *queue, const int64 *ring, uint64 written, int64 partition_id)
{
	return written > queue->newest_read &&
		queue->written - written < (uint64) queen_ready_ring &&
		ring[(written - 1) % (uint64) queen_ready_ring] == partition_id;
}

/* Messages were appended to a partition. */
void
queen_ready_append(int32 queue_id, int64 partition_id)
{
	int			slot;

	if (state == NULL || queen_ready_queues == 0)
		return;
	LWLockAcquire(&state->directory, LW_SHARED);
	slot = find_queue(queue_id);
	if (slot != QUEEN_READY_NONE)
	{
		QueenReadyQueue *queue = &queues[slot];
		int64	   *ring = rings + (Size) slot * queen_ready_ring;
		uint64	   *last = &recent[(Size) slot * queen_ready_ring +
								   queen_hash_partition(partition_id) % (uint32) queen_ready_ring];

		LWLockAcquire(&queue->lock, LW_EXCLUSIVE);
		if (!is_in_ring(queue, ring, *last, partition_id))
		{
			ring[queue->written++ % (uint64) queen_ready_ring] = partition_id;
			*last = queue->written;
		}
		LWLockRelease(&queue->lock);
	}
	LWLockRelease(&state->directory);
}

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

	if (!open_place(key, &place))
		return left == QUEEN_LEFT_AS_IT_WAS || left == QUEEN_LEFT_DONE || left == QUEEN_LEFT_SOMETHING;
	place.group->told++;
	if (left == QUEEN_LEFT_LATER || left == QUEEN_LEFT_LATER_ALL || left == QUEEN_LEFT_LATER_MORE)
		leave_for_later(&place, partition_id, left, at);
	read_ring(&place);
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
	close_place(&place);
	return look;
}

/* Frees the groups of this database that match; 0 matches all. */
static void
forget(int32 queue_id, int32 group_id)
{
	if (state == NULL || queen_ready_queues == 0)
		return;
	LWLockAcquire(&state->directory, LW_EXCLUSIVE);
	for (int i = 0; i < queen_ready_groups; i++)
	{
		if (groups[i].queue == QUEEN_READY_NONE || queues[groups[i].queue].database != MyDatabaseId)
			continue;
		if ((queue_id == 0 || queues[groups[i].queue].queue_id == queue_id) &&
			(group_id == 0 || groups[i].group_id == group_id))
			free_group(i);
	}
	LWLockRelease(&state->directory);
}

/* Nothing is known of a group any more. */
void
queen_ready_forget_group(const QueenReadyKey *key)
{
	forget(key->queue_id, key->group_id);
}

/* Nor of a queue. */
void
queen_ready_forget_queue(int32 queue_id)
{
	forget(queue_id, 0);
}

/* Nor of this database. */
void
queen_ready_forget_database(void)
{
	forget(0, 0);
}
