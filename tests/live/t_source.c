// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* --view source, --embed-source: lines of source files with what goes through them, exact to the call. */
#include "lt.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SOURCE "tests/fixtures/tags.c"

/* The calls that a listing has at the line with this text. */
static uint64_t calls_at(struct test *t, const char *listing, const char *text)
{
	const char *at = strstr(listing, text), *line = at;
	char figures[128], *from = figures, *to = figures;
	unsigned long long calls = 0;

	must(t, at, "'%s', wanted in\n%s", text, listing);
	while (line > listing && line[-1] != '\n')
		line--;
	snprintf(figures, sizeof(figures), "%.*s", (int)(at - line), line);
	for (; *from; from++)
		if (*from != ',')
			*to++ = *from;
	*to = '\0';
	/* "1.5 KiB  15  20  12": bytes and unit, blocks, calls, the line's number; those that are 0 are not there */
	if (sscanf(figures, " %*s %*s %*u %llu %*u", &calls) != 1 && sscanf(figures, " %llu %*u", &calls) != 1)
		must(t, false, "figures before '%s', wanted, got '%s'", text, figures);
	return calls;
}

static uint64_t note(struct test *t, const struct fx *f, const char *name)
{
	return ledger__note(t, &f->led, name);
}

static void want_listing(struct test *t, const struct fx *f, const char *text)
{
	/* handle_get allocates at two lines, as often at one as at the other */
	want_eq(t, "calls at the first line", note(t, f, "get_allocs") / 2, calls_at(t, text, "take(GET, 16 + i % 7, i % 4 == 0);"));
	want_eq(t, "calls at the second line", note(t, f, "get_allocs") / 2, calls_at(t, text, "take(GET, 32, 0);"));
}

/* The file as it is, as if it came from another machine. */
static json_t *raw_json(struct test *t, const char *path, const char *host)
{
	json_t *root = json_load_file(path, 0, NULL);

	must(t, root, "%s", path);
	json_object_set_new(json_object_get(root, "host"), "name", json_string(host));
	return root;
}

TEST(source_lines)
{
	const char *plain = in_dir(t, "plain.json"), *rich = in_dir(t, "rich.json"), *page = in_dir(t, "page.html");
	struct fx f;
	struct mt m, r;
	json_t *root;

	if (access(SOURCE, R_OK))
		skip(t, "the source of the fixture is not here");
	fx__start(t, &f, "tags", "400", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-o", plain, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	want_eq(t, "exit", 0, mt__run(t, &r, "report", plain, "--view", "source", "--filter", "^handle_get$", NULL));
	want_listing(t, &f, r.c.outs.s);
	root = load_json(t, plain);
	want(t, !jget(root, "sources"), "sources that were not asked for, wanted none");
	/* on another machine, which has no such file: the profile has it */
	want_eq(t, "exit", 0, mt__run(t, &r, "report", plain, "--embed-source", "-o", rich, "-o", page, "-q", NULL));
	root = load_json(t, rich);
	want(t, json_array_size(jget(root, "sources")) > 0, "sources, wanted, got none");
	want_invariants(t, root);
	must(t, !json_dump_file(raw_json(t, rich, "another-machine"), rich, 0), "%s", rich);
	want_eq(t, "exit", 0, mt__run(t, &r, "report", rich, "--view", "source", "--filter", "^handle_get$", NULL));
	want_listing(t, &f, r.c.outs.s);
	must(t, !json_dump_file(raw_json(t, plain, "another-machine"), plain, 0), "%s", plain);
	want_eq(t, "exit", 0, mt__run(t, &r, "report", plain, "--view", "source", "--filter", "^handle_get$", NULL));
	want(t, strstr(r.c.outs.s, "recorded on another") && !strstr(r.c.outs.s, "take(GET"), "no source of another machine, wanted, got\n%s", r.c.outs.s);
	fx__quit(t, &f);
}
