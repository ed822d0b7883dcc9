/*-------------------------------------------------------------------------
 *
 * walk.c
 *	  Where the walks of maintenance stand, and which queue they go to.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "maintain.h"

/* Whether a walk would have to begin anew if it were forgotten. */
static bool
is_on_its_way(const QueenWalk *walk)
{
	return walk->done_id > 0 || walk->size_id > 0;
}

/*
 * A place for a queue: a free one, else one whose walk has ended, else any. The
 * search begins at the place that its id has, so that not all take the same.
 */
static QueenWalk *
find_place(QueenWalks *walks, int32 queue_id)
{
	QueenWalk  *ended = NULL;

	for (int i = 0; i < QUEEN_WALKS; i++)
	{
		QueenWalk  *walk = &walks->walks[((uint32) queue_id + i) % QUEEN_WALKS];

		if (walk->queue_id == 0)
			return walk;
		if (ended == NULL && !is_on_its_way(walk))
			ended = walk;
	}
	return ended ? ended : &walks->walks[(uint32) queue_id % QUEEN_WALKS];
}

/* The walk of a queue; a new one begins at the bottom. */
QueenWalk *
queen_walk(QueenWalks *walks, int32 queue_id)
{
	QueenWalk  *walk;

	for (int i = 0; i < QUEEN_WALKS; i++)
	{
		walk = &walks->walks[((uint32) queue_id + i) % QUEEN_WALKS];
		if (walk->queue_id == queue_id)
			return walk;
		if (walk->queue_id == 0)
			break;
	}
	walk = find_place(walks, queue_id);
	memset(walk, 0, sizeof(QueenWalk));
	walk->queue_id = queue_id;
	walk->mark = walk->idle_mark = walk->done_at = DT_NOBEGIN;
	return walk;
}

/* Goes to the next queue that a function knows and that is not held back; false where there is none. */
bool
queen_pass_next_queue(QueenPass *pass, bool (*next) (int32 after, int32 *queue_id))
{
	queen_pass_enter(pass, 0, 0);
	do
	{
		if (!next(pass->queue_id, &pass->queue_id))
			return false;
	} while (queen_pass_is_held(pass, pass->queue_id, 0));
	queen_pass_enter(pass, pass->queue_id, 0);
	return true;
}
