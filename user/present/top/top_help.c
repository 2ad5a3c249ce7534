// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the page of help: the keys, what each column of the view at hand means, the
 * verdicts, and what stands above the tables.
 *
 *	 HELP                                            1-18 of 71, ↓ more: PgDn
 *	 KEYS
 *	 ↑↓           one row up or down (also k, j)
 *	 ...
 *	 COLUMNS of live
 *	 FREED        share of the blocks allocated here that were freed again
 *
 * What always holds: a column that a view can show has a sentence; what there is no room for is
 * said to be there.
 */
#include <string.h>

#include "present/top/top_parts.h"

#define HEAD_COLS 14		/* of what is explained */
#define TEXT_LEAST 12

/* ---- columns */

#define OF(rows) (1u << (rows))
#define HEAP (OF(ROWS_HEAP) | OF(ROWS_TYPES) | OF(ROWS_ARENAS) | OF(ROWS_PARTS) | OF(ROWS_ROOTS))
#define MOST (~(HEAP | OF(ROWS_MARKS) | OF(ROWS_WHENS)))

/* By the column's name; the first row that is of the view's rows. */
static const struct {
	const char *column;
	unsigned int rows;	/* 1 << enum view_rows */
	const char *says;
} meanings[] = {
	{ "live", OF(ROWS_MARKS), "what its process held at the mark" },
	{ "live", MOST, "bytes allocated since the trace began and not freed yet" },
	{ "live-now", MOST, "bytes allocated since the trace began and not freed yet" },
	{ "live-error", MOST, "standard error of that estimate" },
	{ "calls-error", MOST, "standard error of that estimate" },
	{ "delta", MOST, "change of the live bytes since the baseline: b, or SIGUSR2" },
	{ "growth", OF(ROWS_SUMS), "growth of the live bytes of its stacks per second, added up" },
	{ "growth", MOST, "growth of its live bytes per second, over the time that its verdict covers: requests that come and go are no growth" },
	{ "trend", MOST, "its live bytes from the beginning of the trace until now, in cells of equal time; blank where they were not sampled" },
	{ "blocks", HEAP, "blocks in use" },
	{ "blocks", MOST, "live blocks" },
	{ "unreached", HEAP, "bytes of these blocks that no pointer was found to, in all scans: probably leaked. Pointers that the program hides (XORed, compressed) cannot be seen" },
	{ "unreached", MOST, "bytes of its live blocks to which the last search (u) found no pointer: probably leaked. Newer blocks are not included" },
	{ "usable", HEAP, "usable bytes of a block, as malloc_usable_size says; large ones are in ranges" },
	{ "bytes", OF(ROWS_ARENAS), "usable bytes of its blocks in use" },
	{ "bytes", OF(ROWS_ROOTS), "usable bytes of the blocks that are first reached from there" },
	{ "bytes", HEAP, "usable bytes of these blocks; ~ is scaled up from a sample of each size" },
	{ "share", HEAP, "of all that is in use, or, of resident memory, of RSS" },
	{ "older", HEAP, "blocks of these that are older than the trace" },
	{ "types", HEAP, "C++ classes, or what bytes look like: text, pointers, zeros, other; shares of a sample of that size" },
	{ "type", HEAP, "a C++ class, or what bytes look like: text, pointers, zeros, other" },
	{ "what", HEAP, "class: by the vtable that a block begins with; looks: by what its bytes look like" },
	{ "free", HEAP, "free bytes that the allocator keeps: all of the following" },
	{ "tcache", HEAP, "in caches of threads" },
	{ "bins", HEAP, "in bins, for any thread of this arena" },
	{ "top", HEAP, "at the end of an arena: not allocated yet, or free again" },
	{ "trimmable", HEAP, "whole pages of the free bytes, which malloc_trim would return to the kernel" },
	{ "largest", HEAP, "the largest free piece" },
	{ "mapped", HEAP, "its address space, touched or not" },
	{ "arena", HEAP, "main, or one of those that glibc makes for threads; the bar: in use, then free" },
	{ "resident", HEAP, "how much of it is in RAM" },
	{ "swapped", HEAP, "how much of it is swapped out" },
	{ "deepest", HEAP, "of a stack: how much was ever used, by the pages that were touched" },
	{ "tid", HEAP, "its thread" },
	{ "part", HEAP, "the thread, the file, or the file and its variable" },
	{ "kind", OF(ROWS_ROOTS), "a global variable, a thread's thread-local variables or registers (tls/regs), its stack, or a mapping. A stack may have old copies of pointers, which hold blocks that the program has lost" },
	{ "kind", HEAP, "heap, stacks, variables, code, files, shared memory, or anonymous memory that no allocator made" },
	{ "module", HEAP, "the file of the variable" },
	{ "root", HEAP, "what most of these blocks are first reached through" },
	{ "freed", MOST, "share of the blocks allocated here that were freed again; 0% and growing is a leak, or a cache that keeps everything: u tells which" },
	{ "oldest", MOST, "age of the oldest live block; in a cache or a leak, about that of the trace" },
	{ "verdict", OF(ROWS_SUMS), "the worst of its stacks" },
	{ "verdict", MOST, "whether its live bytes grow, see below; Enter shows why; -: not clear" },
	{ "process", MOST | HEAP, "its process" },
	{ "process", ~0u, "the process that made the call" },
	{ "site", OF(ROWS_SITES), "who allocated: the first function of the stack that is neither in an allocator nor in a library below the program" },
	{ "calls-rate", MOST, "allocation calls a second, since the update before" },
	{ "most-rate", MOST, "the most allocation calls that there were in a second" },
	{ "bytes-rate", MOST, "bytes allocated a second, since the update before" },
	{ "calls", MOST, "allocation calls since the trace began" },
	{ "bytes", OF(ROWS_MARKS), "bytes allocated since the mark before" },
	{ "bytes", MOST, "bytes allocated since the trace began, freed or not" },
	{ "average", MOST, "bytes of an allocation, on average" },
	{ "temporary", MOST, "share of the blocks that were freed by the same thread before it allocated another one" },
	{ "peak", OF(ROWS_SITES), "what it held when its process held the most" },
	{ "peak", MOST, "the most that was live at one moment" },
	{ "peak-share", MOST, "its share of that peak" },
	{ "share", MOST, "its share of all rows" },
	{ "last", OF(ROWS_WHENS), "how long ago the condition held last" },
	{ "last", MOST, "how long ago the last one was" },
	{ "function", OF(ROWS_SITES), "what made the process larger: a page fault, brk or mmap" },
	{ "function", MOST, "the function that names the stacks that are added up here" },
	{ "frees-rate", MOST, "frees a second, since the update before" },
	{ "frees", MOST, "frees since the trace began" },
	{ "freed-bytes", MOST, "bytes freed since the trace began" },
	{ "lived", MOST, "how long freed blocks had lived, on average" },
	{ "cross", MOST, "share of them that another thread freed than the one that allocated" },
	{ "freed-at", MOST, "the place that freed most of them" },
	{ "rss", MOST, "resident memory: how much of the process is in RAM" },
	{ "rss-change", MOST, "of resident memory, since the trace began" },
	{ "age", MOST, "how long the process has run" },
	{ "members", MOST, "how many processes the row stands for" },
	{ "pid", MOST, "process id" },
	{ "container-pid", MOST, "process id inside of its container" },
	{ "where", MOST, "its unit, its pod, its container, or the end of its cgroup's path" },
	{ "cgroup", MOST, "the cgroup, which separates the rows" },
	{ "reallocs", MOST, "calls of realloc" },
	{ "threads", MOST, "how many threads the row stands for" },
	{ "ended", MOST, "whether it has ended, or how many of them" },
	{ "tid", MOST, "thread id" },
	{ "thread", MOST, "its name; those of one kind are one row, which Enter unfolds" },
	{ "entered", MOST, "how often the function was called" },
	{ "allocs", OF(ROWS_MARKS), "allocations since the mark before" },
	{ "allocs", MOST, "allocations below the function" },
	{ "allocs-each", MOST, "allocations for each call of the function" },
	{ "allocs-rate", MOST, "allocations a second, since the update before" },
	{ "bytes-each", MOST, "bytes allocated for each call of the function" },
	{ "kept", MOST, "bytes of these allocations that are live" },
	{ "kept-each", MOST, "live bytes for each call of the function" },
	{ "tag", MOST, "the innermost of the functions of --tag that is on the stack" },
	{ "time", ~0u, "how long ago the marked function was called" },
	{ "number", ~0u, "which of its calls" },
	{ "since", ~0u, "time since the mark before" },
	{ "change", ~0u, "what the live bytes of all processes changed by since the mark before" },
	{ "mark", ~0u, "the function of --mark" },
	{ "fired", ~0u, "how often the condition held" },
	{ "condition", ~0u, "of --when" },
	{ "why", ~0u, "the figures when the condition held" },
	{ "stacks", MOST, "how many call stacks are added up in the row" },
	{ "total", MOST, "live bytes of all stacks that go through it, each stack once; LIVE has those alone that it names" },
	{ "module", MOST, "the program or library that it is in" },
	{ "file", MOST, "the source file of the function that names the stacks that are added up here" },
	{ "path", MOST, "the program or library of the function that names the stacks that are added up here" },
};

const char *top__meaning(const struct view *v, const struct column *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(meanings); i++)
		if (!strcmp(meanings[i].column, c->name) && meanings[i].rows & OF(v->rows))
			return meanings[i].says;
	return NULL;
}

/* ---- above the tables */

static const struct {
	const char *head, *says;
} lines_above[] = {
	{ "live", "bytes allocated since the trace began and not freed yet, their change per second since the update before, and their history" },
	{ "RSS", "the same of resident memory; explained is how much of its growth live blocks account for" },
	{ "calls", "allocations and frees a second; cost is what the probes take of the CPU time of what is traced" },
	{ "direct", "of the blocks that no pointer was found to, those that nothing points to; only leaked blocks point to the others (indirect)" },
	{ "losses", "what could not be counted; if it is not none, a line below names each loss" },
};

/* ---- the page */

struct page {
	struct grid *g;
	int row, n;		/* of the list: where it begins, how many rows it has */
	size_t scroll, line;	/* lines that are above it; the next one */
};

static int row_of_line(const struct page *p)
{
	int at = (int)p->line - (int)p->scroll;

	return at >= 0 && at < p->n ? p->row + at : -1;
}

static void put_title(struct page *p, const char *text, const char *of)
{
	if (row_of_line(p) >= 0)
		grid__putf(p->g, row_of_line(p), 1, p->g->cols - 1, STYLE_TITLE, "%s%s", text, of);
	p->line++;
}

/* How many bytes of text go into so many columns, up to the end of a word if one ends there. */
static size_t bytes_for(const char *text, int cols)
{
	size_t at = 0, word = 0, n = strlen(text);
	int used = 0;

	while (at < n) {
		unsigned int width;
		uint32_t c;
		size_t step = text_next(text + at, n - at, &c, &width);

		if (used + (int)width > cols)
			return word ? word : MAX(at, step);
		used += (int)width;
		at += step;
		if (text[at] == ' ' || !text[at])
			word = at;
	}
	return n;
}

static void put_entry(struct page *p, enum style style, const char *head, const char *text)
{
	int cols = MAX(p->g->cols - HEAD_COLS, TEXT_LEAST);

	for (bool first = true; *text; first = false) {
		size_t n = bytes_for(text, cols);
		int row = row_of_line(p);

		if (row >= 0 && first)
			grid__put(p->g, row, 1, HEAD_COLS - 2, style, head);
		if (row >= 0)
			grid__putf(p->g, row, HEAD_COLS, p->g->cols - HEAD_COLS, STYLE_PLAIN, "%.*s", (int)n, text);
		p->line++;
		text += n + strspn(text + n, " ");
	}
}

static void put_all(const struct top *t, struct page *p)
{
	const struct view *v = top__view(t);
	const struct columns *columns = view__columns(v);
	bool judged = false;

	put_title(p, "KEYS", "");
	for (size_t i = 0; i < n_top_keys; i++)
		if (top_keys[i].help)
			put_entry(p, STYLE_KEY, top_keys[i].shown, top_keys[i].help);
	if (columns->n)
		put_title(p, "COLUMNS of ", v->name);
	for (size_t i = 0; i < columns->n; i++) {
		const struct column *c = &columns->v[i];

		judged |= !strcmp(c->as, "verdict") && view__has_column(t, v, c);
		/* Δ is what b is for */
		if (top__meaning(v, c) && (view__has_column(t, v, c) || !strcmp(c->as, "delta")))
			put_entry(p, STYLE_LABEL, column__title(c, t->shown), top__meaning(v, c));
	}
	if (judged)
		put_title(p, "VERDICTS", "");
	for (size_t i = 0; i < n_verdict_words && judged; i++)
		put_entry(p, tone__style(verdict_words[i].tone), verdict_words[i].name, verdict_words[i].says);
	put_title(p, "ABOVE THE TABLES", "");
	for (size_t i = 0; i < ARRAY_SIZE(lines_above); i++)
		put_entry(p, STYLE_LABEL, lines_above[i].head, lines_above[i].says);
}

/* "1-18 of 71, ↓ more" */
static void put_place(const struct top *t, struct grid *g, int row)
{
	size_t first = t->help_scroll + 1, last = MIN(t->help_scroll + (size_t)t->list_rows, t->help_lines);
	bool above = first > 1, below = last < t->help_lines;
	char text[96];

	if (!above && !below)
		return;
	snprintf(text, sizeof(text), "%zu-%zu of %zu, %s%s more ", first, last, t->help_lines, above ? "↑" : "", below ? "↓" : "");
	grid__put_right(g, row, MAX(g->cols - 40, 6), MIN(40, g->cols - 6), STYLE_HEAD, text);
}

void top__draw_help(struct top *t, struct grid *g, int row, int n)
{
	struct page p = { .g = g, .row = row + 1 };

	grid__fill(g, row, 0, g->cols, STYLE_HEAD, ' ');
	grid__put(g, row, 1, g->cols - 1, STYLE_HEAD, "HELP");
	t->list_row = row + 1;
	t->list_rows = MAX(n - 1, 0);
	/* once to count the lines, for the place that was scrolled to */
	put_all(t, &p);
	t->help_lines = p.line;
	if (t->help_scroll + (size_t)t->list_rows > t->help_lines)
		t->help_scroll = t->help_lines > (size_t)t->list_rows ? t->help_lines - (size_t)t->list_rows : 0;
	p = (struct page){ .g = g, .row = row + 1, .n = t->list_rows, .scroll = t->help_scroll };
	put_all(t, &p);
	put_place(t, g, row);
}
