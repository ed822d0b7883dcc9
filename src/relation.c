/*-------------------------------------------------------------------------
 *
 * relation.c
 *	  Finds and locks the tables and indexes of schema queen.
 *
 * By name, at each use, so that nothing outlives a DROP EXTENSION or a REINDEX.
 * The ids are remembered beside the server's own caches, which answer the same
 * with three look-ups, and forgotten with them: when any row of pg_class or
 * pg_namespace changes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "common/hashfn.h"
#include "storage/lmgr.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "relation.h"

#define KNOWN 256

/* By the address of the name, which is a literal's. */
static struct
{
	const char *name;
	Oid			id;
}			known[KNOWN];

/* Counts how often all was forgotten. */
static uint64 generation = 0;

/* Something changed in the catalogs. */
static void
forget(Datum argument, int cache, uint32 hash)
{
	memset(known, 0, sizeof(known));
	generation++;
}

/* Asks to be told of changes, once in a session. */
static void
listen_to_changes(void)
{
	static bool listening = false;

	if (listening)
		return;
	CacheRegisterSyscacheCallback(RELOID, forget, (Datum) 0);
	CacheRegisterSyscacheCallback(NAMESPACEOID, forget, (Datum) 0);
	listening = true;
}

/* The id of a relation. */
Oid
queen_find_relation(const char *name)
{
	int			slot = murmurhash32((uint32) (uintptr_t) name) % KNOWN;
	uint64		before;
	Oid			id;

	if (known[slot].name == name)
		return known[slot].id;
	listen_to_changes();
	before = generation;
	id = get_relname_relid(name, get_namespace_oid("queen", false));
	if (!OidIsValid(id))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation \"queen.%s\" does not exist", name)));
	if (generation == before)	/* else it may be stale already */
	{
		known[slot].name = name;
		known[slot].id = id;
	}

	return id;
}

/* What was found is locked, and found again if anything changed meanwhile. */
Oid
queen_lock_relation(const char *name, LOCKMODE mode)
{
	for (;;)
	{
		Oid			id = queen_find_relation(name);
		uint64		before = generation;

		LockRelationOid(id, mode);
		if (generation == before || queen_find_relation(name) == id)
			return id;
		UnlockRelationOid(id, mode);
	}
}
