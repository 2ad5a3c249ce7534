// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how a recording, the sizes of the tables and what the machine is like become the programs'
 * constants: each member of struct mt_config is set here, and nowhere else.
 */
#include "probe/config.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "probe/sampler.h"
#include "util/clock.h"
#include "util/parse.h"
#include "util/rights.h"
#include "util/util.h"

/* The coarse clock advances by one tick at a time, and so does the programs' clock. */
static uint64_t tick_ns(void)
{
	struct timespec res;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &res))
		return 4000000;
	return timespec_ns(res);
}

/* The size of a page that a fault brings at once where the kernel may; out of reach if it has none. */
static uint64_t huge_page_bytes(void)
{
	_cleanup_close_ int fd = open("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", O_RDONLY | O_CLOEXEC);
	char text[24];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	uint64_t bytes;

	if (n <= 0)
		return 1ull << 40;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return parse_u64(text, 1, 1ull << 40, &bytes) ? 1ull << 40 : bytes;
}

struct mt_config config__make(const struct kernel_opts *o, const struct table_sizes *s, bool multi)
{
	const struct recording *r = &o->recording;

	return (struct mt_config){
		.mode = r->mode,
		.depth = r->depth,
		.min_size = r->min_size,
		.max_size = r->max_size,
		.sample_bytes = r->sample_bytes,
		.sample_unit = sampler__unit(r->sample_bytes),
		.sample_calls_unit = sampler__calls_unit(r->sample_bytes),
		.seed = r->seed,
		.tick_ns = recording__is_precise(r) ? 0 : tick_ns(),
		.budget = recording__has_budget(r),
		.by_thread = r->by_thread,
		.within = r->within != NULL,
		.free_stacks = r->free_stacks,
		.arenas = r->arenas,
		.calls = o->calls,
		.calls_unknown = o->calls && !r->sample_bytes && !recording__is_partial(r),
		.python = !o->python ? MT_PYTHON_OFF : r->python == PYTHON_ONLY ? MT_PYTHON_ONLY : MT_PYTHON_ON,
		.requested = recording__is_leak(r) && r->size == SIZE_REQUESTED,

		.adopt = o->adopt,
		.by_comm = o->by_comm,
		.by_cgroup = o->by_cgroup,
		.own_only = !right__held(RIGHT_SYS_PTRACE),
		.multi = multi,

		.n_groups = s->n_groups,
		.n_sites = s->n_sites,
		.max_stacks = (uint32_t)s->max_stacks,
		.n_index = s->n_index,
		.n_words = s->n_words,
		.n_procs = s->n_procs,
		.n_shards = s->n_shards,
		.n_threads = s->n_threads,
		.n_scratch = s->n_scratch,
		.n_shared = s->n_shared,
		.n_links = s->n_links,

		.rss_batch = MAX(32, 2 * sysconf(_SC_NPROCESSORS_ONLN)),
		.page_bytes = sysconf(_SC_PAGESIZE),
		.huge_bytes = huge_page_bytes(),
	};
}
