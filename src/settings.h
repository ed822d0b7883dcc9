/*-------------------------------------------------------------------------
 *
 * settings.h
 *	  The configuration parameters of queen.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_SETTINGS_H
#define QUEEN_SETTINGS_H

extern bool queen_auto_create_queue;
extern int	queen_deferred_buffer;
extern int	queen_dedup_memory;
extern int	queen_max_batch;
extern int	queen_max_headers_bytes;
extern int	queen_max_message_bytes;
extern int	queen_max_partition_locks;
extern int	queen_max_transaction_locks;
extern int	queen_fusion_buffer;
extern int	queen_fusion_idle;
extern int	queen_seek_timeout;
extern int	queen_naptime;		/* milliseconds */
extern int	queen_max_workers;
extern int	queen_history_age;	/* minutes; 0: for ever */
extern char *queen_databases;
extern int	queen_max_pop_wait;
extern int	queen_reconcile_interval;
extern int	queen_ready_queues;
extern int	queen_ready_groups;
extern int	queen_ready_ring;
extern int	queen_ready_list;
extern int	queen_counter_entries;

extern void queen_define_settings(void);
extern bool queen_serves_database(const char *name, bool is_template);

#endif							/* QUEEN_SETTINGS_H */
