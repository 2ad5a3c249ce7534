// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Which stacks are shown, and several profiles as one. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "golden.h"
#include "model/filter.h"
#include "model/join.h"
#include "sample_snapshot.h"
#include "util/util.h"
#include "written.h"

Test(filter, suppressions_match_as_the_sanitizer_s_do)
{
	static const struct {
		const char *pattern, *name;
		bool matches;
	} t[] = {
		{ "foo", "foo", true },		  { "foo", "a_foo_b", true },	   { "foo", "fo", false },
		{ "^foo", "foobar", true },	  { "^foo", "afoo", false },	   { "foo$", "afoo", true },
		{ "foo$", "foob", false },	  { "^foo$", "foo", true },	   { "^foo$", "foofoo", false },
		{ "f*o", "xfaaaox", true },	  { "^f*o$", "faaao", true },	   { "^f*o$", "faaaob", false },
		{ "*", "x", true },		  { "libx.so", "/usr/lib/libx.so.6", true },
		{ "a*b*c", "aXXbYYc", true },	  { "a*b*c$", "aXbXcXbXcd", false }, { "aab", "aaab", true },
		{ "*a$", "ba", true },		  { "^*b", "aab", true },	   { "x", "", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		cr_expect_eq(suppression__matches(t[i].pattern, t[i].name), t[i].matches, "%s on %s", t[i].pattern, t[i].name);
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	fputs(text, f);
	fclose(f);
}

static struct snapshot *filtered(const struct snapshot *s, const char *only, const char *hide, const char *suppressions)
{
	_cleanup_err_ struct err e = {};
	char path[] = "/tmp/mt-suppressions-XXXXXX";
	struct snapshot *ret;
	struct filter f;

	cr_assert(mkstemp(path) >= 0);
	put(path, suppressions ? suppressions : "");
	cr_assert_eq(filter__init(&f, only, hide, suppressions ? path : NULL, &e), 0, "%s", err_msg(&e));
	cr_assert(filter__any(&f));
	ret = snapshot__filter(s, &f);
	filter__done(&f);
	unlink(path);
	return ret;
}

Test(filter, what_is_left_and_what_is_hidden)
{
	static const struct {
		const char *only, *hide, *suppressions;
		size_t n;
		const char *by;
	} t[] = {
		{ "trackingRememberKey", NULL, NULL, 1, "--filter" },
		{ "raxGenericInsert", NULL, NULL, 1, "--filter" },	/* inlined */
		{ "server\\.c", NULL, NULL, 4, "--filter" },		/* a source file */
		{ "libtable-engine", NULL, NULL, 5, "--filter" },	/* a module */
		{ "^realloc$", NULL, NULL, 1, "--filter" },		/* the allocation function */
		{ NULL, "main", NULL, 6, "--hide" },
		{ "server\\.c", "sds", NULL, 3, "--filter, --hide" },
		{ NULL, NULL, "# what we know of\n\nleak:textbuild\n  leak:^engine::Table*  \n", 8, "--suppressions" },
		{ NULL, NULL, "leak:malloc\n", 10, "--suppressions" },	/* a suppression is for callers */
		{ "nothing at all", NULL, NULL, 0, "--filter" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct snapshot *s = sample__new(0), *some = filtered(s, t[i].only, t[i].hide, t[i].suppressions);
		uint64_t live = some->hidden.live_bytes, calls = some->hidden.alloc_calls;

		cr_expect_eq(some->n_sites, t[i].n, "row %zu: %zu, want %zu", i, some->n_sites, t[i].n);
		cr_expect_eq(some->n_sites + some->hidden.n_sites, s->n_sites);
		cr_expect_str_eq(some->hidden.by, t[i].by);
		for (size_t k = 0; k < some->n_sites; k++) {
			live += some->sites[k].c.live_bytes;
			calls += some->sites[k].c.alloc_calls;
		}
		cr_expect_eq(live, s->totals.live_bytes);
		cr_expect_eq(calls, some->totals.alloc_calls);
		snapshot__free(some);
		snapshot__free(s);
	}
}

Test(filter, looks)
{
	static const struct {
		const char *name, *format;
	} t[] = { { "filtered.txt", "text" }, { "filtered.massif", "massif" } };
	struct snapshot *s = sample__new(SAMPLE_SINGLE), *some = filtered(s, NULL, "tracking", NULL);

	setenv("TZ", "UTC", 1);

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		_cleanup_free_ char *text = NULL;
		size_t len;

		text = written__as(some, t[i].format, NULL, &len);
		golden__check(t[i].name, text, len);
	}
	snapshot__free(some);
	snapshot__free(s);
}

Test(filter, refuses)
{
	_cleanup_err_ struct err e = {}, e2 = {}, e3 = {};
	char path[] = "/tmp/mt-suppressions-XXXXXX";
	struct filter f;

	cr_assert_eq(filter__init(&f, "(", NULL, NULL, &e), -EINVAL);
	cr_assert(strstr(err_msg(&e), "--filter (: want a POSIX extended regular expression"), "%s", err_msg(&e));
	cr_assert(mkstemp(path) >= 0);
	put(path, "leak:x\nrace:y\n");
	cr_assert_eq(filter__init(&f, NULL, NULL, path, &e2), -EINVAL);
	cr_assert(strstr(err_msg(&e2), "line 2: 'race:y': want lines like leak:FUNCTION"), "%s", err_msg(&e2));
	unlink(path);
	cr_assert_eq(filter__init(&f, NULL, NULL, path, &e3), -ENOENT);
}

/* ---- several as one */

Test(join, figures_add_up)
{
	struct snapshot *v[] = { sample__new(SAMPLE_LOSSES), sample__new(SAMPLE_SINGLE | SAMPLE_LOSSES | SAMPLE_OLDER) }, *all;
	const char *const names[] = { "a", "b" };
	uint64_t live = 0;

	v[0]->n_marks_seen = 3;
	v[0]->n_marks_whole = 2;
	v[1]->n_marks_seen = 4;
	cr_assert_eq(snapshot__join(v, names, 2, &all, NULL), 0);
	/* their moments are those of other traces, but they were called */
	cr_assert_eq(all->n_marks, 0);
	cr_assert_eq(all->n_marks_seen, 7);
	cr_assert_eq(all->n_marks_whole, 2);
	cr_assert_eq(all->n_processes, 3);
	for (size_t i = 0; i < 3; i++)
		cr_assert_eq(all->processes[i].id, i + 1);
	cr_assert_eq(all->n_sites, v[0]->n_sites + v[1]->n_sites);
	cr_assert_eq(all->totals.live_bytes, v[0]->totals.live_bytes + v[1]->totals.live_bytes);
	cr_assert_eq(all->losses_total, 2 * v[0]->losses_total);
	cr_assert_eq(all->n_losses, v[0]->n_losses);
	cr_assert_eq(all->losses[0].n, 2408);
	cr_assert_eq(all->recording.older_ns, 0);
	for (size_t i = 0; i < all->n_sites; i++) {
		const struct snap_site *site = &all->sites[i];
		const struct snap_site *from = i < v[0]->n_sites ? &v[0]->sites[i] : &v[1]->sites[i - v[0]->n_sites];
		const struct snapshot *of = i < v[0]->n_sites ? v[0] : v[1];

		live += site->c.live_bytes;
		cr_assert_eq(site->older_bytes, 0);
		cr_assert_eq(all->processes[site->process].pid, of->processes[from->process].pid);
		cr_assert_eq(site->n_stack, from->n_stack);
		for (uint32_t k = 0; k < site->n_stack; k++) {
			struct frame a = place__frame(all, &all->places[site->stack[k]], 0);
			struct frame b = place__frame(of, &of->places[from->stack[k]], 0);

			cr_assert(a.place->offset == b.place->offset && a.module == b.module && a.line == b.line);
		}
	}
	cr_assert_eq(live, all->totals.live_bytes);
	snapshot__free(all);
	snapshot__free(v[0]);
	snapshot__free(v[1]);
}

Test(join, what_does_not_add_up_is_refused)
{
	struct snapshot *v[] = { sample__new(0), sample__new(SAMPLE_COUNT) }, *all;
	const char *const names[] = { "a.json", "b.json" };
	_cleanup_err_ struct err e = {}, e2 = {}, e3 = {}, e4 = {};

	cr_assert_eq(snapshot__join(v, names, 2, &all, &e), -EINVAL);
	cr_assert_str_eq(err_msg(&e), "a.json and b.json cannot be combined: --mode full and --mode count");
	v[1]->recording.mode = MT_MODE_FULL;
	v[1]->recording.size = SIZE_USABLE;
	cr_assert_eq(snapshot__join(v, names, 2, &all, &e2), -EINVAL);
	cr_assert_str_eq(err_msg(&e2), "a.json and b.json cannot be combined: requested sizes and usable sizes");
	v[1]->recording.size = SIZE_REQUESTED;
	v[1]->recording.min_size = 100;
	cr_assert_eq(snapshot__join(v, names, 2, &all, &e3), -EINVAL);
	cr_assert_str_eq(err_msg(&e3), "a.json and b.json cannot be combined: they recorded blocks of different sizes (--min-size, --max-size)");
	v[1]->recording.min_size = 0;
	v[1]->recording.mmap = true;
	cr_assert_eq(snapshot__join(v, names, 2, &all, &e4), -EINVAL);
	cr_assert_str_eq(err_msg(&e4), "a.json and b.json cannot be combined: one was recorded with --mmap");
	snapshot__free(v[0]);
	snapshot__free(v[1]);
}

Test(join, snapshots_of_one_trace_are_known)
{
	struct snapshot *a = sample__new(0), *b = sample__new(0);

	cr_assert(snapshot__same_trace(a, b) && snapshot__same_trace(b, a));
	b->duration_ns++;
	cr_assert(snapshot__same_trace(a, b) && !snapshot__same_trace(b, a));
	b->wall_start_ns++;
	cr_assert(!snapshot__same_trace(a, b));
	snapshot__free(a);
	snapshot__free(b);
}

/* ---- processes that are in several */

static struct snap_process *process(struct snapshot *s, size_t i)
{
	return (struct snap_process *)&s->processes[i];
}

/* Both have two processes; only the first of them is the same process. */
static void two_profiles(struct snapshot *v[2])
{
	for (size_t i = 0; i < 2; i++) {
		v[i] = sample__new(0);
		v[i]->boot_id = "b";
		process(v[i], 0)->start_ticks = 1000;
		process(v[i], 1)->start_ticks = 2000 + i;
	}
	v[1]->wall_start_ns += SECOND_NS;
	v[1]->duration_ns -= SECOND_NS;
}

#define WANT_REPEATS(v, ...) want_repeats(v, (const bool[2]){ __VA_ARGS__ }, __LINE__)

/* In which of the two does the first process stay? */
static char *want_repeats(struct snapshot *v[2], const bool stays[2], int line)
{
	struct snapshot *parts[2] = { v[0], v[1] };
	char *says;

	says = snapshots__drop_repeats(parts, (const char *const[]){ "a.json", "b.json" }, 2);
	for (size_t i = 0; i < 2; i++) {
		uint64_t live = 0;

		cr_assert_eq(parts[i] == v[i], stays[i], "line %d, profile %zu", line, i);
		if (stays[i])
			continue;
		cr_assert_eq(parts[i]->n_processes, 1);
		cr_assert_eq(parts[i]->processes[0].pid, 1501);
		for (size_t k = 0; k < parts[i]->n_sites; k++)
			live += parts[i]->sites[k].c.live_bytes;
		cr_assert_eq(parts[i]->totals.live_bytes, live);
		snapshot__free(parts[i]);
	}
	return says;
}

Test(repeats, of_traces_at_the_same_time_the_longest_counts)
{
	struct snapshot *v[2];
	char *says;

	two_profiles(v);
	says = WANT_REPEATS(v, true, false);
	cr_assert_str_eq(says, "redis-server (1432) is in b.json and a.json, and counts once: a.json traced it at the same time, at least as long");
	free(says);
	v[1]->duration_ns += 2 * SECOND_NS;
	says = WANT_REPEATS(v, false, true);
	free(says);
	snapshot__free(v[0]);
	snapshot__free(v[1]);
}

Test(repeats, of_traces_one_after_the_other_the_latest_counts)
{
	struct snapshot *v[2];
	char *says;

	two_profiles(v);
	v[1]->wall_start_ns = v[0]->wall_now_ns;
	v[1]->wall_now_ns = v[1]->wall_start_ns + SECOND_NS;
	says = WANT_REPEATS(v, false, true);
	cr_assert_str_eq(says, "redis-server (1432) is in a.json and b.json, and counts once: b.json is later (malloctrace diff compares the two)");
	free(says);
	snapshot__free(v[0]);
	snapshot__free(v[1]);
}

Test(repeats, others_with_the_same_pid_are_others)
{
	struct snapshot *v[2];

	two_profiles(v);
	process(v[1], 0)->start_ticks = 1001;
	cr_assert_null(WANT_REPEATS(v, true, true));
	process(v[1], 0)->start_ticks = 1000;
	v[1]->boot_id = "c";
	cr_assert_null(WANT_REPEATS(v, true, true));
	v[1]->boot_id = "b";
	/* exec makes another process of it */
	process(v[1], 0)->exe = "/bin/another";
	cr_assert_null(WANT_REPEATS(v, true, true));
	snapshot__free(v[0]);
	snapshot__free(v[1]);
}

Test(repeats, profiles_without_ticks_are_compared_by_time)
{
	struct snapshot *v[2];

	two_profiles(v);
	v[0]->boot_id = NULL;
	process(v[0], 0)->start_ticks = process(v[1], 1)->start_ticks = 0;
	process(v[0], 0)->wall_started_ns = 5000 * SECOND_NS;
	process(v[1], 0)->wall_started_ns = 5000 * SECOND_NS + 30000000;
	free(WANT_REPEATS(v, true, false));
	process(v[1], 0)->wall_started_ns = 5002 * SECOND_NS;
	cr_assert_null(WANT_REPEATS(v, true, true));
	/* of unknown start */
	process(v[1], 0)->wall_started_ns = 0;
	cr_assert_null(WANT_REPEATS(v, true, true));
	snapshot__free(v[0]);
	snapshot__free(v[1]);
}

Test(repeats, rows_of_several_processes_stay_and_that_is_said)
{
	struct snapshot *v[2];
	char *says;

	two_profiles(v);
	process(v[1], 0)->n_members = 3;
	says = WANT_REPEATS(v, true, true);
	cr_assert_str_eq(says, "some rows stand for several processes: one that is in several files counts more than once");
	free(says);
	snapshot__free(v[0]);
	snapshot__free(v[1]);
}
