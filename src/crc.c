/*-------------------------------------------------------------------------
 *
 * crc.c
 *	  The checksum that the codec asks of its host program.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_crc32c.h"

#include "frame.h"

/* CRC-32C, as the server computes it. */
uint32_t
queen_frame_crc(const void *data, size_t len)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, data, len);
	FIN_CRC32C(crc);

	return crc;
}
