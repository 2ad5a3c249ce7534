// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* All resident memory of a process, row by row, compared with what the fixture touched and with the kernel's own sum. */
#include "lt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB (1ull << 20)

struct part {
	char kind[16], name[256], module[256];
	uint64_t mapped, resident, swapped, deepest;
	int tid;
};

struct parts {
	struct fx f;
	uint64_t page, rss, walked;
	struct part v[512];
	size_t n;
};

static void parse(struct test *t, struct parts *p, const char *text)
{
	must(t, sscanf(text, "rss %" SCNu64, &p->rss) == 1, "no sum: %.200s", text);
	for (const char *line = text; (line = strchr(line, '\n')) && *++line;) {
		struct part *one = &p->v[p->n];

		one->module[0] = 0;
		if (sscanf(line, "%15[^\t\n]\t%d\t%" SCNu64 "\t%" SCNu64 "\t%" SCNu64 "\t%" SCNu64 "\t%255[^\t]\t%255[^\n]", one->kind,
			   &one->tid, &one->mapped, &one->resident, &one->swapped, &one->deepest, one->name, one->module) >= 7)
			p->n++;
		must(t, p->n < 512, "more rows than anybody wants");
	}
}

/* The row of this name; there is one. */
static const struct part *part(struct test *t, const struct parts *p, const char *kind, const char *name)
{
	const struct part *found = NULL;
	unsigned int n = 0;

	for (size_t i = 0; i < p->n; i++)
		if (!strcmp(p->v[i].kind, kind) && !strcmp(p->v[i].name, name)) {
			found = &p->v[i];
			n++;
		}
	must(t, found, "no row %s %s", kind, name);
	want(t, n == 1, "%u rows %s %s", n, kind, name);
	return found;
}

static void want_part(struct test *t, const struct parts *p, const char *kind, const char *name, uint64_t mapped, uint64_t resident)
{
	const struct part *one = part(t, p, kind, name);
	char what[300];

	snprintf(what, sizeof(what), "mapped bytes of %s %s", kind, name);
	want_eq(t, what, mapped, one->mapped);
	snprintf(what, sizeof(what), "resident bytes of %s %s", kind, name);
	want_eq(t, what, resident, one->resident);
}

static void want_stack(struct test *t, const struct parts *p, const char *thread)
{
	char key[64], name[64];
	const struct part *one;

	snprintf(name, sizeof(name), "parts-%s", thread);
	one = part(t, p, "stack", name);
	snprintf(key, sizeof(key), "%s_tid", thread);
	want_eq(t, key, ledger__note(t, &p->f.led, key), (uint64_t)one->tid);
	snprintf(key, sizeof(key), "%s_resident", thread);
	want_eq(t, key, ledger__note(t, &p->f.led, key), one->resident);
	snprintf(key, sizeof(key), "%s_deepest", thread);
	want_eq(t, key, ledger__note(t, &p->f.led, key), one->deepest);
}

/* What the kernel finds when it walks through all of the memory itself. */
static uint64_t walked_rss(struct test *t, pid_t pid)
{
	char path[64];
	uint64_t kib = 0;
	char *text;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	text = read_all(path, NULL);
	must(t, text && strstr(text, "\nRss:") && sscanf(strstr(text, "\nRss:"), "\nRss: %" SCNu64, &kib) == 1, "%s cannot be read", path);
	free(text);
	return kib * 1024;
}

/* To the last page. Before 6.17 the kernel's count lags behind: what it has too much is a row of its own. */
static void want_sum(struct test *t, const struct parts *p)
{
	uint64_t sum = 0, more = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (!strcmp(p->v[i].name, "(counted by the kernel, found in no mapping)"))
			more = p->v[i].resident;
		sum += p->v[i].resident;
	}
	want_eq(t, "sum of all rows", p->rss, sum);
	want_eq(t, "resident memory, by the kernel's own walk", p->walked, sum - more);
}

static struct spawn as_root;	/* and all else as it is */

static void look_as(struct test *t, struct parts *p, const char *how, const char *fixture_name, const char *spin, struct spawn s)
{
	const char *file = in_dir(t, "mapped");
	struct child c;
	FILE *f = fopen(file, "w");

	must(t, f && !fseek(f, MIB - 1, SEEK_SET) && fputc(1, f) != EOF && !fclose(f), "%s cannot be written", file);
	memset(p, 0, sizeof(*p));
	chmod(file, 0666);
	s.argv[0] = fixture(fixture_name);
	s.argv[1] = file;
	s.argv[2] = spin;
	fx__start_as(t, &p->f, &s);
	fx__go(t, &p->f);
	p->page = ledger__note(t, &p->f.led, "page");
	s.argv[0] = fixture("heap-tool");
	s.argv[1] = "parts";
	s.argv[2] = pid_arg(p->f.c.pid);
	s.argv[3] = how;
	/* where memory is short the kernel takes pages of files back: then it is done once more */
	do {
		p->n = 0;
		p->walked = walked_rss(t, p->f.c.pid);
		child__start(t, &c, &s);
		must(t, !child__wait(t, &c), "heap-tool failed: %s", c.errs.s);
		parse(t, p, c.outs.s);
	} while (p->walked != walked_rss(t, p->f.c.pid));
	want_sum(t, p);
}

static void look(struct test *t, struct parts *p, const char *how, const char *fixture_name, const char *spin)
{
	look_as(t, p, how, fixture_name, spin, as_root);
}

static void want_mappings(struct test *t, const struct parts *p)
{
	char name[64];

	snprintf(name, sizeof(name), "at 0x%" PRIx64, ledger__note(t, &p->f.led, "anon"));
	/* 50 more were read and never written */
	want_part(t, p, "anonymous", name, 5 * MIB, 77 * p->page);
	want_part(t, p, "shared", "/memfd:parts", 2 * MIB, 100 * p->page);
	want_part(t, p, "shared", "(anonymous, shared)", MIB, 20 * p->page);
	want_part(t, p, "shared", "/SYSV00000000", MIB, 10 * p->page);
	want_part(t, p, "file", in_dir((struct test *)t, "mapped"), MIB, MIB);
	want_eq(t, "touched, then not to be touched any more", 3 * p->page, part(t, p, "anonymous", "(reserved, no access)")->resident);
}

static void want_variables(struct test *t, const struct parts *p, const char *file)
{
	want_part(t, p, "global", "parts_bss", 3 * MIB, 200 * p->page);
	want_part(t, p, "global", "parts_local", 2 * MIB, 60 * p->page);
	want_part(t, p, "global", "parts_data", MIB, MIB);
	want_part(t, p, "global", "parts_small", 1000, 1000);
	want(t, !strcmp(part(t, p, "global", "parts_bss")->module, fixture(file)), "in %s", part(t, p, "global", "parts_bss")->module);
}

TEST(parts_add_up)
{
	struct parts p;

	look(t, &p, "census", "parts", NULL);
	want_variables(t, &p, "parts");
	want_mappings(t, &p);
	want_stack(t, &p, "deep");
	want_stack(t, &p, "flat");
	part(t, &p, "stack", "parts-main");
	part(t, &p, "tls", "parts-main");
	want_eq(t, "the stack of the thread that ended", MIB, part(t, &p, "stack", "(kept for new threads)")->mapped);
	want(t, part(t, &p, "heap", "(arenas and large blocks)")->resident > 100 * p.page, "a block of 100 touched pages");
	fx__quit(t, &p.f);
}

/* Nothing tells the allocator's memory from other anonymous memory then. */
TEST(parts_without_a_census)
{
	struct parts p;

	look(t, &p, NULL, "parts", NULL);
	want_variables(t, &p, "parts");
	want_mappings(t, &p);
	for (size_t i = 0; i < p.n; i++)
		want(t, strcmp(p.v[i].kind, "heap") || !strcmp(p.v[i].name, "[heap]"), "heap %s", p.v[i].name);
	fx__quit(t, &p.f);
}

/* /proc does not know where its stack pointer is. */
TEST(parts_of_a_thread_that_spins)
{
	struct parts p;

	look(t, &p, NULL, "parts", "spin");
	want_stack(t, &p, "deep");
	want_stack(t, &p, "spin");
	fx__quit(t, &p.f);
}

TEST(parts_stripped)
{
	struct parts p;
	const struct part *data = NULL;

	look(t, &p, NULL, "parts.stripped", NULL);
	want_mappings(t, &p);
	want_stack(t, &p, "deep");
	for (size_t i = 0; i < p.n; i++)
		if (!strcmp(p.v[i].name, "(data)") && !strcmp(p.v[i].module, fixture("parts.stripped")))
			data = &p.v[i];
	want(t, data && data->resident >= 260 * p.page + MIB && data->mapped >= 6 * MIB, "its data");
	fx__quit(t, &p.f);
}

TEST(parts_static)
{
	struct parts p;

	look(t, &p, "census", "parts.static", NULL);
	want_variables(t, &p, "parts.static");
	want_mappings(t, &p);
	want_stack(t, &p, "deep");
	want_stack(t, &p, "flat");
	fx__quit(t, &p.f);
}

/* Another C library, whose descriptors of threads are others: what is above a guard is the stack. */
TEST(parts_musl)
{
	struct parts p;

	if (!fixture_there("parts.musl"))
		skip(t, "no musl-gcc here");
	look(t, &p, NULL, "parts.musl", NULL);
	want_variables(t, &p, "parts.musl");
	want_mappings(t, &p);
	part(t, &p, "stack", "parts-deep");
	part(t, &p, "stack", "parts-flat");
	fx__quit(t, &p.f);
}

/* Whose an address is. */
static void want_roots(struct test *t, const char *name)
{
	const struct {
		const char *key, *wanted;
	} roots[] = {
		{ "bss", "global\tparts_bss\t" }, { "local", "global\tparts_local\t" },
		{ "main_stack", "stack\tparts-main\t" }, { "deep_stack", "stack\tparts-deep\t" },
		{ "main_tls", "thread\tparts-main\t" }, { "deep_tls", "thread\tparts-deep\t" },
		{ "anon", "mapping\tanonymous memory\t" }, { "memfd", "mapping\t/memfd:parts\t" },
	};
	struct spawn s = { .argv = { fixture("heap-tool"), "roots" } };
	char args[16][32], wanted[512];
	size_t n = sizeof(roots) / sizeof(*roots);
	const char *at;
	struct parts p;
	struct child c;

	look(t, &p, NULL, name, NULL);
	s.argv[2] = pid_arg(p.f.c.pid);
	for (size_t i = 0; i < n; i++) {
		snprintf(args[i], sizeof(args[i]), "%" PRIx64, ledger__note(t, &p.f.led, roots[i].key));
		s.argv[3 + i] = args[i];
	}
	/* a register of a thread */
	snprintf(args[n], sizeof(args[n]), "0:%" PRIu64, ledger__note(t, &p.f.led, "flat_tid"));
	s.argv[3 + n] = args[n];
	child__start(t, &c, &s);
	must(t, !child__wait(t, &c), "heap-tool failed: %s", c.errs.s);
	at = c.outs.s;
	for (size_t i = 0; i <= n; i++) {
		size_t len = strcspn(at, "\n");

		if (i == n)
			snprintf(wanted, sizeof(wanted), "thread\tparts-flat\t");
		else
			snprintf(wanted, sizeof(wanted), "%s%s", roots[i].wanted, strncmp(roots[i].wanted, "global", 6) ? "" : fixture(name));
		want(t, len == strlen(wanted) && !strncmp(at, wanted, len), "%s: wanted '%s', got '%.*s'", i < n ? roots[i].key : "register",
		     wanted, (int)len, at);
		at += len + !!at[len];
	}
	fx__quit(t, &p.f);
}

TEST(parts_name_roots)
{
	want_roots(t, "parts");
}

TEST(parts_name_roots_of_a_static_program)
{
	want_roots(t, "parts.static");
}

/* Kernels before 6.7 have each page's word alone. */
TEST(parts_by_words)
{
	struct parts p;

	look_as(t, &p, "census", "parts", NULL, (struct spawn){ .env = { "MALLOCTRACE_PAGES=words" } });
	want_variables(t, &p, "parts");
	want_mappings(t, &p);
	want_stack(t, &p, "deep");
	fx__quit(t, &p.f);
}

/* Who is not root is not told which pages are the kernel's zeros: what all adds up to says so. */
TEST(parts_by_words_of_a_user)
{
	char *scope = read_all("/proc/sys/kernel/yama/ptrace_scope", NULL);
	bool refused = scope && *scope != '0';
	struct parts p;

	free(scope);
	if (refused)
		skip(t, "processes of one user may not read each other here (ptrace_scope)");
	must(t, !chmod(t->dir, 0777), "%s is not for everybody", t->dir);
	look_as(t, &p, "census", "parts", NULL, (struct spawn){ .env = { "MALLOCTRACE_PAGES=words" }, .uid = 65534 });
	want_variables(t, &p, "parts");
	want_mappings(t, &p);
	fx__quit(t, &p.f);
}
