/*-------------------------------------------------------------------------
 *
 * utility.c
 *	  The hook on utility statements.
 *
 * DROP DATABASE, CREATE DATABASE ... TEMPLATE, ALTER DATABASE ... RENAME and
 * ... SET TABLESPACE want nobody in the database. Our worker leaves it then,
 * and stays away until the statement's transaction ends. A session in which
 * the library is not loaded has no hook; it waits the second that a pass may
 * last, as the server waits some seconds for others to leave.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "commands/dbcommands.h"
#include "commands/defrem.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"

#include "process.h"
#include "soon.h"
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

/* Whether a statement makes a database one that the worker is to serve. */
static bool
brings_queen(Node *statement)
{
	return IsA(statement, CreateExtensionStmt) &&
		strcmp(((CreateExtensionStmt *) statement)->extname, "queen") == 0;
}

/*
 * Makes room for a statement on a database, then does what was done before. A
 * database that gets the extension is told to the launcher.
 */
static void
process_utility(PlannedStmt *planned, const char *query, bool read_only_tree,
				ProcessUtilityContext context, ParamListInfo params,
				QueryEnvironment *environment, DestReceiver *destination,
				QueryCompletion *completion)
{
	const char *name = database_to_leave(planned->utilityStmt);
	Oid			database = InvalidOid;

	if (name && !RecoveryInProgress())
		database = get_database_oid(name, true);
	if (OidIsValid(database))
		queen_process_keep_out(database);
	if (next_hook)
		next_hook(planned, query, read_only_tree, context, params, environment,
				  destination, completion);
	else
		standard_ProcessUtility(planned, query, read_only_tree, context, params,
								environment, destination, completion);
	if (brings_queen(planned->utilityStmt))
		queen_look_again();
}

/* Called once, when the library is loaded. */
void
queen_hook_utility(void)
{
	next_hook = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
}
