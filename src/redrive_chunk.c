/*-------------------------------------------------------------------------
 *
 * redrive_chunk.c
 *	  Removes letters from where they were and appends them to where they go.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "dead_letter_store.h"
#include "redrive_step.h"

/* A text that is NULL where there is none, or empty as the column wants. */
static Datum
text_or_empty(const text *value)
{
	return value ? PointerGetDatum(value) : PointerGetDatum(cstring_to_text(""));
}

/* A row of the answer. */
static void
put_row(const QueenRedrive *redrive, const QueenOutcome *outcome)
{
	const QueenLetter *letter = &outcome->letter;
	bool		redriven = outcome->why_not == NULL;
	bool		is_known = letter->queue_name != NULL;
	Datum		values[13] = {
		Int64GetDatum(letter->dead_letter_id),
		text_or_empty(letter->envelope.id),
		text_or_empty(letter->envelope.trace_id),
		text_or_empty(letter->envelope.urn),
		text_or_empty(letter->reason),
		PointerGetDatum(letter->queue_name),
		Int64GetDatum(letter->offset),
		PointerGetDatum(outcome->target_name),
		BoolGetDatum(redriven),
		BoolGetDatum(redriven && redrive->bypass),
		redriven ? (Datum) 0 : CStringGetTextDatum(outcome->why_not),
		PointerGetDatum(letter->partition_name),
		Int64GetDatum(outcome->item.offset)
	};
	bool		nulls[13] = {letter->dead_letter_id == 0, false, false, false, false,
		!is_known, !is_known, outcome->target_name == NULL, false, false, redriven,
	!is_known, !redriven};

	tuplestore_putvalues(redrive->rows, redrive->descriptor, values, nulls);
}

/* Removes a letter of ours from where it was, or finds somebody else at it. */
static void
take_letter(QueenOutcome *outcome)
{
	QueenDeadLetterRow row;

	if (outcome->why_not != NULL || outcome->letter.dead_letter_id == 0)
		return;
	if (!queen_dead_letter_take(outcome->letter.dead_letter_id))
		outcome->why_not = queen_dead_letter_by_id(outcome->letter.dead_letter_id, &row) ?
			"busy" : "unknown";
}

/* Appends what goes to one queue; the others of the chunk stay. */
static void
append_to(QueenRedriveStep *step, const QueenEndpoint *target)
{
	QueenItem  *items = palloc(sizeof(QueenItem) * step->noutcomes);
	uint32		count = 0;

	for (int i = 0; i < step->noutcomes; i++)
	{
		if (step->outcomes[i].why_not == NULL && step->outcomes[i].target == target)
			items[count++] = step->outcomes[i].item;
	}
	queen_append_items(target->queue, items, count);
	count = 0;
	for (int i = 0; i < step->noutcomes; i++)
	{
		if (step->outcomes[i].why_not == NULL && step->outcomes[i].target == target)
			step->outcomes[i].item = items[count++];
	}
}

/* Appends a chunk, to one queue after the other in ascending order. */
static void
append_chunk(QueenRedriveStep *step)
{
	int32		before = 0;

	for (;;)
	{
		const QueenEndpoint *next = NULL;

		for (int i = 0; i < step->noutcomes; i++)
		{
			const QueenOutcome *outcome = &step->outcomes[i];

			if (outcome->why_not == NULL && outcome->target->queue->queue_id > before &&
				(next == NULL || outcome->target->queue->queue_id < next->queue->queue_id))
				next = outcome->target;
		}
		if (next == NULL)
			return;
		append_to(step, next);
		before = next->queue->queue_id;
	}
}

/* Counts an outcome. */
static void
count_outcome(QueenRedriveStep *step, const QueenOutcome *outcome)
{
	bool		redriven = outcome->why_not == NULL;

	step->redrive->redriven += redriven;
	step->redrive->skipped += !redriven;
	if (outcome->source)
	{
		outcome->source->redriven += redriven;
		outcome->source->skipped += !redriven;
	}
	if (redriven && outcome->pending)
		queen_pending_add(outcome->pending, outcome->letter.offset);
}

/* Does what was decided for the letters of the chunk, and forgets them. */
void
queen_redrive_finish_chunk(QueenRedriveStep *step)
{
	MemoryContext caller = MemoryContextSwitchTo(step->memory);

	CHECK_FOR_INTERRUPTS();
	for (int i = 0; i < step->noutcomes; i++)
		take_letter(&step->outcomes[i]);
	append_chunk(step);
	for (int i = 0; i < step->noutcomes; i++)
	{
		count_outcome(step, &step->outcomes[i]);
		if (step->redrive->rows)
			put_row(step->redrive, &step->outcomes[i]);
	}
	step->noutcomes = 0;
	step->chunk_bytes = 0;
	MemoryContextSwitchTo(caller);
	queen_pending_write(step);
	MemoryContextReset(step->memory);
}

/* Takes up a letter, which is in the chunk's memory. */
void
queen_redrive_take_up(QueenRedriveStep *step, QueenOutcome *outcome)
{
	MemoryContext caller = MemoryContextSwitchTo(step->memory);

	queen_redrive_judge(step, outcome);
	step->looked_at++;
	step->chosen += outcome->why_not == NULL;
	step->chunk_bytes += outcome->letter.body.text.len + outcome->item.message.headers_len;
	step->outcomes[step->noutcomes++] = *outcome;
	MemoryContextSwitchTo(caller);
	if (step->noutcomes == QUEEN_CHUNK_LETTERS || step->chunk_bytes >= QUEEN_CHUNK_BYTES)
		queen_redrive_finish_chunk(step);
}
