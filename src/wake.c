/*-------------------------------------------------------------------------
 *
 * wake.c
 *	  Sessions that wait for messages, and how they are woken.
 *
 * Each session has one slot in shared memory. A session that waits hangs it
 * into the chain of its database and queue, first come first woken. A waiter
 * enters before it looks, so what becomes poppable after the look finds it in
 * the chain. Who wakes it marks the slot, so that it is not chosen again, and
 * sets its latch; the waiter comes back to the end of the chain, unmarked,
 * before it looks again. So each wake makes at least one session of a group
 * look that had not begun to look before, and a push wakes one session of each
 * group, not all.
 *
 * A slot holds until when its session sleeps. What becomes poppable by time
 * alone (the end of a lease, of a back-off) needs one session of the group that
 * wakes by then; it is told to sleep shorter, and is not marked.
 *
 * Chains are spread over buckets, each under a lock of its own, which is held
 * for one walk over one chain. A slot is changed under the lock of the bucket
 * that it hangs in, and by its own session where it hangs in none.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "wake.h"

#define BUCKETS 128
#define NOBODY (-1)

/* Groups of one chain that a wake tells apart; beyond, it wakes more than it needs. */
#define MAX_GROUPS 64

/* A session, by its number in the array of processes. */
typedef struct Waiter
{
	Oid			database;
	QueenWaitKey key;
	TimestampTz until;			/* it sleeps no longer */
	bool		listed;
	bool		woken;
	int			previous;
	int			next;
} Waiter;

typedef struct Bucket
{
	LWLock		lock;
	pg_atomic_uint32 count;		/* may be read without the lock */
	int			first;
	int			last;
} Bucket;

typedef struct WakeState
{
	int			tranche;
	Bucket		buckets[BUCKETS];
	Waiter		waiters[FLEXIBLE_ARRAY_MEMBER];
} WakeState;

static WakeState *state = NULL;

/* What this session was told of and has not popped yet; 0: nothing. */
static QueenWaitKey owed;

/* One slot for each process that can run SQL. */
Size
queen_wake_size(void)
{
	return add_size(offsetof(WakeState, waiters), mul_size(MaxBackends, sizeof(Waiter)));
}

/* Makes the slots, all of them free. */
void
queen_wake_init(void)
{
	bool		found;

	state = ShmemInitStruct("queen waiters", queen_wake_size(), &found);
	if (!found)
	{
		memset(state, 0, queen_wake_size());
		state->tranche = LWLockNewTrancheId();
		for (int i = 0; i < BUCKETS; i++)
		{
			LWLockInitialize(&state->buckets[i].lock, state->tranche);
			pg_atomic_init_u32(&state->buckets[i].count, 0);
			state->buckets[i].first = state->buckets[i].last = NOBODY;
		}
	}
	LWLockRegisterTranche(state->tranche, "QueenWaiters");
}

/* The bucket of a queue of this database. */
static Bucket *
find_bucket(int32 queue_id)
{
	uint32		hash = hash_combine(murmurhash32(MyDatabaseId), murmurhash32((uint32) queue_id));

	return &state->buckets[hash % BUCKETS];
}

static Waiter *
my_slot(void)
{
	return &state->waiters[queen_my_proc_number()];
}

/* Hangs a slot at the end of a chain. */
static void
append(Bucket *bucket, int number)
{
	Waiter	   *waiter = &state->waiters[number];

	waiter->previous = bucket->last;
	waiter->next = NOBODY;
	if (bucket->last == NOBODY)
		bucket->first = number;
	else
		state->waiters[bucket->last].next = number;
	bucket->last = number;
	waiter->listed = true;
	pg_atomic_fetch_add_u32(&bucket->count, 1);
}

/* Takes a slot out of its chain. */
static void
unlink_slot(Bucket *bucket, int number)
{
	Waiter	   *waiter = &state->waiters[number];

	if (waiter->previous == NOBODY)
		bucket->first = waiter->next;
	else
		state->waiters[waiter->previous].next = waiter->next;
	if (waiter->next == NOBODY)
		bucket->last = waiter->previous;
	else
		state->waiters[waiter->next].previous = waiter->previous;
	waiter->listed = false;
	pg_atomic_fetch_sub_u32(&bucket->count, 1);
}

/* A session that ends leaves its place, and its wake, to others. */
static void
leave_at_exit(int code, Datum argument)
{
	QueenWaitKey key = my_slot()->key;

	if (my_slot()->listed)
	{
		queen_wake_leave();
		queen_wake_group(key.queue_id, key.group_id, key.partition_id);
	}
	queen_wake_settle(0, 0);
}

/* Begins to wait. The caller looks after this, then waits. */
void
queen_wake_enter(const QueenWaitKey *key)
{
	static int	registered_by = 0;
	Bucket	   *bucket = find_bucket(key->queue_id);
	Waiter	   *me = my_slot();

	if (registered_by != MyProcPid)
		before_shmem_exit(leave_at_exit, (Datum) 0);
	registered_by = MyProcPid;
	Assert(!me->listed);
	me->database = MyDatabaseId;
	me->key = *key;
	me->until = DT_NOEND;
	me->woken = false;
	LWLockAcquire(&bucket->lock, LW_EXCLUSIVE);
	append(bucket, queen_my_proc_number());
	LWLockRelease(&bucket->lock);
}

/* Before another look: back to the end of the chain. True where somebody woke us. */
bool
queen_wake_look_again(const QueenWaitKey *key)
{
	bool		woken = queen_wake_leave();

	queen_wake_enter(key);
	return woken;
}

/* Whether another session of the group, that looks at all partitions, wakes by then. */
static bool
another_wakes_by(const Bucket *bucket, const Waiter *me, TimestampTz at)
{
	for (int i = bucket->first; i != NOBODY; i = state->waiters[i].next)
	{
		const Waiter *waiter = &state->waiters[i];

		if (waiter != me && waiter->database == MyDatabaseId &&
			waiter->key.queue_id == me->key.queue_id &&
			waiter->key.group_id == me->key.group_id &&
			waiter->key.partition_id == 0 && !waiter->woken && waiter->until <= at)
			return true;
	}
	return false;
}

/*
 * Sleeps until woken, which answers true, or until a time: the one given, or an
 * earlier one that somebody has told us since the last look began. Where time
 * alone brings something to the group, at soonest, one of its sessions is enough.
 */
bool
queen_wake_wait(TimestampTz until, TimestampTz soonest)
{
	Waiter	   *me = my_slot();
	Bucket	   *bucket = find_bucket(me->key.queue_id);

	LWLockAcquire(&bucket->lock, LW_EXCLUSIVE);
	if (soonest < until && !another_wakes_by(bucket, me, soonest))
		until = soonest;
	me->until = Min(me->until, until);
	LWLockRelease(&bucket->lock);
	for (;;)
	{
		bool		woken;

		CHECK_FOR_INTERRUPTS();
		LWLockAcquire(&bucket->lock, LW_SHARED);
		woken = me->woken;
		until = me->until;
		LWLockRelease(&bucket->lock);
		if (woken || GetCurrentTimestamp() >= until)
			return woken;
		queen_wake_pause(TimestampDifferenceMilliseconds(GetCurrentTimestamp(), until));
	}
}

/* Waits no more. True where somebody woke us and we have not looked since. */
bool
queen_wake_leave(void)
{
	Waiter	   *me = my_slot();
	Bucket	   *bucket = find_bucket(me->key.queue_id);
	bool		woken;

	LWLockAcquire(&bucket->lock, LW_EXCLUSIVE);
	woken = me->woken;
	if (me->listed)
		unlink_slot(bucket, queen_my_proc_number());
	me->woken = false;
	LWLockRelease(&bucket->lock);

	return woken;
}

/* Remembers that there is something, as the session has been told. */
void
queen_wake_owe(const QueenWaitKey *key)
{
	owed = *key;
}

/*
 * The session pops that group, which answers true where it has been told so, or
 * (0) it will not any more. Another one is told instead where it will not, as it
 * turns to another queue or group.
 */
bool
queen_wake_settle(int32 queue_id, int32 group_id)
{
	QueenWaitKey key = owed;

	owed.queue_id = 0;
	if (key.queue_id == 0 || (key.queue_id == queue_id && key.group_id == group_id))
		return key.queue_id != 0;
	queen_wake_group(key.queue_id, key.group_id, key.partition_id);
	return false;
}

/* Sleeps until the latch is set, or for some time; an interrupt ends it. */
void
queen_wake_pause(long milliseconds)
{
	static uint32 event = 0;

	WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
			  Max(milliseconds, 0) + 1, queen_wait_event(&event, "QueenWait"));
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/* Whether a waiter is one that has to know about a partition. */
static bool
matches(const Waiter *waiter, int32 queue_id, int64 partition_id)
{
	return waiter->database == MyDatabaseId && waiter->key.queue_id == queue_id &&
		(waiter->key.partition_id == 0 || waiter->key.partition_id == partition_id);
}

/* Marks a waiter and sets its latch. */
static void
wake(int number)
{
	state->waiters[number].woken = true;
	SetLatch(&GetPGProcByNumber(number)->procLatch);
}

/* Locks the chain of a queue; NULL, and no lock, where nobody waits in it. */
static Bucket *
lock_chain(int32 queue_id, LWLockMode mode)
{
	Bucket	   *bucket;

	if (state == NULL)
		return NULL;
	bucket = find_bucket(queue_id);
	pg_memory_barrier();
	if (pg_atomic_read_u32(&bucket->count) == 0)
		return NULL;
	LWLockAcquire(&bucket->lock, mode);
	return bucket;
}

/* Whether a group has had its wake already; remembers that it has. */
static bool
had_wake(int32 group_id, int32 *groups, int *ngroups)
{
	for (int i = 0; i < *ngroups; i++)
	{
		if (groups[i] == group_id)
			return true;
	}
	if (*ngroups < MAX_GROUPS)
		groups[(*ngroups)++] = group_id;
	return false;
}

/* Something is there for all groups: wakes one session of each. */
void
queen_wake_groups(int32 queue_id, int64 partition_id)
{
	Bucket	   *bucket = lock_chain(queue_id, LW_EXCLUSIVE);
	int32		groups[MAX_GROUPS];
	int			ngroups = 0;

	if (bucket == NULL)
		return;
	for (int i = bucket->first; i != NOBODY; i = state->waiters[i].next)
	{
		Waiter	   *waiter = &state->waiters[i];

		if (matches(waiter, queue_id, partition_id) && !waiter->woken &&
			!had_wake(waiter->key.group_id, groups, &ngroups))
			wake(i);
	}
	LWLockRelease(&bucket->lock);
}

/*
 * Something is there for one group, in a partition or (0) somewhere: wakes one
 * session of it. Somewhere may be where a session that waits for one partition
 * looks, so those wake besides.
 */
void
queen_wake_group(int32 queue_id, int32 group_id, int64 partition_id)
{
	Bucket	   *bucket = lock_chain(queue_id, LW_EXCLUSIVE);
	bool		woke = false;

	if (bucket == NULL)
		return;
	for (int i = bucket->first; i != NOBODY; i = state->waiters[i].next)
	{
		Waiter	   *waiter = &state->waiters[i];
		bool		particular = partition_id == 0 && waiter->key.partition_id != 0;

		if (waiter->key.group_id != group_id || waiter->woken || (woke && !particular) ||
			!matches(waiter, queue_id, particular ? waiter->key.partition_id : partition_id))
			continue;
		wake(i);
		woke = woke || !particular;
	}
	LWLockRelease(&bucket->lock);
}

/* Makes a waiter sleep no longer than until a time. */
static void
shorten(int number, TimestampTz at)
{
	if (state->waiters[number].until <= at)
		return;
	state->waiters[number].until = at;
	SetLatch(&GetPGProcByNumber(number)->procLatch);
}

/*
 * Something will be there for a group, in a partition or (0) somewhere: one of
 * its sessions wakes by then, and those that wait for just that partition.
 */
void
queen_wake_group_at(int32 queue_id, int32 group_id, int64 partition_id, TimestampTz at)
{
	Bucket	   *bucket = lock_chain(queue_id, LW_EXCLUSIVE);
	int			chosen = NOBODY;

	if (bucket == NULL)
		return;
	for (int i = bucket->first; i != NOBODY; i = state->waiters[i].next)
	{
		Waiter	   *waiter = &state->waiters[i];

		if (!matches(waiter, queue_id, partition_id) ||
			waiter->key.group_id != group_id || waiter->woken)
			continue;
		if (waiter->key.partition_id != 0)
			shorten(i, at);
		else if (chosen == NOBODY || waiter->until < state->waiters[chosen].until)
			chosen = i;
	}
	if (chosen != NOBODY)
		shorten(chosen, at);
	LWLockRelease(&bucket->lock);
}

/* Wakes all sessions of a chain, of one queue or (0) of the whole database. */
static void
wake_all(Bucket *bucket, int32 queue_id)
{
	for (int i = bucket->first; i != NOBODY; i = state->waiters[i].next)
	{
		Waiter	   *waiter = &state->waiters[i];

		if (waiter->database == MyDatabaseId && !waiter->woken &&
			(queue_id == 0 || waiter->key.queue_id == queue_id))
			wake(i);
	}
}

/* Nobody knows what has become of a queue: all who wait for it look. */
void
queen_wake_queue(int32 queue_id)
{
	Bucket	   *bucket = lock_chain(queue_id, LW_EXCLUSIVE);

	if (bucket == NULL)
		return;
	wake_all(bucket, queue_id);
	LWLockRelease(&bucket->lock);
}

/* The same for all queues of this database. */
void
queen_wake_database(void)
{
	for (int i = 0; state && i < BUCKETS; i++)
	{
		Bucket	   *bucket = &state->buckets[i];

		pg_memory_barrier();
		if (pg_atomic_read_u32(&bucket->count) == 0)
			continue;
		LWLockAcquire(&bucket->lock, LW_EXCLUSIVE);
		wake_all(bucket, 0);
		LWLockRelease(&bucket->lock);
	}
}
