/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* JSON cut into pieces: where a value ends, by its quotes and brackets, and nothing more about it. */
#ifndef MT_JSON_CUT_H
#define MT_JSON_CUT_H

#include <stdbool.h>
#include <stddef.h>

struct span {
	const char *at, *end;
};

void span__skip_space(struct span *s);
/* After c, if that comes next. */
bool span__take(struct span *s, char c);
/* The value at s, whatever it is; false: it does not end. */
bool span__value(struct span *s, struct span *ret);
/* The next element of an array whose '[' was taken. False: there is none; *ret_bad: there should be one. */
bool span__element(struct span *s, bool *first, struct span *ret, bool *ret_bad);

#endif
