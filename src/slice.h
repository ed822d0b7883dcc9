/*-------------------------------------------------------------------------
 *
 * slice.h
 *	  Cuts a JSON array or object into the texts of its members.
 *
 * The text must be valid JSON (queen.payload and json see to that), but no
 * input, valid or not, makes the scanner read outside its bytes or run on.
 * Like frame.c the file knows no server, so both are fuzzed alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_SLICE_H
#define QUEEN_SLICE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct QueenSlice
{
	const char *data;
	size_t		len;
} QueenSlice;

typedef struct QueenSlicer
{
	const char *at;
	const char *end;
	bool		failed;			/* the text was not what it had to be */
} QueenSlicer;

/* The first byte of the value, white space passed over; 0 where there is none. */
extern char queen_slice_first(QueenSlice text);

/* Starts over the elements of an array; false where text is no array. */
extern bool queen_slice_array(QueenSlicer *slicer, QueenSlice text);

/* The next element, without the white space around it; false at the end. */
extern bool queen_slice_element(QueenSlicer *slicer, QueenSlice *element);

/* Starts over the members of an object; false where text is no object. */
extern bool queen_slice_object(QueenSlicer *slicer, QueenSlice text);

/* The next member: its key as written, quotes included, and its value. */
extern bool queen_slice_member(QueenSlicer *slicer, QueenSlice *key,
							   QueenSlice *value);

/* Whether a string as written, quotes included, says name, which is ASCII. */
extern bool queen_slice_says(QueenSlice string, const char *name);

#endif							/* QUEEN_SLICE_H */
