/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The inside of the live view, for the files that it is made of (top*.c) alone. */
#ifndef MT_TOP_PARTS_H
#define MT_TOP_PARTS_H

#include <math.h>
#include <regex.h>

#include "model/group.h"
#include "model/heaps.h"
#include "model/merge.h"
#include "present/caveats.h"
#include "present/columns.h"
#include "present/figures.h"
#include "present/frames.h"
#include "present/rows.h"
#include "present/telling.h"
#include "present/top/top.h"
#include "present/tree.h"
#include "present/views.h"
#include "util/hash.h"
#include "util/text.h"
#include "util/util.h"

#define TOP_NS_PER_S 1000000000ull
#define INLINED " (inlined)"	/* stands behind the name of such a frame */

/* ---- figures of an earlier snapshot, by row */
struct seen {
	uint64_t id;		/* never 0 */
	struct counters c;
	uint64_t rss_bytes;	/* of processes */
	uint64_t ended_bytes;	/* the same: of live_bytes, what those held that have ended */
	uint32_t n_members;	/* the same: how many are in the row, as of the snapshot */
	bool moved;		/* of a sum: of some of it the figures of before are another row's */
};

struct seen_table {		/* all zero: empty */
	struct vec(struct seen) rows;
	struct hash at;		/* by id: index of rows + 1 */
	uint64_t t_ns;		/* the snapshot's time */
	bool holds;		/* there was one */
	struct seen all;	/* the sum of all processes */
};

void seen__done(struct seen_table *t);
void seen__clear(struct seen_table *t);
void seen__add(struct seen_table *t, const struct seen *s);
const struct seen *seen__find(const struct seen_table *t, uint64_t id);	/* NULL: it was not there */

/* ---- rows of a table */
struct top_row {
	uint64_t id;		/* the same row in every snapshot; never 0 */
	struct row_of of;
	struct thread_row thread;	/* what of.thread points to, once rows are in their place */
	uint32_t merged;	/* 1 + row of top.merged: several stacks, which Enter unfolds; 0: it is none */
	bool member;		/* one of the stacks of the row above */
	double sort;
	char *text;		/* the same, of a column of names; while rows are sorted */
};

/* What --view and --sort ask for, of those that the first snapshot has. */
void top__choose_first(struct top *t);
/* The view at hand. */
const struct view *top__view(const struct top *t);
bool top__has_view(const struct top *t, const struct view *v);
/* Of the columns of a view: does it show c now? */
bool view__has_column(const struct top *t, const struct view *v, const struct column *c);
/* What draws the cells of a column where they are more than a text; NULL: nothing. */
typedef void (*top_draw)(const struct top *t, const struct top_row *r, struct grid *g, int row, int col, int width);
top_draw column__draws(const struct column *c);
enum style tone__style(enum tone tone);

struct top_place {		/* where somebody is in a list: of each view, of the tree */
	size_t cursor, scroll;
	uint64_t id;		/* of the row under the cursor */
	bool touched;		/* the cursor was moved: it stays with its row */
	size_t sort;		/* index of the column */
	bool sorted, reverse;	/* sort was chosen; the least first */
};

enum top_pane { PANE_TABLE, PANE_STACK, PANE_SOURCE, PANE_TREE, PANE_HELP, PANE_N };
enum top_prompt { PROMPT_NONE, PROMPT_FILTER, PROMPT_WRITE };

#define PROMPT_MAX 1024
#define HEADER_POINTS 240
#define TOP_STEPS 12

struct top_cost {
	uint64_t hits, tool_cpu_ns, target_cpu_ns, probe_ns;
};

struct top {
	struct top_opts o;
	const struct view *views[VIEWS_MAX];	/* those that have a key, in the order of keys */
	size_t n_views;
	struct snapshot *shown, *waiting;	/* owned */
	void (*drop)(struct snapshot *s, void *arg);
	void *drop_arg;
	uint64_t *site_ids;	/* of shown */
	struct tellings tellings;	/* of shown */
	struct snapshot *merged;	/* owned; shown with a row for each line (present/rows.h); NULL: not made yet */
	uint32_t *row_of;	/* owned; by site of shown: its row of merged */
	struct thread_rows threads;	/* of shown */
	struct free_lists frees;	/* of shown, with --free-stacks; start NULL: not there */
	bool tagged;		/* the sites of shown are, by the names that it has */
	struct sum_rows sums;	/* of shown, of the view at hand */
	struct tag_row *tags;	/* of shown, n_tags + 1; NULL: not asked for yet */
	uint32_t tags_scope;	/* the scope that they are of */
	char only_tag[128];	/* its sites alone are shown; "": all are */
	struct {		/* the same of a row that is a sum of sites; view NULL: all are */
		const struct view *view;
		char name[1024], module[1024];
	} only_sum;
	size_t sites_view;	/* the view of sites that sums were called for from */
	struct seen_table before;
	bool *moved;		/* by process of shown: see top__has_moved() */
	struct top_cost cost_before;
	struct snap_point totals[HEADER_POINTS];	/* the last ones of all processes, oldest first */
	size_t n_totals;

	size_t view;		/* index into views */
	enum top_pane pane, pane_under;	/* what help is shown over */
	struct top_place at[VIEWS_MAX];
	struct vec(struct top_row) rows;
	struct top_row growers[GROWERS * GROWER_ROWS];	/* below processes: sites of those that grow most */
	size_t n_growers;
	const char *growers_do;		/* most: "grow", "hold" */
	uint32_t scope;		/* id of the process that is looked at; 0: all */
	bool frozen;
	bool chosen;		/* the first view was */

	char filter[PROMPT_MAX];
	regex_t regex;
	bool has_regex;
	size_t room_places;	/* of the next, and of is_wanted */
	uint8_t *place_matches;	/* of shown: 0 not looked at, 1 no, 2 yes */

	enum top_prompt prompt;
	char input[PROMPT_MAX];
	size_t input_at;	/* in bytes */
	char path[PROMPT_MAX];
	char refused[256];	/* why the text in the prompt was not taken; "": it was not yet, or is being typed */

	const struct metric *metric;
	uint64_t stack_id;	/* of the site whose stack is open */
	struct top_place stack_at;	/* lines: frames first */
	size_t help_scroll;
	size_t stack_lines, help_lines;	/* that there are, as of the last drawing */

	struct {		/* of the frame whose function is open */
		char *function, *file, *dir, *module;	/* owned; dir and module may be NULL */
		uint32_t line;
		const struct snap_source *text;	/* not owned; NULL: not there, yet or at all */
		char why[1200];		/* at all; "": yet */
		struct top_place at;	/* id: the number of the line, at first that of the frame */
		struct vec(uint32_t) numbers;	/* of the lines, as of the last drawing */
	} source;

	struct tree tree;
	bool tree_holds;
	enum tree_order order;
	bool tree_begun;	/* the heaviest path was unfolded once */
	struct seen_table unfolded;	/* by the id of the node, or of the row */
	struct vec(struct tree_line { uint32_t node; uint32_t indent; }) lines;
	struct top_place tree_at;

	uint32_t heap_process;	/* whose heap is to be looked at */
	char *heap_failed;	/* owned; why the last look came to nothing; NULL: it did not */

	char message[512], progress[512];
	struct {		/* before the first snapshot */
		char who[256];
		uint64_t age_ns, rss_bytes;
		char steps[TOP_STEPS][160];	/* what went on until now, the present one last */
		size_t n_steps;
	} start;
	bool all_ended;

	/* of the last drawing */
	int list_row, list_rows;	/* where rows begin, and how many there is room for */
	int head_row;
	struct { int from, end; size_t column; } heads[24];
	size_t n_heads;
	struct { int from, end; size_t view; } tabs[VIEWS_MAX];
	size_t n_tabs;
	int tabs_row;
	struct vec(uint32_t) wanted;
	uint8_t *is_wanted;	/* by place of shown */
};

/* ---- top_rows.c */
void top__identify(struct top *t);	/* site_ids and threads of shown */
/* The stack that a row of sites opens: of several, the heaviest one's. */
uint64_t top__stack_of(const struct top *t, const struct top_row *r);
/* top_table.c: names that rows are found by, of each stack the next one up to the frame that it is attributed to. */
void top__want_attributed(struct top *t);
void top__drop_merged(struct top *t);	/* names have changed, or the snapshot has */
bool top__unfolded(const struct top *t, uint64_t id);
void top__set_unfolded(struct top *t, uint64_t id, bool unfolded);
void top__build_rows(struct top *t);
bool top__in_scope(const struct top *t, const struct snap_site *s);
bool top__matches(struct top *t, const struct snap_site *s);
/* false: it is no regular expression: the one before stays, and refused says why. */
bool top__set_filter(struct top *t, const char *text);
bool top__filters(const struct top *t);	/* by anything but the process in sight */
uint64_t top__process_row_id(const struct snap_process *p);
uint64_t top__thread_row_id(const struct snap_process *p, const struct thread_row *t);
/* The site that a row id belongs to; NULL: it is not in this snapshot. */
const struct snap_site *top__find_site(const struct top *t, uint64_t id, size_t *ret_index);
bool top__has_several(const struct top *t);	/* processes, in whatever rows */
const struct snap_process *top__scope_process(const struct top *t);	/* NULL: all, or one that is gone */

/* The id of a row that is known by a text and a number; kind: another one for each kind of row. */
uint64_t top__id_of(unsigned int kind, const char *text, uint64_t n);
void top__add_row(struct top *t, const struct top_row *row);
bool top__text_matches(const struct top *t, const char *text);

/* ---- top_rates.c */
struct top_cost top__cost(const struct snapshot *s);
void top__remember(const struct top *t, struct seen_table *to);	/* figures of all rows of shown */
void top__find_moves(struct top *t);
/* Have processes come to this row from another one since the snapshot before, or left it? Then a difference of the two is no rate. */
bool top__has_moved(const struct top *t, const struct snap_process *p);
bool top__site_has_moved(const struct top *t, const struct snap_site *s);
/*
 * The row's rates and Δ, from its figures and those of the snapshot before; NULL: it had nothing. moved: what it had is not known, and so are
 * its rates.
 */
void top__set_rates(const struct top *t, struct top_row *r, const struct counters *c, int64_t since_baseline, const struct seen *before, bool moved);
void top__set_process_rates(const struct top *t, struct top_row *r);
/* Of n rows of several sites: what these had before, added up; the caller's. of: the row of each site, counted from `first`; less: it is in none. */
struct seen *top__rows_before(const struct top *t, const uint32_t *of, uint32_t first, size_t n);

/* ---- top_asked.c: tags, marks and conditions */
void top__asked_rows(struct top *t, const struct view *v);
void top__mark_note(const struct top *t, char *buf, size_t size);
/* Sites of shown get their tags, if that matters for what is on the screen. */
void top__tag(struct top *t);
bool top__has_tag(const struct top *t, const struct snap_site *s);	/* the one that is looked at, if there is one */
void top__remember_tags(const struct top *t, struct seen_table *to);

/* ---- top_heap.c: the heap as it is */
void top__heap_rows(struct top *t, const struct view *v);
int top__draw_heap_head(struct top *t, struct grid *g, int row, int n);	/* how many rows it took */
bool top__is_heap(const struct view *v);
struct top_filtered {		/* what the rows at hand come to, and all of them */
	struct counters part, whole;
	size_t n, of;
	const char *what, *unit;	/* "site", "live"; NULL: nothing is said */
	unsigned int known;	/* enum counter_bit */
};
void top__heap_filtered(const struct top *t, struct top_filtered *ret);	/* as live bytes and blocks */
enum top_action top__look_at_heap(struct top *t, int key);
uint64_t top__ago_ns(const struct top *t, const struct snap_heap *h);	/* since it was looked at */
/* How long ago pointers were searched for: of several processes in sight, the longest. False: they were not. */
bool top__searched_ago(const struct top *t, uint64_t *ret_ns);
void top__draw_types(const struct top *t, const struct top_row *r, struct grid *g, int row, int col, int width);
void top__draw_arena(const struct top *t, const struct top_row *r, struct grid *g, int row, int col, int width);
void top__draw_part(const struct top *t, const struct top_row *r, struct grid *g, int row, int col, int width);

/* ---- top_stack.c: where blocks were freed */
void top__draw_freed_at(const struct top *t, const struct top_row *r, struct grid *g, int row, int col, int width);
void top__want_frees(struct top *t, const struct snap_site *s);

/* ---- top.c: cursor and scrolling, for every list */
void list__move(struct top_place *p, size_t n, size_t page, int key);
void list__fit(struct top_place *p, size_t n, size_t page);	/* the cursor is in sight */

/* ---- top_table.c, top_header.c and the panes: each draws from row on, in n rows */
int top__draw_header(struct top *t, struct grid *g);	/* the row after it */
void top__draw_footer(struct top *t, struct grid *g);
void top__draw_table(struct top *t, struct grid *g, int row, int n);
void top__draw_bars(struct top *t, struct grid *g, int row, int n);
void top__draw_stack(struct top *t, struct grid *g, int row, int n);
void top__draw_source(struct top *t, struct grid *g, int row, int n);
void top__draw_tree(struct top *t, struct grid *g, int row, int n);
void top__draw_help(struct top *t, struct grid *g, int row, int n);
void top__want_site(struct top *t, const struct snap_site *s);
void top__want_all(struct top *t);
/* The most telling frame of a stack; nobody: what is said where there is none. */
void top__draw_telling(const struct top *t, const struct snap_site *site, struct grid *g, int row, int col, int width, const char *nobody);
/* A name and where it is, in one cell: the second part on the right if there is room for both. */
void top__draw_frame(struct grid *g, int row, int col, int width, const struct frame *f, const char *mark, enum style style);

/* ---- top_help.c */
/* What a column of the view means, in a sentence; NULL: there is none. */
const char *top__meaning(const struct view *v, const struct column *c);

/* ---- top_panes.c: source and tree */
void top__forget_source(struct top *t);
enum top_action top__open_source(struct top *t, int key);	/* of the frame under the cursor */
void top__drop_tree(struct top *t);
enum top_action top__tree_key(struct top *t, int key);

/* ---- top_bars.c: figures over time */
typedef uint64_t (*point_figure)(const struct snap_point *p);
uint64_t point__live(const struct snap_point *p);
uint64_t point__rss(const struct snap_point *p);
/* From the trace's beginning to now, in cells of equal time: what was the case at the end of each; NAN: not known. */
void course__cells(const struct snap_point *v, size_t n, uint64_t now_ns, point_figure of, double *cells, int width);
void top__draw_course(const struct top *t, struct grid *g, int row, int col, int width, point_figure of);
void top__draw_trend(const struct top *t, const struct top_row *r, struct grid *g, int row, int col, int width);

/* ---- top_keys.c */
struct top_key_row {
	int key, other;		/* 0: none */
	const char *shown;	/* "↑↓ j k" */
	const char *footer;	/* NULL: not in the footer */
	const char *help;
	unsigned int panes;	/* 1 << enum top_pane; 1 << PANE_N: in the footer of the heap's tables alone */
	enum top_action (*fn)(struct top *t, int key);
};
extern const struct top_key_row top_keys[];
extern const size_t n_top_keys;

/* ---- top_footer.c: what is typed */
enum top_action top__prompt_key(struct top *t, int key);
enum top_action top__ask_filter(struct top *t, int key);
enum top_action top__ask_path(struct top *t, int key);

#endif
