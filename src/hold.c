/*-------------------------------------------------------------------------
 *
 * hold.c
 *	  What maintenance leaves alone for some time, since it failed.
 *
 * A queue in which a step fails, or a partition where that is known, is held
 * back for this step: 10 s at first, twice as long after each further failure,
 * 10 minutes at most. The others go on. Holds are hints: one that is forgotten
 * costs a failure more.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "hold.h"

#define FIRST_MS	10000
#define LAST_MS		600000

/* Until when something is left alone after so many failures before this one. */
TimestampTz
queen_hold_until(int failures, TimestampTz now)
{
	int64		ms = FIRST_MS;

	for (int i = 0; i < failures && ms < LAST_MS; i++)
		ms *= 2;
	return TimestampTzPlusMilliseconds(now, Min(ms, LAST_MS));
}

/* The hold on a place; or NULL. */
static const QueenHold *
find(const QueenHold *holds, int step, int32 queue_id, int64 partition_id)
{
	for (int i = 0; i < QUEEN_HOLDS; i++)
	{
		if (holds[i].queue_id == queue_id && holds[i].partition_id == partition_id &&
			holds[i].step == step)
			return &holds[i];
	}
	return NULL;
}

/* The hold that ended, or will end, first. */
static QueenHold *
find_first(QueenHold *holds)
{
	QueenHold  *first = &holds[0];

	for (int i = 0; i < QUEEN_HOLDS; i++)
	{
		if (holds[i].queue_id == 0)
			return &holds[i];
		if (holds[i].not_before < first->not_before)
			first = &holds[i];
	}
	return first;
}

/* Holds a place back. One that failed not long ago is held longer. */
void
queen_hold(QueenHold *holds, int step, int32 queue_id, int64 partition_id)
{
	TimestampTz now = GetCurrentTimestamp();
	QueenHold  *hold = (QueenHold *) find(holds, step, queue_id, partition_id);

	if (hold && TimestampDifferenceExceeds(hold->not_before, now, LAST_MS))
		hold->failures = 0;
	else if (hold == NULL)
	{
		hold = find_first(holds);
		memset(hold, 0, sizeof(QueenHold));
		hold->step = step;
		hold->queue_id = queue_id;
		hold->partition_id = partition_id;
	}
	hold->not_before = queen_hold_until(hold->failures++, now);
}

/* One held for longer than ever is not (the clock was set back). */
static bool
is_in_force(const QueenHold *hold, TimestampTz now)
{
	return hold->queue_id != 0 && hold->not_before > now &&
		!TimestampDifferenceExceeds(now, hold->not_before, LAST_MS);
}

/* Whether a place is to be left alone. */
bool
queen_is_held(const QueenHold *holds, int step, int32 queue_id, int64 partition_id)
{
	const QueenHold *hold = find(holds, step, queue_id, partition_id);

	return hold && is_in_force(hold, GetCurrentTimestamp());
}

/* Whether there is anything that a step is to leave alone. */
bool
queen_holds_any(const QueenHold *holds, int step)
{
	TimestampTz now = GetCurrentTimestamp();

	for (int i = 0; i < QUEEN_HOLDS; i++)
	{
		if (holds[i].step == step && is_in_force(&holds[i], now))
			return true;
	}
	return false;
}
