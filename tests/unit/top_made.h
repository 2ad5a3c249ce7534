/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The live view over the sample, for tests: two snapshots a second apart, and what a screen says. */
#ifndef MT_TOP_MADE_H
#define MT_TOP_MADE_H

#include <criterion/criterion.h>
#include <string.h>

#include "model/tags.h"
#include "present/top/grid.h"
#include "present/top/top.h"
#include "present/views.h"
#include "grid_text.h"
#include "sample_snapshot.h"
#include "util/util.h"

#define MADE_SECOND 1000000000ull

/* What the trends of the sample's sites would be, in their order. */
static const struct trend made_trends[] = {
	{ "leak", "0 of 31,744 blocks freed, +1.0 MiB/s for 29.8s, oldest 29.9s", 1.04 * 1048576, true, false },
	{ "steady", "98% freed, live bytes within 1% for 20.0s", 0, true, false },
	{ "steady", "all but one of 2,100,000 blocks freed", -12, true, false },
	{ "growing", "+31.0 KiB/s for 9.0s", 31 * 1024, true, false },
	{ "new", "first seen 27.0s ago", 0, true, false },
	{},
	{ "suspect", "grew in 3 of 4 minutes", 4096, true, false },
};

/* The sample as it was seconds ago: less of everything that goes on. */
static inline struct snapshot *made__sample(unsigned int flags, unsigned int seconds_ago)
{
	static const struct snap_point history[] = {
		{ .t_ns = 0, .live_bytes = 1 << 20 }, { .t_ns = 5 * MADE_SECOND, .live_bytes = 6 << 20 }, { .t_ns = 10 * MADE_SECOND, .live_bytes = 12 << 20 },
		{ .t_ns = 20 * MADE_SECOND, .live_bytes = 22 << 20 }, { .t_ns = 30 * MADE_SECOND, .live_bytes = 31 << 20 },
	};
	struct snapshot *s = sample__new(flags);

	for (size_t i = 0; i < s->n_sites; i++) {
		struct snap_site *site = &s->sites[i];
		struct snap_process *p;
		uint64_t calls = site->c.alloc_calls / 30 * seconds_ago, bytes = site->c.alloc_bytes / 30 * seconds_ago;

		if (i < ARRAY_SIZE(made_trends))
			site->trend = made_trends[i];
		if (!i) {
			site->history = history;
			site->n_history = ARRAY_SIZE(history);
		}
		site->c.alloc_calls -= calls;
		site->c.alloc_bytes -= bytes;
		p = &((struct snap_process *)s->processes)[site->process];
		if (!site->c.free_calls) {
			site->c.live_blocks -= calls;
			site->c.live_bytes -= bytes;
			p->c.live_bytes -= bytes;
		} else {
			site->c.free_calls -= calls;
			p->c.free_calls -= calls;
		}
		p->c.alloc_calls -= calls;
		p->c.alloc_bytes -= bytes;
	}
	((struct snap_process *)s->processes)[0].trend = made_trends[0];
	if (s->processes[0].rss_bytes)
		((struct snap_process *)s->processes)[0].rss_bytes -= seconds_ago << 20;
	s->host = "db7";
	s->duration_ns -= seconds_ago * MADE_SECOND;
	s->wall_now_ns -= seconds_ago * (int64_t)MADE_SECOND;
	s->probe_hits -= s->probe_hits / 30 * seconds_ago;
	s->ended = false;
	return s;
}

static inline struct top *made__top(unsigned int flags)
{
	/* of several processes it would begin with these */
	struct top_opts o = { .suffix = ".json", .suffixes = ".folded .json .txt", .interval_ns = MADE_SECOND, .views = VIEW_LIVE };
	struct top *t = top__new(&o);

	top__update(t, made__sample(flags, 1));
	top__update(t, made__sample(flags, 0));
	return t;
}

/* With --tag, --mark, --free-stacks and --when. The tagger must outlive it, and is the caller's. */
static inline struct top *made__top_asked(struct tagger *tagger)
{
	struct top_opts o = { .suffix = ".json", .suffixes = ".folded .json .txt", .interval_ns = MADE_SECOND, .tagger = tagger, .marks = true };
	struct top *t = top__new(&o);
	struct snapshot *s = sample__asked();

	cr_assert_eq(tagger__add(tagger, "processCommand", "processCommand"), 0);
	cr_assert_eq(tagger__add(tagger, "redis-server:_dictExpand", "redis-server:_dictExpand"), 0);
	s->ended = false;
	top__update(t, s);
	return t;
}

/* Keys one after the other; '\n' is Enter. A screen is drawn after each: keys refer to what is seen. */
static inline enum top_action made__type(struct top *t, struct grid *g, const char *keys)
{
	enum top_action a = TOP_NONE;

	for (; *keys; keys++) {
		a = top__key(t, (unsigned char)*keys);
		top__draw(t, g);
	}
	return a;
}

static inline bool made__says(const struct grid *g, const char *text)
{
	_cleanup_free_ char *all = grid__text(g);

	return strstr(all, text);
}

/* The row that says it; -1: none. */
static inline int made__row_of(const struct grid *g, const char *text)
{
	for (int row = 0; row < g->rows; row++) {
		_cleanup_free_ char *line = grid__row_text(g, row);

		if (strstr(line, text))
			return row;
	}
	return -1;
}

#endif
