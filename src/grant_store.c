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

#include "compat.h"
#include "grant_store.h"
#include "probe.h"
#include "statement.h"

const char *const queen_privilege_names[QUEEN_PRIVILEGES] = {"push", "pop", "read", "admin"};

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

/* A row as a grant; false where a superuser's hand has made it something else. */
static bool
take_grant(const QueenRow *row, QueenGrant *found)
{
	const text *name = DatumGetTextPP(row->values[1]);

	found->grantee = DatumGetObjectId(row->values[2]);
	for (int i = 0; i < QUEEN_PRIVILEGES; i++)
	{
		found->privilege = (QueenPrivilege) i;
		if (strlen(queen_privilege_names[i]) == VARSIZE_ANY_EXHDR(name) &&
			memcmp(queen_privilege_names[i], VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name)) == 0)
			return true;
	}
	return false;
}

/* The grants of a queue. */
QueenGrant *
queen_grants_read(int32 queue_id, int *count)
{
	QueenGrant *found = palloc(sizeof(QueenGrant));
	QueenKeys	keys = {.count = 0};
	QueenScan	scan;
	QueenRow	row;

	*count = 0;
	queen_key_int4(&keys, queue_id);
	queen_scan_begin(&scan, &grants, keys.count);
	queen_scan_seek(&scan, &keys);
	while (queen_scan_next(&scan, &row))
	{
		if (!take_grant(&row, &found[*count]))
			continue;
		(*count)++;
		if ((*count & (*count - 1)) == 0)
			found = repalloc(found, sizeof(QueenGrant) * 2 * *count);
	}
	queen_scan_end(&scan);

	return found;
}

/* Grants a privilege; again is no error. */
void
queen_grant_insert(int32 queue_id, QueenPrivilege privilege, Oid grantee, Oid grantor)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int32GetDatum(queue_id));
	queen_bind(&parameters, CStringGetTextDatum(queen_privilege_names[privilege]));
	queen_bind(&parameters, ObjectIdGetDatum(grantee));
	queen_bind(&parameters, ObjectIdGetDatum(grantor));
	queen_execute(&insert, &parameters, 0);
}

/* Takes a privilege back; one that was not granted is no error. */
void
queen_grant_delete(int32 queue_id, QueenPrivilege privilege, Oid grantee)
{
	QueenParameters parameters = {.count = 0};

	queen_bind(&parameters, Int32GetDatum(queue_id));
	queen_bind(&parameters, CStringGetTextDatum(queen_privilege_names[privilege]));
	queen_bind(&parameters, ObjectIdGetDatum(grantee));
	queen_execute(&delete, &parameters, 0);
}
