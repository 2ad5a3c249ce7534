// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * For a long time: a snapshot each second, all of whose invariants hold, no drift against what the programs know, and
 * tables no larger in the end than half-way. Some seconds here; `make soak` has minutes (--scale).
 */
#include "diary.h"
#include "lt.h"

#include <dirent.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#define SECONDS 12
#define LEAK_SECONDS 15
#define TURNS_SECONDS 15
#define TURNS_BLOCKS 400000ull
#define LIMIT_S 7200
#define CROWD 200
#define STACKS 10

struct soak {
	struct mt m;
	int watch;
	uint64_t begun_s, seconds, n_snapshots;
	/* most of it in each quarter of the time, bytes */
	uint64_t rss[4], maps[4];
};

static uint64_t now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec;
}

static uint64_t rss_of(pid_t pid)
{
	uint64_t pages = 0;
	char path[64], *text;

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	text = read_all(path, NULL);
	if (text)
		sscanf(text, "%*u %" SCNu64, &pages);
	free(text);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* What the kernel has set aside for its BPF maps. */
static uint64_t maps_of(pid_t pid)
{
	char path[300], *text, *line;
	uint64_t sum = 0, n;
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", pid, e->d_name);
		text = e->d_name[0] == '.' ? NULL : read_all(path, NULL);
		line = text && strstr(text, "map_type:") ? strstr(text, "memlock:") : NULL;
		if (line && sscanf(line, "memlock: %" SCNu64, &n) == 1)
			sum += n;
		free(text);
	}
	if (d)
		closedir(d);
	return sum;
}

static void begin(struct test *t, struct soak *s, uint64_t seconds)
{
	s->watch = inotify_init1(IN_CLOEXEC);
	must(t, s->watch >= 0 && inotify_add_watch(s->watch, t->dir, IN_MOVED_TO) >= 0, "inotify");
	s->seconds = scaled(seconds);
	s->begun_s = now_s();
}

static bool goes_on(const struct soak *s)
{
	return now_s() - s->begun_s < s->seconds;
}

/* malloctrace renames a file into its place when it is whole. */
static json_t *snapshot(struct test *t, struct soak *s)
{
	const char *path = in_dir(t, "x.%" PRIu64 ".json", ++s->n_snapshots);
	struct pollfd p = { .fd = s->watch, .events = POLLIN };
	char buf[4096] __attribute__((aligned(8)));
	json_t *root;

	child__kill(t, &s->m.c, SIGUSR1);
	/* it says so on standard error, which nobody else reads: a full pipe would stop it */
	child__wait_err(t, &s->m.c, "malloctrace: snapshot", NULL, 60);
	while (access(path, R_OK))
		must(t, poll(&p, 1, (int)patience_s(60) * 1000) == 1 && read(s->watch, buf, sizeof(buf)) > 0, "no %s after SIGUSR1", path);
	/* it waits for whoever does not read what it says */
	child__drain(&s->m.c);
	root = load_json(t, path);
	unlink(path);
	return root;
}

static void most(uint64_t *of, uint64_t n)
{
	if (n > *of)
		*of = n;
}

/* One second of it; all that must hold at any time does. check: more than that; NULL: nothing. */
static void check_second(struct test *t, struct soak *s, void (*check)(struct test *t, json_t *root, void *arg), void *arg)
{
	uint64_t quarter = (now_s() - s->begun_s) * 4 / s->seconds;
	struct timespec second = { .tv_sec = 1 };
	json_t *root = snapshot(t, s);

	want_invariants(t, root);
	if (check)
		check(t, root, arg);
	json_decref(root);
	quarter = quarter < 3 ? quarter : 3;
	most(&s->rss[quarter], rss_of(s->m.c.pid));
	most(&s->maps[quarter], maps_of(s->m.c.pid));
	nanosleep(&second, NULL);
}

static void say_quarters(const char *what, const uint64_t v[4])
{
	printf("  %s by quarters:", what);
	for (unsigned int i = 0; i < 4; i++)
		printf(" %.1f", (double)v[i] / (1 << 20));
	printf(" MiB\n");
}

/* Half-way all tables are as large as the work needs. A quarter may have met a larger moment than another: two MiB are no leak. */
#define SLACK_BYTES (2ull << 20)

static void want_flat(struct test *t, const char *what, const uint64_t v[4], uint64_t slack_bytes)
{
	want(t, v[3] <= v[2] + slack_bytes, "%s grows: %" PRIu64 " bytes in the third quarter, %" PRIu64 " in the last", what, v[2], v[3]);
}

/* rss_slack_bytes UINT64_MAX: what has ended is kept, as far as there is room for it, and that takes longer to fill than this lasts */
static void end(struct test *t, struct soak *s, uint64_t rss_slack_bytes)
{
	printf("  %" PRIu64 " s, %" PRIu64 " snapshots\n", now_s() - s->begun_s, s->n_snapshots);
	say_quarters("malloctrace's RSS", s->rss);
	say_quarters("its maps", s->maps);
	if (rss_slack_bytes != UINT64_MAX)
		want_flat(t, "malloctrace's RSS", s->rss, rss_slack_bytes);
	want_flat(t, "its maps", s->maps, SLACK_BYTES);
	fflush(stdout);
	close(s->watch);
}

/* One process, as fast as it can. */
TEST_AS(soak_full_rate, .alone = true, .limit_s = LIMIT_S)
{
	struct soak s = {};
	json_t *root;
	struct fx f;

	fx__start(t, &f, "threads", "churn", "10000", "2", NULL);
	mt__start(t, &s.m, "-p", pid_arg(f.c.pid), "--batch", "-o", in_dir(t, "x.json"), NULL);
	mt__wait_attached(t, &s.m);
	fx__go(t, &f);
	begin(t, &s, SECONDS);
	while (goes_on(&s))
		check_second(t, &s, NULL, NULL);
	fx__send(t, &f, 's');
	fx__read_ledger(t, &f);
	mt__stop(t, &s.m, SIGINT, 0);
	root = load_json(t, in_dir(t, "x.json"));
	want_invariants(t, root);
	want_lossless(t, root);
	want_scan(t, root);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_STACKS | LED_ONLY | LED_REALLOC);
	printf("  %" PRIu64 " allocations\n", ju64(t, root, "totals.alloc_calls"));
	end(t, &s, SLACK_BYTES);
	fx__quit(t, &f);
}

/* ---- --mode leak */

struct leak_soak {
	pid_t pid;
	const struct diary *diary;
	uint64_t n, n_read;	/* snapshots; those for which the heap was read */
	uint64_t unsure, most_unsure, most_over;
};

static void check_leak(struct test *t, json_t *root, void *arg)
{
	struct leak_soak *l = arg;
	json_t *p = process_of(t, root, l->pid, 0);
	struct bound_seen seen;

	want_lossless(t, root);
	want_eq(t, "frees of what is kept", 0, site_sum(t, root, p, "kept_here", "free_calls"));
	l->n++;
	/* a heap that changes too fast is not read in the second that this may take: then all that is live is said to be unsure */
	if (!jget(root, "heap_read_at_ns"))
		return;
	seen = want_bound(t, root, p, l->diary);
	l->n_read += ju64(t, root, "heap_read_at_ns") + 2000000000 > ju64(t, root, "duration_ns");
	l->unsure += seen.unsure;
	most(&l->most_unsure, seen.unsure);
	most(&l->most_over, seen.live > seen.most ? seen.live - seen.most : 0);
}

/* Threads that come and go, arenas that grow and are trimmed, as fast as they can: what is live is within what is said to be unsure. */
TEST_AS(soak_leak, .alone = true, .limit_s = LIMIT_S)
{
	const char *diary = in_dir(t, "diary");
	struct leak_soak l = {};
	struct soak s = {};
	json_t *root;
	struct fx f;

	fx__start(t, &f, "diary", "--usable", "storm", "60000", "4", diary, NULL);
	l.pid = f.c.pid;
	l.diary = diary__map(t, diary);
	mt__start(t, &s.m, "-p", pid_arg(f.c.pid), "--mode", "leak", "--batch", "-o", in_dir(t, "x.json"), NULL);
	mt__wait_attached(t, &s.m);
	fx__go(t, &f);
	begin(t, &s, LEAK_SECONDS);
	while (goes_on(&s))
		check_second(t, &s, check_leak, &l);
	fx__send(t, &f, 's');
	fx__read_ledger(t, &f);
	mt__stop(t, &s.m, SIGINT, 0);
	root = load_json(t, in_dir(t, "x.json"));
	want_invariants(t, root);
	want_lossless(t, root);
	want_scan(t, root);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_REALLOC);
	want(t, l.n_read * 2 > l.n, "snapshots that had their heap read, wanted most of %" PRIu64 ", got %" PRIu64, l.n, l.n_read);
	printf("  %" PRIu64 " allocations; of %" PRIu64 " snapshots %" PRIu64 " with a heap that was read: unsure %" PRIu64 " blocks on average, at most %" PRIu64
	       "; at least too many, at most %" PRIu64 "\n", ju64(t, root, "totals.alloc_calls"), l.n, l.n_read, l.unsure / l.n, l.most_unsure, l.most_over);
	end(t, &s, SLACK_BYTES);
	fx__quit(t, &f);
}

/*
 * What a reading costs, and what it spares, go up and down: a heap of a few blocks at full rate is read each second, one of many that nobody
 * works with is left alone for as long as probes on free would have cost less. At each turn it rests, and what is live is what it says.
 */
TEST_AS(soak_leak_turns, .alone = true, .limit_s = LIMIT_S)
{
	const char *diary = in_dir(t, "diary");
	uint64_t n_turns = 0, allocs = 0;
	struct leak_soak l[2] = {};
	struct soak s = {};
	json_t *root, *p;
	struct fx f;

	fx__start(t, &f, "diary", "--usable", "turns", number_arg(TURNS_BLOCKS), "3", diary, NULL);
	l[0].pid = l[1].pid = f.c.pid;
	l[0].diary = l[1].diary = diary__map(t, diary);
	mt__start(t, &s.m, "-p", pid_arg(f.c.pid), "--mode", "leak", "--batch", "-o", in_dir(t, "x.json"), NULL);
	mt__wait_attached(t, &s.m);
	fx__go(t, &f);
	for (begin(t, &s, TURNS_SECONDS); goes_on(&s); n_turns++) {
		fx__go(t, &f);
		for (int i = 0; i < 3; i++)
			check_second(t, &s, check_leak, &l[n_turns % 2]);
		fx__send(t, &f, 's');
		fx__read_ledger(t, &f);
		root = snapshot(t, &s);
		want_invariants(t, root);
		want_lossless(t, root);
		p = process_of(t, root, f.c.pid, 0);
		want_ledger(t, root, p, &f.led, LED_REALLOC);
		allocs = ju64(t, root, "totals.alloc_calls");
		json_decref(root);
	}
	mt__stop(t, &s.m, SIGINT, 0);
	root = load_json(t, in_dir(t, "x.json"));
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_REALLOC);
	want_scan(t, root);
	want(t, n_turns > 1, "turns, wanted both kinds");
	printf("  %" PRIu64 " turns, %" PRIu64 " allocations\n", n_turns, allocs);
	for (int i = 0; i < 2; i++)
		printf("  %s: %" PRIu64 " snapshots, %" PRIu64 " with a heap that was read: unsure %" PRIu64 " blocks on average, at most %" PRIu64 "; at least too many, at most %" PRIu64 "\n",
		       i ? "many blocks and hardly a call" : "full rate", l[i].n, l[i].n_read, l[i].n ? l[i].unsure / l[i].n : 0, l[i].most_unsure, l[i].most_over);
	/* from one to three readings are there at a time, of sixteen bytes a block */
	end(t, &s, SLACK_BYTES + TURNS_BLOCKS * 16);
	fx__quit(t, &f);
}

/* What the members of a crowd say that they allocated. */
static void add_account(struct test *t, const char *path, uint64_t *calls, uint64_t *bytes)
{
	char *text = read_all(path, NULL), *line, *save = NULL;
	unsigned int n = 0;

	must(t, text, "the crowd's account cannot be read");
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save), n++) {
		uint64_t c, b;

		must(t, sscanf(line, "%*u %" SCNu64 " %" SCNu64, &c, &b) == 2, "the crowd's account: '%.80s'", line);
		*calls += c;
		*bytes += b;
	}
	must(t, n == CROWD, "the crowd's account has %u of %u lines", n, CROWD);
	free(text);
}

static uint64_t sum_of_leaf(struct test *t, json_t *root, const char *counter)
{
	uint64_t sum = 0;
	json_t *site, *frame;
	size_t i, k;

	json_array_foreach(jget(root, "sites"), i, site)
		json_array_foreach(jget(site, "stack"), k, frame)
			if (!strcmp(jstr(frame, "function"), "crowd_leaf")) {
				sum += ju64(t, site, counter);
				break;
			}
	return sum;
}

/* Each kind, if there was any. */
static void tell_losses(json_t *root)
{
	const char *key;
	json_t *n;

	json_object_foreach(jget(root, "losses"), key, n)
		if (json_is_integer(n) && json_integer_value(n) && strcmp(key, "total"))
			printf("  %s %" JSON_INTEGER_FORMAT "\n", key, json_integer_value(n));
}

/*
 * Thousands of processes that come and go: of the whole machine where there is time for it, as each snapshot has all that
 * runs there; else of the crowd alone.
 */
TEST_AS(soak_short_processes, .alone = true, .limit_s = LIMIT_S)
{
	uint64_t calls = 0, bytes = 0, n = 0;
	struct soak s = {};
	json_t *root;

	if (lt_scale_pct > 500)
		mt__start(t, &s.m, "-a", "--batch", "--no-source", "--no-inlines", "-o", in_dir(t, "x.json"), NULL);
	else
		mt__start(t, &s.m, "--comm", "crowd", "--batch", "-o", in_dir(t, "x.json"), NULL);
	mt__wait_attached(t, &s.m);
	for (begin(t, &s, SECONDS); goes_on(&s); n += CROWD) {
		const char *account = in_dir(t, "account");
		struct fx f;

		fx__start(t, &f, "crowd", account, number_arg(CROWD), number_arg(STACKS), "go", NULL);
		fx__go(t, &f);
		fx__quit(t, &f);
		add_account(t, account, &calls, &bytes);
		check_second(t, &s, NULL, NULL);
	}
	root = snapshot(t, &s);
	/* on a machine that has more stacks or blocks than there is room for, some of theirs are missing, and the report says so */
	if (ju64(t, root, "losses.site_full") || ju64(t, root, "losses.stack_full") || ju64(t, root, "losses.live_full")) {
		printf("  no room for all stacks and blocks of this machine: nothing is compared\n");
	} else {
		want_eq(t, "calls of all of them", calls, sum_of_leaf(t, root, "alloc_calls"));
		want_eq(t, "bytes of all of them", bytes, sum_of_leaf(t, root, "alloc_bytes"));
	}
	printf("  %" PRIu64 " processes of the crowd, %" PRIu64 " allocations; losses %" PRIu64 "\n", n, calls, ju64(t, root, "losses.total"));
	tell_losses(root);
	end(t, &s, UINT64_MAX);
	child__kill(t, &s.m.c, SIGINT);
	/* others may lose something: what is promised here is the crowd's account */
	want(t, child__wait(t, &s.m.c) % 3 == 0, "exit status, wanted 0 or 3: %s", s.m.c.errs.s);
}
