/*-------------------------------------------------------------------------
 *
 * cursor_store.h
 *	  All SQL on queen.cursor.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_CURSOR_STORE_H
#define QUEEN_CURSOR_STORE_H

#include "cursor.h"

extern bool queen_cursor_read(int64 partition_id, int32 group_id, QueenCursor *cursor);
extern void queen_cursor_write(QueenCursor *cursor, TimestampTz now);
extern void queen_cursors_seed(int32 queue_id, int32 group_id);
extern void queen_cursors_delete(int32 queue_id, int32 group_id);
extern void queen_cursors_delete_partition(int64 partition_id);

#endif							/* QUEEN_CURSOR_STORE_H */
