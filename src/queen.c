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

#include "settings.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

/* Called when the library is loaded, by the postmaster or by a session. */
void
_PG_init(void)
{
	queen_define_settings();
}
