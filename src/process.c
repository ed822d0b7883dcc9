/*-------------------------------------------------------------------------
 *
 * process.c
 *	  Which of our background processes run, and how they are kept away.
 *
 * A process holds an exclusive lock of its kind for as long as it lives: so
 * there is one of a kind in a place, everybody finds its process id among the
 * locks of the server, and no shared memory of our own is needed. The locks
 * belong to database 0. Whoever needs a database without us asks the worker to
 * leave, then takes the worker's lock in a mode that he shares with others who
 * do: a worker that comes meanwhile finds it taken and leaves at once.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>

#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/guc.h"
#include "utils/resowner.h"

#include "process.h"

/* The modes tell a process from whoever keeps it out or looks whether it is there. */
#define PROCESS_MODE	ExclusiveLock
#define KEEP_OUT_MODE	ShareLock
#define LOOK_MODE		ShareRowExclusiveLock

/* The tag of a process in a database. */
static void
set_tag(LOCKTAG *tag, QueenProcess process, Oid database)
{
	SET_LOCKTAG_ADVISORY(*tag, InvalidOid, 0, database, process);
}

/* Takes the place of a process, if it is free. */
bool
queen_process_begin(QueenProcess process, Oid database)
{
	LOCKTAG		tag;

	set_tag(&tag, process, database);
	return LockAcquire(&tag, PROCESS_MODE, true, true) != LOCKACQUIRE_NOT_AVAIL;
}

/* Whether no such process is there, and nobody keeps it out. */
bool
queen_process_is_free(QueenProcess process, Oid database)
{
	LOCKTAG		tag;

	set_tag(&tag, process, database);
	if (LockAcquire(&tag, LOOK_MODE, true, true) == LOCKACQUIRE_NOT_AVAIL)
		return false;
	LockRelease(&tag, LOOK_MODE, true);
	return true;
}

/* The id of a process, or 0. */
int
queen_process_pid(QueenProcess process, Oid database)
{
	LockData   *locks = GetLockStatusData();
	LOCKTAG		tag;
	int			pid = 0;

	set_tag(&tag, process, database);
	for (int i = 0; i < locks->nelements && pid == 0; i++)
	{
		LockInstanceData *lock = &locks->locks[i];

		if ((lock->holdMask & LOCKBIT_ON(PROCESS_MODE)) != 0 &&
			memcmp(&lock->locktag, &tag, sizeof(LOCKTAG)) == 0)
			pid = lock->pid;
	}
	return pid;
}

/* Sends a signal to a process; false where there is none. */
bool
queen_process_signal(QueenProcess process, Oid database, int number)
{
	int			pid = queen_process_pid(process, database);

	return pid != 0 && kill(pid, number) == 0;
}

/* Makes the worker leave a database, and stay away until the transaction ends. */
void
queen_process_keep_out(Oid database)
{
	ResourceOwner portal = CurrentResourceOwner;
	LOCKTAG		tag;

	set_tag(&tag, QUEEN_WORKER, database);
	queen_process_signal(QUEEN_WORKER, database, SIGTERM);
	CurrentResourceOwner = CurTransactionResourceOwner;
	PG_TRY();
	{
		LockAcquire(&tag, KEEP_OUT_MODE, false, false);
	}
	PG_FINALLY();
	{
		CurrentResourceOwner = portal;
	}
	PG_END_TRY();
}

/*
 * Settings that a database or the server may have for its users, and that would
 * change our work. Of the relation locks of others none is waited for for long:
 * its holder may wait for one of us.
 */
void
queen_process_pin_settings(void)
{
	static const char *const settings[][2] = {
		{"lock_timeout", "1s"},
		{"statement_timeout", "0"},
		{"transaction_timeout", "0"},	/* where the server has it */
		{"idle_in_transaction_session_timeout", "0"},
		{"default_transaction_isolation", "read committed"},
		{"default_transaction_read_only", "off"},
		{"search_path", "pg_catalog, pg_temp"},
		{"zero_damaged_pages", "off"},
	};

	for (int i = 0; i < lengthof(settings); i++)
	{
		if (GetConfigOption(settings[i][0], true, false) == NULL)
			continue;
		SetConfigOption(settings[i][0], settings[i][1], PGC_SUSET, PGC_S_OVERRIDE);
	}
}
