/*-------------------------------------------------------------------------
 *
 * group.c
 *	  Finds, locks and registers consumer groups for the verbs.
 *
 * A group is registered by its first pop, under the creation lock of its name.
 * Its number, half of the tag of its cursors' locks, is the lowest one that no
 * group has and that nobody else is just about to give: the number's own lock
 * is tried, never waited for, so two new groups do not wait for each other.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "check.h"
#include "compat.h"
#include "cursor_store.h"
#include "group.h"
#include "locks.h"
#include "reader.h"
#include "touch.h"

/* subscription_mode and subscription_from; a time alone means mode timestamp. */
QueenSubscription
queen_subscription_arguments(FunctionCallInfo fcinfo, int mode_number, int from_number)
{
	QueenSubscription subscription = {0};
	char	   *mode;
	bool		timed = !PG_ARGISNULL(from_number);

	subscription.mode = "all";
	subscription.from = DT_NOBEGIN;
	queen_required(fcinfo, mode_number, "subscription_mode");
	mode = text_to_cstring(PG_GETARG_TEXT_PP(mode_number));
	subscription.at_end = strcmp(mode, "new") == 0;
	if (!subscription.at_end && strcmp(mode, "all") != 0 && strcmp(mode, "timestamp") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized subscription mode \"%s\"", mode),
				 errhint("Valid modes are \"all\", \"new\" and \"timestamp\".")));
	if (subscription.at_end && timed)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("subscription mode \"new\" takes no \"subscription_from\"")));
	if (strcmp(mode, "timestamp") == 0 && !timed)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("subscription mode \"timestamp\" needs \"subscription_from\"")));
	if (subscription.at_end)
		subscription.mode = "new";
	if (timed)
	{
		subscription.mode = "timestamp";
		subscription.from = PG_GETARG_TIMESTAMPTZ(from_number);
		if (TIMESTAMP_NOT_FINITE(subscription.from))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("\"subscription_from\" must be finite")));
	}
	return subscription;
}

/* Finds a number that is nobody's, and keeps it from others. */
static int16
take_number(int32 queue_id)
{
	int16		tried = 0;

	for (;;)
	{
		int16		number = queen_group_free_number(queue_id, tried);

		if (number == 0)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("too many consumer groups"),
					 errdetail("A queue has at most 32767.")));
		if (queen_try_lock_group_number(queue_id, number))
		{
			/* Somebody may have used it and gone between look and lock. */
			if (queen_group_free_number(queue_id, number - 1) == number)
				return number;
			queen_unlock_group_number(queue_id, number);
		}
		tried = number;
	}
}

/* Registers a group. The caller holds the creation lock of its name. */
static void
register_group(const QueenQueue *queue, text *name, const QueenSubscription *subscription)
{
	QueenGroup	group = {
		.queue_id = queue->queue_id,
		.name = name,
		.subscription_from = subscription->from
	};

	queen_lock_group_list(queue->queue_id);
	group.number = take_number(queue->queue_id);
	group.group_id = queen_group_insert(&group, subscription->mode);
	queen_touch_queue(queue->queue_id); /* some may wait for it by name */
	if (subscription->at_end)
		queen_cursors_seed(queue->queue_id, group.group_id);
}

/*
 * The group, locked against being removed; NULL where it went meanwhile. Its
 * lock is given back then: whoever makes the group anew waits for its creation
 * lock, which comes before the group's in the order.
 */
static QueenGroup *
lock_group(QueenGroup *group, LOCKMODE mode, bool in_time)
{
	QueenGroup *again;

	if (!queen_lock_group(group->group_id, mode, in_time))
		return group;
	again = queen_group_by_id(group->group_id);
	if (again == NULL)
		queen_unlock_group(group->group_id, mode);
	return again;
}

/* Registers a group unless somebody else has; answers whether it did. */
static bool
make_group(const QueenQueue *queue, text *name, const QueenSubscription *subscription,
		   bool in_time)
{
	queen_lock_group_creation(queue->queue_id, VARDATA_ANY(name),
							  VARSIZE_ANY_EXHDR(name), in_time);
	if (queen_group_by_name(queue->queue_id, name) == NULL)
	{
		register_group(queue, name, subscription);
		return true;
	}
	queen_unlock_group_creation(queue->queue_id, VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
	return false;
}

/* The group, locked; one that is missing is registered. */
QueenGroup *
queen_group_open(const QueenQueue *queue, text *name,
				 const QueenSubscription *subscription, LOCKMODE mode, bool in_time,
				 bool *made)
{
	*made = false;
	for (;;)
	{
		QueenGroup *group = queen_group_by_name(queue->queue_id, name);

		if (group == NULL)
			*made = make_group(queue, name, subscription, in_time);
		else
		{
			group = lock_group(group, mode, in_time);
			if (group)
				return group;
		}
	}
}

/* The group, locked against everybody. */
QueenGroup *
queen_group_open_to_remove(const QueenQueue *queue, text *name)
{
	QueenGroup *group = queen_group_by_name(queue->queue_id, name);

	if (group)
		group = lock_group(group, ExclusiveLock, true);
	if (group == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("consumer group \"%s\" of queue \"%s\" does not exist",
						text_to_cstring(name), text_to_cstring(queue->name))));
	return group;
}

/*
 * The lock of a cursor. Others pass over what is locked, so each leaves a note
 * that makes them look again when the transaction has ended.
 */
void
queen_group_lock_cursor(const QueenGroup *group, int64 partition_id)
{
	queen_lock_cursor(partition_id, group->number);
	queen_touch_cursor(group->queue_id, group->group_id, partition_id, QUEEN_LEFT_AS_IT_WAS, 0);
}

/* The same for a seek, which does not wait for long. */
void
queen_group_lock_cursor_in_time(const QueenGroup *group, int64 partition_id)
{
	queen_lock_cursor_in_time(partition_id, group->number);
	queen_touch_cursor(group->queue_id, group->group_id, partition_id, QUEEN_LEFT_AS_IT_WAS, 0);
}

/* The same for a pop, which passes over what is taken. */
bool
queen_group_try_lock_cursor(const QueenGroup *group, int64 partition_id)
{
	if (!queen_try_lock_cursor(partition_id, group->number))
		return false;
	queen_touch_cursor(group->queue_id, group->group_id, partition_id, QUEEN_LEFT_AS_IT_WAS, 0);
	return true;
}

/* For a pop that took nothing. */
void
queen_group_unlock_cursor(const QueenGroup *group, int64 partition_id)
{
	queen_unlock_cursor(partition_id, group->number);
	queen_untouch_cursor(group->queue_id, group->group_id, partition_id);
}

/*
 * The cursor of a group in a partition. Where the group never was, that is its
 * start by its subscription, and the answer is false.
 */
bool
queen_group_read_cursor(const QueenGroup *group, const QueenPartition *partition,
						QueenCursor *cursor)
{
	bool		found = queen_cursor_read(partition->partition_id, group->group_id, cursor);

	cursor->queue_id = group->queue_id;
	if (!found && group->subscription_from != DT_NOBEGIN)
		cursor->committed = queen_log_find_time(partition, group->subscription_from) - 1;
	queen_cursor_pass_removed(cursor, partition->log_start);

	return found;
}
