/*-------------------------------------------------------------------------
 *
 * group_store.h
 *	  All SQL on queen.consumer_group.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_GROUP_STORE_H
#define QUEEN_GROUP_STORE_H

#include "datatype/timestamp.h"

typedef struct QueenGroup
{
	int32		group_id;
	int32		queue_id;
	int16		number;			/* unique in the queue, for lock tags */
	text	   *name;
	TimestampTz subscription_from;	/* -infinity: all that is kept */
} QueenGroup;

extern QueenGroup *queen_group_by_name(int32 queue_id, text *name);
extern QueenGroup *queen_group_by_id(int32 group_id);
extern int	queen_group_list(int32 queue_id, QueenGroup **groups);
extern int16 queen_group_free_number(int32 queue_id, int16 after);
extern int32 queen_group_insert(const QueenGroup *group, const char *mode);
extern void queen_group_delete(int32 group_id);

#endif							/* QUEEN_GROUP_STORE_H */
