/*-------------------------------------------------------------------------
 *
 * lease.h
 *	  Leases: their uuids, and the cursors behind them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_LEASE_H
#define QUEEN_LEASE_H

#include "utils/uuid.h"

#include "counters.h"
#include "cursor.h"
#include "group_store.h"
#include "partition_store.h"
#include "queue_store.h"

/* A group in a partition: its cursor, locked, and what belongs to it. */
typedef struct QueenPlace
{
	QueenQueue *queue;
	QueenGroup *group;
	QueenPartition partition;
	QueenCursor cursor;
	bool		changed;		/* to be written */
} QueenPlace;

typedef enum QueenLeaseState
{
	QUEEN_LEASE_LIVE,
	QUEEN_LEASE_COMPLETED,		/* one of the last four */
	QUEEN_LEASE_LOST
} QueenLeaseState;

typedef struct QueenLease
{
	pg_uuid_t	uuid;
	int64		partition_id;
	int32		group_id;
	int64		nonce;
	QueenPlace *place;			/* NULL: no such partition or group */
} QueenLease;

extern int64 queen_lease_new_nonce(void);
extern pg_uuid_t *queen_lease_encode(int64 partition_id, int32 group_id, int64 nonce);
extern QueenLease queen_lease_decode(const pg_uuid_t *uuid);

extern void queen_leases_open(QueenLease *leases, int n);
extern void queen_leases_open_within(QueenLease *leases, int n,
									 QueenQueue *queue, QueenGroup *group);
extern QueenPlace *queen_lease_open(const pg_uuid_t *uuid, QueenLeaseState *state);
extern QueenPlace *queen_lease_open_live(const pg_uuid_t *uuid);
extern void queen_lease_check_offset(const QueenCursor *cursor, int64 offset);

extern QueenLeaseState queen_lease_state(const QueenLease *lease);
extern int64 queen_lease_complete(QueenPlace *place);
extern void queen_lease_report_lost(const QueenLease *lease, int level);
extern void queen_place_write(QueenPlace *place);
extern void queen_place_count(const QueenPlace *place, QueenCounter counter, int64 number);

#endif							/* QUEEN_LEASE_H */
