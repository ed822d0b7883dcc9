/*-------------------------------------------------------------------------
 *
 * due.c
 *	  Steps of maintenance: delayed messages that are due, remembered ids that
 *	  are old.
 *
 * Both go from queue to queue in the order of their ids, and stay where there
 * was something to do.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "dedup.h"
#include "dedup_store.h"
#include "due.h"
#include "schedule.h"
#include "schedule_store.h"

#define PARTITIONS_AT_ONCE 100

/* What is due, but held by somebody, is tried again after this time. */
#define HELD_PAUSE_MS 1000

/* The step comes to the same queue again where that had something to do. */
static void
stay_where_it_was_busy(QueenPass *pass)
{
	pass->queue_id -= pass->rule;
	pass->rule = 0;
}

/* Moves messages into the log, and learns when the next one is due. */
bool
queen_due_step(QueenPass *pass, int64 *done)
{
	TimestampTz next_at;
	int64		moved;

	stay_where_it_was_busy(pass);
	if (pass->over || !queen_pass_next_queue(pass, queen_scheduled_queue_after))
		return false;
	moved = queen_schedule_step(pass->queue_id, QUEEN_DELIVER_LIMIT, &next_at);
	*done += moved;
	if (moved > 0)
		pass->rule = 1;
	else
	{
		TimestampTz again = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), HELD_PAUSE_MS);

		if (next_at <= GetCurrentTimestamp())
			next_at = again;
		pass->walks->next_due_at = Min(pass->walks->next_due_at, next_at);
	}
	return true;
}

/* Forgets ids that are older than the window of their queue. */
bool
queen_ids_step(QueenPass *pass, int64 *done)
{
	int64		purged;

	stay_where_it_was_busy(pass);
	if (pass->over || !queen_pass_next_queue(pass, queen_dedup_due_queue_after))
		return false;
	purged = queen_dedup_step(pass->queue_id, PARTITIONS_AT_ONCE);
	*done += purged;
	pass->rule = purged > 0;
	return true;
}
