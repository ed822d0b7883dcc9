/*-------------------------------------------------------------------------
 *
 * arguments.c
 *	  Array arguments of leases, offsets and words.
 *
 * Arrays have one dimension and no NULL: an element that happens to be NULL
 * must not make a call do less in silence.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "arguments.h"
#include "check.h"

/* The elements of an array of one dimension. */
static Datum *
take_elements(FunctionCallInfo fcinfo, int number, const char *what,
			  Oid type, int16 length, bool by_value, char alignment, int *count)
{
	ArrayType  *array = DatumGetArrayTypeP(queen_required(fcinfo, number, what));
	Datum	   *elements;
	bool	   *nulls;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" must have one dimension", what)));
	deconstruct_array(array, type, length, by_value, alignment, &elements, &nulls, count);
	for (int i = 0; i < *count; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("element %d of \"%s\" must not be null", i, what)));
	}
	return elements;
}

/* Leases, not yet opened, in the order of the array. */
QueenLease *
queen_leases_argument(FunctionCallInfo fcinfo, int number, const char *what,
					  int *count)
{
	Datum	   *uuids = take_elements(fcinfo, number, what, UUIDOID, UUID_LEN,
									  false, TYPALIGN_CHAR, count);
	QueenLease *leases = palloc_extended(sizeof(QueenLease) * Max(*count, 1),
										 MCXT_ALLOC_HUGE);

	for (int i = 0; i < *count; i++)
		leases[i] = queen_lease_decode(DatumGetUUIDP(uuids[i]));
	return leases;
}

/* Offsets, each a span of its own. */
QueenSpan *
queen_offsets_argument(FunctionCallInfo fcinfo, int number, const char *what,
					   int *count)
{
	Datum	   *offsets = take_elements(fcinfo, number, what, INT8OID, sizeof(int64),
										FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, count);
	QueenSpan  *spans = palloc_extended(sizeof(QueenSpan) * Max(*count, 1),
										MCXT_ALLOC_HUGE);

	for (int i = 0; i < *count; i++)
		spans[i].first = spans[i].last = DatumGetInt64(offsets[i]);
	return spans;
}

/* Words, each a string. */
char **
queen_texts_argument(FunctionCallInfo fcinfo, int number, const char *what, int *count)
{
	Datum	   *texts = take_elements(fcinfo, number, what, TEXTOID, -1, false,
									  TYPALIGN_INT, count);
	char	  **words = palloc_extended(sizeof(char *) * Max(*count, 1), MCXT_ALLOC_HUGE);

	for (int i = 0; i < *count; i++)
		words[i] = TextDatumGetCString(texts[i]);
	return words;
}
