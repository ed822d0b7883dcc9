/*-------------------------------------------------------------------------
 *
 * endpoint.c
 *	  The queues that a redrive takes from and sends to.
 *
 * Which they are may stand in the messages, so they are gathered first, and
 * then locked in ascending order: no two redrives wait for each other.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/hsearch.h"

#include "compat.h"
#include "endpoint.h"
#include "locks.h"
#include "queue.h"

/* Begins with none. They live as long as the current memory context. */
void
queen_endpoints_begin(QueenEndpoints *endpoints)
{
	HASHCTL		control = {
		.keysize = QUEEN_MAX_NAME_BYTES + 1,
		.entrysize = sizeof(QueenEndpoint),
		.hcxt = CurrentMemoryContext
	};

	endpoints->by_name = hash_create("queen endpoints of redrive", 16, &control,
									 HASH_ELEM | HASH_STRINGS | HASH_CONTEXT);
	endpoints->sorted = NULL;
	endpoints->count = 0;
}

/* Looks a name up; one that no queue can have is not there. */
static QueenEndpoint *
look_up(const QueenEndpoints *endpoints, const text *name, HASHACTION action, bool *found)
{
	char		key[QUEEN_MAX_NAME_BYTES + 1] = {0};
	int			sqlstate;

	*found = false;
	if (name == NULL ||
		queen_name_fault(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name), &sqlstate))
		return NULL;
	memcpy(key, VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
	return hash_search(endpoints->by_name, key, action, found);
}

/* Adds a queue, whether there is one of that name or not. */
QueenEndpoint *
queen_endpoint_add(QueenEndpoints *endpoints, const text *name)
{
	bool		found;
	QueenEndpoint *endpoint = look_up(endpoints, name, HASH_ENTER, &found);

	if (endpoint && !found)
		memset((char *) endpoint + sizeof(endpoint->name), 0,
			   sizeof(QueenEndpoint) - sizeof(endpoint->name));
	return endpoint;
}

/* The endpoint of a name. */
QueenEndpoint *
queen_endpoint_find(const QueenEndpoints *endpoints, const text *name)
{
	bool		found;

	return look_up(endpoints, name, HASH_FIND, &found);
}

/* By id; what does not exist comes first. */
static int
compare_endpoints(const void *a, const void *b)
{
	const QueenQueue *left = (*(QueenEndpoint *const *) a)->queue;
	const QueenQueue *right = (*(QueenEndpoint *const *) b)->queue;
	int32		left_id = left ? left->queue_id : 0;
	int32		right_id = right ? right->queue_id : 0;

	return left_id < right_id ? -1 : left_id > right_id;
}

/*
 * Locks a queue against being dropped. Who takes from it must administer it,
 * who sends to it must have the right to push. A target that a message names
 * is denied, and left out, where the caller may not; no error is raised.
 */
static void
open_endpoint(QueenEndpoint *endpoint)
{
	QueenQueue *queue = endpoint->queue;

	if (queue && endpoint->is_source)
		queen_queue_check_rights(queue, QUEEN_PRIVILEGE_ADMIN);
	if (queue && endpoint->is_required)
		queen_queue_check_rights(queue, QUEEN_PRIVILEGE_PUSH);
	endpoint->is_denied = queue && endpoint->is_target &&
		!queen_queue_may(queue, QUEEN_PRIVILEGE_PUSH);
	if (queue && (endpoint->is_source || !endpoint->is_denied) &&
		queen_lock_queue(queue->queue_id, ShareLock))
		endpoint->queue = queen_queue_by_id(queue->queue_id);
	if (endpoint->queue == NULL && endpoint->is_source)
		queen_queue_report_unknown(cstring_to_text(endpoint->name));
}

/* Opens all, in ascending order. */
void
queen_endpoints_open(QueenEndpoints *endpoints)
{
	HASH_SEQ_STATUS scan;
	QueenEndpoint *endpoint;

	endpoints->sorted = palloc(sizeof(QueenEndpoint *) *
							   Max(hash_get_num_entries(endpoints->by_name), 1));
	hash_seq_init(&scan, endpoints->by_name);
	while ((endpoint = hash_seq_search(&scan)) != NULL)
	{
		endpoint->queue = queen_queue_by_name(cstring_to_text(endpoint->name));
		endpoints->sorted[endpoints->count++] = endpoint;
	}
	qsort(endpoints->sorted, endpoints->count, sizeof(QueenEndpoint *), compare_endpoints);
	for (int i = 0; i < endpoints->count; i++)
		open_endpoint(endpoints->sorted[i]);
}
