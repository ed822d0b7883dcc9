/*-------------------------------------------------------------------------
 *
 * guard.c
 *	  Runs what stored data may make fail.
 *
 * A body that is no jsonb, or a filter that does not fit it, concerns its own
 * message and not the call. So the look at one message is a subtransaction;
 * it writes nothing, so it has no transaction id and leaves no trace. Memory
 * is the caller's, during the work and after it, also where it failed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/resowner.h"

#include "guard.h"

/*
 * Whether an error is about data, not about the server or the caller. A value
 * that is too large for the server to hold is an internal error to it.
 */
static bool
is_about_data(int sqlstate)
{
	int			category = ERRCODE_TO_CATEGORY(sqlstate);

	return sqlstate == ERRCODE_INTERNAL_ERROR ||
		category == ERRCODE_DATA_EXCEPTION ||
		category == ERRCODE_PROGRAM_LIMIT_EXCEEDED ||
		category == ERRCODE_FEATURE_NOT_SUPPORTED;
}

/*
 * Runs work(argument); false where the data made it raise an error. Any other
 * error goes on its way, but out of the subtransaction: who catches it thinks
 * that the innermost one is his own.
 */
bool
queen_guard(void (*work) (void *argument), void *argument)
{
	MemoryContext memory = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool good = true;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(memory);
	PG_TRY();
	{
		work(argument);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(memory);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(memory);
		CurrentResourceOwner = owner;
		if (!is_about_data(error->sqlerrcode))
			ReThrowError(error);
		FreeErrorData(error);
		good = false;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(memory);
	CurrentResourceOwner = owner;

	return good;
}
