// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What blocks are: each one's class or content, compared with what the fixture wrote down. */
#include "lt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the lines "ADDRESS USABLE NAME" of a ledger are to the tool, by `name_of`; the addresses must be the same. */
static void want_kinds(struct test *t, const char *file, const char *got, const char *(*name_of)(const char *name))
{
	FILE *f = fopen(file, "r");
	unsigned int n = 0, n_wrong = 0;
	char *line = NULL;
	size_t room = 0;

	must(t, f, "no ledger %s", file);
	while (getline(&line, &room, f) > 0) {
		const char *name, *end = strchrnul(got, '\n');
		char *want_line = NULL;

		line[strcspn(line, "\n")] = 0;
		name = strchr(strchr(line, ' ') + 1, ' ') + 1;
		if (asprintf(&want_line, "%.*s %s", (int)strcspn(line, " "), line, name_of ? name_of(name) : name) < 0)
			abort();
		if ((strlen(want_line) != (size_t)(end - got) || strncmp(got, want_line, (size_t)(end - got))) && n_wrong++ < 5)
			want(t, false, "wanted '%s', got '%.*s'", want_line, (int)(end - got), got);
		free(want_line);
		got = *end ? end + 1 : end;
		n++;
	}
	want_eq(t, "lines that differ", 0, n_wrong);
	want(t, n >= 1719, "only %u blocks", n);
	want(t, !*got, "there is more than was asked for: %s", got);
	free(line);
	fclose(f);
}

static uint64_t rss_pages(pid_t pid)
{
	char path[64];
	unsigned long size, rss = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	f = fopen(path, "r");
	if (f && fscanf(f, "%lu %lu", &size, &rss) != 2)
		rss = 0;
	if (f)
		fclose(f);
	return rss;
}

static void kinds_of(struct test *t, const char *name, const char *(*name_of)(const char *name))
{
	const char *file = in_dir(t, "ledger");
	struct child c;
	uint64_t before;
	struct fx f;

	fx__start(t, &f, name, file, NULL);
	before = rss_pages(f.c.pid);
	child__start(t, &c, &(struct spawn){ .argv = { fixture("heap-tool"), "kinds", pid_arg(f.c.pid), file } });
	want_eq(t, "exit status", 0, (uint64_t)child__wait(t, &c));
	/* pages that the process did not have before, it does not have because of us */
	want(t, rss_pages(f.c.pid) <= before, "%" PRIu64 " resident pages, %" PRIu64 " before", rss_pages(f.c.pid), before);
	want_kinds(t, file, c.outs.s, name_of);
	fx__quit(t, &f);
}

TEST(kinds_by_typeinfo)
{
	kinds_of(t, "kinds", NULL);
}

TEST(kinds_stripped)
{
	kinds_of(t, "kinds.stripped", NULL);
}

TEST(kinds_static)
{
	kinds_of(t, "kinds.static", NULL);
}

TEST(kinds_no_pie)
{
	kinds_of(t, "kinds.nopie", NULL);
}

TEST(kinds_by_symbols)
{
	kinds_of(t, "kinds.nortti", NULL);
}

/* Nothing names the program's own classes; libstdc++ has type information whatever programs are built with. */
static const char *without_names(const char *name)
{
	return !strncmp(name, "app::", 5) || !strncmp(name, "classes()", 9) || !strncmp(name, "std::_Sp", 8) ? "pointers" : name;
}

TEST(kinds_without_names)
{
	kinds_of(t, "kinds.nortti-stripped", without_names);
}
