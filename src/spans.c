/*-------------------------------------------------------------------------
 *
 * spans.c
 *	  Spans of offsets as an int8multirange, and back.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/multirangetypes.h"
#include "utils/typcache.h"

#include "compat.h"
#include "spans.h"

/* The type cache entry of int8range, for int8multirange's functions. */
static TypeCacheEntry *
span_type(void)
{
	return lookup_type_cache(INT8RANGEOID, TYPECACHE_RANGE_INFO);
}

/* The spans of an int8multirange. Its ranges are canonical: [lower, upper). */
QueenSpan *
queen_spans_decode(Datum value, int *count)
{
	TypeCacheEntry *type = span_type();
	RangeType **ranges;
	QueenSpan  *spans;

	multirange_deserialize(type, DatumGetMultirangeTypeP(value), count, &ranges);
	spans = palloc(sizeof(QueenSpan) * Max(*count, 1));
	for (int i = 0; i < *count; i++)
	{
		RangeBound	lower;
		RangeBound	upper;
		bool		empty;

		range_deserialize(type, ranges[i], &lower, &upper, &empty);
		spans[i].first = DatumGetInt64(lower.val);
		spans[i].last = DatumGetInt64(upper.val) - 1;
	}
	return spans;
}

/* Spans as an int8multirange; nothing for none. */
Datum
queen_spans_encode(const QueenSpan *spans, int count)
{
	TypeCacheEntry *type;
	RangeType **ranges;

	if (count == 0)
		return (Datum) 0;
	type = span_type();
	ranges = palloc(sizeof(RangeType *) * count);
	for (int i = 0; i < count; i++)
	{
		RangeBound	lower = {Int64GetDatum(spans[i].first), false, true, true};
		RangeBound	upper = {Int64GetDatum(spans[i].last + 1), false, false, false};

		ranges[i] = queen_make_range(type, &lower, &upper, false);
	}
	return MultirangeTypePGetDatum(make_multirange(INT8MULTIRANGEOID, type, count, ranges));
}
