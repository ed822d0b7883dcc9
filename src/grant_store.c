/*-------------------------------------------------------------------------
 *
 * grant_store.c
 *	  All SQL on queen.queue_grant.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "grant_store.h"
#include "probe.h"
#include "statement.h"

/* Columns queue_id, privilege, grantee. */
static const QueenProbe grants = {"queue_grant", "queue_grant_pkey", 3};

static QueenStatement insert = {
	"INSERT INTO queen.queue_grant (queue_id, privilege, grantee, grantor)"
	" VALUES ($1, $2, $3::pg_catalog.regrole, $4::pg_catalog.regrole) ON CONFLICT DO NOTHING",
	SPI_OK_INSERT, 4, {INT4OID, TEXTOID, OIDOID, OIDOID}
};

static QueenStatement delete = {
	"DELETE FROM queen.queue_grant WHERE queue_id OPERATOR(pg_catalog.=) $1"
	" AND privilege OPERATOR(pg_catalog.=) $2 AND grantee OPERATOR(pg_catalog.=) $3",
	SPI_OK_DELETE, 3, {INT4OID, TEXTOID, OIDOID}
};

/* The first grantee from a number on. */
static bool
find_grantee(int32 queue_id, const char *privilege, Oid from, Oid *grantee)
{
	QueenKeys	keys = {.count = 0};
	QueenRow	row;

	queen_key_int4(&keys, queue_id);
	queen_key_text(&keys, cstring_to_text(privilege));
	queen_key_oid_from(&keys, from);
	if (!queen_probe(&grants, &keys, ForwardScanDirection, &row))
		return false;
	*grantee = DatumGetObjectId(row.values[2]);
	return true;
}

/* Whom a privilege was granted to first, in the order of numbers. */
bool
queen_grant_first(int32 queue_id, const char *privilege, Oid *grantee)
{
	return find_grantee(queue_id, privilege, InvalidOid, grantee);
}

/* And next. */
bool
queen_grant_next(int32 queue_id, const char *privilege, Oid *grantee)
{
	return *grantee < OID_MAX && find_grantee(queue_id, privilege, *grantee + 1, grantee);
}

/* Grants a privilege; again is no error. */
void
queen_grant_insert(int32 queue_id, const char *privilege, Oid grantee, Oid grantor)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int32GetDatum(queue_id));
	queen_bind(&parameters, CStringGetTextDatum(privilege));
	queen_bind(&parameters, ObjectIdGetDatum(grantee));
	queen_bind(&parameters, ObjectIdGetDatum(grantor));
	queen_execute(&insert, &parameters, 0);
}

/* Takes a privilege back; one that was not granted is no error. */
void
queen_grant_delete(int32 queue_id, const char *privilege, Oid grantee)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int32GetDatum(queue_id));
	queen_bind(&parameters, CStringGetTextDatum(privilege));
	queen_bind(&parameters, ObjectIdGetDatum(grantee));
	queen_execute(&delete, &parameters, 0);
}
