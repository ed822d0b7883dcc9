/*-------------------------------------------------------------------------
 *
 * worker.h
 *	  The launcher and the workers that it sends.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_WORKER_H
#define QUEEN_WORKER_H

#include "storage/dsm.h"

#include "maintain.h"

#define QUEEN_POSTS 128

/* How a visit to a database ended. */
typedef enum QueenVisitEnd
{
	QUEEN_VISIT_FAILED,			/* also: has not ended yet */
	QUEEN_VISIT_AWAY,			/* somebody wants the database without us */
	QUEEN_VISIT_ABSENT,			/* it has no queen */
	QUEEN_VISIT_STOPPED,		/* queen.worker_stop(), no queue yet, or a
								 * restore goes on */
	QUEEN_VISIT_DONE,
	QUEEN_VISIT_MORE			/* time was up before the work was done */
} QueenVisitEnd;

/* What the launcher and the workers of a database share. */
typedef struct QueenPost
{
	Oid			database;
	QueenVisitEnd visit;
	QueenWalks	walks;
} QueenPost;

/* What a worker is told at its start. */
typedef struct QueenOrders
{
	dsm_handle	posts;
	int			post;
	Oid			database;
} QueenOrders;

extern bool queen_worker_preloaded(void);
extern void queen_worker_register(void);
extern bool queen_launcher_start(void);

extern PGDLLEXPORT void queen_launcher_main(Datum arg);
extern PGDLLEXPORT void queen_worker_main(Datum arg);

#endif							/* QUEEN_WORKER_H */
