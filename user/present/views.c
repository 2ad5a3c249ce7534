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

#include <stdio.h>
#include <string.h>

#include "present/columns.h"
#include "util/util.h"

#define LIVE (HAS_LIVE_BYTES | HAS_LIVE_BLOCKS)
#define ALLOCS (HAS_ALLOC_BYTES | HAS_ALLOC_CALLS)

/* ---- which sites a view shows */

static bool is_live(const struct snap_site *site, bool older)
{
	return older ? site->older_blocks : site->c.live_blocks;
}

static bool was_called(const struct snap_site *site, bool older)
{
	return site->c.alloc_calls;
}

static bool was_faulted(const struct snap_site *site, bool older)
{
	return site->c.alloc_calls && site->growth == GROWTH_FAULT;
}

static bool was_mapped(const struct snap_site *site, bool older)
{
	return site->c.alloc_calls && site->growth != GROWTH_FAULT;
}

static bool was_at_peak(const struct snap_site *site, bool older)
{
	return site->at_peak_bytes;
}

static bool was_temporary(const struct snap_site *site, bool older)
{
	return site->c.temp_calls;
}

static bool was_freed(const struct snap_site *site, bool older)
{
	return site->c.free_calls;
}

static bool was_passed_on(const struct snap_site *site, bool older)
{
	return site->moves.calls;
}

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

/* ---- what a report shows if nothing was asked for */

static bool always(const struct snapshot *s)
{
	return true;
}

static bool without_tags(const struct snapshot *s)
{
	return !s->n_tags;
}

static bool with_tags(const struct snapshot *s)
{
	return s->n_tags;
}

static bool of_several(const struct snapshot *s)
{
	return s->n_processes > 1;
}

/*
 * ---- columns of the live view
 *
 * Which go where a screen is too narrow: what decides whether a row matters stays the longest. Of what is
 * live that is how much, the verdict and whose; then growth, and what was asked for (Δ, after a baseline);
 * then what tells a leak from a cache, FREED and OLDEST; then what can be worked out from the others.
 */

#define PROCESS { .name = "process", .width = 22, .drop = 1 }
#define SITE { .name = "site", .flexible = true }

static const struct view_column live_columns[] = {
	{ .name = "live" },
	{ .name = "error", .of = "live-error" },
	{ .name = "delta", .drop = 3 },
	{ .name = "growth", .drop = 2 },
	{ .name = "trend", .from_cols = 112, .drop = 9 },
	{ .name = "blocks", .drop = 6 },
	{ .name = "unreached", .drop = 2 },
	{ .name = "freed", .drop = 4 },
	{ .name = "oldest", .drop = 5 },
	{ .name = "verdict" },
	PROCESS,
	SITE,
};

static const struct view_column alloc_columns[] = {
	{ .name = "calls-rate" },
	{ .name = "most-rate", .drop = 4, .from_cols = 110 },
	{ .name = "bytes-rate" },
	{ .name = "calls", .drop = 3 },
	{ .name = "error", .of = "calls-error", .drop = 3 },
	{ .name = "bytes", .drop = 5 },
	{ .name = "average" },
	{ .name = "temporary" },
	PROCESS,
	SITE,
};

static const struct view_column peak_columns[] = {
	{ .name = "peak" },
	{ .name = "share", .of = "peak-share" },
	{ .name = "live", .title = "LIVE NOW" },
	{ .name = "blocks", .drop = 3 },
	{ .name = "oldest", .drop = 5 },
	{ .name = "verdict", .drop = 4 },
	PROCESS,
	SITE,
};

static const struct view_column growth_columns[] = {
	{ .name = "bytes" },
	{ .name = "bytes-rate" },
	{ .name = "calls" },
	{ .name = "calls-rate", .drop = 3 },
	{ .name = "last", .drop = 4 },
	{ .name = "function", .width = 10, .drop = 2 },
	PROCESS,
	SITE,
};

static const struct view_column free_columns[] = {
	{ .name = "frees-rate", .drop = 2 },
	{ .name = "frees" },
	{ .name = "freed", .drop = 3 },
	{ .name = "bytes", .of = "freed-bytes", .drop = 5 },
	{ .name = "lived" },
	{ .name = "cross", .drop = 6 },
	{ .name = "where", .of = "freed-at", .drop = 1 },
	{ .name = "process", .width = 22, .drop = 4 },
	SITE,
};

static const struct view_column columns_of_processes[] = {
	{ .name = "live" },
	{ .name = "bytes" },
	{ .name = "delta", .drop = 5 },
	{ .name = "growth", .drop = 3 },
	{ .name = "calls-rate", .drop = 6 },
	{ .name = "bytes-rate", .drop = 8 },
	{ .name = "peak", .drop = 10 },
	{ .name = "rss", .drop = 4 },
	{ .name = "rss-change", .drop = 3 },
	{ .name = "age", .drop = 9 },
	{ .name = "verdict", .drop = 1, .needs = LIVE },
	{ .name = "members", .drop = 5 },
	{ .name = "pid", .drop = 2 },
	{ .name = "container-pid", .drop = 11, .from_cols = 150 },
	{ .name = "process", .width = 20 },
	{ .name = "where", .drop = 7, .flexible = true },
};

static const struct view_column columns_of_threads[] = {
	{ .name = "calls-rate" },
	{ .name = "bytes-rate" },
	{ .name = "calls" },
	{ .name = "bytes", .drop = 1 },
	{ .name = "average", .drop = 4 },
	{ .name = "frees", .drop = 2 },
	{ .name = "temporary", .drop = 5 },
	{ .name = "reallocs", .drop = 7 },
	{ .name = "threads", .drop = 3 },
	{ .name = "ended", .width = 5, .drop = 6 },
	{ .name = "tid" },
	{ .name = "thread", .width = 24 },
	{ .name = "process", .flexible = true },
};

static const struct view_column columns_of_tags[] = {
	{ .name = "entered", .drop = 1 },
	{ .name = "allocs" },
	{ .name = "allocs-each", .drop = 4 },
	{ .name = "allocs-rate", .drop = 8 },
	{ .name = "bytes" },
	{ .name = "bytes-each", .drop = 3 },
	{ .name = "kept" },
	{ .name = "kept-each", .drop = 2 },
	{ .name = "delta", .drop = 7 },
	{ .name = "blocks", .drop = 6 },
	{ .name = "share", .drop = 5 },
	{ .name = "tag", .width = 14, .flexible = true },
};

static const struct view_column columns_of_marks[] = {
	{ .name = "time" },
	{ .name = "number", .drop = 1 },
	{ .name = "since", .drop = 2 },
	{ .name = "allocs" },
	{ .name = "bytes", .drop = 3 },
	{ .name = "change" },
	{ .name = "live", .drop = 5 },
	{ .name = "process", .drop = 4 },
	{ .name = "mark", .flexible = true },
};

static const struct view_column columns_of_whens[] = {
	{ .name = "fired" },
	{ .name = "last", .drop = 1 },
	{ .name = "condition" },
	{ .name = "why", .flexible = true },
};

/* What a heap is made of; whether a block is lost matters more than its share. */
#define WHOSE { .name = "process", .width = 18, .drop = 2 }

static const struct view_column columns_of_classes[] = {
	{ .name = "usable" },
	{ .name = "blocks", .drop = 3 },
	{ .name = "bytes" },
	{ .name = "share", .drop = 5 },
	{ .name = "older", .drop = 4 },
	{ .name = "unreached" },
	WHOSE,
	{ .name = "types", .flexible = true },
};

static const struct view_column columns_of_types[] = {
	{ .name = "bytes" },
	{ .name = "share", .drop = 4 },
	{ .name = "blocks", .drop = 3 },
	{ .name = "older", .drop = 5 },
	{ .name = "unreached" },
	{ .name = "what", .drop = 6 },
	WHOSE,
	{ .name = "type", .flexible = true },
};

static const struct view_column columns_of_arenas[] = {
	{ .name = "bytes" },
	{ .name = "blocks", .drop = 5 },
	{ .name = "free" },
	{ .name = "tcache", .drop = 6 },
	{ .name = "bins", .drop = 3 },
	{ .name = "top", .drop = 4 },
	{ .name = "trimmable", .drop = 2 },
	{ .name = "largest", .drop = 8 },
	{ .name = "mapped", .drop = 7 },
	WHOSE,
	{ .name = "arena", .flexible = true },
};

static const struct view_column columns_of_parts[] = {
	{ .name = "resident" },
	{ .name = "share", .drop = 3 },
	{ .name = "mapped", .drop = 4 },
	{ .name = "swapped", .drop = 6 },
	{ .name = "deepest", .drop = 5 },
	{ .name = "tid", .drop = 7 },
	{ .name = "kind", .drop = 2 },
	WHOSE,
	{ .name = "part", .flexible = true },
};

static const struct view_column columns_of_roots[] = {
	{ .name = "bytes" },
	{ .name = "share", .drop = 4 },
	{ .name = "blocks", .drop = 3 },
	{ .name = "kind", .drop = 2 },
	{ .name = "module", .width = 18, .drop = 5 },
	WHOSE,
	{ .name = "root", .flexible = true },
};

#define SUM_FIGURES								\
	{ .name = "live" },							\
	{ .name = "total", .drop = 2 },						\
	{ .name = "share", .drop = 9 },						\
	{ .name = "delta", .drop = 3 },						\
	{ .name = "growth", .drop = 1 },					\
	{ .name = "blocks", .drop = 8 },					\
	{ .name = "calls-rate", .drop = 5 },					\
	{ .name = "calls", .drop = 11 },					\
	{ .name = "bytes" },							\
	{ .name = "freed", .drop = 4 },						\
	{ .name = "oldest", .drop = 6 },					\
	{ .name = "stacks", .width = 6, .drop = 10 },				\
	{ .name = "verdict" }

static const struct view_column columns_of_functions[] = {
	SUM_FIGURES,
	{ .name = "module", .width = 18, .drop = 7 },
	{ .name = "function", .flexible = true },
};

static const struct view_column columns_of_files[] = {
	SUM_FIGURES,
	{ .name = "module", .width = 18, .drop = 12 },
	{ .name = "file", .flexible = true },
};

static const struct view_column columns_of_modules[] = {
	SUM_FIGURES,
	{ .name = "path", .flexible = true },
};

#define COLUMNS(v) .columns = v, .n_columns = ARRAY_SIZE(v)

/* ---- the views */

const struct view views[] = {
	{ VIEW_LIVE, "live", "LIVE", .alias = "leaks", .needs = LIVE, .preset = always, .sort = "live-bytes", .shows = is_live, .older = true, .holds = true,
	  .empty = "no live blocks from this trace", .columns = &site_columns,
	  .live = { .key = '1', COLUMNS(live_columns), .sort = "live" },
	  .page = { "live share blocks unreached freed oldest change growth verdict process site" } },
	/* of a trace with --mode growth they are RESIDENT and MAPPED */
	{ VIEW_ALLOCS, "allocs", "ALLOCATIONS", .needs = ALLOCS, .where = WHERE_NO_GROWTH, .preset = without_tags,
	  .sort = "alloc-calls", .shows = was_called,
	  .empty = "nothing was allocated while traced", .columns = &site_columns,
	  .live = { .key = '2', COLUMNS(alloc_columns), .sort = "calls-rate", .with = VIEW_TEMPORARY },
	  .page = { "calls share calls-rate bytes average temporary lived process site" } },
	{ VIEW_REALLOC, "realloc", "REALLOC", .internal = true, .where = WHERE_MOVES, .with = VIEW_ALLOCS,
	  .sort = "moved-bytes", .shows = was_passed_on,
	  .empty = "realloc was not called for a block that was known", .columns = &site_columns,
	  .page = { "passed-on moved copied larger-by small-steps shrunk longest process site", .sort = "copied" } },
	{ VIEW_PEAK, "peak", "PEAK", .needs = HAS_PEAK_BYTES | HAS_LIVE_BYTES, .sort = "peak-bytes", .shows = was_at_peak, .holds = true,
	  .empty = "nothing was live at any moment of the trace", .columns = &site_columns,
	  .live = { .key = '3', COLUMNS(peak_columns), .sort = "peak" } },
	{ VIEW_TEMPORARY, "temporary", "TEMPORARY", .needs = HAS_TEMP_CALLS | ALLOCS, .sort = "temp-calls", .shows = was_temporary,
	  .empty = "no block was freed before the next allocation", .columns = &site_columns },
	/* the mode that sees no realloc sees no allocation either, but pages */
	{ VIEW_SIZES, "sizes", "SIZES", .needs = ALLOCS | HAS_REALLOC_CALLS, .sort = "alloc-bytes", .shows = was_called,
	  .empty = "nothing was allocated while traced", .columns = &site_columns,
	  .live = { .key = '6', .bars = true, .with = VIEW_LIFETIMES } },
	{ VIEW_LIFETIMES, "lifetimes", "LIFETIMES", .needs = HAS_LIFETIMES | HAS_ALLOC_CALLS, .sort = "alloc-calls",
	  .weighs = "freed-calls", .shows = was_freed, .empty = "no block was freed while traced", .columns = &site_columns },
	{ VIEW_FREES, "frees", "FREES", .needs = HAS_LIFETIMES, .where = WHERE_FREE_STACKS, .preset = always,
	  .sort = "freed-calls", .shows = was_freed, .empty = "no block was freed while traced", .columns = &site_columns,
	  .live = { .key = '9', COLUMNS(free_columns), .sort = "frees", .option = "--free-stacks" },
	  .page = { "frees share bytes cross lived threads process site", .of = &free_place_columns } },
	{ VIEW_RESIDENT, "resident", "RESIDENT", .internal = true, .needs = ALLOCS, .where = WHERE_GROWTH, .with = VIEW_ALLOCS,
	  .sort = "alloc-bytes", .shows = was_faulted, .empty = "no page fault while traced", .columns = &site_columns,
	  .live = { .key = '1', COLUMNS(growth_columns), .sort = "bytes" },
	  .page = { "bytes share calls function process site" } },
	{ VIEW_MAPPED, "mapped", "MAPPED", .internal = true, .needs = ALLOCS, .where = WHERE_GROWTH, .with = VIEW_ALLOCS,
	  .sort = "alloc-bytes", .shows = was_mapped, .empty = "neither brk nor mmap added memory while traced",
	  .columns = &site_columns, .live = { .key = '2', COLUMNS(growth_columns), .sort = "bytes" },
	  .page = { "bytes share calls function process site" } },

	{ VIEW_FUNCTIONS, "functions", "FUNCTIONS", .rows = ROWS_SUMS, .needs = ALLOCS, .all_names = true, .sum_by = by_function, .shows = was_called,
	  .empty = "nothing was allocated while traced", .columns = &sum_columns,
	  .live = { .key = 'f', COLUMNS(columns_of_functions), .sort = "live" },
	  .page = { "live share live-total blocks blocks-total calls calls-total bytes freed stacks change change-total function", .of = &function_columns } },
	{ VIEW_FILES, "files", "FILES", .rows = ROWS_SUMS, .needs = ALLOCS, .all_names = true, .sum_by = by_file, .shows = was_called,
	  .empty = "nothing was allocated while traced", .columns = &file_columns,
	  .live = { .key = 'F', COLUMNS(columns_of_files), .sort = "live" } },
	{ VIEW_MODULES, "modules", "MODULES", .rows = ROWS_SUMS, .needs = ALLOCS, .all_names = true, .sum_by = by_module, .shows = was_called,
	  .empty = "nothing was allocated while traced", .columns = &module_columns,
	  .live = { .key = 'M', COLUMNS(columns_of_modules), .sort = "live" } },
	{ VIEW_PROCESSES, "processes", "PROCESSES", .rows = ROWS_PROCESSES, .needs = HAS_ALLOC_BYTES, .preset = of_several, .leads = true,
	  .empty = "no process", .columns = &process_columns, .live = { .key = '4', COLUMNS(columns_of_processes), .sort = "live" },
	  .page = { "live blocks peak growth rss calls bytes lost attached verdict process" } },
	{ VIEW_THREADS, "threads", "THREADS", .rows = ROWS_THREADS, .needs = ALLOCS,
	  .empty = "no thread has allocated while traced", .columns = &thread_columns,
	  .live = { .key = '5', COLUMNS(columns_of_threads), .sort = "calls-rate", .where = WHERE_NO_GROWTH },
	  .page = { "calls calls-rate bytes frees temporary-calls reallocs failed older-frees process tid thread" } },
	{ VIEW_TAGS, "tags", "TAGS", .rows = ROWS_TAGS, .needs = ALLOCS, .preset = with_tags, .leads = true,
	  .empty = "nothing was allocated while traced", .columns = &tag_columns,
	  .live = { .key = '7', COLUMNS(columns_of_tags), .sort = "kept", .where = WHERE_TAGGED, .option = "--tag FUNC" },
	  .page = { "kept share blocks allocs bytes entered allocs-each bytes-each kept-each tag" } },
	/* in a report, marks are below tags */
	{ VIEW_MARKS, "marks", "MARKS", .internal = true, .rows = ROWS_MARKS,
	  .empty = "no marked function was called while traced", .columns = &mark_columns,
	  .live = { .key = '8', COLUMNS(columns_of_marks), .sort = "time", .with = VIEW_TAGS, .where = WHERE_MARKED, .option = "--mark FUNC" },
	  .page = { "time live change allocs bytes process tid compare mark" } },
	{ VIEW_WHENS, "when", "CONDITIONS", .internal = true, .rows = ROWS_WHENS, .where = WHERE_WHENS,
	  .empty = "no condition", .columns = &when_columns,
	  .live = { .key = '0', COLUMNS(columns_of_whens), .sort = "last", .option = "--when COND" } },
	/* in a report: --between; on a page, of what is chosen on its timeline */
	{ VIEW_CHANGED, "changed", "CHANGED", .internal = true, .rows = ROWS_CHANGES, .needs = LIVE, .where = WHERE_NO_GROWTH,
	  .empty = "no site is known to hold more or less", .columns = &change_columns,
	  .page = { "change share from to verdict process site", .sort = "share" } },
	/* on the screen it is a pane of its own */
	{ VIEW_TREE, "tree", "TREE", .rows = ROWS_TREE, .needs = HAS_ALLOC_CALLS, .all_names = true },
	/* what is there beside the sites, older or free; on a page it is a part of its own */
	{ VIEW_HEAP, "heap", "HEAP", .rows = ROWS_HEAP, .where = WHERE_HEAP, .preset = always, .empty = "no block is in use", .columns = &class_columns,
	  .live = { .key = 'H', COLUMNS(columns_of_classes), .sort = "bytes" } },
	{ VIEW_HEAP_TYPES, "types", "TYPES", .internal = true, .rows = ROWS_TYPES, .where = WHERE_CENSUS,
	  .empty = "no block was looked at", .columns = &type_columns,
	  .live = { COLUMNS(columns_of_types), .sort = "bytes", .beside = VIEW_HEAP } },
	{ VIEW_HEAP_ARENAS, "arenas", "ARENAS", .internal = true, .rows = ROWS_ARENAS, .where = WHERE_CENSUS,
	  .empty = "no arena", .columns = &arena_columns,
	  .live = { COLUMNS(columns_of_arenas), .sort = "free", .beside = VIEW_HEAP } },
	{ VIEW_HEAP_PARTS, "RSS", "RESIDENT MEMORY", .internal = true, .rows = ROWS_PARTS, .where = WHERE_PARTS,
	  .empty = "nothing is resident", .columns = &part_columns,
	  .live = { COLUMNS(columns_of_parts), .sort = "resident", .beside = VIEW_HEAP } },
	{ VIEW_HEAP_ROOTS, "roots", "HELD THROUGH", .internal = true, .rows = ROWS_ROOTS, .where = WHERE_ROOTS,
	  .empty = "nothing is reached", .columns = &root_columns,
	  .live = { COLUMNS(columns_of_roots), .sort = "bytes", .beside = VIEW_HEAP } },
	{ VIEW_BLOCKS, "blocks", "BLOCKS", .rows = ROWS_BLOCKS, .where = WHERE_BLOCKS, .preset = always,
	  .empty = "no block is listed" },
	/* on the screen, below a stack */
	{ VIEW_SOURCE, "source", "SOURCE", .rows = ROWS_SOURCE, .needs = ALLOCS, .all_names = true },
};
const size_t n_views = ARRAY_SIZE(views);
_Static_assert(ARRAY_SIZE(views) <= VIEWS_MAX, "a place for each");

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
			at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s", at ? " " : "", views[i].name);
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
	unsigned int ret = 0;

	for (size_t i = 0; i < n_views; i++)
		if (views[i].preset && views[i].preset(s))
			ret |= views[i].bit;
	return ret & views__in(s);
}
