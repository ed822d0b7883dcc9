/*-------------------------------------------------------------------------
 *
 * soon.c
 *	  Tells the launcher of what it would learn too late at its next visit.
 *
 * A worker learns at each visit when the next delayed message of its database
 * is due, and the launcher sends one again at that time. A message with a
 * shorter delay than the time to the next visit would wait for it: so the
 * commit that brings one tells the launcher, which hurries but so much. Where
 * transactions with delayed messages were prepared since the server started,
 * each COMMIT PREPARED does. Where the server was started since, or has not
 * preloaded queen, the next visit or pop finds their messages.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>

#include "access/xact.h"
#include "port/atomics.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"

#include "process.h"
#include "settings.h"
#include "soon.h"

/* How long it is believed that the launcher has the pid that it had. */
#define PID_AGE_MS 1000

/* Shared memory; NULL where queen is not preloaded. */
static pg_atomic_uint32 *were_prepared = NULL;

/* What this transaction tells. */
static TimestampTz first_due_at = DT_NOEND;
static bool look_again = false;

/* Found before the commit, as nothing may fail after it; 0: nobody is told. */
static int	launcher_pid = 0;

/*
 * The launcher, or 0. That there is none is not remembered: it may come at once,
 * and begin with a visit that sees nothing of what is told now.
 */
static int
find_launcher(TimestampTz now)
{
	static int	pid = 0;
	static TimestampTz found_at = 0;

	if (pid == 0 || found_at > now || TimestampDifferenceExceeds(found_at, now, PID_AGE_MS))
	{
		pid = queen_process_pid(QUEEN_LAUNCHER, InvalidOid);
		found_at = now;
	}
	return pid;
}

/* Before the commit: whom to tell. */
static void
prepare_to_tell(void)
{
	TimestampTz now = GetCurrentTimestamp();

	if (look_again || first_due_at <= TimestampTzPlusMilliseconds(now, queen_naptime))
		launcher_pid = find_launcher(now);
}

/* Tells the launcher, once what is new can be seen. Throws before the commit only. */
static void
tell_launcher(XactEvent event, void *arg)
{
	if (first_due_at == DT_NOEND && !look_again)
		return;
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			prepare_to_tell();
			return;
		case XACT_EVENT_COMMIT:
			if (launcher_pid != 0)
				kill(launcher_pid, look_again ? QUEEN_LOOK_SIGNAL : QUEEN_DUE_SIGNAL);
			break;
		case XACT_EVENT_PREPARE:
			if (were_prepared)
				pg_atomic_write_u32(were_prepared, 1);
			break;
		case XACT_EVENT_ABORT:
			break;
		default:
			return;
	}
	first_due_at = DT_NOEND;
	look_again = false;
	launcher_pid = 0;
}

/* Has the end of this transaction looked at. */
static void
watch_transaction(void)
{
	static bool registered = false;

	if (!registered)
		RegisterXactCallback(tell_launcher, NULL);
	registered = true;
}

/* A message of this transaction is due at a time. */
void
queen_due_at(TimestampTz at)
{
	watch_transaction();
	first_due_at = Min(first_due_at, at);
}

/* This transaction changes what a visit to a database would find. */
void
queen_look_again(void)
{
	watch_transaction();
	look_again = true;
}

/* A prepared transaction has ended, which may have brought what is due soon. */
void
queen_due_perhaps(void)
{
	int			pid;

	if (were_prepared == NULL || pg_atomic_read_u32(were_prepared) == 0)
		return;
	pid = find_launcher(GetCurrentTimestamp());
	if (pid != 0)
		kill(pid, QUEEN_DUE_SIGNAL);
}

/* Shared memory: whether there were such transactions. */
Size
queen_soon_size(void)
{
	return sizeof(pg_atomic_uint32);
}

void
queen_soon_init(void)
{
	bool		found;

	were_prepared = ShmemInitStruct("queen prepared", queen_soon_size(), &found);
	if (!found)
		pg_atomic_init_u32(were_prepared, 0);
}
