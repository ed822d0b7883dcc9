/*-------------------------------------------------------------------------
 *
 * process.h
 *	  Which of our background processes run, and how they are kept away.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_PROCESS_H
#define QUEEN_PROCESS_H

/* What they hold a lock of; docs/reference.md lists the numbers. */
typedef enum QueenProcess
{
	QUEEN_LAUNCHER = 0x5111,	/* one for the server: database 0 */
	QUEEN_WORKER = 0x5112		/* one in a database */
} QueenProcess;

/* For the process itself: takes its place for as long as it lives. */
extern bool queen_process_begin(QueenProcess process, Oid database);

/* Whether a worker may be sent into a database; its process id, or 0. */
extern bool queen_process_is_free(QueenProcess process, Oid database);
extern int	queen_process_pid(QueenProcess process, Oid database);
extern bool queen_process_signal(QueenProcess process, Oid database, int number);

/* Makes the worker leave a database, and stay away until the transaction ends. */
extern void queen_process_keep_out(Oid database);

/* For a process of ours: settings that must not change its work. */
extern void queen_process_pin_settings(void);

#endif							/* QUEEN_PROCESS_H */
