// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the view of the heap as it is: blocks by size, then by type, arenas, the rest of resident memory and what holds
 * it all, one table after the other by g; what was found as a whole stands above them:
 *
 *	in use 64.6 MiB in 414,441 blocks
 *	probably leaked, no pointer found in 3 scans: 40,674 blocks, 33.5 MiB (40,074 direct)
 *	free 20.6 MiB (24.2% of the heap), not a leak: malloc_trim returns 17.5 MiB
 *	older than the trace: 38.2 MiB in 248,662 blocks, no pointer to 8,974 of them
 *	read 12.0s ago, took 312ms, process not stopped; 4 glibc arenas; up to 2 blocks uncertain
 *	       USABLE  BLOCKS     BYTES SHARE UNREACHED TYPES
 *	        1,032  31,744  31.2 MiB 48.4%    31,700 50% std::map<std::string, …>, 50% other
 *
 * The view reads no memory: whoever runs it is asked for a look (TOP_HEAP_LOOK, TOP_HEAP_SEARCH). What always holds: what is said is of the last
 * look, and how long ago that was; where there was none it says so, and which key takes one.
 */
#include <string.h>

#include "present/top/top_parts.h"

#define LINES_MAX 8		/* of what stands above the table, as long as there is room for some rows */
#define ROWS_LEAST 4
#define ROWS_NEEDED 2		/* titles, and the row under the cursor */
#define DIRECT_FROM 100		/* columns from which there is room for how many of the unreached are direct */
#define ARENA_NAME_COLS 13
#define ARENA_BAR_LEAST 6

#define ID_HEAP 8		/* of kinds of rows: others have their own (top_asked.c) */

bool top__is_heap(const struct view *v)
{
	return (v->bit | v->live.beside) & VIEW_HEAP;
}

static bool in_sight(const struct top *t, const struct snap_heap *h)
{
	return !t->scope || t->shown->processes[h->process].id == t->scope;
}

/* The next one in sight from `from` on; NULL: none is left. */
static const struct snap_heap *next_heap(const struct top *t, const struct snap_heap *from)
{
	const struct snapshot *s = t->shown;

	for (const struct snap_heap *h = from ? from + 1 : s->heaps; s->n_heaps && h < s->heaps + s->n_heaps; h++)
		if (in_sight(t, h))
			return h;
	return NULL;
}

/* ---- a look */

uint32_t top__heap_process(const struct top *t)
{
	return t->heap_process;
}

void top__heap_failed(struct top *t, const char *why)
{
	free(t->heap_failed);
	t->heap_failed = why ? xstrdup(why) : NULL;
}

/* The process in sight, or that of the row under the cursor; NULL: it could be any of several. */
static const struct snap_process *wanted_process(const struct top *t)
{
	const struct snap_process *one = top__scope_process(t);
	const struct top_place *p = &t->at[t->view];

	if (one || t->pane != PANE_TABLE || p->cursor >= t->rows.n)
		return one;
	return t->rows.v[p->cursor].of.process;
}

static void show_heap(struct top *t)
{
	for (size_t i = 0; i < t->n_views && !top__is_heap(top__view(t)); i++)
		if (t->views[i]->bit == VIEW_HEAP) {
			t->view = i;
			t->pane = PANE_TABLE;
			top__build_rows(t);
		}
}

/* h: what is there, and the view of it; u: what no pointer reaches, also for the tables of sites. */
enum top_action top__look_at_heap(struct top *t, int key)
{
	const struct snap_process *p = t->shown ? wanted_process(t) : NULL;

	if (!t->shown)
		return TOP_NONE;
	if (!p) {
		top__say(t, "Whose heap? Put the cursor on a row of that process, or choose it: 4, then Enter.");
		return TOP_NONE;
	}
	if (p->ended) {
		top__say(t, "%s has ended: its memory is gone.", PROCESS_NAME(t->shown, p));
		return TOP_NONE;
	}
	t->heap_process = p->id;
	if (key == 'u')
		return TOP_HEAP_SEARCH;
	show_heap(t);
	return TOP_HEAP_LOOK;
}

/* ---- how long ago */

uint64_t top__ago_ns(const struct top *t, const struct snap_heap *h)
{
	return t->shown->duration_ns - MIN(h->at_ns, t->shown->duration_ns);
}

bool top__searched_ago(const struct top *t, uint64_t *ret_ns)
{
	bool any = false;

	*ret_ns = 0;
	for (const struct snap_heap *h = next_heap(t, NULL); h; h = next_heap(t, h))
		if (heap__was_searched(h) && !h->sites_unknown) {
			*ret_ns = MAX(*ret_ns, top__ago_ns(t, h));
			any = true;
		}
	return any;
}

/* ---- rows */

static bool shares_match(const struct top *t, const struct snap_share *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (top__text_matches(t, v[i].name))
			return true;
	return false;
}

static bool matches(const struct top *t, const struct row_of *r)
{
	char text[CELL_MAX];

	if (!*t->filter)
		return true;
	if (r->class)
		return shares_match(t, r->class->types, r->class->n_types) ||
			top__text_matches(t, heap__size_words(text, r->class));
	if (r->type)
		return top__text_matches(t, r->type->name);
	if (r->part)
		return top__text_matches(t, r->part->name) || top__text_matches(t, r->part->module) ||
		       top__text_matches(t, choices__name(&part_choices, r->part->kind));
	if (r->root)
		return top__text_matches(t, r->root->name) || top__text_matches(t, r->root->module) ||
			top__text_matches(t, root_kind__word(r->root->kind));
	return top__text_matches(t, heap__arena_words(text, r->heap, r->arena));
}

/* Of one that was not recognised there are parts, and what the trace knows of its blocks. */
static size_t n_rows(const struct snap_heap *h, enum view_rows rows)
{
	return h->refused && rows != ROWS_PARTS && rows != ROWS_ROOTS ? 0 : heap__n_rows(h, rows);
}

/* A row is known by its name, or what it is of, and by its number. */
static uint64_t id_of(const struct row_of *r, enum view_rows rows, size_t i)
{
	const char *name = r->type ? r->type->name : r->part ? r->part->name : r->root ? r->root->name : NULL;
	uint64_t n = r->class ? r->class->usable : r->type ? r->type->is_class : i;

	return top__id_of(rows == ROWS_HEAP ? ID_HEAP : ID_HEAP + 1 + rows - ROWS_TYPES, name,
			  n ^ (uint64_t)r->process->id << 48);
}

void top__heap_rows(struct top *t, const struct view *v)
{
	for (const struct snap_heap *h = next_heap(t, NULL); h; h = next_heap(t, h))
		for (size_t i = 0; i < n_rows(h, v->rows); i++) {
			struct top_row r = { .of = heap__row(t->shown, h, v->rows, i) };

			r.id = id_of(&r.of, v->rows, i);
			if (matches(t, &r.of))
				top__add_row(t, &r);
		}
}

/* ---- what a filter leaves */

void top__heap_filtered(const struct top *t, struct top_filtered *ret)
{
	static const char *const what[N_VIEW_ROWS] = {
		[ROWS_HEAP] = "size", [ROWS_TYPES] = "type", [ROWS_ARENAS] = "arena", [ROWS_PARTS] = "part", [ROWS_ROOTS] = "root",
	};
	enum view_rows rows = top__view(t)->rows;
	bool parts = rows == ROWS_PARTS;
	uint64_t bytes, blocks;

	*ret = (struct top_filtered){ .n = t->rows.n, .what = what[rows], .unit = parts ? "resident" : "in use",
				      .known = HAS_LIVE_BYTES | (parts ? 0 : HAS_LIVE_BLOCKS) };
	for (size_t i = 0; i < t->rows.n; i++) {
		heap__row_sums(&t->rows.v[i].of, &bytes, &blocks);
		ret->part.live_bytes += bytes;
		ret->part.live_blocks += blocks;
	}
	for (const struct snap_heap *h = next_heap(t, NULL); h; h = next_heap(t, h)) {
		ret->of += heap__n_rows(h, rows);
		ret->whole.live_bytes += parts ? h->rss_bytes : h->bytes;
		ret->whole.live_blocks += h->blocks;
	}
}

/* ---- what stands above the rows */

static void key_words(struct flow *f, const char *key, const char *text)
{
	flow__put(f, STYLE_KEY, key);
	flow__words(f, STYLE_PLAIN, text);
	flow__end_line(f);
}

/* No heap was looked at: why, and what to do. */
static void no_heap(const struct top *t, struct flow *f)
{
	const struct snap_process *p = top__scope_process(t);
	char who[PROCESS_NAME_MAX + 8] = "";

	if (p)
		snprintf(who, sizeof(who), " of %s", PROCESS_NAME(t->shown, p));
	if (t->heap_failed)
		flow__words(f, STYLE_BAD, t->heap_failed);
	else if (p && p->ended)
		flow__wordsf(f, STYLE_WARN, "The heap%s was not scanned, and the process has ended: its memory is gone.", who);
	else
		flow__wordsf(f, STYLE_PLAIN, "The heap%s was not scanned yet. A trace has the blocks allocated since it began; a scan also finds the older ones.", who);
	flow__end_line(f);
	if (p && p->ended)
		return;
	f->row++;
	key_words(f, "h", "  scans it now: blocks in use by size and type, free memory, what else is resident");
	key_words(f, "u", "  also searches for unreachable blocks, in three scans");
	f->row++;
	flow__words(f, STYLE_DIM, "malloctrace reads the memory, never writes it, and does not stop the process, which may run slower during a scan.");
	flow__end_line(f);
}

static void use_words(const struct top *t, struct flow *f, const struct snap_heap *h)
{
	flow__wordsf(f, STYLE_FIGURE, "in use %s in %s block%s", BYTES(h->bytes), EXACT(h->blocks), plural(h->blocks));
}

static void older_words(const struct top *t, struct flow *f, const struct snap_heap *h)
{
	if (!h->older_known)
		return;
	flow__clausef(f, STYLE_PLAIN, "older than the trace: %s in %s block%s", BYTES(h->older_bytes), EXACT(h->older_blocks), plural(h->older_blocks));
	if (h->older_unreached_blocks)
		flow__clausef(f, STYLE_BAD, ", no pointer to %s of them", EXACT(h->older_unreached_blocks));
}

static void free_words(const struct top *t, struct flow *f, const struct snap_heap *h)
{
	flow__wordsf(f, STYLE_FIGURE, "free %s", BYTES(h->free_bytes));
	if (h->free_bytes)
		flow__wordsf(f, STYLE_PLAIN, " (%s of the heap), not a leak: malloc_trim returns %s", SHARE(h->free_bytes, h->free_bytes + h->bytes),
			     BYTES(h->trimmable_bytes));
}

/* Of a partial search. */
static const char *not_searched(const struct snap_unreached *u)
{
	if (u->async_io)
		return "pending requests (asynchronous I/O)";
	if (u->kept_in_part)
		return "some of what the kernel keeps";
	if (u->swapped_bytes || u->passed_over_bytes || u->unread_shared_bytes)
		return "memory on disk or unmapped";
	return "registers";
}

static void unreached_words(const struct top *t, struct flow *f, const struct snap_heap *h)
{
	const struct snap_unreached *u = &h->unreached;

	if (!u->scans) {
		flow__words(f, STYLE_DIM, h->search_interrupted ?
			    "the search for unreachable blocks was interrupted: press " :
			    "not searched for unreachable blocks: press ");
		flow__put(f, STYLE_KEY, "u");
		return;
	}
	if (!u->blocks)
		flow__wordsf(f, STYLE_GOOD, "every block that was searched is reachable (%u scan%s)", u->scans,
			     plural(u->scans));
	else
		flow__wordsf(f, STYLE_PLAIN, "%s leaked, no pointer found in %u scan%s: ", snap_unreached__is_partial(u) ? "perhaps" : "probably", u->scans, plural(u->scans));
	if (u->blocks)
		flow__wordsf(f, STYLE_BAD, "%s block%s, %s", EXACT(u->blocks), plural(u->blocks), BYTES(u->bytes));
	/* what it means is in the help; how many there are matters more than a row of the table */
	if (u->blocks && f->g->cols >= DIRECT_FROM)
		flow__clausef(f, STYLE_PLAIN, " (%s direct)", EXACT(u->direct_blocks));
	if (u->registers && strcmp(u->registers, "read"))
		flow__clausef(f, STYLE_DIM, "; registers %s", u->registers);
	if (u->blocks && snap_unreached__is_partial(u))
		flow__clausef(f, STYLE_WARN, "; %s not searched", not_searched(u));
}

static void unreached_briefly(const struct top *t, struct flow *f, const struct snap_heap *h)
{
	flow__clausef(f, h->unreached.blocks ? STYLE_BAD : STYLE_GOOD, "unreached: %s, %s", EXACT(h->unreached.blocks), BYTES(h->unreached.bytes));
}

/* How, when, and what of it is not sure. */
static void look_words(const struct top *t, struct flow *f, const struct snap_heap *h)
{
	if (h->at_ns)
		flow__clausef(f, STYLE_DIM, "read %s ago, took %s", DURATION(top__ago_ns(t, h)), DURATION(h->looked_ns));
	else
		flow__clausef(f, STYLE_DIM, "read in %s", DURATION(h->looked_ns));
	if (h->paused_ns)
		flow__clausef(f, STYLE_DIM, ", process stopped for %s", DURATION(h->paused_ns));
	else
		flow__clausef(f, STYLE_DIM, ", process not stopped");
	if (!h->refused)
		flow__clausef(f, STYLE_DIM, "; %zu %s arena%s", h->n_arenas, h->allocator ? h->allocator : "", plural(h->n_arenas));
	if (h->unsure_blocks)
		flow__clausef(f, STYLE_DIM, "; up to %s block%s uncertain", EXACT(h->unsure_blocks), plural(h->unsure_blocks));
	if (h->swapped_bytes)
		flow__clausef(f, STYLE_WARN, "; %s swapped out, not read", BYTES(h->swapped_bytes));
	if (h->broken_bytes)
		flow__clausef(f, STYLE_WARN, "; %s without recognisable blocks", BYTES(h->broken_bytes));
	if (h->passed_over_bytes)
		flow__clausef(f, STYLE_WARN, "; %s of address space not looked at", BYTES(h->passed_over_bytes));
}

/* "RSS 96.0 MiB: heap 82.4 MiB, anonymous 7.2 MiB, ...; not in RSS: page tables 340.0 KiB, swapped out 2.0 MiB" */
static void resident_words(const struct top *t, struct flow *f, const struct snap_heap *h)
{
	uint64_t sums[N_PART_KINDS] = { 0 };
	const char *before = ": ";

	for (size_t i = 0; i < h->n_parts; i++)
		sums[h->parts[i].kind < N_PART_KINDS ? h->parts[i].kind : PART_OTHER] += h->parts[i].resident_bytes;
	flow__wordsf(f, STYLE_FIGURE, "RSS %s", BYTES(h->rss_bytes));
	for (unsigned int i = 0; i < N_PART_KINDS; i++)
		if (sums[i]) {
			flow__clausef(f, STYLE_PLAIN, "%s%s %s", before, choices__name(&part_choices, i), BYTES(sums[i]));
			before = ", ";
		}
	flow__clausef(f, STYLE_DIM, "; not in RSS: page tables %s, swapped out %s", BYTES(h->page_table_bytes), BYTES(h->swap_bytes));
}

/* One of several, in a line: all of it is said where it is looked at alone. */
static void line_of(const struct top *t, struct flow *f, const struct snap_heap *h)
{
	flow__wordsf(f, STYLE_TITLE, "%.64s (%d)", heap__comm(t->shown, h), (int)heap__pid(t->shown, h));
	if (h->refused) {
		flow__wordsf(f, STYLE_WARN, "  %s", h->refused);
		return;
	}
	flow__clausef(f, STYLE_FIGURE, "  in use %s in %s block%s", BYTES(h->bytes), EXACT(h->blocks), plural(h->blocks));
	flow__clausef(f, STYLE_PLAIN, "  free %s (%s)", BYTES(h->free_bytes), SHARE(h->free_bytes, h->free_bytes + h->bytes));
	if (h->unreached.scans)
		flow__clausef(f, h->unreached.blocks ? STYLE_BAD : STYLE_GOOD, "  unreached %s, %s", EXACT(h->unreached.blocks), BYTES(h->unreached.bytes));
	else if (h->search_interrupted)
		flow__clausef(f, STYLE_WARN, "  search interrupted");
}

static void refused_words(const struct top *t, struct flow *f, const struct snap_heap *h)
{
	flow__words(f, STYLE_WARN, h->refused);
}

typedef void (*sentence)(const struct top *t, struct flow *f, const struct snap_heap *h);

/* Of a sentence that begins at `row`: the line that it ends in; one less: it says nothing. */
static int end_of(const struct top *t, const struct flow *f, int row, sentence says, const struct snap_heap *h)
{
	struct flow probe = { .g = f->g, .row = row };

	says(t, &probe, h);
	return probe.col ? probe.row : row - 1;
}

/* All of it, if it says anything, or nothing: half a figure tells something else. */
static bool put_sentence(const struct top *t, struct flow *f, sentence says, const struct snap_heap *h)
{
	int end = end_of(t, f, f->row, says, h);

	if (end >= f->end || end < f->row)
		return false;
	says(t, f, h);
	flow__end_line(f);
	return true;
}

/* What matters most is first. last: the table has to keep the rows from there on. */
static void all_of(const struct top *t, struct flow *f, const struct snap_heap *h, int last)
{
	static const sentence of_census[] = { use_words, unreached_words, free_words, older_words, look_words };
	static const sentence of_parts[] = { resident_words, free_words, look_words };
	static const sentence of_refused[] = { refused_words, unreached_words, resident_words, look_words };
	const sentence *v = h->refused ? of_refused : top__view(t)->rows == ROWS_PARTS ? of_parts : of_census;
	size_t n = v == of_census ? ARRAY_SIZE(of_census) : v == of_parts ? ARRAY_SIZE(of_parts) : ARRAY_SIZE(of_refused);

	/* whether blocks are lost is worth some rows of the table, and worth saying in a few words */
	if (v != of_parts && h->unreached.scans)
		f->end = MAX(f->end, MIN(end_of(t, f, end_of(t, f, f->row, v[0], h) + 1, unreached_words, h) + 1, last));
	for (size_t i = 0; i < n; i++)
		if (!put_sentence(t, f, v[i], h) && v[i] == unreached_words && h->unreached.scans)
			put_sentence(t, f, unreached_briefly, h);
}

int top__draw_heap_head(struct top *t, struct grid *g, int row, int n)
{
	const struct snap_heap *first = next_heap(t, NULL);
	struct flow f = { .g = g, .row = row, .end = row + (first ? MIN(LINES_MAX, MAX(n - ROWS_LEAST, 1)) : n) };
	size_t left = 0;

	if (!first) {
		no_heap(t, &f);
		return n;
	}
	/* a look that came to nothing leaves what the one before had found */
	if (t->heap_failed) {
		flow__words(&f, STYLE_BAD, t->heap_failed);
		flow__end_line(&f);
	}
	if (!next_heap(t, first)) {
		all_of(t, &f, first, row + n - ROWS_NEEDED);
		return MIN(f.row, f.end) - row;
	}
	for (const struct snap_heap *h = first; h; h = next_heap(t, h)) {
		if (f.row + 1 >= f.end && next_heap(t, h)) {
			left++;
			continue;
		}
		if (left)
			break;
		line_of(t, &f, h);
		flow__end_line(&f);
	}
	if (left)
		grid__putf(g, f.end - 1, 0, g->cols, STYLE_DIM, "… and %zu more", left + 1);
	return left ? f.end - row : MIN(f.row, f.end) - row;
}

/* ---- cells */

void top__draw_types(const struct top *t, const struct top_row *r, struct grid *g, int row, int col, int width)
{
	const struct snap_class *c = r->of.class;
	int end = col + width;

	if (!c->n_types)
		grid__put(g, row, col, width, STYLE_DIM, width >= HEAP_TYPE_COLS ? "not examined" : "-");
	for (size_t i = 0; i < c->n_types && col < end; i++) {
		int room = end - col - (i ? 2 : 0);
		_cleanup_free_ char *cut = heap__types_text(&c->types[i], 1, (size_t)MAX(room, 1));

		if (!cut || room < (int)MIN(text_width(c->types[i].name) + 5, HEAP_TYPE_COLS)) {
			grid__put(g, row, col, end - col, STYLE_DIM, " …");
			break;
		}
		if (i)
			col += grid__put(g, row, col, end - col, STYLE_DIM, ", ");
		col += grid__put(g, row, col, room, c->types[i].is_class ? STYLE_PLAIN : STYLE_DIM, cut);
	}
}

static uint64_t arena_total(const struct top_row *r)
{
	return r->of.arena ? r->of.arena->bytes + r->of.arena->free_bytes : r->of.heap->mapped_bytes;
}

/* Its name, and what of it is in use as a bar, on one scale for all. */
void top__draw_arena(const struct top *t, const struct top_row *r, struct grid *g, int row, int col, int width)
{
	uint64_t most = 1, used = r->of.arena ? r->of.arena->bytes : r->of.heap->mapped_bytes;
	int bar = width - ARENA_NAME_COLS, used_cols, all_cols;
	char name[CELL_MAX];

	grid__put(g, row, col, width, STYLE_PLAIN, heap__arena_words(name, r->of.heap, r->of.arena));
	if (bar < ARENA_BAR_LEAST)
		return;
	for (size_t i = 0; i < t->rows.n; i++)
		most = MAX(most, arena_total(&t->rows.v[i]));
	all_cols = (int)((double)arena_total(r) / (double)most * bar + 0.5);
	used_cols = MIN(all_cols, (int)((double)used / (double)most * bar + 0.5));
	grid__fill(g, row, col + ARENA_NAME_COLS, used_cols, STYLE_BAR, 0x2588);
	grid__fill(g, row, col + ARENA_NAME_COLS + used_cols, all_cols - used_cols, STYLE_DIM, 0x2591);
}

/* Whose it is: of a variable its file first, which tells one "other data" from the next. */
void top__draw_part(const struct top *t, const struct top_row *r, struct grid *g, int row, int col, int width)
{
	_cleanup_free_ char *name = heap__part_text(r->of.part), *cut = name ? text_shorten(name, (size_t)MAX(width, 1)) : NULL;

	grid__put(g, row, col, width, STYLE_PLAIN, cut ? cut : "");
}
