/*-------------------------------------------------------------------------
 *
 * lease.c
 *	  Leases: their uuids, and the cursors behind them.
 *
 * A lease is 48 bits of partition, 32 bits of group and a random nonce of 48
 * bits that the cursor keeps for the life of the lease. The nonce is never
 * derived from the cursor's version: a rollback gives a version out again.
 * A lease is good while the newest version of its cursor has its nonce,
 * expired or not; whoever takes the partition over writes another.
 *
 * Opening leases locks, in the order of locks.c, all their queues, then all
 * their groups, then all their cursors. Two leases on one cursor share a place.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"

#include "cursor_store.h"
#include "errors.h"
#include "group.h"
#include "lease.h"
#include "locks.h"
#include "queue.h"
#include "queue_cache.h"

#define NONCE_BYTES 6
#define NONCES_AT_ONCE 32

/* A random number of 48 bits, never 0. */
int64
queen_lease_new_nonce(void)
{
	static uint8 random[NONCE_BYTES * NONCES_AT_ONCE];
	static int	left = 0;
	int64		nonce = 0;

	while (nonce == 0)
	{
		if (left == 0)
		{
			if (!pg_strong_random(random, sizeof(random)))
				ereport(ERROR,
						(errcode(ERRCODE_INTERNAL_ERROR),
						 errmsg("could not generate random values")));
			left = NONCES_AT_ONCE;
		}
		left--;
		for (int i = 0; i < NONCE_BYTES; i++)
			nonce = (nonce << 8) | random[left * NONCE_BYTES + i];
	}
	return nonce;
}

/* Writes a number, most significant byte first. */
static void
put_number(uint8 *out, uint64 number, int bytes)
{
	for (int i = bytes - 1; i >= 0; i--, number >>= 8)
		out[i] = (uint8) number;
}

/* And reads it. */
static uint64
get_number(const uint8 *in, int bytes)
{
	uint64		number = 0;

	for (int i = 0; i < bytes; i++)
		number = (number << 8) | in[i];
	return number;
}

/* The uuid of a lease. */
pg_uuid_t *
queen_lease_encode(int64 partition_id, int32 group_id, int64 nonce)
{
	pg_uuid_t  *uuid = palloc(sizeof(pg_uuid_t));

	put_number(uuid->data, (uint64) partition_id, 6);
	put_number(uuid->data + 6, (uint32) group_id, 4);
	put_number(uuid->data + 10, (uint64) nonce, 6);

	return uuid;
}

/* What a uuid says, be it ours or not. */
QueenLease
queen_lease_decode(const pg_uuid_t *uuid)
{
	QueenLease	lease = {.uuid = *uuid};

	lease.partition_id = (int64) get_number(uuid->data, 6);
	lease.group_id = (int32) get_number(uuid->data + 6, 4);
	lease.nonce = (int64) get_number(uuid->data + 10, 6);

	return lease;
}

static int
compare_queues(const void *a, const void *b)
{
	const QueenPlace *left = (*(QueenLease *const *) a)->place;
	const QueenPlace *right = (*(QueenLease *const *) b)->place;

	return left->partition.queue_id < right->partition.queue_id ? -1 :
		left->partition.queue_id > right->partition.queue_id;
}

static int
compare_groups(const void *a, const void *b)
{
	const QueenLease *left = *(QueenLease *const *) a;
	const QueenLease *right = *(QueenLease *const *) b;

	return left->group_id < right->group_id ? -1 : left->group_id > right->group_id;
}

static int
compare_cursors(const void *a, const void *b)
{
	const QueenLease *left = *(QueenLease *const *) a;
	const QueenLease *right = *(QueenLease *const *) b;

	if (left->partition_id != right->partition_id)
		return left->partition_id < right->partition_id ? -1 : 1;
	return compare_groups(a, b);
}

/* Keeps the leases that may still be good. */
static int
drop_lost(QueenLease **leases, int n)
{
	int			kept = 0;

	for (int i = 0; i < n; i++)
	{
		if (leases[i]->place)
			leases[kept++] = leases[i];
	}
	return kept;
}

/* Finds the partitions; what has none is lost. */
static int
find_partitions(QueenLease **leases, int n)
{
	for (int i = 0; i < n; i++)
	{
		QueenPlace *place = palloc0(sizeof(QueenPlace));

		if (queen_partition_by_id(leases[i]->partition_id, &place->partition))
			leases[i]->place = place;
	}
	return drop_lost(leases, n);
}

/* Locks the queues, and checks the caller's rights on them. */
static int
lock_queues(QueenLease **leases, int n)
{
	QueenQueue *queue = NULL;

	qsort(leases, n, sizeof(QueenLease *), compare_queues);
	for (int i = 0; i < n; i++)
	{
		int32		queue_id = leases[i]->place->partition.queue_id;

		if (i == 0 || queue_id != leases[i - 1]->place->partition.queue_id)
		{
			queen_lock_queue(queue_id, ShareLock);
			queue = queen_queue_cached(queue_id);
			if (queue)
				queen_queue_check_rights(queue, QUEEN_PRIVILEGE_POP);
		}
		leases[i]->place->queue = queue;
	}
	for (int i = 0; i < n; i++)
	{
		if (leases[i]->place->queue == NULL)
			leases[i]->place = NULL;
	}
	return drop_lost(leases, n);
}

/* The group of a lease, locked; NULL, and no lock, where its queue has none such. */
static QueenGroup *
lock_group(const QueenLease *lease)
{
	QueenGroup *group = queen_group_by_id(lease->group_id);

	if (group == NULL || group->queue_id != lease->place->queue->queue_id)
		return NULL;
	if (!queen_lock_group(lease->group_id, ShareLock, false))
		return group;
	group = queen_group_by_id(lease->group_id);
	if (group == NULL)
		queen_unlock_group(lease->group_id, ShareLock);
	return group;
}

/* Locks the groups. One of another queue is not touched: the lease is forged. */
static int
lock_groups(QueenLease **leases, int n)
{
	QueenGroup *group = NULL;

	qsort(leases, n, sizeof(QueenLease *), compare_groups);
	for (int i = 0; i < n; i++)
	{
		QueenPlace *place = leases[i]->place;

		if (group == NULL || group->group_id != leases[i]->group_id ||
			group->queue_id != place->queue->queue_id)
			group = lock_group(leases[i]);
		place->group = group;
		if (group == NULL)
			leases[i]->place = NULL;
	}
	return drop_lost(leases, n);
}

/* Locks and reads the cursors. */
static void
lock_cursors(QueenLease **leases, int n)
{
	qsort(leases, n, sizeof(QueenLease *), compare_cursors);
	for (int i = 0; i < n; i++)
	{
		QueenPlace *place = leases[i]->place;

		if (i > 0 && compare_cursors(&leases[i - 1], &leases[i]) == 0)
		{
			leases[i]->place = leases[i - 1]->place;
			continue;
		}
		queen_group_lock_cursor(place->group, place->partition.partition_id);
		queen_group_read_cursor(place->group, &place->partition, &place->cursor);
	}
}

/* Pointers to leases, to be sorted while the leases keep their order. */
static QueenLease **
point_at(QueenLease *leases, int n)
{
	QueenLease **pointers = palloc(sizeof(QueenLease *) * Max(n, 1));

	for (int i = 0; i < n; i++)
		pointers[i] = &leases[i];
	return pointers;
}

/* Opens leases of any queues. */
void
queen_leases_open(QueenLease *leases, int n)
{
	QueenLease **pointers = point_at(leases, n);

	n = find_partitions(pointers, n);
	n = lock_queues(pointers, n);
	n = lock_groups(pointers, n);
	lock_cursors(pointers, n);
}

/* Opens leases of one group, which the caller has locked already. */
void
queen_leases_open_within(QueenLease *leases, int n, QueenQueue *queue,
						 QueenGroup *group)
{
	QueenLease **pointers = point_at(leases, n);

	n = find_partitions(pointers, n);
	for (int i = 0; i < n; i++)
	{
		QueenPlace *place = pointers[i]->place;

		if (place->partition.queue_id != queue->queue_id ||
			pointers[i]->group_id != group->group_id)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("a lease in \"ack\" is of another queue or consumer group"),
					 errhint("Complete it by queen.ack().")));
		place->queue = queue;
		place->group = group;
	}
	lock_cursors(pointers, n);
}

/* What has become of a lease. */
QueenLeaseState
queen_lease_state(const QueenLease *lease)
{
	if (lease->place == NULL)
		return QUEEN_LEASE_LOST;
	if (lease->nonce != 0 && lease->place->cursor.lease_nonce == lease->nonce)
		return QUEEN_LEASE_LIVE;
	if (queen_cursor_finished(&lease->place->cursor, lease->nonce))
		return QUEEN_LEASE_COMPLETED;
	return QUEEN_LEASE_LOST;
}

/* Says that a lease is lost: an error, or a warning. */
void
queen_lease_report_lost(const QueenLease *lease, int level)
{
	char	   *uuid = DatumGetCString(DirectFunctionCall1(uuid_out, UUIDPGetDatum(&lease->uuid)));

	ereport(level,
			(errcode(ERRCODE_QUEEN_LEASE_LOST),
			 errmsg("lease %s is lost", uuid),
			 errdetail("It expired and was taken by another pop, ended otherwise, or never was one.")));
}

/* Opens one lease, which must not be lost. */
QueenPlace *
queen_lease_open(const pg_uuid_t *uuid, QueenLeaseState *state)
{
	QueenLease	lease = queen_lease_decode(uuid);

	queen_leases_open(&lease, 1);
	*state = queen_lease_state(&lease);
	if (*state == QUEEN_LEASE_LOST)
		queen_lease_report_lost(&lease, ERROR);
	return lease.place;
}

/* Opens one lease, which must be live. */
QueenPlace *
queen_lease_open_live(const pg_uuid_t *uuid)
{
	QueenLeaseState state;
	QueenPlace *place = queen_lease_open(uuid, &state);

	if (state != QUEEN_LEASE_LIVE)
		ereport(ERROR,
				(errcode(ERRCODE_QUEEN_LEASE_LOST),
				 errmsg("the lease is completed")));
	return place;
}

/* Refuses an offset that a lease never held. */
void
queen_lease_check_offset(const QueenCursor *cursor, int64 offset)
{
	if (offset < cursor->lease_start || offset > cursor->lease_end)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("offset %lld is not in the lease", (long long) offset),
				 errdetail("The lease holds offsets %lld to %lld.",
						   (long long) cursor->lease_start, (long long) cursor->lease_end)));
}

/* Completes all that a live lease holds; answers how many messages that were. */
int64
queen_lease_complete(QueenPlace *place)
{
	QueenCursor *cursor = &place->cursor;
	int64		completed = queen_cursor_complete_span(cursor, cursor->lease_start,
													   cursor->lease_end);

	queen_cursor_finish_lease(cursor);
	place->changed = true;
	queen_place_count(place, QUEEN_COUNT_ACKS, completed);

	return completed;
}

/* Counts for the group of a place. */
void
queen_place_count(const QueenPlace *place, QueenCounter counter, int64 number)
{
	queen_count(place->queue->queue_id, place->group->group_id, counter, number);
}

/* Writes a place where it has changed. */
void
queen_place_write(QueenPlace *place)
{
	if (place->changed)
		queen_cursor_write(&place->cursor, GetCurrentTimestamp());
	place->changed = false;
}
