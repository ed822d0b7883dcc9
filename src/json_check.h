/*-------------------------------------------------------------------------
 *
 * json_check.h
 *	  Tells quickly that a text is JSON.
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUEEN_JSON_CHECK_H
#define QUEEN_JSON_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/* True: the text is JSON. False: ask the server. */
extern bool queen_json_is_valid(const char *data, size_t len);

#endif							/* QUEEN_JSON_CHECK_H */
