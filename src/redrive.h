/*-------------------------------------------------------------------------
 *
 * redrive.h
 *	  Sends dead letters back.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_REDRIVE_H
#define QUEEN_REDRIVE_H

#include "access/tupdesc.h"
#include "utils/tuplestore.h"

#include "filter.h"

/* The group whose pending messages a redrive takes from a client's queue. */
#define QUEEN_REDRIVE_GROUP "redrive"

/* What is asked, and how far it is. */
typedef struct QueenRedrive
{
	/* One of three sources. */
	text	   *queue_name;		/* dead letters of this queue */
	text	   *from_queue;		/* messages of one that a client library fills */
	int64	   *ids;			/* dead letters by id: ascending, each once */
	int			nids;

	text	   *group_name;		/* NULL: any */
	JsonPath   *filter;			/* NULL: all */
	text	   *to_queue;		/* NULL: each to where it came from */
	int64		max;			/* letters that a step looks at; 0: all */
	int64		max_redriven;	/* letters that it sends back; 0: all */
	bool		dry_run;
	bool		bypass;
	bool		all_groups;
	Jsonb	   *arguments;		/* for the history */

	Tuplestorestate *rows;		/* NULL: nobody wants them */
	TupleDesc	descriptor;

	/* What was there at the start of the first step. */
	TimestampTz started_at;		/* 0: not yet started */
	int64		through;		/* the last dead letter, or partition */

	/* Where the next step begins: after this dead letter, or at this message. */
	int64		after;
	int64		partition_id;
	int64		offset;

	/* Over all steps. */
	int64		log_id;			/* of the entry in the history */
	int64		redriven;
	int64		skipped;
} QueenRedrive;

/* Does one step, and answers whether there is another one. */
extern bool queen_redrive_step(QueenRedrive *redrive);

#endif							/* QUEEN_REDRIVE_H */
