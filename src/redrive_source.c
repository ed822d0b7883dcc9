/*-------------------------------------------------------------------------
 *
 * redrive_source.c
 *	  The letters of a redrive, from each of its sources.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "cursor_store.h"
#include "dead_letter_store.h"
#include "group.h"
#include "queue.h"
#include "reader.h"
#include "redrive_step.h"

/* Notes a letter in the survey. */
static void
survey(QueenRedriveStep *step, int64 bytes)
{
	step->surveyed = ++step->looked_at;
	step->bytes += bytes;
	MemoryContextReset(step->memory);
}

/* The same for a dead letter of ours, which is not fetched. */
static void
survey_row(QueenRedriveStep *step, const QueenDeadLetterRow *row)
{
	int64		bytes = toast_raw_datum_size(row->body);

	if (row->headers != 0)
		bytes += toast_raw_datum_size(row->headers);
	survey(step, bytes);
}

/* Whether the step may look at another letter. */
static bool
has_budget(const QueenRedriveStep *step)
{
	const QueenRedrive *redrive = step->redrive;

	if (!step->surveying && step->looked_at >= step->surveyed && !queen_redrive_is_many(step))
		return false;			/* more have become visible: another time */
	return (redrive->max == 0 || step->looked_at < redrive->max) &&
		(redrive->max_redriven == 0 || step->chosen < redrive->max_redriven);
}

/* Whether the letters that the survey met do not fit one append. */
bool
queen_redrive_is_many(const QueenRedriveStep *step)
{
	return step->surveyed > QUEEN_CHUNK_LETTERS || step->bytes >= QUEEN_CHUNK_BYTES;
}

/* A queue of the step: as it looks in the survey, as it is afterwards. */
QueenQueue *
queen_redrive_queue(const QueenRedriveStep *step, text *name)
{
	if (step->surveying)
		return queen_queue_by_name(name);
	return queen_endpoint_find(&step->endpoints, name)->queue;
}

/*
 * The dead letters of a queue, oldest first, as far as there were some at the
 * start. The survey finds the first one, past those that were removed.
 */
static void
walk_queue(QueenRedriveStep *step)
{
	QueenRedrive *redrive = step->redrive;
	QueenQueue *queue = queen_redrive_queue(step, redrive->queue_name);
	int64		after = redrive->after;

	while (queue && !(step->surveying && queen_redrive_is_many(step)))
	{
		MemoryContext caller = MemoryContextSwitchTo(step->memory);
		QueenVerdict verdict = {.why_not = NULL};
		QueenDeadLetterRow row;

		step->is_done = !queen_dead_letter_after(queue->queue_id, after, &row) ||
			row.dead_letter_id > redrive->through;
		if (step->is_done || !has_budget(step))
		{
			MemoryContextSwitchTo(caller);
			break;
		}
		if (!step->surveying)
			queen_letter_from_row(&verdict.letter, &row, redrive->queue_name);
		MemoryContextSwitchTo(caller);
		if (step->surveying && step->looked_at == 0)
			redrive->after = row.dead_letter_id - 1;
		after = row.dead_letter_id;
		if (step->surveying)
			survey_row(step, &row);
		else
			queen_redrive_take_up(step, &verdict);
	}
	if (!step->surveying)
		redrive->after = after;
}

/*
 * A dead letter of an id: surveyed, or taken up. One that came after the
 * survey, from a queue that is not locked, waits for another call.
 */
static void
walk_id(QueenRedriveStep *step, int64 dead_letter_id)
{
	MemoryContext caller = MemoryContextSwitchTo(step->memory);
	QueenVerdict verdict = {.why_not = NULL};
	QueenDeadLetterRow row;
	text	   *queue_name = queen_letter_find(dead_letter_id, QUEEN_PRIVILEGE_ADMIN, &row);

	if (step->surveying && queue_name)
	{
		QueenEndpoint *endpoint = queen_endpoint_add(&step->endpoints, queue_name);

		endpoint->is_source = true;
		endpoint->is_target |= step->redrive->to_queue == NULL;
	}
	else if (queue_name && queen_endpoint_find(&step->endpoints, queue_name))
		queen_letter_from_row(&verdict.letter, &row, queue_name);
	else
		verdict.why_not = "unknown";
	verdict.letter.dead_letter_id = dead_letter_id;
	MemoryContextSwitchTo(caller);

	if (!step->surveying)
		queen_redrive_take_up(step, &verdict);
	else if (queue_name)
		survey_row(step, &row);
}

/* The dead letters of some ids. */
static void
walk_ids(QueenRedriveStep *step)
{
	for (int i = 0; i < step->redrive->nids; i++)
	{
		CHECK_FOR_INTERRUPTS();
		walk_id(step, step->redrive->ids[i]);
	}
	step->is_done = true;
}

/* Whether somebody holds a lease on an offset. */
static bool
is_leased(const QueenCursor *cursor, int64 offset)
{
	return cursor->lease_nonce != 0 && offset <= cursor->lease_end &&
		cursor->lease_until > GetCurrentTimestamp();
}

/* Takes up a message of a client's queue, or surveys it. */
static void
take_up_message(QueenRedriveStep *step, QueenPending *pending, const QueenReader *reader,
				int64 offset, const QueenMessage *message)
{
	QueenRedrive *redrive = step->redrive;
	MemoryContext caller = MemoryContextSwitchTo(step->memory);
	QueenVerdict verdict = {.pending = pending};
	QueenEndpoint *target;

	queen_letter_from_message(&verdict.letter, message, redrive->from_queue, &pending->partition,
							  offset, reader->row.created_at);
	MemoryContextSwitchTo(caller);
	if (step->surveying)
	{
		target = queen_endpoint_add(&step->endpoints, queen_redrive_target(redrive, &verdict.letter));
		if (target)
			target->is_target = true;
		survey(step, (int64) message->payload_len + message->headers_len);
		return;
	}
	if (step->is_busy || is_leased(&pending->cursor, offset))
		verdict.why_not = "busy";
	redrive->partition_id = pending->partition.partition_id;
	redrive->offset = offset + 1;
	queen_redrive_take_up(step, &verdict);
}

/* Passes a message that is meant for another group, as a pop does. */
static void
pass_message(const QueenRedriveStep *step, QueenPending *pending, int64 offset)
{
	if (!step->surveying && !step->is_busy && !step->redrive->dry_run &&
		!is_leased(&pending->cursor, offset))
		queen_pending_add(pending, offset);
}

/* What was pending of one partition at the start. */
static void
walk_partition(QueenRedriveStep *step, QueenPending *pending)
{
	QueenRedrive *redrive = step->redrive;
	int64		offset;
	QueenReader reader;
	QueenMessage message;

	queen_group_read_cursor(step->group, &pending->partition, &pending->cursor);
	offset = queen_cursor_head(&pending->cursor);
	if (pending->partition.partition_id == redrive->partition_id)
		offset = Max(offset, redrive->offset);
	queen_reader_open(&reader, &pending->partition, offset, QUEEN_CHUNK_LETTERS);
	while (!step->is_over && queen_reader_next(&reader, &offset, &message) &&
		   reader.row.created_at <= redrive->started_at)
	{
		if (queen_cursor_is_acked(&pending->cursor, offset))
			continue;
		if (message.group != 0 && message.group != (uint32) step->group->group_id)
			pass_message(step, pending, offset);
		else if (has_budget(step))
			take_up_message(step, pending, &reader, offset, &message);
		else
			step->is_over = true;
	}
	queen_reader_close(&reader);
}

/* What is pending in a client's queue, partition by partition. */
static void
walk_client_queue(QueenRedriveStep *step)
{
	QueenRedrive *redrive = step->redrive;
	QueenQueue *queue = queen_redrive_queue(step, redrive->from_queue);
	int64		after = Max(redrive->partition_id - 1, 0);

	while (queue && !step->is_over && !step->is_done)
	{
		QueenPending *pending = queen_pending_begin(step);
		MemoryContext caller = MemoryContextSwitchTo(pending->memory);

		CHECK_FOR_INTERRUPTS();
		step->is_done = !queen_partition_after(queue->queue_id, after, &pending->partition) ||
			pending->partition.partition_id > redrive->through;
		if (!step->is_done)
			walk_partition(step, pending);
		after = pending->partition.partition_id;
		pending->walked = true;
		MemoryContextSwitchTo(caller);
		if (step->nverdicts == 0)
			queen_pending_write(step);
	}
}

/* Goes over all letters. */
void
queen_redrive_walk(QueenRedriveStep *step, bool surveying)
{
	step->surveying = surveying;
	step->looked_at = 0;
	step->is_done = step->is_over = false;
	if (step->redrive->queue_name)
		walk_queue(step);
	else if (step->redrive->from_queue)
		walk_client_queue(step);
	else
		walk_ids(step);
	if (step->nverdicts > 0)
		queen_redrive_finish_chunk(step);
}
