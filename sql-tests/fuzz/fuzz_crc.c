/*-------------------------------------------------------------------------
 *
 * fuzz_crc.c
 *	  CRC-32C for the programs here, which have no server to take it from.
 *
 *-------------------------------------------------------------------------
 */
#include "frame.h"

#define POLYNOMIAL 0x82F63B78U	/* Castagnoli's, bits reversed */

static uint32_t table[256];

/* Fills the table: what each byte adds to the checksum. */
static void
fill_table(void)
{
	uint32_t	i;
	int			bit;

	for (i = 0; i < 256; i++)
	{
		uint32_t	crc = i;

		for (bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ POLYNOMIAL : crc >> 1;
		table[i] = crc;
	}
}

/* CRC-32C of len bytes. */
uint32_t
queen_frame_crc(const void *data, size_t len)
{
	const uint8_t *at = data;
	uint32_t	crc = 0xFFFFFFFFU;

	if (table[1] == 0)
		fill_table();
	while (len-- > 0)
		crc = crc >> 8 ^ table[(crc ^ *at++) & 0xFF];
	return ~crc;
}
