/*-------------------------------------------------------------------------
 *
 * soon.c
 *	  Tells the launcher of work that will be due before its next visit.
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

/* Tells the launcher, once the message can be seen. Never throws. */
static void
tell_launcher(XactEvent event, void *arg)
{
	if (launcher_pid == 0)
		return;
	if (event == XACT_EVENT_COMMIT)
		kill(launcher_pid, QUEEN_DUE_SIGNAL);
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_PREPARE || event == XACT_EVENT_ABORT)
		launcher_pid = 0;
}

/* A message of this transaction is due at a time. */
void
queen_due_at(TimestampTz at)
{
	static bool registered = false;
	static TimestampTz told_at = 0;
	TimestampTz now = GetCurrentTimestamp();

	if (at > TimestampTzPlusMilliseconds(now, queen_naptime) || launcher_pid != 0 ||
		!TimestampDifferenceExceeds(told_at, now, 1000))
		return;
	if (!registered)
		RegisterXactCallback(tell_launcher, NULL);
	registered = true;
	told_at = now;
	launcher_pid = queen_process_pid(QUEEN_LAUNCHER, InvalidOid);
}
