/*-------------------------------------------------------------------------
 *
 * queen.c
 *	  Entry of the library: the magic block and registration, nothing else.
 *
 * See README in this directory for the picture.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"

#include "lock_budget.h"
#include "settings.h"
#include "shmem.h"
#include "touch.h"
#include "utility.h"
#include "worker.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

/* Called when the library is loaded, by the postmaster or by a session. */
void
_PG_init(void)
{
	queen_define_settings();
	queen_define_lock_budget();
	queen_hook_utility();
	queen_shmem_define();
	if (process_shared_preload_libraries_in_progress)
	{
		queen_define_touches();
		queen_worker_register();
	}
}
