/*-------------------------------------------------------------------------
 *
 * endpoint.h
 *	  The queues that a redrive takes from and sends to.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_ENDPOINT_H
#define QUEEN_ENDPOINT_H

#include "check.h"
#include "queue_store.h"

/* One queue; name is the key. */
typedef struct QueenEndpoint
{
	char		name[QUEEN_MAX_NAME_BYTES + 1];
	QueenQueue *queue;			/* NULL: there is none */
	bool		is_source;
	bool		is_required;	/* a target that the caller named */
	bool		is_target;		/* or that a message names */
	bool		is_denied;		/* as a target */
	int64		redriven;		/* from here */
	int64		skipped;
} QueenEndpoint;

typedef struct QueenEndpoints
{
	struct HTAB *by_name;
	QueenEndpoint **sorted;		/* by id, once they are open */
	int			count;
} QueenEndpoints;

extern void queen_endpoints_begin(QueenEndpoints *endpoints);

/* One is added before they are opened, and found afterwards; NULL: it is not there. */
extern QueenEndpoint *queen_endpoint_add(QueenEndpoints *endpoints, const text *name);
extern QueenEndpoint *queen_endpoint_find(const QueenEndpoints *endpoints, const text *name);

extern void queen_endpoints_open(QueenEndpoints *endpoints);

#endif							/* QUEEN_ENDPOINT_H */
