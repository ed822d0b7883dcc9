/*-------------------------------------------------------------------------
 *
 * insert.c
 *	  Inserts one row, without a statement where that does the same.
 *
 * The rows that every push and pop writes, segments and versions of cursors, go
 * into tables that nothing but this library writes to: no triggers, no rules, no
 * checks, plain B-trees. There an executor only adds its start and its end to
 * the work. A table that somebody has changed (a trigger, a constraint, a column,
 * an index of another kind or one that is being made) is written to by the
 * statement, so whatever was added to it takes effect.
 *
 * Large values are compressed here. The server would do it only where the row is
 * larger than the table's toast_tuple_target, for queen.segment a page.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/toast_compression.h"
#include "access/toast_internals.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "executor/executor.h"
#include "utils/rel.h"

#include "compat.h"
#include "insert.h"
#include "relation.h"

#define MAX_INDEXES 4

/*
 * Values of more bytes than these are compressed. 1.2 kB of JSON take 3 µs, and
 * become 0.7 kB in the table and in the WAL.
 */
#define COMPRESS_BYTES 1000

/* The indexes of a table, open. */
typedef struct Indexes
{
	Relation	open[MAX_INDEXES];
	IndexInfo  *info[MAX_INDEXES];
	int			count;
} Indexes;

/* Whether the columns of a table are the parameters of a statement. */
static bool
has_columns(TupleDesc columns, const QueenStatement *statement)
{
	if (columns->natts != statement->nparameters)
		return false;
	for (int i = 0; i < columns->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(columns, i);

		if (column->attisdropped || column->atttypid != statement->types[i])
			return false;
	}
	return true;
}

/* Whether nothing but storage happens when a statement's row is inserted. */
static bool
is_plain_table(Relation table, const QueenStatement *statement)
{
	const		TupleConstr *constraints = RelationGetDescr(table)->constr;

	return table->rd_rel->relkind == RELKIND_RELATION && !table->rd_rel->relispartition &&
		table->trigdesc == NULL && table->rd_rules == NULL &&
		has_columns(RelationGetDescr(table), statement) &&
		(constraints == NULL ||
		 (constraints->num_check == 0 && !constraints->has_generated_stored));
}

/* The same for an index. */
static bool
is_plain_index(Relation index, const IndexInfo *info)
{
	return index->rd_rel->relam == BTREE_AM_OID && index->rd_index->indisready &&
		index->rd_index->indimmediate && info->ii_Expressions == NIL &&
		info->ii_Predicate == NIL && info->ii_ExclusionOps == NULL;
}

/* Opens the indexes of a table; false where one of them is not plain. */
static bool
open_indexes(Relation table, Indexes *indexes)
{
	List	   *oids = RelationGetIndexList(table);
	bool		plain = list_length(oids) <= MAX_INDEXES;
	ListCell   *cell;

	indexes->count = 0;
	foreach(cell, oids)
	{
		int			n = indexes->count;

		if (!plain)
			break;
		indexes->open[n] = index_open(lfirst_oid(cell), RowExclusiveLock);
		indexes->info[n] = BuildIndexInfo(indexes->open[n]);
		plain = is_plain_index(indexes->open[n], indexes->info[n]);
		indexes->count++;
	}
	list_free(oids);
	return plain;
}

/* Closes them; their locks are kept. */
static void
close_indexes(Indexes *indexes)
{
	for (int i = 0; i < indexes->count; i++)
	{
		pfree(indexes->info[i]);
		index_close(indexes->open[i], NoLock);
	}
}

/* A value as it is stored: compressed where it is large and its column may be. */
static Datum
stored_value(Form_pg_attribute column, Datum value)
{
	char		method = column->attcompression;
	Datum		compressed;

	if (column->attlen != -1 || column->attstorage != TYPSTORAGE_EXTENDED ||
		VARATT_IS_EXTENDED(DatumGetPointer(value)) ||
		VARSIZE(DatumGetPointer(value)) <= COMPRESS_BYTES)
		return value;
	if (!CompressionMethodIsValid(method))
		method = default_toast_compression;
	compressed = toast_compress_datum(value, method);

	return DatumGetPointer(compressed) ? compressed : value;
}

/* Puts a row into a slot; its values as they are stored are the caller's, too. */
static void
fill_slot(TupleTableSlot *slot, const QueenParameters *row, Datum *stored)
{
	ExecClearTuple(slot);
	for (int i = 0; i < row->count; i++)
	{
		bool		null = row->nulls[i] == 'n';

		stored[i] = null ? row->values[i] :
			stored_value(TupleDescAttr(slot->tts_tupleDescriptor, i), row->values[i]);
		slot->tts_isnull[i] = null;
		slot->tts_values[i] = null ? (Datum) 0 : stored[i];
	}
	ExecStoreVirtualTuple(slot);
}

/* Writes a row and its index entries. */
static void
write_row(Relation table, Indexes *indexes, const QueenParameters *row)
{
	TupleTableSlot *slot = table_slot_create(table, NULL);
	Datum		stored[QUEEN_MAX_PARAMETERS];
	Datum		values[INDEX_MAX_KEYS];
	bool		nulls[INDEX_MAX_KEYS];

	fill_slot(slot, row, stored);
	table_tuple_insert(table, slot, GetCurrentCommandId(true), 0, NULL);
	for (int i = 0; i < indexes->count; i++)
	{
		Relation	index = indexes->open[i];

		FormIndexDatum(indexes->info[i], slot, NULL, values, nulls);
		index_insert(index, values, nulls, &slot->tts_tid, table,
					 index->rd_index->indisunique ? UNIQUE_CHECK_YES : UNIQUE_CHECK_NO,
					 false, indexes->info[i]);
	}
	ExecDropSingleTupleTableSlot(slot);
	for (int i = 0; i < row->count; i++)
	{
		if (stored[i] != row->values[i])
			pfree(DatumGetPointer(stored[i]));
	}
}

/* Inserts a row; false, and nothing happened, where the statement has to. */
static bool
insert_directly(const QueenInsert *insert, const QueenParameters *row)
{
	Relation	table = table_open(queen_lock_relation(insert->table, RowExclusiveLock), NoLock);
	Indexes		indexes = {.count = 0};
	bool		plain = is_plain_table(table, &insert->statement) && open_indexes(table, &indexes);

	if (plain)
		write_row(table, &indexes, row);
	close_indexes(&indexes);
	table_close(table, NoLock);

	return plain;
}

/* Inserts a row. */
void
queen_insert(QueenInsert *insert, const QueenParameters *row)
{
	Assert(row->count == insert->statement.nparameters);
	if (!insert_directly(insert, row))
		queen_execute(&insert->statement, row, 0);
}
