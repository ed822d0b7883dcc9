/*-------------------------------------------------------------------------
 *
 * message.h
 *	  The parts of a message as SQL values.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_MESSAGE_H
#define QUEEN_MESSAGE_H

#include "frame.h"

/* The four values in the order payload, headers, transaction id, body. */
typedef struct QueenMessageValues
{
	Datum		payload;
	Datum		headers;
	Datum		transaction_id;
	Datum		body;
	bool		is_json;
	bool		has_headers;
} QueenMessageValues;

/* Room for an id made of two numbers. */
#define QUEEN_DERIVED_ID_BYTES 42

/* Writes the id of a message whose producer gave none; answers its length. */
extern int	queen_derive_id(char *id, int64 partition_id, int64 offset);

extern QueenMessageValues queen_message_values(const QueenMessage *message,
											   int64 partition_id, int64 offset);

#endif							/* QUEEN_MESSAGE_H */
