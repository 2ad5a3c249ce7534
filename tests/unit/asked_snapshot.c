// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what a trace can have beside its totals and sites, for the sample's first
 * process: histories with a jump in them, marks, tags, places of frees, moves of
 * realloc, ages, and where resident memory is. Frees and ages add up to the
 * figures of their sites, as those of a real snapshot do.
 */
#include "sample_snapshot.h"

#include "util/util.h"

#define S 1000000000ull
#define MS 1000000ull
#define KIB 1024ull
#define MIB (1024ull * KIB)
#define N_POINTS 60

/* The sites of the first process, in the sample's order. */
enum { TRACKING, DICT, SDS, VDSO, NO_STACK };

static const struct snap_tag tags[] = {
	{ "processCommand", false, 31744 },
	{ "redis-server:_dictExpand", false, 12 },
	{ "bio_lazy_free", true, UINT64_MAX },
};

static const struct snap_mark marks[] = {
	{ "flushAll", 1, 0, 1432, 3 * S, 3900 * KIB, true, 200000, 40 * MIB, 3400, 3900 * KIB, 0, 0 },
	{ "flushAll", 2, 0, 1432, 9 * S, 11 * MIB, true, 620000, 120 * MIB, 9800, 11 * MIB, 0, 0 },
	{ "reloadConfig", 1, 0, 1435, 12 * S, 14 * MIB, true, 860000, 160 * MIB, 12900, 14 * MIB, 0, 0 },
	{ "reloadConfig", 2, 0, 1435, 12001 * MS, 14 * MIB, false, 0, 0, 0, 0, 0, 0 },
	{ "flushAll", 3, 0, 1432, 15 * S, 25 * MIB, true, 1100000, 240 * MIB, 16900, 25 * MIB, 0, 0 },
	{ "flushAll", 4, 0, 1432, 27 * S, 35 * MIB, true, 1900000, 390 * MIB, 29900, 35 * MIB, 0, 0 },
};

static const struct snap_taken taken[] = {
	{ 6 * S, 1, NULL },
	{ 12 * S, 2, "mark reloadConfig #1" },
	{ 22 * S, 3, "live>24M: redis-server (1432) has 24.1 MiB live" },
};

static const struct snap_when whens[] = {
	{ "rss>2G", 0, 0, NULL },
	{ "live>24M", 2, 22 * S, "redis-server (1432) holds 24.1 MiB" },
	{ "growth>10M/min", 1, 25 * S, "redis-server (1432) holds 11.0 MiB more than 14.3s ago" },
};

#define FREE_SITE(its_function, calls, bytes, n, its_end, ...) \
	{ .function = its_function, .c = { .free_calls = calls, .free_bytes = bytes }, .n_stack = n, .stack = (const uint32_t[]){ __VA_ARGS__ }, .end = its_end }

static const struct snap_site free_sites[] = {
	FREE_SITE("free", 2139999, 200 * MIB + 2099999 * 48ull, 3, 0, 1, 4, 5),
	FREE_SITE("free", 20000, 104 * MIB, 2, 0, 8, 18),
	FREE_SITE("realloc", 936, 3 * MIB, 2, 2, 14, 17),
};

static const struct snap_free frees[] = {
	{ DICT, 0, 1432, "redis-server", 40000, 200 * MIB, 0, 40000 * 30 * MS },
	{ DICT, 1, 1435, "bio_lazy_free", 20000, 104 * MIB, 20000, 20000 * 60 * MS },
	{ SDS, 0, 1432, "redis-server", 2099999, 2099999 * 48ull, 0, 2099999 * 4 * MS },
	{ VDSO, 2, 0, NULL, 936, 3 * MIB, 0, 936 * 100 * MS },
};

static const struct snap_age tracking_ages[] = {
	{ 1 * S, 744, 744 * KIB, 700 * MS }, { 2 * S, 1000, 1000 * KIB, 1500 * MS }, { 5 * S, 2000, 2000 * KIB, 3 * S },
	{ 10 * S, 4000, 4000 * KIB, 7 * S }, { 20 * S, 9000, 9000 * KIB, 15 * S }, { 30 * S, 15000, 15000 * KIB, 20 * S },
};
static const struct snap_age dict_ages[] = { { 1000, 4, 20 * KIB, 0 }, { 10 * S, 200, 1 * MIB, 7 * S },
					     { UINT64_MAX, 1000, 5 * MIB - 20 * KIB, 30 * S } };

/* Live bytes of a site at i of N_POINTS: it leaks all the time; it jumps at 12s; it was larger once. */
static uint64_t course(int site, uint64_t i, const struct snap_site *s)
{
	uint64_t t_ms = i * 30000 / (N_POINTS - 1), live = s->c.live_bytes;

	switch (site) {
	case TRACKING:
		return live * i / (N_POINTS - 1);
	case DICT:
		return t_ms < 12100 ? 20 * KIB : t_ms > 14000 ? live : 20 * KIB + (live - 20 * KIB) * (t_ms - 12100) / 1900;
	case VDSO:
		return t_ms < 1000 ? 0 : t_ms < 20000 ? 4 * MIB : live;
	default:
		return live;
	}
}

static void set_histories(struct snapshot *s)
{
	static const struct trend trends[] = {
		[TRACKING] = { "leak", "0 of 31,744 blocks freed, +1.0 MiB/s for 29.9s, oldest 29.9s", 1.03 * MIB, true },
		[DICT] = { "growing", "98% freed, yet +204.8 KiB/s for 28.0s", 0.2 * MIB, true },
		[SDS] = { "steady", ">99% freed, no growth in 29.9s", 0, true },
		[VDSO] = { "draining", "-3.0 MiB since 20.0s", -0.1 * MIB, true },
	};
	struct snap_process *p = (struct snap_process *)s->processes;
	struct snap_point *line = snapshot__alloc(s, N_POINTS, sizeof(*line));

	for (uint64_t i = 0; i < N_POINTS; i++)
		line[i] = (struct snap_point){ .t_ns = i * 30 * S / (N_POINTS - 1), .live_blocks = i * 32965 / (N_POINTS - 1),
					       .alloc_calls = i * 37000 + i % 7 * 1500, .rss_bytes = 64 * MIB + i * 32 * MIB / (N_POINTS - 1) };
	for (int k = TRACKING; k <= VDSO; k++) {
		struct snap_point *h = snapshot__alloc(s, N_POINTS, sizeof(*h));
		size_t n = 0;

		for (uint64_t i = 0; i < N_POINTS; i++) {
			uint64_t live = course(k, i, &s->sites[k]);

			line[i].live_bytes += live;
			if (line[i].t_ns >= s->sites[k].first_ns)
				h[n++] = (struct snap_point){ .t_ns = line[i].t_ns, .live_bytes = live };
		}
		s->sites[k].history = h;
		s->sites[k].n_history = n;
		s->sites[k].trend = trends[k];
	}
	line[N_POINTS - 1].live_bytes = p->c.live_bytes;
	p->timeline = line;
	p->n_timeline = N_POINTS;
}

struct snapshot *sample__asked(void)
{
	struct snapshot *s = sample__new(SAMPLE_SINGLE);
	struct snap_process *p = (struct snap_process *)s->processes;

	set_histories(s);
	s->tags = tags;
	s->n_tags = ARRAY_SIZE(tags);
	s->sites[TRACKING].tag = s->sites[SDS].tag = 1;
	s->sites[DICT].tag = 2;
	s->sites[NO_STACK].tag = 3;
	s->marks = marks;
	s->n_marks = ARRAY_SIZE(marks);
	s->n_marks_seen = 1006;
	s->n_marks_whole = 5;
	s->recording.free_stacks = true;
	s->free_sites = free_sites;
	s->n_free_sites = ARRAY_SIZE(free_sites);
	s->frees = frees;
	s->n_frees = ARRAY_SIZE(frees);
	s->sites[VDSO].moves = (struct mt_moves){ .calls = 936, .moved_calls = 120, .moved_bytes = 31 * MIB, .grown_calls = 930,
						    .grown_bytes = 930 * 16, .shrunk_calls = 6, .doubled_calls = 12, .longest = 417 };
	s->scanned = true;
	s->scan_blocks = s->totals.live_blocks;
	s->scan_bytes = s->totals.live_bytes;
	s->sites[TRACKING].ages = tracking_ages;
	s->sites[TRACKING].n_ages = ARRAY_SIZE(tracking_ages);
	s->sites[DICT].ages = dict_ages;
	s->sites[DICT].n_ages = ARRAY_SIZE(dict_ages);
	s->whens = whens;
	s->n_whens = ARRAY_SIZE(whens);
	s->taken = taken;
	s->n_taken = ARRAY_SIZE(taken);
	s->trigger = "rss>90M: redis-server (1432) has 96.0 MiB";
	p->memory = (struct snap_memory){ .known = true, .heap_mapped = 90 * MIB, .heap_resident = 79 * MIB, .large_mapped = 16 * MIB,
					  .large_resident = 10 * MIB, .file_resident = 6 * MIB + 900 * KIB, .stack_resident = 132 * KIB,
					  .n_arenas = 3, .sized_blocks = 32965, .sized_requested = 38 * MIB, .sized_usable = 40 * MIB,
					  .sized_apart = 6 * MIB, .sized_all = true, .grown_known = true, .heap_grown = 30 * MIB,
					  .large_grown = 2 * MIB, .file_grown = 4 * KIB };
	return s;
}
