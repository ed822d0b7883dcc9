/*-------------------------------------------------------------------------
 *
 * redrive.c
 *	  Sends dead letters back.
 *
 * Letters come from one of three sources: dead letters of a queue, dead
 * letters by their ids, or what is pending for the group "redrive" in a queue
 * that a client library fills. A step goes over them twice. The survey looks at
 * which queues are concerned and how much it is, and locks nothing. Then all
 * queues are locked in ascending order, and each letter is taken up: judged,
 * put in a chunk, and with the chunk removed from where it was and appended to
 * where it goes. Both happen in the caller's transaction, so a letter is
 * never in two places or in none.
 *
 * Where the letters do not fit one chunk, the target is locked against other
 * appends as a whole, as several appends of one call might otherwise lock its
 * partitions in an order of their own.
 *
 * Nothing that somebody else is at is waited for: a dead letter is taken by
 * SKIP LOCKED, the group "redrive" by a lock that is tried. Such a letter is
 * reported busy. So is one whose group is just being moved or removed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "dead_letter_store.h"
#include "group.h"
#include "locks.h"
#include "queue.h"
#include "redrive_step.h"

/* Notes the queues that the call names, and what is there at its start. */
static void
start(QueenRedriveStep *step)
{
	QueenRedrive *redrive = step->redrive;
	text	   *source_name = redrive->queue_name ? redrive->queue_name : redrive->from_queue;
	QueenQueue *source = source_name ? queen_queue_by_name(source_name) : NULL;
	int64		first;

	if (source_name)
	{
		QueenEndpoint *endpoint = queen_endpoint_add(&step->endpoints, source_name);

		endpoint->is_source = true;
		endpoint->is_target = endpoint->is_required = redrive->queue_name && redrive->to_queue == NULL;
	}
	if (redrive->to_queue)
	{
		QueenEndpoint *endpoint = queen_endpoint_add(&step->endpoints, redrive->to_queue);

		endpoint->is_target = endpoint->is_required = true;
	}
	if (redrive->started_at != 0 || source == NULL)
		return;
	redrive->started_at = GetCurrentTimestamp();
	if (redrive->queue_name)
		redrive->through = queen_dead_letter_last(source->queue_id);
	else if (!queen_partition_range(source->queue_id, &first, &redrive->through))
		redrive->through = 0;
}

/* The group of a client's queue as it is now; where it was never there, one at the beginning. */
static QueenGroup *
look_at_group(const QueenRedrive *redrive)
{
	QueenQueue *queue = queen_queue_by_name(redrive->from_queue);
	QueenGroup *group = NULL;

	if (queue)
		group = queen_group_by_name(queue->queue_id, cstring_to_text(QUEEN_REDRIVE_GROUP));
	if (group == NULL)
	{
		group = palloc0(sizeof(QueenGroup));
		group->subscription_from = DT_NOBEGIN;
	}
	return group;
}

/*
 * Locks the group of a client's queue against all that pop as it: one lock,
 * whatever the number of partitions. Where somebody has it, or is just making
 * it, all is busy.
 */
static void
lock_group(QueenRedriveStep *step)
{
	QueenSubscription subscription = {.mode = "all", .from = DT_NOBEGIN};
	QueenQueue *queue = queen_redrive_queue(step, step->redrive->from_queue);
	text	   *name = cstring_to_text(QUEEN_REDRIVE_GROUP);
	QueenGroup *group = queen_group_by_name(queue->queue_id, name);
	bool		made;

	if (group)
	{
		step->is_busy = !queen_try_lock_group(group->group_id, ExclusiveLock);
		if (!step->is_busy)
			group = queen_group_by_id(group->group_id);
	}
	else
		step->is_busy = !queen_try_lock_group_creation(queue->queue_id, VARDATA_ANY(name),
													   VARSIZE_ANY_EXHDR(name));
	if (step->is_busy)
		return;
	if (group == NULL)
		group = queen_group_open(queue, name, &subscription, ExclusiveLock, true, &made);
	step->group = group;
}

/* Locks all that the step needs. */
static void
lock_all(QueenRedriveStep *step)
{
	QueenRedrive *redrive = step->redrive;
	QueenEndpoints *endpoints = &step->endpoints;

	step->surveying = false;
	queen_endpoints_open(endpoints);
	if (redrive->dry_run)
		return;
	for (int i = 0; i < endpoints->count && queen_redrive_is_many(step); i++)
	{
		if (endpoints->sorted[i]->is_target && endpoints->sorted[i]->queue)
			queen_lock_queue_append(endpoints->sorted[i]->queue->queue_id, true);
	}
	if (redrive->from_queue)
		lock_group(step);
}

/* Notes in the history of each source what was done. */
static void
note(QueenRedriveStep *step)
{
	QueenRedrive *redrive = step->redrive;

	for (int i = 0; i < step->endpoints.count; i++)
	{
		const QueenEndpoint *source = step->endpoints.sorted[i];
		QueenDeadLetterAction action = {
			.log_id = redrive->log_id,
			.action = "redrive",
			.arguments = redrive->arguments,
			.done = redrive->nids > 0 ? source->redriven : redrive->redriven,
			.skipped = redrive->nids > 0 ? source->skipped : redrive->skipped
		};

		if (!source->is_source || source->queue == NULL)
			continue;
		action.queue_id = source->queue->queue_id;
		queen_dead_letter_note(&action, GetUserId());
		if (redrive->nids == 0)
			redrive->log_id = action.log_id;
	}
}

/* Does one step, and answers whether there is another one. */
bool
queen_redrive_step(QueenRedrive *redrive)
{
	QueenRedriveStep step = {.redrive = redrive};

	queen_endpoints_begin(&step.endpoints);
	step.verdicts = palloc(sizeof(QueenVerdict) * QUEEN_CHUNK_LETTERS);
	step.memory = AllocSetContextCreate(CurrentMemoryContext, "queen chunk of redrive",
										ALLOCSET_DEFAULT_SIZES);
	start(&step);
	if (redrive->from_queue)
		step.group = look_at_group(redrive);
	queen_redrive_walk(&step, true);
	lock_all(&step);
	queen_redrive_walk(&step, false);
	if (!redrive->dry_run && (redrive->log_id == 0 || step.chosen > 0 || step.is_done))
		note(&step);
	MemoryContextDelete(step.memory);

	return !step.is_done;
}
