/*-------------------------------------------------------------------------
 *
 * grant_store.h
 *	  All SQL on queen.queue_grant.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_GRANT_STORE_H
#define QUEEN_GRANT_STORE_H

/* What a role may be granted. Admin implies read; the owner has all. */
typedef enum QueenPrivilege
{
	QUEEN_PRIVILEGE_PUSH,
	QUEEN_PRIVILEGE_POP,		/* and all that consumers do */
	QUEEN_PRIVILEGE_READ,
	QUEEN_PRIVILEGE_ADMIN
} QueenPrivilege;

#define QUEEN_PRIVILEGES (QUEEN_PRIVILEGE_ADMIN + 1)

/* In their order. */
extern const char *const queen_privilege_names[QUEEN_PRIVILEGES];

typedef struct QueenGrant
{
	QueenPrivilege privilege;
	Oid			grantee;		/* ACL_ID_PUBLIC: everybody */
} QueenGrant;

extern QueenGrant *queen_grants_read(int32 queue_id, int *count);
extern void queen_grant_insert(int32 queue_id, QueenPrivilege privilege, Oid grantee, Oid grantor);
extern void queen_grant_delete(int32 queue_id, QueenPrivilege privilege, Oid grantee);

#endif							/* QUEEN_GRANT_STORE_H */
