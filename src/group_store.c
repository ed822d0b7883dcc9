/*-------------------------------------------------------------------------
 *
 * group_store.c
 *	  All SQL on queen.consumer_group.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "group_store.h"
#include "probe.h"
#include "statement.h"

/* All columns up to subscription_from, in the order of the table. */
static const QueenProbe by_name = {"consumer_group", "consumer_group_queue_id_name_key", 6};
static const QueenProbe by_id = {"consumer_group", "consumer_group_pkey", 6};

static QueenStatement list = {
	"SELECT g.group_id, g.queue_id, g.number, g.name, g.subscription_mode, g.subscription_from"
	" FROM queen.consumer_group g WHERE g.queue_id OPERATOR(pg_catalog.=) $1"
	" ORDER BY g.number",
	SPI_OK_SELECT, 1, {INT4OID}
};

/* The first number above $2 whose own row is missing: at most one step beyond the last. */
static QueenStatement free_number = {
	"SELECT n.number FROM (SELECT pg_catalog.generate_series($2, 32767) AS number) n"
	" WHERE NOT EXISTS (SELECT 1 FROM queen.consumer_group g"
	" WHERE g.queue_id OPERATOR(pg_catalog.=) $1 AND g.number OPERATOR(pg_catalog.=) n.number::pg_catalog.int2)"
	" LIMIT 1",
	SPI_OK_SELECT, 2, {INT4OID, INT4OID}
};

static QueenStatement insert = {
	"INSERT INTO queen.consumer_group"
	" (queue_id, number, name, subscription_mode, subscription_from, created_at)"
	" VALUES ($1, $2, $3, $4, $5, $6) RETURNING group_id",
	SPI_OK_INSERT_RETURNING, 6,
	{INT4OID, INT2OID, TEXTOID, TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID}
};

static QueenStatement delete = {
	"DELETE FROM queen.consumer_group WHERE group_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_DELETE, 1, {INT4OID}
};

/* A row as a group. */
static void
take_group(const QueenRow *row, QueenGroup *group)
{
	group->group_id = DatumGetInt32(row->values[0]);
	group->queue_id = DatumGetInt32(row->values[1]);
	group->number = DatumGetInt16(row->values[2]);
	group->name = DatumGetTextPCopy(row->values[3]);
	group->subscription_from = DatumGetTimestampTz(row->values[5]);
}

/* One group, or NULL where there is none. */
static QueenGroup *
find_group(const QueenProbe *probe, QueenKeys *keys)
{
	QueenGroup *group;
	QueenRow	row;

	if (!queen_probe(probe, keys, ForwardScanDirection, &row))
		return NULL;
	group = palloc(sizeof(QueenGroup));
	take_group(&row, group);

	return group;
}

/* The group of a name, or NULL. */
QueenGroup *
queen_group_by_name(int32 queue_id, text *name)
{
	QueenKeys	keys = {.count = 0};

	queen_key_int4(&keys, queue_id);
	queen_key_text(&keys, name);
	return find_group(&by_name, &keys);
}

/* The group of an id, or NULL. */
QueenGroup *
queen_group_by_id(int32 group_id)
{
	QueenKeys	keys = {.count = 0};

	queen_key_int4(&keys, group_id);
	return find_group(&by_id, &keys);
}

/* All groups of a queue. */
int
queen_group_list(int32 queue_id, QueenGroup **groups)
{
	QueenParameters parameters = {.count = 0};
	int			rows;

	queen_bind(&parameters, Int32GetDatum(queue_id));
	rows = (int) queen_execute(&list, &parameters, 0);
	*groups = palloc(sizeof(QueenGroup) * Max(rows, 1));
	for (int i = 0; i < rows; i++)
	{
		QueenRow	row;

		queen_fetch(SPI_tuptable, i, &row);
		take_group(&row, &(*groups)[i]);
	}
	queen_forget_result();

	return rows;
}

/* The lowest number above another one that no group has; 0 where all are taken. */
int16
queen_group_free_number(int32 queue_id, int16 after)
{
	QueenParameters parameters = {.count = 0};
	int16		number = 0;

	queen_bind(&parameters, Int32GetDatum(queue_id));
	queen_bind(&parameters, Int32GetDatum(after + 1));
	if (queen_execute(&free_number, &parameters, 1) > 0)
	{
		QueenRow	row;

		queen_fetch(SPI_tuptable, 0, &row);
		number = (int16) DatumGetInt32(row.values[0]);
	}
	queen_forget_result();

	return number;
}

/* Registers a group. */
int32
queen_group_insert(const QueenGroup *group, const char *mode)
{
	QueenParameters parameters = {.count = 0};
	QueenRow	row;
	int32		group_id;

	queen_bind(&parameters, Int32GetDatum(group->queue_id));
	queen_bind(&parameters, Int16GetDatum(group->number));
	queen_bind(&parameters, PointerGetDatum(group->name));
	queen_bind(&parameters, CStringGetTextDatum(mode));
	queen_bind(&parameters, TimestampTzGetDatum(group->subscription_from));
	queen_bind(&parameters, TimestampTzGetDatum(GetCurrentTimestamp()));
	queen_execute(&insert, &parameters, 0);
	queen_fetch(SPI_tuptable, 0, &row);
	group_id = DatumGetInt32(row.values[0]);
	queen_forget_result();

	return group_id;
}

/* Removes a group; its cursors are cursor_store's. */
void
queen_group_delete(int32 group_id)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int32GetDatum(group_id));
	queen_execute(&delete, &parameters, 0);
}
