/*-------------------------------------------------------------------------
 *
 * push_fused.c
 *	  queen.push_fused.
 *
 * The message goes to a worker of this database (fuse.c), which appends it in
 * a transaction of its own. This session reads no table, takes no lock and
 * writes nothing, but where something is in the way.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "tcop/utility.h"
#include "utils/builtins.h"

#include "check.h"
#include "compat.h"
#include "fuse.h"
#include "locks.h"
#include "outgoing.h"
#include "queue.h"
#include "record.h"
#include "settings.h"
#include "shmem.h"
#include "statement.h"

PG_FUNCTION_INFO_V1(queen_push_fused);

static QueenRecord answer_row = {
	4, {{"partition", TEXTOID}, {"message_offset", INT8OID}, {"status", TEXTOID}, {"scheduled_id", INT8OID}}
};

/* Raises the error of a worker as this session's. */
static void
rethrow(const QueenFusionAnswer *answer)
{
	const char *error = answer->text;
	const char *detail = error + strlen(error) + 1;
	const char *hint = detail + strlen(detail) + 1;

	ereport(ERROR,
			(errcode(answer->sqlstate),
			 errmsg_internal("%s", error),
			 detail[0] ? errdetail_internal("%s", detail) : 0,
			 hint[0] ? errhint("%s", hint) : 0));
}

/*
 * The worker knows no such queue. It may be one that this transaction made; one
 * that was made by others meanwhile is asked for again.
 */
static void
check_unknown(text *name)
{
	QueenQueue *queue;

	queen_begin(NULL);
	queue = queen_queue_by_name(name);
	queen_end();
	if (queue == NULL)
		queen_queue_report_unknown(name);
	if (queen_holds_queue_creation(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("queue \"%s\" was made by this transaction", text_to_cstring(name)),
				 errdetail("A fused push is appended by another session, which does not see it yet."),
				 errhint("Commit first, or use queen.push().")));
}

/* Appends one message, now and whatever becomes of this transaction. */
Datum
queen_push_fused(PG_FUNCTION_ARGS)
{
	text	   *queue = queen_name_argument(fcinfo, 0, "queue");
	text	   *partition = queen_optional_name_argument(fcinfo, 2, "partition");
	QueenFusionRequest request = {
		.role = GetUserId(),
		.auto_create = queen_auto_create_queue,
		.queue = VARDATA_ANY(queue),
		.queue_len = VARSIZE_ANY_EXHDR(queue),
		.message = queen_message_arguments(fcinfo)
	};
	QueenFusionAnswer answer;
	Datum		values[4];
	bool		nulls[4] = {false};

	if (partition)
	{
		request.partition = VARDATA_ANY(partition);
		request.partition_len = VARSIZE_ANY_EXHDR(partition);
	}
	PreventCommandIfReadOnly("queen.push_fused()");
	queen_require_preloaded("queen.push_fused()");

	for (;;)
	{
		queen_fusion_push(&request, &answer);
		if (answer.result != QUEEN_FUSION_UNKNOWN_QUEUE)
			break;
		check_unknown(queue);
	}
	if (answer.result == QUEEN_FUSION_REFUSED)
		rethrow(&answer);

	values[0] = partition ? PointerGetDatum(partition) : CStringGetTextDatum(answer.text);
	values[1] = Int64GetDatum(answer.offset);
	nulls[1] = answer.offset < 0;
	values[2] = CStringGetTextDatum(answer.result == QUEEN_FUSION_DUPLICATE ? "duplicate" : "queued");
	values[3] = Int64GetDatum(answer.scheduled_id);
	nulls[3] = answer.scheduled_id == 0;
	PG_RETURN_DATUM(queen_record(&answer_row, values, nulls));
}
