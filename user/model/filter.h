/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* --filter, --hide and --suppressions: a snapshot in, another one with fewer sites out. */
#ifndef MT_FILTER_H
#define MT_FILTER_H

#include <regex.h>
#include <stdbool.h>

#include "model/snapshot.h"
#include "util/err.h"
#include "util/util.h"

struct filter {
	bool has_only, has_hide;
	regex_t only, hide;	/* --filter, --hide: POSIX extended */
	struct vec(char *) suppressions;	/* patterns of leak: lines; owned */
	bool has_suppressions;
};

/*
 * NULL: not given. What is matched is a frame's function, its source file and
 * its module, and the allocation function: a stack matches if any of them does.
 * A suppression is LeakSanitizer's: a part of the name, in which * stands for
 * anything, ^ for its beginning and $ for its end.
 *
 * -EINVAL: no regular expression, or the file has a line that is none of these.
 */
int filter__init(struct filter *f, const char *only, const char *hide, const char *suppressions, struct err *e);
void filter__done(struct filter *f);
bool filter__names(const struct filter *f, const char *name);	/* does --filter match the name itself? */
bool filter__any(const struct filter *f);	/* is there anything to do? */
int filter__check_regex(const char *option, const char *regex, struct err *e);

/*
 * A snapshot without the sites that are hidden, which snapshot.hidden counts;
 * totals and processes are as they were. Names must be known. All but the sites
 * remains that of s, which must outlive it.
 */
struct snapshot *snapshot__filter(const struct snapshot *s, const struct filter *f);

/* For tests: does LeakSanitizer's pattern match? */
bool suppression__matches(const char *pattern, const char *name);

#endif
