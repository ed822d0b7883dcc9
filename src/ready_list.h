/*-------------------------------------------------------------------------
 *
 * ready_list.h
 *	  The list of a group's ready partitions, as it lies in shared memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_READY_LIST_H
#define QUEEN_READY_LIST_H

#include "common/hashfn.h"
#include "datatype/timestamp.h"
#include "storage/lwlock.h"

#define QUEEN_READY_NONE (-1)

typedef enum QueenReadyState
{
	QUEEN_READY_FREE,
	QUEEN_READY_NOW,			/* in the list from oldest to newest */
	QUEEN_READY_LATER			/* in the heap, the earliest on top */
} QueenReadyState;

typedef struct QueenReadyEntry
{
	int64		partition_id;
	TimestampTz at;				/* of an entry for later */
	uint64		turn;			/* of a ready one */
	int			previous;
	int			next;			/* also of free entries */
	int			chain;			/* next in the bucket */
	int			heap;			/* where it is in the heap */
	uint8		state;
	bool		more;			/* something comes after the lease */
} QueenReadyEntry;

typedef struct QueenReadyGroup
{
	int32		group_id;
	int			queue;			/* its slot; QUEEN_READY_NONE: this one is
								 * free */
	int			next;			/* group of the queue */
	TimestampTz used_at;
	uint64		read;			/* of the ring */
	uint64		turn;			/* of the next entry that becomes ready */
	uint64		calls;
	uint64		told;			/* how often somebody told what he left */
	uint64		generation;		/* how often something was lost */
	bool		complete;
	bool		clean;			/* nothing was lost since the look at all
								 * began */
	int64		looked;			/* through this partition, in this round */
	TimestampTz round_began;
	TimestampTz sliced_at;
	TimestampTz unlisted_at;	/* the first one that was dropped from the
								 * heap */
	int			free;
	int			oldest;
	int			newest;
	int			nlater;
} QueenReadyGroup;

typedef struct QueenReadyQueue
{
	LWLock		lock;
	Oid			database;
	int32		queue_id;		/* 0: this slot is free */
	int			first_group;
	uint64		written;		/* of the ring */
	uint64		newest_read;	/* by any group */
} QueenReadyQueue;

/* A group that is locked, with its queue and its parts of the arrays. */
typedef struct QueenReadyPlace
{
	QueenReadyQueue *queue;
	QueenReadyGroup *group;
	QueenReadyEntry *entries;
	int		   *buckets;
	int		   *heap;
} QueenReadyPlace;

/* Spreads partitions over buckets. */
static inline uint32
queen_hash_partition(int64 partition_id)
{
	return murmurhash32((uint32) partition_id ^ (uint32) (partition_id >> 32));
}

extern int	queen_list_find(const QueenReadyPlace *place, int64 partition_id);
extern void queen_list_remove(QueenReadyPlace *place, int number);
extern void queen_list_lose(QueenReadyGroup *group);
extern void queen_list_set_ready(QueenReadyPlace *place, int64 partition_id);
extern void queen_list_set_later(QueenReadyPlace *place, int64 partition_id, TimestampTz at, bool more);
extern void queen_list_set_seen(QueenReadyPlace *place, int64 partition_id, TimestampTz at, bool sure);
extern void queen_list_follow_time(QueenReadyPlace *place, TimestampTz now);
extern void queen_list_reset(QueenReadyPlace *place);

#endif							/* QUEEN_READY_LIST_H */
