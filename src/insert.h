/*-------------------------------------------------------------------------
 *
 * insert.h
 *	  Inserts one row, without a statement where that does the same.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_INSERT_H
#define QUEEN_INSERT_H

#include "statement.h"

/* A table, and the statement whose parameters are its columns, all in their order. */
typedef struct QueenInsert
{
	const char *table;
	QueenStatement statement;
} QueenInsert;

extern void queen_insert(QueenInsert *insert, const QueenParameters *row);

#endif							/* QUEEN_INSERT_H */
