/*-------------------------------------------------------------------------
 *
 * errors.h
 *	  Queen's own SQLSTATEs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_ERRORS_H
#define QUEEN_ERRORS_H

#include "utils/elog.h"

#define ERRCODE_QUEEN_LEASE_LOST	MAKE_SQLSTATE('Q', 'N', '0', '0', '1')
#define ERRCODE_QUEEN_NO_POSITION	MAKE_SQLSTATE('Q', 'N', '0', '0', '2')
#define ERRCODE_QUEEN_QUEUE_FULL	MAKE_SQLSTATE('Q', 'N', '0', '0', '3')

#endif							/* QUEEN_ERRORS_H */
