/*-------------------------------------------------------------------------
 *
 * lanes.c
 *	  Appends messages that go to several partitions of a queue.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "compat.h"
#include "lanes.h"

/* The items of one partition stand together, in their order. */
static int
compare_items(const void *a, const void *b)
{
	const QueenItem *left = *(QueenItem *const *) a;
	const QueenItem *right = *(QueenItem *const *) b;
	int			result = memcmp(VARDATA_ANY(left->partition), VARDATA_ANY(right->partition),
								Min(VARSIZE_ANY_EXHDR(left->partition),
									VARSIZE_ANY_EXHDR(right->partition)));

	if (result == 0)
		result = (int) VARSIZE_ANY_EXHDR(left->partition) - (int) VARSIZE_ANY_EXHDR(right->partition);
	if (result == 0)
		result = left < right ? -1 : left > right;
	return result;
}

/* Whether two items go to one partition. */
static bool
same_partition(const QueenItem *left, const QueenItem *right)
{
	return VARSIZE_ANY_EXHDR(left->partition) == VARSIZE_ANY_EXHDR(right->partition) &&
		memcmp(VARDATA_ANY(left->partition), VARDATA_ANY(right->partition),
			   VARSIZE_ANY_EXHDR(left->partition)) == 0;
}

/* Sorts items into lanes and appends them; each learns where it went. */
void
queen_append_items(const QueenQueue *queue, QueenItem **sorted, uint32 count, bool copies)
{
	QueenMessage *messages = palloc_extended(sizeof(QueenMessage) * count, MCXT_ALLOC_HUGE);
	TimestampTz *deliver_at = palloc_extended(sizeof(TimestampTz) * count, MCXT_ALLOC_HUGE);
	QueenLane  *lanes = palloc_extended(sizeof(QueenLane) * count, MCXT_ALLOC_HUGE);
	int			nlanes = 0;

	qsort(sorted, count, sizeof(QueenItem *), compare_items);
	for (uint32 i = 0; i < count; i++)
	{
		messages[i] = sorted[i]->message;
		deliver_at[i] = sorted[i]->deliver_at;
		if (i == 0 || !same_partition(sorted[i - 1], sorted[i]))
		{
			QueenLane  *lane = &lanes[nlanes++];

			memset(lane, 0, sizeof(QueenLane));
			lane->name = sorted[i]->partition;
			lane->messages = &messages[i];
			lane->copies = copies;
		}
		lanes[nlanes - 1].count++;
		if (deliver_at[i] != DT_NOBEGIN)
			lanes[nlanes - 1].deliver_at = deliver_at + (lanes[nlanes - 1].messages - messages);
	}
	queen_log_append(queue, lanes, nlanes);
	for (int i = 0; i < nlanes; i++)
	{
		QueenItem **item = sorted + (lanes[i].messages - messages);

		for (uint32 j = 0; j < lanes[i].count; j++)
			item[j]->placed = queen_lane_placed(&lanes[i], j);
	}
}
