// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Writes the pages that the browser opens: browser-pages DIR. Or tells what
 * writing costs: browser-pages --cost SITES FORMAT [FILE].
 */
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "../unit/sample_snapshot.h"
#include "files/export.h"
#include "model/diff.h"
#include "util/util.h"

#define S 1000000000ull
#define MIB (1024ull * 1024)
/* Each of them would leave a mark that the test looks for. */
#define IMG "<img src=x onerror=\"document.title='RAN'\">"
#define SCRIPT "</script><script>document.title='RAN'</script>"

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* ---- what a trace of some minutes can look like: a leak, growth, and traffic, with a history each */

static void set_trend(struct snapshot *s, struct snap_site *site, const char *verdict, const char *why, double per_s)
{
	struct snap_point *h = snapshot__alloc(s, 16, sizeof(*h));

	site->trend = (struct trend){ verdict, why, per_s, true, false };
	for (int i = 0; i < 16; i++)
		h[i] = (struct snap_point){ .t_ns = i * 2 * S, .live_bytes = per_s > 0 ? site->c.live_bytes * i / 15 : site->c.live_bytes };
	site->history = h;
	site->n_history = 16;
}

static void with_trends(struct snapshot *s)
{
	struct snap_process *p = (struct snap_process *)s->processes;
	struct snap_point *line = snapshot__alloc(s, 120, sizeof(*line));

	set_trend(s, &s->sites[0], "leak", "0 of 31,744 blocks freed, +1.0 MiB/s for 29.9s, oldest 29.9s", 1.03 * MIB);
	set_trend(s, &s->sites[1], "growing", "98% freed, yet +204.8 KiB/s for 28.0s", 0.2 * MIB);
	set_trend(s, &s->sites[2], "steady", ">99% freed, no growth in 29.9s", 0);
	for (uint64_t i = 0; i < 120; i++)
		line[i] = (struct snap_point){ .t_ns = i * 30 * S / 119, .live_bytes = i * 38 * MIB / 119 + (i % 17) * MIB / 12,
					       .live_blocks = i * 32965 / 119, .alloc_calls = i * 18436 + (i % 23) * (i % 7) * 600,
					       .rss_bytes = 64 * MIB + i * 32 * MIB / 119 };
	p[0].timeline = line;
	p[0].n_timeline = 120;
	s->baseline = true;
	s->baseline_ns = 10 * S;
	s->sites[0].since_baseline_bytes = 20 * MIB;
	p[0].trend = (struct trend){ "growing", "+1.2 MiB/s for 29.9s", 1.2 * MIB, true, false };
}

/* As many histories as there can be, and as long: of every tenth site. */
static void with_courses(struct snapshot *s)
{
	struct snap_process *p = (struct snap_process *)s->processes;
	struct snap_point *line = snapshot__alloc(s, 600, sizeof(*line));

	for (uint64_t i = 0; i < 600; i++)
		line[i] = (struct snap_point){ .t_ns = i * S, .live_bytes = p->c.live_bytes / 600 * i, .live_blocks = p->c.live_blocks / 600 * i,
					       .alloc_calls = p->c.alloc_calls / 600 * i, .rss_bytes = p->rss_at_attach_bytes + i * MIB };
	p->timeline = line;
	p->n_timeline = 600;
	for (size_t i = 0, n = 0; i < s->n_sites && n < 1024; i += 9, n++) {
		struct snap_point *h = snapshot__alloc(s, 96, sizeof(*h));

		for (uint64_t k = 0; k < 96; k++)
			h[k] = (struct snap_point){ .t_ns = (k + 1) * 6 * S, .live_bytes = (i + 1) * 96 * k };
		s->sites[i].history = h;
		s->sites[i].n_history = 96;
	}
}

/* ---- names that want to be more than names */

static void with_hostile_asked(struct snapshot *s)
{
	static const struct snap_tag tag = { SCRIPT, false, 1 };
	static const struct snap_mark mark = { .name = IMG, .number = 1, .t_ns = 5 * S };
	static const uint32_t stack[] = { 0 };
	static const struct snap_site where = { .function = IMG, .c = { .free_calls = 1, .free_bytes = 1 }, .n_stack = 1, .stack = stack };
	static const struct snap_free freed = { .tid = 1, .thread = SCRIPT, .calls = 1, .bytes = 1 };

	s->tags = &tag;
	s->marks = &mark;
	s->free_sites = &where;
	s->frees = &freed;
	s->n_tags = s->n_marks = s->n_marks_seen = s->n_free_sites = s->n_frees = 1;
	s->recording.free_stacks = true;
	s->sites[0].tag = 1;
	s->trigger = s->recording.within = SCRIPT IMG;
}

static void with_hostile_names(struct snapshot *s)
{
	static const char *const names[] = { IMG, SCRIPT, "<!--<script>", "]]>&lt;b&gt;", "'\"`${document.title='RAN'}",
					     "javascript:document.title='RAN'", "\xe2\x80\xa8;document.title='RAN'//", "</title></textarea></style>" IMG };
	struct snap_process *p = (struct snap_process *)s->processes;
	struct snap_module *m = snapshot__alloc(s, s->n_modules, sizeof(*m));
	struct snap_thread *t = snapshot__alloc(s, 1, sizeof(*t));
	struct snap_counter *c = snapshot__alloc(s, 1, sizeof(*c));

	for (size_t i = 0; i < s->n_places; i++) {
		struct line *line = snapshot__alloc(s, 1, sizeof(*line));

		*line = (struct line){ .function = names[i % ARRAY_SIZE(names)], .file = names[(i + 1) % ARRAY_SIZE(names)], .line = 1, .dir = names[(i + 2) % ARRAY_SIZE(names)] };
		s->places[i].lines = line;
		s->places[i].n_lines = 1;
	}
	for (size_t i = 0; i < s->n_modules; i++)
		m[i] = (struct snap_module){ .path = names[i % ARRAY_SIZE(names)] };
	s->modules = m;
	for (size_t i = 0; i < s->n_processes; i++) {
		p[i].comm = i ? IMG : SCRIPT;
		p[i].exe = p[i].cgroup = p[i].unit = p[i].container = SCRIPT IMG;
		p[i].trend = (struct trend){ IMG, SCRIPT, 1, true, false };
	}
	*t = (struct snap_thread){ .tid = 7, .comm = SCRIPT, .c = { .alloc_calls = 1 } };
	p[0].threads = t;
	p[0].n_threads = 1;
	for (size_t i = 0; i < s->n_sites; i++) {
		s->sites[i].function = names[i % ARRAY_SIZE(names)];
		s->sites[i].trend = (struct trend){ IMG, SCRIPT, 1, true, false };
	}
	with_hostile_asked(s);
	*c = (struct snap_counter){ "live_full", SCRIPT, 1 };
	s->losses = c;
	s->n_losses = 1;
	s->losses_total = 1;
}

/* ---- files */

static void put_as(const char *dir, const char *name, const char *suffix,
		   int (*write)(FILE *out, const struct snapshot *s, const struct export_opts *o, struct err *e), const struct snapshot *s,
		   const struct export_opts *o)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_err_ struct err e = {};
	FILE *f;

	if (asprintf(&path, "%s/%s.%s", dir, name, suffix) < 0)
		die(dir);
	f = fopen(path, "w");
	if (!f || write(f, s, o, &e) || fclose(f))
		die(path);
}

static void put(const char *dir, const char *name, struct snapshot *s)
{
	put_as(dir, name, "html", html__write, s, &(struct export_opts){ .report.older_ns = s->recording.older_ns });
	snapshot__free(s);
}

/* Against a later run: the largest row grew, the next is gone. */
static void put_diff(const char *dir)
{
	struct snapshot *a = sample__new(SAMPLE_SINGLE), *b = sample__new(SAMPLE_SINGLE), *s;

	b->sites[0].c.live_bytes += MIB;
	b->sites[1].c.live_bytes = 0;
	((struct snap_process *)b->processes)->c.live_bytes += MIB - a->sites[1].c.live_bytes;
	b->totals.live_bytes = b->processes->c.live_bytes;
	put_as(dir, "before", "json", json__write, a, &(struct export_opts){});
	put_as(dir, "after", "json", json__write, b, &(struct export_opts){});
	s = diff__snapshot(a, b, "before.json");
	if (!s)
		die("diff");
	put_as(dir, "diff", "html", html__write, s, &(struct export_opts){ .compared = &(struct export_compared){ a, b, "before.json", "after.json" } });
	snapshot__free(s);
	snapshot__free(a);
	snapshot__free(b);
}

/* With the profile that `report --between` takes: the page must tell the same. */
static void put_asked(const char *dir)
{
	struct snapshot *s = sample__asked();

	put_as(dir, "asked", "json", json__write, s, &(struct export_opts){});
	put(dir, "asked", s);
}

static void put_killed(const char *dir)
{
	struct snapshot *s = sample__asked();
	struct snap_process *p = (struct snap_process *)s->processes;
	struct place *first = (struct place *)&s->places[s->sites[0].stack[0]];
	struct line *lines;

	p->ended = true;
	p->runtime = "python";
	p->exit_signal = 9;
	p->oom_killed = true;
	p->memory.seen_ns = 27500000000;
	s->trigger = "oom: redis-server (1432) was killed";
	s->recording.within = "processCommand";
	s->started_on = "aeMain";
	s->stopped_on = "exitFromChild";
	s->recording.mmap = true;
	/* a name that telling.c passes over */
	lines = snapshot__alloc(s, first->n_lines, sizeof(*lines));
	memcpy(lines, first->lines, first->n_lines * sizeof(*lines));
	lines[0].function = "tag_strdup";
	first->lines = lines;
	put(dir, "killed", s);
}

/* Most of what it grew by is in swap. */
static void put_swapped(const char *dir)
{
	struct snapshot *s = sample__asked();
	struct snap_process *p = (struct snap_process *)s->processes;

	p->rss_at_attach_bytes = p->rss_bytes - 4 * MIB;
	p->swap_bytes = 76 * MIB;
	put(dir, "swapped", s);
}

/* Mappings beyond what is looked at page by page. */
static void put_huge(const char *dir)
{
	struct snapshot *s = sample__asked();
	struct snap_memory *m = (struct snap_memory *)&s->processes[0].memory;

	m->large_mapped = 5ull << 30;
	m->large_estimated = true;
	put(dir, "huge", s);
}

/* As --by thread keeps it: the largest of the first thread, the others of two that have one name. */
static void put_threads(const char *dir)
{
	struct snapshot *s = sample__new(SAMPLE_SINGLE);

	for (size_t i = 0; i < s->n_sites; i++) {
		s->sites[i].tid = i ? 1440 + (int)(i % 2) : 1432;
		s->sites[i].thread = i ? "bio_lazy_free" : "redis-server";
	}
	put(dir, "threads", s);
}

/* The largest stack passes through call() twice more. */
static void put_recursive(const char *dir)
{
	struct snapshot *s = sample__asked();
	struct snap_site *site = &s->sites[0];
	uint32_t *stack = snapshot__alloc(s, site->n_stack + 2, sizeof(*stack)), n = 0;

	for (uint32_t i = 0; i < site->n_stack; i++) {
		const struct place *p = &s->places[site->stack[i]];
		bool is = p->n_lines && !strcmp(p->lines[0].function, "call");

		for (int k = is ? 3 : 1; k--;)
			stack[n++] = site->stack[i];
	}
	site->stack = stack;
	site->n_stack = n;
	put(dir, "recursive", s);
}

/* The source of one of its functions came along, and has what would hurt a page. */
static void put_source(const char *dir)
{
	static const char *const text[] = { "void call(client *c)", "{", "    if (c->n < 2 && \"</script><b>x</b>\")", "        c->cmd->proc(c);", "}" };
	static const struct snap_source source = { .file = "/build/redis-7.0.15/src/server.c", .from = 3557, .n = ARRAY_SIZE(text), .text = text };
	struct snapshot *s = sample__asked();

	s->sources = &source;
	s->n_sources = 1;
	put(dir, "source", s);
}

/* A process that has run for months: its RSS is 8 GiB, and 3 MiB of it are new. */
static void put_old(const char *dir)
{
	struct snapshot *s = sample__new(SAMPLE_SINGLE);
	struct snap_process *p = (struct snap_process *)s->processes;
	struct snap_point *line = snapshot__alloc(s, 61, sizeof(*line));

	for (uint64_t i = 0; i <= 60; i++)
		line[i] = (struct snap_point){ .t_ns = i * S / 2, .live_bytes = i * MIB / 20, .live_blocks = i, .alloc_calls = i * 100, .rss_bytes = 8192 * MIB + i * MIB / 20 };
	p->timeline = line;
	p->n_timeline = 61;
	p->c.live_bytes = p->c.peak_bytes = s->totals.live_bytes = s->totals.peak_bytes = 3 * MIB;
	put(dir, "old", s);
}

/* 1,000 calls a second; the last look comes 10 ms behind the one before it, and a tick of the clock off. */
static void put_short_end(const char *dir)
{
	struct snapshot *s = sample__new(SAMPLE_SINGLE);
	struct snap_process *p = (struct snap_process *)s->processes;
	struct snap_point *line = snapshot__alloc(s, 31, sizeof(*line));

	for (uint64_t i = 0; i < 30; i++)
		line[i] = (struct snap_point){ .t_ns = i * (30 * S - S / 100) / 29, .live_bytes = MIB, .live_blocks = 1, .alloc_calls = i * 1034, .rss_bytes = MIB };
	line[30] = line[29];
	line[30].t_ns = 30 * S;
	line[30].alloc_calls += 20;
	p->timeline = line;
	p->n_timeline = 31;
	put(dir, "short-end", s);
}

/* A process that ran, and of which no call was seen. */
static void put_blind(const char *dir)
{
	struct snapshot *s = sample__new(SAMPLE_SINGLE);

	((struct snap_process *)s->processes)->blind = (struct snap_blind){
		.is = true, .cpu_ns = S, .probed = "9 functions in libc.so.6", .candidates = "shop_malloc and shop_free in shopd (--prefix shop_)" };
	put(dir, "blind", s);
}

/* ---- heaps: of a trace, of processes that were only looked at, and with names that want to be more */

/* With the profile that `report` takes: the page must tell the same. */
static void put_with_profile(const char *dir, const char *name, struct snapshot *s)
{
	put_as(dir, name, "json", json__write, s, &(struct export_opts){});
	put(dir, name, s);
}

/* Two that run and ran before. */
static void put_several_heaps(const char *dir)
{
	struct snapshot *s = sample__new(0);
	struct snap_process *p = (struct snap_process *)s->processes;

	for (size_t i = 0; i < s->n_processes; i++) {
		p[i].ended = false;
		p[i].age_at_attach_ns = 100 * S;
		sample__add_heap(s, (uint32_t)i, HEAP_OLDER);
	}
	put_with_profile(dir, "heap-several", s);
}

/* Free memory: hardly any of it resident; a tenth of RSS, in few arenas; in pieces that cannot be trimmed; less than a tenth. */
static void put_free_heaps(const char *dir)
{
	static const struct {
		const char *name;
		uint64_t resident, trimmable;
		size_t n_arenas;
	} v[] = { { "heap-free-little", 4800, 4096, 4 }, { "heap-free-tenth", 11 * MIB, 2 * MIB, 3 }, { "heap-free-pieces", 18 * MIB, 0, 4 }, { "heap-free-below", 9 * MIB, 9 * MIB, 4 } };

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct snapshot *s = sample__heap_alone(0);
		struct snap_heap *h = (struct snap_heap *)s->heaps;

		h->free_resident_bytes = v[i].resident;
		h->trimmable_bytes = v[i].trimmable;
		h->n_arenas = v[i].n_arenas;
		put_with_profile(dir, v[i].name, s);
	}
}

static void put_heaps(const char *dir)
{
	struct snapshot *s = sample__asked();

	sample__add_heap(s, 0, HEAP_SEARCHED | HEAP_OLDER);
	put_with_profile(dir, "heap-trace", s);
	s = sample__new(0);
	sample__add_heap(s, 0, 0);
	sample__add_heap(s, 1, HEAP_REFUSED);
	put(dir, "heap-two", s);
	/* of another allocator the blocks that were traced were searched for */
	s = sample__new(SAMPLE_SINGLE);
	sample__add_heap(s, 0, HEAP_SEARCHED);
	((struct snap_heap *)s->heaps)->refused = "no glibc heap in process 1432: it allocates with jemalloc";
	((struct snap_heap *)s->heaps)->allocator = "jemalloc";
	put(dir, "heap-other", s);
	put_with_profile(dir, "heap", sample__heap_alone(HEAP_SEARCHED));
	put(dir, "heap-census", sample__heap_alone(0));
	put(dir, "heap-quiet", sample__heap_alone(HEAP_SEARCHED | HEAP_QUIET));
	put(dir, "heap-refused", sample__heap_alone(HEAP_REFUSED));
	s = sample__heap_alone(0);
	((struct snap_heap *)s->heaps)->search_interrupted = true;
	put(dir, "heap-interrupted", s);
}

/* As many sizes, types, arenas and parts as a large process has. */
static void put_large_heap(const char *dir)
{
	enum { CLASSES = 200, ARENAS = 130, TYPES = 60, PARTS = 400 };
	struct snapshot *s = sample__heap_alone(HEAP_SEARCHED);
	struct snap_heap *h = (struct snap_heap *)s->heaps;
	struct snap_class *classes = snapshot__alloc(s, CLASSES, sizeof(*classes));
	struct snap_arena *arenas = snapshot__alloc(s, ARENAS, sizeof(*arenas));
	struct snap_type *types = snapshot__alloc(s, TYPES, sizeof(*types));
	struct snap_part *parts = snapshot__alloc(s, PARTS, sizeof(*parts));

	h->blocks = h->bytes = h->rss_bytes = h->free_bytes = h->bins_bytes = h->trimmable_bytes = h->tcache_bytes = h->top_bytes = 0;
	for (uint64_t i = 0; i < TYPES; i++) {
		_cleanup_free_ char *name = NULL;

		if (asprintf(&name, "app::%s::Kind%d<std::vector<std::pair<int, std::string> > >", i % 2 ? "net" : "storage", (int)i) < 0)
			die("asprintf");
		types[i] = (struct snap_type){ snapshot__strdup(s, name), (TYPES - i) * 10000, (TYPES - i) * 10000 * 64, true, true };
	}
	for (uint64_t i = 0; i < CLASSES; i++) {
		struct snap_share *shares = snapshot__alloc(s, 3, sizeof(*shares));

		shares[0] = (struct snap_share){ types[i % TYPES].name, 0.6, true };
		shares[1] = (struct snap_share){ types[i * 7 % 5].name, 0.3, true };
		shares[2] = (struct snap_share){ "text", 0.1, false };
		classes[i] = (struct snap_class){ 24 + 16 * i, 0, 1000000 / (i + 1), 0, i % 9 ? 0 : 1000, 0, 2000, shares, 3 };
		classes[i].bytes = classes[i].blocks * classes[i].usable;
		classes[i].unreached_bytes = classes[i].unreached_blocks * classes[i].usable;
		h->blocks += classes[i].blocks;
		h->bytes += classes[i].bytes;
	}
	for (uint64_t i = 0; i < ARENAS; i++) {
		arenas[i] = (struct snap_arena){ !i, 1000, h->bytes / ARENAS, i * MIB / 2, 4096, i * MIB / 2 - (i ? 8192 : 0), i ? 4096 : 0, i * MIB / 3, MIB, 64 * MIB };
		h->free_bytes += arenas[i].free_bytes;
		h->bins_bytes += arenas[i].bins_bytes;
		h->trimmable_bytes += arenas[i].trimmable_bytes;
	}
	h->free_resident_bytes = h->free_bytes;
	for (uint64_t i = 0; i < PARTS; i++) {
		parts[i] = (struct snap_part){ i ? PART_STACK : PART_HEAP, i ? "worker" : "[heap]", NULL, (int)i, 8 * MIB, i ? 64 * 1024 : h->bytes + h->free_bytes, 0, i ? 100000 : 0, NULL, 0, 0 };
		h->rss_bytes += parts[i].resident_bytes;
	}
	h->classes = classes, h->n_classes = CLASSES;
	h->arenas = arenas, h->n_arenas = ARENAS;
	h->types = types, h->n_types = TYPES;
	h->parts = parts, h->n_parts = PARTS;
	put_with_profile(dir, "heap-large", s);
}

static void put_hostile_heap(const char *dir)
{
	static const struct snap_share shares[] = { { IMG, 0.5, true }, { SCRIPT, 0.5, false } };
	static const struct snap_class classes[] = { { 24, 0, 1, 24, 1, 24, 1, shares, 2 }, { 1 << 20, UINT64_MAX, 1, 1 << 20, 0, 0, 0, NULL, 0 } };
	static const struct snap_type types[] = { { IMG, 1, 24, true, true }, { SCRIPT, 1, 24, false, false } };
	static const struct snap_part parts[] = { { PART_GLOBAL, IMG, SCRIPT, 1, 1, 1, 1, 1, NULL, 0, 0 } };
	static const struct snap_root roots[] = { { ROOT_GLOBAL, SCRIPT, IMG, 1, 24 } };
	static const struct snap_block list[] = { { .addr = 0xffff0000, .bytes = 24, .type = IMG, .reach = REACH_UNREACHED } };
	struct snapshot *s = sample__heap_alone(HEAP_SEARCHED);
	struct snap_heap *h = (struct snap_heap *)s->heaps;
	struct snap_process *p = (struct snap_process *)s->processes;

	p->comm = SCRIPT IMG;
	p->exe = IMG;
	h->allocator = h->unreached.registers = IMG;
	h->classes = h->unreached.classes = classes, h->n_classes = h->unreached.n_classes = 2;
	h->types = h->unreached.types = types, h->n_types = h->unreached.n_types = 2;
	h->parts = parts, h->n_parts = 1;
	h->roots = roots, h->n_roots = 1;
	h->list = list, h->n_list = 1, h->n_list_of = 12;
	put(dir, "heap-hostile", s);
}

/* --mode leak: what is freed is counted, and when that was is not known. */
static struct snapshot *leak_mode(void)
{
	struct snapshot *s = sample__new(SAMPLE_SINGLE);

	s->recording.mode = MT_MODE_LEAK;
	s->known = counters__of_mode(MT_MODE_LEAK);
	s->reading = (struct heap_reading){ .at_ns = s->duration_ns - 20000000, .took_ns = 17000000, .unsure_blocks = 200 };
	return s;
}

static int pages(const char *dir)
{
	struct snapshot *s = sample__new(0);

	with_trends(s);
	put(dir, "sample", s);
	s = sample__new(SAMPLE_SINGLE);
	with_trends(s);
	put(dir, "single", s);
	s = sample__new(0);
	with_hostile_names(s);
	put(dir, "hostile", s);
	put_diff(dir);
	put_asked(dir);
	put_killed(dir);
	put_swapped(dir);
	put_huge(dir);
	put_threads(dir);
	put_recursive(dir);
	put_source(dir);
	put_old(dir);
	put_short_end(dir);
	put_blind(dir);
	put_heaps(dir);
	put_several_heaps(dir);
	put_free_heaps(dir);
	put_large_heap(dir);
	put_hostile_heap(dir);
	put(dir, "losses", sample__new(SAMPLE_SINGLE | SAMPLE_PARTIAL | SAMPLE_LOSSES | SAMPLE_OLDER));
	put(dir, "machine", sample__machine());
	put(dir, "empty", sample__new(SAMPLE_EMPTY));
	put(dir, "count", sample__new(SAMPLE_SINGLE | SAMPLE_COUNT));
	put(dir, "leak", leak_mode());
	put(dir, "estimated", sample__new(SAMPLE_SINGLE | SAMPLE_ESTIMATED));
	put(dir, "growth", sample__new(SAMPLE_GROWTH));
	put(dir, "unnamed", sample__new(SAMPLE_UNNAMED));
	s = sample__big(10000);
	with_courses(s);
	put(dir, "big", s);
	return 0;
}

static int cost(size_t n_sites, const char *format, const char *path)
{
	const struct export_format *f = export__find_by_name(format);
	struct snapshot *s = sample__big(n_sites);
	_cleanup_err_ struct err e = {};
	FILE *out = path ? fopen(path, "w") : tmpfile();
	struct rusage before, after;
	uint64_t start;

	getrusage(RUSAGE_SELF, &before);
	start = now_ns();
	if (out)
		__fsetlocking(out, FSETLOCKING_BYCALLER);
	if (!f || !out || f->write(out, s, &(struct export_opts){}, &e) || fflush(out))
		die(format);
	start = now_ns() - start;
	getrusage(RUSAGE_SELF, &after);
	printf("%s: %zu sites, %zu places, %.1f MiB, %.0f ms, at most %.1f MiB more of memory\n", format, s->n_sites, s->n_places,
	       ftell(out) / (double)MIB, start / 1e6, (after.ru_maxrss - before.ru_maxrss) / 1024.0);
	fclose(out);
	snapshot__free(s);
	return 0;
}

int main(int argc, char **argv)
{
	if ((argc == 4 || argc == 5) && !strcmp(argv[1], "--cost"))
		return cost(strtoul(argv[2], NULL, 10), argv[3], argv[4]);
	if (argc == 2)
		return pages(argv[1]);
	fprintf(stderr, "usage: browser-pages DIR, or browser-pages --cost SITES FORMAT [FILE]\n");
	return 2;
}
