/*-------------------------------------------------------------------------
 *
 * history.c
 *	  Forgets what the histories need not tell any more: seeks, with the cursors
 *	  that they moved, redrives and purges of dead letters, and what retention
 *	  removed, older than queen.history_age.
 *
 * All are in the order of their ids, which is near enough that of time. Rows
 * of a queue are not locked: nobody but seek_undo changes one. What that, or a
 * drop of the queue, is about to change is passed over.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "dead_letter_store.h"
#include "history.h"
#include "retention_store.h"
#include "seek_store.h"
#include "settings.h"

#define ROWS_AT_ONCE	5000

/* The step. */
bool
queen_history_step(QueenPass *pass, int64 *done)
{
	TimestampTz before;
	int64		removed;

	if (pass->over || queen_history_age == 0)
		return false;
	before = GetCurrentTimestamp() - (int64) queen_history_age * SECS_PER_MINUTE * USECS_PER_SEC;
	if (queen_seek_prune(&pass->walks->oldest.seek, before, ROWS_AT_ONCE, done))
		return true;
	removed = queen_dead_letter_forget(&pass->walks->oldest.redrive, before, ROWS_AT_ONCE);
	removed += queen_retention_log_prune(&pass->walks->oldest.retention, before, ROWS_AT_ONCE);
	*done += removed;
	return removed >= ROWS_AT_ONCE;
}
