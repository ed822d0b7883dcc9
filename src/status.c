/*-------------------------------------------------------------------------
 *
 * status.c
 *	  What the views ask and SQL cannot answer cheaply.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "check.h"
#include "group.h"
#include "queue.h"
#include "reader.h"
#include "statement.h"

PG_FUNCTION_INFO_V1(queen_start_offset);

/*
 * Where a group begins in a partition that it never popped: NULL where there
 * is no such group or partition, or the caller may not see the queue.
 */
Datum
queen_start_offset(PG_FUNCTION_ARGS)
{
	int64		partition_id = DatumGetInt64(queen_required(fcinfo, 0, "partition_id"));
	int32		group_id = DatumGetInt32(queen_required(fcinfo, 1, "group_id"));
	QueenPartition partition;
	QueenGroup *group;
	QueenQueue *queue = NULL;
	int64		start = 0;

	queen_begin(NULL);
	group = queen_group_by_id(group_id);
	if (group && queen_partition_by_id(partition_id, &partition) &&
		partition.queue_id == group->queue_id)
		queue = queen_queue_by_id(group->queue_id);
	if (queue && !queen_queue_may(queue, QUEEN_PRIVILEGE_READ))
		queue = NULL;
	if (queue)
		start = queen_log_find_time(&partition, group->subscription_from);
	queen_end();

	if (queue == NULL)
		PG_RETURN_NULL();
	PG_RETURN_INT64(start);
}
