/*-------------------------------------------------------------------------
 *
 * shmem.c
 *	  Queen's shared memory: who has a part of it.
 *
 * It is there where shared_preload_libraries names queen. Each part says how
 * much it needs when the server asks, and makes it when the server starts,
 * also after a crash: all of it holds hints, so an empty one is a good one.
 * Locks lie in the parts, each part has a tranche of its own name.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

#include "counters.h"
#include "fuse.h"
#include "ready.h"
#include "shmem.h"
#include "soon.h"
#include "wake.h"

typedef struct ShmemPart
{
	Size		(*size) (void);
	void		(*init) (void);
} ShmemPart;

static const ShmemPart parts[] = {
	{queen_wake_size, queen_wake_init},
	{queen_ready_size, queen_ready_init},
	{queen_counters_size, queen_counters_init},
	{queen_soon_size, queen_soon_init},
	{queen_fusion_size, queen_fusion_init},
};

static shmem_request_hook_type next_request_hook = NULL;
static shmem_startup_hook_type next_startup_hook = NULL;
static bool ready = false;

/* Asks for what all parts need. */
static void
request(void)
{
	if (next_request_hook)
		next_request_hook();
	for (int i = 0; i < lengthof(parts); i++)
		RequestAddinShmemSpace(parts[i].size());
}

/* Makes the parts, or finds them. */
static void
startup(void)
{
	if (next_startup_hook)
		next_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	for (int i = 0; i < lengthof(parts); i++)
		parts[i].init();
	LWLockRelease(AddinShmemInitLock);
	ready = true;
}

/* Only the postmaster can have shared memory made. */
void
queen_shmem_define(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	next_request_hook = shmem_request_hook;
	shmem_request_hook = request;
	next_startup_hook = shmem_startup_hook;
	shmem_startup_hook = startup;
}

/* Children of the postmaster inherit the answer. */
bool
queen_preloaded(void)
{
	return ready;
}

/* Refuses what cannot be done without shared memory. */
void
queen_require_preloaded(const char *what)
{
	if (!ready)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s needs queen to be preloaded", what),
				 errhint("Add queen to \"shared_preload_libraries\" and restart the server.")));
}
