/*-------------------------------------------------------------------------
 *
 * outgoing.h
 *	  One message from the arguments of a push, and the lane it goes to.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_OUTGOING_H
#define QUEEN_OUTGOING_H

#include "fmgr.h"

#include "frame.h"
#include "queue_store.h"

/* Arguments 1, 3 and 4: payload, transaction id, headers. */
extern QueenMessage queen_message_arguments(FunctionCallInfo fcinfo);

/* Refuses a body that is too large; item is where it stands, or -1. */
extern void queen_check_batch(uint32 before);
extern void queen_check_message_size(const QueenMessage *message, int64 item);

/* Lanes of messages that name none. */
extern text *queen_lane_of_id(const QueenQueue *queue, const QueenMessage *message);
extern text *queen_lane_in_turn(const QueenQueue *queue);
extern text *queen_lane_for(const QueenQueue *queue, const QueenMessage *message);

#endif							/* QUEEN_OUTGOING_H */
