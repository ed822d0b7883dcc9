/*-------------------------------------------------------------------------
 *
 * redrive_judge.c
 *	  Decides what becomes of a letter.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

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

/* Why a letter cannot go to its target, or NULL. */
static const char *
check_target(const QueenRedrive *redrive, const QueenOutcome *outcome)
{
	if (outcome->target_name == NULL)
		return "no_target";
	if (outcome->target && outcome->target->is_denied)
		return "permission_denied";
	if (outcome->target == NULL || outcome->target->queue == NULL)
		return "unknown_queue";
	if (redrive->from_queue && outcome->target == outcome->source)
		return "same_queue";
	return NULL;
}

/*
 * Which group the message is meant for: back in its own queue, the one that
 * gave it up. A group that is gone gets none, as nobody would.
 */
static const char *
address(const QueenRedrive *redrive, QueenOutcome *outcome)
{
	QueenGroup *group;

	if (outcome->letter.dead_letter_id == 0 || outcome->target != outcome->source ||
		redrive->all_groups)
		return NULL;
	group = queen_group_by_name(outcome->target->queue->queue_id, outcome->letter.group_name);
	if (group == NULL)
		return "unknown_group";
	if (!redrive->dry_run && !queen_try_lock_group(group->group_id, ShareLock))
		return "busy";
	outcome->item.message.group = (uint32) group->group_id;
	return queen_group_by_id(group->group_id) ? NULL : "unknown_group";
}

/* Judges a letter, and makes the message that it becomes. */
void
queen_redrive_judge(const QueenRedriveStep *step, QueenOutcome *outcome)
{
	const QueenRedrive *redrive = step->redrive;
	QueenLetter *letter = &outcome->letter;

	outcome->source = queen_endpoint_find(&step->endpoints, letter->queue_name);
	outcome->target_name = queen_redrive_target(redrive, letter);
	outcome->target = queen_endpoint_find(&step->endpoints, outcome->target_name);
	if (outcome->why_not == NULL)
		outcome->why_not = check_selection(redrive, letter);
	if (outcome->why_not == NULL)
		outcome->why_not = check_body(redrive, letter);
	if (outcome->why_not == NULL)
		outcome->why_not = check_target(redrive, outcome);
	if (outcome->why_not == NULL)
	{
		outcome->item.message = queen_letter_message(letter, redrive->bypass);
		outcome->item.partition = letter->partition_name;
		outcome->why_not = address(redrive, outcome);
	}
	if (outcome->why_not == NULL && redrive->dry_run)
		outcome->why_not = "dry_run";
}
