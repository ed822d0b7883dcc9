/*-------------------------------------------------------------------------
 *
 * probe.c
 *	  Reads one row by an index, without a statement.
 *
 * The look-ups that every verb begins with (queue, partition, group, tail,
 * newest cursor) are single steps on a unique index. As saved statements each
 * costs four to six times what the step itself costs, for the start and the
 * end of an executor; docs/performance.md has the figures. What they share
 * with statements: the latest snapshot, the transaction's own changes, and no
 * rights but those that the verb has checked. And no planner, so no plan that
 * could be a wrong one.
 *
 * Tables and indexes are found by name at each probe (relation.c): nothing here
 * outlives a DROP EXTENSION.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relscan.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "storage/bufmgr.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "probe.h"
#include "relation.h"

/* Adds a condition on the next column of the index. */
static void
add_key(QueenKeys *keys, int column, StrategyNumber strategy, RegProcedure procedure,
		Datum value)
{
	Assert(keys->count < QUEEN_MAX_KEYS);
	ScanKeyInit(&keys->keys[keys->count++], column, strategy, procedure, value);
}

/* The column that comes after those which have a condition. */
static int
next_column(const QueenKeys *keys)
{
	return keys->count + 1;
}

/* column = value */
void
queen_key_int4(QueenKeys *keys, int32 value)
{
	add_key(keys, next_column(keys), BTEqualStrategyNumber, F_INT4EQ, Int32GetDatum(value));
}

/* column >= value; comes last */
void
queen_key_int4_from(QueenKeys *keys, int32 value)
{
	add_key(keys, next_column(keys), BTGreaterEqualStrategyNumber, F_INT4GE,
			Int32GetDatum(value));
}

/* column = value */
void
queen_key_int8(QueenKeys *keys, int64 value)
{
	add_key(keys, next_column(keys), BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum(value));
}

/* column >= value; comes last, or before queen_key_int8_to() */
void
queen_key_int8_from(QueenKeys *keys, int64 value)
{
	add_key(keys, next_column(keys), BTGreaterEqualStrategyNumber, F_INT8GE,
			Int64GetDatum(value));
}

/* column >= value */
void
queen_key_oid_from(QueenKeys *keys, Oid value)
{
	add_key(keys, next_column(keys), BTGreaterEqualStrategyNumber, F_OIDGE, ObjectIdGetDatum(value));
}

/* column >= value; comes last */
void
queen_key_time_from(QueenKeys *keys, TimestampTz value)
{
	add_key(keys, next_column(keys), BTGreaterEqualStrategyNumber, F_TIMESTAMPTZ_GE,
			TimestampTzGetDatum(value));
}

/* column <= value, the same column as queen_key_int8_from() */
void
queen_key_int8_to(QueenKeys *keys, int64 value)
{
	add_key(keys, keys->count, BTLessEqualStrategyNumber, F_INT8LE, Int64GetDatum(value));
}

/* column = value; names have collation "C", which is what ScanKeyInit() sets */
void
queen_key_text(QueenKeys *keys, const text *value)
{
	add_key(keys, next_column(keys), BTEqualStrategyNumber, F_TEXTEQ, PointerGetDatum(value));
}

/* Copies the leading columns of a row out of its page. */
static void
copy_row(TupleTableSlot *slot, int ncolumns, QueenRow *row)
{
	slot_getsomeattrs(slot, ncolumns);
	for (int i = 0; i < ncolumns; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(slot->tts_tupleDescriptor, i);

		row->nulls[i] = slot->tts_isnull[i];
		row->values[i] = row->nulls[i] ? (Datum) 0 :
			datumCopy(slot->tts_values[i], attribute->attbyval, attribute->attlen);
	}
	row->place = slot->tts_tid;
}

/* Reads the first row in a direction. */
bool
queen_probe(const QueenProbe *probe, QueenKeys *keys, ScanDirection direction,
			QueenRow *row)
{
	Relation	table = table_open(queen_lock_relation(probe->table, AccessShareLock), NoLock);
	Relation	index = index_open(queen_lock_relation(probe->index, AccessShareLock), NoLock);
	TupleTableSlot *slot = table_slot_create(table, NULL);
	IndexScanDesc scan;
	bool		found;

	CommandCounterIncrement();
	PushActiveSnapshot(GetLatestSnapshot());
	scan = queen_index_beginscan(table, index, GetActiveSnapshot(), keys->count);
	index_rescan(scan, keys->keys, keys->count, NULL, 0);
	found = index_getnext_slot(scan, direction, slot);
	if (found)
		copy_row(slot, probe->ncolumns, row);
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	PopActiveSnapshot();
	index_close(index, NoLock);
	table_close(table, NoLock);

	return found;
}

/*
 * Reads the row at a place. The table is locked, so that it gets no shorter
 * between the look at its length and the look at the row.
 */
bool
queen_probe_place(const QueenProbe *probe, ItemPointer place, QueenRow *row)
{
	Relation	table = table_open(queen_lock_relation(probe->table, AccessShareLock), NoLock);
	TupleTableSlot *slot = table_slot_create(table, NULL);
	bool		found;

	CommandCounterIncrement();
	PushActiveSnapshot(GetLatestSnapshot());
	found = ItemPointerGetBlockNumber(place) < RelationGetNumberOfBlocks(table) &&
		table_tuple_fetch_row_version(table, place, GetActiveSnapshot(), slot);
	if (found)
		copy_row(slot, probe->ncolumns, row);
	ExecDropSingleTupleTableSlot(slot);
	PopActiveSnapshot();
	table_close(table, NoLock);

	return found;
}

/* Opens a scan with so many conditions; queen_scan_seek() brings them. */
void
queen_scan_begin(QueenScan *scan, const QueenProbe *probe, int nkeys)
{
	scan->probe = probe;
	scan->table = table_open(queen_lock_relation(probe->table, AccessShareLock), NoLock);
	scan->index = index_open(queen_lock_relation(probe->index, AccessShareLock), NoLock);
	scan->slot = table_slot_create(scan->table, NULL);
	CommandCounterIncrement();
	PushActiveSnapshot(GetLatestSnapshot());
	scan->scan = queen_index_beginscan(scan->table, scan->index, GetActiveSnapshot(), nkeys);
}

/* Goes to the first row that meets the conditions. */
void
queen_scan_seek(QueenScan *scan, QueenKeys *keys)
{
	index_rescan(scan->scan, keys->keys, keys->count, NULL, 0);
}

/* The next row, ascending; false where there is none. */
bool
queen_scan_next(QueenScan *scan, QueenRow *row)
{
	if (!index_getnext_slot(scan->scan, ForwardScanDirection, scan->slot))
		return false;
	slot_getsomeattrs(scan->slot, scan->probe->ncolumns);
	memcpy(row->values, scan->slot->tts_values, sizeof(Datum) * scan->probe->ncolumns);
	memcpy(row->nulls, scan->slot->tts_isnull, sizeof(bool) * scan->probe->ncolumns);

	return true;
}

/* Closes a scan. */
void
queen_scan_end(QueenScan *scan)
{
	index_endscan(scan->scan);
	ExecDropSingleTupleTableSlot(scan->slot);
	PopActiveSnapshot();
	index_close(scan->index, NoLock);
	table_close(scan->table, NoLock);
}
