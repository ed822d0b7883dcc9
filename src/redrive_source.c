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
	step->looked_at++;
	step->bytes += bytes;
	MemoryContextReset(step->memory);
}

/* Whether the step may look at another letter. */
static bool
has_budget(const QueenRedriveStep *step)
{
	return step->redrive->max == 0 || step->looked_at < step->redrive->max;
}

/* Whether the letters do not fit one append. */
bool
queen_redrive_is_many(const QueenRedriveStep *step)
{
	return step->looked_at > QUEEN_CHUNK_LETTERS || step->bytes >= QUEEN_CHUNK_BYTES || step->partitions > 1;
}

/* A queue of the step: as it looks in the survey, as it is afterwards. */
QueenQueue *
queen_redrive_queue(const QueenRedriveStep *step, text *name)
{
	if (step->surveying)
		return queen_queue_by_name(name);
	return queen_endpoint_find(&step->endpoints, name)->queue;
}

/* The dead letters of a queue, oldest first, as far as there were some at the start. */
static void
walk_queue(QueenRedriveStep *step)
{
	QueenRedrive *redrive = step->redrive;
	QueenQueue *queue = queen_redrive_queue(step, redrive->queue_name);
	int64		after = redrive->after;

	while (queue && has_budget(step) && !(step->surveying && queen_redrive_is_many(step)))
	{
		MemoryContext caller = MemoryContextSwitchTo(step->memory);
		QueenOutcome		outcome = {.why_not = NULL};
		QueenDeadLetterRow row;

		step->is_done = !queen_dead_letter_after(queue->queue_id, after, &row) ||
			row.dead_letter_id > redrive->through;
		if (!step->is_done && !step->surveying)
			queen_letter_from_row(&outcome.letter, &row, redrive->queue_name);
		MemoryContextSwitchTo(caller);
		if (step->is_done)
			break;
		after = row.dead_letter_id;
		if (step->surveying)
			survey(step, toast_raw_datum_size(row.body));
		else
			queen_redrive_take_up(step, &outcome);
	}
	if (!step->surveying)
		redrive->after = after;
}

/* A dead letter of an id, and its queue; false where there is none that the caller may know of. */
static bool
find_letter(int64 dead_letter_id, QueenDeadLetterRow *row, text **queue_name)
{
	QueenQueue *queue = NULL;

	if (queen_dead_letter_by_id(dead_letter_id, row))
		queue = queen_queue_by_id(row->queue_id);
	if (queue == NULL || !queen_queue_may(queue, QUEEN_PRIVILEGE_ADMIN))
		return false;
	*queue_name = queue->name;
	return true;
}

/* The dead letters of some ids. */
static void
walk_ids(QueenRedriveStep *step)
{
	QueenRedrive *redrive = step->redrive;

	for (int i = 0; i < redrive->nids; i++)
	{
		MemoryContext caller = MemoryContextSwitchTo(step->memory);
		QueenOutcome		outcome = {.why_not = NULL};
		QueenDeadLetterRow row;
		text	   *queue_name;
		bool		found = find_letter(redrive->ids[i], &row, &queue_name);

		outcome.letter.dead_letter_id = redrive->ids[i];
		if (found && step->surveying)
		{
			QueenEndpoint *endpoint = queen_endpoint_add(&step->endpoints, queue_name);

			endpoint->is_source = true;
			endpoint->is_target |= redrive->to_queue == NULL;
		}
		else if (found)
			queen_letter_from_row(&outcome.letter, &row, queue_name);
		else
			outcome.why_not = "unknown";
		MemoryContextSwitchTo(caller);
		if (step->surveying)
			survey(step, found ? toast_raw_datum_size(row.body) : 0);
		else
			queen_redrive_take_up(step, &outcome);
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

/* Whether a message is pending for the group. */
static bool
is_pending(const QueenRedriveStep *step, const QueenCursor *cursor, int64 offset, const QueenMessage *message)
{
	return !queen_cursor_is_acked(cursor, offset) &&
		(message->group == 0 || message->group == (uint32) step->group->group_id);
}

/* Makes what was sent back done for the group, and writes its cursor. */
static void
finish_partition(QueenRedriveStep *step, QueenCursor *cursor)
{
	if (step->noutcomes > 0)
		queen_redrive_finish_chunk(step);
	if (step->ngone == 0)
		return;
	queen_cursor_complete(cursor, step->gone, step->ngone);
	if (cursor->lease_nonce != 0 && queen_cursor_head(cursor) > cursor->lease_end)
		queen_cursor_end_lease(cursor);
	queen_cursor_write(cursor, GetCurrentTimestamp());
	step->ngone = 0;
}

/* Takes up a message of a client's queue, or surveys it. */
static void
take_up_message(QueenRedriveStep *step, const QueenPartition *partition, const QueenReader *reader,
				int64 offset, const QueenMessage *message, const char *why_not)
{
	QueenRedrive *redrive = step->redrive;
	MemoryContext caller = MemoryContextSwitchTo(step->memory);
	QueenOutcome		outcome = {.why_not = why_not};
	QueenEndpoint *target = NULL;

	queen_letter_from_message(&outcome.letter, message, redrive->from_queue, partition,
							  offset, reader->row.created_at);
	if (step->surveying)
		target = queen_endpoint_add(&step->endpoints, queen_redrive_target(redrive, &outcome.letter));
	MemoryContextSwitchTo(caller);
	if (target)
		target->is_target = true;
	if (step->surveying)
		survey(step, (int64) message->payload_len);
	else
	{
		redrive->partition_id = partition->partition_id;
		redrive->offset = offset + 1;
		queen_redrive_take_up(step, &outcome);
	}
}

/* What was pending of one partition at the start. */
static void
walk_partition(QueenRedriveStep *step, const QueenPartition *partition)
{
	QueenRedrive *redrive = step->redrive;
	int64		before = step->looked_at;
	int64		offset;
	QueenReader reader;
	QueenMessage message;
	QueenCursor cursor;

	queen_group_read_cursor(step->group, partition, &cursor);
	offset = queen_cursor_head(&cursor);
	if (partition->partition_id == redrive->partition_id)
		offset = Max(offset, redrive->offset);
	queen_reader_open(&reader, partition, offset, QUEEN_CHUNK_LETTERS);
	while (has_budget(step) && queen_reader_next(&reader, &offset, &message) &&
		   reader.row.created_at <= redrive->started_at)
	{
		if (is_pending(step, &cursor, offset, &message))
			take_up_message(step, partition, &reader, offset, &message,
							step->is_busy || is_leased(&cursor, offset) ? "busy" : NULL);
	}
	queen_reader_close(&reader);
	step->partitions += step->looked_at > before;
	if (!step->surveying)
		finish_partition(step, &cursor);
}

/* What is pending in a client's queue, partition by partition. */
static void
walk_client_queue(QueenRedriveStep *step)
{
	QueenRedrive *redrive = step->redrive;
	QueenQueue *queue = queen_redrive_queue(step, redrive->from_queue);
	QueenPartition partition = {.partition_id = Max(redrive->partition_id - 1, 0)};

	while (queue && has_budget(step))
	{
		CHECK_FOR_INTERRUPTS();
		step->is_done = !queen_partition_after(queue->queue_id, partition.partition_id, &partition) ||
			partition.partition_id > redrive->through;
		if (step->is_done)
			break;
		walk_partition(step, &partition);
	}
}

/* Goes over all letters. */
void
queen_redrive_walk(QueenRedriveStep *step, bool surveying)
{
	step->surveying = surveying;
	step->looked_at = 0;
	step->is_done = false;
	if (step->redrive->queue_name)
		walk_queue(step);
	else if (step->redrive->from_queue)
		walk_client_queue(step);
	else
		walk_ids(step);
	if (step->noutcomes > 0)
		queen_redrive_finish_chunk(step);
}
