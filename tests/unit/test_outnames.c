// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Names with %t, %p and %n, and how many of their files stay. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files/outnames.h"

static void expands(const char *pattern, const char *want)
{
	char *got = outname__expand(pattern, 1794700712ll * 1000000000, 1432, 7);

	cr_expect_str_eq(got, want);
	free(got);
}

Test(outnames, patterns)
{
	setenv("TZ", "UTC", 1);
	expands("heap-%t.json", "heap-20261114T235832.json");
	expands("%p/%n-%%t.json", "1432/7-%t.json");
	expands("plain.json", "plain.json");
	cr_expect(outname__is_pattern("a%t") && outname__is_pattern("%%%n") && outname__is_pattern("%p.json"));
	cr_expect(!outname__is_pattern("a%%t") && !outname__is_pattern("a") && !outname__is_pattern("a%"));
	cr_expect(outname__is_well_formed("a%t%p%n%%") && outname__is_well_formed("a"));
	cr_expect(!outname__is_well_formed("a%") && !outname__is_well_formed("%x"));
}

static void make(struct outname_series *s, const char *path, unsigned int keep)
{
	close(open(path, O_CREAT | O_WRONLY, 0600));
	cr_assert_eq(outname_series__add(s, path, keep, NULL), 0);
}

Test(outnames, the_last_ones_stay)
{
	char dir[] = "/tmp/mt-outnames-XXXXXX";
	struct outname_series s = {};

	cr_assert(mkdtemp(dir) && !chdir(dir));
	make(&s, "1", 2);
	make(&s, "2", 2);
	/* somebody else's file under a name of ours is left alone */
	cr_assert(!unlink("1") && !close(open("other", O_CREAT | O_WRONLY, 0600)) && !rename("other", "1"));
	make(&s, "3", 2);
	cr_expect(!access("1", F_OK) && !access("2", F_OK) && !access("3", F_OK));
	make(&s, "4", 2);
	cr_expect(access("2", F_OK) && !access("3", F_OK) && !access("4", F_OK));
	/* the same name again is the same file again */
	make(&s, "4", 2);
	cr_expect(!access("3", F_OK));
	outname_series__done(&s);
	make(&s, "5", 0);
	make(&s, "6", 0);
	cr_expect(!access("5", F_OK) && !access("6", F_OK));
	outname_series__done(&s);
	cr_assert(!chdir("/"));
	cr_assert_eq(system("rm -rf /tmp/mt-outnames-??????"), 0);
}
