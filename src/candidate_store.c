/*-------------------------------------------------------------------------
 *
 * candidate_store.c
 *	  The SQL that finds partitions with something for a consumer group.
 *
 * It reads queen.partition, queen.segment and queen.cursor without a lock, so
 * what it finds is looked at again under one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/timestamp.h"

#include "candidate_store.h"
#include "check.h"
#include "statement.h"

/*
 * Partitions that have something for a group, looked at without a lock: not
 * leased, not held back, and with an offset beyond the cursor. A group that
 * was never there begins at its subscription's time. Compared as rows, since
 * with queue_id = $1 the primary key, too, would give the order, and a walk
 * over it meets the partitions of all queues. In a queue that delays delivery
 * ($7 is not null) the segment of the first offset not done must be that old;
 * for a group that was never there the first one kept, which is no younger.
 */
#define FROM_PARTITIONS_WITH_SOMETHING \
	" FROM queen.partition p" \
	" LEFT JOIN LATERAL (SELECT n.committed, n.lease_until, n.not_before FROM queen.cursor n" \
	" WHERE n.partition_id OPERATOR(pg_catalog.=) p.partition_id AND n.group_id OPERATOR(pg_catalog.=) $2" \
	" ORDER BY n.version DESC LIMIT 1) c ON true" \
	" CROSS JOIN LATERAL (SELECT s.base_offset OPERATOR(pg_catalog.+) s.message_count AS next_offset," \
	" s.created_at FROM queen.segment s" \
	" WHERE s.partition_id OPERATOR(pg_catalog.=) p.partition_id" \
	" AND s.base_offset OPERATOR(pg_catalog.>=) p.log_start" \
	" ORDER BY s.base_offset DESC LIMIT 1) t" \
	" CROSS JOIN LATERAL (SELECT CASE WHEN $7 IS NOT NULL THEN (SELECT f.created_at OPERATOR(pg_catalog.+) $7" \
	" FROM queen.segment f" \
	" WHERE f.partition_id OPERATOR(pg_catalog.=) p.partition_id" \
	" AND f.base_offset OPERATOR(pg_catalog.>=) p.log_start" \
	" AND f.base_offset OPERATOR(pg_catalog.<=) greatest(c.committed OPERATOR(pg_catalog.+) 1, p.log_start)" \
	" ORDER BY f.base_offset DESC LIMIT 1) END AS ready_at) h" \
	" WHERE ROW(p.queue_id, p.partition_id) OPERATOR(pg_catalog.>) ROW($1, $3)" \
	" AND ROW(p.queue_id, p.partition_id) OPERATOR(pg_catalog.<=) ROW($1, $4)" \
	" AND CASE WHEN c.committed IS NULL THEN t.created_at OPERATOR(pg_catalog.>=) $5" \
	" ELSE t.next_offset OPERATOR(pg_catalog.-) 1 OPERATOR(pg_catalog.>) c.committed END"

static QueenStatement candidates = {
	"SELECT p.partition_id" FROM_PARTITIONS_WITH_SOMETHING
	" AND (c.lease_until IS NULL OR c.lease_until OPERATOR(pg_catalog.<=) $8)"
	" AND (c.not_before IS NULL OR c.not_before OPERATOR(pg_catalog.<=) $8)"
	" AND (h.ready_at IS NULL OR h.ready_at OPERATOR(pg_catalog.<=) $8)"
	" ORDER BY p.queue_id, p.partition_id LIMIT $6",
	SPI_OK_SELECT, 8, {INT4OID, INT4OID, INT8OID, INT8OID, TIMESTAMPTZOID, INT4OID, INTERVALOID,
	TIMESTAMPTZOID}
};

/* The same with those that are leased, held back or too young, and until when. */
static QueenStatement outlook = {
	"SELECT p.partition_id, GREATEST(c.lease_until, c.not_before, h.ready_at)" FROM_PARTITIONS_WITH_SOMETHING
	" ORDER BY p.queue_id, p.partition_id LIMIT $6",
	SPI_OK_SELECT, 7, {INT4OID, INT4OID, INT8OID, INT8OID, TIMESTAMPTZOID, INT4OID, INTERVALOID}
};

/*
 * When the first lease or back-off ends of those that hold something back from
 * a group. It looks at each cursor of the group in the queue.
 */
static QueenStatement soonest = {
	"SELECT pg_catalog.min(GREATEST(c.lease_until, c.not_before)) FROM queen.partition p"
	" CROSS JOIN LATERAL (SELECT n.committed, n.lease_until, n.not_before FROM queen.cursor n"
	" WHERE n.partition_id OPERATOR(pg_catalog.=) p.partition_id AND n.group_id OPERATOR(pg_catalog.=) $2"
	" ORDER BY n.version DESC LIMIT 1) c"
	" WHERE p.queue_id OPERATOR(pg_catalog.=) $1"
	" AND GREATEST(c.lease_until, c.not_before) OPERATOR(pg_catalog.>) $3",
	SPI_OK_SELECT, 3, {INT4OID, INT4OID, TIMESTAMPTZOID}
};

/* The parameters of candidates and outlook. */
static QueenParameters
search_parameters(const QueenCandidateSearch *search, int64 after, int64 through, int limit)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int32GetDatum(search->queue_id));
	queen_bind(&parameters, Int32GetDatum(search->group_id));
	queen_bind(&parameters, Int64GetDatum(after));
	queen_bind(&parameters, Int64GetDatum(through));
	queen_bind(&parameters, TimestampTzGetDatum(search->subscription_from));
	queen_bind(&parameters, Int32GetDatum(limit));
	queen_bind_if(&parameters, search->delivery_delay > 0,
				  IntervalPGetDatum(queen_interval(search->delivery_delay)));
	return parameters;
}

/* Partitions in (after, through] that look ready, ascending, at most limit. */
int
queen_partition_candidates(const QueenCandidateSearch *search, int64 after,
						   int64 through, int64 *partition_ids, int limit)
{
	QueenParameters parameters = search_parameters(search, after, through, limit);
	int			rows;

	queen_bind(&parameters, TimestampTzGetDatum(search->now));
	rows = (int) queen_execute(&candidates, &parameters, limit);
	for (int i = 0; i < rows; i++)
	{
		QueenRow	row;

		queen_fetch(SPI_tuptable, i, &row);
		partition_ids[i] = DatumGetInt64(row.values[0]);
	}
	queen_forget_result();

	return rows;
}

/* Partitions in (after, through] that have something, ascending, at most limit. */
int
queen_partition_outlook(const QueenCandidateSearch *search, int64 after, int64 through,
						QueenOutlook *found, int limit)
{
	QueenParameters parameters = search_parameters(search, after, through, limit);
	int			rows = (int) queen_execute(&outlook, &parameters, limit);

	for (int i = 0; i < rows; i++)
	{
		QueenRow	row;

		queen_fetch(SPI_tuptable, i, &row);
		found[i].partition_id = DatumGetInt64(row.values[0]);
		found[i].at = row.nulls[1] ? DT_NOBEGIN : DatumGetTimestampTz(row.values[1]);
	}
	queen_forget_result();

	return rows;
}

/* When time alone may bring something; infinity where it cannot. */
TimestampTz
queen_partition_soonest(const QueenCandidateSearch *search)
{
	QueenParameters parameters = {.count = 0};
	QueenRow	row;
	TimestampTz at = DT_NOEND;

	queen_bind(&parameters, Int32GetDatum(search->queue_id));
	queen_bind(&parameters, Int32GetDatum(search->group_id));
	queen_bind(&parameters, TimestampTzGetDatum(search->now));
	queen_execute(&soonest, &parameters, 0);
	queen_fetch(SPI_tuptable, 0, &row);
	if (!row.nulls[0])
		at = DatumGetTimestampTz(row.values[0]);
	queen_forget_result();

	return at;
}
