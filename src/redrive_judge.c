/*-------------------------------------------------------------------------
 *
 * redrive_judge.c
 *	  Decides what becomes of a letter.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "compat.h"
#include "group_store.h"
#include "locks.h"
#include "redrive_step.h"

/* The queue that a letter goes to, or NULL where it does not say. */
text *
queen_redrive_target(const QueenRedrive *redrive, const QueenLetter *letter)
{
	if (redrive->to_queue)
		return redrive->to_queue;
	if (redrive->from_queue == NULL)
		return letter->queue_name;
	if (letter->envelope.original_queue)
		return letter->envelope.original_queue;
	return letter->envelope.queue;
}

/* Why a letter is not one of those that are meant, or NULL. */
static const char *
check_selection(const QueenRedrive *redrive, const QueenLetter *letter)
{
	const text *group = redrive->group_name;

	if (group &&
		(VARSIZE_ANY_EXHDR(group) != VARSIZE_ANY_EXHDR(letter->group_name) ||
		 memcmp(VARDATA_ANY(group), VARDATA_ANY(letter->group_name), VARSIZE_ANY_EXHDR(group)) != 0))
		return "not_selected";
	switch (queen_filter(redrive->filter, letter))
	{
		case QUEEN_NOT_SELECTED:
			return "not_selected";
		case QUEEN_FILTER_FAILED:
			return "filter_failed";
		default:
			return NULL;
	}
}

/* Why a body cannot go back, or NULL. */
static const char *
check_body(const QueenRedrive *redrive, const QueenLetter *letter)
{
	if (redrive->from_queue && !letter->envelope.valid)
		return "undecodable";
	if (letter->envelope.valid && !letter->envelope.known)
		return "unknown_schema_version";
	return NULL;
}

/* Whether a queue can have a name. */
static bool
is_name(const text *name)
{
	int			sqlstate;

	return queen_name_fault(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name), &sqlstate) == NULL;
}

/*
 * Why a letter cannot go to its target, or NULL. A queue that the survey did not
 * meet is not locked: the letter became visible after it.
 */
static const char *
check_target(const QueenRedrive *redrive, const QueenVerdict *verdict)
{
	if (verdict->target_name == NULL)
		return "no_target";
	if (verdict->target && verdict->target->is_denied)
		return "permission_denied";
	if (verdict->target == NULL)
		return is_name(verdict->target_name) ? "busy" : "unknown_queue";
	if (verdict->target->queue == NULL)
		return "unknown_queue";
	if (redrive->from_queue && verdict->target == verdict->source)
		return "same_queue";
	return NULL;
}

/*
 * Which group the message is meant for: back in its own queue, the one that
 * gave it up. A group that is gone gets none, as nobody would.
 */
static const char *
address(const QueenRedrive *redrive, QueenVerdict *verdict)
{
	QueenGroup *group;

	if (verdict->letter.dead_letter_id == 0 || verdict->target != verdict->source ||
		redrive->all_groups)
		return NULL;
	group = queen_group_by_name(verdict->target->queue->queue_id, verdict->letter.group_name);
	if (group == NULL)
		return "unknown_group";
	if (!redrive->dry_run && !queen_try_lock_group(group->group_id, ShareLock))
		return "busy";
	verdict->item.message.group = (uint32) group->group_id;
	return queen_group_by_id(group->group_id) ? NULL : "unknown_group";
}

/* Judges a letter, and makes the message that it becomes. */
void
queen_redrive_judge(const QueenRedriveStep *step, QueenVerdict *verdict)
{
	const QueenRedrive *redrive = step->redrive;
	QueenLetter *letter = &verdict->letter;

	verdict->source = queen_endpoint_find(&step->endpoints, letter->queue_name);
	verdict->target_name = queen_redrive_target(redrive, letter);
	verdict->target = queen_endpoint_find(&step->endpoints, verdict->target_name);
	if (verdict->why_not == NULL)
		verdict->why_not = check_selection(redrive, letter);
	if (verdict->why_not == NULL)
		verdict->why_not = check_body(redrive, letter);
	if (verdict->why_not == NULL)
		verdict->why_not = check_target(redrive, verdict);
	if (verdict->why_not == NULL)
	{
		verdict->item.message = queen_letter_message(letter, redrive->bypass);
		verdict->item.partition = letter->partition_name;
		verdict->item.deliver_at = DT_NOBEGIN;
		verdict->why_not = address(redrive, verdict);
	}
	if (verdict->why_not == NULL && redrive->dry_run)
		verdict->why_not = "dry_run";
}
