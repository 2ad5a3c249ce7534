/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* An enum whose values have names: options take them, files and messages have them. */
#ifndef MT_CHOICES_H
#define MT_CHOICES_H

#include <stdbool.h>
#include <stddef.h>

struct choices {
	const char *const *names;	/* by value, from 0 on */
	unsigned int n;
};

/* "?" for what is no value. */
const char *choices__name(const struct choices *c, unsigned int value);
/* False: no value has this name; *ret untouched then. */
bool choices__find(const struct choices *c, const char *name, unsigned int *ret);
/* "full count growth", to be freed; NULL without memory */
char *choices__words(const struct choices *c);

#endif
