/*-------------------------------------------------------------------------
 *
 * outgoing.c
 *	  One message from the arguments of a push, and the lane it goes to.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"

#include "compat.h"
#include "outgoing.h"
#include "items.h"
#include "payload.h"
#include "settings.h"

/* The lane of a number: Default, Default-2 and so on. */
static text *
default_lane(uint32 number)
{
	if (number == 0)
		return cstring_to_text("Default");
	return cstring_to_text(psprintf("Default-%u", number + 1));
}

/* The lane of a queue that is next in turn in this session. */
text *
queen_lane_in_turn(const QueenQueue *queue)
{
	static uint32 turns[64];
	static bool started = false;

	for (int i = 0; !started && i < lengthof(turns); i++)
		turns[i] = pg_prng_uint32(&pg_global_prng_state);
	started = true;
	return default_lane(turns[queue->queue_id % lengthof(turns)]++ % (uint32) queue->partitions);
}

/* The lane of a message by its id, or NULL where it has none. */
text *
queen_lane_of_id(const QueenQueue *queue, const QueenMessage *message)
{
	if (message->transaction_id_len == 0)
		return NULL;
	return default_lane(hash_bytes((const unsigned char *) message->transaction_id,
								   message->transaction_id_len) % (uint32) queue->partitions);
}

/* The lane of a single message that names none. */
text *
queen_lane_for(const QueenQueue *queue, const QueenMessage *message)
{
	text	   *lane = queen_lane_of_id(queue, message);

	return lane ? lane : queen_lane_in_turn(queue);
}

/* Refuses one message more than a call may bring. */
void
queen_check_batch(uint32 before)
{
	if (before >= (uint32) queen_max_batch)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many messages in one call"),
				 errdetail("\"queen.max_batch\" allows %d.", queen_max_batch),
				 errhint("Send them by several calls.")));
}

/* Refuses a body that is too large. */
void
queen_check_message_size(const QueenMessage *message, int64 item)
{
	if (message->payload_len > (uint32) queen_max_message_bytes)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 item < 0 ? errmsg("message is too large")
				 : errmsg("message of element %lld is too large", (long long) item),
				 errdetail("It has %u bytes, \"queen.max_message_bytes\" allows %d.",
						   message->payload_len, queen_max_message_bytes)));
}

/* One message. Its bytes are the arguments'. */
QueenMessage
queen_message_arguments(FunctionCallInfo fcinfo)
{
	QueenPayload payload = queen_payload_argument(fcinfo, 1, "payload");
	QueenMessage message = {
		.kind = payload.kind,
		.payload = payload.text.data,
		.payload_len = (uint32_t) payload.text.len
	};

	if (!PG_ARGISNULL(3))
	{
		text	   *id = PG_GETARG_TEXT_PP(3);

		queen_check_transaction_id(VARSIZE_ANY_EXHDR(id), -1);
		message.transaction_id = VARDATA_ANY(id);
		message.transaction_id_len = (uint16_t) VARSIZE_ANY_EXHDR(id);
	}
	if (!PG_ARGISNULL(4))
		queen_take_headers(&message, PG_GETARG_JSONB_P(4), -1);
	queen_check_message_size(&message, -1);

	return message;
}
