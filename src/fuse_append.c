/*-------------------------------------------------------------------------
 *
 * fuse_append.c
 *	  Appends what a cycle of the fusion worker has taken.
 *
 * Requests are sorted by queue and partition; each queue is opened, each caller's
 * right to it checked, each partition found or made and locked, and gets its
 * messages in one append. What cannot be is refused, what a lock stands
 * against is marked as blocked; the rest goes on.
 *
 * Locks are those of a push, in the order of names instead of ids, which does no
 * harm as none of them is waited for.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "compat.h"
#include "counters.h"
#include "errors.h"
#include "fuse_append.h"
#include "log.h"
#include "outgoing.h"
#include "queue.h"

/* Refuses a request. */
void
queen_fused_refuse(QueenFusedPush *request, int sqlstate, const char *error, const char *detail,
				   const char *hint)
{
	request->result = QUEEN_FUSION_REFUSED;
	request->sqlstate = sqlstate;
	request->error = error;
	request->detail = detail ? detail : "";
	request->hint = hint ? hint : "";
}

/* By queue, as texts of any order. */
static int
compare_texts(const text *left, const text *right)
{
	int			llen = VARSIZE_ANY_EXHDR(left);
	int			rlen = VARSIZE_ANY_EXHDR(right);
	int			result = memcmp(VARDATA_ANY(left), VARDATA_ANY(right), Min(llen, rlen));

	return result != 0 ? result : llen - rlen;
}

/* The order of taking. */
static int
compare_turns(const QueenFusedPush *left, const QueenFusedPush *right)
{
	return left < right ? -1 : left > right;
}

/* By queue, those of one in the order of taking. */
static int
compare_queues(const void *a, const void *b)
{
	const QueenFusedPush *left = *(QueenFusedPush *const *) a;
	const QueenFusedPush *right = *(QueenFusedPush *const *) b;
	int			result = compare_texts(left->queue, right->queue);

	return result != 0 ? result : compare_turns(left, right);
}

/* By partition, those of one in the order of taking. */
static int
compare_partitions(const void *a, const void *b)
{
	const QueenFusedPush *left = *(QueenFusedPush *const *) a;
	const QueenFusedPush *right = *(QueenFusedPush *const *) b;
	int			result = compare_texts(left->partition, right->partition);

	return result != 0 ? result : compare_turns(left, right);
}

/* Gives all of some requests the same result. */
void
queen_fused_settle(QueenFusedPush **requests, int count, QueenFusionResult result,
				   const QueenWanted *wanted)
{
	for (int i = 0; i < count; i++)
	{
		if (requests[i]->result != QUEEN_FUSION_NONE)
			continue;
		requests[i]->result = result;
		if (wanted)
			requests[i]->wanted = *wanted;
	}
}

/* Keeps the requests whose fate is open; answers how many. */
int
queen_fused_keep_open(QueenFusedPush **requests, int count)
{
	int			kept = 0;

	for (int i = 0; i < count; i++)
	{
		if (requests[i]->result == QUEEN_FUSION_NONE)
			requests[kept++] = requests[i];
	}
	return kept;
}

/* Who of some callers makes the queue that is not there, or InvalidOid. */
static Oid
find_maker(QueenFusedPush **requests, int count)
{
	for (int i = 0; i < count; i++)
	{
		const QueenFusionRequest *sent = &requests[i]->slot->request;

		if (!sent->auto_create)
			continue;
		if (queen_role_may_create_queue(sent->role))
			return sent->role;
		queen_fused_refuse(requests[i], ERRCODE_INSUFFICIENT_PRIVILEGE,
						   "permission denied for schema queen", NULL, NULL);
	}
	return InvalidOid;
}

/* Makes a queue for one of its callers; NULL where that has settled them all. */
static QueenQueue *
make_queue(text *name, QueenFusedPush **requests, int count)
{
	Oid			maker = find_maker(requests, count);
	QueenWanted wanted;

	if (!OidIsValid(maker))
	{
		queen_fused_settle(requests, count, QUEEN_FUSION_UNKNOWN_QUEUE, NULL);
		return NULL;
	}
	if (!queen_want_queue_creation(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name), &wanted))
	{
		queen_fused_settle(requests, count, QUEEN_FUSION_BLOCKED, &wanted);
		return NULL;
	}
	if (queen_queue_by_name(name) == NULL)
		queen_queue_insert(name, maker);
	return queen_queue_by_name(name);
}

/* The queue of some requests, locked; NULL where they are settled. */
static QueenQueue *
open_queue(QueenFusedPush **requests, int count)
{
	text	   *name = requests[0]->queue;
	QueenQueue *queue = queen_queue_by_name(name);
	QueenWanted wanted;

	if (queue == NULL)
		queue = make_queue(name, requests, count);
	if (queue == NULL)
		return NULL;
	if (!queen_want_queue(queue->queue_id, &wanted))
	{
		queen_fused_settle(requests, count, QUEEN_FUSION_BLOCKED, &wanted);
		return NULL;
	}
	queue = queen_queue_by_id(queue->queue_id);
	if (queue == NULL)
		queen_fused_settle(requests, count, QUEEN_FUSION_UNKNOWN_QUEUE, NULL);
	return queue;
}

/* Refuses whose caller has no right to the queue, and gives others a lane. */
static void
check_request(const QueenQueue *queue, QueenFusedPush *request)
{
	if (!queen_queue_is_permitted(queue, request->slot->request.role, QUEEN_PRIVILEGE_PUSH))
	{
		queen_fused_refuse(request, ERRCODE_INSUFFICIENT_PRIVILEGE,
						   psprintf("permission denied for queue \"%s\"",
									text_to_cstring(queue->name)), NULL, NULL);
		return;
	}
	if (request->partition == NULL)
		request->partition = queen_lane_for(queue, &request->message);
}

/* The lane of some requests, all to one partition; false where they are settled. */
static bool
open_lane(const QueenQueue *queue, QueenLane *lane, QueenFusedPush **requests, int count)
{
	int64		held_partition = 0;
	QueenWanted wanted;

	memset(lane, 0, sizeof(QueenLane));
	lane->name = requests[0]->partition;
	lane->count = count;
	lane->fitting = true;
	for (int i = 0; i < count; i++)
		held_partition = Max(held_partition, requests[i]->slot->held_partition);
	if (!queen_log_want(queue, lane, held_partition, &wanted))
	{
		queen_fused_settle(requests, count, QUEEN_FUSION_BLOCKED, &wanted);
		return false;
	}
	return true;
}

/* Opens the lanes of requests sorted by partition; answers how many are open. */
static int
open_lanes(const QueenQueue *queue, QueenLane *lanes, QueenFusedPush **requests, int count)
{
	int			nlanes = 0;
	int			first = 0;

	for (int i = 1; i <= count; i++)
	{
		if (i < count && compare_texts(requests[i]->partition, requests[first]->partition) == 0)
			continue;
		if (open_lane(queue, &lanes[nlanes], requests + first, i - first))
			nlanes++;
		first = i;
	}
	return nlanes;
}

/* Tells the requests of a lane where they went, or that they found no room. */
static void
settle_lane(const QueenQueue *queue, const QueenLane *lane, QueenFusedPush **requests)
{
	for (uint32 i = 0; i < lane->count; i++)
	{
		QueenPlaced placed = queen_lane_placed(lane, i);

		if (placed.outcome == QUEEN_FULL)
		{
			queen_fused_refuse(requests[i], ERRCODE_QUEEN_QUEUE_FULL, queen_log_full_message(queue),
							   queen_log_full_detail(queue, lane, queue->max_backlog + 1), NULL);
			continue;
		}
		requests[i]->result = placed.outcome == QUEEN_DUPLICATE ? QUEEN_FUSION_DUPLICATE :
			QUEEN_FUSION_QUEUED;
		requests[i]->offset = placed.offset;
		requests[i]->scheduled_id = placed.scheduled_id;
	}
}

/* Counts the calls that were not refused, as pushes of their own. */
static void
count_calls(const QueenQueue *queue, QueenFusedPush **requests, int count)
{
	int			pushes = 0;

	for (int i = 0; i < count; i++)
		pushes += requests[i]->result != QUEEN_FUSION_REFUSED;
	queen_count(queue->queue_id, 0, QUEEN_COUNT_PUSHES, pushes);
}

/* Appends the requests to a queue, all to open lanes, sorted by partition. */
static void
append_open(const QueenQueue *queue, QueenLane *lanes, int nlanes,
			QueenFusedPush **requests, int count)
{
	QueenMessage *messages = palloc(sizeof(QueenMessage) * count);
	uint32		first = 0;

	for (int i = 0; i < count; i++)
		messages[i] = requests[i]->message;
	for (int i = 0; i < nlanes; i++)
	{
		lanes[i].messages = messages + first;
		first += lanes[i].count;
	}
	queen_log_append_open(queue, lanes, nlanes);
	for (int i = 0; i < nlanes; i++)
		settle_lane(queue, &lanes[i], requests + (lanes[i].messages - messages));
	count_calls(queue, requests, count);
}

/* Appends what goes to one queue. */
static void
append_queue(QueenFusedPush **requests, int count)
{
	QueenQueue *queue = open_queue(requests, count);
	QueenLane  *lanes;
	int			nlanes;

	if (queue == NULL)
		return;
	for (int i = 0; i < count; i++)
	{
		if (requests[i]->result == QUEEN_FUSION_NONE)
			check_request(queue, requests[i]);
	}
	count = queen_fused_keep_open(requests, count);
	if (count == 0)
		return;
	qsort(requests, count, sizeof(QueenFusedPush *), compare_partitions);
	lanes = palloc(sizeof(QueenLane) * count);
	nlanes = open_lanes(queue, lanes, requests, count);
	count = queen_fused_keep_open(requests, count);
	if (count > 0)
		append_open(queue, lanes, nlanes, requests, count);
}

/* Appends to each queue in turn. */
void
queen_fused_append(QueenFusedPush **requests, int count)
{
	int			first = 0;

	qsort(requests, count, sizeof(QueenFusedPush *), compare_queues);
	for (int i = 1; i <= count; i++)
	{
		if (i < count && compare_texts(requests[i]->queue, requests[first]->queue) == 0)
			continue;
		append_queue(requests + first, i - first);
		first = i;
	}
}
