/*-------------------------------------------------------------------------
 *
 * canary.c
 *	  Faults on purpose, one for each kind of check.
 *
 * scripts/check-* load this into the same server as queen, after the tests:
 * a check that does not find the fault has checked nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "fmgr.h"
#include "utils/builtins.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(canary);

/* What the compiler shall not see through. */
static char *volatile chunk;
static volatile int eight = 8;
static volatile int largest = INT_MAX;
static volatile int sink;

/* Commits the fault that its argument names. */
Datum
canary(PG_FUNCTION_ARGS)
{
	char	   *fault = text_to_cstring(PG_GETARG_TEXT_PP(0));

	if (strcmp(fault, "assert") == 0)
		Assert(eight != 8);
	else if (strcmp(fault, "bounds") == 0)
	{
		chunk = malloc(8);
		chunk[eight] = 1;
	}
	else if (strcmp(fault, "overflow") == 0)
		sink = largest + 1;
	else if (strcmp(fault, "undefined") == 0)
	{
		chunk = palloc(8);
		if (chunk[0] != 0)		/* a jump, which a compiler cannot make a sum */
			elog(DEBUG5, "set");
	}
	else
		elog(ERROR, "unknown fault \"%s\"", fault);

	PG_RETURN_VOID();
}
