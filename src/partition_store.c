/*-------------------------------------------------------------------------
 *
 * partition_store.c
 *	  All SQL on queen.partition.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "partition_store.h"
#include "probe.h"
#include "statement.h"

/* Columns partition_id, queue_id, name, log_start, last_at, oldest_at. */
static const QueenProbe partition_by_name = {"partition", "partition_queue_id_name_key", 6};
static const QueenProbe partition_by_id = {"partition", "partition_pkey", 6};

/* Column partition_id, of the first or last partition of a queue. */
static const QueenProbe partition_after = {"partition", "partition_queue_idx", 6};
static const QueenProbe partition_by_queue = {"partition", "partition_queue_idx", 1};

static QueenStatement partition_insert = {
	"INSERT INTO queen.partition (queue_id, name, created_at, oldest_at)"
	" VALUES ($1, $2, $3, $3) RETURNING partition_id",
	SPI_OK_INSERT_RETURNING, 3, {INT4OID, TEXTOID, TIMESTAMPTZOID}
};

static QueenStatement partition_set_oldest = {
	"UPDATE queen.partition SET oldest_at = $2 WHERE partition_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_UPDATE, 2, {INT8OID, TIMESTAMPTZOID}
};

/*
 * The partitions that keep something older than a time, the oldest first. One
 * index has this order; the upper bound is no row, as a scan does not stop at
 * the second column of one.
 */
static QueenStatement partitions_older = {
	"SELECT p.oldest_at, p.partition_id FROM queen.partition p"
	" WHERE p.queue_id OPERATOR(pg_catalog.=) $1"
	" AND ROW(p.oldest_at, p.partition_id) OPERATOR(pg_catalog.>) ROW($2, $3)"
	" AND p.oldest_at OPERATOR(pg_catalog.<) $4"
	" ORDER BY p.oldest_at, p.partition_id LIMIT $5",
	SPI_OK_SELECT, 5, {INT4OID, TIMESTAMPTZOID, INT8OID, TIMESTAMPTZOID, INT4OID}
};

/* The empty partitions whose last push is older than a time, that for longest first. */
static QueenStatement partition_idle = {
	"SELECT p.last_at, p.partition_id FROM queen.partition p"
	" WHERE p.oldest_at OPERATOR(pg_catalog.=) 'infinity'"
	" AND p.queue_id OPERATOR(pg_catalog.=) $1"
	" AND ROW(p.last_at, p.partition_id) OPERATOR(pg_catalog.>) ROW($2, $3)"
	" AND p.last_at OPERATOR(pg_catalog.<) $4"
	" ORDER BY p.last_at, p.partition_id LIMIT 1",
	SPI_OK_SELECT, 4, {INT4OID, TIMESTAMPTZOID, INT8OID, TIMESTAMPTZOID}
};

static QueenStatement partition_set_start = {
	"UPDATE queen.partition SET log_start = $2, last_at = $3, oldest_at = $4"
	" WHERE partition_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_UPDATE, 4, {INT8OID, INT8OID, TIMESTAMPTZOID, TIMESTAMPTZOID}
};

static QueenStatement partition_delete = {
	"DELETE FROM queen.partition WHERE partition_id OPERATOR(pg_catalog.=) $1",
	SPI_OK_DELETE, 1, {INT8OID}
};

/* A row as a partition. */
static void
take_partition(const QueenRow *row, QueenPartition *partition)
{
	partition->partition_id = DatumGetInt64(row->values[0]);
	partition->queue_id = DatumGetInt32(row->values[1]);
	partition->name = DatumGetTextPP(row->values[2]);
	partition->log_start = DatumGetInt64(row->values[3]);
	partition->last_at = DatumGetTimestampTz(row->values[4]);
	partition->oldest_at = DatumGetTimestampTz(row->values[5]);
}

/* The first partition that meets conditions. */
static bool
find_partition(const QueenProbe *probe, QueenKeys *keys, QueenPartition *partition)
{
	QueenRow	row;

	if (!queen_probe(probe, keys, ForwardScanDirection, &row))
		return false;
	take_partition(&row, partition);

	return true;
}

/* Whether a partition is the one of a name. */
static bool
has_name(const QueenPartition *partition, int32 queue_id, const text *name)
{
	return partition->queue_id == queue_id &&
		VARSIZE_ANY_EXHDR(partition->name) == VARSIZE_ANY_EXHDR(name) &&
		memcmp(VARDATA_ANY(partition->name), VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name)) == 0;
}

/* The place of a row as the value of a hint, and back. */
static int64
place_to_hint(ItemPointer place)
{
	return (int64) ItemPointerGetBlockNumber(place) << 16 | ItemPointerGetOffsetNumber(place);
}

static ItemPointerData
place_of_hint(int64 value)
{
	ItemPointerData place;

	ItemPointerSet(&place, (BlockNumber) (value >> 16), (OffsetNumber) (value & 0xFFFF));
	return place;
}

/*
 * The partition of a name. It is looked for first where this session has seen
 * it last, which takes a third of the time: a row mostly stays in its place, and
 * what stands there tells whether it is the one.
 */
bool
queen_partition_by_name(int32 queue_id, text *name, QueenPartition *partition)
{
	static QueenHint places[QUEEN_HINTS];
	QueenHint  *hint = queen_hint(places, hash_bytes_extended((const unsigned char *) VARDATA_ANY(name),
															  VARSIZE_ANY_EXHDR(name), queue_id));
	ItemPointerData place = place_of_hint(hint->value);
	QueenKeys	keys = {.count = 0};
	QueenRow	row;

	if (hint->value >= 0 && queen_probe_place(&partition_by_name, &place, &row))
	{
		take_partition(&row, partition);
		if (has_name(partition, queue_id, name))
			return true;
	}
	queen_key_int4(&keys, queue_id);
	queen_key_text(&keys, name);
	if (!queen_probe(&partition_by_name, &keys, ForwardScanDirection, &row))
		return false;
	take_partition(&row, partition);
	hint->value = place_to_hint(&row.place);

	return true;
}

/* The partition of an id. */
bool
queen_partition_by_id(int64 partition_id, QueenPartition *partition)
{
	QueenKeys	keys = {.count = 0};

	queen_key_int8(&keys, partition_id);
	return find_partition(&partition_by_id, &keys, partition);
}

/* The next partition of a queue, in the order of ids. */
bool
queen_partition_after(int32 queue_id, int64 partition_id, QueenPartition *partition)
{
	QueenKeys	keys = {.count = 0};

	queen_key_int4(&keys, queue_id);
	queen_key_int8_from(&keys, partition_id + 1);
	return find_partition(&partition_after, &keys, partition);
}

/* The lowest and the highest partition of a queue; false where it has none. */
bool
queen_partition_range(int32 queue_id, int64 *first, int64 *last)
{
	QueenKeys	keys = {.count = 0};
	QueenRow	lowest;
	QueenRow	highest;

	queen_key_int4(&keys, queue_id);
	if (!queen_probe(&partition_by_queue, &keys, ForwardScanDirection, &lowest) ||
		!queen_probe(&partition_by_queue, &keys, BackwardScanDirection, &highest))
		return false;
	*first = DatumGetInt64(lowest.values[0]);
	*last = DatumGetInt64(highest.values[0]);

	return true;
}

/* Makes a partition, about to be pushed to. */
int64
queen_partition_insert(int32 queue_id, text *name)
{
	QueenParameters parameters = {.count = 0};
	QueenRow	row;
	int64		partition_id;

	queen_bind(&parameters, Int32GetDatum(queue_id));
	queen_bind(&parameters, PointerGetDatum(name));
	queen_bind(&parameters, TimestampTzGetDatum(GetCurrentTimestamp()));
	queen_execute(&partition_insert, &parameters, 0);
	queen_fetch(SPI_tuptable, 0, &row);
	partition_id = DatumGetInt64(row.values[0]);
	queen_forget_result();

	return partition_id;
}

/* For the first push after the partition was emptied. */
void
queen_partition_set_oldest(int64 partition_id, TimestampTz oldest_at)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int64GetDatum(partition_id));
	queen_bind(&parameters, TimestampTzGetDatum(oldest_at));
	queen_execute(&partition_set_oldest, &parameters, 0);
}

/* A row of an answer as a place in the order of partitions by age. */
static void
fetch_age(int number, QueenPartitionAge *age)
{
	QueenRow	row;

	queen_fetch(SPI_tuptable, number, &row);
	age->at = DatumGetTimestampTz(row.values[0]);
	age->partition_id = DatumGetInt64(row.values[1]);
}

/* Partitions that keep something older than a time, after a place in that order. */
int
queen_partitions_older(int32 queue_id, const QueenPartitionAge *after,
					   TimestampTz before, QueenPartitionAge *found, int limit)
{
	QueenParameters parameters = {.count = 0};
	int			rows;

	queen_bind(&parameters, Int32GetDatum(queue_id));
	queen_bind(&parameters, TimestampTzGetDatum(after->at));
	queen_bind(&parameters, Int64GetDatum(after->partition_id));
	queen_bind(&parameters, TimestampTzGetDatum(before));
	queen_bind(&parameters, Int32GetDatum(limit));
	rows = (int) queen_execute(&partitions_older, &parameters, limit);
	for (int i = 0; i < rows; i++)
		fetch_age(i, &found[i]);
	queen_forget_result();

	return rows;
}

/* The next partition that is empty, and idle since before a time. */
bool
queen_partition_idle(int32 queue_id, const QueenPartitionAge *after,
					 TimestampTz before, QueenPartitionAge *found)
{
	QueenParameters parameters = {.count = 0};
	bool		exists;

	queen_bind(&parameters, Int32GetDatum(queue_id));
	queen_bind(&parameters, TimestampTzGetDatum(after->at));
	queen_bind(&parameters, Int64GetDatum(after->partition_id));
	queen_bind(&parameters, TimestampTzGetDatum(before));
	exists = queen_execute(&partition_idle, &parameters, 1) > 0;
	if (exists)
		fetch_age(0, found);
	queen_forget_result();

	return exists;
}

/* Where the log begins now, and how old what it keeps is. */
void
queen_partition_set_start(int64 partition_id, int64 log_start, TimestampTz last_at,
						  TimestampTz oldest_at)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int64GetDatum(partition_id));
	queen_bind(&parameters, Int64GetDatum(log_start));
	queen_bind(&parameters, TimestampTzGetDatum(last_at));
	queen_bind(&parameters, TimestampTzGetDatum(oldest_at));
	queen_execute(&partition_set_start, &parameters, 0);
}

/* Removes a partition; it must be empty. */
void
queen_partition_delete(int64 partition_id)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int64GetDatum(partition_id));
	queen_execute(&partition_delete, &parameters, 0);
}
