// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * -a while a project is built, by gcc and by clang: each program that ran has an account of its own, kept by libtally.so
 * (fixtures/held.h), and the report must equal it: calls, bytes and frees, and what it held at its end, by who allocated it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lt.h"
#include "../fixtures/tally.h"

/* Who called is the first of a stack, and compilers come through many. */
#define DEPTH "--depth", "8"
#define N_SOURCES 4
#define N_FUNCTIONS 30	/* of a source */

/* ---- what is built */

static void write_source(struct test *t, unsigned int n)
{
	FILE *f = fopen(in_dir(t, "s%u.c", n), "we");

	must(t, f != NULL, "a source: %s", strerror(errno));
	fprintf(f, "#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n");
	for (unsigned int i = 0; i < N_FUNCTIONS; i++)
		fprintf(f, "int f%u_%u(const char *s, int n)\n{\n\tchar *v = malloc(n + %u);\n\tint sum = 0;\n\n\tfor (int i = 0; v && i < n; i++)\n"
			   "\t\tsum += (v[i] = s[i %% %u]);\n\tprintf(\"%%d %%f\\n\", sum, sqrt(sum));\n\tfree(v);\n\treturn sum;\n}\n",
			n, i, i, i + 1);
	if (!n)
		fprintf(f, "int main(void)\n{\n\treturn f0_0(\"x\", 1) < 0;\n}\n");
	must(t, !fclose(f), "a source: %s", strerror(errno));
}

static void write_project(struct test *t)
{
	FILE *f = fopen(in_dir(t, "Makefile"), "we");

	must(t, f != NULL, "Makefile: %s", strerror(errno));
	fprintf(f, "OBJ := s0.o s1.o s2.o s3.o\nprog: $(OBJ)\n\t$(CC) -o $@ $(OBJ) -lm && ./prog > said\n%%.o: %%.c\n\t$(CC) -O2 -g -c -o $@ $<\n");
	must(t, !fclose(f), "Makefile: %s", strerror(errno));
	for (unsigned int i = 0; i < N_SOURCES; i++)
		write_source(t, i);
}

/* ---- the accounts */

/* What a program held at its end of what one place allocated. */
struct row {
	uint64_t pid;
	const char *exe, *module;
	uint64_t offset, live_blocks, live_bytes;
};

struct rows {
	struct row *v;
	size_t n, room;
};

struct program {
	uint64_t pid;
	char *exe;
	uint64_t allocs, bytes, frees, freed_bytes, unknown_frees;
};

struct account {
	struct program *v;
	size_t n, room;
	struct rows held;
};

static void add_row(struct test *t, struct rows *r, const struct row *row)
{
	if (r->n == r->room) {
		r->room = r->room * 2 + 1024;
		r->v = realloc(r->v, r->room * sizeof(*r->v));
		must(t, r->v != NULL, "out of memory");
	}
	r->v[r->n++] = *row;
}

static int by_place(const void *x, const void *y)
{
	const struct row *a = x, *b = y;
	int c;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	c = strcmp(a->exe, b->exe);
	c = c ? c : strcmp(a->module, b->module);
	return c ? c : a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* In order, and one for each place. */
static void put_together(struct rows *r)
{
	size_t to = 0;

	if (!r->n)
		return;
	qsort(r->v, r->n, sizeof(*r->v), by_place);
	for (size_t i = 1; i < r->n; i++) {
		if (by_place(&r->v[to], &r->v[i])) {
			r->v[++to] = r->v[i];
			continue;
		}
		r->v[to].live_blocks += r->v[i].live_blocks;
		r->v[to].live_bytes += r->v[i].live_bytes;
	}
	r->n = to + 1;
}

/* A process may have been the same program twice. */
static struct program *program_of(struct test *t, struct account *a, uint64_t pid, const char *exe)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->v[i].pid == pid && !strcmp(a->v[i].exe, exe))
			return &a->v[i];
	if (a->n == a->room) {
		a->room = a->room * 2 + 64;
		a->v = realloc(a->v, a->room * sizeof(*a->v));
		must(t, a->v != NULL, "out of memory");
	}
	a->v[a->n] = (struct program){ .pid = pid, .exe = strdup(exe) };
	return &a->v[a->n++];
}

static void add_account(struct test *t, struct account *a, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const struct held *h = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*h), PROT_READ, MAP_SHARED, fd, 0);
	char *modules[HELD_MAX_MODULES];
	struct program *p;

	must(t, h != MAP_FAILED, "%s: %s", path, strerror(errno));
	close(fd);
	must(t, !h->overflowed, "the account of %s (%u) had no room for all", h->exe, h->pid);
	for (unsigned int i = 0; i < h->n_modules; i++) {
		char *real = realpath(h->modules[i], NULL);

		modules[i] = real ? real : strdup(h->modules[i]);
	}
	p = program_of(t, a, h->pid, h->exe);
	p->unknown_frees += h->unknown_frees;
	for (unsigned int i = 0; i < HELD_MAX_CALLERS; i++) {
		const struct held_caller *c = &h->callers[i];

		if (!c->address)
			continue;
		p->allocs += c->allocs;
		p->bytes += c->bytes;
		p->frees += c->frees;
		p->freed_bytes += c->freed_bytes;
		if (c->allocs != c->frees)
			add_row(t, &a->held, &(struct row){ h->pid, p->exe, modules[c->module], c->offset, c->allocs - c->frees, c->bytes - c->freed_bytes });
	}
	munmap((void *)h, sizeof(*h));
}

static void read_accounts(struct test *t, struct account *a, const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;

	must(t, d != NULL, "%s: %s", dir, strerror(errno));
	while ((entry = readdir(d))) {
		char path[512];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		add_account(t, a, path);
	}
	closedir(d);
	put_together(&a->held);
	/* a test that cannot fail is none */
	if (getenv("LIVE_TESTS_WRONG") && a->held.n)
		a->held.v[0].live_bytes++;
}

/* ---- what was traced */

static const struct program *find_program(const struct account *a, json_t *p)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->v[i].pid == (uint64_t)json_integer_value(json_object_get(p, "pid")) && !strcmp(a->v[i].exe, jstr(p, "exe")))
			return &a->v[i];
	return NULL;
}

static uint64_t total(json_t *p, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(json_object_get(p, "totals"), key));
}

static void want_programs(struct test *t, json_t *root, const struct account *a)
{
	struct program *got = calloc(a->n + 1, sizeof(*got));
	json_t *p;
	size_t i;

	json_array_foreach(jget(root, "processes"), i, p) {
		const struct program *of = find_program(a, p);
		struct program *to = of ? &got[of - a->v] : NULL;

		if (!to)
			continue;
		to->pid++;
		to->allocs += total(p, "alloc_calls");
		to->bytes += total(p, "alloc_bytes");
		to->frees += total(p, "free_calls");
		to->freed_bytes += total(p, "free_bytes");
		to->unknown_frees += total(p, "unknown_frees");
	}
	for (i = 0; i < a->n; i++) {
		const struct program *w = &a->v[i], *g = &got[i];

		want(t, g->pid && w->allocs == g->allocs && w->bytes == g->bytes && w->frees == g->frees && w->freed_bytes == g->freed_bytes &&
				w->unknown_frees == g->unknown_frees,
		     "%s (%" PRIu64 ", %" PRIu64 " rows): calls, bytes, frees, their bytes, unknown ones, wanted %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		     ", got %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
		     w->exe, w->pid, g->pid, w->allocs, w->bytes, w->frees, w->freed_bytes, w->unknown_frees, g->allocs, g->bytes, g->frees, g->freed_bytes,
		     g->unknown_frees);
	}
	free(got);
}

/* By the place that called the allocation function, the first of a stack. */
static void want_held(struct test *t, json_t *root, const struct account *a)
{
	json_t *processes = jget(root, "processes"), *s, *p;
	const struct program **of;	/* by id */
	size_t i, n = 0, n_wrong = 0;
	struct rows got = {};

	json_array_foreach(processes, i, p)
		n = ju64(t, p, "id") > n ? ju64(t, p, "id") : n;
	of = calloc(n + 1, sizeof(*of));
	json_array_foreach(processes, i, p)
		of[ju64(t, p, "id")] = find_program(a, p);
	json_array_foreach(jget(root, "sites"), i, s) {
		uint64_t id = (uint64_t)json_integer_value(json_object_get(s, "process"));
		json_t *frame = json_array_get(json_object_get(s, "stack"), 0);
		struct row row;

		if (!of[id] || !json_integer_value(json_object_get(s, "live_blocks")))
			continue;
		row = (struct row){ of[id]->pid, of[id]->exe, jstr(frame, "module"), strtoull(jstr(frame, "offset"), NULL, 16),
				    ju64(t, s, "live_blocks"), ju64(t, s, "live_bytes") };
		add_row(t, &got, &row);
	}
	put_together(&got);
	for (size_t w = 0, g = 0; w < a->held.n || g < got.n;) {
		const struct row *x = &a->held.v[w], *y = &got.v[g];
		int c = w == a->held.n ? 1 : g == got.n ? -1 : by_place(x, y);
		const struct row *is = c <= 0 ? x : y;

		if ((c || x->live_blocks != y->live_blocks || x->live_bytes != y->live_bytes) && n_wrong++ < 20)
			want(t, false, "%s (%" PRIu64 "), of %s+%#" PRIx64 ": blocks and bytes held, wanted %" PRIu64 " %" PRIu64 ", got %" PRIu64 " %" PRIu64, is->exe, is->pid,
			     is->module, is->offset, c <= 0 ? x->live_blocks : 0, c <= 0 ? x->live_bytes : 0, c >= 0 ? y->live_blocks : 0, c >= 0 ? y->live_bytes : 0);
		w += c <= 0;
		g += c >= 0;
	}
	want_eq(t, "places whose blocks are wrong", 0, n_wrong);
	want(t, a->held.n > 0, "nobody held anything");
	free(of);
	free(got.v);
}

static void build(struct test *t, const char *compiler)
{
	const char *dir = in_dir(t, "held"), *path = in_dir(t, "x.json");
	char preload[512], held[512], program[64], cc[80];
	struct spawn before = { .argv = { fixture("group"), t->dir, "hold" } }, make;
	struct account a = {};
	struct child c;
	json_t *root;
	struct fx f;
	struct mt m;

	snprintf(program, sizeof(program), "/usr/bin/%s", compiler);
	if (access("/usr/bin/make", X_OK) || access(program, X_OK))
		skip(t, "no make and %s here", compiler);
	write_project(t);
	must(t, !mkdir(dir, 0777), "mkdir: %s", strerror(errno));
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", realpath(fixture("libtally.so"), NULL));
	snprintf(held, sizeof(held), "TALLY_HELD=%s", dir);
	snprintf(cc, sizeof(cc), "CC=%s", program);
	/* the files in which it counts are probed from the start */
	before.env[0] = preload;
	fx__start_as(t, &f, &before);
	mt__start(t, &m, "-a", "--batch", "--by", "process", DEPTH, "--no-inlines", "--no-source", "-o", path, NULL);
	mt__wait_attached(t, &m);
	make = (struct spawn){ .argv = { "/usr/bin/make", "-C", t->dir, "-j2", cc }, .env = { preload, held } };
	child__start(t, &c, &make);
	must(t, !child__wait(t, &c), "the build failed: %.600s", c.errs.s);
	must(t, !access(in_dir(t, "said"), R_OK), "what was built did not run");
	child__kill(t, &m.c, SIGINT);
	want_eq(t, "malloctrace's exit status", 0, (uint64_t)child__wait(t, &m.c));
	fx__quit(t, &f);
	root = load_json(t, path);
	want_lossless(t, root);
	read_accounts(t, &a, dir);
	/* make; for each source and for the program a driver and what it runs */
	want(t, a.n > N_SOURCES + 2, "programs with an account: %zu", a.n);
	want_programs(t, root, &a);
	want_held(t, root, &a);
	json_decref(root);
}

TEST_ALONE(build_by_gcc) { build(t, "gcc"); }
TEST_ALONE(build_by_clang) { build(t, "clang"); }
