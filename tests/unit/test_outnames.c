// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Names with %t, %p and %n, and how many of their files stay. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/outfile.h"

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
	cr_assert_eq(outname_series__add(s, path, &(struct outname_keep){ .files = keep }, NULL), 0);
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

/* Whoever owns a directory may put another one, or a link, in its place: no file is removed there. */
Test(outnames, a_directory_that_is_replaced)
{
	char dir[] = "/tmp/mt-outnames-XXXXXX";
	struct outname_series s = {};

	cr_assert(mkdtemp(dir) && !chdir(dir) && !mkdir("a", 0700) && !mkdir("victim", 0700));
	cr_assert_eq(outfile__check("a/1", NULL), 0);
	make(&s, "a/1", 1);
	cr_assert(!rename("a", "b") && !symlink("victim", "a"));
	close(open("b/2", O_CREAT | O_WRONLY, 0600));
	make(&s, "a/2", 1);
	cr_expect(access("b/1", F_OK) && !access("b/2", F_OK));
	close(open("b/3", O_CREAT | O_WRONLY, 0600));
	make(&s, "a/3", 1);
	cr_expect(access("b/2", F_OK) && !access("b/3", F_OK));
	cr_expect(!access("victim/2", F_OK) && !access("victim/3", F_OK), "files of another directory");
	outname_series__done(&s);
	cr_assert(!chdir("/"));
	cr_assert_eq(system("rm -rf /tmp/mt-outnames-??????"), 0);
}

static void make_of_size(struct outname_series *s, const char *path, size_t size, uint64_t keep)
{
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	cr_assert(fd >= 0 && !ftruncate(fd, (off_t)size) && !close(fd));
	cr_assert_eq(outname_series__add(s, path, &(struct outname_keep){ .bytes = keep }, NULL), 0);
}

Test(outnames, no_more_than_so_many_bytes)
{
	char dir[] = "/tmp/mt-outnames-XXXXXX";
	struct outname_series s = {};

	cr_assert(mkdtemp(dir) && !chdir(dir));
	make_of_size(&s, "1", 400, 1000);
	make_of_size(&s, "2", 600, 1000);
	cr_expect(!access("1", F_OK) && !access("2", F_OK));
	make_of_size(&s, "3", 1, 1000);
	cr_expect(access("1", F_OK) && !access("2", F_OK) && !access("3", F_OK));
	/* one alone that has more is the last one, which stays */
	make_of_size(&s, "4", 5000, 1000);
	cr_expect(access("2", F_OK) && access("3", F_OK) && !access("4", F_OK));
	make_of_size(&s, "5", 10, 1000);
	cr_expect(access("4", F_OK) && !access("5", F_OK));
	outname_series__done(&s);
	cr_assert(!unlink("5") && !chdir("/") && !rmdir(dir));
}

Test(outnames, names_of_a_pattern)
{
	cr_expect(outname__matches("heap-%t.json", "heap-20261114T235832.json"));
	cr_expect(outname__matches("heap-%t.json", "heap-20261114T235832.17.json"));
	cr_expect(outname__matches("%n%p-%t.json", "71432-20261114T235832.json"));
	cr_expect(outname__matches("100%%-%t.pb.gz", "100%-20261114T235832.pb.gz"));
	cr_expect(outname__matches("100%%-%t.pb.gz", "100%-20261114T235832.3.pb.gz"));
	cr_expect(!outname__matches("heap-%t.json", "heap-20261114T235832.json.orig"));
	cr_expect(!outname__matches("heap-%t.json", "heap-20261114T235832.old.json"));
	cr_expect(!outname__matches("heap-%t.json", "heap-2026.json"));
	cr_expect(!outname__matches("heap-%t.json", "heap-.json"));
	cr_expect(!outname__matches("%n.json", ".json"));
	cr_expect(!outname__matches("%n.json", ""));
	cr_expect(!outname__matches("heap-%t.json", "xheap-20261114T235832.json"));
}

/* Those of earlier runs go first, and nothing else goes. */
Test(outnames, files_of_earlier_runs)
{
	char dir[] = "/tmp/mt-outnames-XXXXXX";
	struct outname_series s = {};

	cr_assert(mkdtemp(dir) && !chdir(dir));
	close(open("a-20261114T235832.json", O_CREAT | O_WRONLY, 0600));
	close(open("a-20261114T235833.txt", O_CREAT | O_WRONLY, 0600));
	close(open("notes.json", O_CREAT | O_WRONLY, 0600));
	cr_assert(!symlink("notes.json", "a-20261114T235834.json"));
	outname_series__find(&s, "a-%t.json");
	cr_expect_eq(s.files.n, 1);
	make(&s, "a-20261115T000000.json", 1);
	cr_expect(access("a-20261114T235832.json", F_OK) && !access("a-20261114T235833.txt", F_OK) && !access("notes.json", F_OK) &&
		  !access("a-20261114T235834.json", F_OK) && !access("a-20261115T000000.json", F_OK));
	outname_series__done(&s);
	/* a directory that is not there has none */
	outname_series__find(&s, "nowhere/a-%t.json");
	cr_expect_eq(s.files.n, 0);
	outname_series__done(&s);
	cr_assert(!chdir("/"));
}
