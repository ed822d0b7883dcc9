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
put_row(const QueenRedrive *redrive, const QueenVerdict *verdict)
{
	const QueenLetter *letter = &verdict->letter;
	bool		redriven = verdict->why_not == NULL;
	bool		is_known = letter->queue_name != NULL;
	Datum		values[13] = {
		Int64GetDatum(letter->dead_letter_id),
		text_or_empty(letter->envelope.id),
		text_or_empty(letter->envelope.trace_id),
		text_or_empty(letter->envelope.urn),
		text_or_empty(letter->reason),
		PointerGetDatum(letter->queue_name),
		Int64GetDatum(letter->offset),
		PointerGetDatum(verdict->target_name),
		BoolGetDatum(redriven),
		BoolGetDatum(redriven && redrive->bypass),
		redriven ? (Datum) 0 : CStringGetTextDatum(verdict->why_not),
		PointerGetDatum(letter->partition_name),
		Int64GetDatum(verdict->item.placed.offset)
	};
	bool		nulls[13] = {verdict->pending != NULL, false, false, false, false,
		!is_known, !is_known, verdict->target_name == NULL, false, false, redriven,
	!is_known, !redriven};

	tuplestore_putvalues(redrive->rows, redrive->descriptor, values, nulls);
}

/* Removes a letter of ours from where it was, or finds somebody else at it. */
static void
take_letter(QueenVerdict *verdict)
{
	QueenDeadLetterRow row;

	if (verdict->why_not != NULL || verdict->letter.dead_letter_id == 0)
		return;
	if (!queen_dead_letter_take(verdict->letter.dead_letter_id))
		verdict->why_not = queen_dead_letter_by_id(verdict->letter.dead_letter_id, &row) ?
			"busy" : "unknown";
}

/* Appends what goes to one queue; the others of the chunk stay. */
static void
append_to(QueenRedriveStep *step, const QueenEndpoint *target)
{
	QueenItem **items = palloc(sizeof(QueenItem *) * step->nverdicts);
	uint32		count = 0;

	for (int i = 0; i < step->nverdicts; i++)
	{
		if (step->verdicts[i].why_not == NULL && step->verdicts[i].target == target)
			items[count++] = &step->verdicts[i].item;
	}
	queen_append_items(target->queue, items, count, true);
}

/* Appends a chunk, to one queue after the other in ascending order. */
static void
append_chunk(QueenRedriveStep *step)
{
	int32		before = 0;

	for (;;)
	{
		const QueenEndpoint *next = NULL;

		for (int i = 0; i < step->nverdicts; i++)
		{
			const QueenVerdict *verdict = &step->verdicts[i];

			if (verdict->why_not == NULL && verdict->target->queue->queue_id > before &&
				(next == NULL || verdict->target->queue->queue_id < next->queue->queue_id))
				next = verdict->target;
		}
		if (next == NULL)
			return;
		append_to(step, next);
		before = next->queue->queue_id;
	}
}

/* Counts an verdict. */
static void
count_verdict(QueenRedriveStep *step, const QueenVerdict *verdict)
{
	bool		redriven = verdict->why_not == NULL;

	step->redrive->redriven += redriven;
	step->redrive->skipped += !redriven;
	if (verdict->source)
	{
		verdict->source->redriven += redriven;
		verdict->source->skipped += !redriven;
	}
	if (redriven && verdict->pending)
		queen_pending_add(verdict->pending, verdict->letter.offset);
}

/* Does what was decided for the letters of the chunk, and forgets them. */
void
queen_redrive_finish_chunk(QueenRedriveStep *step)
{
	MemoryContext caller = MemoryContextSwitchTo(step->memory);

	CHECK_FOR_INTERRUPTS();
	for (int i = 0; i < step->nverdicts; i++)
		take_letter(&step->verdicts[i]);
	append_chunk(step);
	for (int i = 0; i < step->nverdicts; i++)
	{
		count_verdict(step, &step->verdicts[i]);
		if (step->redrive->rows)
			put_row(step->redrive, &step->verdicts[i]);
	}
	step->nverdicts = 0;
	step->chunk_bytes = 0;
	MemoryContextSwitchTo(caller);
	queen_pending_write(step);
	MemoryContextReset(step->memory);
}

/*
 * Takes up a letter, which is in the chunk's memory. Few letters are one append,
 * however long their headers have become, as each append locks its partitions
 * in their order and holds them.
 */
void
queen_redrive_take_up(QueenRedriveStep *step, QueenVerdict *verdict)
{
	MemoryContext caller = MemoryContextSwitchTo(step->memory);

	queen_redrive_judge(step, verdict);
	step->looked_at++;
	step->chosen += verdict->why_not == NULL;
	step->chunk_bytes += verdict->letter.body.text.len + verdict->item.message.headers_len;
	step->verdicts[step->nverdicts++] = *verdict;
	MemoryContextSwitchTo(caller);
	if (step->nverdicts == QUEEN_CHUNK_LETTERS ||
		(step->chunk_bytes >= QUEEN_CHUNK_BYTES && queen_redrive_is_many(step)))
		queen_redrive_finish_chunk(step);
}
