/*-------------------------------------------------------------------------
 *
 * fuse_cycle.h
 *	  One cycle of the fusion worker.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_FUSE_CYCLE_H
#define QUEEN_FUSE_CYCLE_H

/* What the worker is to do for the rest of its life. */
typedef struct QueenFusionCycle
{
	int		   *slots;			/* that wait, in the order of their calls */
	bool	   *queued;			/* for each slot whether it is among them */
	int			count;
	int			answered;		/* by the last cycle */
	int64		commit_took;	/* microseconds, its last commit */
	bool		gone;			/* there is no extension in this database */
} QueenFusionCycle;

extern void queen_fusion_cycle(QueenFusionCycle *cycle);

/* What a cancel does to the worker. */
extern void queen_fusion_cancel(SIGNAL_ARGS);

/* Gives back what a cycle has taken, when the worker ends in it. */
extern void queen_fusion_give_back(void);

#endif							/* QUEEN_FUSE_CYCLE_H */
