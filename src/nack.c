/*-------------------------------------------------------------------------
 *
 * nack.c
 *	  queen.nack and queen.reject: a message of a lease failed.
 *
 * Both end the lease. What it held before the message must be done already,
 * or is completed where the caller says so; what it held after goes back.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "check.h"
#include "compat.h"
#include "failure.h"
#include "lease.h"
#include "reader.h"
#include "segment_store.h"
#include "statement.h"

PG_FUNCTION_INFO_V1(queen_nack);
PG_FUNCTION_INFO_V1(queen_reject);

/*
 * The offset the caller means: by default the first one not done. Where all
 * that the lease held was removed from the log, that is its last one.
 */
static int64
find_offset(const QueenPlace *place, int64 offset)
{
	const QueenCursor *cursor = &place->cursor;

	if (offset == QUEEN_NOT_GIVEN_INT8)
		return Min(queen_cursor_head(cursor), cursor->lease_end);
	queen_lease_check_offset(cursor, offset);
	if (offset >= place->partition.log_start &&
		(offset < queen_cursor_head(cursor) || queen_cursor_is_acked(cursor, offset)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the message at offset %lld is completed", (long long) offset)));
	return offset;
}

/* Makes a message the head of its lease. */
static void
complete_up_to(QueenCursor *cursor, int64 offset, bool allowed)
{
	int64		head = queen_cursor_head(cursor);

	if (queen_cursor_unfinished(cursor, head, offset - 1) == 0)
		return;
	if (!allowed)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("messages before offset %lld are not completed", (long long) offset),
				 errdetail("The first of them is at offset %lld.", (long long) head),
				 errhint("Complete them, or pass complete_before => true.")));
	queen_cursor_complete_span(cursor, head, offset - 1);
}

/* Opens a lease and ends it, with the message at the head. */
static QueenPlace *
open_at(const pg_uuid_t *uuid, int64 *offset, bool complete_before)
{
	QueenPlace *place = queen_lease_open_live(uuid);

	*offset = find_offset(place, *offset);
	complete_up_to(&place->cursor, *offset, complete_before);
	queen_cursor_end_lease(&place->cursor);
	place->changed = true;
	queen_place_count(place, QUEEN_COUNT_NACKS, 1);

	return place;
}

/* Whether a message is still in the log. */
static bool
is_kept(const QueenPlace *place, int64 offset)
{
	QueenSegmentRow segment;

	return queen_segment_at(place->partition.partition_id, place->partition.log_start,
							offset, &segment) &&
		offset < segment.base_offset + segment.message_count;
}

/* Charges a failure, or gives up after the last one that is allowed. */
static const char *
charge_failure(QueenPlace *place, int64 offset, const text *error, int64 delay)
{
	QueenCursor *cursor = &place->cursor;

	if (cursor->failures >= place->queue->retry_limit || !is_kept(place, offset))
		return queen_bury(place, offset, cstring_to_text("failed"), error,
						  cursor->failures + 1);
	cursor->failures++;
	cursor->not_before = GetCurrentTimestamp() + delay;

	return "retry";
}

/* The error argument, which may be NULL. */
static const text *
error_argument(FunctionCallInfo fcinfo, int number)
{
	return PG_ARGISNULL(number) ? NULL : PG_GETARG_TEXT_PP(number);
}

/* Charges a message with a failure. */
Datum
queen_nack(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *uuid = DatumGetUUIDP(queen_required(fcinfo, 0, "lease"));
	int64		offset = DatumGetInt64(queen_required(fcinfo, 1, "at_offset"));
	const text *error = error_argument(fcinfo, 2);
	bool		complete_before = DatumGetBool(queen_required(fcinfo, 4, "complete_before"));
	int64		delay = -1;
	const char *outcome;
	QueenPlace *place;

	if (!PG_ARGISNULL(3))
		delay = queen_check_interval(PG_GETARG_INTERVAL_P(3), true, "delay");

	queen_begin("queen.nack()");
	place = open_at(uuid, &offset, complete_before);
	outcome = charge_failure(place, offset, error, delay < 0 ? place->queue->retry_delay : delay);
	queen_place_write(place);
	queen_end();

	PG_RETURN_TEXT_P(cstring_to_text(outcome));
}

/* Makes a message a dead letter at once. */
Datum
queen_reject(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *uuid = DatumGetUUIDP(queen_required(fcinfo, 0, "lease"));
	int64		offset = DatumGetInt64(queen_required(fcinfo, 1, "at_offset"));
	text	   *reason = queen_name_argument(fcinfo, 2, "reason");
	const text *error = error_argument(fcinfo, 3);
	bool		complete_before = DatumGetBool(queen_required(fcinfo, 4, "complete_before"));
	const char *outcome;
	QueenPlace *place;

	queen_begin("queen.reject()");
	place = open_at(uuid, &offset, complete_before);
	outcome = queen_bury(place, offset, reason, error, place->cursor.failures);
	queen_place_write(place);
	queen_end();

	PG_RETURN_TEXT_P(cstring_to_text(outcome));
}
