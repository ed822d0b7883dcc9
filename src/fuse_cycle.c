/*-------------------------------------------------------------------------
 *
 * fuse_cycle.c
 *	  One cycle of the fusion worker: what waits becomes one transaction.
 *
 * A cycle takes the requests that wait, sorts them by queue and partition,
 * appends one segment to each partition, commits once, and answers all. While
 * it waits for the disk the next requests pile up.
 *
 * No lock is waited for. A request that needs one which somebody else has is
 * set aside and tried again in the next cycles; its caller is told at once (he
 * may hold the lock himself), and again when that has lasted for too long.
 *
 * A request that cannot be met is refused alone: what can be known before is
 * looked at first. Where the transaction fails all the same, it is done again
 * in halves, so that the error finds the request that it belongs to.
 *
 * Memory: "queen fusion cycle", reset after each cycle.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "replication/syncrep.h"
#include "replication/walsender.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "fuse.h"
#include "fuse_append.h"
#include "fuse_cycle.h"
#include "locks.h"
#include "statement.h"

/* Bytes of requests from which on the rest waits for the next cycle. */
#define CYCLE_BYTES (16 * 1024 * 1024)

static MemoryContext memory = NULL;

/* The requests that are taken, for when the worker ends before it answers. */
static QueenFusedPush *taken = NULL;
static int	ntaken = 0;

/* How long the last commit took, in microseconds. */
static int64 commit_took = 0;

/* Whether a commit is under way, which no cancel stops. */
static volatile sig_atomic_t committing = false;

/* ---------------------------------------------------------------------------
 * Taking and answering
 * ------------------------------------------------------------------------ */

/* Refuses a request by an error that was caught. */
static void
refuse_by(QueenFusedPush *request, const ErrorData *error)
{
	queen_fused_refuse(request, error->sqlerrcode, error->message, error->detail, error->hint);
}

/* Some bytes of a request, or NULL; goes on behind them. */
static const char *
next_bytes(const char **from, Size len)
{
	const char *bytes = *from;

	*from += len;
	return len > 0 ? bytes : NULL;
}

/* The bytes of a request; NULL where their segment is gone with its caller. */
static const char *
find_bytes(QueenFusedPush *request)
{
	if (request->slot->segment == DSM_HANDLE_INVALID)
		return request->slot->bytes;
	request->segment = dsm_attach(request->slot->segment);
	return request->segment ? dsm_segment_address(request->segment) : NULL;
}

/* Points into the bytes of a request that was taken. */
static void
read_request(QueenFusedPush *request)
{
	const QueenFusionRequest *sent = &request->slot->request;
	const char *from = find_bytes(request);

	if (from == NULL)
	{
		queen_fused_refuse(request, ERRCODE_CONNECTION_FAILURE,
						   "caller of a fused push is gone", NULL, NULL);
		return;
	}
	request->message = sent->message;
	request->queue = cstring_to_text_with_len(next_bytes(&from, sent->queue_len), sent->queue_len);
	request->named = sent->partition_len > 0;
	if (request->named)
		request->partition = cstring_to_text_with_len(next_bytes(&from, sent->partition_len),
													  sent->partition_len);
	request->message.transaction_id = next_bytes(&from, sent->message.transaction_id_len);
	request->message.headers = next_bytes(&from, sent->message.headers_len);
	request->message.payload = from;
}

/* The same; what goes wrong, as a segment that cannot be mapped, refuses it. */
static void
open_request(QueenFusedPush *request)
{
	PG_TRY();
	{
		read_request(request);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(memory);
		refuse_by(request, CopyErrorData());
		FlushErrorState();
	}
	PG_END_TRY();
}

/* Adds a text to those of an answer, as much of it as there is room for. */
static char *
put_text(char *to, const char *end, const char *from)
{
	int			len = pg_mbcliplen(from, strlen(from), Max((int) (end - to) - 1, 0));

	memcpy(to, from, len);
	to[len] = '\0';
	return to + len + 1;
}

/* Writes the texts of an answer; the last two have their share kept free. */
static void
write_texts(const QueenFusedPush *request, char *to)
{
	char	   *end = to + QUEEN_FUSION_TEXT;

	if (request->result == QUEEN_FUSION_REFUSED)
	{
		to = put_text(to, end - 512, request->error);
		to = put_text(to, end - 256, request->detail);
		put_text(to, end, request->hint);
	}
	else if (request->partition && !request->named)
		text_to_cstring_buffer(request->partition, to, QUEEN_FUSION_TEXT);
}

/* Gives a request back to its caller. */
static void
answer(QueenFusedPush *request)
{
	QueenFusionAnswer *to = &request->slot->answer;

	if (request->answered)
		return;
	request->answered = true;
	to->result = request->result;
	to->offset = request->offset;
	to->scheduled_id = request->scheduled_id;
	to->sqlstate = request->sqlstate;
	to->wanted = request->wanted;
	write_texts(request, to->text);
	if (request->segment)
		dsm_detach(request->segment);
	queen_fusion_answer(request->number);
}

/*
 * Takes what waits in a slot, if it is for this database: a backend of another one
 * may have come to the slot since its call was seen.
 */
static bool
take_slot(QueenSlot *slot)
{
	uint32		waiting = QUEEN_SLOT_WAITING;

	if (slot->database != MyDatabaseId ||
		!pg_atomic_compare_exchange_u32(&slot->state, &waiting, QUEEN_SLOT_TAKEN))
		return false;
	if (slot->database == MyDatabaseId)
		return true;
	pg_atomic_exchange_u32(&slot->state, QUEEN_SLOT_WAITING);
	return false;
}

/* Takes the requests that wait, in the order of their calls. */
static void
take_requests(QueenFusionCycle *cycle)
{
	Size		bytes = 0;
	int			left = 0;

	taken = palloc0(sizeof(QueenFusedPush) * cycle->count);
	for (int i = 0; i < cycle->count; i++)
	{
		int			number = cycle->slots[i];
		QueenSlot  *slot = queen_fusion_slot(number);

		if (bytes > CYCLE_BYTES)
			cycle->slots[left++] = number;
		else if (take_slot(slot))
		{
			QueenFusedPush *request = &taken[ntaken];

			request->number = number;
			request->slot = slot;
			open_request(request);
			bytes += slot->size;
			if (request->result == QUEEN_FUSION_NONE)
				ntaken++;
			else
			{
				answer(request);
				cycle->queued[number] = false;
				memset(request, 0, sizeof(QueenFusedPush));
			}
		}
		else
			cycle->queued[number] = false;
	}
	cycle->count = left;
}

/* Answers all whose fate is known; not those that were set aside. */
static void
answer_all(QueenFusedPush **requests, int count)
{
	for (int i = 0; i < count; i++)
	{
		if (requests[i]->result != QUEEN_FUSION_BLOCKED)
			answer(requests[i]);
	}
}

/*
 * A request that waits for a lock of somebody else's: answers whether it is to
 * be tried again. Its caller hears of the first time and of the last.
 */
static bool
set_aside(QueenFusedPush *request)
{
	QueenSlot  *slot = request->slot;
	TimestampTz now = GetCurrentTimestamp();
	bool		first = slot->blocked_since == 0;

	if (first)
		slot->blocked_since = now;
	if (first || TimestampDifferenceExceeds(slot->blocked_since, now, QUEEN_FUSION_PATIENCE_MS))
	{
		answer(request);
		return false;
	}
	request->answered = true;
	if (request->segment)
		dsm_detach(request->segment);
	pg_atomic_exchange_u32(&slot->state, QUEEN_SLOT_WAITING);
	return true;
}

/* The handler of SIGINT: lock_timeout works by it, too. */
void
queen_fusion_cancel(SIGNAL_ARGS)
{
	if (!committing)
		StatementCancelHandler(postgres_signal_arg);
}

/* ---------------------------------------------------------------------------
 * Transactions
 * ------------------------------------------------------------------------ */

/*
 * Locks the tables that will be written, before anything waits for them inside
 * a statement: whoever wants one for himself may wait for a caller of ours.
 */
static bool
lock_tables(QueenFusedPush **requests, int count, bool *gone)
{
	static const struct
	{
		const char *name;
		LOCKMODE	mode;
	}			tables[] = {
		{"queue", AccessShareLock}, {"partition", RowExclusiveLock}, {"segment", RowExclusiveLock}
	};
	Oid			schema = get_namespace_oid("queen", true);
	QueenWanted wanted;

	for (int i = 0; i < lengthof(tables); i++)
	{
		Oid			table = get_relname_relid(tables[i].name, schema);

		if (OidIsValid(table) && !queen_want_table(table, tables[i].mode, &wanted))
		{
			queen_fused_settle(requests, count, QUEEN_FUSION_BLOCKED, &wanted);
			return false;
		}
		*gone = *gone || get_relname_relid(tables[i].name, schema) == InvalidOid;
	}
	for (int i = 0; *gone && i < count; i++)
		queen_fused_refuse(requests[i], ERRCODE_UNDEFINED_OBJECT,
						   "extension \"queen\" does not exist in this database", NULL, NULL);
	return !*gone;
}

/*
 * For a worker that was told to go while it waited for standbys, which ends the
 * wait: what has been committed here may not have reached them, so that nobody
 * is told that it is safe.
 */
static void
doubt_committed(QueenFusedPush **requests, int count)
{
	if (!ProcDiePending || !SyncRepRequested() ||
		!(SyncRepStandbyNames[0] != '\0' || ConfigReloadPending))
		return;
	for (int i = 0; i < count; i++)
	{
		if (requests[i]->result == QUEEN_FUSION_QUEUED ||
			requests[i]->result == QUEEN_FUSION_DUPLICATE)
			queen_fused_refuse(requests[i], ERRCODE_T_R_STATEMENT_COMPLETION_UNKNOWN,
							   "worker of fused pushes ended while it waited for standbys",
							   "The message is committed here, but may not have reached them.",
							   "With a transaction_id, and inside the queue's dedup_window, it can be sent again.");
	}
}

/*
 * Commits. From here to the last answer nothing may end the worker, and nobody
 * but who ends it may end its wait for standbys: whoever cancels it is none of
 * the callers.
 */
static void
commit_transaction(QueenFusedPush **requests, int count)
{
	bool		writes = TransactionIdIsValid(GetTopTransactionIdIfAny());
	TimestampTz begun = GetCurrentTimestamp();

	committing = true;
	QueryCancelPending = false;
	CommitTransactionCommand();
	committing = false;
	if (writes)
	{
		commit_took = GetCurrentTimestamp() - begun;
		doubt_committed(requests, count);
	}
}

/* One transaction, and its answers. */
static void
run_transaction(QueenFusedPush **requests, int count, bool *gone)
{
	QueenFusedPush **open = palloc(sizeof(QueenFusedPush *) * count);

	for (int i = 0; i < count; i++)
		open[i] = requests[i];
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	MemoryContextSwitchTo(memory);
	if (lock_tables(open, count, gone))
	{
		int			nopen = queen_fused_keep_open(open, count);

		PushActiveSnapshot(GetTransactionSnapshot());
		queen_begin(NULL);
		if (nopen > 0)
			queen_fused_append(open, nopen);
		queen_end();
		PopActiveSnapshot();
	}

	HOLD_INTERRUPTS();
	commit_transaction(requests, count);
	answer_all(requests, count);
	RESUME_INTERRUPTS();
}

/* The same; answers the error where it failed, and nothing was answered then. */
static ErrorData *
try_transaction(QueenFusedPush **requests, int count, bool *gone)
{
	ErrorData  *volatile error = NULL;

	PG_TRY();
	{
		run_transaction(requests, count, gone);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(memory);
		error = CopyErrorData();
		FlushErrorState();
		AbortCurrentTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(memory);
	committing = false;

	return error;
}

/*
 * Settles all of some requests by an error that none of them is to blame for: a
 * lock that did not come in time, or somebody who cancelled the worker, which
 * is no caller's business. Answers false for any other error.
 */
static bool
settle_by(QueenFusedPush **requests, int count, const ErrorData *error)
{
	if (error->sqlerrcode == ERRCODE_QUERY_CANCELED)
		queen_fused_settle(requests, count, QUEEN_FUSION_AGAIN, NULL);
	else if (count == 1 || error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE)
	{
		for (int i = 0; i < count; i++)
			refuse_by(requests[i], error);
	}
	else
		return false;
	answer_all(requests, count);
	return true;
}

/*
 * Commits requests. Where that fails it goes on in halves, down to the request
 * that is to blame.
 */
static void
commit(QueenFusedPush **requests, int count, bool *gone)
{
	ErrorData  *error;

	if (count == 0)
		return;
	error = try_transaction(requests, count, gone);
	if (error == NULL)
		return;
	for (int i = 0; i < count; i++)
		requests[i]->result = QUEEN_FUSION_NONE;
	if (settle_by(requests, count, error))
		return;
	commit(requests, count / 2, gone);
	commit(requests + count / 2, count - count / 2, gone);
}

/* One cycle. What is not answered by then waits for the next one. */
void
queen_fusion_cycle(QueenFusionCycle *cycle)
{
	QueenFusedPush **requests;

	if (memory == NULL)
		memory = AllocSetContextCreate(TopMemoryContext, "queen fusion cycle",
									   ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(memory);
	take_requests(cycle);
	requests = palloc(sizeof(QueenFusedPush *) * ntaken);
	for (int i = 0; i < ntaken; i++)
		requests[i] = &taken[i];
	commit(requests, ntaken, &cycle->gone);

	cycle->answered = 0;
	for (int i = 0; i < ntaken; i++)
	{
		QueenFusedPush *request = &taken[i];

		if (request->result == QUEEN_FUSION_BLOCKED && set_aside(request))
			cycle->slots[cycle->count++] = request->number;
		else
		{
			cycle->queued[request->number] = false;
			cycle->answered++;
		}
	}
	ntaken = 0;
	cycle->commit_took = commit_took;
	MemoryContextSwitchTo(TopMemoryContext);
	MemoryContextReset(memory);
}

/* Nothing of what is not answered was committed: the callers may try again. */
void
queen_fusion_give_back(void)
{
	for (int i = 0; i < ntaken; i++)
	{
		taken[i].result = QUEEN_FUSION_AGAIN;
		answer(&taken[i]);
	}
	ntaken = 0;
}
