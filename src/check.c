/*-------------------------------------------------------------------------
 *
 * check.c
 *	  Checks of arguments, each with its SQLSTATE.
 *
 * No verb is STRICT: a NULL where a value is needed raises 22004, since a
 * push that answered NULL would have lost its message in silence.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"
#include "utils/builtins.h"

#include "check.h"
#include "compat.h"

/* An argument that must not be NULL. */
Datum
queen_required(FunctionCallInfo fcinfo, int number, const char *what)
{
	if (PG_ARGISNULL(number))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("\"%s\" must not be null", what)));
	return PG_GETARG_DATUM(number);
}

/* Why a name will not do, or NULL. Any character but controls is allowed. */
const char *
queen_name_fault(const char *name, size_t len, int *sqlstate)
{
	*sqlstate = ERRCODE_INVALID_PARAMETER_VALUE;
	if (len == 0)
		return "It must not be empty.";
	if (len > QUEEN_MAX_NAME_BYTES)
	{
		*sqlstate = ERRCODE_PROGRAM_LIMIT_EXCEEDED;
		return "Names are limited to 255 bytes.";
	}
	for (size_t i = 0; i < len; i++)
	{
		if ((unsigned char) name[i] < 0x20 || name[i] == 0x7f)
			return "It must not contain control characters.";
	}
	return NULL;
}

/* A name that is good; where it comes from is named in the error. */
text *
queen_check_name(text *name, const char *what)
{
	const char *fault;
	int			sqlstate;

	fault = queen_name_fault(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name), &sqlstate);
	if (fault)
		ereport(ERROR,
				(errcode(sqlstate),
				 errmsg("invalid name in \"%s\"", what),
				 errdetail_internal("%s", fault)));
	return name;
}

/* A name, or NULL where the argument is NULL. */
text *
queen_optional_name_argument(FunctionCallInfo fcinfo, int number, const char *what)
{
	return PG_ARGISNULL(number) ? NULL : queen_check_name(PG_GETARG_TEXT_PP(number), what);
}

/* A name. */
text *
queen_name_argument(FunctionCallInfo fcinfo, int number, const char *what)
{
	queen_required(fcinfo, number, what);
	return queen_optional_name_argument(fcinfo, number, what);
}

/* Refuses a number outside its range. */
void
queen_check_range(int64 value, int64 low, int64 high, const char *what)
{
	if (value < low || value > high)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%lld is outside the valid range for \"%s\" (%lld .. %lld)",
						(long long) value, what, (long long) low, (long long) high)));
}

/* The length of an interval; what overflows is as long as can be. */
int64
queen_interval_us(const Interval *interval)
{
	int64		days = (int64) interval->month * DAYS_PER_MONTH + interval->day;
	int64		us;

	if (pg_mul_s64_overflow(days, USECS_PER_DAY, &us) ||
		pg_add_s64_overflow(us, interval->time, &us))
		return days < 0 ? PG_INT64_MIN : PG_INT64_MAX;
	return us;
}

/* The other way round. */
Interval *
queen_interval(int64 us)
{
	Interval   *interval = palloc0(sizeof(Interval));

	interval->time = us;
	return interval;
}

/* Refuses an interval that is negative, too long, or zero where that is not allowed. */
int64
queen_check_interval(const Interval *interval, bool zero, const char *what)
{
	int64		us = queen_interval_us(interval);

	if (us < (zero ? 0 : 1) || us > QUEEN_MAX_INTERVAL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" is outside the valid range", what),
				 zero ? errdetail("It must be at least 0 and at most 366 days.")
				 : errdetail("It must be more than 0 and at most 366 days.")));
	return us;
}

/* The same for the age of messages, which may be kept for long. */
int64
queen_check_age(const Interval *interval, const char *what)
{
	int64		us = queen_interval_us(interval);

	if (us < 1 || us > QUEEN_MAX_AGE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" is outside the valid range", what),
				 errdetail("It must be more than 0 and at most 36525 days.")));
	return us;
}

/* Refuses a time of delivery that is not finite or too far away. */
void
queen_check_deliver_at(TimestampTz deliver_at, TimestampTz now)
{
	if (TIMESTAMP_NOT_FINITE(deliver_at) || deliver_at > now + QUEEN_MAX_INTERVAL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"deliver_at\" is outside the valid range"),
				 errdetail("It must be finite and at most 366 days away.")));
}
