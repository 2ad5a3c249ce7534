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

static char *heaptrack_env[3];

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
 * are kept until its free; calls and bytes are summed by stack, at both ends.
 * That is what a leak report by stack takes, and no more: no peak, no ages, no
 * threads, no histograms. The stack is taken once. Two timers, one on each side
 * of the probes, tell when all are attached, in whatever order bpftrace goes.
 */
static const char script[] =
	"interval:ms:50 /!@early/ { @early = 1; printf(\"early ready\\n\"); }\n"
	"uprobe:%1$s:malloc { @size[tid] = arg0; }\n"
	"uretprobe:%1$s:malloc /@size[tid]/ {\n"
	"	$stack = ustack; $size = @size[tid];\n"
	"	@block[retval] = ($size, $stack);\n"
	"	@calls[$stack] = count(); @bytes[$stack] = sum($size); @allocs = count();\n"
	"	delete(@size[tid]);\n"
	"}\n"
	"uprobe:%1$s:free /@block[arg0].0/ {\n"
	"	$block = @block[arg0];\n"
	"	@freed_calls[$block.1] = count(); @freed_bytes[$block.1] = sum($block.0); @frees = count();\n"
	"	delete(@block[arg0]);\n"
	"}\n"
	"interval:ms:50 /!@late/ { @late = 1; printf(\"late ready\\n\"); }\n"
	"END { clear(@block); clear(@size); clear(@bytes); clear(@calls); clear(@freed_bytes); clear(@freed_calls); }\n";

static const char *missing_bpftrace(void)
{
	return system("command -v bpftrace >/dev/null") ? "bpftrace is not installed" : NULL;
}

static int attach_bpftrace(struct session *s, struct err *e)
{
	/* room for every live block: with the 4,096 keys that it has by default it would do less work, wrongly */
	static char max_keys[] = "BPFTRACE_MAP_KEYS_MAX=1000000";
	char *env[] = { max_keys, NULL };
	_cleanup_free_ char *text = NULL;

	if (asprintf(&text, script, s->paths->libc) < 0) {
		text = NULL;
		return err_set(e, -ENOMEM, "out of memory");
	}
	if (child__start_tool((char *[]){ "bpftrace", "-e", text, NULL }, env, &s->tool, e) ||
	    child__wait_for_text(&s->tool, "early ready", ATTACH_TIMEOUT_MS, e) ||
	    child__wait_for_text(&s->tool, "late ready", ATTACH_TIMEOUT_MS, e))
		return err_wrap(e, "bpftrace");
	return 0;
}

static int detach_bpftrace(struct session *s, const struct answer *ledger, struct err *e)
{
	_cleanup_free_ char *text = NULL;
	uint64_t allocs, frees;
	int status = child__finish(&s->tool, SIGINT, FINISH_TIMEOUT_MS, &text, e);

	if (status < 0)
		return err_wrap(e, "bpftrace");
	if (number_after(text, "@allocs", ":", &allocs) || number_after(text, "@frees", ":", &frees))
		return err_set(e, -EBADMSG, "no totals at its end");
	if (compare("allocations", allocs, ledger->n_mallocs, e) || compare("frees", frees, ledger->n_frees, e))
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

	for (size_t i = 0; i < ARRAY_SIZE(heaptrack_libs); i++) {
		if (access(heaptrack_libs[i], R_OK))
			continue;
		snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", heaptrack_libs[i]);
		heaptrack_env[0] = preload;
		heaptrack_env[1] = dump;
	}
	return heaptrack_env;
}

const struct tool tools[N_TOOLS] = {
	[TOOL_BARE] = { "bare" },
	[TOOL_FLOOR] = { "empty probes, malloctrace's points", .attach = attach_floor, .detach = detach_floor },
	[TOOL_USUAL] = { "empty probes, entry + uretprobe", .attach = attach_usual, .detach = detach_floor },
	[TOOL_USUAL_PERF] = { "  the same through perf events", missing_perf, .attach = attach_usual_perf, .detach = detach_floor },
	[TOOL_MALLOCTRACE] = { "malloctrace -p", .attach = attach_malloctrace, .detach = detach_malloctrace, .counts = true },
	[TOOL_BPFTRACE] = { "bpftrace", missing_bpftrace, .attach = attach_bpftrace, .detach = detach_bpftrace, .counts = true },
	[TOOL_HEAPTRACK] = { "heaptrack, preloaded", missing_heaptrack, .target_env = target_env_heaptrack },
};

int session__open(struct session *s, const struct paths *paths, const struct tool *t, char *const cpus[], struct err *e)
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
