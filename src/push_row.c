/*-------------------------------------------------------------------------
 *
 * push_row.c
 *	  queen.push_row: a row trigger that defers a message for each changed row.
 *
 * The message is JSON text, made by the server's own row_to_json(). The queue
 * is looked up, its rights checked and its lock taken once for each trigger of
 * a statement, and again where the user has become another or the lock was
 * lost: that look is a fifth of what a row costs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "check.h"
#include "compat.h"
#include "deferred.h"
#include "outgoing.h"
#include "locks.h"
#include "queue.h"
#include "statement.h"

PG_FUNCTION_INFO_V1(queen_push_row);

/* Refuses what is no row trigger after the change. */
static void
check_trigger(FunctionCallInfo fcinfo)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo) ||
		!TRIGGER_FIRED_AFTER(trigger->tg_event) || !TRIGGER_FIRED_FOR_ROW(trigger->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("\"queen.push_row\" must be fired AFTER a change, FOR EACH ROW")));
	if (trigger->tg_trigger->tgnargs < 1 || trigger->tg_trigger->tgnargs > 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"queen.push_row\" takes one or two arguments, not %d",
						trigger->tg_trigger->tgnargs),
				 errdetail("They are a queue and the column that names the partition.")));
}

/* What a trigger of a statement remembers from row to row. */
typedef struct OpenQueue
{
	QueenQueue *queue;
	Oid			user;			/* whose rights were checked */
} OpenQueue;

/* The queue of the first argument, open for the current user. */
static const QueenQueue *
open_queue(FunctionCallInfo fcinfo, const Trigger *trigger)
{
	OpenQueue  *open = fcinfo->flinfo->fn_extra;
	MemoryContext caller;

	if (open && open->user == GetUserId() && !queen_lock_queue(open->queue->queue_id, ShareLock))
		return open->queue;

	caller = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	open = palloc(sizeof(OpenQueue));
	open->user = GetUserId();
	open->queue = queen_queue_open_to_push(queen_check_name(cstring_to_text(trigger->tgargs[0]), "queue"));
	MemoryContextSwitchTo(caller);
	fcinfo->flinfo->fn_extra = open;

	return open->queue;
}

/* The value of the column that names the partition, or NULL. */
static text *
partition_of(const TriggerData *trigger, HeapTuple row)
{
	TupleDesc	descriptor = RelationGetDescr(trigger->tg_relation);
	const char *column = trigger->tg_trigger->tgargs[1];
	int			number = SPI_fnumber(descriptor, column);
	char	   *value;

	if (number <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist", column,
						RelationGetRelationName(trigger->tg_relation))));
	value = SPI_getvalue(row, descriptor, number);
	return value ? queen_check_name(cstring_to_text(value), column) : NULL;
}

/* A row, or null, under its key. */
static void
append_row(StringInfo json, const char *key, const TriggerData *trigger, HeapTuple row)
{
	text	   *value;

	appendStringInfo(json, ",\"%s\":", key);
	if (row == NULL)
	{
		appendStringInfoString(json, "null");
		return;
	}
	value = DatumGetTextPP(DirectFunctionCall1(row_to_json,
											   heap_copy_tuple_as_datum(row, RelationGetDescr(trigger->tg_relation))));
	appendBinaryStringInfo(json, VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));
}

/* What happened to a row. */
static void
make_payload(StringInfo json, const TriggerData *trigger, HeapTuple old, HeapTuple new)
{
	Relation	table = trigger->tg_relation;
	char		at[MAXDATELEN + 1];

	initStringInfo(json);
	appendStringInfo(json, "{\"op\":\"%s\",\"table\":",
					 new == NULL ? "DELETE" : old == NULL ? "INSERT" : "UPDATE");
	escape_json(json, quote_qualified_identifier(get_namespace_name(RelationGetNamespace(table)),
												 RelationGetRelationName(table)));
	append_row(json, "old", trigger, old);
	append_row(json, "new", trigger, new);
	JsonEncodeDateTime(at, TimestampTzGetDatum(GetCurrentTimestamp()), TIMESTAMPTZOID, NULL);
	appendStringInfo(json, ",\"at\":\"%s\"}", at);
}

/* Defers a message that says what happened to the row. */
Datum
queen_push_row(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	QueenMessage message = {.kind = QUEEN_KIND_JSON};
	text	   *partition = NULL;
	StringInfoData json;
	HeapTuple	old = NULL;
	HeapTuple	new = NULL;
	const QueenQueue *queue;

	check_trigger(fcinfo);
	if (!TRIGGER_FIRED_BY_INSERT(trigger->tg_event))
		old = trigger->tg_trigtuple;
	if (!TRIGGER_FIRED_BY_DELETE(trigger->tg_event))
		new = old ? trigger->tg_newtuple : trigger->tg_trigtuple;
	if (trigger->tg_trigger->tgnargs == 2)
		partition = partition_of(trigger, new ? new : old);
	make_payload(&json, trigger, old, new);
	message.payload = json.data;
	message.payload_len = (uint32_t) json.len;
	queen_check_message_size(&message, -1);

	queen_begin("queen.push_row()");
	queue = open_queue(fcinfo, trigger->tg_trigger);
	if (partition == NULL)
		partition = queen_lane_for(queue, &message);
	queen_deferred_add(queue, partition, &message);
	queen_end();

	PG_RETURN_POINTER(NULL);
}
