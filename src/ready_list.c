/*-------------------------------------------------------------------------
 *
 * ready_list.c
 *	  The list of a group's ready partitions, as it lies in shared memory.
 *
 * Entries are found by their partition in chained buckets. The ready ones form
 * a list in the order in which they became it, those for later a heap with the
 * earliest on top. All are parts of arrays of fixed size, joined by numbers, as
 * shared memory has no pointers. The caller holds the lock of the group's queue.
 * ready.c says what the list is for.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ready_list.h"
#include "settings.h"

/* The bucket of a partition. */
static int *
bucket_of(const QueenReadyPlace *place, int64 partition_id)
{
	return &place->buckets[queen_hash_partition(partition_id) % (uint32) queen_ready_list];
}

/* The entry of a partition, or QUEEN_READY_NONE. */
int
queen_list_find(const QueenReadyPlace *place, int64 partition_id)
{
	int			i = *bucket_of(place, partition_id);

	while (i != QUEEN_READY_NONE && place->entries[i].partition_id != partition_id)
		i = place->entries[i].chain;
	return i;
}

/* Puts an entry somewhere in the heap. */
static void
set_heap(QueenReadyPlace *place, int position, int entry)
{
	place->heap[position] = entry;
	place->entries[entry].heap = position;
}

/* Moves the entry at a position up or down to where it belongs. */
static void
sift(QueenReadyPlace *place, int position)
{
	int			entry = place->heap[position];
	TimestampTz at = place->entries[entry].at;

	for (int parent = (position - 1) / 2;
		 position > 0 && place->entries[place->heap[parent]].at > at;
		 parent = (position - 1) / 2)
	{
		set_heap(place, position, place->heap[parent]);
		position = parent;
	}
	for (int child = 2 * position + 1; child < place->group->nlater; child = 2 * position + 1)
	{
		if (child + 1 < place->group->nlater &&
			place->entries[place->heap[child + 1]].at < place->entries[place->heap[child]].at)
			child++;
		if (place->entries[place->heap[child]].at >= at)
			break;
		set_heap(place, position, place->heap[child]);
		position = child;
	}
	set_heap(place, position, entry);
}

/* Takes an entry out of the heap or the list of the ready. */
static void
detach(QueenReadyPlace *place, int i)
{
	QueenReadyGroup *group = place->group;
	QueenReadyEntry *entry = &place->entries[i];

	if (entry->state == QUEEN_READY_LATER)
	{
		int			last = place->heap[--group->nlater];

		if (last != i)
		{
			set_heap(place, entry->heap, last);
			sift(place, entry->heap);
		}
		return;
	}
	if (entry->previous == QUEEN_READY_NONE)
		group->oldest = entry->next;
	else
		place->entries[entry->previous].next = entry->next;
	if (entry->next == QUEEN_READY_NONE)
		group->newest = entry->previous;
	else
		place->entries[entry->next].previous = entry->previous;
}

/* Frees an entry. */
void
queen_list_remove(QueenReadyPlace *place, int i)
{
	QueenReadyEntry *entry = &place->entries[i];
	int		   *link = bucket_of(place, entry->partition_id);

	detach(place, i);
	while (*link != i)
		link = &place->entries[*link].chain;
	*link = entry->chain;
	entry->state = QUEEN_READY_FREE;
	entry->next = place->group->free;
	place->group->free = i;
}

/* Something was lost: all has to be looked at. */
void
queen_list_lose(QueenReadyGroup *group)
{
	group->complete = false;
	group->clean = false;
	group->generation++;
}

/* Drops what is left for much later, for something else; false where there is none. */
static bool
drop_later(QueenReadyPlace *place)
{
	QueenReadyGroup *group = place->group;
	int			i;

	if (group->nlater == 0)
		return false;
	i = place->heap[group->nlater - 1];
	group->unlisted_at = Min(group->unlisted_at, place->entries[i].at);
	queen_list_remove(place, i);
	return true;
}

/* A new entry in no state, or QUEEN_READY_NONE where the list is full. */
static int
add_entry(QueenReadyPlace *place, int64 partition_id)
{
	int			i = place->group->free;
	int		   *bucket = bucket_of(place, partition_id);

	if (i == QUEEN_READY_NONE)
		return QUEEN_READY_NONE;
	place->group->free = place->entries[i].next;
	place->entries[i].partition_id = partition_id;
	place->entries[i].more = false;
	place->entries[i].chain = *bucket;
	*bucket = i;
	return i;
}

/* Hangs an entry at the end of the ready ones. */
static void
attach_ready(QueenReadyPlace *place, int i)
{
	QueenReadyGroup *group = place->group;
	QueenReadyEntry *entry = &place->entries[i];

	entry->state = QUEEN_READY_NOW;
	entry->more = false;
	entry->turn = group->turn++;
	entry->previous = group->newest;
	entry->next = QUEEN_READY_NONE;
	if (group->newest == QUEEN_READY_NONE)
		group->oldest = i;
	else
		place->entries[group->newest].next = i;
	group->newest = i;
}

/* A partition is ready. */
void
queen_list_set_ready(QueenReadyPlace *place, int64 partition_id)
{
	int			i = queen_list_find(place, partition_id);

	if (i != QUEEN_READY_NONE && place->entries[i].state == QUEEN_READY_NOW)
		return;
	if (i != QUEEN_READY_NONE)
		detach(place, i);
	else
	{
		if (place->group->free == QUEEN_READY_NONE)
			drop_later(place);
		i = add_entry(place, partition_id);
	}
	if (i == QUEEN_READY_NONE)
		queen_list_lose(place->group);
	else
		attach_ready(place, i);
}

/* A partition will be ready at a time; more is for when its lease is done. */
void
queen_list_set_later(QueenReadyPlace *place, int64 partition_id, TimestampTz at, bool more)
{
	QueenReadyGroup *group = place->group;
	int			i = queen_list_find(place, partition_id);

	if (i != QUEEN_READY_NONE)
	{
		more = more || place->entries[i].state == QUEEN_READY_NOW || place->entries[i].more;
		detach(place, i);
	}
	else
		i = add_entry(place, partition_id);
	if (i == QUEEN_READY_NONE)
	{
		group->unlisted_at = Min(group->unlisted_at, at);
		return;
	}
	place->entries[i].state = QUEEN_READY_LATER;
	place->entries[i].at = at;
	place->entries[i].more = more;
	place->heap[group->nlater] = i;
	sift(place, group->nlater++);
}

/*
 * Somebody saw that a partition will be ready at a time. Where an entry is there
 * by now, it may be younger than what he saw: the earlier of the two counts. He is
 * not sure where others have told something since; a look too much finds out.
 */
void
queen_list_set_seen(QueenReadyPlace *place, int64 partition_id, TimestampTz at, bool sure)
{
	int			i = queen_list_find(place, partition_id);

	if (i != QUEEN_READY_NONE && place->entries[i].state == QUEEN_READY_NOW)
		return;
	if (i != QUEEN_READY_NONE)
		queen_list_set_later(place, partition_id, Min(at, place->entries[i].at), true);
	else if (sure)
		queen_list_set_later(place, partition_id, at, true);
	else
		queen_list_set_ready(place, partition_id);
}

/* Empties a list: nothing is known. */
void
queen_list_reset(QueenReadyPlace *place)
{
	QueenReadyGroup *group = place->group;

	for (int i = 0; i < queen_ready_list; i++)
	{
		place->buckets[i] = QUEEN_READY_NONE;
		place->entries[i].state = QUEEN_READY_FREE;
		place->entries[i].next = i + 1 < queen_ready_list ? i + 1 : QUEEN_READY_NONE;
	}
	group->free = 0;
	group->oldest = group->newest = QUEEN_READY_NONE;
	group->nlater = 0;
	group->unlisted_at = DT_NOEND;
	group->looked = 0;
	queen_list_lose(group);
	group->clean = true;
	group->read = place->queue->newest_read = place->queue->written;
}

/* Makes ready what time has brought. */
void
queen_list_follow_time(QueenReadyPlace *place, TimestampTz now)
{
	QueenReadyGroup *group = place->group;

	while (group->nlater > 0 && place->entries[place->heap[0]].at <= now)
		queen_list_set_ready(place, place->entries[place->heap[0]].partition_id);
	if (group->unlisted_at <= now)
	{
		group->unlisted_at = DT_NOEND;
		queen_list_lose(group);
	}
}
