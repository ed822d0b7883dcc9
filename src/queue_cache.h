/*-------------------------------------------------------------------------
 *
 * queue_cache.h
 *	  Queues and their grants, as this session last read them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_QUEUE_CACHE_H
#define QUEEN_QUEUE_CACHE_H

#include "grant_store.h"
#include "queue_store.h"

/* The same as queen_queue_by_id(). */
extern QueenQueue *queen_queue_cached(int32 queue_id);

/* The same as queen_grants_read(). */
extern QueenGrant *queen_grants_cached(int32 queue_id, int *count);

#endif							/* QUEEN_QUEUE_CACHE_H */
