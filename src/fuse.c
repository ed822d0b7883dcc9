/*-------------------------------------------------------------------------
 *
 * fuse.c
 *	  The shared memory through which fused pushes reach their worker.
 *
 * Each backend has a slot, and each worker a seat. A caller writes its request
 * into its slot, sets its bit in the seat of its database and sleeps. The
 * worker collects the bits, takes the slots, commits, writes the answers and
 * wakes the callers. A slot changes hands by its state alone; the only lock is
 * for finding a seat and starting a worker, and no call of a running worker
 * takes it:
 *
 *	FREE -> WAITING		the caller has written the request
 *	WAITING -> FREE		the caller takes it back, as long as nobody took it
 *	WAITING -> TAKEN	the worker commits it now
 *	TAKEN -> WAITING	not now: somebody has a lock that it needs
 *	TAKEN -> ANSWERED	the worker has written the answer
 *	ANSWERED -> FREE	the caller has read it
 *
 * So a request is in one place only, and one that a caller took back is never
 * appended. A caller that goes while its request is taken leaves the slot as it
 * is; whoever has the slot next waits for the worker to answer.
 *
 * The memory of the slots is shared out evenly, so that no caller waits for
 * another one's bytes: a full buffer does not exist. A request that is larger
 * than its share travels in a dynamic segment that its caller makes.
 *
 * Worker and callers cannot miss each other: the caller sets its bit before it
 * looks whether the seat is taken, a worker that leaves empties the seat before
 * it looks at the bits a last time. A worker that ends by an error answers all
 * that it took, as nothing of that was committed, and wakes everybody.
 *
 * A process that is killed makes the postmaster start all others anew, with
 * this memory: nothing here has to survive that.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "fuse.h"
#include "settings.h"

/* A worker that has not come up by then is started again. */
#define START_TIMEOUT_MS 10000

typedef struct QueenFusion
{
	LWLock		lock;			/* for taking seats and starting workers */
	int			nslots;
	int			nseats;
	Size		slot_size;
	Size		seat_size;
} QueenFusion;

static QueenFusion *fusion = NULL;
static char *slots = NULL;
static char *seats = NULL;

/* The seat of this database, as last seen; others may have it by now. */
static QueenSeat *my_seat = NULL;

/* ---------------------------------------------------------------------------
 * Memory
 * ------------------------------------------------------------------------ */

/* A slot, with its share of the buffer. */
static Size
slot_size(void)
{
	Size		share = (Size) queen_fusion_buffer * 1024 / MaxBackends;

	return CACHELINEALIGN(offsetof(QueenSlot, bytes) + share);
}

/* A seat, with a bit for each backend. */
static Size
seat_size(void)
{
	return CACHELINEALIGN(offsetof(QueenSeat, calls) +
						  sizeof(pg_atomic_uint64) * ((MaxBackends + 63) / 64));
}

/* Each database that has a worker needs a seat; there are no more workers. */
static int
count_seats(void)
{
	return Max(max_worker_processes, 1);
}

/* Bytes of all of it. */
Size
queen_fusion_size(void)
{
	Size		size = CACHELINEALIGN(sizeof(QueenFusion)) + PG_CACHE_LINE_SIZE;

	size = add_size(size, mul_size(slot_size(), MaxBackends));
	return add_size(size, mul_size(seat_size(), count_seats()));
}

QueenSlot *
queen_fusion_slot(int number)
{
	return (QueenSlot *) (slots + fusion->slot_size * number);
}

/* Bytes of a request that a slot has room for. */
Size
queen_fusion_room(void)
{
	return fusion->slot_size - offsetof(QueenSlot, bytes);
}

QueenSeat *
queen_fusion_seat(int number)
{
	return (QueenSeat *) (seats + fusion->seat_size * number);
}

/* Where the parts begin. */
static void
find_parts(void)
{
	slots = (char *) CACHELINEALIGN(fusion + 1);
	seats = slots + fusion->slot_size * fusion->nslots;
}

/* Sets everything up: slots free, seats empty. */
static void
init_parts(void)
{
	LWLockInitialize(&fusion->lock, LWLockNewTrancheId());
	fusion->nslots = MaxBackends;
	fusion->nseats = count_seats();
	fusion->slot_size = slot_size();
	fusion->seat_size = seat_size();
	find_parts();
	for (int i = 0; i < fusion->nslots; i++)
		pg_atomic_init_u32(&queen_fusion_slot(i)->state, QUEEN_SLOT_FREE);
	for (int i = 0; i < fusion->nseats; i++)
	{
		QueenSeat  *seat = queen_fusion_seat(i);

		pg_atomic_init_u32(&seat->state, QUEEN_SEAT_EMPTY);
		pg_atomic_init_u32(&seat->leave, 0);
		seat->database = InvalidOid;
		for (int word = 0; word < (MaxBackends + 63) / 64; word++)
			pg_atomic_init_u64(&seat->calls[word], 0);
	}
}

/* Called by the postmaster, with the lock on new pieces of memory. */
void
queen_fusion_init(void)
{
	bool		found;

	fusion = ShmemInitStruct("queen fusion", queen_fusion_size(), &found);
	if (found)
		find_parts();
	else
		init_parts();
	LWLockRegisterTranche(fusion->lock.tranche, "queen_fusion");
}

/* ---------------------------------------------------------------------------
 * Seats
 * ------------------------------------------------------------------------ */

/* Whether a worker of this database sits there. */
static bool
is_served(const QueenSeat *seat)
{
	return seat != NULL && seat->database == MyDatabaseId &&
		pg_atomic_read_u32(&((QueenSeat *) seat)->state) == QUEEN_SEAT_TAKEN;
}

/* The seat of this database, or one that nobody sits on, or NULL. Locked. */
static QueenSeat *
find_seat(void)
{
	QueenSeat  *empty = NULL;

	for (int i = 0; i < fusion->nseats; i++)
	{
		QueenSeat  *seat = queen_fusion_seat(i);

		if (seat->database == MyDatabaseId)
			return seat;
		if (pg_atomic_read_u32(&seat->state) == QUEEN_SEAT_EMPTY &&
			(empty == NULL || !OidIsValid(seat->database)))
			empty = seat;
	}
	if (empty)
		empty->database = MyDatabaseId;
	return empty;
}

/* Sets this backend's bit; a full barrier. */
static void
set_call(QueenSeat *seat)
{
	int			number = queen_my_proc_number();

	pg_atomic_fetch_or_u64(&seat->calls[number / 64], UINT64CONST(1) << (number % 64));
}

/* Asks the postmaster for a worker. Locked. */
static bool
start_worker(QueenFusionStart *start, QueenSeat *seat)
{
	int			number = (int) (((char *) seat - seats) / fusion->seat_size);
	BackgroundWorker worker = {
		.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
		.bgw_start_time = BgWorkerStart_RecoveryFinished,
		.bgw_restart_time = BGW_NEVER_RESTART,
		.bgw_main_arg = Int32GetDatum(number),
		.bgw_notify_pid = MyProcPid
	};

	strlcpy(worker.bgw_name, "queen fusion worker", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "queen fusion worker", BGW_MAXLEN);
	strlcpy(worker.bgw_library_name, "queen", sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "queen_fusion_worker_main", BGW_MAXLEN);
	if (!RegisterDynamicBackgroundWorker(&worker, &start->handle))
		return false;
	start->started_at = GetCurrentTimestamp();
	seat->started_at = start->started_at;
	pg_atomic_write_u32(&seat->leave, 0);
	pg_atomic_write_u32(&seat->state, QUEEN_SEAT_STARTING);
	return true;
}

/* Whether a seat wants a worker; one that did not come up is given up. Locked. */
static bool
needs_worker(QueenSeat *seat)
{
	uint32		state = pg_atomic_read_u32(&seat->state);

	return state == QUEEN_SEAT_EMPTY ||
		(state == QUEEN_SEAT_STARTING &&
		 TimestampDifferenceExceeds(seat->started_at, GetCurrentTimestamp(), START_TIMEOUT_MS));
}

/* Finds this database's seat, sees to it that somebody comes, and calls. */
static void
find_worker(QueenFusionStart *start)
{
	QueenSeat  *seat;
	bool		started = true;

	LWLockAcquire(&fusion->lock, LW_EXCLUSIVE);
	seat = find_seat();
	if (seat)
	{
		set_call(seat);
		if (needs_worker(seat))
			started = start_worker(start, seat);
	}
	LWLockRelease(&fusion->lock);
	if (seat == NULL || !started)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("no background worker is free for fused pushes"),
				 errhint("You might need to increase max_worker_processes.")));
	my_seat = seat;
	if (is_served(seat))
		SetLatch(seat->latch);
}

/* Calls the worker, and starts it where there is none. */
void
queen_fusion_call(QueenFusionStart *start)
{
	if (my_seat)
		set_call(my_seat);
	if (is_served(my_seat))
		SetLatch(my_seat->latch);
	else
		find_worker(start);
}

/* Tells a worker that never came up from one that is slow. */
void
queen_fusion_check_start(QueenFusionStart *start)
{
	pid_t		pid;
	bool		failed;

	if (start->handle == NULL || GetBackgroundWorkerPid(start->handle, &pid) != BGWH_STOPPED)
		return;
	start->handle = NULL;
	LWLockAcquire(&fusion->lock, LW_EXCLUSIVE);
	failed = my_seat->database == MyDatabaseId && my_seat->started_at == start->started_at &&
		pg_atomic_read_u32(&my_seat->state) == QUEEN_SEAT_STARTING;
	if (failed)
		pg_atomic_write_u32(&my_seat->state, QUEEN_SEAT_EMPTY);
	LWLockRelease(&fusion->lock);
	if (failed)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("could not start the worker of fused pushes"),
				 errhint("More details may be available in the server log.")));
}

/* Whether the worker that this backend calls is there. */
bool
queen_fusion_is_served(void)
{
	return is_served(my_seat);
}

/* The seat becomes that of the worker that it was meant for. */
bool
queen_fusion_take_seat(QueenSeat *seat)
{
	bool		mine;

	LWLockAcquire(&fusion->lock, LW_EXCLUSIVE);
	mine = seat->database == MyDatabaseId &&
		pg_atomic_read_u32(&seat->state) == QUEEN_SEAT_STARTING;
	if (mine)
	{
		seat->latch = MyLatch;
		pg_atomic_exchange_u32(&seat->state, QUEEN_SEAT_TAKEN);
	}
	LWLockRelease(&fusion->lock);

	return mine;
}

/* For a worker that leaves; a full barrier. */
void
queen_fusion_empty_seat(QueenSeat *seat)
{
	pg_atomic_exchange_u32(&seat->state, QUEEN_SEAT_EMPTY);
}

/* After that: takes the seat again where somebody has called meanwhile. */
bool
queen_fusion_keep_seat(QueenSeat *seat)
{
	bool		called = false;

	LWLockAcquire(&fusion->lock, LW_EXCLUSIVE);
	for (int word = 0; word < (fusion->nslots + 63) / 64; word++)
		called = called || pg_atomic_read_u64(&seat->calls[word]) != 0;
	called = called && seat->database == MyDatabaseId &&
		pg_atomic_read_u32(&seat->state) == QUEEN_SEAT_EMPTY;
	if (called)
	{
		seat->latch = MyLatch;
		pg_atomic_exchange_u32(&seat->state, QUEEN_SEAT_TAKEN);
	}
	LWLockRelease(&fusion->lock);

	return called;
}

/* Asks the worker of a database to leave it, where there are such workers. */
void
queen_fusion_leave(Oid database)
{
	for (int i = 0; fusion && OidIsValid(database) && i < fusion->nseats; i++)
	{
		QueenSeat  *seat = queen_fusion_seat(i);

		if (seat->database != database)
			continue;
		pg_atomic_write_u32(&seat->leave, 1);
		if (pg_atomic_read_u32(&seat->state) == QUEEN_SEAT_TAKEN)
			SetLatch(seat->latch);
	}
}

/* Adds to count slots those that have called and are not among them. */
int
queen_fusion_collect(QueenSeat *seat, int *numbers, bool *queued, int count)
{
	for (int word = 0; word < (fusion->nslots + 63) / 64; word++)
	{
		uint64		bits = 0;

		if (pg_atomic_read_u64(&seat->calls[word]) != 0)
			bits = pg_atomic_exchange_u64(&seat->calls[word], 0);
		while (bits != 0)
		{
			int			number = word * 64 + pg_rightmost_one_pos64(bits);

			bits &= bits - 1;
			if (!queued[number])
				numbers[count++] = number;
			queued[number] = true;
		}
	}
	return count;
}

/* The answer is written: it is the caller's, who wakes. */
void
queen_fusion_answer(int number)
{
	pg_atomic_exchange_u32(&queen_fusion_slot(number)->state, QUEEN_SLOT_ANSWERED);
	SetLatch(&ProcGlobal->allProcs[number].procLatch);
}

/* Makes all callers of this database look what became of their worker. */
void
queen_fusion_wake_all(void)
{
	for (int i = 0; i < fusion->nslots; i++)
	{
		QueenSlot  *slot = queen_fusion_slot(i);

		if (pg_atomic_read_u32(&slot->state) == QUEEN_SLOT_WAITING && slot->database == MyDatabaseId)
			SetLatch(&ProcGlobal->allProcs[i].procLatch);
	}
}
