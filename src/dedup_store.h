/*-------------------------------------------------------------------------
 *
 * dedup_store.h
 *	  All SQL on queen.dedup, queen.dedup_run and queen.dedup_due.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_DEDUP_STORE_H
#define QUEEN_DEDUP_STORE_H

#include "fingerprint.h"
#include "probe.h"

/* A set of fingerprints that is stored in rows of its own, never changed. */
typedef struct QueenRun
{
	int64		run;			/* the version that wrote it */
	uint64		nonce;			/* random, never used again */
	TimestampTz newest;			/* of its fingerprints */
	uint32		count;
	uint32		slots;			/* rows, each an equal part of all hashes */
} QueenRun;

/* What a partition remembers, as its newest version says. */
typedef struct QueenMemory
{
	int64		partition_id;
	int64		version;		/* 0: never written */
	QueenPrint *recent;			/* not yet in a run, oldest first */
	int			nrecent;
	QueenRun   *runs;			/* oldest first */
	int			nruns;
} QueenMemory;

/* A row of a run: the fingerprints of one part of all hashes. */
typedef struct QueenRunRow
{
	int64		slot;
	uint32		blocks;			/* of the filter */
	const uint8 *filter;
	Datum		entries;		/* as stored: sorted fingerprints */
} QueenRunRow;

/* A partition that is to be looked at. */
typedef struct QueenDue
{
	TimestampTz due_at;
	int64		partition_id;
} QueenDue;

extern bool queen_memory_read(int64 partition_id, QueenMemory *memory);
extern void queen_memory_write(QueenMemory *memory);
extern void queen_memory_delete(int64 partition_id);

extern void queen_run_insert(int64 partition_id, int64 run, int64 slot, bytea *filter,
							 bytea *entries);
extern void queen_run_delete(int64 partition_id, int64 run);
extern void queen_run_scan_begin(QueenScan *scan);
extern void queen_run_scan_seek(QueenScan *scan, int64 partition_id, int64 run,
								int64 first_slot, int64 last_slot);
extern bool queen_run_scan_next(QueenScan *scan, QueenRunRow *row);

extern void queen_dedup_due_insert(int32 queue_id, int64 partition_id, TimestampTz due_at);
extern void queen_dedup_due_move(int64 partition_id, TimestampTz due_at);
extern bool queen_dedup_due_queue_after(int32 after, int32 *queue_id);
extern int	queen_dedup_due(int32 queue_id, TimestampTz now, const QueenDue *after,
							QueenDue *found, int limit);

#endif							/* QUEEN_DEDUP_STORE_H */
