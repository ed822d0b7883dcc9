/*-------------------------------------------------------------------------
 *
 * locks.c
 *	  Queen's heavyweight locks.
 *
 * They are advisory locks of classes of their own: the fourth field of the
 * tag, which the SQL advisory functions set to 1 or 2, holds the kind. So no
 * tuple is written to take one, waiters queue in order, the server detects
 * deadlocks, and pg_locks shows them (locktype advisory, objsubid the kind).
 * All are held to the end of the transaction or of the savepoint that took
 * them, but for those that a pop gives back because it took nothing.
 *
 * Order: queue creation, queue, queue append, schedule, partition creation (by
 * name), group creation, group list, group, partition retention, partition append
 * (ascending), cursors (ascending). What is only tried may be taken out of
 * order; the worker, which does nothing but try, never waits for anybody.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "utils/resowner.h"

#include "compat.h"
#include "lock_budget.h"
#include "locks.h"
#include "settings.h"

/* The kinds; docs/reference.md lists them for readers of pg_locks. */
#define LOCK_QUEUE					0x5101
#define LOCK_QUEUE_APPEND			0x5102
#define LOCK_GROUP					0x5103
#define LOCK_PARTITION_APPEND		0x5104
#define LOCK_CURSOR					0x5105
#define LOCK_QUEUE_CREATION			0x5106
#define LOCK_GROUP_CREATION			0x5107
#define LOCK_PARTITION_CREATION		0x5108
#define LOCK_GROUP_NUMBER			0x5109
#define LOCK_RETENTION				0x5110
#define LOCK_SCHEDULE				0x5113
#define LOCK_GROUP_LIST				0x5114

/* The tag of a kind and 64 bits. */
static void
set_tag(LOCKTAG *tag, uint64 key, uint16 kind)
{
	SET_LOCKTAG_ADVISORY(*tag, MyDatabaseId,
						 (uint32) (key >> 32), (uint32) key, kind);
}

/*
 * Takes a lock for the (sub)transaction. Not for the portal that runs the verb:
 * one that fails in a savepoint would take the locks of its earlier fetches
 * along, though what they wrote stays.
 */
static LockAcquireResult
take_tag(const LOCKTAG *tag, LOCKMODE mode, bool dont_wait)
{
	ResourceOwner portal = CurrentResourceOwner;
	LockAcquireResult result;

	CurrentResourceOwner = CurTransactionResourceOwner;
	PG_TRY();
	{
		result = LockAcquire(tag, mode, false, dont_wait);
	}
	PG_FINALLY();
	{
		CurrentResourceOwner = portal;
	}
	PG_END_TRY();

	return result;
}

/* The kinds of which a transaction may take many. */
static bool
counts(uint16 kind)
{
	return kind == LOCK_PARTITION_APPEND || kind == LOCK_PARTITION_CREATION ||
		kind == LOCK_CURSOR || kind == LOCK_RETENTION || kind == LOCK_SCHEDULE;
}

/* Whether the budget lets a lock be taken that is not held yet. */
bool
queen_lock_budget_spent(void)
{
	return !queen_lock_budget_left(counts);
}

/*
 * The same for a kind and 64 bits. Beyond the budget (lock_budget.c) what is only
 * tried is not to be had, anything else an error.
 */
static LockAcquireResult
take(uint64 key, uint16 kind, LOCKMODE mode, bool dont_wait)
{
	LockAcquireResult result;
	LOCKTAG		tag;

	set_tag(&tag, key, kind);
	if (counts(kind) && queen_lock_budget_spent() && !queen_lock_held(&tag, mode))
	{
		if (dont_wait)
			return LOCKACQUIRE_NOT_AVAIL;
		queen_lock_budget_refuse();
	}
	result = take_tag(&tag, mode, dont_wait);
	if (result == LOCKACQUIRE_OK && counts(kind))
		queen_lock_budget_add(1);
	return result;
}

/* Waits for a lock; true where it was not held before. */
static bool
acquire(uint64 key, uint16 kind, LOCKMODE mode)
{
	return take(key, kind, mode, false) == LOCKACQUIRE_OK;
}

/*
 * The same, waiting no longer than queen.seek_timeout where lock_timeout is not
 * set: the pops of a group queue behind whoever waits for it exclusively.
 */
static bool
acquire_in_time(uint64 key, uint16 kind, LOCKMODE mode)
{
	int			before = LockTimeout;
	volatile bool taken = false;

	PG_TRY();
	{
		if (LockTimeout == 0)
			LockTimeout = queen_seek_timeout;
		taken = acquire(key, kind, mode);
	}
	PG_FINALLY();
	{
		LockTimeout = before;
	}
	PG_END_TRY();

	return taken;
}

/* Takes a lock if nobody has it in a way that conflicts. */
static bool
try_acquire(uint64 key, uint16 kind, LOCKMODE mode)
{
	return take(key, kind, mode, true) != LOCKACQUIRE_NOT_AVAIL;
}

/* Gives a lock back before the transaction ends. */
static void
release_tag(const LOCKTAG *tag, LOCKMODE mode)
{
	ResourceOwner portal = CurrentResourceOwner;

	CurrentResourceOwner = CurTransactionResourceOwner;
	LockRelease(tag, mode, false);
	CurrentResourceOwner = portal;
}

/* The same for a kind and 64 bits. */
static void
release(uint64 key, uint16 kind, LOCKMODE mode)
{
	LOCKTAG		tag;

	set_tag(&tag, key, kind);
	release_tag(&tag, mode);
	if (counts(kind) && !queen_lock_held(&tag, mode))
		queen_lock_budget_add(-1);
}

/* 48 bits of partition and 16 of group number: exact, not a hash. */
static uint64
cursor_key(int64 partition_id, int16 group_number)
{
	return ((uint64) partition_id << 16) | (uint16) group_number;
}

/*
 * A name, hashed: two that collide only wait for each other. Names inside of a
 * queue never collide with another queue's, as whoever chooses them may have
 * rights on the one only.
 */
static uint64
name_key(int32 queue_id, const char *name, int len)
{
	const unsigned char *bytes = (const unsigned char *) name;

	if (queue_id == 0)
		return hash_bytes_extended(bytes, len, 0);
	return ((uint64) (uint32) queue_id << 32) | hash_bytes(bytes, len);
}

/* Shared by every verb, exclusive for drop. */
bool
queen_lock_queue(int32 queue_id, LOCKMODE mode)
{
	return acquire((uint32) queue_id, LOCK_QUEUE, mode);
}

/* Shared by pop, ack and kin, exclusive for seek and for removing the group. */
bool
queen_lock_group(int32 group_id, LOCKMODE mode, bool in_time)
{
	if (in_time)
		return acquire_in_time((uint32) group_id, LOCK_GROUP, mode);
	return acquire((uint32) group_id, LOCK_GROUP, mode);
}

/* The same for whoever leaves alone what somebody else is moving or removing. */
bool
queen_try_lock_group(int32 group_id, LOCKMODE mode)
{
	return try_acquire((uint32) group_id, LOCK_GROUP, mode);
}

/* For a group that went while its lock was waited for. */
void
queen_unlock_group(int32 group_id, LOCKMODE mode)
{
	release((uint32) group_id, LOCK_GROUP, mode);
}

/*
 * Shared by pushes that lock their partitions one by one, exclusive for a push
 * to many. Answers whether the partitions need locks of their own. A
 * transaction that holds it shared is never upgraded, for two of those would
 * wait for each other: it locks its partitions, many or not.
 */
bool
queen_lock_queue_append(int32 queue_id, bool many)
{
	LOCKTAG		tag;

	set_tag(&tag, (uint32) queue_id, LOCK_QUEUE_APPEND);
	if (queen_lock_held(&tag, ExclusiveLock))
		return false;
	if (many && !queen_lock_held(&tag, ShareLock))
	{
		acquire((uint32) queue_id, LOCK_QUEUE_APPEND, ExclusiveLock);
		return false;
	}
	acquire((uint32) queue_id, LOCK_QUEUE_APPEND, ShareLock);
	return true;
}

/* The same for whoever does not wait; each tells whether partitions need their own. */
bool
queen_try_lock_queue_append(int32 queue_id, bool *each)
{
	LOCKTAG		tag;

	set_tag(&tag, (uint32) queue_id, LOCK_QUEUE_APPEND);
	*each = !queen_lock_held(&tag, ExclusiveLock);
	return !*each || try_acquire((uint32) queue_id, LOCK_QUEUE_APPEND, ShareLock);
}

/* For whoever removes what all partitions hold. */
void
queen_lock_queue_append_alone(int32 queue_id)
{
	acquire((uint32) queue_id, LOCK_QUEUE_APPEND, ExclusiveLock);
}

/* Held by whoever appends to a partition: this is what orders commits. */
bool
queen_lock_partition_append(int64 partition_id)
{
	return acquire((uint64) partition_id, LOCK_PARTITION_APPEND, ExclusiveLock);
}

/*
 * Held by whoever takes scheduled messages of a partition, to move, cancel or
 * put them off. Not by pushes, which only add to them.
 */
void
queen_lock_schedule(int32 queue_id, const char *partition, int len)
{
	acquire(name_key(queue_id, partition, len), LOCK_SCHEDULE, ExclusiveLock);
}

/* The same for whoever passes over what is taken. */
bool
queen_try_lock_schedule(int32 queue_id, const char *partition, int len)
{
	return try_acquire(name_key(queue_id, partition, len), LOCK_SCHEDULE, ExclusiveLock);
}

/* For whoever cannot append to the partition after all. */
void
queen_unlock_schedule(int32 queue_id, const char *partition, int len)
{
	release(name_key(queue_id, partition, len), LOCK_SCHEDULE, ExclusiveLock);
}

/* Held by whoever reads and writes a cursor. */
bool
queen_lock_cursor(int64 partition_id, int16 group_number)
{
	return acquire(cursor_key(partition_id, group_number), LOCK_CURSOR, ExclusiveLock);
}

/* The same for a seek, which does not wait for long. */
void
queen_lock_cursor_in_time(int64 partition_id, int16 group_number)
{
	acquire_in_time(cursor_key(partition_id, group_number), LOCK_CURSOR, ExclusiveLock);
}

/* The same for a pop, which passes over what is taken. */
bool
queen_try_lock_cursor(int64 partition_id, int16 group_number)
{
	return try_acquire(cursor_key(partition_id, group_number), LOCK_CURSOR, ExclusiveLock);
}

/* For a pop that took nothing. */
void
queen_unlock_cursor(int64 partition_id, int16 group_number)
{
	release(cursor_key(partition_id, group_number), LOCK_CURSOR, ExclusiveLock);
}

/* Held by whoever makes, alters or drops a queue of that name. */
void
queen_lock_queue_creation(const char *name, int len)
{
	acquire(name_key(0, name, len), LOCK_QUEUE_CREATION, ExclusiveLock);
}

/* Held by whoever makes a group of that name. */
void
queen_lock_group_creation(int32 queue_id, const char *name, int len, bool in_time)
{
	if (in_time)
		acquire_in_time(name_key(queue_id, name, len), LOCK_GROUP_CREATION, ExclusiveLock);
	else
		acquire(name_key(queue_id, name, len), LOCK_GROUP_CREATION, ExclusiveLock);
}

/* The same for whoever does not wait. */
bool
queen_try_lock_group_creation(int32 queue_id, const char *name, int len)
{
	return try_acquire(name_key(queue_id, name, len), LOCK_GROUP_CREATION, ExclusiveLock);
}

/* For who adds a group to a queue; others may add theirs. */
void
queen_lock_group_list(int32 queue_id)
{
	acquire((uint32) queue_id, LOCK_GROUP_LIST, RowExclusiveLock);
}

/* For who removes what all groups have done or have a cursor in; false where one is being added. */
bool
queen_try_lock_group_list(int32 queue_id)
{
	return try_acquire((uint32) queue_id, LOCK_GROUP_LIST, ShareLock);
}

/* The same for a partition. */
bool
queen_try_lock_partition_creation(int32 queue_id, const char *name, int len)
{
	return try_acquire(name_key(queue_id, name, len), LOCK_PARTITION_CREATION, ExclusiveLock);
}

/* For whoever found the group made when the lock was granted. */
void
queen_unlock_group_creation(int32 queue_id, const char *name, int len)
{
	release(name_key(queue_id, name, len), LOCK_GROUP_CREATION, ExclusiveLock);
}

/* Held by whoever makes a partition of that name. */
void
queen_lock_partition_creation(int32 queue_id, const char *name, int len)
{
	acquire(name_key(queue_id, name, len), LOCK_PARTITION_CREATION, ExclusiveLock);
}

/* Held by whoever gives a group that number, until the row is visible. */
bool
queen_try_lock_group_number(int32 queue_id, int16 group_number)
{
	return try_acquire(((uint64) (uint32) queue_id << 16) | (uint16) group_number,
					   LOCK_GROUP_NUMBER, ExclusiveLock);
}

/* For a number that turned out to be taken. */
void
queen_unlock_group_number(int32 queue_id, int16 group_number)
{
	release(((uint64) (uint32) queue_id << 16) | (uint16) group_number,
			LOCK_GROUP_NUMBER, ExclusiveLock);
}

/*
 * Held shared by a seek of one partition, exclusively by retention that asks
 * how far the groups are: what a seek goes back to is not removed meanwhile.
 */
void
queen_lock_retention_in_time(int64 partition_id)
{
	acquire_in_time((uint64) partition_id, LOCK_RETENTION, ShareLock);
}

/* The same for retention. */
bool
queen_try_lock_retention(int64 partition_id)
{
	return try_acquire((uint64) partition_id, LOCK_RETENTION, ExclusiveLock);
}

/* Keeps a queue from being dropped. */
bool
queen_try_lock_queue(int32 queue_id)
{
	return try_acquire((uint32) queue_id, LOCK_QUEUE, ShareLock);
}

/* For whoever took it for another queue. */
void
queen_unlock_queue(int32 queue_id)
{
	release((uint32) queue_id, LOCK_QUEUE, ShareLock);
}

/* Keeps pushes out of a partition. */
bool
queen_try_lock_partition_append(int64 partition_id)
{
	return try_acquire((uint64) partition_id, LOCK_PARTITION_APPEND, ExclusiveLock);
}

/* For a push that found its partition gone, and for retention that did nothing. */
void
queen_unlock_partition_append(int64 partition_id)
{
	release((uint64) partition_id, LOCK_PARTITION_APPEND, ExclusiveLock);
}

/* Takes a lock if nobody else has it or waits for it; else notes which it is. */
static bool
try_wanted(QueenWanted *wanted)
{
	return take_tag(&wanted->tag, wanted->mode, true) != LOCKACQUIRE_NOT_AVAIL;
}

/* queen_lock_queue(), shared. */
bool
queen_want_queue(int32 queue_id, QueenWanted *wanted)
{
	set_tag(&wanted->tag, (uint32) queue_id, LOCK_QUEUE);
	wanted->mode = ShareLock;
	return try_wanted(wanted);
}

/* queen_lock_queue_append() for few partitions. */
bool
queen_want_queue_append(int32 queue_id, QueenWanted *wanted)
{
	set_tag(&wanted->tag, (uint32) queue_id, LOCK_QUEUE_APPEND);
	wanted->mode = ShareLock;
	return try_wanted(wanted);
}

/* queen_lock_partition_append() */
bool
queen_want_partition_append(int64 partition_id, QueenWanted *wanted)
{
	set_tag(&wanted->tag, (uint64) partition_id, LOCK_PARTITION_APPEND);
	wanted->mode = ExclusiveLock;
	return try_wanted(wanted);
}

/* queen_lock_queue_creation() */
bool
queen_want_queue_creation(const char *name, int len, QueenWanted *wanted)
{
	set_tag(&wanted->tag, name_key(0, name, len), LOCK_QUEUE_CREATION);
	wanted->mode = ExclusiveLock;
	return try_wanted(wanted);
}

/* queen_lock_partition_creation() */
bool
queen_want_partition_creation(int32 queue_id, const char *name, int len, QueenWanted *wanted)
{
	set_tag(&wanted->tag, name_key(queue_id, name, len), LOCK_PARTITION_CREATION);
	wanted->mode = ExclusiveLock;
	return try_wanted(wanted);
}

/* A table, which VACUUM FULL or DROP EXTENSION may hold. */
bool
queen_want_table(Oid relation, LOCKMODE mode, QueenWanted *wanted)
{
	SET_LOCKTAG_RELATION(wanted->tag, MyDatabaseId, relation);
	wanted->mode = mode;
	return ConditionalLockRelationOid(relation, mode);
}

/* In whatever mode: where it is shared, somebody waits for this transaction. */
bool
queen_wanted_is_held(const QueenWanted *wanted)
{
	for (LOCKMODE mode = AccessShareLock; mode <= AccessExclusiveLock; mode++)
	{
		if (queen_lock_held(&wanted->tag, mode))
			return true;
	}
	return false;
}

/* Whether this transaction made the queue of that name. */
bool
queen_holds_queue_creation(const char *name, int len)
{
	LOCKTAG		tag;

	set_tag(&tag, name_key(0, name, len), LOCK_QUEUE_CREATION);
	return queen_lock_held(&tag, ExclusiveLock);
}

/* Waits, in the server's own queue for the lock. */
void
queen_wanted_lock(const QueenWanted *wanted)
{
	take_tag(&wanted->tag, wanted->mode, false);
}

/* After queen_wanted_lock(). */
void
queen_wanted_unlock(const QueenWanted *wanted)
{
	release_tag(&wanted->tag, wanted->mode);
}

int64
queen_wanted_partition(const QueenWanted *wanted)
{
	const LOCKTAG *tag = &wanted->tag;

	if (tag->locktag_type != LOCKTAG_ADVISORY ||
		tag->locktag_field4 != LOCK_PARTITION_APPEND)
		return 0;
	return (int64) (((uint64) tag->locktag_field2 << 32) | tag->locktag_field3);
}
