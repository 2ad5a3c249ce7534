// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing: looks for numbers in texts, which stay the caller's. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench/text.h"

int text__number(const char *text, const char *part, const char *key, uint64_t *ret)
{
	const char *at = strstr(text, part);

	at = at ? strstr(at, key) : NULL;
	return at && sscanf(at + strlen(key), " %" SCNu64, ret) == 1 ? 0 : -ENOENT;
}

int text__compare(const char *what, uint64_t got, uint64_t want, struct err *e)
{
	return got == want ? 0 : err_set(e, -EBADMSG, "%s %" PRIu64 ", not %" PRIu64, what, got, want);
}

uint64_t text__count(const char *text, const char *word)
{
	uint64_t n = 0;

	while ((text = strstr(text, word))) {
		text += strlen(word);
		n++;
	}
	return n;
}
