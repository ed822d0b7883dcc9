/*-------------------------------------------------------------------------
 *
 * spool.c
 *	  Bytes put one behind the other, in memory and then in a temporary file.
 *
 * A spool grows at its end and is cut there. Its lower part moves to a file
 * when the owner says so; the upper part is one piece of memory. The file
 * belongs to the transaction, not to the subtransaction or portal that needed
 * it first, so it lives until the owner closes it or the transaction ends, and
 * counts for temp_file_limit.
 *
 * Where a write fails nobody knows what the file holds, so the spool is broken
 * from then on, also for a transaction that goes on from a savepoint.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"
#include "utils/resowner.h"

#include "spool.h"

#define FIRST_ROOM (8 * 1024)
#define KEPT_ROOM (1024 * 1024)

/* An empty spool. */
void
queen_spool_init(QueenSpool *spool, MemoryContext memory)
{
	memset(spool, 0, sizeof(QueenSpool));
	spool->memory = memory;
	spool->room = FIRST_ROOM;
	spool->bytes = MemoryContextAlloc(memory, spool->room);
}

/* The place where the next bytes go. */
uint64
queen_spool_end(const QueenSpool *spool)
{
	return spool->below + spool->used;
}

/* Room for so many bytes at the end, for the caller to fill. */
char *
queen_spool_add(QueenSpool *spool, Size size)
{
	char	   *place;

	if (size > spool->room - spool->used)
	{
		Size		room = Max(spool->room * 2, spool->used + size);

		spool->bytes = repalloc_huge(spool->bytes, room);
		spool->room = room;
	}
	place = spool->bytes + spool->used;
	spool->used += size;

	return place;
}

/* Refuses to go on after a write that failed. */
static void
check_whole(const QueenSpool *spool)
{
	if (spool->broken)
		ereport(ERROR,
				(errcode(ERRCODE_IO_ERROR),
				 errmsg("temporary file of deferred messages is incomplete"),
				 errdetail("Writing to it failed before in this transaction.")));
}

/* Makes the file. */
static void
open_file(QueenSpool *spool)
{
	MemoryContext caller = MemoryContextSwitchTo(spool->memory);
	ResourceOwner portal = CurrentResourceOwner;

	CurrentResourceOwner = TopTransactionResourceOwner;
	PG_TRY();
	{
		spool->file = BufFileCreateTemp(false);
	}
	PG_FINALLY();
	{
		CurrentResourceOwner = portal;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(caller);
}

/* Goes to a place in the file. */
static void
go_to(QueenSpool *spool, uint64 place)
{
	if (BufFileSeek(spool->file, 0, (off_t) place, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not seek in temporary file of deferred messages")));
}

/* Gives back the memory that a large message left behind. */
static void
shrink(QueenSpool *spool)
{
	if (spool->room <= KEPT_ROOM)
		return;
	spool->bytes = repalloc_huge(spool->bytes, FIRST_ROOM);
	spool->room = FIRST_ROOM;
}

/* Moves what is in memory to the file. */
void
queen_spool_spill(QueenSpool *spool)
{
	check_whole(spool);
	if (spool->file == NULL)
		open_file(spool);
	spool->broken = true;
	go_to(spool, spool->below);
	BufFileWrite(spool->file, spool->bytes, spool->used);
	spool->broken = false;
	spool->below += spool->used;
	spool->used = 0;
	shrink(spool);
}

/* Forgets all from a place on. */
void
queen_spool_cut(QueenSpool *spool, uint64 end)
{
	Assert(end <= queen_spool_end(spool));
	if (end >= spool->below)
		spool->used = end - spool->below;
	else
	{
		spool->below = end;
		spool->used = 0;
	}
}

/* Back to the first byte of the file. */
void
queen_spool_rewind(QueenSpool *spool)
{
	check_whole(spool);
	go_to(spool, 0);
}

/* The next bytes of the file. */
void
queen_spool_read(QueenSpool *spool, void *data, Size size)
{
	if (BufFileRead(spool->file, data, size) != size)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from temporary file of deferred messages")));
}

/* Removes the file. */
void
queen_spool_close(QueenSpool *spool)
{
	if (spool->file)
		BufFileClose(spool->file);
	spool->file = NULL;
}
