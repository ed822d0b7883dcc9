/*-------------------------------------------------------------------------
 *
 * failure.c
 *	  Gives up on a message.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "dead_letter_store.h"
#include "failure.h"
#include "reader.h"
#include "trace.h"

/* Keeps a dead letter; false where the message was removed from the log. */
static bool
keep_dead_letter(QueenPlace *place, int64 offset, const text *reason,
				 const text *error, int32 failures)
{
	QueenReader reader;
	QueenMessage message;
	int64		found;
	bool		exists;

	queen_reader_open(&reader, &place->partition, offset, 1);
	exists = queen_reader_next(&reader, &found, &message) && found == offset;
	if (exists && !place->queue->drop_exhausted)
	{
		QueenDeadLetter letter = {
			.partition = &place->partition,
			.group = place->group,
			.offset = offset,
			.message = &message,
			.created_at = reader.row.created_at,
			.first_created_at = queen_trace_first_created_at(&message, reader.row.created_at),
			.reason = reason,
			.error = error,
			.failures = failures,
			.deliveries = queen_cursor_deliveries(&place->cursor, offset)
		};

		queen_dead_letter_insert(&letter);
		queen_place_count(place, QUEEN_COUNT_DEAD_LETTERS, 1);
	}
	queen_reader_close(&reader);

	return exists;
}

/* The cursor passes the message; the caller writes the place. */
const char *
queen_bury(QueenPlace *place, int64 offset, const text *reason,
		   const text *error, int32 failures)
{
	bool		exists = keep_dead_letter(place, offset, reason, error, failures);

	queen_cursor_complete_span(&place->cursor, offset, offset);
	place->changed = true;
	if (!exists)
		return "gone";
	return place->queue->drop_exhausted ? "dropped" : "dead_letter";
}
