/*-------------------------------------------------------------------------
 *
 * ack.c
 *	  queen.ack, queen.ack_messages, queen.ack_leases, queen.release,
 *	  queen.renew: the verbs by which a holder keeps or ends a lease well.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "arguments.h"
#include "check.h"
#include "lease.h"
#include "statement.h"

PG_FUNCTION_INFO_V1(queen_ack);
PG_FUNCTION_INFO_V1(queen_ack_messages);
PG_FUNCTION_INFO_V1(queen_ack_leases);
PG_FUNCTION_INFO_V1(queen_release);
PG_FUNCTION_INFO_V1(queen_renew);

/* The lease argument. */
static pg_uuid_t *
lease_argument(FunctionCallInfo fcinfo)
{
	return DatumGetUUIDP(queen_required(fcinfo, 0, "lease"));
}

/* Completes spans of a live lease; one that has nothing left ends. */
static int64
complete_spans(QueenPlace *place, QueenSpan *spans, int count)
{
	QueenCursor *cursor = &place->cursor;
	int64		completed = queen_cursor_complete(cursor, spans, count);

	if (queen_cursor_unfinished(cursor, cursor->lease_start, cursor->lease_end) == 0)
		queen_cursor_finish_lease(cursor);
	place->changed = completed > 0 || cursor->lease_nonce == 0;
	queen_place_count(place, QUEEN_COUNT_ACKS, completed);

	return completed;
}

/* Completes a lease, or its messages through an offset. */
Datum
queen_ack(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *uuid = lease_argument(fcinfo);
	int64		through = DatumGetInt64(queen_required(fcinfo, 1, "through"));
	int64		completed = 0;
	QueenLeaseState state;
	QueenPlace *place;

	queen_begin("queen.ack()");
	place = queen_lease_open(uuid, &state);
	if (state == QUEEN_LEASE_LIVE)
	{
		if (through == QUEEN_NOT_GIVEN_INT8)
			completed = queen_lease_complete(place);
		else
		{
			QueenSpan	span = {place->cursor.lease_start, through};

			queen_lease_check_offset(&place->cursor, through);
			completed = complete_spans(place, &span, 1);
		}
		queen_place_write(place);
	}
	queen_end();

	PG_RETURN_INT64(completed);
}

/* Completes single messages of a lease. */
Datum
queen_ack_messages(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *uuid = lease_argument(fcinfo);
	int			count;
	QueenSpan  *offsets = queen_offsets_argument(fcinfo, 1, "offsets", &count);
	int64		completed = 0;
	QueenLeaseState state;
	QueenPlace *place;

	queen_begin("queen.ack_messages()");
	place = queen_lease_open(uuid, &state);
	if (state == QUEEN_LEASE_LIVE)
	{
		for (int i = 0; i < count; i++)
			queen_lease_check_offset(&place->cursor, offsets[i].first);
		completed = complete_spans(place, offsets, count);
		queen_place_write(place);
	}
	queen_end();

	PG_RETURN_INT64(completed);
}

/* Completes many leases, and says what became of each. */
Datum
queen_ack_leases(PG_FUNCTION_ARGS)
{
	static const char *const words[] = {"completed", "already", "lost"};
	int			count;
	QueenLease *leases = queen_leases_argument(fcinfo, 0, "leases", &count);
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	queen_begin("queen.ack_leases()");
	queen_leases_open(leases, count);
	for (int i = 0; i < count; i++)
	{
		QueenLeaseState state = queen_lease_state(&leases[i]);
		int64		completed = 0;
		Datum		values[3];
		bool		nulls[3] = {false};

		if (state == QUEEN_LEASE_LIVE)
			completed = queen_lease_complete(leases[i].place);
		values[0] = UUIDPGetDatum(&leases[i].uuid);
		values[1] = CStringGetTextDatum(words[state]);
		values[2] = Int64GetDatum(completed);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	for (int i = 0; i < count; i++)
	{
		if (leases[i].place)
			queen_place_write(leases[i].place);
	}
	queen_end();

	return (Datum) 0;
}

/* Gives a lease back; the deliveries stay counted. */
Datum
queen_release(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *uuid = lease_argument(fcinfo);
	int64		held = 0;
	QueenLeaseState state;
	QueenPlace *place;

	queen_begin("queen.release()");
	place = queen_lease_open(uuid, &state);
	if (state == QUEEN_LEASE_LIVE)
	{
		held = queen_cursor_unfinished(&place->cursor, place->cursor.lease_start,
									   place->cursor.lease_end);
		queen_cursor_end_lease(&place->cursor);
		place->changed = true;
		queen_place_write(place);
	}
	queen_end();

	PG_RETURN_INT64(held);
}

/* Makes a lease last at least so long from now; never shortens it. */
Datum
queen_renew(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *uuid = lease_argument(fcinfo);
	int64		length = 0;
	TimestampTz until;
	QueenPlace *place;

	if (!PG_ARGISNULL(1))
		length = queen_check_interval(PG_GETARG_INTERVAL_P(1), false, "lease_time");

	queen_begin("queen.renew()");
	place = queen_lease_open_live(uuid);
	if (length == 0)
		length = place->queue->lease;
	until = Max(place->cursor.lease_until, GetCurrentTimestamp() + length);
	place->changed = until > place->cursor.lease_until;
	place->cursor.lease_until = until;
	queen_place_write(place);
	queen_end();

	PG_RETURN_TIMESTAMPTZ(until);
}
