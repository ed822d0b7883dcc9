/*-------------------------------------------------------------------------
 *
 * grant_store.h
 *	  All SQL on queen.queue_grant.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_GRANT_STORE_H
#define QUEEN_GRANT_STORE_H

/* Whom a privilege was granted to: the first, and the one after a grantee. */
extern bool queen_grant_first(int32 queue_id, const char *privilege, Oid *grantee);
extern bool queen_grant_next(int32 queue_id, const char *privilege, Oid *grantee);

extern void queen_grant_insert(int32 queue_id, const char *privilege, Oid grantee, Oid grantor);
extern void queen_grant_delete(int32 queue_id, const char *privilege, Oid grantee);

#endif							/* QUEEN_GRANT_STORE_H */
