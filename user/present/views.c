// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the table of views. To add one is to add a row here and a bit to views.h;
 * what its rows look like is columns (present/columns.c) or, of sites in a
 * report, a line (present/text/report.c).
 *
 * The order of the table is that of --help and of a report, where what leads
 * comes first; the live view and pages go by its keys.
 */
#include "present/views.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "present/columns.h"
#include "util/util.h"

#define LIVE (HAS_LIVE_BYTES | HAS_LIVE_BLOCKS)
#define ALLOCS (HAS_ALLOC_BYTES | HAS_ALLOC_CALLS)

/* ---- which sites a view shows */

bool view__shows(const struct view *v, const struct snap_site *site, bool older)
{
	size_t at = older && v->older ? offsetof(struct snap_site, older_blocks) : v->figure;
	bool is_fault = site->growth == GROWTH_FAULT;

	if (!v->figure || !*(const uint64_t *)((const char *)site + at))
		return false;
	return v->pages == PAGES_ANY || is_fault == (v->pages == PAGES_FAULTED);
}

#define SHOWS(its_figure) .figure = offsetof(struct snap_site, its_figure)

/* ---- what sites of a row have in common */

#define NO_STACK ((struct sum_key){ NO_STACK_NAME, "", false })

static struct sum_key by_function(const struct frame *f)
{
	if (!f->place)
		return NO_STACK;
	return (struct sum_key){ f->line && f->line->function ? f->line->function : "[no name]", frame__origin(f) ? frame__origin(f) : "",
				 frame__origin(f) != f->module };
}

/* A header is one row, wherever it is compiled in; what has no source is told apart by its module. */
static struct sum_key by_file(const struct frame *f)
{
	if (!f->place)
		return NO_STACK;
	return f->line && f->line->file ? (struct sum_key){ f->line->file, f->line->dir ? f->line->dir : "", false } : (struct sum_key){ "[no source]", f->module ? f->module : "", false };
}

static struct sum_key by_module(const struct frame *f)
{
	if (!f->place)
		return NO_STACK;
	return (struct sum_key){ f->module ? f->module : "[no module]", "", false };
}

/*
 * ---- columns of the live view
 *
 * Which go where a screen is too narrow: what decides whether a row matters stays the longest. Of what is
 * live that is how much, the verdict and whose; then growth, and what was asked for (Δ, after a baseline);
 * then what tells a leak from a cache, FREED and OLDEST; then what can be worked out from the others.
 */

#define LIVE_COLUMNS \
	"live error=live-error delta/3 growth/2 trend/9@112 blocks/6 unreached/2 freed/4 " \
	"oldest/5 verdict process:22/1 site"
#define ALLOC_COLUMNS \
	"calls-rate most-rate/4@110 bytes-rate calls/3 error=calls-error/3 bytes/5 average " \
	"temporary process:22/1 site"
#define PEAK_COLUMNS \
	"peak share=peak-share live=live-now blocks/3 oldest/5 verdict/4 process:22/1 site"
#define GROWTH_COLUMNS \
	"bytes bytes-rate calls calls-rate/3 last/4 function:10/2 process:22/1 site"
#define FREE_COLUMNS \
	"frees-rate/2 frees freed/3 bytes=freed-bytes/5 lived cross/6 where=freed-at/1 " \
	"process:22/4 site"
#define PROCESS_COLUMNS \
	"live bytes delta/5 growth/3 calls-rate/6 bytes-rate/8 peak/10 rss/4 rss-change/3 age/9 " \
	"verdict/1 members/5 pid/2 container-pid/11@150 process:20 where/7"
#define THREAD_COLUMNS \
	"calls-rate bytes-rate calls bytes/1 average/4 frees/2 temporary/5 reallocs/7 threads/3 " \
	"ended:5/6 tid thread:24 process"
#define TAG_COLUMNS \
	"entered/1 allocs allocs-each/4 allocs-rate/8 bytes bytes-each/3 kept kept-each/2 " \
	"delta/7 blocks/6 share/5 tag:14"
#define MARK_COLUMNS \
	"time number/1 since/2 allocs bytes/3 change live/5 process/4 mark"
#define WHEN_COLUMNS \
	"fired last/1 condition why"
/* What a heap is made of; whether a block is lost matters more than its share. */
#define CLASS_COLUMNS \
	"usable blocks/3 bytes share/5 older/4 unreached process:18/2 types"
#define TYPE_COLUMNS \
	"bytes share/4 blocks/3 older/5 unreached what/6 process:18/2 type"
#define ARENA_COLUMNS \
	"bytes blocks/5 free tcache/6 bins/3 top/4 trimmable/2 largest/8 mapped/7 process:18/2 " \
	"arena"
#define PART_COLUMNS \
	"resident share/3 mapped/4 swapped/6 deepest/5 tid/7 kind/2 process:18/2 part"
#define ROOT_COLUMNS \
	"bytes share/4 blocks/3 kind/2 module:18/5 process:18/2 root"
#define SUM_FIGURES \
	"live total/2 share/9 delta/3 growth/1 blocks/8 calls-rate/5 calls/11 bytes freed/4 " \
	"oldest/6 stacks:6/10 verdict "
#define FUNCTION_COLUMNS SUM_FIGURES "module:18/7 function"
#define FILE_COLUMNS SUM_FIGURES "module:18/12 file"
#define MODULE_COLUMNS SUM_FIGURES "path"

/* ---- the views */

const struct view views[] = {
	{ VIEW_LIVE, "live", "LIVE", .alias = "leaks", .needs = LIVE, .preset = PRESET_ALWAYS, .sort = "live-bytes", SHOWS(c.live_blocks), .older = true, .holds = true,
	  .empty = "no live blocks from this trace", .columns = &site_columns,
	  .live = { .key = '1', .columns = LIVE_COLUMNS, .sort = "live" },
	  .page = { "live share blocks unreached freed oldest change growth verdict process site" } },
	/* of a trace with --mode growth they are RESIDENT and MAPPED */
	{ VIEW_ALLOCS, "allocs", "ALLOCATIONS", .needs = ALLOCS, .where = WHERE_NO_GROWTH, .preset = PRESET_WITHOUT_TAGS,
	  .sort = "alloc-calls", SHOWS(c.alloc_calls),
	  .empty = "nothing was allocated while traced", .columns = &site_columns,
	  .live = { .key = '2', .columns = ALLOC_COLUMNS, .sort = "calls-rate", .with = VIEW_TEMPORARY },
	  .page = { "calls share calls-rate bytes average temporary lived process site" } },
	{ VIEW_REALLOC, "realloc", "REALLOC", .internal = true, .where = WHERE_MOVES, .with = VIEW_ALLOCS,
	  .sort = "moved-bytes", SHOWS(moves.calls),
	  .empty = "realloc was not called for a block that was known", .columns = &site_columns,
	  .page = { "passed-on moved copied larger-by small-steps shrunk longest process site", .sort = "copied" } },
	{ VIEW_PEAK, "peak", "PEAK", .needs = HAS_PEAK_BYTES | HAS_LIVE_BYTES, .sort = "peak-bytes", SHOWS(at_peak_bytes), .holds = true,
	  .empty = "nothing was live at any moment of the trace", .columns = &site_columns,
	  .live = { .key = '3', .columns = PEAK_COLUMNS, .sort = "peak" } },
	{ VIEW_TEMPORARY, "temporary", "TEMPORARY", .needs = HAS_TEMP_CALLS | ALLOCS, .sort = "temp-calls", SHOWS(c.temp_calls),
	  .empty = "no block was freed before the next allocation", .columns = &site_columns },
	/* the mode that sees no realloc sees no allocation either, but pages */
	{ VIEW_SIZES, "sizes", "SIZES", .needs = ALLOCS | HAS_REALLOC_CALLS, .sort = "alloc-bytes", SHOWS(c.alloc_calls),
	  .empty = "nothing was allocated while traced", .columns = &site_columns,
	  .live = { .key = '6', .bars = true, .with = VIEW_LIFETIMES } },
	{ VIEW_LIFETIMES, "lifetimes", "LIFETIMES", .needs = HAS_LIFETIMES | HAS_ALLOC_CALLS, .sort = "alloc-calls",
	  .weighs = "freed-calls", SHOWS(c.free_calls), .empty = "no block was freed while traced", .columns = &site_columns },
	{ VIEW_FREES, "frees", "FREES", .needs = HAS_LIFETIMES, .where = WHERE_FREE_STACKS, .preset = PRESET_ALWAYS,
	  .sort = "freed-calls", SHOWS(c.free_calls), .empty = "no block was freed while traced", .columns = &site_columns,
	  .live = { .key = '9', .columns = FREE_COLUMNS, .sort = "frees", .option = "--free-stacks" },
	  .page = { "frees share bytes cross lived threads process site", .of = &free_place_columns } },
	{ VIEW_RESIDENT, "resident", "RESIDENT", .internal = true, .needs = ALLOCS, .where = WHERE_GROWTH, .with = VIEW_ALLOCS,
	  .sort = "alloc-bytes", SHOWS(c.alloc_calls), .pages = PAGES_FAULTED, .empty = "no page fault while traced", .columns = &site_columns,
	  .live = { .key = '1', .columns = GROWTH_COLUMNS, .sort = "bytes" },
	  .page = { "bytes share calls function process site" } },
	{ VIEW_MAPPED, "mapped", "MAPPED", .internal = true, .needs = ALLOCS, .where = WHERE_GROWTH, .with = VIEW_ALLOCS,
	  .sort = "alloc-bytes", SHOWS(c.alloc_calls), .pages = PAGES_MAPPED, .empty = "neither brk nor mmap added memory while traced",
	  .columns = &site_columns, .live = { .key = '2', .columns = GROWTH_COLUMNS, .sort = "bytes" },
	  .page = { "bytes share calls function process site" } },

	{ VIEW_FUNCTIONS, "functions", "FUNCTIONS", .rows = ROWS_SUMS, .needs = ALLOCS, .all_names = true, .sum_by = by_function, SHOWS(c.alloc_calls),
	  .empty = "nothing was allocated while traced", .columns = &sum_columns,
	  .live = { .key = 'f', .columns = FUNCTION_COLUMNS, .sort = "live" },
	  .page = { "live share live-total blocks blocks-total calls calls-total bytes freed stacks change change-total function", .of = &function_columns } },
	{ VIEW_FILES, "files", "FILES", .rows = ROWS_SUMS, .needs = ALLOCS, .all_names = true, .sum_by = by_file, SHOWS(c.alloc_calls),
	  .empty = "nothing was allocated while traced", .columns = &file_columns,
	  .live = { .key = 'F', .columns = FILE_COLUMNS, .sort = "live" } },
	{ VIEW_MODULES, "modules", "MODULES", .rows = ROWS_SUMS, .needs = ALLOCS, .all_names = true, .sum_by = by_module, SHOWS(c.alloc_calls),
	  .empty = "nothing was allocated while traced", .columns = &module_columns,
	  .live = { .key = 'M', .columns = MODULE_COLUMNS, .sort = "live" } },
	{ VIEW_PROCESSES, "processes", "PROCESSES", .rows = ROWS_PROCESSES, .needs = HAS_ALLOC_BYTES, .preset = PRESET_SEVERAL, .leads = true,
	  .empty = "no process", .columns = &process_columns, .live = { .key = '4', .columns = PROCESS_COLUMNS, .sort = "live" },
	  .page = { "live blocks peak growth rss calls bytes lost attached verdict process" } },
	{ VIEW_THREADS, "threads", "THREADS", .rows = ROWS_THREADS, .needs = ALLOCS,
	  .empty = "no thread has allocated while traced", .columns = &thread_columns,
	  .live = { .key = '5', .columns = THREAD_COLUMNS, .sort = "calls-rate", .where = WHERE_NO_GROWTH },
	  .page = { "calls calls-rate bytes frees temporary-calls reallocs failed older-frees process tid thread" } },
	{ VIEW_TAGS, "tags", "TAGS", .rows = ROWS_TAGS, .needs = ALLOCS, .preset = PRESET_WITH_TAGS, .leads = true,
	  .empty = "nothing was allocated while traced", .columns = &tag_columns,
	  .live = { .key = '7', .columns = TAG_COLUMNS, .sort = "kept", .where = WHERE_TAGGED, .option = "--tag FUNC" },
	  .page = { "kept share blocks allocs bytes entered allocs-each bytes-each kept-each tag" } },
	/* in a report, marks are below tags */
	{ VIEW_MARKS, "marks", "MARKS", .internal = true, .rows = ROWS_MARKS,
	  .empty = "no marked function was called while traced", .columns = &mark_columns,
	  .live = { .key = '8', .columns = MARK_COLUMNS, .sort = "time", .with = VIEW_TAGS, .where = WHERE_MARKED, .option = "--mark FUNC" },
	  .page = { "time live change allocs bytes process tid compare mark" } },
	{ VIEW_WHENS, "when", "CONDITIONS", .internal = true, .rows = ROWS_WHENS, .where = WHERE_WHENS,
	  .empty = "no condition", .columns = &when_columns,
	  .live = { .key = '0', .columns = WHEN_COLUMNS, .sort = "last", .option = "--when COND" } },
	/* in a report: --between; on a page, of what is chosen on its timeline */
	{ VIEW_CHANGED, "changed", "CHANGED", .internal = true, .rows = ROWS_CHANGES, .needs = LIVE, .where = WHERE_NO_GROWTH,
	  .empty = "no site is known to hold more or less", .columns = &change_columns,
	  .page = { "change share from to verdict process site", .sort = "share" } },
	/* on the screen it is a pane of its own */
	{ VIEW_TREE, "tree", "TREE", .rows = ROWS_TREE, .needs = HAS_ALLOC_CALLS, .all_names = true },
	/* what is there beside the sites, older or free; on a page it is a part of its own */
	{ VIEW_HEAP, "heap", "HEAP", .rows = ROWS_HEAP, .where = WHERE_HEAP, .preset = PRESET_ALWAYS, .empty = "no block is in use", .columns = &class_columns,
	  .live = { .key = 'H', .columns = CLASS_COLUMNS, .sort = "bytes" } },
	{ VIEW_HEAP_TYPES, "types", "TYPES", .internal = true, .rows = ROWS_TYPES, .where = WHERE_CENSUS,
	  .empty = "no block was looked at", .columns = &type_columns,
	  .live = { .columns = TYPE_COLUMNS, .sort = "bytes", .beside = VIEW_HEAP } },
	{ VIEW_HEAP_ARENAS, "arenas", "ARENAS", .internal = true, .rows = ROWS_ARENAS, .where = WHERE_CENSUS,
	  .empty = "no arena", .columns = &arena_columns,
	  .live = { .columns = ARENA_COLUMNS, .sort = "free", .beside = VIEW_HEAP } },
	{ VIEW_HEAP_PARTS, "RSS", "RESIDENT MEMORY", .internal = true, .rows = ROWS_PARTS, .where = WHERE_PARTS,
	  .empty = "nothing is resident", .columns = &part_columns,
	  .live = { .columns = PART_COLUMNS, .sort = "resident", .beside = VIEW_HEAP } },
	{ VIEW_HEAP_ROOTS, "roots", "HELD THROUGH", .internal = true, .rows = ROWS_ROOTS, .where = WHERE_ROOTS,
	  .empty = "nothing is reached", .columns = &root_columns,
	  .live = { .columns = ROOT_COLUMNS, .sort = "bytes", .beside = VIEW_HEAP } },
	{ VIEW_BLOCKS, "blocks", "BLOCKS", .rows = ROWS_BLOCKS, .where = WHERE_BLOCKS, .preset = PRESET_ALWAYS,
	  .empty = "no block is listed" },
	/* on the screen, below a stack */
	{ VIEW_SOURCE, "source", "SOURCE", .rows = ROWS_SOURCE, .needs = ALLOCS, .all_names = true },
};
const size_t n_views = ARRAY_SIZE(views);
_Static_assert(ARRAY_SIZE(views) <= VIEWS_MAX, "a place for each");

const struct columns *view__columns(const struct view *v)
{
	static struct columns chosen[VIEWS_MAX];
	struct columns *c = &chosen[v - views];

	if (!c->v)
		*c = columns__choose(v->columns, v->live.columns ? v->live.columns : "");
	return c;
}

const struct view *view__of(enum view_bit bit)
{
	for (size_t i = 0; i < n_views; i++)
		if (views[i].bit == bit)
			return &views[i];
	return NULL;
}

static bool is_word(const char *word, const char *name, size_t len)
{
	return word && strlen(word) == len && !memcmp(word, name, len);
}

unsigned int view__find(const char *name, size_t len)
{
	for (size_t i = 0; i < n_views; i++)
		if (!views[i].internal && (is_word(views[i].name, name, len) || is_word(views[i].alias, name, len)))
			return views[i].bit;
	return 0;
}

const char *views__names(void)
{
	static char names[VIEWS_MAX * 16];
	size_t at = 0;

	if (*names)
		return names;
	for (size_t i = 0; i < n_views; i++)
		if (!views[i].internal)
			at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s%s%s", at ? " " : "", views[i].name, views[i].alias ? " " : "",
					       views[i].alias ?: "");
	return names;
}

unsigned int views__of(unsigned int known)
{
	unsigned int ret = 0;

	for (size_t i = 0; i < n_views; i++)
		if (!views[i].internal && !(views[i].where & (WHERE_FREE_STACKS | WHERE_HEAP | WHERE_BLOCKS)) && !(views[i].needs & ~known))
			ret |= views[i].bit;
	return ret;
}

static bool has_moves(const struct snapshot *s)
{
	for (size_t i = 0; i < s->n_sites; i++)
		if (s->sites[i].moves.calls)
			return true;
	return false;
}

/* Does any heap that was looked at have it? */
static bool heaps_hold(unsigned int where, const struct snapshot *s)
{
	unsigned int has = s->n_heaps ? WHERE_HEAP : 0;

	for (size_t i = 0; i < s->n_heaps; i++) {
		const struct snap_heap *h = &s->heaps[i];

		has |= (h->n_list_of ? WHERE_BLOCKS : 0) | (h->refused ? 0 : WHERE_CENSUS) | (h->n_parts ? WHERE_PARTS : 0) | (h->n_roots ? WHERE_ROOTS : 0);
	}
	return !(where & (WHERE_HEAP | WHERE_BLOCKS | WHERE_CENSUS | WHERE_PARTS | WHERE_ROOTS) & ~has);
}

bool where__holds(unsigned int where, const struct snapshot *s)
{
	if (where & (recording__is_growth(&s->recording) ? WHERE_NO_GROWTH : WHERE_GROWTH))
		return false;
	if ((where & WHERE_FREE_STACKS && !s->recording.free_stacks) || (where & WHERE_WHENS && !s->n_whens) || !heaps_hold(where, s))
		return false;
	return !(where & WHERE_MOVES) || has_moves(s);
}

bool view__holds(const struct view *v, const struct snapshot *s)
{
	return !(v->needs & ~s->known) && where__holds(v->where, s);
}

unsigned int views__in(const struct snapshot *s)
{
	unsigned int ret = 0;

	for (size_t i = 0; i < n_views; i++)
		if (view__holds(&views[i], s))
			ret |= views[i].bit | views[i].with;
	return ret;
}

unsigned int views__preset(const struct snapshot *s)
{
	unsigned int is = PRESET_ALWAYS | (s->n_tags ? PRESET_WITH_TAGS : PRESET_WITHOUT_TAGS) | (s->n_processes > 1 ? PRESET_SEVERAL : 0), ret = 0;

	for (size_t i = 0; i < n_views; i++)
		if (views[i].preset & is)
			ret |= views[i].bit;
	return ret & views__in(s);
}

/* ---- the order of sites */

/*
 * The order of rows. It is total: two runs over the same snapshot, and two
 * snapshots with the same figures, give the same rows in the same order,
 * whether names are known or not (ties end at the stack's modules and offsets,
 * never at names or at indexes that depend on the order of arrival).
 */

static uint64_t live_bytes(const struct rank *r, const struct snap_site *site)
{
	return r->older ? site->older_bytes : site->c.live_bytes;
}

#define SWAP(a, b)				\
	do {					\
		__typeof__(a) swap_ = (a);	\
		(a) = (b);			\
		(b) = swap_;			\
	} while (0)

struct order {
	const struct snapshot *s;
	const struct rank *r;
	const struct view *view;
	bool ended_last;
};

uint64_t rank__weight(const struct rank *r, const struct metric *m, const struct snap_site *site)
{
	if (r->older && !strcmp(m->name, "live-bytes"))
		return site->older_bytes;
	if (r->older && !strcmp(m->name, "live-blocks"))
		return site->older_blocks;
	return metric__of(m, site);
}

static int by_place(const struct snapshot *s, const struct place *a, const struct place *b)
{
	const char *ma, *mb;
	int d = 0;

	if (a->module != b->module) {
		ma = place__frame(s, a, 0).module;
		mb = place__frame(s, b, 0).module;
		d = strcmp(ma ? ma : "", mb ? mb : "");
	}
	return d ?: ORDER(a->offset, b->offset);
}

/* What is not known comes last. */
static int larger_first(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) - isnan(b);
	return ORDER(b, a);
}

static int by_key(const struct rank *r, const struct snap_site *a, const struct snap_site *b)
{
	uint64_t wa, wb;

	if (r->by->value)
		return larger_first(r->by->value(a), r->by->value(b));
	wa = rank__weight(r, r->by, a);
	wb = rank__weight(r, r->by, b);
	return ORDER(wb, wa);
}

static int by_rank(const void *pa, const void *pb, void *arg)
{
	const struct snap_site *a = *(const struct snap_site *const *)pa, *b = *(const struct snap_site *const *)pb;
	const struct order *o = arg;
	const struct snapshot *s = o->s;
	int d = o->ended_last ? s->processes[a->process].ended - s->processes[b->process].ended : 0;

	d = d ?: by_key(o->r, a, b) ?: (o->view->older ? ORDER(live_bytes(o->r, b), live_bytes(o->r, a)) : 0) ?:
	    ORDER(b->c.alloc_bytes, a->c.alloc_bytes) ?: ORDER(b->c.alloc_calls, a->c.alloc_calls) ?:
	    ORDER(s->processes[a->process].id, s->processes[b->process].id) ?: ORDER((uint64_t)a->tid, (uint64_t)b->tid) ?:
	    strcmp(a->function, b->function);
	for (uint32_t i = 0; !d && i < MIN(a->n_stack, b->n_stack); i++)
		if (a->stack[i] != b->stack[i])
			d = by_place(s, &s->places[a->stack[i]], &s->places[b->stack[i]]);
	return d ?: ORDER(a->n_stack, b->n_stack);
}

static double freed(const struct snap_site *site)
{
	return site->c.alloc_calls ? (double)site->c.free_calls / (double)site->c.alloc_calls : NAN;
}

/* Orders of rows, but nothing that a graph could weigh. */
static const struct metric orders[] = {
	{ .name = "growth", .unit = "bytes", .needs = HAS_LIVE_BYTES, .value = site__growth_order },
	{ .name = "freed", .unit = "frees", .needs = HAS_FREE_CALLS | HAS_ALLOC_CALLS, .value = freed },
	METRIC("oldest", "ns", "oldest_ns", HAS_LIVE_BLOCKS, oldest_ns),
	METRIC("freed-calls", "frees", "free_calls", HAS_FREE_CALLS, c.free_calls),
	METRIC("moved-bytes", "bytes", "moved_bytes", HAS_REALLOC_CALLS, moves.moved_bytes),
};

/* What --sort takes beside the names of metrics: the titles of the columns that have them. */
static const struct {
	const char *title, *key;
} titles[] = {
	{ "live", "live-bytes" }, { "growth", "growth" },     { "blocks", "live-blocks" }, { "freed", "freed" },     { "oldest", "oldest" },
	{ "calls", "alloc-calls" }, { "bytes", "alloc-bytes" }, { "peak", "peak-bytes" },   { "temp", "temp-calls" },
	{ "unreached", "unreached-bytes" },
	/* of --view blocks, where a row is a block */
	{ "age", "oldest" }, { "size", "live-bytes" },
};

const char *rank__words(void)
{
	static char words[512];
	size_t at = 0;

	if (*words)
		return words;
	for (size_t i = 0; i < ARRAY_SIZE(titles); i++)
		at += (size_t)snprintf(words + at, sizeof(words) - at, "%s%s", at ? " " : "", titles[i].title);
	for (size_t i = 0; i < n_metrics; i++)
		at += (size_t)snprintf(words + at, sizeof(words) - at, " %s", metrics[i].name);
	return words;
}

const struct metric *rank__metric(const char *name, unsigned int known)
{
	const struct metric *key = name ? rank__key(name) : NULL;

	return (key ? metric__find(key->name) : NULL) ?: metric__preset(known);
}

const struct metric *rank__key(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(titles); i++)
		if (!strcmp(name, titles[i].title))
			name = titles[i].key;
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++)
		if (!strcmp(name, orders[i].name))
			return &orders[i];
	return metric__find(name);
}

/* v[at] may be lighter than what hangs below it in the heap: of two, the one that ranks later is above. */
static void sift(const struct snap_site **v, size_t n, size_t at, struct order *o)
{
	for (;;) {
		size_t last = at;

		for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < n; child++)
			if (by_rank(&v[child], &v[last], o) > 0)
				last = child;
		if (last == at)
			return;
		SWAP(v[at], v[last]);
		at = last;
	}
}

/*
 * The first of all in their order, the others after them in none: ten rows of
 * ten thousand sites are shown, once a second. A heap holds the best so far, the
 * last of them on top.
 */
static void sort_first(const struct snap_site **v, size_t n, size_t first, struct order *o)
{
	if (first && first < n) {
		for (size_t i = first / 2; i-- > 0;)
			sift(v, first, i, o);
		for (size_t i = first; i < n; i++)
			if (by_rank(&v[i], &v[0], o) < 0) {
				SWAP(v[i], v[0]);
				sift(v, first, 0, o);
			}
	}
	qsort_r(v, MIN(first, n), sizeof(*v), by_rank, o);
}

void rank__init(struct rank *r, const struct snapshot *s, enum view_bit view, const char *sort, bool older, size_t top)
{
	const struct view *v = view__of(view);
	struct order o = { .s = s, .r = r, .view = v };

	*r = (struct rank){ .by = rank__key(sort ? sort : v->sort), .older = older };
	/* what is held now is not among what was held then, unless that was asked for */
	o.ended_last = r->ended_last = !sort && v->holds && snapshot__has_both(s);
	r->v = xcalloc(s->n_sites + 1, sizeof(*r->v));
	for (size_t i = 0; i < s->n_sites; i++)
		if (view__shows(v, &s->sites[i], older))
			r->v[r->n++] = &s->sites[i];
	sort_first(r->v, r->n, top, &o);
}

void rank__sums(const struct rank *r, const struct metric *m, size_t n, uint64_t *ret_whole, uint64_t *ret_first)
{
	*ret_whole = *ret_first = 0;
	for (size_t i = 0; i < r->n; i++) {
		uint64_t weight = rank__weight(r, m, r->v[i]);

		*ret_whole += weight;
		*ret_first += i < n ? weight : 0;
	}
}

void rank__done(struct rank *r)
{
	free(r->v);
	r->v = NULL;
	r->n = 0;
}

uint64_t rank__of_counters(const struct metric *key, const struct counters *c)
{
	struct snap_site as_site = { .c = *c, .at_peak_bytes = c->peak_bytes };

	return metric__of(key, &as_site);
}
