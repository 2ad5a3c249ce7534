/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Command lines as they are typed, for tests of the options. */
#ifndef MT_TEST_OPTS_LINE_H
#define MT_TEST_OPTS_LINE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "options/opts.h"
#include "util/util.h"

#define MAX_ARGS 80

static char *words[MAX_ARGS + 1];
static char line_copy[512];

/* A line split at blanks, with a leading "malloctrace"; '' is an empty word. */
static inline int split(const char *line)
{
	char *rest = line_copy, *w;
	int n = 0;

	snprintf(line_copy, sizeof(line_copy), "%s", line);
	words[n++] = (char *)"malloctrace";
	while ((w = strsep(&rest, " ")) && n < MAX_ARGS) {
		if (*w)
			words[n++] = strcmp(w, "''") ? w : w + 2;
	}
	words[n] = NULL;
	return n;
}

static inline void parse(struct opts *o, const char *line)
{
	_cleanup_err_ struct err e = {};
	int err = opts__parse(o, split(line), words, &e);

	cr_assert_eq(err, 0, "%s: %s", line, err_msg(&e));
}

#endif
