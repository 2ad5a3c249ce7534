// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns a session: the target, and what is attached to it. When session__close()
 * returns, both are gone, whatever happened before.
 *
 * Targets run on copies of their libraries. bpftrace 0.17 puts its probes into
 * the file for every process, also with -p: on the system's libc they would slow
 * down the whole machine, and this benchmark with it. Its targets have a copy
 * that nobody else maps, so that it may stay attached while others are measured.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bpftrace.h"
#include "bench/text.h"
#include "bench/tools.h"
#include "probe/features.h"
#include "util/util.h"

#define READY_TIMEOUT_MS 20000

/* ---- empty probes */

static int attach_floor(struct session *s, struct err *e)
{
	return floor__attach(tools[s->tool_id].layout, s->target.pid, s->library, &s->floor, e);
}

static int detach_floor(struct session *s, const struct truth *truth, struct err *e)
{
	floor__detach(s->floor);
	s->floor = NULL;
	return 0;
}

static char *missing_perf(const struct paths *paths, const struct tool *t)
{
	if (!feature__has(FEATURE_PERF_UPROBE))
		return strdup("no perf uprobes");
	return feature__has(FEATURE_UPROBE_MULTI) ? NULL : strdup("the links above are perf events already");
}

/* ---- bpftrace */

static char *missing_bpftrace(const struct paths *paths, const struct tool *t)
{
	return system("command -v bpftrace >/dev/null") ? strdup("bpftrace is not installed") : NULL;
}

static int attach_bpftrace(struct session *s, struct err *e)
{
	struct bpftrace_opts o = {
		.library = s->library,
		.max_live = s->subject->max_live,
		.by_stack = s->tool_id == TOOL_BPFTRACE,
		.whole = s->subject->whole,
	};

	return bpftrace__start(&o, &s->tool, e);
}

static int detach_bpftrace(struct session *s, const struct truth *truth, struct err *e)
{
	uint64_t n_allocs, n_frees;

	if (bpftrace__finish(&s->tool, &n_allocs, &n_frees, e))
		return e->code;
	if (truth->at_least && n_allocs >= truth->n_allocs && n_frees >= truth->n_frees)
		return 0;
	if (text__compare("allocations", n_allocs, truth->n_allocs, e) || text__compare("frees", n_frees, truth->n_frees, e))
		return e->code;
	return 0;
}

/* ---- heaptrack: preloaded, no traps; its raw records go nowhere, which is the cheapest it can be */

static const char *const heaptrack_libs[] = {
	"/usr/lib/heaptrack/libheaptrack_preload.so",
	"/usr/lib64/heaptrack/libheaptrack_preload.so",
};

static char *missing_heaptrack(const struct paths *paths, const struct tool *t)
{
	for (size_t i = 0; i < ARRAY_SIZE(heaptrack_libs); i++)
		if (!access(heaptrack_libs[i], R_OK))
			return NULL;
	return strdup("heaptrack is not installed");
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

/* ---- the rows */

#define FLOOR(n, s, l) { .name = n, .slug = s, .attach = attach_floor, .detach = detach_floor, .layout = l }
#define MALLOCTRACE(n, s, c, ...)								\
	{ .name = n, .slug = s, .missing = malloctrace__missing, .attach = malloctrace__attach,	\
	  .detach = malloctrace__detach, .check = c, .args = { __VA_ARGS__ } }

#define BEFORE(n, s, i, c, ...)									\
	{ .name = "before: malloctrace" n, .slug = s, .missing = malloctrace__missing, .attach = malloctrace__attach,	\
	  .detach = malloctrace__detach, .now = i, .check = c, .args = { __VA_ARGS__ } }

const struct tool tools[N_TOOLS] = {
	[TOOL_BARE] = { .name = "bare", .slug = "bare" },
	[TOOL_ONE_TRAP] = FLOOR("empty probes, one trap: return", "floor-1", LAYOUT_ONE),
	[TOOL_TWO_TRAPS] = FLOOR("empty probes, two traps: return and free", "floor-2", LAYOUT_TWO),
	[TOOL_THREE_TRAPS] = FLOOR("empty probes, three traps: malloctrace's points", "floor-3", LAYOUT_OURS),
	[TOOL_USUAL] = FLOOR("empty probes, entry + uretprobe + free", "floor-usual", LAYOUT_USUAL),
	[TOOL_USUAL_PERF] = {
		.name = "empty probes, the same by perf events",
		.slug = "floor-usual-perf",
		.missing = missing_perf,
		.attach = attach_floor,
		.detach = detach_floor,
		.layout = LAYOUT_USUAL_PERF,
	},
	[TOOL_FULL] = MALLOCTRACE("malloctrace", "malloctrace", CHECK_FULL, NULL),
	[TOOL_WITHOUT_PEAK] = MALLOCTRACE("malloctrace built without the peak", "malloctrace-without-peak", CHECK_FULL, NULL),
	[TOOL_USABLE] = MALLOCTRACE("malloctrace --size usable", "malloctrace-usable", CHECK_USABLE, "--size", "usable"),
	[TOOL_LEAK] = MALLOCTRACE("malloctrace --mode leak", "malloctrace-leak", CHECK_USABLE, "--mode", "leak"),
	[TOOL_COUNT] = MALLOCTRACE("malloctrace --mode count", "malloctrace-count", CHECK_COUNT, "--mode", "count"),
	[TOOL_SAMPLE] = MALLOCTRACE("malloctrace --sample 64K", "malloctrace-sample", CHECK_ESTIMATE, "--sample", "64K"),
	[TOOL_OVERHEAD] = {
		.name = "malloctrace --overhead 5",
		.slug = "malloctrace-overhead",
		.missing = malloctrace__missing,
		.attach = malloctrace__attach,
		.detach = malloctrace__detach,
		.check = CHECK_BUDGET,
		.args = { "--overhead", "5" },
		.long_slices = true,
	},
	[TOOL_GROWTH] = MALLOCTRACE("malloctrace --mode growth", "malloctrace-growth", CHECK_ALIVE, "--mode", "growth"),
	[TOOL_BEFORE_FULL] = BEFORE("", "before", TOOL_FULL, CHECK_FULL, NULL),
	[TOOL_BEFORE_USABLE] = BEFORE(" --size usable", "before-usable", TOOL_USABLE, CHECK_USABLE, "--size", "usable"),
	[TOOL_BEFORE_COUNT] = BEFORE(" --mode count", "before-count", TOOL_COUNT, CHECK_COUNT, "--mode", "count"),
	[TOOL_BEFORE_SAMPLE] = BEFORE(" --sample 64K", "before-sample", TOOL_SAMPLE, CHECK_ESTIMATE, "--sample", "64K"),
	[TOOL_BPFTRACE] = {
		.name = "bpftrace, the same work",
		.slug = "bpftrace",
		.missing = missing_bpftrace,
		.attach = attach_bpftrace,
		.detach = detach_bpftrace,
		.check = CHECK_FULL,
	},
	[TOOL_BPFTRACE_CALLS] = {
		.name = "bpftrace, calls by stack alone",
		.slug = "bpftrace-calls",
		.missing = missing_bpftrace,
		.attach = attach_bpftrace,
		.detach = detach_bpftrace,
		.check = CHECK_FULL,
	},
	[TOOL_HEAPTRACK] = {
		.name = "heaptrack, preloaded",
		.slug = "heaptrack",
		.missing = missing_heaptrack,
		.target_env = target_env_heaptrack,
	},
};

/* ---- sessions */

static bool is_bpftrace(enum tool_id id)
{
	return tools[id].attach == attach_bpftrace;
}

static int start_target(struct session *s, char *const argv[], char *const env[], const char *cpu, struct err *e)
{
	char ready;

	if (s->subject->ready) {
		if (child__start_tool(argv, env, cpu, &s->target, e) ||
		    child__wait_for_text(&s->target, s->subject->ready, READY_TIMEOUT_MS, e))
			return err_wrap(e, e->code ?: -EIO, "%s", argv[0]);
		return 0;
	}
	if (child__start_target(argv, env, cpu, &s->target, e))
		return e->code;
	if (s->subject->reads)
		return child__wait_until_it_sleeps(&s->target, READY_TIMEOUT_MS, e);
	if (read(s->target.out, &ready, 1) != 1)
		return err_set(e, -EIO, "%s does not start", argv[0]);
	return 0;
}

int session__open(struct session *s, const struct paths *paths, enum tool_id id, const struct subject *subject,
		  char *const argv[], const char *cpu, struct err *e)
{
	const char *lib_dir = is_bpftrace(id) ? paths->bpftrace_lib_dir : paths->lib_dir;
	_cleanup_free_ char *lib_path = NULL;
	char *env[8] = { 0 };
	size_t n = 1;

	*s = (struct session){ .paths = paths, .subject = subject, .tool_id = id, .target = CHILD_NONE, .tool = CHILD_NONE };
	if (asprintf(&lib_path, "LD_LIBRARY_PATH=%s", lib_dir) < 0) {
		lib_path = NULL;
		return err_set(e, -ENOMEM, "out of memory");
	}
	if (asprintf(&s->library, "%s/%s", lib_dir, subject->library) < 0) {
		s->library = NULL;
		return err_set(e, -ENOMEM, "out of memory");
	}
	env[0] = lib_path;
	for (char **more = tools[id].target_env ? tools[id].target_env() : NULL; more && *more && n < ARRAY_SIZE(env) - 1; more++)
		env[n++] = *more;
	return start_target(s, argv, env, cpu, e);
}

int session__attach(struct session *s, struct err *e)
{
	return tools[s->tool_id].attach ? tools[s->tool_id].attach(s, e) : 0;
}

int session__order(struct session *s, const struct order *o, struct answer *ret, struct err *e)
{
	if (write(s->target.in, o, sizeof(*o)) != sizeof(*o) || read(s->target.out, ret, sizeof(*ret)) != sizeof(*ret))
		return err_set(e, -EIO, "the target ended before its time");
	return 0;
}

int session__detach(struct session *s, const struct truth *truth, struct err *e)
{
	return tools[s->tool_id].detach ? tools[s->tool_id].detach(s, truth, e) : 0;
}

void session__close(struct session *s)
{
	floor__detach(s->floor);
	s->floor = NULL;
	child__kill(&s->tool);
	child__kill(&s->target);
	free(s->library);
	s->library = NULL;
}
