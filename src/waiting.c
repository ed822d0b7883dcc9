/*-------------------------------------------------------------------------
 *
 * waiting.c
 *	  Waits until there may be something to pop.
 *
 * With shared memory the waiter sleeps until it is woken (wake.c), or until the
 * time at which, as its last look has found, a lease, a back-off or a delay
 * ends. It looks once in queen.reconcile_interval even so. Without shared
 * memory it looks after pauses that grow.
 *
 * A wake is a debt: who was woken and ends without having looked, be it by an
 * error, or who found what it was woken for but does not take it, wakes the
 * next one. So it is with time: of a group one session at least is to wake when a
 * lease ends, and who leaves hands that on.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "settings.h"
#include "shmem.h"
#include "waiting.h"

#define FIRST_PAUSE		20		/* milliseconds */
#define LONGEST_PAUSE	1000

/* Begins; the first look comes after this. */
void
queen_wait_begin(QueenWait *wait, const QueenWaitKey *key, TimestampTz until)
{
	wait->key = *key;
	wait->until = until;
	wait->pause = FIRST_PAUSE;
	wait->owes = false;
	wait->soonest = DT_NOEND;
	if (queen_preloaded())
		queen_wake_enter(key);
}

/* The group was registered, or made anew, since we began. */
void
queen_wait_follow(QueenWait *wait, int32 group_id)
{
	if (wait->key.group_id == group_id)
		return;
	wait->key.group_id = group_id;
	if (queen_preloaded() && queen_wake_look_again(&wait->key))
		wait->owes = true;
}

/* Sleeps for a pause that is longer than the one before. */
static void
pause_longer(QueenWait *wait, TimestampTz now)
{
	TimestampTz until = Min(wait->until, now + wait->pause * INT64CONST(1000));

	wait->pause = Min(wait->pause + wait->pause / 2, LONGEST_PAUSE);
	for (; now < until; now = GetCurrentTimestamp())
		queen_wake_pause(TimestampDifferenceMilliseconds(now, until));
}

/*
 * After a look that found nothing: sleeps until the next one is due, at soonest
 * at the latest. Where that is known to each look of the group (shared), one of
 * those who wait is enough. False where the time is over.
 */
bool
queen_wait_sleep(QueenWait *wait, TimestampTz soonest, bool shared)
{
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz until = Min(wait->until, now + queen_reconcile_interval * INT64CONST(1000));

	wait->owes = false;
	if (now >= wait->until)
		return false;
	if (!queen_preloaded())
	{
		pause_longer(wait, now);
		return true;
	}
	wait->soonest = shared ? soonest : DT_NOEND;
	queen_wake_wait(shared ? until : Min(until, soonest), wait->soonest);
	wait->owes = queen_wake_look_again(&wait->key);

	return true;
}

/* Ends; taken says that what we were woken for is taken. */
void
queen_wait_end(QueenWait *wait, bool taken)
{
	if (!queen_preloaded())
		return;
	if (queen_wake_leave() || (wait->owes && !taken))
		queen_wake_group(wait->key.queue_id, wait->key.group_id, wait->key.partition_id);
	if (wait->soonest != DT_NOEND)
		queen_wake_group_at(wait->key.queue_id, wait->key.group_id, 0, wait->soonest);
	wait->owes = false;
}
