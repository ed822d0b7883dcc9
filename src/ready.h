/*-------------------------------------------------------------------------
 *
 * ready.h
 *	  Which partitions have something for a group: hints in shared memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_READY_H
#define QUEEN_READY_H

#include "datatype/timestamp.h"

#include "touch.h"

/* A group of a queue of this database. */
typedef struct QueenReadyKey
{
	int32		queue_id;
	int32		group_id;
} QueenReadyKey;

/* The partitions (after, through] that a caller is to look at. */
typedef struct QueenReadySlice
{
	int64		after;
	int64		through;
	uint64		told;			/* what had been told before the look */
	uint64		generation;		/* of what is known of the group */
	bool		incomplete;		/* the group is */
} QueenReadySlice;

/* The memory, in ready_slots.c. */
extern Size queen_ready_size(void);
extern void queen_ready_init(void);
extern bool queen_ready_open(const QueenReadyKey *key);
extern void queen_ready_append(int32 queue_id, int64 partition_id);
extern void queen_ready_forget_group(const QueenReadyKey *key);
extern void queen_ready_forget_queue(int32 queue_id);
extern void queen_ready_forget_database(void);

/* For whoever pops. After an open that answers false these do nothing. */
extern uint64 queen_ready_turn(const QueenReadyKey *key, TimestampTz now);
extern bool queen_ready_take(const QueenReadyKey *key, uint64 before, int64 *partition_id,
							 uint64 *told);
extern void queen_ready_put(const QueenReadyKey *key, int64 partition_id, TimestampTz at,
							uint64 told);
extern bool queen_ready_since(const QueenReadyKey *key, uint64 turn);
extern bool queen_ready_any(const QueenReadyKey *key);
extern TimestampTz queen_ready_soonest(const QueenReadyKey *key);

/* The looks at the tables. */
extern bool queen_ready_tables_first(const QueenReadyKey *key);
extern bool queen_ready_wants_look(const QueenReadyKey *key, TimestampTz now);
extern bool queen_ready_next_slice(const QueenReadyKey *key, int64 first, int64 last,
								   TimestampTz now, QueenReadySlice *slice);
extern void queen_ready_end_slice(const QueenReadyKey *key, const QueenReadySlice *slice,
								  int64 looked, TimestampTz now);

/* For whoever ends a transaction. Like an append, it raises no error. */
extern bool queen_ready_leave(const QueenReadyKey *key, int64 partition_id,
							  QueenLeft left, TimestampTz at);

#endif							/* QUEEN_READY_H */
