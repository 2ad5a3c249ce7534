// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns which rows a table of the live view has, and their order.
 *
 * What always holds: a row's id depends on what the row is about (process,
 * function, modules and offsets), not on names, figures or the order of arrival,
 * so a row is found again in the next snapshot; and the order is total.
 */
#include <string.h>

#include "present/top/top_parts.h"

/* ---- ids */

#define ID_SEED 0x2545f4914f6cdd1dull

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0xff51afd7ed558ccdull;
	return h ^ h >> 32;
}

static uint64_t mix_string(uint64_t h, const char *s)
{
	for (; s && *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ull;
	return mix(h, 0x5bd1e995);
}

static uint64_t no_zero(uint64_t id)
{
	return id ? id : 1;
}

uint64_t top__process_row_id(const struct snap_process *p)
{
	return no_zero(mix(mix(ID_SEED, 1), p->id));
}

uint64_t top__thread_row_id(const struct snap_process *p, const struct thread_row *t)
{
	return no_zero(mix_string(mix(mix(mix(ID_SEED, 2), p->id), (uint64_t)t->tid), t->name));
}

uint64_t top__id_of(unsigned int kind, const char *text, uint64_t n)
{
	return no_zero(mix_string(mix(mix(ID_SEED, 16 + kind), n), text));
}

void top__identify(struct top *t)
{
	const struct snapshot *s = t->shown;
	_cleanup_free_ uint64_t *modules = xcalloc(s->n_modules + 1, sizeof(*modules));
	_cleanup_free_ uint64_t *places = xcalloc(s->n_places + 1, sizeof(*places));
	uint64_t *ids = xcalloc(s->n_sites + 1, sizeof(*ids));

	for (size_t i = 0; i < s->n_modules; i++)
		modules[i] = mix_string(ID_SEED, s->modules[i].path);
	for (size_t i = 0; i < s->n_places; i++) {
		int m = s->places[i].module;

		places[i] = mix(m >= 0 && (size_t)m < s->n_modules ? modules[m] : 0, s->places[i].offset);
	}
	for (size_t i = 0; i < s->n_sites; i++) {
		const struct snap_site *site = &s->sites[i];
		uint64_t h = mix(mix_string(mix(ID_SEED, s->processes[site->process].id), site->function), (uint64_t)site->tid);

		h = site->thread ? mix_string(h, site->thread) : h;
		for (uint32_t k = 0; k < site->n_stack; k++)
			h = mix(h, places[site->stack[k]]);
		ids[i] = no_zero(h);
	}
	free(t->site_ids);
	t->site_ids = ids;
	thread_rows__done(&t->threads);
	free_lists__done(&t->frees);
	thread_rows__init(&t->threads, s, NULL);
	if (s->recording.free_stacks)
		free_lists__init(&t->frees, s);
}

const struct snap_site *top__find_site(const struct top *t, uint64_t id, size_t *ret_index)
{
	for (size_t i = 0; t->shown && id && i < t->shown->n_sites; i++)
		if (t->site_ids[i] == id) {
			if (ret_index)
				*ret_index = i;
			return &t->shown->sites[i];
		}
	return NULL;
}

const struct snap_process *top__scope_process(const struct top *t)
{
	for (size_t i = 0; t->shown && i < t->shown->n_processes; i++)
		if (t->scope ? t->shown->processes[i].id == t->scope : t->shown->n_processes == 1)
			return &t->shown->processes[i];
	return NULL;
}

bool top__has_several(const struct top *t)
{
	uint64_t n = 0;

	for (size_t i = 0; t->shown && i < t->shown->n_processes; i++)
		n += process__n(t->shown, &t->shown->processes[i]);
	return n > 1;
}

bool top__in_scope(const struct top *t, const struct snap_site *s)
{
	return !t->scope || t->shown->processes[s->process].id == t->scope;
}

/* ---- the filter */

static bool is_plain(const char *text)
{
	return !text[strcspn(text, "\\^$.|?*+()[]{}")];
}

bool top__set_filter(struct top *t, const char *text)
{
	regex_t regex;
	bool has_regex = *text && !is_plain(text);
	int err = has_regex ? regcomp(&regex, text, REG_EXTENDED | REG_ICASE | REG_NOSUB) : 0;

	if (err) {
		char why[128];

		regerror(err, &regex, why, sizeof(why));
		snprintf(t->refused, sizeof(t->refused), "bad regex: %s", why);
		return false;
	}
	if (t->has_regex)
		regfree(&t->regex);
	t->has_regex = has_regex;
	if (has_regex)
		t->regex = regex;
	if (text != t->filter)
		snprintf(t->filter, sizeof(t->filter), "%s", text);
	if (t->shown && t->place_matches)
		memset(t->place_matches, 0, t->shown->n_places + 1);
	return true;
}

bool top__filters(const struct top *t)
{
	return *t->filter || *t->only_tag || t->only_sum.view;
}

/* of the row that is looked at, if there is one */
static bool in_sum(const struct top *t, const struct snap_site *s)
{
	struct sum_key key;
	struct frame f;

	if (!t->only_sum.view)
		return true;
	f = tellings__of(&t->tellings, t->shown, s);
	key = t->only_sum.view->sum_by(&f);
	return !strncmp(key.name, t->only_sum.name, sizeof(t->only_sum.name) - 1) &&
	       !strncmp(key.module, t->only_sum.module, sizeof(t->only_sum.module) - 1);
}

bool top__text_matches(const struct top *t, const char *text)
{
	if (!text)
		return false;
	return t->has_regex ? !regexec(&t->regex, text, 0, NULL, 0) : !!strcasestr(text, t->filter);
}

static bool place_matches(struct top *t, uint32_t at)
{
	const struct place *p = &t->shown->places[at];
	bool found = false;

	if (t->place_matches[at])
		return t->place_matches[at] == 2;
	for (size_t i = 0; i < place__n_frames(p) && !found; i++) {
		struct frame f = place__frame(t->shown, p, i);

		found = (f.line && (top__text_matches(t, f.line->function) || top__text_matches(t, f.line->file))) ||
			(!i && top__text_matches(t, f.module));
	}
	t->place_matches[at] = found ? 2 : 1;
	return found;
}

static bool process_matches(const struct top *t, const struct snap_process *p)
{
	char pid[FMT_MAX], where[CELL_MAX];

	snprintf(pid, sizeof(pid), "%d", (int)p->pid);
	return top__text_matches(t, p->comm) || top__text_matches(t, pid) || top__text_matches(t, p->exe) ||
	       top__text_matches(t, process__where(p, where));
}

bool top__matches(struct top *t, const struct snap_site *s)
{
	const struct snap_process *p = &t->shown->processes[s->process];

	if (!top__has_tag(t, s) || !in_sum(t, s))
		return false;
	if (!*t->filter)
		return true;
	/* with one process, its name would match everything */
	if (top__text_matches(t, s->function) || (t->shown->n_processes > 1 && !t->scope && process_matches(t, p)))
		return true;
	for (uint32_t i = 0; i < s->n_stack; i++)
		if (place_matches(t, s->stack[i]))
			return true;
	return false;
}

/* ---- rows */

void top__add_row(struct top *t, const struct top_row *row)
{
	*(struct top_row *)vec_push(&t->rows) = *row;
}

static bool site_shown(struct top *t, const struct view *v, const struct snap_site *s)
{
	return top__in_scope(t, s) && view__shows(v, s, false) && top__matches(t, s);
}

static struct top_row row_of_site(struct top *t, const struct view *v, size_t i)
{
	const struct snapshot *s = t->shown;
	struct top_row r = { .id = t->site_ids[i], .of = { .s = s, .process = &s->processes[s->sites[i].process], .site = &s->sites[i],
			     .tellings = &t->tellings, .older = v->older && s->recording.older_ns } };

	top__set_rates(t, &r, &s->sites[i].c, s->sites[i].since_baseline_bytes,
		       seen__find(&t->before, r.id), top__site_has_moved(t, &s->sites[i]));
	return r;
}

void top__drop_merged(struct top *t)
{
	snapshot__free(t->merged);
	free(t->row_of);
	t->merged = NULL;
	t->row_of = NULL;
	/* they refer to it */
	t->n_growers = 0;
}

uint64_t top__stack_of(const struct top *t, const struct top_row *r)
{
	const struct snap_site *found = NULL;

	for (size_t i = 0; r->merged && i < t->shown->n_sites; i++)
		if (t->row_of[i] + 1 == r->merged && t->shown->sites[i].stack == r->of.site->stack)
			found = &t->shown->sites[i];
	return found ? t->site_ids[found - t->shown->sites] : r->id;
}

/* Frees are listed by site: there a row is one. */
static bool merges(struct top *t, const struct view *v)
{
	if (v->bit == VIEW_FREES)
		return false;
	if (!t->merged)
		t->merged = rows__of(t->shown, &t->tellings, t->o.leak_after_ns, &t->row_of);
	return t->merged;
}

/* A row of several stacks, in place of that of its first one. */
static void merge_row(struct top *t, struct top_row *r, uint32_t at, const struct seen *before)
{
	const struct snap_site *row = &t->merged->sites[at];

	r->merged = at + 1;
	r->id = no_zero(row__id(t->shown, &t->tellings, row));
	r->of.s = t->merged;
	r->of.site = row;
	top__set_rates(t, r, &row->c, row->since_baseline_bytes, &before[at], before[at].moved);
}

static void grower_rows(struct top *t)
{
	const struct view *live = view__of(VIEW_LIVE);
	bool merged = merges(t, live);
	_cleanup_free_ struct seen *before = merged ? top__rows_before(t, t->row_of, 0, t->merged->n_sites) : NULL;
	size_t n = 0;
	_cleanup_free_ size_t *sites = processes__sites_of_growers(merged ? t->merged : t->shown, NULL,
								   &n, &t->growers_do);

	for (size_t k = 0; k < n; k++) {
		size_t first = sites[k];

		for (size_t i = 0; merged && i < t->shown->n_sites; i++)
			if (t->row_of[i] == sites[k]) {
				first = i;
				break;
			}
		t->growers[k] = row_of_site(t, live, first);
		if (merged && t->merged->sites[sites[k]].n_stacks > 1)
			merge_row(t, &t->growers[k], (uint32_t)sites[k], before);
	}
	t->n_growers = n;
}

/* Where stacks of one line are one row, it is there once, for the first of them that is shown. */
static void site_rows(struct top *t, const struct view *v)
{
	const struct snapshot *s = t->shown;
	bool merged = merges(t, v);
	_cleanup_free_ struct seen *before = merged ? top__rows_before(t, t->row_of, 0, t->merged->n_sites) : NULL;
	_cleanup_free_ bool *done = merged ? xcalloc(t->merged->n_sites + 1, sizeof(*done)) : NULL;

	for (size_t i = 0; i < s->n_sites; i++) {
		const struct snap_site *row = merged ? &t->merged->sites[t->row_of[i]] : NULL;
		struct top_row r;

		if (!site_shown(t, v, &s->sites[i]) || (row && done[t->row_of[i]]))
			continue;
		r = row_of_site(t, v, i);
		if (row && row->n_stacks > 1) {
			done[t->row_of[i]] = true;
			merge_row(t, &r, t->row_of[i], before);
		}
		top__add_row(t, &r);
	}
}

static bool takes_site(void *arg, const struct snap_site *s)
{
	struct top *t = arg;

	return top__in_scope(t, s) && top__matches(t, s);
}

static void sum_rows(struct top *t, const struct view *v)
{
	const struct snapshot *s = t->shown;
	_cleanup_free_ struct seen *before = NULL;

	sum_rows__done(&t->sums);
	sum_rows__init(&t->sums, v, s, &t->tellings, metric__preset(s->known), takes_site, t);
	before = top__rows_before(t, t->sums.of, 1, t->sums.n);
	for (size_t i = 0; i < t->sums.n; i++) {
		const struct sum_row *sum = &t->sums.v[i];
		struct top_row r = { .id = no_zero(mix_string(mix_string(mix(ID_SEED, v->bit), sum->key.module), sum->key.name)),
				     .of = { .s = s, .sum = sum } };

		top__set_rates(t, &r, &sum->sum.c, sum->since_baseline_bytes, &before[i], before[i].moved);
		top__add_row(t, &r);
	}
}

static void process_rows(struct top *t)
{
	const struct snapshot *s = t->shown;

	for (size_t i = 0; i < s->n_processes; i++) {
		const struct snap_process *p = &s->processes[i];
		struct top_row r = { .id = top__process_row_id(p), .of = { s, p, NULL, NULL } };

		if (*t->filter && !process_matches(t, p))
			continue;
		top__set_process_rates(t, &r);
		top__add_row(t, &r);
	}
	if (!t->scope && !top__filters(t) && s->n_processes > 1 && view__holds(view__of(VIEW_LIVE), s))
		grower_rows(t);
}

static void add_thread(struct top *t, const struct thread_row *row)
{
	const struct snap_process *p = &t->shown->processes[row->process];
	struct top_row r = { .id = top__thread_row_id(p, row), .of = { t->shown, p, NULL, NULL }, .thread = *row };

	top__set_rates(t, &r, &row->c, 0, seen__find(&t->before, r.id), top__has_moved(t, p));
	top__add_row(t, &r);
}

static bool thread_matches(const struct top *t, const struct thread_row *row)
{
	bool found = top__text_matches(t, row->name) || process_matches(t, &t->shown->processes[row->process]);

	for (size_t i = 0; i < row->n_threads && row->n_threads > 1 && !found; i++)
		found = top__text_matches(t, row->members[i].name);
	return found;
}

static void thread_rows(struct top *t)
{
	for (size_t i = 0; i < t->threads.n; i++) {
		const struct thread_row *row = &t->threads.v[i];

		if (t->scope && t->shown->processes[row->process].id != t->scope)
			continue;
		if (!*t->filter || thread_matches(t, row))
			add_thread(t, row);
	}
}

bool top__unfolded(const struct top *t, uint64_t id)
{
	const struct seen *s = seen__find(&t->unfolded, id);

	return s && s->c.alloc_calls;
}

void top__set_unfolded(struct top *t, uint64_t id, bool unfolded)
{
	struct seen s = { .id = id, .c.alloc_calls = unfolded };

	/* entries of the table are not taken out: one that is folded again says so */
	if (unfolded || seen__find(&t->unfolded, id))
		seen__add(&t->unfolded, &s);
}

/* ---- order */

struct order {
	const struct view *v;
	const struct column *by;
	bool reverse;
	bool ended_last;	/* what processes held that have ended is history */
};

static int by_order(const void *pa, const void *pb, void *arg)
{
	const struct top_row *a = pa, *b = pb;
	const struct order *o = arg;
	int d = o->ended_last ? a->of.process->ended - b->of.process->ended : 0;

	if (d)
		return d;
	/* what is not known comes last, whichever way round */
	if (!o->by->left && isnan(a->sort) != isnan(b->sort))
		return isnan(a->sort) - isnan(b->sort);
	d = o->by->left ? strcmp(a->text ? a->text : "", b->text ? b->text : "") : ORDER(b->sort, a->sort);
	if (o->reverse)
		d = -d;
	if (!d && a->of.site)
		d = ORDER(b->of.site->c.live_bytes, a->of.site->c.live_bytes) ?: ORDER(b->of.site->c.alloc_bytes, a->of.site->c.alloc_bytes);
	else if (!d && o->v->rows == ROWS_PROCESSES)
		d = ORDER(b->of.process->c.live_bytes, a->of.process->c.live_bytes);
	return d ?: ORDER(a->id, b->id);
}

static void follow_cursor(struct top *t, struct top_place *p)
{
	if (!p->touched) {
		p->cursor = 0;
		p->scroll = 0;
	}
	for (size_t i = 0; p->touched && i < t->rows.n; i++)
		if (t->rows.v[i].id == p->id) {
			p->cursor = i;
			return;
		}
	if (p->cursor >= t->rows.n)
		p->cursor = t->rows.n ? t->rows.n - 1 : 0;
	p->id = t->rows.n ? t->rows.v[p->cursor].id : 0;
}

static bool any_grows(const struct snapshot *s)
{
	for (size_t i = 0; i < s->n_processes; i++)
		if (process__growth(&s->processes[i]) >= 1)
			return true;
	return false;
}

/* Of a whole machine, and of processes of which any grows, growth matters first; what is held, where nothing is known to grow. */
static const char *own_order(const struct top *t, const struct view *v)
{
	bool of_processes = v->rows == ROWS_PROCESSES;

	if (strcmp(v->live.sort, "live") || !(v->holds || of_processes))
		return v->live.sort;
	return t->shown->machine.known || (of_processes && any_grows(t->shown)) ? "growth" : v->live.sort;
}

/* The column that rows are sorted by: the one chosen, the view's own, or the first that there is. */
static const struct column *sort_column(const struct top *t, const struct view *v, struct top_place *p)
{
	const struct columns *c = view__columns(v);
	size_t first = c->n;

	if (p->sorted && view__has_column(t, v, &c->v[p->sort]))
		return &c->v[p->sort];
	for (size_t i = c->n; i-- > 0;) {
		if (!view__has_column(t, v, &c->v[i]))
			continue;
		first = i;
		if (!strcmp(c->v[i].as, own_order(t, v)))
			break;
	}
	p->sort = first < c->n ? first : 0;
	return &c->v[p->sort];
}

static void sort_some(struct order *o, struct top_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct top_row *r = &rows[i];
		struct cell cell;

		if (o->v->rows == ROWS_THREADS)
			r->of.thread = &r->thread;
		column__cell(o->by, &r->of, &cell);
		r->sort = cell.sort;
		/* a name as it is shown: it has no value to be compared */
		r->text = o->by->left ? xstrndup(cell.text, CELL_MAX) : NULL;
	}
	if (n)
		qsort_r(rows, n, sizeof(*rows), by_order, o);
	for (size_t i = 0; i < n; i++) {
		free(rows[i].text);
		rows[i].text = NULL;
	}
}

static void add_members(struct top *t, const struct view *v, const struct top_row *row)
{
	for (size_t k = 0; k < row->thread.n_threads && row->thread.n_threads > 1; k++)
		add_thread(t, &row->thread.members[k]);
	for (size_t i = 0; row->merged && i < t->shown->n_sites; i++) {
		struct top_row r;

		if (t->row_of[i] + 1 != row->merged || !site_shown(t, v, &t->shown->sites[i]))
			continue;
		r = row_of_site(t, v, i);
		r.member = true;
		top__add_row(t, &r);
	}
}

/* Threads of one kind, and stacks of one line, stand below their row, in the same order as all. */
static void unfold(struct top *t, struct order *o)
{
	size_t n = t->rows.n, from = 0;

	for (size_t i = 0; i < n; i++) {
		struct top_row row = t->rows.v[i];
		size_t at;

		top__add_row(t, &row);
		if (!top__unfolded(t, row.id))
			continue;
		at = t->rows.n;
		add_members(t, o->v, &row);
		sort_some(o, t->rows.v + at, t->rows.n - at);
	}
	from = MIN(n, t->rows.n);
	memmove(t->rows.v, t->rows.v + from, (t->rows.n - from) * sizeof(*t->rows.v));
	t->rows.n -= from;
}

static void sort_rows(struct top *t, const struct view *v, struct top_place *p)
{
	struct order o = { .v = v, .by = sort_column(t, v, p), .reverse = p->reverse };

	o.ended_last = !p->sorted && (v->holds || v->rows == ROWS_PROCESSES) && snapshot__has_both(t->shown);
	sort_some(&o, t->rows.v, t->rows.n);
	if ((v->rows != ROWS_THREADS && v->rows != ROWS_SITES) || !t->rows.n)
		return;
	unfold(t, &o);
	/* they were moved */
	for (size_t i = 0; i < t->rows.n && v->rows == ROWS_THREADS; i++)
		t->rows.v[i].of.thread = &t->rows.v[i].thread;
}

void top__build_rows(struct top *t)
{
	const struct view *v = top__view(t);

	t->rows.n = t->n_growers = 0;
	if (!t->shown || v->live.bars)
		return;
	if (v->rows == ROWS_TAGS || *t->only_tag)
		top__tag(t);
	if (v->rows == ROWS_SITES)
		site_rows(t, v);
	else if (v->rows == ROWS_PROCESSES)
		process_rows(t);
	else if (v->rows == ROWS_THREADS)
		thread_rows(t);
	else if (v->rows == ROWS_SUMS)
		sum_rows(t, v);
	else if (top__is_heap(v))
		top__heap_rows(t, v);
	else
		top__asked_rows(t, v);
	sort_rows(t, v, &t->at[t->view]);
	follow_cursor(t, &t->at[t->view]);
}
