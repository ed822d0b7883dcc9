/*-------------------------------------------------------------------------
 *
 * utility.c
 *	  The hook on utility statements.
 *
 * DROP DATABASE, CREATE DATABASE ... TEMPLATE, ALTER DATABASE ... RENAME and
 * ... SET TABLESPACE want nobody in the database. Our worker leaves it then,
 * and stays away until the statement's transaction ends; not for a role that the
 * server will refuse. A session in which the library is not loaded has no hook;
 * it waits the second that a pass may last, as the server waits some seconds for
 * others to leave.
 *
 * After COMMIT PREPARED and ROLLBACK PREPARED everybody looks for what has come:
 * they run no callback of transactions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xlog.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_database.h"
#include "commands/dbcommands.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/syscache.h"

#include "compat.h"
#include "fuse.h"
#include "process.h"
#include "soon.h"
#include "touch.h"
#include "utility.h"

static ProcessUtility_hook_type next_hook = NULL;

/* The value of an option of a statement on databases, or NULL. */
static char *
find_option(List *options, const char *name)
{
	ListCell   *cell;

	foreach(cell, options)
	{
		DefElem    *option = lfirst(cell);

		if (strcmp(option->defname, name) == 0 && option->arg)
			return defGetString(option);
	}
	return NULL;
}

/* The database that a statement wants empty of others, or NULL. */
static const char *
database_to_leave(Node *statement)
{
	const char *template;

	switch (nodeTag(statement))
	{
		case T_DropdbStmt:
			return ((DropdbStmt *) statement)->dbname;
		case T_CreatedbStmt:
			template = find_option(((CreatedbStmt *) statement)->options, "template");
			return template ? template : "template1";
		case T_RenameStmt:
			if (((RenameStmt *) statement)->renameType == OBJECT_DATABASE)
				return ((RenameStmt *) statement)->subname;
			return NULL;
		case T_AlterDatabaseStmt:
			if (find_option(((AlterDatabaseStmt *) statement)->options, "tablespace"))
				return ((AlterDatabaseStmt *) statement)->dbname;
			return NULL;
		default:
			return NULL;
	}
}

/* Whether the user may make databases. */
static bool
may_create_databases(void)
{
	HeapTuple	tuple = SearchSysCache1(AUTHOID, ObjectIdGetDatum(GetUserId()));
	bool		may = false;

	if (HeapTupleIsValid(tuple))
	{
		may = ((Form_pg_authid) GETSTRUCT(tuple))->rolcreatedb;
		ReleaseSysCache(tuple);
	}
	return may;
}

/* Whether a database is a template, which whoever makes databases may copy. */
static bool
is_template(Oid database)
{
	HeapTuple	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(database));
	bool		template = false;

	if (HeapTupleIsValid(tuple))
	{
		template = ((Form_pg_database) GETSTRUCT(tuple))->datistemplate;
		ReleaseSysCache(tuple);
	}
	return template;
}

/* Whether the server will let the user run a statement that wants a database empty. */
static bool
is_permitted(Node *statement, Oid database)
{
	if (superuser())
		return true;
	if (IsA(statement, CreatedbStmt))
		return may_create_databases() &&
			(is_template(database) || queen_database_ownercheck(database, GetUserId()));
	return queen_database_ownercheck(database, GetUserId());
}

/* Makes our workers leave the database that a statement wants empty. */
static void
make_room(Node *statement)
{
	const char *name = database_to_leave(statement);
	Oid			database;

	if (name == NULL || RecoveryInProgress())
		return;
	database = get_database_oid(name, true);
	if (OidIsValid(database) && is_permitted(statement, database))
	{
		queen_fusion_leave(database);
		queen_process_keep_out(database);
	}
}

/* Whether a statement makes a database one that the worker is to serve. */
static bool
brings_queen(Node *statement)
{
	return IsA(statement, CreateExtensionStmt) &&
		strcmp(((CreateExtensionStmt *) statement)->extname, "queen") == 0;
}

/* Whether a statement ends a prepared transaction. */
static bool
ends_prepared(Node *statement)
{
	TransactionStmt *transaction = (TransactionStmt *) statement;

	return IsA(statement, TransactionStmt) &&
		(transaction->kind == TRANS_STMT_COMMIT_PREPARED ||
		 transaction->kind == TRANS_STMT_ROLLBACK_PREPARED);
}

/*
 * What is ours, around what was done before. The statement is not looked at
 * afterwards: a CALL that rolls back may have freed it.
 */
static void
process_utility(PlannedStmt *planned, const char *query, bool read_only_tree,
				ProcessUtilityContext context, ParamListInfo params,
				QueryEnvironment *environment, DestReceiver *destination,
				QueryCompletion *completion)
{
	bool		queen_comes = brings_queen(planned->utilityStmt);
	bool		prepared_ends = ends_prepared(planned->utilityStmt);

	make_room(planned->utilityStmt);
	if (next_hook)
		next_hook(planned, query, read_only_tree, context, params, environment,
				  destination, completion);
	else
		standard_ProcessUtility(planned, query, read_only_tree, context, params,
								environment, destination, completion);
	if (queen_comes)
		queen_look_again();
	if (prepared_ends)
	{
		queen_touch_unknown();
		queen_due_perhaps();
	}
}

/* Called once, when the library is loaded. */
void
queen_hook_utility(void)
{
	next_hook = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
}
