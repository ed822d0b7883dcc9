/*-------------------------------------------------------------------------
 *
 * touch.c
 *	  What a transaction made poppable: told to others when it has ended.
 *
 * Appends, writes of cursors and locks of cursors leave a note in the memory of
 * the session. When the transaction has ended and its locks are gone, the notes
 * are published, first in the hints of ready.c, then to the waiters: a commit publishes all, an abort those of
 * cursors, since others passed over what was locked. A commit callback would
 * come too early, the locks are still held then; so it is the callback of the
 * resource owners, in its last phase. It may neither raise an error nor
 * allocate.
 *
 * Notes lie in the order in which they were made, so those of a subtransaction
 * are the last ones: it hands them to its parent, or publishes them as an abort
 * does. A note too much makes somebody look for nothing, so what does not fit
 * is noted as a whole queue, a whole group or, at last, the whole database.
 *
 * A prepared transaction publishes nothing: its locks stay. Whoever commits it
 * or rolls it back runs none of these callbacks and knows nothing of its notes,
 * so a hook on these two commands treats the whole database as unknown.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "counters.h"
#include "ready.h"
#include "shmem.h"
#include "touch.h"
#include "wake.h"

#define MAX_NOTES	8192
#define KEPT_NOTES	64			/* between transactions */
#define BUCKETS		256

typedef enum NoteKind
{
	NOTE_APPEND,
	NOTE_CURSOR,
	NOTE_QUEUE,
	NOTE_QUEUE_UNKNOWN,
	NOTE_GROUP_UNKNOWN,
	NOTE_GONE					/* a group, or (0) a queue */
} NoteKind;

typedef struct Note
{
	int64		partition_id;
	int32		queue_id;
	int32		group_id;
	TimestampTz at;				/* of what is left for later */
	int			level;			/* of the subtransaction */
	int			chain;			/* the note before in its bucket, plus 1 */
	uint8		kind;
	uint8		left;
} Note;

/* The notes of this transaction, in TopMemoryContext. */
static Note *notes = NULL;
static int	nnotes = 0;
static int	room = 0;
static bool overflowed = false;

/* The last note of each bucket, plus 1. */
static int	buckets[BUCKETS];

static uint32
hash_note(const Note *note)
{
	return murmurhash32((uint32) note->partition_id ^ ((uint32) note->group_id << 16) ^
						((uint32) note->queue_id << 8) ^ note->kind) % BUCKETS;
}

/* The same thing, noted in this subtransaction, or NULL. */
static Note *
find_note(const Note *wanted)
{
	for (int i = buckets[hash_note(wanted)]; i > 0; i = notes[i - 1].chain)
	{
		Note	   *note = &notes[i - 1];

		if (note->level == wanted->level && note->kind == wanted->kind &&
			note->partition_id == wanted->partition_id &&
			note->queue_id == wanted->queue_id && note->group_id == wanted->group_id)
			return note;
	}
	return NULL;
}

/* Forgets the last note. */
static void
drop_note(void)
{
	const Note *note = &notes[--nnotes];

	buckets[hash_note(note)] = note->chain;
}

/* Room for one note more. */
static void
make_room(void)
{
	int			wanted = Max(room * 2, KEPT_NOTES);

	if (nnotes < room)
		return;
	if (notes == NULL)
		notes = MemoryContextAlloc(TopMemoryContext, sizeof(Note) * wanted);
	else
		notes = repalloc(notes, sizeof(Note) * wanted);
	room = wanted;
}

/* What a second note of a cursor makes of the first. */
static void
merge_left(Note *note, const Note *newer)
{
	if (newer->left == QUEEN_LEFT_AS_IT_WAS)
		return;
	if (newer->left == QUEEN_LEFT_DONE && note->left == QUEEN_LEFT_LATER_ALL)
		note->left = QUEEN_LEFT_NOTHING;
	else if (newer->left == QUEEN_LEFT_DONE && note->left == QUEEN_LEFT_LATER_MORE)
		note->left = QUEEN_LEFT_SOMETHING;
	else if (newer->left != QUEEN_LEFT_LATER ||
			 (note->left != QUEEN_LEFT_LATER_ALL && note->left != QUEEN_LEFT_LATER_MORE))
		note->left = newer->left;
	note->at = newer->at;
}

/* Adds a note, unless it is there. */
static void
add_note(Note wanted)
{
	Note	   *note;

	if (!queen_preloaded() || overflowed)
		return;
	wanted.level = GetCurrentTransactionNestLevel();
	note = find_note(&wanted);
	if (note)
	{
		merge_left(note, &wanted);
		return;
	}
	if (nnotes >= 2 * MAX_NOTES)
	{
		overflowed = true;
		return;
	}
	make_room();
	wanted.chain = buckets[hash_note(&wanted)];
	notes[nnotes++] = wanted;
	buckets[hash_note(&wanted)] = nnotes;
}

/* The same for one partition; of too many, the whole is noted. */
static void
add_partition_note(Note wanted)
{
	if (nnotes >= MAX_NOTES)
	{
		wanted.partition_id = 0;
		wanted.kind = wanted.kind == NOTE_APPEND ? NOTE_QUEUE_UNKNOWN : NOTE_GROUP_UNKNOWN;
	}
	add_note(wanted);
}

/* Messages were appended. */
void
queen_touch_append(int32 queue_id, int64 partition_id)
{
	Note		note = {.kind = NOTE_APPEND, .queue_id = queue_id, .partition_id = partition_id};

	add_partition_note(note);
}

/* A cursor was locked, or written, and leaves this. */
void
queen_touch_cursor(int32 queue_id, int32 group_id, int64 partition_id,
				   QueenLeft left, TimestampTz at)
{
	Note		note = {.kind = NOTE_CURSOR, .queue_id = queue_id, .group_id = group_id};

	note.partition_id = partition_id;
	note.left = left;
	note.at = at;
	add_partition_note(note);
}

/* A cursor's lock was given back, and nothing was written. */
void
queen_untouch_cursor(int32 queue_id, int32 group_id, int64 partition_id)
{
	Note		wanted = {.kind = NOTE_CURSOR, .queue_id = queue_id, .group_id = group_id,
	.partition_id = partition_id};
	Note	   *note;

	if (nnotes == 0)
		return;
	wanted.level = GetCurrentTransactionNestLevel();
	note = find_note(&wanted);
	if (note == &notes[nnotes - 1] && note->left == QUEEN_LEFT_AS_IT_WAS)
		drop_note();
}

/* All who wait for a queue look: it goes on, or a group that they named is there. */
void
queen_touch_queue(int32 queue_id)
{
	Note		note = {.kind = NOTE_QUEUE, .queue_id = queue_id};

	add_note(note);
}

/* Nothing is known of a queue any more. */
void
queen_touch_queue_unknown(int32 queue_id)
{
	Note		note = {.kind = NOTE_QUEUE_UNKNOWN, .queue_id = queue_id};

	add_note(note);
}

/* Nothing is known of a group any more. */
void
queen_touch_group_unknown(int32 queue_id, int32 group_id)
{
	Note		note = {.kind = NOTE_GROUP_UNKNOWN, .queue_id = queue_id, .group_id = group_id};

	add_note(note);
}

/* A queue is dropped. */
void
queen_touch_queue_gone(int32 queue_id)
{
	queen_touch_queue_unknown(queue_id);
	queen_touch_group_gone(queue_id, 0);
}

/* A group is removed. */
void
queen_touch_group_gone(int32 queue_id, int32 group_id)
{
	Note		note = {.kind = NOTE_GONE, .queue_id = queue_id, .group_id = group_id};

	if (group_id != 0)
		queen_touch_group_unknown(queue_id, group_id);
	add_note(note);
}

/* Whether a note is of one partition that a group may find something in now. */
static bool
concerns(const Note *note, int32 queue_id, int32 group_id, TimestampTz now)
{
	if (note->queue_id != queue_id)
		return false;
	if (note->kind == NOTE_APPEND)
		return true;
	if (note->kind != NOTE_CURSOR || note->group_id != group_id)
		return false;
	if (note->left == QUEEN_LEFT_LATER || note->left == QUEEN_LEFT_LATER_ALL ||
		note->left == QUEEN_LEFT_LATER_MORE)
		return note->at <= now;
	return note->left != QUEEN_LEFT_NOTHING;
}

/* Whether each partition that this transaction touched has a note of its own. */
bool
queen_touched_all_noted(int32 queue_id, int32 group_id)
{
	for (int i = 0; i < nnotes; i++)
	{
		if (notes[i].queue_id == queue_id &&
			(notes[i].kind == NOTE_QUEUE_UNKNOWN ||
			 (notes[i].kind == NOTE_GROUP_UNKNOWN && notes[i].group_id == group_id)))
			return false;
	}
	return !overflowed;
}

/* Whether this transaction has a note of a group's cursor in a partition. */
bool
queen_touched_cursor(int32 queue_id, int32 group_id, int64 partition_id)
{
	Note		wanted = {.kind = NOTE_CURSOR, .queue_id = queue_id, .group_id = group_id,
	.partition_id = partition_id};

	for (int i = buckets[hash_note(&wanted)]; i > 0; i = notes[i - 1].chain)
	{
		const Note *note = &notes[i - 1];

		if (note->kind == NOTE_CURSOR && note->partition_id == partition_id &&
			note->queue_id == queue_id && note->group_id == group_id)
			return true;
	}
	return false;
}

/* How many notes there are, and the partition of one of them, or 0. */
int
queen_touched_count(void)
{
	return nnotes;
}

int64
queen_touched_partition(int number, int32 queue_id, int32 group_id, TimestampTz now)
{
	return concerns(&notes[number], queue_id, group_id, now) ? notes[number].partition_id : 0;
}

/* Tells what a cursor leaves. */
static void
publish_cursor(const Note *note, bool commit)
{
	QueenLeft	left = commit ? note->left : QUEEN_LEFT_SOMETHING;
	QueenReadyKey key = {.queue_id = note->queue_id, .group_id = note->group_id};

	if (queen_ready_leave(&key, note->partition_id, left, note->at))
		queen_wake_group(note->queue_id, note->group_id, note->partition_id);
	else if (left == QUEEN_LEFT_LATER || left == QUEEN_LEFT_LATER_ALL ||
			 left == QUEEN_LEFT_LATER_MORE)
		queen_wake_group_at(note->queue_id, note->group_id, note->partition_id, note->at);
}

/* Tells that nothing is known of a queue, or a group, any more. */
static void
publish_loss(const Note *note)
{
	QueenReadyKey key = {.queue_id = note->queue_id, .group_id = note->group_id};

	if (note->kind == NOTE_GROUP_UNKNOWN)
		queen_ready_forget_group(&key);
	else
		queen_ready_forget_queue(note->queue_id);
	queen_wake_queue(note->queue_id);
}

/* Tells one thing. */
static void
publish_note(const Note *note, bool commit)
{
	if (note->kind == NOTE_CURSOR)
		publish_cursor(note, commit);
	else if (note->kind == NOTE_GROUP_UNKNOWN || (commit && note->kind == NOTE_QUEUE_UNKNOWN))
		publish_loss(note);
	else if (commit && note->kind == NOTE_APPEND)
		queen_ready_append(note->queue_id, note->partition_id);
	if (commit && note->kind == NOTE_GONE)
		queen_counters_forget(note->queue_id, note->group_id);
	if (commit && note->kind == NOTE_APPEND)
		queen_wake_groups(note->queue_id, note->partition_id);
	else if (commit && note->kind == NOTE_QUEUE)
		queen_wake_queue(note->queue_id);
}

/* Tells all from a note on, and forgets it. */
static void
publish_from(int first, bool commit)
{
	for (int i = first; i < nnotes; i++)
		publish_note(&notes[i], commit);
	while (nnotes > first)
		drop_note();
}

/* Nobody knows anything of this database. */
static void
publish_unknown(void)
{
	queen_ready_forget_database();
	queen_wake_database();
}

/* The first note of the subtransaction that ends. */
static int
first_of_level(void)
{
	int			level = GetCurrentTransactionNestLevel();
	int			first = nnotes;

	while (first > 0 && notes[first - 1].level >= level)
		first--;
	return first;
}

/* At the end of a transaction: all is told. */
static void
end_transaction(bool commit)
{
	if (commit)
		queen_count_commit();
	else
		queen_count_abort(1);
	publish_from(0, commit);
	if (overflowed)
		publish_unknown();
	overflowed = false;
	if (room > KEPT_NOTES)
	{
		pfree(notes);
		notes = NULL;
		room = 0;
	}
}

/* Called for each resource owner, in each phase. */
static void
at_release(ResourceReleasePhase phase, bool commit, bool top_level, void *argument)
{
	if (phase != RESOURCE_RELEASE_AFTER_LOCKS)
		return;
	if (top_level)
		end_transaction(commit);
	else if (!commit && CurrentResourceOwner == CurTransactionResourceOwner)
	{
		queen_count_abort(GetCurrentTransactionNestLevel());
		publish_from(first_of_level(), false);
	}
}

/* Before that: a transaction that is prepared keeps its locks. */
static void
at_transaction_event(XactEvent event, void *argument)
{
	if (event != XACT_EVENT_PREPARE)
		return;
	queen_count_commit();
	while (nnotes > 0)
		drop_note();
	overflowed = false;
}

/* A savepoint that is released hands its notes to its parent. */
static void
at_subtransaction_event(SubXactEvent event, SubTransactionId subtransaction,
						SubTransactionId parent, void *argument)
{
	int			level = GetCurrentTransactionNestLevel();

	if (event != SUBXACT_EVENT_COMMIT_SUB)
		return;
	for (int i = first_of_level(); i < nnotes; i++)
		notes[i].level = level - 1;
	queen_count_release(level);
}

/* A prepared transaction has ended, of which nothing is known: everybody looks. */
void
queen_touch_unknown(void)
{
	if (queen_preloaded())
		publish_unknown();
}

/* Called once, when the library is preloaded. */
void
queen_define_touches(void)
{
	RegisterResourceReleaseCallback(at_release, NULL);
	RegisterXactCallback(at_transaction_event, NULL);
	RegisterSubXactCallback(at_subtransaction_event, NULL);
}
