/*-------------------------------------------------------------------------
 *
 * utility.h
 *	  The hook on utility statements.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_UTILITY_H
#define QUEEN_UTILITY_H

extern void queen_hook_utility(void);

#endif							/* QUEEN_UTILITY_H */
