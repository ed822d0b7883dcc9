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
extern int	queen_dedup_memory;
extern int	queen_max_message_bytes;
extern int	queen_max_partition_locks;
extern int	queen_seek_timeout;

extern void queen_define_settings(void);

#endif							/* QUEEN_SETTINGS_H */
