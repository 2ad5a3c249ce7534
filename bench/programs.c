// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Whole programs: sqlite3 (glibc's allocator, a ledger of its own), gcc's compiler
 * proper (glibc's), and redis-server: Debian's (jemalloc), or one that was given
 * (glibc's). Owns them while they are measured.
 *
 * Always holds: as in pairs.c, every tool has its turn in every round, on a fresh
 * process. CPU time of the program is what is compared: where other processes take
 * their share of the machine, requests a second fall, and tell nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/results.h"
#include "util/util.h"

#define SQLITE_ROWS 10000
#define SQLITE_SLICES 2
#define SQLITE_LONG_SLICES 20	/* a second or two, as one sample */
#define GCC_TIMEOUT_MS 120000
#define REDIS_REQUESTS 60000
#define REDIS_LONG_REQUESTS 600000
#define REDIS_WARM_UP 20000
#define BENCHMARK_TIMEOUT_MS 120000

static const enum tool_id rows[] = {
	TOOL_BARE, TOOL_FULL, TOOL_USABLE, TOOL_LEAK, TOOL_COUNT, TOOL_SAMPLE, TOOL_OVERHEAD, TOOL_GROWTH,
	TOOL_BEFORE_FULL, TOOL_BEFORE_USABLE, TOOL_BEFORE_COUNT, TOOL_BEFORE_SAMPLE, TOOL_BPFTRACE, TOOL_BPFTRACE_CALLS,
	TOOL_HEAPTRACK,
};

/* One tool on one fresh process. */
typedef int (*turn_fn)(struct bench *b, struct session *s, uint32_t round, struct truth *ret, struct err *e);

static int run_tool(struct bench *b, enum tool_id id, const struct subject *subject, char *const argv[], turn_fn turn,
		    const char *part, uint32_t round, struct err *e)
{
	struct truth truth;
	struct session s;
	int r = session__open(&s, &b->paths, id, subject, argv, b->cpus[0], e);

	if (!r)
		r = session__attach(&s, e);
	if (!r)
		r = turn(b, &s, round, &truth, e);
	if (!r)
		r = bench__note_wrong(b, id, part, session__detach(&s, &truth, e), e);
	session__close(&s);
	return r ? err_wrap(e, e->code ?: -EIO, "%s, %s", part, tools[id].name) : 0;
}

static int run_all(struct bench *b, const struct subject *subject, char *const argv[], turn_fn turn, const char *part,
		   struct err *e)
{
	for (uint32_t round = 0; round < b->n_rounds; round++) {
		bench__progress(part, round, b->n_rounds);
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			enum tool_id id = rows[(i + round) % ARRAY_SIZE(rows)];

			if (bench__wants(b, id, part) && run_tool(b, id, subject, argv, turn, part, round, e))
				return e->code;
		}
	}
	return 0;
}

/* ---- sqlite3 */

static int turn_sqlite(struct bench *b, struct session *s, uint32_t round, struct truth *ret, struct err *e)
{
	struct order o = { .kind = ORDER_PAIRS, .n_pairs = SQLITE_ROWS / 10 };
	bool as_one = tools[s->tool_id].long_slices;
	int n = as_one ? SQLITE_LONG_SLICES : SQLITE_SLICES;
	uint64_t cpu_ns = 0;
	struct answer a;

	if (session__order(s, &o, &a, e))
		return e->code;
	o.n_pairs = SQLITE_ROWS;
	for (int i = 0; i < n; i++) {
		if (session__order(s, &o, &a, e))
			return e->code;
		cpu_ns += a.cpu_ns;
		if (as_one && i < n - 1)
			continue;
		if (bench__add(b, s->tool_id, LOAD_SQLITE, round, cpu_ns / 1e6 / (as_one ? n : 1), e))
			return e->code;
		cpu_ns = 0;
	}
	/* sqlite3 may put a header before its blocks: how many bytes it asks for is not known */
	*ret = (struct truth){ .n_allocs = a.n_mallocs, .n_frees = a.n_frees };
	return 0;
}

int programs__run_sqlite(struct bench *b, struct err *e)
{
	static const struct subject subject = { .library = "libc.so.6", .max_live = 131072, .whole = true };
	char *argv[] = { b->paths.sqlite, NULL };

	if (!bench__wants_any(b, "sqlite"))
		return 0;
	if (!b->paths.sqlite) {
		b->left_out[LOAD_SQLITE] = strdup("not built");
		return 0;
	}
	return run_all(b, &subject, argv, turn_sqlite, "sqlite", e);
}

/* ---- gcc */

static int feed(int fd, const char *path, struct err *e)
{
	_cleanup_close_ int from = open(path, O_RDONLY | O_CLOEXEC);
	char buf[65536];
	ssize_t n = from < 0 ? -1 : 1;

	while (n > 0) {
		n = read(from, buf, sizeof(buf));
		if (n > 0 && write(fd, buf, (size_t)n) != n)
			n = -1;
	}
	return n < 0 ? err_set(e, -errno, "%s: %s", path, strerror(errno)) : 0;
}

/* From where it waits for its source to its end. */
static int turn_gcc(struct bench *b, struct session *s, uint32_t round, struct truth *ret, struct err *e)
{
	uint64_t cpu_ns = child__cpu_ns(&s->target);

	if (feed(s->target.in, b->paths.source, e) || child__wait_for_end(&s->target, GCC_TIMEOUT_MS, e))
		return e->code;
	cpu_ns = child__cpu_ns(&s->target) - cpu_ns;
	*ret = (struct truth){ .n_allocs = 1, .at_least = true };
	return bench__add(b, s->tool_id, LOAD_GCC, round, (double)cpu_ns / 1e6, e);
}

/* The path of cc1, the caller's; NULL: there is none. */
static char *find_cc1(void)
{
	_cleanup_child_ struct child c = CHILD_NONE;
	_cleanup_err_ struct err e = { 0 };
	char *argv[] = { "gcc", "-print-prog-name=cc1", NULL }, *path = NULL;

	if (child__start_tool(argv, NULL, NULL, &c, &e) || child__finish(&c, 0, GCC_TIMEOUT_MS, &path, &e)) {
		free(path);
		return NULL;
	}
	path[strcspn(path, "\n")] = '\0';
	return path;
}

int programs__run_gcc(struct bench *b, struct err *e)
{
	static const struct subject subject = { .library = "libc.so.6", .max_live = 1048576, .whole = true, .reads = true };
	_cleanup_free_ char *cc1 = NULL;
	char *argv[] = { NULL, "-fpreprocessed", "-quiet", "-O2", "-g", "-", "-o", "/dev/null", NULL };

	if (!bench__wants_any(b, "gcc"))
		return 0;
	cc1 = argv[0] = find_cc1();
	if (!cc1 || access(cc1, X_OK) || !b->paths.source) {
		b->left_out[LOAD_GCC] = strdup("no gcc, or no source for it");
		return 0;
	}
	return run_all(b, &subject, argv, turn_gcc, "gcc", e);
}

/* ---- redis */

static char socket_path[64];

/* `"SET","123456.78",...`: requests a second */
static int ask_redis(struct bench *b, uint64_t n, double *ret_rate, struct err *e)
{
	_cleanup_child_ struct child c = CHILD_NONE;
	_cleanup_free_ char *text = NULL;
	char n_text[24];
	char *argv[] = { "redis-benchmark", "-s", socket_path, "-t", "set", "-n", n_text, "-r", "10000",
			 "-d", "100", "-P", "8", "-c", "20", "-q", "--csv", NULL };
	const char *at;
	int status;

	snprintf(n_text, sizeof(n_text), "%" PRIu64, n);
	if (child__start_tool(argv, NULL, b->cpus[1], &c, e))
		return e->code;
	status = child__finish(&c, 0, BENCHMARK_TIMEOUT_MS, &text, e);
	if (status < 0)
		return status;
	at = strstr(text, "\"SET\",\"");
	if (status || !at || sscanf(at, "\"SET\",\"%lf", ret_rate) != 1)
		return err_set(e, -EIO, "redis-benchmark: %s", text);
	return 0;
}

static int turn_redis(struct bench *b, struct session *s, uint32_t round, struct truth *ret, struct err *e)
{
	uint64_t n = tools[s->tool_id].long_slices ? REDIS_LONG_REQUESTS : REDIS_REQUESTS, cpu_ns;
	double rate;

	if (ask_redis(b, REDIS_WARM_UP, &rate, e))
		return e->code;
	cpu_ns = child__cpu_ns(&s->target);
	if (ask_redis(b, n, &rate, e))
		return e->code;
	cpu_ns = child__cpu_ns(&s->target) - cpu_ns;
	b->redis_rate[s->tool_id] = MAX(b->redis_rate[s->tool_id], rate);
	/* a request makes a key or replaces its value: one allocation at least, and it keeps no ledger */
	*ret = (struct truth){ REDIS_WARM_UP + n, .at_least = true };
	return bench__add(b, s->tool_id, LOAD_REDIS, round, (double)cpu_ns / n, e);
}

int programs__run_redis(struct bench *b, struct err *e)
{
	struct subject subject = {
		.library = "libjemalloc.so.2",
		.ready = "ready to accept connections",
		.max_live = 262144,
		.whole = true,
	};
	_cleanup_free_ char *library = NULL;
	char *argv[] = { "redis-server", "--port", "0", "--unixsocket", socket_path, "--save", "",
			 "--appendonly", "no", "--daemonize", "no", "--dir", "/tmp", NULL }, *given;
	int r;

	if (!bench__wants_any(b, "redis"))
		return 0;
	given = getenv("BENCH_REDIS");
	if (given) {
		argv[0] = given;
		subject.library = "libc.so.6";
	}
	if (asprintf(&library, "%s/%s", b->paths.lib_dir, subject.library) < 0)
		library = NULL;
	if (!library || access(library, R_OK) || (!given && system("command -v redis-server >/dev/null")) || system("command -v redis-benchmark >/dev/null")) {
		b->left_out[LOAD_REDIS] = strdup("redis-server, redis-benchmark or libjemalloc is not installed");
		return 0;
	}
	snprintf(socket_path, sizeof(socket_path), "/tmp/malloctrace-bench.%d.sock", (int)getpid());
	r = run_all(b, &subject, argv, turn_redis, "redis", e);
	unlink(socket_path);
	return r;
}
