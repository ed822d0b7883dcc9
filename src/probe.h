/*-------------------------------------------------------------------------
 *
 * probe.h
 *	  Reads one row by an index, without a statement.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_PROBE_H
#define QUEEN_PROBE_H

#include "access/genam.h"
#include "access/sdir.h"
#include "access/skey.h"
#include "datatype/timestamp.h"
#include "executor/tuptable.h"
#include "storage/lockdefs.h"
#include "utils/rel.h"

#include "statement.h"

/* A table, one of its indexes, and how many of its columns are read. */
typedef struct QueenProbe
{
	const char *table;
	const char *index;
	int			ncolumns;
} QueenProbe;

#define QUEEN_MAX_KEYS 4

/* Conditions on the leading columns of the index, in their order. */
typedef struct QueenKeys
{
	ScanKeyData keys[QUEEN_MAX_KEYS];
	int			count;
} QueenKeys;

/*
 * Where the newest row of a key was last seen in this session. A scan for the
 * newest row begins at the end of its range and reads on to the end of the
 * page; a lower bound lets it read one entry instead of hundreds. The bound may
 * be wrong either way (another session went on, this one rolled back): a scan
 * that finds nothing above it is done again without it.
 */
#define QUEEN_HINTS 4096		/* the upper 12 bits of a hash */

typedef struct QueenHint
{
	uint64		key;
	int64		value;
} QueenHint;

static inline QueenHint *
queen_hint(QueenHint *hints, uint64 key)
{
	QueenHint  *hint = &hints[(key * UINT64CONST(0x9E3779B97F4A7C15)) >> 52];

	if (hint->key != key)
	{
		hint->key = key;
		hint->value = PG_INT64_MIN;
	}
	return hint;
}

/*
 * Reads many rows of one table by one index, all as of one moment. Between begin
 * and end nothing else is read.
 */
typedef struct QueenScan
{
	const QueenProbe *probe;
	Relation	table;
	Relation	index;
	TupleTableSlot *slot;
	IndexScanDesc scan;
} QueenScan;

/* A table or index of ours, locked to the end of the transaction. */
extern Oid	queen_lock_relation(const char *name, LOCKMODE mode);

extern void queen_key_int4(QueenKeys *keys, int32 value);
extern void queen_key_int4_from(QueenKeys *keys, int32 value);
extern void queen_key_int8(QueenKeys *keys, int64 value);
extern void queen_key_int8_from(QueenKeys *keys, int64 value);
extern void queen_key_int8_to(QueenKeys *keys, int64 value);
extern void queen_key_oid_from(QueenKeys *keys, Oid value);
extern void queen_key_time_from(QueenKeys *keys, TimestampTz value);
extern void queen_key_text(QueenKeys *keys, const text *value);

/* The first row in a direction, its values copied; false where there is none. */
extern bool queen_probe(const QueenProbe *probe, QueenKeys *keys,
						ScanDirection direction, QueenRow *row);

/*
 * The same, of the row that stands at a place; false where none does that is
 * seen now. It may be another row than the one that was seen there before.
 */
extern bool queen_probe_place(const QueenProbe *probe, ItemPointer place, QueenRow *row);

/* The values of a row of a scan stay in their page: good until the next call. */
extern void queen_scan_begin(QueenScan *scan, const QueenProbe *probe, int nkeys);
extern void queen_scan_seek(QueenScan *scan, QueenKeys *keys);
extern bool queen_scan_next(QueenScan *scan, QueenRow *row);
extern void queen_scan_end(QueenScan *scan);

#endif							/* QUEEN_PROBE_H */
