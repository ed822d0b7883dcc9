/*-------------------------------------------------------------------------
 *
 * lock_budget.h
 *	  How many locks of partitions and cursors a transaction may hold.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_LOCK_BUDGET_H
#define QUEEN_LOCK_BUDGET_H

/* For locks.c, which knows the kinds that count. */
extern bool queen_lock_budget_left(bool (*counts) (uint16 kind));
extern void queen_lock_budget_add(int change);
extern void queen_lock_budget_refuse(void);
extern void queen_define_lock_budget(void);

#endif							/* QUEEN_LOCK_BUDGET_H */
