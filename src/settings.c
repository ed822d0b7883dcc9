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

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/varlena.h"

#include "settings.h"

bool		queen_auto_create_queue = false;
int			queen_deferred_buffer = 64 * 1024;
int			queen_dedup_memory = 32 * 1024;
int			queen_max_batch = 1000000;
int			queen_max_headers_bytes = 64 * 1024;
int			queen_max_message_bytes = 64 * 1024 * 1024;
int			queen_max_partition_locks = 64;
int			queen_max_transaction_locks = 0;
int			queen_fusion_buffer = 4096;
int			queen_fusion_idle = 3000;
int			queen_seek_timeout = 10000;
int			queen_naptime = 10000;
int			queen_max_workers = 2;
int			queen_history_age = 30 * 24 * 60;
char	   *queen_databases = NULL;

/* The names in a list of databases; NIL and false where it is none. */
static bool
split_databases(const char *value, List **names)
{
	char	   *copy = pstrdup(value);

	return SplitIdentifierString(copy, ',', names);
}

/* Refuses what is not a list of names. */
static bool
check_databases(char **value, void **extra, GucSource source)
{
	List	   *names;
	bool		good = *value == NULL || split_databases(*value, &names);

	if (!good)
		GUC_check_errdetail("List syntax is invalid.");
	return good;
}

/* Whether the worker is to serve a database, which says that it is a template. */
bool
queen_serves_database(const char *name, bool is_template)
{
	List	   *names;
	ListCell   *cell;

	if (queen_databases == NULL || queen_databases[0] == '\0' ||
		!split_databases(queen_databases, &names))
		return !is_template;
	foreach(cell, names)
	{
		if (strcmp(lfirst(cell), name) == 0)
			return true;
	}
	return false;
}

int			queen_max_pop_wait = 60000;
int			queen_reconcile_interval = 30000;
int			queen_ready_queues = 64;
int			queen_ready_groups = 128;
int			queen_ready_ring = 4096;
int			queen_ready_list = 1024;
int			queen_counter_entries = 1024;

/* A size of something in shared memory, fixed when the server starts. */
static void
define_size(const char *name, const char *what, int *variable, int least, int most)
{
	DefineCustomIntVariable(name, what, NULL, variable, *variable, least, most,
							PGC_POSTMASTER, 0, NULL, NULL, NULL);
}

/* The sizes of shared memory, which is there only where the library is preloaded. */
static void
define_sizes(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	define_size("queen.ready_queues", "Sets for how many queues shared memory has a ring of partitions.",
				&queen_ready_queues, 0, 100000);
	define_size("queen.ready_groups", "Sets for how many consumer groups shared memory has a list of ready partitions.",
				&queen_ready_groups, 0, 100000);
	define_size("queen.ready_ring", "Sets how many partitions the ring of a queue holds.",
				&queen_ready_ring, 16, 1024 * 1024);
	define_size("queen.ready_list", "Sets how many partitions the list of a consumer group holds.",
				&queen_ready_list, 16, 1024 * 1024);
	define_size("queen.counter_entries", "Sets for how many queues and consumer groups shared memory has counters.",
				&queen_counter_entries, 0, 1024 * 1024);
	DefineCustomIntVariable("queen.fusion_buffer",
							"Sets the shared memory in which fused pushes travel.",
							"Each possible connection has an equal share; a larger message travels in a segment of its own.",
							&queen_fusion_buffer,
							queen_fusion_buffer, 64, MAX_KILOBYTES,
							PGC_POSTMASTER, GUC_UNIT_KB, NULL, NULL, NULL);
}

/* Called once, when the library is loaded. */
void
queen_define_settings(void)
{
	define_sizes();
	DefineCustomBoolVariable("queen.auto_create_queue",
							 "Lets a push to an unknown queue make it.",
							 "The caller needs CREATE on schema queen.",
							 &queen_auto_create_queue,
							 false,
							 PGC_USERSET, 0, NULL, NULL, NULL);

	DefineCustomIntVariable("queen.deferred_buffer",
							"Sets how much memory the deferred messages of a transaction take.",
							"What is beyond goes to a temporary file.",
							&queen_deferred_buffer,
							64 * 1024, 64, MAX_KILOBYTES,
							PGC_USERSET, GUC_UNIT_KB, NULL, NULL, NULL);

	DefineCustomIntVariable("queen.dedup_memory",
							"Sets the memory of a session for filters over remembered transaction ids.",
							"Used only by sessions that push many ids to partitions that remember many.",
							&queen_dedup_memory,
							32 * 1024, 0, MAX_KILOBYTES,
							PGC_USERSET, GUC_UNIT_KB, NULL, NULL, NULL);

	DefineCustomIntVariable("queen.fusion_idle",
							"Sets how long a fusion worker without work stays.",
							NULL,
							&queen_fusion_idle,
							queen_fusion_idle, 0, INT_MAX,
							PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);

	DefineCustomIntVariable("queen.max_batch",
							"Sets the number of messages that one call takes or answers.",
							"A push of more is refused, a pop or a read answers no more.",
							&queen_max_batch,
							1000000, 1, 1000000,
							PGC_SUSET, 0, NULL, NULL, NULL);

	DefineCustomIntVariable("queen.max_headers_bytes",
							"Sets the largest headers that a push takes, as text.",
							NULL,
							&queen_max_headers_bytes,
							64 * 1024, 64, 1024 * 1024,
							PGC_SUSET, GUC_UNIT_BYTE, NULL, NULL, NULL);

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

	DefineCustomIntVariable("queen.max_transaction_locks",
							"Sets the number of partitions and cursors that a transaction may lock.",
							"Zero means half of what the server's settings promise to all transactions.",
							&queen_max_transaction_locks,
							0, 0, INT_MAX,
							PGC_SUSET, 0, NULL, NULL, NULL);

	DefineCustomIntVariable("queen.seek_timeout",
							"Sets how long a seek waits for a lock where lock_timeout is not set.",
							"Pops of the group queue behind a waiting seek. Zero means no limit.",
							&queen_seek_timeout,
							10000, 0, INT_MAX,
							PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);

	DefineCustomStringVariable("queen.databases",
							   "Names the databases that the worker serves.",
							   "An empty list means all that have the extension and are no templates.",
							   &queen_databases,
							   "",
							   PGC_SIGHUP, GUC_LIST_INPUT, check_databases, NULL, NULL);

	DefineCustomIntVariable("queen.naptime",
							"Sets the time between two passes of the worker over a database.",
							NULL,
							&queen_naptime,
							10000, 100, 3600 * 1000,
							PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);

	DefineCustomIntVariable("queen.max_workers",
							"Sets the number of databases that are worked on at once.",
							NULL,
							&queen_max_workers,
							2, 1, 32,
							PGC_SIGHUP, 0, NULL, NULL, NULL);

	DefineCustomIntVariable("queen.history_age",
							"Sets the age from which the worker removes rows of the histories.",
							"Seeks older than that cannot be undone. Zero keeps all.",
							&queen_history_age,
							30 * 24 * 60, 0, INT_MAX,
							PGC_SIGHUP, GUC_UNIT_MIN, NULL, NULL, NULL);

	DefineCustomIntVariable("queen.max_pop_wait",
							"Sets how long a pop waits at most, whatever it asks for.",
							"A waiting pop holds a snapshot and locks.",
							&queen_max_pop_wait,
							60000, 0, INT_MAX,
							PGC_SUSET, GUC_UNIT_MS, NULL, NULL, NULL);

	DefineCustomIntVariable("queen.reconcile_interval",
							"Sets in what time all partitions are looked at, whatever the hints in shared memory say.",
							NULL,
							&queen_reconcile_interval,
							30000, 100, 24 * 3600 * 1000,
							PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);

	MarkGUCPrefixReserved("queen");
}
