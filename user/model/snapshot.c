// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns a snapshot's memory, the table of metrics, and how a stack of return
 * addresses unfolds into frames.
 *
 * What always holds: everything that snapshot__alloc and snapshot__strdup gave
 * is zeroed or filled, never NULL, and goes in one stroke with the snapshot.
 */
#include "model/runtimes.h"
#include "model/snapshot.h"

#include <limits.h>
#include <string.h>

#include "bpf/abi.h"
#include "util/util.h"

/* glibc's obstacks count in int, with some room for their own header */
#define ARENA_MAX_BYTES ((size_t)INT_MAX / 2)

_Static_assert(SNAPSHOT_N_ENDS == MT_N_ENDS, "a word for each way a stack ends");

struct snapshot *snapshot__new(void)
{
	struct snapshot *s = xcalloc(1, sizeof(*s));

	obstack_init(&s->arena);
	s->by = "process";
	return s;
}

struct snapshot *snapshot__like(const struct snapshot *s)
{
	struct snapshot *to = snapshot__new();
	struct obstack arena = to->arena;

	*to = *s;
	to->arena = arena;
	return to;
}

void snapshot__free(struct snapshot *s)
{
	if (!s)
		return;
	obstack_free(&s->arena, NULL);
	free(s);
}

/* glibc's macro aligns by adding to a null pointer */
__attribute__((no_sanitize("pointer-overflow"))) void *snapshot__alloc(struct snapshot *s, size_t n, size_t size)
{
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(n, size, &bytes) || bytes > ARENA_MAX_BYTES)
		xmalloc__end_of(SIZE_MAX);
	p = obstack_alloc(&s->arena, bytes);
	memset(p, 0, bytes);
	return p;
}

void *snapshot__copy(struct snapshot *s, const void *rows, size_t n, size_t size)
{
	return n ? memcpy(snapshot__alloc(s, n, size), rows, n * size) : NULL;
}

const char *snapshot__strdup(struct snapshot *s, const char *str)
{
	size_t len;
	char *copy;

	if (!str)
		return NULL;
	len = strlen(str);
	copy = snapshot__alloc(s, len + 1, 1);
	memcpy(copy, str, len);
	return copy;
}

/* ---- what is recorded */

unsigned int counters__of_mode(enum mt_mode mode)
{
	static const unsigned int recorded[] = {
		[MT_MODE_FULL] = HAS_ALL,
		/* calls are counted where they begin: whether they fail is not seen */
		[MT_MODE_COUNT] = HAS_ALLOC_CALLS | HAS_ALLOC_BYTES | HAS_REALLOC_CALLS,
		[MT_MODE_GROWTH] = HAS_ALLOC_CALLS | HAS_ALLOC_BYTES,
		/* what happens to blocks between two looks at the heap is not seen */
		[MT_MODE_LEAK] = HAS_COUNTERS & ~(HAS_PEAK_BYTES | HAS_TEMP_CALLS | HAS_UNKNOWN_FREES),
	};

	return mode < ARRAY_SIZE(recorded) ? recorded[mode] : 0;
}

unsigned int counters__known(const struct recording *r, double observed_share)
{
	unsigned int known = counters__of_mode(r->mode);

	/* the free of a block that was skipped looks like that of one older than the trace */
	if (r->sample_bytes || observed_share < 1 || recording__is_partial(r))
		known &= ~HAS_UNKNOWN_FREES;
	/* nor is a peak seen between windows */
	return observed_share < 1 ? known & ~HAS_PEAK_BYTES : known;
}

const char *growth__name(enum growth_kind kind)
{
	static const char *const names[GROWTH_N_KINDS] = {
		[GROWTH_FAULT] = "page_fault", [GROWTH_BRK] = "brk", [GROWTH_MMAP] = "mmap",
	};

	return kind < GROWTH_N_KINDS ? names[kind] : NULL;
}

enum growth_kind growth__of(const char *function)
{
	enum growth_kind kind = GROWTH_FAULT;

	while (kind < GROWTH_N_KINDS && strcmp(function, growth__name(kind)))
		kind++;
	return kind < GROWTH_N_KINDS ? kind : GROWTH_NONE;
}

/* ---- metrics */

#define ERROR_OF(member) .error_at = offsetof(struct snap_site, error.member)

const struct metric metrics[] = {
	METRIC("live-bytes", "bytes", "live_bytes", HAS_LIVE_BYTES, c.live_bytes, ERROR_OF(live_bytes)),
	METRIC("live-blocks", "blocks", "live_blocks", HAS_LIVE_BLOCKS, c.live_blocks, ERROR_OF(live_blocks)),
	METRIC("alloc-bytes", "bytes", "alloc_bytes", HAS_ALLOC_BYTES, c.alloc_bytes, ERROR_OF(alloc_bytes)),
	METRIC("alloc-calls", "calls", "alloc_calls", HAS_ALLOC_CALLS, c.alloc_calls, ERROR_OF(alloc_calls)),
	/*
	 * a weight must add up over sites: their own peaks fall on different moments and do not,
	 * their shares of the process's peak do
	 */
	METRIC("peak-bytes", "bytes", "at_peak_bytes", HAS_PEAK_BYTES, at_peak_bytes, ERROR_OF(peak_bytes)),
	/* they are some of its calls */
	METRIC("temp-calls", "calls", "temp_calls", HAS_TEMP_CALLS, c.temp_calls, ERROR_OF(alloc_calls)),
	METRIC("unreached-bytes", "bytes", "unreached_bytes", HAS_UNREACHED, unreached_bytes),
	METRIC("unreached-blocks", "blocks", "unreached_blocks", HAS_UNREACHED, unreached_blocks),
};
const size_t n_metrics = ARRAY_SIZE(metrics);

uint64_t metric__of(const struct metric *m, const struct snap_site *s)
{
	return !m->takes || m->takes(s) ? *(const uint64_t *)((const char *)s + m->at) : 0;
}

double metric__error(const struct metric *m, const struct snap_site *s)
{
	return m->error_at ? *(const double *)((const char *)s + m->error_at) : 0;
}

const struct metric *metric__find(const char *name)
{
	for (size_t i = 0; name && i < n_metrics; i++)
		if (!strcmp(metrics[i].name, name))
			return &metrics[i];
	return NULL;
}

const struct metric *metric__preset(unsigned int known)
{
	return metric__find(known & HAS_LIVE_BYTES ? "live-bytes" : "alloc-bytes");
}

/* ---- how stacks end */

static const struct {
	const char *name, *says;
} ends[SNAPSHOT_N_ENDS] = {
	[MT_END_WHOLE] = { "whole", "whole" },
	[MT_END_DEPTH] = { "depth", "deeper than --depth" },
	[MT_END_NO_RULE] = { "no_rule", "no frame pointer" },
	[MT_END_UNREADABLE] = { "unreadable", "unreadable memory" },
	[MT_END_UNSURE] = { "unsure", "at code without unwind tables (JIT)" },
};

const char *stack_end__name(unsigned int end)
{
	return ends[end < SNAPSHOT_N_ENDS ? end : MT_END_NO_RULE].name;
}

const char *stack_end__says(unsigned int end)
{
	return ends[end < SNAPSHOT_N_ENDS ? end : MT_END_NO_RULE].says;
}

/* ---- frames */

size_t place__n_frames(const struct place *p)
{
	return p->resolved && p->n_lines ? p->n_lines : 1;
}

struct frame place__frame(const struct snapshot *s, const struct place *p, size_t i)
{
	struct frame f = { .place = p };

	if (p->module >= 0 && (size_t)p->module < s->n_modules)
		f.module = s->modules[p->module].path;
	if (p->resolved && i < p->n_lines) {
		f.line = &p->lines[i];
		f.inlined = i + 1 < p->n_lines;
	}
	return f;
}

const char *frame__origin(const struct frame *f)
{
	return is_python_module(f->module) && f->line && f->line->file ? f->line->file : f->module;
}

/* Stacks go on elsewhere from here, by rules that no table has: the reason is known by the function's name. */
static const struct {
	const char *function, *says;
} last_frames[] = {
	{ "runtime.asmcgocall", "unsure: it continues on a goroutine's stack, which is not followed" },
};

/* The function that runs frames of Python stands in a stack where they were looked for and not found, all of them. */
static bool lacks_python(const struct snapshot *s, const struct snap_site *site)
{
	static const char eval[] = "_PyEval_EvalFrameDefault";
	bool any = false;

	/* --python off: they were not looked for */
	for (size_t i = 0; i < s->n_modules && !any; i++)
		any = is_python_module(s->modules[i].path);
	for (uint32_t i = 0; i < site->n_stack && any; i++) {
		struct frame f = place__frame(s, &s->places[site->stack[i]], 0);

		if (f.line && f.line->function && !strncmp(f.line->function, eval, strlen(eval)))
			return true;
	}
	return false;
}

const char *site__end_says(const struct snapshot *s, const struct snap_site *site)
{
	const struct place *last = site->n_stack ? &s->places[site->stack[site->n_stack - 1]] : NULL;
	struct frame f = last ? place__frame(s, last, place__n_frames(last) - 1) : (struct frame){};

	for (size_t i = 0; site->end == MT_END_UNSURE && f.line && f.line->function && i < ARRAY_SIZE(last_frames); i++)
		if (!strcmp(f.line->function, last_frames[i].function))
			return last_frames[i].says;
	if (site->end == MT_END_UNSURE && lacks_python(s, site))
		return "unsure: some of its frames of Python were not found";
	return stack_end__says(site->end);
}

size_t site__n_frames(const struct snapshot *s, const struct snap_site *site)
{
	size_t n = 0;

	for (uint32_t i = 0; i < site->n_stack; i++)
		n += place__n_frames(&s->places[site->stack[i]]);
	return n;
}

struct frame site__frame(const struct snapshot *s, const struct snap_site *site, size_t at)
{
	for (uint32_t i = 0; i < site->n_stack; i++) {
		const struct place *p = &s->places[site->stack[i]];
		size_t n = place__n_frames(p);

		if (at < n)
			return place__frame(s, p, at);
		at -= n;
	}
	return (struct frame){};
}

uint64_t process__n(const struct snapshot *s, const struct snap_process *p)
{
	if (p->n_members)
		return p->n_members;
	return p->pid > 0 ? 1 : MAX(s->n_folded_processes, 1u);
}

uint64_t process__n_ended(const struct snapshot *s, const struct snap_process *p)
{
	return p->ended ? process__n(s, p) : p->n_ended;
}

uint64_t process__ended_blocks(const struct snap_process *p)
{
	return p->ended ? p->c.live_blocks : p->ended_live_blocks;
}

uint64_t process__ended_bytes(const struct snap_process *p)
{
	return p->ended ? p->c.live_bytes : p->ended_live_bytes;
}

uint64_t process__running_bytes(const struct snap_process *p)
{
	return p->c.live_bytes - MIN(process__ended_bytes(p), p->c.live_bytes);
}

bool snapshot__has_both(const struct snapshot *s)
{
	bool any[2] = {};

	for (size_t i = 0; i < s->n_processes; i++)
		any[s->processes[i].ended] = true;
	return any[0] && any[1];
}

bool snap_source__is_of(const struct snap_source *src, const struct line *l)
{
	return l->file && !strcmp(src->file, l->file) && !strcmp(src->dir ? src->dir : "", l->dir ? l->dir : "");
}

uint64_t snapshot__sites_bytes(const struct snapshot *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->n_sites; i++)
		sum += s->sites[i].c.live_bytes;
	return sum;
}

const char *snapshot__source_line(const struct snapshot *s, const struct line *l, uint32_t number)
{
	for (size_t i = 0; i < s->n_sources; i++) {
		const struct snap_source *src = &s->sources[i];

		if (number >= src->from && number - src->from < src->n && snap_source__is_of(src, l))
			return src->text[number - src->from];
	}
	return NULL;
}

bool site__is_arena(const struct snap_site *site)
{
	return site->function && !strcmp(site->function, "arena");
}
