/*-------------------------------------------------------------------------
 *
 * counters.c
 *	  How much queues and groups do: counters in shared memory.
 *
 * What a transaction does is counted when it commits; until then it lies in the
 * memory of the session, by savepoint. What finds nothing, or finds a lease
 * expired, counts at once. A prepared transaction counts when it is prepared:
 * nobody knows of it later.
 *
 * One entry for each queue and one for each group, as many as the setting says;
 * what comes when all are taken is not counted. An entry bears the id of queen's
 * own table, so that an extension that is made anew begins at 0. The lock is
 * shared for adding, the numbers are atomic.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/hsearch.h"
#include "utils/timestamp.h"

#include "counters.h"
#include "settings.h"
#include "statement.h"

/* Queues and groups that a transaction counts for apart; the rest counts at once. */
#define MAX_PENDING 64

typedef struct CounterKey
{
	Oid			database;
	Oid			table;			/* of this making of the extension */
	int32		queue_id;
	int32		group_id;		/* 0: the queue itself */
} CounterKey;

typedef struct CounterEntry
{
	CounterKey	key;
	TimestampTz since;
	pg_atomic_uint64 values[QUEEN_COUNTERS];
} CounterEntry;

typedef struct CounterState
{
	int			tranche;
	LWLock		lock;
} CounterState;

/* What this transaction has counted, in one savepoint. */
typedef struct Pending
{
	CounterKey	key;
	int			level;
	int64		values[QUEEN_COUNTERS];
} Pending;

static CounterState *state = NULL;
static HTAB *entries = NULL;
static Pending pending[MAX_PENDING];
static int	npending = 0;

/* What all entries take. */
Size
queen_counters_size(void)
{
	return add_size(sizeof(CounterState),
					hash_estimate_size(Max(queen_counter_entries, 1), sizeof(CounterEntry)));
}

/* Makes the table, empty. */
void
queen_counters_init(void)
{
	HASHCTL		control = {
		.keysize = sizeof(CounterKey),
		.entrysize = sizeof(CounterEntry)
	};
	bool		found;

	state = ShmemInitStruct("queen counters", sizeof(CounterState), &found);
	if (!found)
	{
		state->tranche = LWLockNewTrancheId();
		LWLockInitialize(&state->lock, state->tranche);
	}
	entries = ShmemInitHash("queen counter entries", Max(queen_counter_entries, 1),
							Max(queen_counter_entries, 1), &control, HASH_ELEM | HASH_BLOBS);
	LWLockRegisterTranche(state->tranche, "QueenCounters");
}

static CounterKey
make_key(int32 queue_id, int32 group_id)
{
	CounterKey	key = {
		.database = MyDatabaseId,
		.table = queen_tables_id(),
		.queue_id = queue_id,
		.group_id = group_id
	};

	return key;
}

/* Adds to an entry, under the lock. */
static void
add_values(CounterEntry *entry, const int64 *values)
{
	for (int i = 0; i < QUEEN_COUNTERS; i++)
	{
		if (values[i] != 0)
			pg_atomic_fetch_add_u64(&entry->values[i], values[i]);
	}
}

/* Makes an entry where there is room; the lock is held alone. */
static CounterEntry *
make_entry(const CounterKey *key)
{
	CounterEntry *entry = hash_search(entries, key, HASH_FIND, NULL);

	if (entry || hash_get_num_entries(entries) >= queen_counter_entries)
		return entry;
	entry = hash_search(entries, key, HASH_ENTER_NULL, NULL);
	if (entry == NULL)
		return NULL;
	entry->since = GetCurrentTimestamp();
	for (int i = 0; i < QUEEN_COUNTERS; i++)
		pg_atomic_init_u64(&entry->values[i], 0);
	return entry;
}

/* Adds to what all sessions see. */
static void
publish(const CounterKey *key, const int64 *values)
{
	CounterEntry *entry;

	LWLockAcquire(&state->lock, LW_SHARED);
	entry = hash_search(entries, key, HASH_FIND, NULL);
	if (entry)
		add_values(entry, values);
	LWLockRelease(&state->lock);
	if (entry)
		return;
	LWLockAcquire(&state->lock, LW_EXCLUSIVE);
	entry = make_entry(key);
	if (entry)
		add_values(entry, values);
	LWLockRelease(&state->lock);
}

/* Counts at once. */
void
queen_count_now(int32 queue_id, int32 group_id, QueenCounter counter, int64 number)
{
	CounterKey	key;
	int64		values[QUEEN_COUNTERS] = {0};

	if (state == NULL || queen_counter_entries == 0)
		return;
	key = make_key(queue_id, group_id);
	values[counter] = number;
	publish(&key, values);
}

/* What is pending for a key in a savepoint, or NULL. */
static Pending *
find_pending(const CounterKey *key, int level)
{
	for (int i = npending - 1; i >= 0 && pending[i].level >= level; i--)
	{
		if (pending[i].level == level && memcmp(&pending[i].key, key, sizeof(CounterKey)) == 0)
			return &pending[i];
	}
	return NULL;
}

/* Counts when the transaction has committed. */
void
queen_count(int32 queue_id, int32 group_id, QueenCounter counter, int64 number)
{
	int			level = GetCurrentTransactionNestLevel();
	CounterKey	key;
	Pending    *found;

	if (state == NULL || queen_counter_entries == 0 || number == 0)
		return;
	key = make_key(queue_id, group_id);
	found = find_pending(&key, level);
	if (found == NULL && npending == MAX_PENDING)
	{
		queen_count_now(queue_id, group_id, counter, number);
		return;
	}
	if (found == NULL)
	{
		found = &pending[npending++];
		memset(found, 0, sizeof(Pending));
		found->key = key;
		found->level = level;
	}
	found->values[counter] += number;
}

/* A transaction has committed, or is prepared. */
void
queen_count_commit(void)
{
	for (int i = 0; i < npending; i++)
		publish(&pending[i].key, pending[i].values);
	npending = 0;
}

/* A savepoint of a level, or (1) the transaction, is rolled back. */
void
queen_count_abort(int level)
{
	while (npending > 0 && pending[npending - 1].level >= level)
		npending--;
}

/* A savepoint of a level is released: its parent counts for it. */
void
queen_count_release(int level)
{
	int			first = npending;

	while (first > 0 && pending[first - 1].level >= level)
		first--;
	for (int i = first, end = npending; i < end; i++)
	{
		Pending		child = pending[i];
		Pending    *parent;

		npending = first;
		parent = find_pending(&child.key, level - 1);
		if (parent == NULL)
		{
			parent = &pending[first++];
			npending = first;
			*parent = child;
			parent->level = level - 1;
			continue;
		}
		for (int j = 0; j < QUEEN_COUNTERS; j++)
			parent->values[j] += child.values[j];
	}
}

/* A group, or (0) a queue with all its groups, is gone. */
void
queen_counters_forget(int32 queue_id, int32 group_id)
{
	HASH_SEQ_STATUS scan;
	CounterEntry *entry;

	if (state == NULL)
		return;
	LWLockAcquire(&state->lock, LW_EXCLUSIVE);
	hash_seq_init(&scan, entries);
	while ((entry = hash_seq_search(&scan)) != NULL)
	{
		if (entry->key.database == MyDatabaseId && entry->key.queue_id == queue_id &&
			(group_id == 0 || entry->key.group_id == group_id))
			hash_search(entries, &entry->key, HASH_REMOVE, NULL);
	}
	LWLockRelease(&state->lock);
}

/* What is counted; false where there is no entry and no room for one. */
bool
queen_counters_read(int32 queue_id, int32 group_id, QueenCounts *counts)
{
	CounterKey	key = make_key(queue_id, group_id);
	CounterEntry *entry;
	bool		room;

	memset(counts, 0, sizeof(QueenCounts));
	if (state == NULL || queen_counter_entries == 0)
		return false;
	LWLockAcquire(&state->lock, LW_SHARED);
	entry = hash_search(entries, &key, HASH_FIND, NULL);
	room = entry != NULL || hash_get_num_entries(entries) < queen_counter_entries;
	for (int i = 0; entry && i < QUEEN_COUNTERS; i++)
		counts->values[i] = (int64) pg_atomic_read_u64(&entry->values[i]);
	if (entry)
		counts->since = entry->since;
	LWLockRelease(&state->lock);
	return room;
}

/* Counts a queue and its groups from 0 on. */
void
queen_counters_reset(int32 queue_id)
{
	TimestampTz now = GetCurrentTimestamp();
	Oid			table = queen_tables_id();
	HASH_SEQ_STATUS scan;
	CounterEntry *entry;

	LWLockAcquire(&state->lock, LW_EXCLUSIVE);
	hash_seq_init(&scan, entries);
	while ((entry = hash_seq_search(&scan)) != NULL)
	{
		if (entry->key.database != MyDatabaseId || entry->key.table != table ||
			entry->key.queue_id != queue_id)
			continue;
		for (int i = 0; i < QUEEN_COUNTERS; i++)
			pg_atomic_write_u64(&entry->values[i], 0);
		entry->since = now;
	}
	LWLockRelease(&state->lock);
}

/* The queues of this database that have entries of their own or of their groups. */
int
queen_counters_queues(int32 **queue_ids)
{
	HASH_SEQ_STATUS scan;
	CounterEntry *entry;
	int			count = 0;

	*queue_ids = palloc(sizeof(int32) * Max(queen_counter_entries, 1));
	LWLockAcquire(&state->lock, LW_SHARED);
	hash_seq_init(&scan, entries);
	while ((entry = hash_seq_search(&scan)) != NULL)
	{
		if (entry->key.database == MyDatabaseId && entry->key.table == queen_tables_id())
			(*queue_ids)[count++] = entry->key.queue_id;
	}
	LWLockRelease(&state->lock);
	return count;
}
