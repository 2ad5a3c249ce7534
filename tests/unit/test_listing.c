// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Source lines: which are read, which are charged with what, and how a report shows them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "golden.h"
#include "model/filter.h"
#include "names/source.h"
#include "present/frames.h"
#include "present/text/report.h"
#include "top_made.h"
#include "util/util.h"

static char dir[] = "/tmp/malloctrace-listing-XXXXXX";

static void begin(void)
{
	setenv("TZ", "UTC", 1);
	unsetenv("SUDO_UID");
	cr_assert(mkdtemp(dir));
	chmod(dir, 0755);
}

static void end(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/a.c", dir);
	unlink(path);
	rmdir(dir);
}

TestSuite(listing, .init = begin, .fini = end);

static void write_source(mode_t mode, const char *first)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/a.c", dir);
	unlink(path);
	f = fopen(path, "w");
	cr_assert(f);
	fprintf(f, "%s\n", first);
	for (int i = 2; i <= 40; i++)
		fprintf(f, "%sline %d;%s\n", i > 10 ? "\t" : "", i, i == 12 ? "\033[31m\r" : "");
	fclose(f);
	chmod(path, mode);
}

/*
 * f(12) allocates itself (10 blocks); f(14) calls g, which allocates (3 blocks); f(20) calls f(12), recursion (5 blocks);
 * f(20) twice on one stack (7 blocks).
 */
static struct snapshot *made(void)
{
	static const struct line f12 = { "f", "a.c", 12, false, dir }, f14 = { "f", "a.c", 14, false, dir },
				 f20 = { "f", "a.c", 20, false, dir }, g = { "g", "b.c", 3, false, dir }, f_else = { "f", "else.c", 12, false, dir };
	static struct place places[] = { { .resolved = true, .n_lines = 1, .lines = &f12, .module = -1 }, { .resolved = true, .n_lines = 1, .lines = &f14, .module = -1 },
					 { .resolved = true, .n_lines = 1, .lines = &f20, .module = -1 }, { .resolved = true, .n_lines = 1, .lines = &g, .module = -1 },
					 { .resolved = true, .n_lines = 1, .lines = &f_else, .module = -1 } };
	static const uint32_t stacks[][3] = { { 0 }, { 3, 1 }, { 0, 2 }, { 3, 2, 2 }, { 4 } };
	static const uint32_t n_stack[] = { 1, 2, 2, 3, 1 };
	static const uint64_t blocks[] = { 10, 3, 5, 7, 100 };
	static const struct snap_process process = { .id = 1, .pid = 7, .comm = "prog", .exe = "/prog" };
	struct snapshot *s = snapshot__new();

	s->version = s->kernel = s->arch = "";
	s->known = HAS_ALL;
	s->observed_share = 1;
	s->recording.max_size = UINT64_MAX;
	s->duration_ns = 1000000000;
	s->by = "process";
	s->processes = &process;
	s->n_processes = 1;
	s->places = places;
	s->n_places = ARRAY_SIZE(places);
	s->n_sites = ARRAY_SIZE(stacks);
	s->sites = snapshot__alloc(s, s->n_sites, sizeof(*s->sites));
	for (size_t i = 0; i < s->n_sites; i++)
		s->sites[i] = (struct snap_site){ .function = "malloc", .stack = stacks[i], .n_stack = n_stack[i],
						  .c = { .alloc_calls = blocks[i], .live_blocks = blocks[i], .live_bytes = 100 * blocks[i], .alloc_bytes = 100 * blocks[i] } };
	return s;
}

Test(listing, charges)
{
	static const struct line f = { "f", "a.c", 14, false, dir };
	static const struct { uint32_t line; uint64_t blocks; } want[] = { { 12, 15 }, { 14, 3 }, { 20, 12 } };
	struct snapshot *s = made();
	struct listing l;

	listing__init(&l, s, &f, 4, NULL, NULL);
	cr_assert_eq(l.n, ARRAY_SIZE(want), "lines without text, but for those with calls: %zu", l.n);
	for (size_t i = 0; i < l.n; i++) {
		cr_expect_eq(l.v[i].number, want[i].line);
		cr_expect_eq(l.v[i].c.live_blocks, want[i].blocks, "line %u: %lu", l.v[i].number, (unsigned long)l.v[i].c.live_blocks);
		cr_expect_null(l.v[i].text);
	}
	cr_expect_eq(l.sum.live_blocks, 25, "each stack once: %lu", (unsigned long)l.sum.live_blocks);
	cr_expect_not(l.has_text);
	listing__done(&l);
	snapshot__free(s);
}

Test(listing, reads)
{
	static const struct line f = { "f", "a.c", 14, false, dir };
	struct snapshot *s = made();
	struct sources_read got;
	struct listing l;

	write_source(0644, "first");
	sources__read(s, 4, &got);
	cr_expect_eq(got.n_files, 3);
	cr_expect_eq(got.n_missing, 2, "b.c and else.c are not there: %zu", got.n_missing);
	listing__init(&l, s, &f, 4, NULL, NULL);
	cr_assert_eq(l.n, 17, "8 to 24, got %zu", l.n);
	cr_expect_eq(l.v[0].number, 8);
	cr_expect_str_eq(l.v[0].text, "line 8;");
	cr_expect_str_eq(l.v[16].text, "    line 24;");
	cr_expect_str_eq(l.v[4].text, "    line 12;?[31m", "clean, tabs as spaces: '%s'", l.v[4].text);
	/* once more: what is there is not read again */
	sources__read(s, 4, &got);
	cr_expect_eq(got.n_files, 2);
	listing__done(&l);
	snapshot__free(s);
}

static size_t n_read(const struct snapshot *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_sources; i++)
		n += s->sources[i].n > 0;
	return n;
}

/* A target names the files: what is not everybody's to read is not shown, to root neither. */
Test(listing, secrets)
{
	struct snapshot *s = made();
	struct sources_read got;

	if (geteuid())
		cr_skip_test("only root may read what is another's");
	write_source(0600, "secret");
	sources__read(s, 4, &got);
	cr_expect_eq(got.n_missing, 3);
	cr_expect_eq(n_read(s), 0);
	cr_expect_str_eq(got.why, "not everybody may read it");
	/* under sudo, what its user may not reach is not shown either, whatever its own mode is */
	write_source(0644, "secret");
	chmod(dir, 0700);
	setenv("SUDO_UID", "65534", 1);
	sources__read(s, 4, &got);
	cr_expect_eq(n_read(s), 0);
	cr_expect_str_eq(got.why, "Permission denied");
	chmod(dir, 0755);
	sources__read(s, 4, &got);
	cr_expect_eq(n_read(s), 1);
	snapshot__free(s);
}

/* What is no source by its name, or no file, is not even opened. */
Test(listing, other_files)
{
	struct line passwords = { "f", "/etc/passwd", 1, false, NULL }, device = { "f", dir, 1, false, NULL };
	struct source_file *f = source_file__read(&passwords, NULL);
	char path[128];

	cr_expect_str_eq(f->why, "no source file by its name");
	source_file__free(f);
	snprintf(path, sizeof(path), "%s/a.c", dir);
	unlink(path);
	cr_assert_eq(symlink("/dev/zero", path), 0);
	device.file = path;
	f = source_file__read(&device, NULL);
	cr_expect_str_eq(f->why, "No such file or directory");
	source_file__free(f);
}

/* A profile of another machine: a file of the same name is another one here. */
Test(listing, elsewhere)
{
	struct snapshot *s = made();
	struct sources_read got;

	write_source(0644, "first");
	s->host = "some-other-machine";
	sources__read(s, 4, &got);
	cr_expect(got.elsewhere);
	cr_expect_eq(n_read(s), 0);
	snapshot__free(s);
}

Test(listing, looks)
{
	struct filter only = {};
	struct snapshot *s = made();
	struct sources_read got;
	_cleanup_free_ char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	write_source(0644, "first");
	sources__read(s, 4, &got);
	cr_assert_eq(filter__init(&only, "^f$", NULL, NULL, NULL), 0);
	cr_assert_eq(report__write(out, s, &(struct report_opts){ .views = VIEW_SOURCE, .filter = &only }), 0);
	fclose(out);
	/* where it lies is not what it looks like */
	for (char *at; (at = strstr(text, dir));)
		memcpy(at, "/tmp/malloctrace-listing-......", strlen(dir));
	golden__check("report-source-80.txt", text, len);
	filter__done(&only);
	snapshot__free(s);
}

/* The live view: Enter on a frame asks for its file; the line of the frame is in sight, and stays so. */
Test(listing, on_the_screen)
{
	const char *lines[7300], *module;
	const struct snap_source text = { .file = "/build/redis-7.0.15/src/server.c", .from = 1, .n = 7300, .text = lines };
	struct top *t = made__top(SAMPLE_SINGLE);
	struct grid g = {};
	struct line of;

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		lines[i] = i + 1 == 3560 ? "c->cmd->proc(c);" : i + 1 == 3561 ? "after" : "";
	grid__resize(&g, 24, 80);
	top__draw(t, &g);
	cr_assert_eq(made__type(t, &g, "1\n"), TOP_NONE);
	cr_assert_eq(made__type(t, &g, "jjj\n"), TOP_SOURCE);
	of = top__source_of(t, &module);
	cr_expect_str_eq(of.function, "call");
	cr_expect_eq(of.line, 3560);
	cr_expect_str_eq(module, "/usr/bin/redis-server");
	top__give_source(t, NULL, "/build/redis-7.0.15/src/server.c", "No such file or directory");
	top__draw(t, &g);
	cr_expect(made__says(&g, "No source: /build/redis-7.0.15/src/server.c: No such file or directory"));
	cr_expect(made__says(&g, "3560"), "its figures all the same");
	top__give_source(t, &text, text.file, NULL);
	top__draw(t, &g);
	cr_expect(made__says(&g, "c->cmd->proc(c);") && made__says(&g, "37.0 MiB"));
	/* another snapshot, and a line further */
	top__update(t, made__sample(SAMPLE_SINGLE, 0));
	cr_assert_eq(made__type(t, &g, "j"), TOP_NONE);
	cr_expect(made__says(&g, "after"));
	cr_assert_eq(made__type(t, &g, "\033"), TOP_NONE);
	cr_expect(made__says(&g, "FRAME, the allocation's caller first"), "Esc goes back to the stack");
	grid__done(&g);
	top__free(t);
}

/* The end of the file is no character. */
Test(listing, the_last_line)
{
	static const struct line last = { "f", "a.c", 40, false, dir };
	struct source_file *f;

	write_source(0644, "first");
	f = source_file__read(&last, NULL);
	cr_assert(f && !f->why);
	cr_expect_eq(f->lines.n, 40);
	cr_expect_str_eq(f->lines.text[39], "    line 40;");
	source_file__free(f);
}
