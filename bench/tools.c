// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns a session: the target, and what is attached to it. When session__close()
 * returns, both are gone, whatever happened before.
 *
 * The target runs on a copy of libc of its own. bpftrace 0.17 puts its probes
 * into the file for every process, also with -p: on the system's libc they
 * would slow down the whole machine, and this benchmark with it. All tools get
 * the same copy, so that they are measured on the same code.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/tools.h"
#include "probe/features.h"
#include "util/util.h"

#define ATTACH_TIMEOUT_MS 30000
#define FINISH_TIMEOUT_MS 30000

/* The number behind `key`, which comes after `part`. The writers are the tools measured here: their shape is known. */
static int number_after(const char *text, const char *part, const char *key, uint64_t *ret)
{
	const char *at = strstr(text, part);

	at = at ? strstr(at, key) : NULL;
	return at && sscanf(at + strlen(key), " %" SCNu64, ret) == 1 ? 0 : -ENOENT;
}

static int compare(const char *what, uint64_t got, uint64_t want, struct err *e)
{
	return got == want ? 0 : err_set(e, -EBADMSG, "%s %" PRIu64 ", not %" PRIu64, what, got, want);
}

/* ---- empty probes */

static int attach_floor(struct session *s, struct err *e)
{
	return floor__attach(LAYOUT_OURS, s->target.pid, s->paths->libc, &s->floor, e);
}

static int attach_usual(struct session *s, struct err *e)
{
	return floor__attach(LAYOUT_USUAL, s->target.pid, s->paths->libc, &s->floor, e);
}

static int attach_usual_perf(struct session *s, struct err *e)
{
	return floor__attach(LAYOUT_USUAL_PERF, s->target.pid, s->paths->libc, &s->floor, e);
}

static int detach_floor(struct session *s, const struct answer *ledger, struct err *e)
{
	floor__detach(s->floor);
	s->floor = NULL;
	return 0;
}

static const char *missing_perf(void)
{
	if (!feature__has(FEATURE_PERF_UPROBE))
		return "no perf uprobes";
	return feature__has(FEATURE_UPROBE_MULTI) ? NULL : "the links above are perf events already";
}

/* ---- malloctrace, as a user would attach it */

static int attach_malloctrace(struct session *s, struct err *e)
{
	char pid[16];
	char *argv[] = { s->paths->malloctrace, "-p", pid, "--json", NULL };

	snprintf(pid, sizeof(pid), "%d", (int)s->target.pid);
	if (child__start_tool(argv, NULL, &s->tool, e) ||
	    child__wait_for_text(&s->tool, "malloctrace: attached", ATTACH_TIMEOUT_MS, e))
		return err_wrap(e, "malloctrace");
	return 0;
}

static int detach_malloctrace(struct session *s, const struct answer *ledger, struct err *e)
{
	_cleanup_free_ char *text = NULL;
	uint64_t allocs, frees, losses;
	int status = child__finish(&s->tool, SIGINT, FINISH_TIMEOUT_MS, &text, e);

	if (status < 0)
		return err_wrap(e, "malloctrace");
	if (status)
		return err_set(e, -EBADMSG, "exit status %d", status);
	if (number_after(text, "\"totals\":", "\"alloc_calls\":", &allocs) ||
	    number_after(text, "\"totals\":", "\"free_calls\":", &frees) ||
	    number_after(text, "\"losses\":", "\"total\":", &losses))
		return err_set(e, -EBADMSG, "no totals in its JSON");
	if (compare("alloc_calls", allocs, ledger->n_mallocs, e) || compare("free_calls", frees, ledger->n_frees, e) ||
	    compare("losses", losses, 0, e))
		return e->code;
	return 0;
}

/* ---- bpftrace: the same question asked in its language */

/*
 * The size is known at entry, the address at return; a block's size and stack
 * are kept until its free; calls are counted by stack. The stack is taken once.
 * %2$s and %3$s: what a report of live bytes by stack takes on top of that, at
 * both ends. Neither keeps peaks, ages, threads or histograms. Two timers, one
 * on each side of the probes, tell when all are attached, in whatever order
 * bpftrace goes about it.
 */
static const char script[] =
	"interval:ms:50 /!@early/ { @early = 1; printf(\"early ready\\n\"); }\n"
	"uprobe:%1$s:malloc { @size[tid] = arg0; }\n"
	"uretprobe:%1$s:malloc /@size[tid]/ {\n"
	"	$stack = ustack;\n"
	"	@block[retval] = (@size[tid], $stack);\n"
	"	@calls[$stack] = count();\n"
	"	%2$s\n"
	"	delete(@size[tid]);\n"
	"}\n"
	"uprobe:%1$s:free /@block[arg0].0/ {\n"
	"	@frees = count();\n"
	"	%3$s\n"
	"	delete(@block[arg0]);\n"
	"}\n"
	"interval:ms:50 /!@late/ { @late = 1; printf(\"late ready\\n\"); }\n"
	"END { clear(@block); clear(@size); }\n";

static const char live_at_return[] = "@bytes[$stack] = sum(@size[tid]);";
static const char live_at_free[] = "$b = @block[arg0]; @freed[$b.1] = count(); @freed_bytes[$b.1] = sum($b.0);";

static const char *missing_bpftrace(void)
{
	return system("command -v bpftrace >/dev/null") ? "bpftrace is not installed" : NULL;
}

static int start_bpftrace(struct session *s, const char *at_return, const char *at_free, struct err *e)
{
	/* room for 100,000 blocks: with the 4,096 keys of its default it would do less work, and count wrongly */
	static char max_keys[] = "BPFTRACE_MAP_KEYS_MAX=131072";
	char *env[] = { max_keys, NULL };
	_cleanup_free_ char *text = NULL;

	if (asprintf(&text, script, s->paths->libc, at_return, at_free) < 0) {
		text = NULL;
		return err_set(e, -ENOMEM, "out of memory");
	}
	if (child__start_tool((char *[]){ "bpftrace", "-e", text, NULL }, env, &s->tool, e) ||
	    child__wait_for_text(&s->tool, "early ready", ATTACH_TIMEOUT_MS, e) ||
	    child__wait_for_text(&s->tool, "late ready", ATTACH_TIMEOUT_MS, e))
		return err_wrap(e, "bpftrace");
	return 0;
}

static int attach_bpftrace(struct session *s, struct err *e)
{
	return start_bpftrace(s, "", "", e);
}

static int attach_bpftrace_live(struct session *s, struct err *e)
{
	return start_bpftrace(s, live_at_return, live_at_free, e);
}

/* "@calls[\n frames \n]: 123" for each stack */
static uint64_t sum_by_stack(const char *text, const char *map)
{
	uint64_t sum = 0, n;

	while ((text = strstr(text, map))) {
		text += strlen(map);
		if (!number_after(text, "]", ":", &n))
			sum += n;
	}
	return sum;
}

static int detach_bpftrace(struct session *s, const struct answer *ledger, struct err *e)
{
	_cleanup_free_ char *text = NULL;
	uint64_t frees;
	int status = child__finish(&s->tool, SIGINT, FINISH_TIMEOUT_MS, &text, e);

	if (status < 0)
		return err_wrap(e, "bpftrace");
	if (number_after(text, "@frees", ":", &frees))
		return err_set(e, -EBADMSG, "no total at its end");
	if (compare("allocations", sum_by_stack(text, "@calls["), ledger->n_mallocs, e) ||
	    compare("frees", frees, ledger->n_frees, e))
		return e->code;
	return 0;
}

/* ---- heaptrack: preloaded, no traps; its raw records go nowhere, which is the cheapest it can be */

static const char *const heaptrack_libs[] = {
	"/usr/lib/heaptrack/libheaptrack_preload.so",
	"/usr/lib64/heaptrack/libheaptrack_preload.so",
};

static const char *missing_heaptrack(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(heaptrack_libs); i++)
		if (!access(heaptrack_libs[i], R_OK))
			return NULL;
	return "heaptrack is not installed";
}

static char **target_env_heaptrack(void)
{
	static char preload[128], dump[] = "DUMP_HEAPTRACK_OUTPUT=/dev/null";
	static char *env[3] = { preload, dump };

	for (size_t i = 0; i < ARRAY_SIZE(heaptrack_libs); i++) {
		if (access(heaptrack_libs[i], R_OK))
			continue;
		snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", heaptrack_libs[i]);
		break;
	}
	return env;
}

const struct tool tools[N_TOOLS] = {
	[TOOL_BARE] = { .name = "bare" },
	[TOOL_FLOOR] = {
		.name = "empty probes, malloctrace's points",
		.attach = attach_floor,
		.detach = detach_floor,
	},
	[TOOL_USUAL] = {
		.name = "empty probes, entry + uretprobe",
		.attach = attach_usual,
		.detach = detach_floor,
	},
	[TOOL_USUAL_PERF] = {
		.name = "empty probes, the same by perf events",
		.missing = missing_perf,
		.attach = attach_usual_perf,
		.detach = detach_floor,
	},
	[TOOL_MALLOCTRACE] = {
		.name = "malloctrace -p",
		.attach = attach_malloctrace,
		.detach = detach_malloctrace,
		.counts = true,
	},
	[TOOL_BPFTRACE] = {
		.name = "bpftrace",
		.missing = missing_bpftrace,
		.attach = attach_bpftrace,
		.detach = detach_bpftrace,
		.counts = true,
	},
	[TOOL_BPFTRACE_LIVE] = {
		.name = "bpftrace, live bytes by stack too",
		.missing = missing_bpftrace,
		.attach = attach_bpftrace_live,
		.detach = detach_bpftrace,
		.counts = true,
	},
	[TOOL_HEAPTRACK] = {
		.name = "heaptrack, preloaded",
		.missing = missing_heaptrack,
		.target_env = target_env_heaptrack,
	},
};

int session__open(struct session *s, const struct paths *paths, const struct tool *t, char *const cpus[],
		  struct err *e)
{
	_cleanup_free_ char *lib_path = NULL;
	char *argv[TARGET_MAX_THREADS + 2] = { paths->target }, *env[8] = { 0 }, ready;
	size_t n = 1;

	*s = (struct session){ .paths = paths, .target = CHILD_NONE, .tool = CHILD_NONE };
	for (size_t i = 0; cpus[i] && i < TARGET_MAX_THREADS; i++)
		argv[i + 1] = cpus[i];
	if (asprintf(&lib_path, "LD_LIBRARY_PATH=%s", paths->lib_dir) < 0) {
		lib_path = NULL;
		return err_set(e, -ENOMEM, "out of memory");
	}
	env[0] = lib_path;
	for (char **more = t->target_env ? t->target_env() : NULL; more && *more && n < ARRAY_SIZE(env) - 1; more++)
		env[n++] = *more;
	if (child__start_target(argv, env, &s->target, e))
		return e->code;
	if (read(s->target.out, &ready, 1) != 1)
		return err_set(e, -EIO, "the target does not start");
	return t->attach ? t->attach(s, e) : 0;
}

int session__order(struct session *s, const struct order *o, struct answer *ret, struct err *e)
{
	if (write(s->target.in, o, sizeof(*o)) != sizeof(*o) || read(s->target.out, ret, sizeof(*ret)) != sizeof(*ret))
		return err_set(e, -EIO, "the target ended before its time");
	return 0;
}

void session__close(struct session *s)
{
	floor__detach(s->floor);
	s->floor = NULL;
	child__kill(&s->tool);
	child__kill(&s->target);
}
