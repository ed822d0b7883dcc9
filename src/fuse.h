/*-------------------------------------------------------------------------
 *
 * fuse.h
 *	  The shared memory through which fused pushes reach their worker.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_FUSE_H
#define QUEEN_FUSE_H

#include "datatype/timestamp.h"
#include "port/atomics.h"
#include "postmaster/bgworker.h"
#include "storage/dsm.h"
#include "storage/latch.h"

#include "frame.h"
#include "locks.h"

/* Whose a slot is, and what may change in it. */
typedef enum QueenSlotState
{
	QUEEN_SLOT_FREE,			/* the caller's: he fills it */
	QUEEN_SLOT_WAITING,			/* whoever sets the next state first */
	QUEEN_SLOT_TAKEN,			/* the worker's: it is being committed */
	QUEEN_SLOT_ANSWERED			/* the caller's: he reads the answer */
} QueenSlotState;

typedef enum QueenFusionResult
{
	QUEEN_FUSION_NONE,			/* not yet known */
	QUEEN_FUSION_QUEUED,		/* committed */
	QUEEN_FUSION_DUPLICATE,		/* of a message that was committed before, or
								 * is */
	QUEEN_FUSION_REFUSED,		/* an error, nothing was appended */
	QUEEN_FUSION_UNKNOWN_QUEUE,
	QUEEN_FUSION_BLOCKED,		/* somebody has a lock that it needs */
	QUEEN_FUSION_AGAIN			/* the worker left, nothing was appended */
} QueenFusionResult;

/* What a caller wants to push. Names and ids of length 0 are absent. */
typedef struct QueenFusionRequest
{
	Oid			role;
	bool		auto_create;	/* makes the queue where there is none */
	const char *queue;
	uint16		queue_len;
	const char *partition;
	uint16		partition_len;
	QueenMessage message;
} QueenFusionRequest;

/* Bytes for the texts of an answer. */
#define QUEEN_FUSION_TEXT 1024

/*
 * The answer to a request. text holds the partition's name, where the request
 * named none; or message, detail and hint of an error, each ended by a zero.
 */
typedef struct QueenFusionAnswer
{
	QueenFusionResult result;
	int64		offset;			/* -1: not in the log */
	int64		scheduled_id;	/* 0: not in queen.scheduled */
	int			sqlstate;
	QueenWanted wanted;
	char text[	QUEEN_FUSION_TEXT];
} QueenFusionAnswer;

/* The place of one backend. */
typedef struct QueenSlot
{
	pg_atomic_uint32 state;
	Oid			database;
	QueenFusionRequest request; /* its pointers are meant for nobody else */
	TimestampTz blocked_since;	/* 0: never */
	int64		held_partition; /* whose append lock the caller holds for the
								 * worker, or 0 */
	Size		size;			/* of the request's bytes */
	dsm_handle	segment;		/* that holds them, or DSM_HANDLE_INVALID */
	QueenFusionAnswer answer;
	char		bytes[FLEXIBLE_ARRAY_MEMBER];
} QueenSlot;

typedef enum QueenSeatState
{
	QUEEN_SEAT_EMPTY,
	QUEEN_SEAT_STARTING,
	QUEEN_SEAT_TAKEN
} QueenSeatState;

/* The place of one worker: its database, and a bit for each slot that calls. */
typedef struct QueenSeat
{
	pg_atomic_uint32 state;
	pg_atomic_uint32 leave;		/* somebody wants the database for himself */
	Oid			database;
	TimestampTz started_at;
	Latch	   *latch;
	pg_atomic_uint64 calls[FLEXIBLE_ARRAY_MEMBER];
} QueenSeat;

/* How long the worker tries before a caller waits for a lock itself. */
#define QUEEN_FUSION_PATIENCE_MS 50

/* A worker that a caller has started, until it is there. */
typedef struct QueenFusionStart
{
	BackgroundWorkerHandle *handle; /* NULL: none */
	TimestampTz started_at;
} QueenFusionStart;

extern Size queen_fusion_size(void);
extern void queen_fusion_init(void);

/* For callers, in fuse_call.c: answers when it is known what became of it. */
extern void queen_fusion_push(const QueenFusionRequest *request, QueenFusionAnswer *answer);
extern void queen_fusion_call(QueenFusionStart *start);
extern void queen_fusion_check_start(QueenFusionStart *start);
extern bool queen_fusion_is_served(void);
extern Size queen_fusion_room(void);

/* For whoever wants a database for himself. */
extern void queen_fusion_leave(Oid database);

/* For the worker. */
extern QueenSeat *queen_fusion_seat(int number);
extern bool queen_fusion_take_seat(QueenSeat *seat);
extern void queen_fusion_empty_seat(QueenSeat *seat);
extern bool queen_fusion_keep_seat(QueenSeat *seat);
extern int	queen_fusion_collect(QueenSeat *seat, int *slots, bool *queued, int count);
extern QueenSlot *queen_fusion_slot(int number);
extern void queen_fusion_answer(int number);
extern void queen_fusion_wake_all(void);

#endif							/* QUEEN_FUSE_H */
