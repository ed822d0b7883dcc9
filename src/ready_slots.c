/*-------------------------------------------------------------------------
 *
 * ready_slots.c
 *	  The shared memory of ready.c: who has which part of it, and the rings.
 *
 * Queues and groups that are popped have a slot each, and their parts of the
 * arrays; a group that was not used for long gives way to one that is. The ring
 * of a queue holds the partitions that commits appended to, each once as long
 * as no group has read it.
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
#include "ready_slots.h"
#include "settings.h"

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
bool
queen_ready_lock(const QueenReadyKey *key, QueenReadyPlace *place)
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
void
queen_ready_unlock(const QueenReadyPlace *place)
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

/* Finds what is known of a group, or begins to know; false where that cannot be. */
bool
queen_ready_open(const QueenReadyKey *key)
{
	QueenReadyPlace place;
	bool		made;

	if (queen_ready_lock(key, &place))
	{
		place.group->used_at = GetCurrentTimestamp();
		queen_ready_unlock(&place);
		return true;
	}
	if (state == NULL || queen_ready_queues == 0 || queen_ready_groups == 0)
		return false;
	LWLockAcquire(&state->directory, LW_EXCLUSIVE);
	made = make_slots(key) || (evict_group() && make_slots(key));
	LWLockRelease(&state->directory);
	return made;
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

/* ------------------------------------------------------------------------
 * Rings
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

/* Reads what commits have written since. */
void
queen_ready_read_ring(QueenReadyPlace *place)
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
