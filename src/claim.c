/*-------------------------------------------------------------------------
 *
 * claim.c
 *	  Claims partitions for a pop.
 *
 * The lock of the cursor is tried, never waited for; the cursor is read again
 * under it, since the look that made the partition a candidate took no lock.
 * Where nothing was taken the lock is given back at once.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "claim.h"
#include "failure.h"
#include "group.h"
#include "locks.h"
#include "message.h"
#include "reader.h"
#include "segment_store.h"
#include "shmem.h"
#include "waiting.h"

/* Whether the pop may take anything more. */
bool
queen_pop_has_budget(const QueenPop *pop)
{
	return pop->messages_left > 0 && pop->bytes_left > 0 && pop->partitions_left > 0;
}

/* A row of the answer. */
static void
put_row(QueenPop *pop, const QueenPlace *place, const QueenReader *reader,
		int64 offset, const QueenMessage *message, Datum lease)
{
	MemoryContext caller = MemoryContextSwitchTo(pop->row_memory);
	QueenMessageValues parts = queen_message_values(message, place->partition.partition_id, offset);
	Datum		values[9] = {
		PointerGetDatum(place->partition.name),
		Int64GetDatum(offset),
		parts.payload,
		parts.headers,
		parts.transaction_id,
		TimestampTzGetDatum(reader->row.created_at),
		Int32GetDatum(queen_cursor_deliveries(&place->cursor, offset) + 1),
		lease,
		parts.body
	};
	bool		nulls[9] = {false, false, !parts.is_json, !parts.has_headers, false,
	false, false, pop->auto_ack, parts.is_json};

	tuplestore_putvalues(pop->rows, pop->descriptor, values, nulls);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(pop->row_memory);
}

/* Whether a delivery of this message would be its last permitted one. */
static bool
is_last_delivery(const QueenPlace *place, int64 offset)
{
	int32		limit = place->queue->max_deliveries;

	return limit > 0 && queen_cursor_deliveries(&place->cursor, offset) >= limit - 1;
}

/* Counts what is meant for another group as done: one span, or none. */
static void
pass(QueenPlace *place, QueenSpan *span)
{
	if (span->first > span->last)
		return;
	queen_cursor_complete_span(&place->cursor, span->first, span->last);
	place->changed = true;
	span->first = 0;
	span->last = -1;
}

/* Whether a message is meant for another group. */
static bool
is_for_others(const QueenPlace *place, const QueenMessage *message)
{
	return message->group != 0 && message->group != (uint32) place->group->group_id;
}

/* Whether the segment of a message is younger than the queue delivers. */
static bool
is_young(const QueenPop *pop, const QueenReader *reader)
{
	return pop->queue->delivery_delay > 0 &&
		reader->row.created_at > pop->now - pop->queue->delivery_delay;
}

/*
 * Hands out messages from the head on. Answers the last offset handed out, or
 * -1. All after one that is too young is too young.
 */
static int64
deliver(QueenPop *pop, QueenPlace *place, int64 nonce)
{
	QueenReader reader;
	QueenMessage message;
	int64		offset;
	int64		last = -1;
	int64		delivered = pop->delivered;
	int64		bytes = 0;
	QueenSpan	others = {0, -1};
	Datum		lease = UUIDPGetDatum(queen_lease_encode(place->partition.partition_id,
														 place->group->group_id, nonce));

	queen_reader_open(&reader, &place->partition, queen_cursor_head(&place->cursor),
					  pop->messages_left);
	while (pop->messages_left > 0 && queen_reader_next(&reader, &offset, &message))
	{
		bool		alone = is_last_delivery(place, offset);

		pop->young = is_young(pop, &reader);
		if (pop->young)
			break;
		if (queen_cursor_is_acked(&place->cursor, offset))
			continue;
		if (is_for_others(place, &message))
		{
			if (others.last != offset - 1)
			{
				pass(place, &others);
				others.first = offset;
			}
			others.last = offset;
			continue;
		}
		if (last >= 0 && alone)
			break;
		if (pop->delivered > 0 && message.payload_len > pop->bytes_left)
		{
			pop->bytes_left = 0;
			break;
		}
		put_row(pop, place, &reader, offset, &message, lease);
		bytes += message.payload_len;
		pop->bytes_left -= Min(pop->bytes_left, (int64) message.payload_len);
		pop->messages_left--;
		pop->delivered++;
		last = offset;
		if (alone)
			break;
	}
	queen_reader_close(&reader);
	queen_place_count(place, QUEEN_COUNT_MESSAGES, pop->delivered - delivered);
	queen_place_count(place, QUEEN_COUNT_BYTES, bytes);
	pass(place, &others);

	return last;
}

/*
 * Whether the head got no answer though it was alone in its lease, at its last
 * permitted delivery.
 */
static bool
is_poison(const QueenPlace *place)
{
	const QueenCursor *cursor = &place->cursor;
	int64		head = queen_cursor_head(cursor);
	int32		limit = place->queue->max_deliveries;

	if (limit == 0 || cursor->lease_nonce == 0)
		return false;
	if (cursor->lease_start != head || cursor->lease_end != head)
		return false;
	return queen_cursor_deliveries(cursor, head) >= limit;
}

/* Ends a lease that has expired; what is poison is given up. */
static void
end_expired_lease(QueenPlace *place)
{
	bool		poison = is_poison(place);

	if (place->cursor.lease_nonce != 0)
		queen_count_now(place->queue->queue_id, place->group->group_id, QUEEN_COUNT_EXPIRIES, 1);
	queen_cursor_end_lease(&place->cursor);
	if (poison)
		queen_bury(place, queen_cursor_head(&place->cursor), cstring_to_text("poison"),
				   NULL, place->cursor.failures);
}

/* Whether the log goes on after what was handed out (-1: nothing), as far as can be seen. */
static QueenRest
look_beyond(const QueenPop *pop, const QueenPlace *place, int64 last)
{
	if (last < 0)
		return pop->bytes_left == 0 || pop->young ? QUEEN_REST_SOMETHING : QUEEN_REST_NOTHING;
	return queen_log_end(&place->partition) > last + 1 ? QUEEN_REST_SOMETHING : QUEEN_REST_NOTHING;
}

/* Takes what the partition has. */
static void
take(QueenPop *pop, QueenPlace *place)
{
	QueenCursor *cursor = &place->cursor;
	int64		nonce = queen_lease_new_nonce();
	int64		last;

	end_expired_lease(place);
	last = deliver(pop, place, nonce);
	if (queen_preloaded())
		cursor->rest = look_beyond(pop, place, last);
	if (last < 0)
		return;
	pop->partitions_left--;
	place->changed = true;
	if (pop->auto_ack)
	{
		queen_place_count(place, QUEEN_COUNT_ACKS,
						  queen_cursor_complete_span(cursor, queen_cursor_head(cursor), last));
		return;
	}
	queen_cursor_count_delivery(cursor, last);
	queen_cursor_start_lease(cursor, nonce, last, pop->now + pop->lease);
}

/* Whether a cursor lets messages out now. */
static bool
is_free(const QueenCursor *cursor, TimestampTz now)
{
	return (cursor->lease_nonce == 0 || cursor->lease_until <= now) &&
		cursor->not_before <= now;
}

/* The place of a partition that this call has completed a lease in, or NULL. */
static QueenPlace *
find_held(const QueenPop *pop, int64 partition_id)
{
	for (int i = 0; i < pop->nheld; i++)
	{
		if (pop->held[i].place && pop->held[i].partition_id == partition_id)
			return pop->held[i].place;
	}
	return NULL;
}

/*
 * When a partition that gave nothing will have something: infinity where that
 * is for a push to say.
 */
static TimestampTz
next_time(const QueenPop *pop, const QueenPlace *place)
{
	const QueenCursor *cursor = &place->cursor;
	QueenSegmentRow head;

	if (!is_free(cursor, pop->now))
		return Max(cursor->lease_nonce != 0 ? cursor->lease_until : DT_NOBEGIN, cursor->not_before);
	if (pop->queue->delivery_delay > 0 &&
		queen_segment_at(place->partition.partition_id, place->partition.log_start,
						 queen_cursor_head(cursor), &head) &&
		head.base_offset + head.message_count > queen_cursor_head(cursor))
		return head.created_at + pop->queue->delivery_delay;
	return DT_NOEND;
}

/* What to tell of a partition after the attempt. */
static QueenVisit
judge(QueenPop *pop, const QueenPlace *place, bool took, TimestampTz *at)
{
	if (took)
		return QUEEN_VISIT_TOOK;
	if (pop->bytes_left == 0)
		return QUEEN_VISIT_LEFT;
	*at = next_time(pop, place);
	pop->soonest = Min(pop->soonest, *at);
	return *at == DT_NOEND ? QUEEN_VISIT_NOTHING : QUEEN_VISIT_LATER;
}

/* Locks a partition that this call has nothing of yet; false where it cannot. */
static bool
open_place(QueenPop *pop, int64 partition_id, QueenPlace *place, QueenVisit *why)
{
	*why = QUEEN_VISIT_LOCKED;
	if (!queen_group_try_lock_cursor(pop->group, partition_id))
	{
		if (queen_lock_budget_spent())
			pop->partitions_left = 0;
		pop->soonest = Min(pop->soonest, pop->now + QUEEN_PASSED_OVER_US);
		return false;
	}
	*why = QUEEN_VISIT_NOTHING;
	if (!queen_partition_by_id(partition_id, &place->partition))
	{
		queen_group_unlock_cursor(pop->group, partition_id);
		return false;
	}
	place->queue = pop->queue;
	place->group = pop->group;
	queen_group_read_cursor(pop->group, &place->partition, &place->cursor);
	return true;
}

/*
 * Takes what a partition has for the group, if anything, and if it is free; else
 * tells when it may be.
 */
QueenVisit
queen_claim(QueenPop *pop, int64 partition_id, TimestampTz *at)
{
	QueenPlace *place = find_held(pop, partition_id);
	QueenPlace	fresh = {0};
	int64		delivered = pop->delivered;
	QueenVisit	result;

	pop->young = false;
	if (place == NULL)
	{
		if (!open_place(pop, partition_id, &fresh, &result))
			return result;
		place = &fresh;
	}
	if (is_free(&place->cursor, pop->now))
		take(pop, place);
	if (place == &fresh && pop->delivered == delivered && !pop->young)
		pop->stale = true;
	result = judge(pop, place, pop->delivered > delivered, at);
	if (place->changed)
		queen_place_write(place);
	else if (place == &fresh)
		queen_group_unlock_cursor(pop->group, partition_id);
	return result;
}
