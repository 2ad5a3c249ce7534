// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the comparison with golden files. What always holds: without MT_GOLDEN=renew, none is written. */
#include "golden.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "util/util.h"

static void put(const char *path, const char *text, size_t len)
{
	FILE *f = fopen(path, "w");

	cr_assert(f, "%s cannot be written", path);
	fwrite(text, 1, len, f);
	cr_assert(!fclose(f), "%s cannot be written", path);
}

static int line_of_difference(const char *a, const char *b)
{
	int line = 1;

	for (; *a && *a == *b; a++, b++)
		line += *a == '\n';
	return line;
}

void golden__check(const char *name, const char *text, size_t len)
{
	const char *src = getenv("MT_SRC"), *renew = getenv("MT_GOLDEN");
	_cleanup_free_ char *path = NULL, *want = NULL, *seen = NULL;
	size_t want_len = 0;

	cr_assert(asprintf(&path, "%s/tests/golden/%s", src ? src : ".", name) > 0);
	if (renew && !strcmp(renew, "renew")) {
		put(path, text, len);
		return;
	}
	cr_assert(!read_small_file(path, &want, &want_len), "%s cannot be read; MT_GOLDEN=renew makes it", path);
	if (len == want_len && !memcmp(want, text, len))
		return;
	cr_assert(asprintf(&seen, "/tmp/malloctrace-golden-%d-%s", getpid(), name) > 0);
	put(seen, text, len);
	cr_assert(false, "%s: line %d is another; compare with %s", path, line_of_difference(want, text), seen);
}
