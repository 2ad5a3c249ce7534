// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing: looks names up in tables of others. */
#include "util/choices.h"

#include <stdlib.h>
#include <string.h>

const char *choices__name(const struct choices *c, unsigned int value)
{
	return value < c->n ? c->names[value] : "?";
}

bool choices__find(const struct choices *c, const char *name, unsigned int *ret)
{
	for (unsigned int i = 0; i < c->n; i++) {
		if (strcmp(c->names[i], name))
			continue;
		*ret = i;
		return true;
	}
	return false;
}

char *choices__words(const struct choices *c)
{
	size_t len = 1;
	char *words, *to;

	for (unsigned int i = 0; i < c->n; i++)
		len += strlen(c->names[i]) + 1;
	words = to = malloc(len);
	if (!words)
		return NULL;
	*to = '\0';
	for (unsigned int i = 0; i < c->n; i++)
		to = stpcpy(stpcpy(to, i ? " " : ""), c->names[i]);
	return words;
}
