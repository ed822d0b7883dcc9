/*-------------------------------------------------------------------------
 *
 * check.h
 *	  Checks of arguments, each with its SQLSTATE.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_CHECK_H
#define QUEEN_CHECK_H

#include "datatype/timestamp.h"
#include "fmgr.h"

#define QUEEN_MAX_NAME_BYTES			255
#define QUEEN_MAX_TRANSACTION_ID_BYTES	1024

/* "Not given", where NULL is a value or must not be taken for one. */
#define QUEEN_NOT_GIVEN_INT4	PG_INT32_MIN
#define QUEEN_NOT_GIVEN_INT8	PG_INT64_MIN

/* The longest lease, delay or back-off. */
#define QUEEN_MAX_INTERVAL		(INT64CONST(366) * USECS_PER_DAY)

/* The longest age that retention knows: 100 years. */
#define QUEEN_MAX_AGE			(INT64CONST(36525) * USECS_PER_DAY)

/* An argument that must not be NULL; what is its name in SQL. */
extern Datum queen_required(FunctionCallInfo fcinfo, int number, const char *what);

/* Names of queues, partitions and groups; NULL raises, or is NULL. */
extern text *queen_name_argument(FunctionCallInfo fcinfo, int number, const char *what);
extern text *queen_optional_name_argument(FunctionCallInfo fcinfo, int number, const char *what);

/* A name from elsewhere; what says where. */
extern text *queen_check_name(text *name, const char *what);

/* Why a name will not do, or NULL: for errors that say more. */
extern const char *queen_name_fault(const char *name, size_t len, int *sqlstate);

extern void queen_check_range(int64 value, int64 low, int64 high, const char *what);

/* Microseconds, a month being 30 days; refuses what is outside. */
extern int64 queen_interval_us(const Interval *interval);
extern Interval *queen_interval(int64 us);
extern int64 queen_check_interval(const Interval *interval, bool zero, const char *what);
extern int64 queen_check_age(const Interval *interval, const char *what);

/* A time at which a message is delivered: finite, and not too far away. */
extern void queen_check_deliver_at(TimestampTz deliver_at, TimestampTz now);

#endif							/* QUEEN_CHECK_H */
