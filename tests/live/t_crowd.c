// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Very many processes, each with an account of its own that must be met. */
#include "actors.h"
#include "group.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct member {
	uint64_t pid, alloc_calls, alloc_bytes, free_calls, free_bytes, unknown_frees, n_stacks;
};

static struct member *read_members(struct test *t, const char *path, size_t n)
{
	struct member *m = calloc(n + 1, sizeof(*m));
	char *text = read_all(path, NULL), *line = text;
	size_t i = 0;

	must(t, text && m, "the crowd's account cannot be read");
	for (; *line && i < n; i++) {
		struct member *x = &m[i];
		int got = sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &x->pid,
				 &x->alloc_calls, &x->alloc_bytes, &x->free_calls, &x->free_bytes, &x->unknown_frees, &x->n_stacks);

		must(t, got == 7, "the crowd's account, line %zu: '%.80s'", i + 1, line);
		line = strchr(line, '\n');
		must(t, line, "the crowd's account ends in the middle of a line");
		line++;
	}
	must(t, i == n, "the crowd's account has %zu of %zu lines", i, n);
	free(text);
	return m;
}

/* A pid may come again while thousands start and end: the row that fits best is taken, and none twice. */
static json_t *row_of(json_t *rows, const struct member *m, bool *taken)
{
	size_t i;
	json_t *row;

	json_array_foreach(rows, i, row) {
		if (taken[i] || (uint64_t)json_integer_value(json_object_get(row, "pid")) != m->pid)
			continue;
		if ((uint64_t)json_integer_value(jget(row, "totals.alloc_bytes")) != m->alloc_bytes)
			continue;
		taken[i] = true;
		return row;
	}
	return NULL;
}

static void want_members(struct test *t, json_t *root, const struct member *m, size_t n)
{
	json_t *rows = jget(root, "processes");
	bool *taken = calloc(json_array_size(rows) + 1, sizeof(*taken));
	size_t n_wrong = 0;

	for (size_t i = 0; i < n; i++) {
		json_t *row = row_of(rows, &m[i], taken);

		if (!row || (uint64_t)json_integer_value(jget(row, "totals.alloc_calls")) != m[i].alloc_calls ||
		    (uint64_t)json_integer_value(jget(row, "totals.free_calls")) != m[i].free_calls ||
		    (uint64_t)json_integer_value(jget(row, "totals.free_bytes")) != m[i].free_bytes ||
		    (uint64_t)json_integer_value(jget(row, "totals.unknown_frees")) != m[i].unknown_frees) {
			if (!n_wrong++)
				want(t, false, "child %zu (%" PRIu64 "): wanted %" PRIu64 " calls, %" PRIu64 " frees, %" PRIu64 " unknown; got %s", i,
				     m[i].pid, m[i].alloc_calls, m[i].free_calls, m[i].unknown_frees,
				     row ? json_dumps(jget(row, "totals"), 0) : "no such process");
		}
	}
	want_eq(t, "children whose figures are wrong", 0, n_wrong);
	free(taken);
}

static uint64_t stacks_of_leaf(json_t *root)
{
	uint64_t n = 0;
	size_t i;
	json_t *site;

	json_array_foreach(jget(root, "sites"), i, site)
		n += !strcmp(jstr(site, "stack[0].function"), "crowd_leaf");
	return n;
}

static json_t *trace_crowd(struct test *t, struct fx *f, size_t n, size_t n_stacks, const char *how, struct member **ret)
{
	const char *account = in_dir(t, "account");
	char a[24], b[24];
	json_t *root;
	struct mt m;

	snprintf(a, sizeof(a), "%zu", n);
	snprintf(b, sizeof(b), "%zu", n_stacks);
	fx__start(t, f, "crowd", account, a, b, how, NULL);
	mt__start(t, &m, "-f", "-p", pid_arg(f->c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, f);
	*ret = read_members(t, account, n);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_scan(t, root);
	return root;
}

TEST_ALONE(crowd_stays)
{
	size_t n = scaled(2000), n_stacks = 10;
	struct member *m;
	struct fx f;
	json_t *root = trace_crowd(t, &f, n, n_stacks, "stay", &m);
	uint64_t wanted = 0;

	want_eq(t, "processes", n + 1, json_array_size(jget(root, "processes")));
	want_members(t, root, m, n);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_STACKS | LED_TEMP | LED_PEAK);
	for (size_t i = 0; i < n; i++)
		wanted += m[i].n_stacks;
	want_eq(t, "stacks of all children", wanted, stacks_of_leaf(root));
	fx__quit(t, &f);
}
/* One process, very many files with an allocator, all of them mapped while it is traced. */
TEST_ALONE(crowd_of_files)
{
	size_t n = scaled(200), n_probed = 0, i;
	json_t *root, *process, *probe;
	char number[24];
	struct fx f;
	struct mt m;

	for (i = 0; i < n; i++)
		copy_file(t, fixture("libpre.so"), in_dir(t, "%zu.so", i));
	snprintf(number, sizeof(number), "%zu", n);
	fx__start(t, &f, "manylibs", t->dir, number, NULL);
	mt__start(t, &m, "-f", "-p", pid_arg(f.c.pid), "--prefix", "pre_", "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	/* it is said of each when its probes are in place */
	for (i = 0; i < n; i++)
		child__wait_err(t, &m.c, "malloctrace: ", "was probed", patience_s(60));
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	process = process_of(t, root, f.c.pid, 0);
	want_ledger(t, root, process, &f.led, LED_STACKS | LED_TEMP);
	want(t, ju64(t, process, "unseen_ns") > 0, "unseen_ns, wanted more than 0");
	json_array_foreach(jget(root, "probes"), i, probe)
		n_probed += !!strstr(jstr(probe, "object"), t->dir);
	want_eq(t, "files that are probed", n, n_probed);
	fx__quit(t, &f);
}

/* More than are probed of one process: what is missing is a loss, as any other. */
TEST_ALONE(crowd_of_too_many_files)
{
	size_t n = 300, n_probed = 0, i;
	json_t *root, *probe;
	struct fx f;
	struct mt m;

	for (i = 0; i < n; i++)
		copy_file(t, fixture("libpre.so"), in_dir(t, "%zu.so", i));
	fx__start(t, &f, "manylibs", t->dir, "300", NULL);
	fx__go(t, &f);
	mt__start(t, &m, "-f", "-p", pid_arg(f.c.pid), "--prefix", "pre_", "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 3);
	json_array_foreach(jget(root, "probes"), i, probe)
		n_probed += !!strstr(jstr(probe, "object"), t->dir);
	want(t, n_probed <= 256, "files that are probed: %zu", n_probed);
	/* each has more points than one */
	want(t, ju64(t, root, "losses.unprobed_points") > n - n_probed, "unprobed_points: %llu of %zu files",
	     (unsigned long long)ju64(t, root, "losses.unprobed_points"), n - n_probed);
	fx__quit(t, &f);
}

/* More lives than there are places for: they are given again, and what each left is still told. */
TEST_ALONE(crowd_goes)
{
	size_t n = scaled(6000);
	struct member *m;
	struct fx f;
	json_t *root = trace_crowd(t, &f, n, 4, "go", &m);
	struct member sum = {};

	for (size_t i = 0; i < n; i++) {
		sum.alloc_calls += m[i].alloc_calls;
		sum.alloc_bytes += m[i].alloc_bytes;
		sum.free_calls += m[i].free_calls;
		sum.free_bytes += m[i].free_bytes;
		sum.unknown_frees += m[i].unknown_frees;
	}
	want_u64(t, root, "totals.alloc_calls", sum.alloc_calls + ledger__sum(&f.led, LED_ALLOC_CALLS));
	want_u64(t, root, "totals.alloc_bytes", sum.alloc_bytes + ledger__sum(&f.led, LED_ALLOC_BYTES));
	want_u64(t, root, "totals.free_calls", sum.free_calls);
	want_u64(t, root, "totals.free_bytes", sum.free_bytes);
	want_u64(t, root, "totals.unknown_frees", sum.unknown_frees);
	fx__quit(t, &f);
}

#define N_THICKETS 18
#define N_WHOLE_THICKETS 16	/* that there is room for */
#define THICKET_USER 65533

/* What is said of the process's stacks comes before the first of the others. */
static bool comes_first(const char *text, pid_t pid, const char *others)
{
	char stacks[64];
	const char *own, *other = strstr(text, others);

	snprintf(stacks, sizeof(stacks), " (%d) by ", (int)pid);
	own = strstr(text, stacks);
	return own && other && own < other;
}

static uint64_t count(const char *text, const char *what)
{
	uint64_t n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

static void start_thicket(struct test *t, struct fx *f, const struct spawn *s)
{
	*f = (struct fx){};
	child__start(t, &f->c, s);
	fx__wait_line(t, f, "ready");
}

static void end_thickets(struct test *t, struct fx *f, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		close(f[i].c.in);
		f[i].c.in = -1;
		want_eq(t, "exit status", 0, (uint64_t)child__wait(t, &f[i].c));
	}
}

/*
 * Processes that map code very often: of one user's 131,072 of these mappings are listed, and of each
 * 256 in any case. Those of others come first, also one that began later.
 */
static void want_few_of_crowd(struct test *t, const char *n_mappings, uint64_t n_cut)
{
	const char *program = in_dir(t, "thicket");
	struct spawn s = { .argv = { program, n_mappings }, .uid = THICKET_USER };
	struct fx thickets[N_THICKETS], ordinary;
	json_t *root;
	struct mt m;

	copy_file(t, fixture("thicket"), program);
	for (size_t i = 0; i < N_THICKETS; i++)
		start_thicket(t, &thickets[i], &s);
	start_fixture(t, &ordinary, "basic", 65532, true, "family");
	mt__start(t, &m, "-a", "-v", "--json", NULL);
	mt__wait_attached(t, &m);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want(t, comes_first(m.c.errs.s, ordinary.c.pid, "stacks of thicket ("),
	     "an ordinary process was read after the crowd");
	json_decref(root);
	want_eq(t, "processes of which a part is listed", n_cut, count(m.c.errs.s, " has more than 8192 code mappings: "));
	want_eq(t, "processes that the others leave less room", N_THICKETS - N_WHOLE_THICKETS,
		count(m.c.errs.s, " code mappings, and its user's processes too many: "));
	want_eq(t, "processes of the crowd that are traced", N_THICKETS, count(m.c.errs.s, "stacks of thicket ("));
	fx__go(t, &ordinary);
	fx__quit(t, &ordinary);
	end_thickets(t, thickets, N_THICKETS);
}

TEST_ALONE(crowd_of_mappings) { want_few_of_crowd(t, "9000", N_WHOLE_THICKETS); }
/* Each of them has fewer than are listed of one process. */
TEST_ALONE(crowd_of_mappings_of_all) { want_few_of_crowd(t, "8100", 0); }

/*
 * The same of those that come later: by then their user has no more room. Nor has one that was there
 * and had room: it is told of what it maps from then on.
 */
TEST_ALONE(crowd_of_mappings_later)
{
	const char *program = in_dir(t, "thicket");
	struct spawn s = { .argv = { program, "8100" }, .uid = THICKET_USER };
	struct fx thickets[N_THICKETS], small;
	char said[64];
	struct mt m;

	copy_file(t, fixture("thicket"), program);
	start_thicket(t, &small, &(struct spawn){ .argv = { program, "300" }, .uid = THICKET_USER });
	for (size_t i = 0; i < N_WHOLE_THICKETS; i++)
		start_thicket(t, &thickets[i], &s);
	mt__start(t, &m, "-a", "-v", "--json", NULL);
	mt__wait_attached(t, &m);
	want(t, !strstr(m.c.errs.s, "thicket (") || !strstr(m.c.errs.s, "too many"), "a part is listed at the beginning: %.600s",
	     m.c.errs.s);
	for (size_t i = N_WHOLE_THICKETS; i < N_THICKETS; i++) {
		start_thicket(t, &thickets[i], &s);
		child__wait_err(t, &m.c, "malloctrace: thicket",
				" code mappings, and its user's processes too many", patience_s(60));
	}
	fx__send(t, &small, 'm');
	fx__wait_line(t, &small, "more");
	snprintf(said, sizeof(said), "malloctrace: thicket (%d) has more than ", (int)small.c.pid);
	child__wait_err(t, &m.c, said, " code mappings, and its user's processes too many: 1 ", patience_s(60));
	json_decref(mt__stop_json(t, &m, SIGINT, 0));
	end_thickets(t, thickets, N_THICKETS);
	end_thickets(t, &small, 1);
}

static int join_crowd(const void *cgroup)
{
	return enter_cgroup(cgroup) || setgid(THICKET_USER) || setuid(THICKET_USER);
}

/* What a process executes whose user has no more room is traced like any other: children are, too. */
TEST_ALONE(crowd_of_mappings_executes)
{
	const char *program = in_dir(t, "thicket"), *ledger = in_dir(t, "ledger"), *cgroup = make_cgroup(t);
	struct spawn s = { .argv = { program, "9000", fixture("basic"), "--auto", ledger, "family" },
			   .become = join_crowd, .become_arg = cgroup };
	struct fx thickets[N_WHOLE_THICKETS];
	struct ledger led = {};
	json_t *root, *p, *found = NULL;
	struct mt m;
	size_t i;

	copy_file(t, fixture("thicket"), program);
	must(t, !chmod(t->dir, 01777), "chmod: %s", strerror(errno));
	for (i = 0; i < N_WHOLE_THICKETS; i++)
		start_thicket(t, &thickets[i], &s);
	mt__start(t, &m, "--cgroup", cgroup, "--json", NULL);
	mt__wait_attached(t, &m);
	fx__send(t, &thickets[0], 'x');
	fx__wait_line(t, &thickets[0], "done");
	root = mt__stop_json(t, &m, SIGINT, 0);
	json_array_foreach(jget(root, "processes"), i, p)
		if (!strcmp(jstr(p, "comm"), "basic"))
			found = p;
	must(t, ledger__parse(&led, read_all(ledger, NULL)), "no ledger");
	if (want(t, found, "the program that was executed is not traced"))
		want_ledger(t, root, found, &led, LED_ALL);
	end_thickets(t, thickets, N_WHOLE_THICKETS);
	want(t, !rmdir(cgroup), "rmdir %s", cgroup);
}
