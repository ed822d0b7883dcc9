/*-------------------------------------------------------------------------
 *
 * seek_store.h
 *	  All SQL on queen.seek_log and queen.seek_move.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_SEEK_STORE_H
#define QUEEN_SEEK_STORE_H

#include "cursor.h"
#include "group_store.h"

/* One seek, as it is remembered. */
typedef struct QueenSeekRecord
{
	int64		seek_id;
	int32		queue_id;
	int32		group_id;
	bool		undone;
} QueenSeekRecord;

/* What a seek did in one partition. */
typedef struct QueenSeekMove
{
	int64		partition_id;
	int64		old_committed;
	QueenSpan  *old_acked;
	int			nold_acked;
	int64		new_committed;
} QueenSeekMove;

extern int64 queen_seek_insert(const QueenGroup *group, const char *target, Oid moved_by);
extern bool queen_seek_by_id(int64 seek_id, QueenSeekRecord *record);
extern void queen_seek_lock(int64 seek_id);
extern void queen_seek_set_undone(int64 seek_id);
extern void queen_seek_move_insert(int64 seek_id, const QueenSeekMove *move);
extern bool queen_seek_is_followed(const QueenGroup *group, int64 seek_id, int64 partition_id);
extern void queen_seek_moves_delete_partition(int32 queue_id, int64 partition_id);
extern bool queen_seek_prune(int64 *oldest, TimestampTz before, int limit, int64 *removed);
extern bool queen_seek_move_next(int64 seek_id, int64 after, QueenSeekMove *move);

#endif							/* QUEEN_SEEK_STORE_H */
