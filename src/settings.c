/*-------------------------------------------------------------------------
 *
 * settings.c
 *	  The configuration parameters of queen.
 *
 * Limits that protect other users of the server are for superusers to set;
 * the rest is for everybody. Ranges are such that no product of a setting
 * and a limit overflows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "utils/guc.h"

#include "settings.h"

bool		queen_auto_create_queue = false;
int			queen_dedup_memory = 32 * 1024;
int			queen_max_message_bytes = 64 * 1024 * 1024;
int			queen_max_partition_locks = 64;
int			queen_seek_timeout = 10000;

/* Called once, when the library is loaded. */
void
queen_define_settings(void)
{
	DefineCustomBoolVariable("queen.auto_create_queue",
							 "Lets a push to an unknown queue make it.",
							 "The caller needs CREATE on schema queen.",
							 &queen_auto_create_queue,
							 false,
							 PGC_USERSET, 0, NULL, NULL, NULL);

	DefineCustomIntVariable("queen.dedup_memory",
							"Sets the memory of a session for filters over remembered transaction ids.",
							"Used only by sessions that push many ids to partitions that remember many.",
							&queen_dedup_memory,
							32 * 1024, 0, MAX_KILOBYTES,
							PGC_USERSET, GUC_UNIT_KB, NULL, NULL, NULL);

	DefineCustomIntVariable("queen.max_message_bytes",
							"Sets the largest message body that a push takes.",
							NULL,
							&queen_max_message_bytes,
							64 * 1024 * 1024, 1024, 256 * 1024 * 1024,
							PGC_SUSET, GUC_UNIT_BYTE, NULL, NULL, NULL);

	DefineCustomIntVariable("queen.max_partition_locks",
							"Sets the number of partitions up to which one push locks each of them.",
							"A push to more partitions locks the whole queue against other pushes instead.",
							&queen_max_partition_locks,
							64, 1, INT_MAX / 2,
							PGC_SUSET, 0, NULL, NULL, NULL);

	DefineCustomIntVariable("queen.seek_timeout",
							"Sets how long a seek waits for a lock where lock_timeout is not set.",
							"Pops of the group queue behind a waiting seek. Zero means no limit.",
							&queen_seek_timeout,
							10000, 0, INT_MAX,
							PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);

	MarkGUCPrefixReserved("queen");
}
