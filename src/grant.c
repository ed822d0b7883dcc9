/*-------------------------------------------------------------------------
 *
 * grant.c
 *	  queen.grant, queen.revoke, queen.set_owner, queen.has_privilege.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#include "arguments.h"
#include "check.h"
#include "compat.h"
#include "grant_store.h"
#include "queue.h"
#include "statement.h"

PG_FUNCTION_INFO_V1(queen_grant);
PG_FUNCTION_INFO_V1(queen_revoke);
PG_FUNCTION_INFO_V1(queen_set_owner);
PG_FUNCTION_INFO_V1(queen_has_privilege);

/* The number of a role that was dropped, by which its grants may still be named. */
static Oid
dropped_role(const char *name)
{
	char	   *end;
	unsigned long number = strtoul(name, &end, 10);

	if (*name < '0' || *name > '9' || *end != '\0' || number == 0 || number > OID_MAX)
		return InvalidOid;
	return (Oid) number;
}

/* The role argument; public is everybody, as in GRANT. */
static Oid
role_argument(FunctionCallInfo fcinfo, int number, bool dropped_too)
{
	char	   *name = TextDatumGetCString(queen_required(fcinfo, number, "role"));
	Oid			role;

	if (strcmp(name, "public") == 0)
		return ACL_ID_PUBLIC;
	role = get_role_oid(name, true);
	if (!OidIsValid(role) && dropped_too)
		role = dropped_role(name);
	if (!OidIsValid(role))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("role \"%s\" does not exist", name)));
	return role;
}

/* The privilege of a name. */
static QueenPrivilege
find_privilege(const char *name)
{
	for (int i = 0; i < QUEEN_PRIVILEGES; i++)
	{
		if (strcmp(name, queen_privilege_names[i]) == 0)
			return i;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized privilege \"%s\"", name),
			 errhint("Privileges are \"push\", \"pop\", \"read\" and \"admin\".")));
}

/* The privileges argument, a flag for each; all means each of them. */
static void
privileges_argument(FunctionCallInfo fcinfo, int number, bool *chosen)
{
	int			count;
	char	  **names = queen_texts_argument(fcinfo, number, "privileges", &count);

	memset(chosen, 0, sizeof(bool) * QUEEN_PRIVILEGES);
	if (count == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"privileges\" must not be empty")));
	for (int i = 0; i < count; i++)
	{
		if (strcmp(names[i], "all") == 0)
			memset(chosen, true, sizeof(bool) * QUEEN_PRIVILEGES);
		else
			chosen[find_privilege(names[i])] = true;
	}
}

/* Grants privileges. */
Datum
queen_grant(PG_FUNCTION_ARGS)
{
	text	   *queue_name = queen_name_argument(fcinfo, 0, "queue");
	Oid			role = role_argument(fcinfo, 1, false);
	bool		chosen[QUEEN_PRIVILEGES];
	QueenQueue *queue;

	privileges_argument(fcinfo, 2, chosen);

	queen_begin("queen.grant()");
	queue = queen_queue_open_to_change(queue_name, ShareLock);
	for (int i = 0; i < QUEEN_PRIVILEGES; i++)
	{
		if (chosen[i])
			queen_grant_insert(queue->queue_id, (QueenPrivilege) i, role, GetUserId());
	}
	queen_end();

	PG_RETURN_VOID();
}

/* Takes privileges back, whoever granted them. */
Datum
queen_revoke(PG_FUNCTION_ARGS)
{
	text	   *queue_name = queen_name_argument(fcinfo, 0, "queue");
	Oid			role = role_argument(fcinfo, 1, true);
	bool		chosen[QUEEN_PRIVILEGES];
	QueenQueue *queue;

	privileges_argument(fcinfo, 2, chosen);

	queen_begin("queen.revoke()");
	queue = queen_queue_open_to_change(queue_name, ShareLock);
	for (int i = 0; i < QUEEN_PRIVILEGES; i++)
	{
		if (chosen[i])
			queen_grant_delete(queue->queue_id, (QueenPrivilege) i, role);
	}
	queen_end();

	PG_RETURN_VOID();
}

/* The rules of ALTER TABLE ... OWNER TO: a member of the new owner, who may create. */
static void
check_new_owner(Oid role)
{
	Oid			schema = get_namespace_oid("queen", false);

	if (superuser())
		return;
	queen_check_can_set_role(GetUserId(), role);
	if (queen_schema_aclcheck(schema, role, ACL_CREATE) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_SCHEMA, "queen");
}

/* Gives a queue to another role. */
Datum
queen_set_owner(PG_FUNCTION_ARGS)
{
	text	   *queue_name = queen_name_argument(fcinfo, 0, "queue");
	Oid			role = role_argument(fcinfo, 1, false);
	QueenQueue *queue;

	if (role == ACL_ID_PUBLIC)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("role \"public\" does not exist")));

	queen_begin("queen.set_owner()");
	queue = queen_queue_open_to_change(queue_name, ShareLock);
	queen_queue_check_owner(queue);
	if (queue->owner != role)
	{
		check_new_owner(role);
		queen_queue_set_owner(queue->queue_id, role);
	}
	queen_end();

	PG_RETURN_VOID();
}

/* Whether a role has a privilege; anybody may ask, as for tables. */
Datum
queen_has_privilege(PG_FUNCTION_ARGS)
{
	Oid			role = role_argument(fcinfo, 0, false);
	text	   *queue_name = queen_name_argument(fcinfo, 1, "queue");
	QueenPrivilege privilege = find_privilege(TextDatumGetCString(queen_required(fcinfo, 2, "privilege")));
	QueenQueue *queue;
	bool		answer;

	queen_begin(NULL);
	queue = queen_queue_by_name(queue_name);
	if (queue == NULL)
		queen_queue_report_unknown(queue_name);
	answer = queen_queue_is_permitted(queue, role, privilege);
	queen_end();

	PG_RETURN_BOOL(answer);
}
