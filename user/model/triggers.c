// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the table of measures, and what is remembered of processes and of what
 * happened until a snapshot was taken for it.
 *
 * A limit fires when it is passed, once: again when the figure was at or below it in between,
 * or, of a size, is twice what it was then. Within the pause none is checked: one that
 * is still passed after it fires then. An event (a death) is never skipped, only reported later.
 *
 * A rate is what a figure grew by within the time that the rate is for: growth>10M/min
 * fires as soon as 10 MiB came together within the last minute, be it in its first second. Nothing
 * is extrapolated from a shorter time.
 */
#include "model/triggers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "util/hash.h"
#include "util/parse.h"
#include "util/util.h"

#define LOOK_NS TRIGGERS_LOOK_NS
#define N_STEPS 60	/* of the time that a rate is for: its first point may be off by one of them */
#define N_POINTS (N_STEPS + 4)
#define MAX_REASONS 4	/* reported one by one */
#define WANT_NAMES "rss, live, blocks, growth, rss-growth or allocs with > and a limit, killed, or oom"

struct measure {
	const char *name;
	enum event event;	/* the rest is of figures */
	enum figure figure;
	bool rate;
	bool bytes;
	unsigned int needs;	/* enum counter_bit */
	const char *want;
	const char *does, *what;	/* "nginx (1432)" does 2.1 GiB what */
};

/* realloc_calls: what --mode growth counts as calls is no allocations */
static const struct measure measures[] = {
	{ "rss", .figure = FIGURE_RSS, .bytes = true, .want = "a size, such as rss>2G", .does = "has", .what = " resident" },
	{ "live", .figure = FIGURE_LIVE, .bytes = true, .needs = HAS_LIVE_BYTES, .want = "a size, such as live>1G", .does = "holds", .what = "" },
	{ "blocks", .figure = FIGURE_BLOCKS, .needs = HAS_LIVE_BLOCKS, .want = "a number, such as blocks>1M", .does = "holds",
	  .what = " blocks" },
	{ "growth", .figure = FIGURE_LIVE, .rate = true, .bytes = true, .needs = HAS_LIVE_BYTES,
	  .want = "a size by s, min or h, such as growth>10M/min", .does = "holds", .what = " more than" },
	{ "rss-growth", .figure = FIGURE_RSS, .rate = true, .bytes = true, .want = "a size by s, min or h, such as rss-growth>10M/min",
	  .does = "has", .what = " more resident than" },
	{ "allocs", .figure = FIGURE_ALLOCS, .rate = true, .needs = HAS_ALLOC_CALLS | HAS_REALLOC_CALLS,
	  .want = "a number by s, min or h, such as allocs>100K/s", .does = "made", .what = " allocations in" },
	{ "killed", .event = EVENT_KILLED },
	{ "oom", .event = EVENT_OOM },
};

static const struct {
	const char *name;
	uint64_t ns;
} times[] = {
	{ "s", SECOND_NS }, { "m", 60 * SECOND_NS }, { "min", 60 * SECOND_NS }, { "h", 3600 * SECOND_NS },
};

/* ---- conditions */

static const struct measure *find_measure(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(measures); i++)
		if (strlen(measures[i].name) == len && !memcmp(measures[i].name, name, len))
			return &measures[i];
	return NULL;
}

static int parse_limit(const char *text, struct condition *c)
{
	_cleanup_free_ char *number = xstrdup(text);
	char *per = strchr(number, '/');

	if (c->measure->rate != !!per)
		return -EINVAL;
	if (per) {
		*per++ = '\0';
		per += strspn(per, " ");
		for (size_t i = 0; i < ARRAY_SIZE(times); i++)
			if (!strcmp(times[i].name, per))
				c->per_ns = times[i].ns;
		number[strcspn(number, " ")] = '\0';
	}
	return per && !c->per_ns ? -EINVAL : parse_size(number, &c->limit);
}

int condition__parse(const char *text, struct condition *ret, struct err *e)
{
	size_t len = strcspn(text, " >");
	const char *rest = text + len + strspn(text + len, " ");
	struct condition c = { .text = text, .measure = find_measure(text, len) };
	int err;

	if (!c.measure)
		return err_set(e, -EINVAL, "want " WANT_NAMES);
	if (c.measure->event) {
		if (*rest)
			return err_set(e, -EINVAL, "want nothing after %s", c.measure->name);
		*ret = c;
		return 0;
	}
	err = *rest == '>' ? parse_limit(rest + 1 + strspn(rest + 1, " "), &c) : -EINVAL;
	if (err)
		return err_set(e, -EINVAL, "want %s", c.measure->want);
	*ret = c;
	return 0;
}

unsigned int condition__needs(const struct condition *c)
{
	return c->measure->needs;
}

/* ---- what is remembered */

struct point {
	uint64_t t_ns, v;
};

struct state {			/* of a condition, of a process */
	bool fired;		/* and it was not met no more since */
	uint64_t fired_v;	/* the figure then */
	struct point *points;	/* a rate's, in a ring; owned; NULL: none yet */
	size_t first, n;
};

struct triggers {
	struct condition *conditions;
	size_t n;
	uint64_t pause_ns, quiet_until_ns;
	struct hash states;	/* by process number: struct state[n] */
	struct vec(char *) reasons;
	size_t n_more;		/* reasons beyond those kept */
	struct snap_when *whens;	/* by condition; why is owned */
};

struct triggers *triggers__new(const char *const *texts, size_t n, uint64_t pause_ns)
{
	struct triggers *t = xcalloc(1, sizeof(*t));

	t->conditions = xcalloc(n + 1, sizeof(*t->conditions));
	t->whens = xcalloc(n + 1, sizeof(*t->whens));
	t->pause_ns = pause_ns;
	for (size_t i = 0; i < n; i++)
		if (!condition__parse(texts[i], &t->conditions[t->n], NULL))
			t->whens[t->n++].text = texts[i];
	return t;
}

static void states_free(const struct triggers *t, struct state *v)
{
	for (size_t i = 0; v && i < t->n; i++)
		free(v[i].points);
	free(v);
}

static void drop_reasons(struct triggers *t)
{
	for (size_t i = 0; i < t->reasons.n; i++)
		free(t->reasons.v[i]);
	t->reasons.n = t->n_more = 0;
}

void triggers__free(struct triggers *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->states.room; i++)
		states_free(t, t->states.slots[i].value);
	hash__done(&t->states);
	drop_reasons(t);
	vec_done(&t->reasons);
	for (size_t i = 0; i < t->n; i++)
		free((char *)t->whens[i].why);
	free(t->whens);
	free(t->conditions);
	free(t);
}

unsigned int triggers__figures(const struct triggers *t)
{
	unsigned int all = 0;

	for (size_t i = 0; i < t->n; i++)
		if (!t->conditions[i].measure->event)
			all |= FIGURE_BIT(t->conditions[i].measure->figure);
	return all;
}

static struct state *states_of(struct triggers *t, uint32_t proc)
{
	struct state *v = hash__get(&t->states, proc);

	if (v)
		return v;
	v = xcalloc(t->n, sizeof(*v));
	hash__put(&t->states, proc, v);
	return v;
}

void triggers__forget(struct triggers *t, uint32_t proc)
{
	states_free(t, hash__remove(&t->states, proc));
}

/* ---- why a snapshot is to be taken */

static void add_reason(struct triggers *t, const struct condition *c, const char *says, uint64_t now_ns)
{
	struct snap_when *when = &t->whens[c - t->conditions];

	free((char *)when->why);
	*when = (struct snap_when){ .text = c->text, .fired = when->fired + 1, .last_ns = now_ns, .why = xstrdup(says) };
	if (t->reasons.n == MAX_REASONS) {
		t->n_more++;
		return;
	}
	*vec_push(&t->reasons) = xasprintf("%s: %s", c->text, says);
}

char *triggers__reasons(struct triggers *t, uint64_t now_ns, bool last)
{
	char *text = NULL, *more;

	if (!t->reasons.n || (!last && now_ns < t->quiet_until_ns))
		return NULL;
	for (size_t i = 0; i < t->reasons.n; i++) {
		more = xasprintf("%s%s%s", text ? text : "", text ? "; " : "", t->reasons.v[i]);
		free(text);
		text = more;
	}
	if (t->n_more) {
		more = xasprintf("%s; and %zu more", text ? text : "", t->n_more);
		free(text);
		text = more;
	}
	drop_reasons(t);
	return text;
}

void triggers__taken(struct triggers *t, uint64_t now_ns)
{
	t->quiet_until_ns = now_ns + t->pause_ns;
}

size_t triggers__n(const struct triggers *t)
{
	return t->n;
}

const struct snap_when *triggers__when(const struct triggers *t, size_t i)
{
	return &t->whens[i];
}

void triggers__event(struct triggers *t, enum event event, const char *says, uint64_t now_ns)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->conditions[i].measure->event == event)
			add_reason(t, &t->conditions[i], says, now_ns);
}

/* ---- checking */

static struct point *point_at(const struct state *s, size_t i)
{
	return &s->points[(s->first + i) % N_POINTS];
}

/*
 * Notes the figure; *ret is the point that the rate counts from: the youngest of those
 * that are as old as the time that it is for, else the oldest that there is.
 */
static void note(struct state *s, const struct condition *c, uint64_t now_ns, uint64_t v, struct point *ret)
{
	if (!s->points) {
		s->points = xcalloc(N_POINTS, sizeof(*s->points));
		/* what is counted was nothing before; of what is resident, little is known */
		if (c->measure->figure != FIGURE_RSS && now_ns > LOOK_NS)
			*point_at(s, s->n++) = (struct point){ now_ns - LOOK_NS, 0 };
	}
	if (!s->n || (now_ns - point_at(s, s->n - 1)->t_ns >= c->per_ns / N_STEPS && s->n < N_POINTS))
		*point_at(s, s->n++) = (struct point){ now_ns, v };
	while (s->n > 1 && now_ns - point_at(s, 1)->t_ns >= c->per_ns) {
		s->first = (s->first + 1) % N_POINTS;
		s->n--;
	}
	*ret = *point_at(s, 0);
}

/* "nginx (1432) has 2.1 GiB resident", "nginx (1432) holds 11.0 MiB more than 14.3s ago"; age_ns: of a rate */
static char *words_of(const struct measure *m, const struct look *l, uint64_t v, uint64_t age_ns)
{
	return xasprintf("%s %s %s%s%s%s%s%s", l->who, m->does, m->figure == FIGURE_RSS ? "" : l->mark, m->bytes ? BYTES(v) : EXACT(v),
			 m->what, m->rate ? " " : "", m->rate ? DURATION(age_ns) : "",
			 m->rate && m->bytes ? " ago" : "");
}

static void look_at(struct triggers *t, const struct condition *c, struct state *s, const struct look *l,
		   uint64_t now_ns)
{
	uint64_t v = l->v[c->measure->figure], grown = 0, age_ns = 0;
	_cleanup_free_ char *words = NULL;

	if (c->per_ns) {
		struct point then;

		note(s, c, now_ns, v, &then);
		age_ns = now_ns - then.t_ns;
		grown = v > then.v ? v - then.v : 0;
		v = age_ns > c->per_ns ? (uint64_t)((double)grown * (double)c->per_ns / (double)age_ns) : grown;
	}
	if (v <= c->limit) {
		s->fired = false;
		return;
	}
	if (now_ns < t->quiet_until_ns || (s->fired && (c->per_ns || v / 2 < s->fired_v)))
		return;
	s->fired = true;
	s->fired_v = v;
	words = words_of(c->measure, l, c->per_ns ? grown : v, age_ns);
	add_reason(t, c, words, now_ns);
}

void triggers__look(struct triggers *t, const struct look *l, uint64_t now_ns)
{
	struct state *v = states_of(t, l->proc);

	for (size_t i = 0; i < t->n; i++) {
		const struct condition *c = &t->conditions[i];

		if (!c->measure->event && l->known & FIGURE_BIT(c->measure->figure))
			look_at(t, c, &v[i], l, now_ns);
	}
}
