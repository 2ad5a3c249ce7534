// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns which site belongs to which tag. What always holds: a site has one tag or
 * none, so tags and the rest add up to all sites; the outcome depends on names
 * alone, so a saved profile can be tagged like a trace.
 */
#include "model/tags.h"

#include <errno.h>
#include <string.h>

#include "model/merge.h"
#include "model/runtimes.h"
#include "util/ids.h"
#include "util/text.h"

int tagger__add(struct tagger *t, const char *name, const char *readable)
{
	struct tag_want *want;
	struct func_ref ref;
	char *copy;

	if (!strcmp(name, TAG_THREAD)) {
		t->threads = true;
		return 0;
	}
	if (!func_ref__parse(readable, &ref))
		return -EINVAL;
	for (size_t i = 0; i < t->v.n; i++)
		if (!strcmp(t->v.v[i].name, name))
			return 0;
	copy = xstrdup(readable);
	want = vec_push(&t->v);
	*want = (struct tag_want){ .name = name, .readable = copy };
	func_ref__parse(copy, &want->ref);
	return 0;
}

void tagger__done(struct tagger *t)
{
	for (size_t i = 0; i < t->v.n; i++)
		free(t->v.v[i].readable);
	vec_done(&t->v);
	t->threads = false;
}

bool tagger__any(const struct tagger *t)
{
	return t->v.n || t->threads;
}

/* ---- functions */

struct match {
	uint32_t tag;		/* + 1; 0: none */
	bool inlined;
};

/* Names of Python's functions begin with what they are defined in, which may be left out: "H.render", "make.<locals>.render". */
static bool is_python_name(const char *asked, const struct frame *f)
{
	const char *name = f->line->function;
	size_t n = strlen(asked), len = strlen(name);

	return is_python_module(f->module) && len > n && name[len - n - 1] == '.' && !strcmp(name + len - n, asked);
}

static uint32_t tag_of_frame(const struct tagger *t, const struct frame *f)
{
	if (!f->line || !f->line->function)
		return 0;
	for (size_t i = 0; i < t->v.n; i++)
		if (func_ref__is_in(&t->v.v[i].ref, f->module) &&
		    (func_name__matches(t->v.v[i].ref.function, f->line->function, true) ||
		     is_python_name(t->v.v[i].ref.function, f)))
			return (uint32_t)i + 1;
	return 0;
}

static struct match match_place(const struct tagger *t, const struct snapshot *s, const struct place *p)
{
	struct match m = {};

	for (size_t i = 0; i < place__n_frames(p) && !m.tag; i++) {
		struct frame f = place__frame(s, p, i);

		m = (struct match){ tag_of_frame(t, &f), f.inlined };
	}
	return m;
}

static uint64_t entered_before(const struct snapshot *s, const char *name)
{
	for (size_t i = 0; i < s->n_tags; i++)
		if (!s->tags[i].thread && !strcmp(s->tags[i].name, name))
			return s->tags[i].entered;
	return UINT64_MAX;
}

/* ---- threads */

struct names {			/* of threads that own sites */
	struct string_ids patterns;
	struct vec(char *) v;	/* by pattern: the name of all of it; owned */
	struct vec(char *) texts;	/* what patterns points to; owned */
};

static void names_done(struct names *n)
{
	for (size_t i = 0; i < n->v.n; i++)
		free(n->v.v[i]);
	for (size_t i = 0; i < n->texts.n; i++)
		free(n->texts.v[i]);
	vec_done(&n->v);
	vec_done(&n->texts);
	string_ids__done(&n->patterns);
}

static void add_name(struct names *n, const char *name, uint32_t *ret)
{
	char *pattern = numbered__pattern(name), **text = vec_push(&n->texts), **sum;

	*text = pattern;
	string_ids__get(&n->patterns, pattern, ret);
	if (*ret < n->v.n) {
		numbered__add(n->v.v[*ret], name);
		free(n->texts.v[--n->texts.n]);
		return;
	}
	sum = vec_push(&n->v);
	*sum = xstrdup(name);
}

struct named {
	const char *name;
	uint32_t pattern;
};

COMPARATOR(by_name, struct named, strcmp(a->name, b->name) ?: ORDER(a->pattern, b->pattern))

/*
 * to: the tags after those of functions. The sites' tags are numbers of patterns until here,
 * counted from first + 1.
 */
static void list_threads(struct snapshot *s, struct names *n, struct snap_tag *to, uint32_t first)
{
	_cleanup_free_ struct named *order = xcalloc(n->v.n + 1, sizeof(*order));
	_cleanup_free_ uint32_t *place_of = xcalloc(n->v.n + 1, sizeof(*place_of));

	for (size_t i = 0; i < n->v.n; i++) {
		numbered__end(n->v.v[i]);
		order[i] = (struct named){ n->v.v[i], (uint32_t)i };
	}
	qsort(order, n->v.n, sizeof(*order), by_name);
	for (size_t i = 0; i < n->v.n; i++) {
		to[i] = (struct snap_tag){ .name = snapshot__strdup(s, order[i].name),
					   .thread = true,
					   .entered = UINT64_MAX };
		place_of[order[i].pattern] = (uint32_t)i;
	}
	for (size_t i = 0; i < s->n_sites; i++)
		if (s->sites[i].tag > first)
			s->sites[i].tag = first + place_of[s->sites[i].tag - first - 1] + 1;
}

static void tag_threads(struct snapshot *s, struct names *n, uint32_t first)
{
	for (size_t i = 0; i < s->n_sites; i++) {
		struct snap_site *site = &s->sites[i];
		uint32_t pattern;

		if (site->tag || !site->thread || !*site->thread)
			continue;
		add_name(n, site->thread, &pattern);
		site->tag = first + pattern + 1;
	}
}

void snapshot__tag(struct snapshot *s, const struct tagger *t)
{
	_cleanup_free_ struct match *places = xcalloc(s->n_places + 1, sizeof(*places));
	uint32_t n = (uint32_t)t->v.n;
	struct names threads = {};
	struct snap_tag *tags;

	for (size_t i = 0; i < s->n_places; i++)
		places[i] = match_place(t, s, &s->places[i]);
	for (size_t i = 0; i < s->n_sites; i++) {
		struct snap_site *site = &s->sites[i];

		site->tag = 0;
		for (uint32_t k = 0; k < site->n_stack && !site->tag; k++)
			site->tag = places[site->stack[k]].tag;
	}
	if (t->threads)
		tag_threads(s, &threads, n);
	tags = snapshot__alloc(s, n + threads.v.n + 1, sizeof(*tags));
	for (size_t i = 0; i < n; i++)
		tags[i] = (struct snap_tag){ .name = snapshot__strdup(s, t->v.v[i].name),
					     .entered = entered_before(s, t->v.v[i].name) };
	for (size_t i = 0; i < s->n_places; i++)
		if (places[i].tag && places[i].inlined)
			tags[places[i].tag - 1].entered = UINT64_MAX;
	list_threads(s, &threads, tags + n, n);
	s->tags = tags;
	s->n_tags = n + threads.v.n;
	names_done(&threads);
}

void tag_sum__add(struct tag_sum *sum, const struct snap_site *site)
{
	struct counters c = site->c;

	/* sites have their peaks at different moments */
	c.peak_bytes = site->at_peak_bytes;
	sum->n_sites++;
	counters__add(&sum->c, &c);
	std_error__add(&sum->error, &site->error);
}

struct tag_sum *tags__add_up(const struct snapshot *s)
{
	struct tag_sum *v = xcalloc(s->n_tags + 1, sizeof(*v));

	for (size_t i = 0; i < s->n_sites; i++)
		tag_sum__add(&v[s->sites[i].tag], &s->sites[i]);
	return v;
}
