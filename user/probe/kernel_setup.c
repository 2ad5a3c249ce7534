// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how a recording and what the machine is like become the sizes of the tables and the
 * programs' constants: each member of struct table_sizes and of struct mt_config is set here, and
 * nowhere else.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "bpf/abi.h"
#include "probe/kernel.h"
#include "process/memcg.h"
#include "util/clock.h"
#include "util/parse.h"
#include "util/rights.h"
#include "util/util.h"

#define MiB (1024ull * 1024)
#define FEW_PROCS 1024
#define MAX_ARENAS (1u << 16)	/* of Python: 64 GiB of 1 MiB each */
#define MAX_SITES ((1u << MT_SITE_BITS) - MT_MAX_PROCS - 1)

static uint32_t pow2_at_least(uint64_t n)
{
	uint32_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

static uint64_t clamp(uint64_t v, uint64_t min, uint64_t max)
{
	return v < min ? min : v > max ? max : v;
}

/*
 * Some ten thousand calls to each MiB. A thread that does nothing else makes some two million calls a
 * second, and the reader comes forty times. Tests want it full.
 */
static uint32_t call_ring_bytes(void)
{
	const char *asked = secure_getenv("MALLOCTRACE_EVENTS_PAGES");
	uint64_t pages;

	if (asked && !parse_u64(asked, 1, 4096, &pages))
		return pow2_at_least(pages) * sysconf(_SC_PAGESIZE);
	return 8 * MiB;
}

/*
 * Blocks: five entries of 24 bytes and a word make a bucket of two cache lines;
 * three quarters full, two choices nearly always find room, and the overflow map
 * takes the rest. By default about 1% of the machine's memory; where malloctrace may take but a small part of that
 * (its memory cgroup), about 8% of that part and what does not depend on it: the kernel would kill it for more.
 */
#define CGROUP_SHARE 8
/* Besides the tables: 107 MiB were measured while programs are loaded (6.18), 131 MiB while a report is made in three formats. */
#define OWN_BYTES (160 * MiB)

static int choose(const struct kernel_opts *o, const struct memcg *own, struct table_sizes *ret, struct err *e)
{
	const struct recording *r = &o->recording;
	struct table_sizes s = {};
	long n_cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct sysinfo mem;
	uint64_t ram, usual;

	if (sysinfo(&mem))
		return err_set(e, -errno, "cannot find out how much memory this machine has");
	ram = (uint64_t)mem.totalram * mem.mem_unit;
	usual = MIN(ram / CGROUP_SHARE, own->room_bytes) * CGROUP_SHARE;

	/* what grows is no block */
	s.max_live = recording__is_growth(r) ? 1 : r->max_live ? r->max_live : clamp(usual / 5600, 1u << 16, 1u << 22);
	/*
	 * a stack takes 2 KiB: where any process may come, about 2% of the machine's memory, which is room for two compilers at
	 * a time on a machine of 24 GiB
	 */
	s.max_stacks = r->max_stacks ? r->max_stacks :
		       o->adopt	     ? clamp(MIN(ram / (90 * 1024), own->room_bytes / (22 * 1024)), 1u << 12, 1u << 19) :
				       clamp(usual / (300 * 1024), 1u << 12, 1u << 16);
	if (s.max_stacks > MAX_SITES - 1)
		return err_set(e, -ERANGE, "--max-stacks %llu: at most %u", (unsigned long long)s.max_stacks,
			       MAX_SITES - 1);
	if (s.max_live > UINT32_MAX)
		return err_set(e, -ERANGE, "--max-live %llu: at most %u", (unsigned long long)s.max_live, UINT32_MAX);
	s.n_groups = (s.max_live * 4 / 3 + MT_WAYS * MT_GROUP - 1) / (MT_WAYS * MT_GROUP);
	s.n_over = clamp(s.max_live / 4, 1024, 1u << 24);
	/* those that hold nothing give up their room when there are more than were requested: others come meanwhile */
	s.n_sites = MIN(s.max_stacks + s.max_stacks / 4 + 1, MAX_SITES);
	s.n_index = pow2_at_least(s.n_sites * 4ull);
	/* each site has room for a stack of its own */
	s.n_words = clamp(s.n_sites * (r->depth + 1ull), 1024, UINT32_MAX / 8);
	s.n_procs = clamp(pow2_at_least(o->n_procs ? o->n_procs :
					o->adopt   ? MT_MAX_PROCS :
						     FEW_PROCS),
			  2, MT_MAX_PROCS);
	/* a process has a few threads that allocate, and processes that are not traced may meet the probes, too */
	s.n_threads = o->adopt ? 131072 : 32768;
	s.n_known = o->adopt ? 65536 : s.n_procs;
	s.ring_bytes = o->adopt ? 4 * MiB : MiB / 4;
	s.n_shards = pow2_at_least(clamp(n_cpus, 1, 8));
	s.n_shared = clamp(n_cpus * 4, 16, 4096);
	s.n_scratch = s.n_shared + clamp(usual >> 24, 64, 1024);
	s.calls_bytes = o->calls ? call_ring_bytes() : sysconf(_SC_PAGESIZE);
	s.n_vars = r->sample_bytes ? (s.n_sites + s.n_procs) * 2ull * s.n_shards : 1;
	/* a large C++ program has 500,000 rows: 4 MiB; 8 bytes more for each page of code */
	s.n_unwind_rows = clamp(usual / 8192, 1u << 18, 1u << 22);
	s.n_unwind_pages = s.n_unwind_rows / 8;
	s.n_ages = recording__has_budget(r) ? s.n_sites + s.n_procs : 1;
	s.n_links = r->free_stacks ? MAX(pow2_at_least(s.max_stacks * 4), 64) : 1;
	s.n_rare = r->mode == MT_MODE_FULL && !recording__is_estimated(r) ? (s.n_sites + s.n_procs) * 2 : 1;
	/* sparse mappings have two nodes each, and each process a few of its own */
	s.n_parts = r->mmap ? s.n_over : r->arenas ? MIN(s.n_over, MAX_ARENAS) : 1;
	s.n_nodes = recording__has_mappings(r) ? 2 * s.n_parts + 8 * s.n_procs : 1;
	s.n_mapped = recording__has_mappings(r) ? s.n_procs : 1;
	s.n_map_calls = recording__has_mappings(r) ? s.n_threads : 1;
	s.bytes = (uint64_t)s.n_groups * MT_GROUP * sizeof(struct mt_bucket) + s.n_over * 16ull +
		  (s.n_sites + s.n_procs) *
			  (sizeof(struct mt_site) + s.n_shards * 2ull * sizeof(struct mt_counts)) +
		  s.n_index * 8ull + s.n_words * 8ull +
		  s.n_procs * (sizeof(struct mt_proc) + s.n_shards * 2ull * sizeof(struct mt_hist)) +
		  (s.n_unwind_rows + s.n_unwind_pages) * 8ull + s.n_threads * sizeof(struct mt_thread) +
		  s.ring_bytes + s.calls_bytes + s.n_scratch * sizeof(struct mt_scratch) + s.n_vars * sizeof(struct mt_vars) +
		  s.n_ages * sizeof(struct mt_ages) + s.n_rare * sizeof(struct mt_rare) +
		  (uint64_t)s.n_links * sizeof(struct mt_link) +
		  (s.n_parts + s.n_nodes + s.n_map_calls) * 16ull + s.n_mapped * sizeof(struct mt_mapped);
	if (s.bytes + OWN_BYTES > own->room_bytes)
		return err_set(e, -ERANGE,
			       "tables for %llu blocks and %llu stacks take %llu MiB, and malloctrace itself up to %llu MiB, more than the %llu MiB that it may still take (%s/%s): lower --max-live or --max-stacks, or start it in another cgroup",
			       (unsigned long long)s.max_live, (unsigned long long)s.max_stacks, (unsigned long long)(s.bytes / MiB), OWN_BYTES / MiB,
			       (unsigned long long)(own->room_bytes / MiB), own->dir, own->limit_file);
	if ((uint64_t)s.n_groups * MT_GROUP > UINT32_MAX || s.bytes > ram / 2)
		return err_set(e, -ERANGE,
			       "tables for %llu blocks and %llu stacks take %llu MiB, more than half of this machine's memory: lower --max-live or --max-stacks",
			       (unsigned long long)s.max_live, (unsigned long long)s.max_stacks,
			       (unsigned long long)(s.bytes / MiB));
	*ret = s;
	return 0;
}

int table_sizes__choose(const struct kernel_opts *o, struct table_sizes *ret, struct err *e)
{
	struct memcg own;
	int err;

	memcg__of(getpid(), &own);
	err = choose(o, &own, ret, e);
	memcg__done(&own);
	return err;
}

/* ---- constants */

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

/* ---- --sample: what the sampling programs look up instead of computing it (bpf/sample.bpf.h) */

uint64_t sampler__unit(uint64_t sample_bytes)
{
	return sample_bytes >> 16 ? sample_bytes >> 16 : 1;
}

uint64_t sampler__calls_unit(uint64_t sample_bytes)
{
	return sample_bytes >> 4 ? sample_bytes >> 4 : 1;
}

/* 1/p of a class, with MT_CALLS_SHIFT fractional bits; 0: no size is of that class. */
static uint64_t weight(uint32_t class, uint64_t sample_bytes)
{
	uint32_t shift = class >> MT_WEIGHT_BITS, mantissa = class & ((1u << MT_WEIGHT_BITS) - 1);
	double rounded;

	/* a size that was rounded up to the next power of two has the number of the class above */
	if (shift && !mantissa) {
		shift--;
		mantissa = 1u << MT_WEIGHT_BITS;
	}
	rounded = ldexp(mantissa, (int)shift);
	if (!mantissa || rounded >= ldexp(1, 41))
		return 0;
	/* expm1: of a number near 0 the difference to 1 would be rounded away */
	return (uint64_t)llround(ldexp(-1 / expm1(-rounded / (double)sample_bytes), MT_CALLS_SHIFT));
}

double sampler__weight_of(uint64_t size, uint64_t sample_bytes)
{
	uint32_t bits, shift;

	if (size >= sample_bytes)
		return 1;
	if (size < MT_SAMPLE_LEAST)
		size = MT_SAMPLE_LEAST;
	bits = 64 - (uint32_t)__builtin_clzll(size);
	shift = bits > MT_WEIGHT_BITS ? bits - MT_WEIGHT_BITS : 0;
	return ldexp((double)weight((shift << MT_WEIGHT_BITS) +
						     (uint32_t)((size + (1ull << shift) - 1) >> shift),
					     sample_bytes),
		     -MT_CALLS_SHIFT);
}

uint64_t sampler__calls(uint64_t n)
{
	return (n + (1ull << (MT_CALLS_SHIFT - 1))) >> MT_CALLS_SHIFT;
}

uint64_t sampler__bytes(uint64_t n)
{
	return (n + (1ull << (MT_BYTES_SHIFT - 1))) >> MT_BYTES_SHIFT;
}

#define ROUND(name, shift) c->name = (c->name + (1ull << ((shift) - 1))) >> (shift);

/* lifetime_ns is a sum over whole weights already */
void sampler__round_counts(struct mt_counts *c)
{
	MT_COUNTED(ROUND)
}

void sampler__round_thread(struct mt_thread_counts *c)
{
	MT_COUNTED(ROUND)
}

int sampler__fill(int weights_fd, int logs_fd, uint64_t sample_bytes)
{
	for (uint32_t i = 0; i < MT_N_WEIGHTS; i++) {
		uint64_t w = weight(i, sample_bytes);

		if (bpf_map_update_elem(weights_fd, &i, &w, BPF_ANY))
			return -errno;
	}
	for (uint32_t i = 0; i <= MT_LOG_STEPS; i++) {
		/* with 16 fractional bits */
		uint64_t l = (uint64_t)llround(ldexp(log2(1 + i / (double)MT_LOG_STEPS), 16));

		if (bpf_map_update_elem(logs_fd, &i, &l, BPF_ANY))
			return -errno;
	}
	return 0;
}
