/*-------------------------------------------------------------------------
 *
 * lock_budget.c
 *	  How many locks of partitions and cursors a transaction may hold.
 *
 * The lock table is of fixed size and everybody's, so a transaction that pushed
 * to, or popped from, as many partitions as it likes could fill it, and nobody else
 * on the server could lock anything. Counted are the locks of which one
 * transaction can take any number, when they are taken and when they are given
 * back. What a subtransaction that failed has given back is not seen; so where the
 * budget is spent, and there was such a one, the lock table is asked.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/twophase.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "storage/proc.h"

#include "compat.h"
#include "lock_budget.h"
#include "settings.h"

static LocalTransactionId counted_in = InvalidLocalTransactionId;
static int	held = 0;
static bool stale = false;		/* some may have been given back unseen */

/* Half of what the server's settings promise; the table has somewhat more. */
static int
limit(void)
{
	if (queen_max_transaction_locks > 0)
		return queen_max_transaction_locks;
	return Min((int64) max_locks_per_xact * (MaxBackends + max_prepared_xacts) / 2, INT_MAX);
}

/* What the lock table says. */
static int
count_held(bool (*counts) (uint16 kind))
{
	LockData   *locks = GetLockStatusData();
	int			count = 0;

	for (int i = 0; i < locks->nelements; i++)
	{
		const LockInstanceData *lock = &locks->locks[i];

		if (lock->pid == MyProcPid && lock->holdMask != 0 &&
			lock->locktag.locktag_type == LOCKTAG_ADVISORY && counts(lock->locktag.locktag_field4))
			count++;
	}
	return count;
}

/* A new transaction holds none. */
static void
follow_transaction(void)
{
	if (counted_in == queen_local_transaction_id())
		return;
	counted_in = queen_local_transaction_id();
	held = 0;
	stale = false;
}

/* Whether one more may be taken. */
bool
queen_lock_budget_left(bool (*counts) (uint16 kind))
{
	follow_transaction();
	if (held >= limit() && stale)
	{
		held = count_held(counts);
		stale = false;
	}
	return held < limit();
}

/* One was taken (1), or given back (-1). */
void
queen_lock_budget_add(int change)
{
	follow_transaction();
	held += change;
}

void
queen_lock_budget_refuse(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("this transaction would take more than %d locks of partitions", limit()),
			 errhint("Push to, or acknowledge, fewer partitions in one transaction, use push_deferred, or raise queen.max_transaction_locks.")));
}

/* A subtransaction that fails gives its locks back. */
static void
at_subtransaction_event(SubXactEvent event, SubTransactionId subtransaction,
						SubTransactionId parent, void *argument)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		stale = true;
}

/* Called once, when the library is loaded. */
void
queen_define_lock_budget(void)
{
	RegisterSubXactCallback(at_subtransaction_event, NULL);
}
