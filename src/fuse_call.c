/*-------------------------------------------------------------------------
 *
 * fuse_call.c
 *	  A caller of a fused push: its slot, its sleep, its answer.
 *
 * The caller may take its request back as long as nobody took it; that is done
 * before any interrupt is served. Where its partition is locked by others for
 * long, it waits for the lock itself and holds it for the worker, who appends
 * without asking for it. Were it to go while its message is being committed,
 * and another session to append between, the second one of the two would run
 * into the primary key of queen.segment: an error, no disorder.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "fuse.h"

/* How often a caller looks by itself: while its worker starts, and later. */
#define LOOK_STARTING_MS 100
#define LOOK_MS 1000

static uint32 wait_event = 0;

/* One call. */
typedef struct Caller
{
	QueenSlot  *slot;
	QueenFusionStart start;
	QueenWanted held;			/* where slot->held_partition is set */
} Caller;

/* Changes the state of a slot if it is as expected. */
static bool
change_state(QueenSlot *slot, uint32 from, uint32 to)
{
	return pg_atomic_compare_exchange_u32(&slot->state, &from, to);
}

/*
 * This backend's slot. What a call that was cut off, here or in a backend
 * before this one, has left in it is taken back, or waited for.
 */
static QueenSlot *
claim_slot(void)
{
	QueenSlot  *slot = queen_fusion_slot(queen_my_proc_number());

	while (pg_atomic_read_u32(&slot->state) != QUEEN_SLOT_FREE &&
		   !change_state(slot, QUEEN_SLOT_WAITING, QUEEN_SLOT_FREE) &&
		   !change_state(slot, QUEEN_SLOT_ANSWERED, QUEEN_SLOT_FREE))
	{
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 LOOK_STARTING_MS, queen_wait_event(&wait_event, "QueenFusedPush"));
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	return slot;
}

/* Copies some bytes and answers where the next ones go. */
static char *
put(char *to, const char *from, Size len)
{
	if (len > 0)
		memcpy(to, from, len);
	return to + len;
}

/* Writes a request into a slot; what is too large for it goes to a segment. */
static void
fill_slot(QueenSlot *slot, const QueenFusionRequest *request)
{
	const QueenMessage *message = &request->message;
	char	   *to = slot->bytes;

	slot->database = MyDatabaseId;
	slot->request = *request;
	slot->blocked_since = 0;
	slot->held_partition = 0;
	slot->segment = DSM_HANDLE_INVALID;
	slot->size = (Size) request->queue_len + request->partition_len +
		message->transaction_id_len + message->headers_len + message->payload_len;
	if (slot->size > queen_fusion_room())
	{
		dsm_segment *segment = dsm_create(slot->size, 0);

		slot->segment = dsm_segment_handle(segment);
		to = dsm_segment_address(segment);
	}
	to = put(to, request->queue, request->queue_len);
	to = put(to, request->partition, request->partition_len);
	to = put(to, message->transaction_id, message->transaction_id_len);
	to = put(to, message->headers, message->headers_len);
	put(to, message->payload, message->payload_len);
}

/* Says in an error that it came too late to stop the push. */
static void
taken_context(void *argument)
{
	errcontext("the message was being committed and may have been appended");
}

/*
 * A request that nobody took yet is taken back before anything is raised. One
 * that was taken may be appended all the same.
 */
static void
process_interrupts(Caller *caller)
{
	ErrorContextCallback context = {.callback = taken_context, .previous = error_context_stack};

	if (change_state(caller->slot, QUEEN_SLOT_WAITING, QUEEN_SLOT_FREE))
	{
		CHECK_FOR_INTERRUPTS();
		pg_atomic_exchange_u32(&caller->slot->state, QUEEN_SLOT_WAITING);
		queen_fusion_call(&caller->start);
	}
	else if (pg_atomic_read_u32(&caller->slot->state) == QUEEN_SLOT_TAKEN)
	{
		error_context_stack = &context;
		CHECK_FOR_INTERRUPTS();
		error_context_stack = context.previous;
	}
}

/* Hands the request over and sleeps until it is answered. */
static void
await_answer(Caller *caller)
{
	QueenSlot  *slot = caller->slot;
	uint32		state;

	pg_atomic_exchange_u32(&slot->state, QUEEN_SLOT_WAITING);
	queen_fusion_call(&caller->start);
	while ((state = pg_atomic_read_u32(&slot->state)) != QUEEN_SLOT_ANSWERED)
	{
		int			event = WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
									  queen_fusion_is_served() ? LOOK_MS : LOOK_STARTING_MS,
									  queen_wait_event(&wait_event, "QueenFusedPush"));

		ResetLatch(MyLatch);
		if (InterruptPending)
			process_interrupts(caller);
		queen_fusion_check_start(&caller->start);
		if (pg_atomic_read_u32(&slot->state) == QUEEN_SLOT_WAITING &&
			((event & WL_TIMEOUT) || !queen_fusion_is_served()))
			queen_fusion_call(&caller->start);
	}
	pg_read_barrier();
}

/* Takes the answer out of the slot, which is free then. */
static void
read_answer(Caller *caller, QueenFusionAnswer *answer)
{
	*answer = caller->slot->answer;
	pg_atomic_exchange_u32(&caller->slot->state, QUEEN_SLOT_FREE);
	if (caller->slot->held_partition != 0)
	{
		caller->slot->held_partition = 0;
		queen_wanted_unlock(&caller->held);
	}
}

/*
 * Somebody has a lock that the request needs. Where that is this transaction,
 * nobody would ever give it. Else the worker tries for some time; after that
 * the caller waits for the lock itself, in the server's queue for it, where
 * others let it pass in its turn and deadlocks are seen. An append lock it
 * keeps then until the worker, who takes it for his own, has answered.
 */
static void
await_lock(Caller *caller, const QueenWanted *wanted)
{
	QueenSlot  *slot = caller->slot;

	if (queen_wanted_is_held(wanted))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("this transaction holds a lock that the fused push needs"),
				 errdetail("A fused push is appended by another session, which does not see what this transaction has pushed, made or changed."),
				 errhint("Commit first, or use queen.push().")));
	if (!TimestampDifferenceExceeds(slot->blocked_since, GetCurrentTimestamp(),
									QUEEN_FUSION_PATIENCE_MS))
		return;
	queen_wanted_lock(wanted);
	slot->blocked_since = 0;
	slot->held_partition = queen_wanted_partition(wanted);
	caller->held = *wanted;
	if (slot->held_partition == 0)
		queen_wanted_unlock(wanted);
}

/* For a caller that goes: takes back what nobody took. */
static void
abandon(int code, Datum number)
{
	QueenSlot  *slot = queen_fusion_slot(DatumGetInt32(number));

	change_state(slot, QUEEN_SLOT_WAITING, QUEEN_SLOT_FREE);
}

/* Asks until the worker knows. */
static void
ask(Caller *caller, QueenFusionAnswer *answer)
{
	for (;;)
	{
		await_answer(caller);
		read_answer(caller, answer);
		if (answer->result == QUEEN_FUSION_BLOCKED)
			await_lock(caller, &answer->wanted);
		else if (answer->result != QUEEN_FUSION_AGAIN)
			return;
	}
}

/* Pushes; answers queued, refused or unknown queue. */
void
queen_fusion_push(const QueenFusionRequest *request, QueenFusionAnswer *answer)
{
	Caller		caller = {.slot = claim_slot()};

	fill_slot(caller.slot, request);
	PG_ENSURE_ERROR_CLEANUP(abandon, Int32GetDatum(queen_my_proc_number()));
	{
		ask(&caller, answer);
	}
	PG_END_ENSURE_ERROR_CLEANUP(abandon, Int32GetDatum(queen_my_proc_number()));
	if (caller.slot->segment != DSM_HANDLE_INVALID)
		dsm_detach(dsm_find_mapping(caller.slot->segment));
}
