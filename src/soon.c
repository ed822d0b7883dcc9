/*-------------------------------------------------------------------------
 *
 * soon.c
 *	  Tells the launcher of what it would learn too late at its next visit.
 *
 * A worker learns at each visit when the next delayed message of its database
 * is due, and the launcher sends one again at that time. A message with a
 * shorter delay than the time to the next visit would wait for it: so the
 * commit that brings one tells the launcher, a session once a second at most.
 * Where the message comes to light otherwise (COMMIT PREPARED), or no launcher
 * runs, the next visit or pop finds it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>

#include "access/xact.h"
#include "utils/timestamp.h"

#include "process.h"
#include "settings.h"
#include "soon.h"

static int	launcher_pid = 0;	/* to be told at the commit; 0: nobody */
static int	launcher_signal = 0;

/* Tells the launcher, once what is new can be seen. Never throws. */
static void
tell_launcher(XactEvent event, void *arg)
{
	if (launcher_pid == 0)
		return;
	if (event == XACT_EVENT_COMMIT)
		kill(launcher_pid, launcher_signal);
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_PREPARE || event == XACT_EVENT_ABORT)
		launcher_pid = 0;
}

/* Notes by what signal the launcher is to be told. */
static void
note(int number)
{
	static bool registered = false;

	if (!registered)
		RegisterXactCallback(tell_launcher, NULL);
	registered = true;
	launcher_signal = number;
	launcher_pid = queen_process_pid(QUEEN_LAUNCHER, InvalidOid);
}

/* A message of this transaction is due at a time. */
void
queen_due_at(TimestampTz at)
{
	static TimestampTz told_at = 0;
	TimestampTz now = GetCurrentTimestamp();

	if (at > TimestampTzPlusMilliseconds(now, queen_naptime) || launcher_pid != 0 ||
		!TimestampDifferenceExceeds(told_at, now, 1000))
		return;
	told_at = now;
	note(QUEEN_DUE_SIGNAL);
}

/* This transaction changes what a visit to a database would find. */
void
queen_look_again(void)
{
	note(QUEEN_LOOK_SIGNAL);
}
