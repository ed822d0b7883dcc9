/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  What differs between PostgreSQL 15 and later majors, and nothing else.
 *
 * Each wrapper carries the signature of the newest major.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_COMPAT_H
#define QUEEN_COMPAT_H

#include "catalog/pg_database.h"
#include "catalog/pg_namespace.h"
#include "common/jsonapi.h"
#include "mb/pg_wchar.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/jsonfuncs.h"
#include "utils/rangetypes.h"
#include "utils/wait_event.h"

#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* 16: one function checks the rights on objects of every kind. */
#if PG_VERSION_NUM < 160000
#define queen_schema_aclcheck(schema, role, mode) \
	pg_namespace_aclcheck((schema), (role), (mode))
#else
#define queen_schema_aclcheck(schema, role, mode) \
	object_aclcheck(NamespaceRelationId, (schema), (role), (mode))
#endif

#if PG_VERSION_NUM < 160000
#define queen_database_ownercheck(database, role) \
	pg_database_ownercheck((database), (role))
#else
#define queen_database_ownercheck(database, role) \
	object_ownercheck(DatabaseRelationId, (database), (role))
#endif

/* 17: the number of a transaction in its session stands with the session's own. */
#if PG_VERSION_NUM < 170000
#define queen_local_transaction_id()	(MyProc->lxid)
#else
#define queen_local_transaction_id()	(MyProc->vxid.lxid)
#endif

/* 16: membership and the right to SET ROLE are two things. */
#if PG_VERSION_NUM < 160000
#define queen_check_can_set_role(member, role)	check_is_member_of_role((member), (role))
#else
#define queen_check_can_set_role(member, role)	check_can_set_role((member), (role))
#endif

/* 16: a parse error may be soft. */
#if PG_VERSION_NUM < 160000
#define queen_json_error(error, lex)	json_ereport_error((error), (lex))
#else
#define queen_json_error(error, lex)	json_errsave_error((error), (lex), NULL)
#endif

/* 16: a range may be refused softly. */
#if PG_VERSION_NUM < 160000
#define queen_make_range(type, lower, upper, empty) \
	make_range((type), (lower), (upper), (empty))
#else
#define queen_make_range(type, lower, upper, empty) \
	make_range((type), (lower), (upper), (empty), NULL)
#endif

/* 17: a lex context may be the caller's own, and held locks may be stronger. */
#if PG_VERSION_NUM < 170000
#define queen_lex_context(json, len, need_escapes) \
	makeJsonLexContextCstringLen((char *) (json), (len), GetDatabaseEncoding(), (need_escapes))
#define queen_lock_held(tag, mode)	LockHeldByMe((tag), (mode))
#else
#define queen_lex_context(json, len, need_escapes) \
	makeJsonLexContextCstringLen(NULL, (json), (len), GetDatabaseEncoding(), (need_escapes))
#define queen_lock_held(tag, mode)	LockHeldByMe((tag), (mode), false)
#endif

/* 17: processes have numbers of their own kind, and extensions name what they wait for. */
#if PG_VERSION_NUM < 170000
#define queen_my_proc_number()	(MyProc->pgprocno)
#define queen_new_wait_event(name)	PG_WAIT_EXTENSION
#else
#define queen_my_proc_number()	(MyProcNumber)
#define queen_new_wait_event(name)	WaitEventExtensionNew(name)
#endif

/* A wait event, made when it is first waited for and kept by the caller, who begins with 0. */
static inline uint32
queen_wait_event(uint32 *event, const char *name)
{
	if (*event == 0)
		*event = queen_new_wait_event(name);
	return *event;
}

/* 18: a scan may be instrumented. */
#if PG_VERSION_NUM < 180000
#define queen_index_beginscan(table, index, snapshot, nkeys) \
	index_beginscan((table), (index), (snapshot), (nkeys), 0)
#else
#define queen_index_beginscan(table, index, snapshot, nkeys) \
	index_beginscan((table), (index), (snapshot), NULL, (nkeys), 0)
#endif

#endif							/* QUEEN_COMPAT_H */
