// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns a snapshot of any size: a process that calls through layers of
 * libraries, the same for the same size on every machine. Stacks share their
 * upper parts, as those of a program do; each site adds about five frames of
 * its own, and every 500th is as deep as a stack gets.
 */
#include <stdio.h>

#include "sample_snapshot.h"
#include "util/util.h"

#define DEPTH 30
#define DEEPEST 127
#define N_MODULES 12
#define S 1000000000ull

static uint32_t next(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

static const char *text(struct snapshot *s, const char *fmt, unsigned int a, unsigned int b)
{
	char buf[200];

/* every format is a literal below */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(buf, sizeof(buf), fmt, a, b);
#pragma GCC diagnostic pop
	return snapshot__strdup(s, buf);
}

static void make_places(struct snapshot *s, size_t n)
{
	struct snap_module *modules = snapshot__alloc(s, N_MODULES, sizeof(*modules));

	for (unsigned int i = 0; i < N_MODULES; i++)
		modules[i].path = text(s, i ? "/opt/service/lib/libpart%u.so.%u" : "/opt/service/bin/service", i, i % 3);
	s->modules = modules;
	s->n_modules = N_MODULES;
	s->places = snapshot__alloc(s, n, sizeof(*s->places));
	s->n_places = n;
	for (unsigned int i = 0; i < n; i++) {
		unsigned int function = i / 2;	/* two calls in each */
		struct line *line = snapshot__alloc(s, 1, sizeof(*line));

		line->function = text(s, "part%u::Handler::process_request_%u(part::Context&, unsigned long)", function % N_MODULES, function);
		line->file = text(s, "/src/service/part%u/handler_%u.cc", function % N_MODULES, function % 97);
		line->line = 10 + i % 900;
		s->places[i] = (struct place){ .module = (int)(function % N_MODULES), .offset = 0x1000 + i * 24ull, .resolved = true,
					       .n_lines = 1, .lines = line };
	}
}

/* What site i has in common with the one before, and then something new. */
static void make_stack(struct snapshot *s, struct snap_site *site, const struct snap_site *before, size_t i, uint32_t *seed)
{
	uint32_t n = i % 500 == 499 ? DEEPEST : DEPTH - 8 + next(seed) % 16;
	uint32_t own = 3 + next(seed) % 5, top = 3 + next(seed) % 8;
	uint32_t shared = before ? MIN(before->n_stack, n - own) : 0;
	uint32_t *stack = snapshot__alloc(s, n, sizeof(*stack));

	if (i % 40 == 0)
		shared = MIN(shared, top);
	for (uint32_t k = 0; k < n; k++)
		stack[n - 1 - k] = k < shared ? before->stack[before->n_stack - 1 - k] : next(seed) % s->n_places;
	site->stack = stack;
	site->n_stack = n;
}

struct snapshot *sample__big(size_t n_sites)
{
	static const char *const functions[] = { "malloc", "calloc", "realloc" };
	struct snapshot *s = snapshot__new();
	struct snap_process *p = snapshot__alloc(s, 1, sizeof(*p));
	uint32_t seed = 2463534242;

	s->version = "0.1.0";
	s->kernel = "6.18.44";
	s->arch = "aarch64";
	s->observed_share = 1;
	s->known = HAS_ALL;
	s->duration_ns = 600 * S;
	s->wall_start_ns = 1794700712ll * 1000000000;
	s->wall_now_ns = s->wall_start_ns + (int64_t)s->duration_ns;
	s->ended = true;
	s->recording = (struct recording)RECORDING_PRESET;
	*p = (struct snap_process){ .id = 1, .pid = 4711, .comm = "service", .exe = "/opt/service/bin/service",
				    .age_at_attach_ns = 3600 * S, .rss_bytes = 3ull << 30, .rss_at_attach_bytes = 2ull << 30,
				    .peak_at_ns = 500 * S };
	s->processes = p;
	s->n_processes = 1;
	make_places(s, MAX(n_sites / 2, 64u));
	s->sites = snapshot__alloc(s, n_sites, sizeof(*s->sites));
	for (size_t i = 0; i < n_sites; i++) {
		struct snap_site *site = &s->sites[s->n_sites++];
		uint64_t size = 16 + next(&seed) % 4096, calls = 1 + next(&seed) % (i % 100 ? 1000 : 200000);
		uint64_t frees = i % 3 ? calls - next(&seed) % calls : 0;

		make_stack(s, site, i ? site - 1 : NULL, i, &seed);
		site->function = functions[i % ARRAY_SIZE(functions)];
		site->c = (struct counters){ .alloc_calls = calls, .alloc_bytes = calls * size, .free_calls = frees,
					     .free_bytes = frees * size, .live_blocks = calls - frees,
					     .live_bytes = (calls - frees) * size, .peak_bytes = calls * size / 2 + 1,
					     .temp_calls = frees / 2 };
		site->at_peak_bytes = site->c.live_bytes;
		site->min_size = site->max_size = size;
		site->first_ns = i * 1000;
		site->last_ns = s->duration_ns - i;
		site->oldest_ns = site->c.live_blocks ? site->last_ns : 0;
		site->lifetime_sum_ns = frees * 1000000ull;
		p->c.alloc_calls += calls;
		p->c.alloc_bytes += calls * size;
		p->c.free_calls += frees;
		p->c.free_bytes += frees * size;
		p->c.live_blocks += calls - frees;
		p->c.live_bytes += (calls - frees) * size;
		p->c.temp_calls += frees / 2;
	}
	p->c.peak_bytes = p->c.live_bytes;
	s->totals = p->c;
	s->stacks_by_end[0] = n_sites;
	return s;
}
