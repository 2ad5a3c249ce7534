// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing. What always holds: names have no control characters, so none can be taken for a number's mark. */
#include "util/numbered.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define NUMBER '\1'

static size_t n_digits(const char *s)
{
	size_t n = 0;

	while (isdigit((unsigned char)s[n]))
		n++;
	return n;
}

/* "worker-17" → "worker-" NUMBER, in as many bytes or fewer */
char *numbered__pattern(const char *name)
{
	char *ret = strdup(name), *to = ret;

	while (ret && *name) {
		size_t n = n_digits(name);

		*to++ = n ? NUMBER : *name;
		name += n ? n : 1;
	}
	if (ret)
		*to = 0;
	return ret;
}

void numbered__add(char *sum, const char *name)
{
	char *to = sum;

	while (*sum && *name) {
		size_t a = *sum == NUMBER ? 1 : n_digits(sum), b = n_digits(name);
		bool same = a == b && !memcmp(sum, name, a);

		if (!a || !b) {
			*to++ = *sum++;
			name++;
			continue;
		}
		if (same) {
			memmove(to, sum, a);
			to += a;
		} else {
			*to++ = NUMBER;
		}
		sum += a;
		name += b;
	}
	*to = 0;
}

void numbered__end(char *sum)
{
	for (; *sum; sum++)
		if (*sum == NUMBER)
			*sum = '*';
}
