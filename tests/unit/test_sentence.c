// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Programs whose truth is known, played second by second → the sentence that answers first. None may be better news
 * than what the program did.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/group.h"
#include "model/model.h"
#include "model/trends.h"
#include "present/sentence.h"
#include "util/util.h"

#define S 1000000000ull
#define START (1000 * S)
#define DAY (86400 * S)
#define KIB 1024ull
#define MIB (1024 * KIB)
#define MAX_SITES 600
#define FIRST_RSS (100 * MIB)
#define FIRST_FILES (80 * MIB)
#define FIRST_TABLES (200 * KIB)

static void locate(uint32_t proc, uint64_t addr, uint64_t t_ns, struct address *ret, void *arg)
{
	*ret = (struct address){ .offset = addr };
}

static const char *function(uint32_t func, void *arg)
{
	return "malloc";
}

static void thread_comm(pid_t pid, pid_t tid, char buf[static 32], void *arg)
{
	buf[0] = '\0';
}

static const struct model_calls calls = { locate, function, thread_comm, NULL, NULL };

struct play {
	struct model *m;
	struct snap_site sites[MAX_SITES];
	struct cut_proc proc;
	struct cut cut;
	uint64_t rss, swap, hugetlb, files, tables;
	int t;
};

static void allocate(struct play *p, uint32_t site, uint64_t calls, uint64_t bytes)
{
	struct snap_site *at = &p->sites[site];

	if (!at->number) {
		*at = (struct snap_site){ .number = site + 1, .proc = 1, .first_ns = p->cut.now_ns, .oldest_born_ns = p->cut.now_ns };
		p->cut.n_sites = MAX(p->cut.n_sites, site + 1);
	}
	at->c.alloc_calls += calls;
	at->c.alloc_bytes += bytes;
	at->last_ns = p->cut.now_ns;
	/* what is allocated is touched */
	p->rss += bytes;
}

static void release(struct play *p, uint32_t site, uint64_t calls, uint64_t bytes)
{
	p->sites[site].c.free_calls += calls;
	p->sites[site].c.free_bytes += bytes;
	p->sites[site].lifetime_sum_ns += calls * 500000000;
	p->rss -= bytes;
}

static void come_back_from_swap(struct play *p);

/* The sentence after so many seconds, about a snapshot that is changed first (NULL: as it is); the caller's. */
static bool in_one_row;	/* the sentence is of all stacks as one */

static char *sentence(void (*second)(struct play *p), int seconds, void (*change)(struct snapshot *s))
{
	struct snapshot_info info = { .base.version = "v", .base.kernel = "k", .base.arch = "a", .base.recording = RECORDING_PRESET, .base.observed_share = 1,
				      .base.duration_ns = (uint64_t)seconds * S };
	struct play *p = calloc(1, sizeof(*p));
	struct snapshot *s;
	char *ret;

	cr_assert_not_null(p);
	p->m = model__new();
	p->rss = FIRST_RSS;
	p->files = FIRST_FILES;
	p->tables = FIRST_TABLES;
	p->swap = second == come_back_from_swap ? 80 * MIB : 0;
	model__begin(p->m, START, 0, 0);
	model__add_life(p->m, &(struct snap_process){ .proc = 1, .pid = 10, .comm = "shop", .age_at_attach_ns = DAY, .rss_bytes = FIRST_RSS,
						     .swap_bytes = p->swap, .file_bytes = FIRST_FILES, .table_bytes = FIRST_TABLES });
	p->proc = (struct cut_proc){ .proc = 1, .pid = 10 };
	p->cut = (struct cut){ .now_ns = START, .sites = p->sites, .procs = &p->proc, .n_procs = 1 };
	for (p->t = 0; p->t < seconds; p->t++) {
		second(p);
		p->cut.now_ns += S;
		model__set_rss(p->m, 1, p->rss, p->swap, p->hugetlb);
		model__set_files_and_tables(p->m, 1, p->files, p->tables);
		model__note(p->m, &p->cut);
	}
	s = model__snapshot(p->m, &p->cut, &info, &calls);
	cr_assert_not_null(s);
	if (change)
		change(s);
	if (in_one_row) {
		uint32_t row_of[MAX_SITES] = {};
		struct snapshot *rows = snapshot__merge_sites(s, row_of, 1, 0);

		ret = sentence__of(rows, NULL, 40);
		snapshot__free(rows);
	} else {
		ret = sentence__of(s, NULL, 40);
	}
	snapshot__free(s);
	model__free(p->m);
	free(p);
	return ret;
}

/* ---- what programs do in a second */

/* Each block has a stack of its own. */
static void scatter(struct play *p)
{
	for (uint32_t i = 0; i < 4; i++)
		allocate(p, (uint32_t)p->t * 4 + i, 1, 10000);
}

/* It maps memory past malloc. */
static void map(struct play *p)
{
	if (!p->t)
		allocate(p, 0, 1, MIB);
	p->rss += 2560 * KIB;
}

/* What it maps goes to swap as soon as it was touched, as under a memory limit: RSS does not move. */
static void map_into_swap(struct play *p)
{
	if (!p->t)
		allocate(p, 0, 1, MIB);
	p->swap += 2560 * KIB;
}

/* Pages of hugetlbfs are no part of RSS. */
static void map_huge(struct play *p)
{
	if (!p->t)
		allocate(p, 0, 1, MIB);
	p->hugetlb += 2 * MIB;
}

/* As many pages of a file go: RSS does not move. */
static void map_for_files(struct play *p)
{
	if (!p->t)
		allocate(p, 0, 1, MIB);
	p->files -= MIB;
}

/* The same at first only. */
static void map_for_files_at_first(struct play *p)
{
	if (p->t < 10)
		map_for_files(p);
}

/* Pages of files come back that had gone: anonymous memory stays as it is. */
static void files_go(struct play *p)
{
	if (!p->t)
		allocate(p, 0, 1, MIB);
	p->files -= MIB;
	p->rss -= MIB;
}

/* It reads pages of zeros, which are in no RSS. */
static void read_zeros(struct play *p)
{
	if (!p->t)
		allocate(p, 0, 1, MIB);
	p->tables += 3 * MIB;
}

static void read_zeros_at_first(struct play *p)
{
	if (p->t < 10)
		read_zeros(p);
}

/* What was in swap is read again: nothing grows. */
static void come_back_from_swap(struct play *p)
{
	if (p->t < 40) {
		p->swap -= 2 * MIB;
		p->rss += 2 * MIB;
	}
}

/* In steps: three in a minute. */
static void map_now_and_then(struct play *p)
{
	if (!p->t)
		allocate(p, 0, 1, MIB);
	if (p->t % 20 == 10)
		p->rss += 20 * MIB;
}

/* A page every other second, which is less than the kernel's counters are off by. */
static void creep(struct play *p)
{
	if (!p->t)
		allocate(p, 0, 1, MIB);
	p->rss += p->t % 2 ? 4 * KIB : 0;
}

/* The same, 128 KiB a second, and a large buffer for a moment early on. */
static void map_after_a_peak(struct play *p)
{
	p->rss += 128 * KIB;
	p->rss += p->t == 5 ? 32 * MIB : 0;
	p->rss -= p->t == 7 ? 32 * MIB : 0;
}

/* Or one again and again, in half of the seconds. */
static void map_beside_a_buffer(struct play *p)
{
	p->rss += 128 * KIB;
	if (p->t % 4 == 0)
		p->rss += 8 * MIB;
	else if (p->t % 4 == 2)
		p->rss -= 8 * MIB;
}

/* Or after a cache was dropped. */
static void map_after_a_drop(struct play *p)
{
	p->rss += 128 * KIB;
	p->rss -= p->t == 5 ? FIRST_RSS / 2 : 0;
}

static void map_after_a_late_drop(struct play *p)
{
	p->rss += 128 * KIB;
	p->rss -= p->t == 30 ? FIRST_RSS / 2 : 0;
}

/* A gigabyte a day. */
static void map_slowly(struct play *p)
{
	p->rss += 12 * KIB;
}

static void drop(struct play *p)
{
	p->rss -= p->t == 5 ? FIRST_RSS / 2 : 0;
}

/* Below a cache of which more or less is there, less and less of late. */
static void map_below_a_cache(struct play *p)
{
	static const uint64_t held[] = { 20, 3, 24, 8, 22, 1, 18, 9, 19, 2, 15, 6, 17, 4, 12, 7, 14, 3, 10, 5, 12, 2, 9, 8 };
	uint64_t n = held[p->t % ARRAY_SIZE(held)];

	p->rss += 300 * KIB;
	if (p->t)
		release(p, 0, held[(p->t - 1) % ARRAY_SIZE(held)], held[(p->t - 1) % ARRAY_SIZE(held)] * MIB);
	allocate(p, 0, n, n * MIB);
}

/* A large block every six seconds, which nobody touches. */
static void keep_untouched(struct play *p)
{
	if (p->t % 6 == 3) {
		allocate(p, 0, 1, 4 * MIB);
		p->rss -= 4 * MIB;
	}
}

/* Much is kept, and by the same stack a little is lost all the time. */
static void trickle(struct play *p)
{
	if (!p->t)
		allocate(p, 0, 95, 95 * MIB);
	allocate(p, 0, 33, 33 * 400);
}

/* The same by another stack. */
static void trickle_beside(struct play *p)
{
	if (!p->t)
		allocate(p, 0, 95, 95 * MIB);
	allocate(p, 1, 33, 33 * 400);
}

static void calm(struct play *p)
{
	if (!p->t)
		allocate(p, 0, 95, 95 * MIB);
	allocate(p, 1, 100, 100 * KIB);
	release(p, 1, 100, 100 * KIB);
	/* what was there before is touched */
	if (!p->t)
		p->rss -= 95 * MIB;
}

/* Once, late, and by less than what counts as growth. */
static void step_late(struct play *p)
{
	calm(p);
	p->rss += p->t == 80 ? 900 * KIB : 0;
}

static void creep_when_calm(struct play *p)
{
	calm(p);
	p->rss += p->t % 2 ? 4 * KIB : 0;
}

static void step_early(struct play *p)
{
	calm(p);
	p->rss += p->t == 10 ? 900 * KIB : 0;
}

/* Requests that live for two seconds, more or fewer of them; one in fifty is kept. What is free is used again. */
static void tide(struct play *p)
{
	static const uint64_t rate[] = { 100, 115, 130, 140, 148, 150, 148, 140, 130, 115, 100, 85, 70, 60, 52, 50, 52, 60, 70 };
	uint64_t n = rate[p->t % ARRAY_SIZE(rate)] * 10, before = p->t > 1 ? rate[(p->t - 2) % ARRAY_SIZE(rate)] * 10 : 0;

	allocate(p, 0, n, n * 2000);
	release(p, 0, before - before / 50, (before - before / 50) * 2000);
	p->rss = FIRST_RSS;
}

static void warm_up(struct play *p)
{
	if (p->t < 10)
		allocate(p, 0, 10, 10 * MIB);
}

static void saw(struct play *p)
{
	if (p->t % 10 == 9)
		release(p, 0, 9, 9 * MIB);
	else
		allocate(p, 0, 1, MIB);
}

static void drain(struct play *p)
{
	if (!p->t)
		allocate(p, 0, 1000, 100 * MIB);
	else if (p->t < 100)
		release(p, 0, 10, MIB);
}

static void leak_beside_a_faster_cache(struct play *p)
{
	allocate(p, 0, 10, 100 * KIB);
	allocate(p, 1, 100, 800 * KIB);
	if (p->t <= 20)
		return;
	release(p, 1, 40, 320 * KIB);
	p->sites[1].lifetime_sum_ns += 40 * 20 * S;
}

static const struct snap_root cache_root = { .kind = ROOT_GLOBAL, .name = "cache[abi:cxx11]" };
static const struct site_look lost_look = { .proc = 1, .scans = 3 }, held_look = { .proc = 1, .scans = 3, .held = &cache_root };

/* A search at this moment: no pointer leads to so many of a site's blocks. */
static void search(struct play *p, uint32_t site, uint64_t lost_blocks, uint64_t lost_bytes)
{
	struct snap_site *at = &p->sites[site];

	at->look = lost_blocks ? &lost_look : &held_look;
	at->looked_blocks = at->c.alloc_calls - at->c.free_calls;
	at->unreached_blocks = lost_blocks;
	at->unreached_bytes = lost_bytes;
}

/* One object of each request is lost; a cache that is larger and grows faster keeps another. */
static void lose_and_remember(struct play *p)
{
	allocate(p, 0, 100, 10 * KIB);
	allocate(p, 1, 200, 80 * KIB);
	search(p, 0, p->sites[0].c.alloc_calls, p->sites[0].c.alloc_bytes);
	search(p, 1, 0, 0);
}

/* Some of the lost site's blocks are freed, some are still held. */
static void lose_some(struct play *p)
{
	allocate(p, 0, 100, 10 * KIB);
	if (p->t)
		release(p, 0, 20, 2 * KIB);
	search(p, 0, 70 * (uint64_t)(p->t + 1), 7 * KIB * (uint64_t)(p->t + 1));
}

/* What is lost is less than a few percent, both of live memory and of its growth. */
static void lose_little(struct play *p)
{
	allocate(p, 0, 1, 100);
	allocate(p, 1, 200, 80 * KIB);
	search(p, 0, p->sites[0].c.alloc_calls, p->sites[0].c.alloc_bytes);
	search(p, 1, 0, 0);
}

static const struct {
	const char *name;
	void (*second)(struct play *p);
	int seconds;
	const char *begins, *has;
} programs[] = {
	{ "a lost object beside a cache", lose_and_remember, 30,
	  "Leak: [no stack]: none of its 3,000 blocks was freed, no pointer leads to them; +600.0 KiB/min.\n",
	  "\nAlso growing, and held by cache: [no stack], +4.7 MiB/min." },
	{ "the same, before growth is known", lose_and_remember, 3, "Leak: [no stack]: none of its 300 blocks was freed, no pointer leads to them", "" },
	{ "a site that loses some", lose_some, 30, "Leak: [no stack]: 2,420 of its 3,000 blocks are live, no pointer leads to 2,100 of them; +480.0 KiB/min", "" },
	{ "little is lost", lose_little, 30, "Growing: [no stack] holds 99.9% of live memory", "1 site leaks" },
	{ "blocks with stacks of their own", scatter, 130, "Leak: shop (10): ", "RSS +5.0 MiB in 2m10s; no single site grows" },
	{ "the same, sooner", scatter, 30, "Leak: shop (10): ", "no single site grows" },
	{ "mappings of its own", map, 30, "Growing: RSS +76.0 MiB in 30.0s; live memory explains 1.0 MiB of it", "--mode growth" },
	{ "mappings that go to swap", map_into_swap, 30, "Growing: RSS and swap +76.0 MiB in 30.0s; live memory explains 1.0 MiB of it; its memory in swap grew by 75.0 MiB: --mode growth shows", "" },
	{ "mappings of huge pages", map_huge, 30, "Growing: RSS and huge pages +61.0 MiB in 30.0s; live memory explains 1.0 MiB of it; its memory in huge pages grew by 60.0 MiB: --mmap shows", "" },
	{ "what was in swap comes back", come_back_from_swap, 90, "Nothing grows: live memory 0 B, RSS and swap unchanged in 1m30s", "" },
	{ "mappings in steps", map_now_and_then, 60, "Growing: RSS +61.0 MiB in 1m00s; live memory explains 1.0 MiB of it", "--mode growth" },
	{ "a little leak of a large holder", trickle, 130, "Leak: [no stack] holds 100% of live memory: 0 of 4,385 freed", "RSS +96.6 MiB" },
	{ "the same, sooner", trickle, 30, "Leak: [no stack] holds 100% of live memory", "RSS +95.4 MiB" },
	{ "a little leak beside a large holder", trickle_beside, 130, "Leak: [no stack] ", "0 of 4,290 freed" },
	{ "pages that come slowly", creep, 40, "Too early to tell: live memory 1.0 MiB, RSS +1.1 MiB in 40.0s", "" },
	{ "the same in a short trace", creep_when_calm, 12, "Too early to tell: ", "" },
	{ "a late step", step_late, 90, "Not clear whether memory grows: RSS rose, and may still rise; live memory 95.0 MiB, RSS +900.0 KiB in ", "" },
	{ "an early step", step_early, 90, "Nothing grows any more: live memory 95.0 MiB, RSS +900.0 KiB in ", "none of it in the last " },
	{ "the same, later", creep, 90, "Not clear whether memory grows: RSS rose, and may still rise", "" },
	{ "mappings after a peak", map_after_a_peak, 30, "Growing: RSS +3.8 MiB in 30.0s", "" },
	{ "mappings below a cache", map_below_a_cache, 24, "Too early to tell: ", "" },
	{ "mappings beside a buffer", map_beside_a_buffer, 40, "Growing: RSS +", "" },
	{ "mappings after a drop", map_after_a_drop, 50, "Growing: shop (10): RSS rises by 12", ", after it fell (-43.8 MiB in 50.0s)" },
	{ "the same, sooner", map_after_a_drop, 18, "Too early to tell: live memory 0 B, RSS -", "" },
	{ "mappings after a late drop", map_after_a_late_drop, 90, "Not clear whether memory grows: RSS fell, and rises again; ", "" },
	{ "a drop", drop, 90, "Nothing grows: live memory 0 B, RSS -50.0 MiB in 1m30s", "" },
	{ "mappings of a few pages", map_slowly, 4, "Too early to tell: ", "" },
	{ "the same, later", map_slowly, 20, "Too early to tell: ", "" },
	{ "the same, much later", map_slowly, 70, "Growing: RSS +", "" },
	{ "large blocks that nobody touches", keep_untouched, 14, "Too early to tell: live memory 8.0 MiB, RSS unchanged in 14.0s", "" },
	{ "nothing", calm, 60, "Nothing grows: live memory 95.0 MiB, RSS unchanged in 1m00s", "" },
	{ "a start", warm_up, 120, "Nothing grows any more: live memory 100.0 MiB, RSS +100.0 MiB in 2m00s, none of it in the last 1m48s", "" },
	{ "a start that goes on", warm_up, 8, "Perhaps a leak: ", "RSS +80.0 MiB in 8.0s" },
	{ "a pool that is filled and emptied", saw, 125, "Nothing grows: live memory 5.0 MiB, RSS +5.0 MiB in 2m05s, as high as it was before", "" },
	{ "a queue that drains", drain, 90, "Nothing grows", "" },
	{ "the first seconds", scatter, 3, "Too early to tell: live memory 117.2 KiB, RSS +117.2 KiB in 3.0s; trace longer", "" },
	{ "a leak beside what grows faster", leak_beside_a_faster_cache, 90, "Growing: [no stack] ", "1 site leaks" },
};

Test(sentence, is_never_better_news_than_what_the_program_did)
{
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		_cleanup_free_ char *got = sentence(programs[i].second, programs[i].seconds, NULL);

		cr_expect(got && !strncmp(got, programs[i].begins, strlen(programs[i].begins)) && strstr(got, programs[i].has), "%s, %d s: wanted '%s...%s', got '%s'",
			  programs[i].name, programs[i].seconds, programs[i].begins, programs[i].has, got);
	}
}

/* ---- an all-clear asks for every figure */

#define TINY (10 * KIB)

static void calm_beside_a_tiny_site(struct play *p)
{
	calm(p);
	if (!p->t)
		allocate(p, 2, 10, TINY);
	if (!p->t)
		p->rss -= TINY;
}

static struct snap_process *process(struct snapshot *s)
{
	return (struct snap_process *)s->processes;
}

static void tiny_leak(struct snapshot *s)
{
	for (size_t i = 0; i < s->n_sites; i++)
		if (s->sites[i].c.live_bytes == TINY)
			s->sites[i].trend = (struct trend){ .verdict = "leak", .why = "0 of 10 freed" };
}

static void map_beside_a_tiny_site(struct play *p)
{
	map(p);
	if (!p->t)
		allocate(p, 2, 10, TINY);
}

/* By an allocator whose heap can be read, or not. */
static void heap_grew(struct snapshot *s)
{
	process(s)->memory = (struct snap_memory){ .known = true, .grown_known = true, .heap_grown = 70 * MIB, .large_grown = MIB, .sized_blocks = 1 };
}

static void other_heap_grew(struct snapshot *s)
{
	heap_grew(s);
	process(s)->memory.sized_blocks = 0;
}

static void anonymous_grew(struct snapshot *s)
{
	process(s)->memory = (struct snap_memory){ .known = true, .grown_known = true, .large_grown = 70 * MIB };
}

static void shared_memory_grew(struct snapshot *s)
{
	process(s)->memory = (struct snap_memory){ .known = true, .grown_known = true, .file_grown = 71 * MIB, .shmem_grown = 70 * MIB };
}

static void all_steady(struct snapshot *s)
{
	struct snap_site *sites = (struct snap_site *)s->sites;

	process(s)->trend = (struct trend){ .verdict = "steady" };
	for (size_t i = 0; i < s->n_sites; i++)
		sites[i].trend = (struct trend){ .verdict = "steady" };
}

/* It keeps blocks, and they may take the place of older ones. */
static void unsettled(struct snapshot *s)
{
	for (size_t i = 0; i < s->n_sites; i++)
		if (s->sites[i].c.live_bytes == TINY) {
			struct snap_site *site = (struct snap_site *)&s->sites[i];

			site->c.live_bytes = 100 * TINY;
			site->trend = (struct trend){ .known = true, .growth_bytes_per_s = 24 * KIB };
		}
}

static void no_verdict(struct snapshot *s)
{
	tiny_leak(s);
	process(s)->trend = (struct trend){};
}

static void new_process(struct snapshot *s)
{
	tiny_leak(s);
	process(s)->trend.verdict = "new";
}

/* Too few points to judge it. */
static void rss_rose(struct snapshot *s)
{
	tiny_leak(s);
	process(s)->rss_at_attach_bytes -= 20 * MIB;
	process(s)->n_timeline = 3;
}

static void rss_rose_just_now(struct snapshot *s)
{
	rss_rose(s);
	s->duration_ns = 3 * S;
}

static void rss_not_read(struct snapshot *s)
{
	tiny_leak(s);
	process(s)->rss_at_attach_bytes = 0;
}

static void losses(struct snapshot *s)
{
	tiny_leak(s);
	s->losses_total = 1;
}

static void part_of_the_blocks(struct snapshot *s)
{
	tiny_leak(s);
	s->recording.min_size = 100;
}

static void part_of_the_processes(struct snapshot *s)
{
	tiny_leak(s);
	s->n_selected = 2;
	s->n_watched = 1;
}

static void part_of_live_memory(struct snapshot *s)
{
	tiny_leak(s);
	for (size_t i = 0; i < s->n_sites; i++)
		if (s->sites[i].c.live_bytes == 95 * MIB)
			s->sites[i].trend = (struct trend){};
}

static void row_of_several(struct snapshot *s)
{
	process(s)->n_members = 2;
	process(s)->trend = (struct trend){ .verdict = "steady", .why = "it is" };
}

static void row_of_several_grows(struct snapshot *s)
{
	row_of_several(s);
	process(s)->trend = (struct trend){ .verdict = "growing", .why = "in one of 2: RSS +76.0 MiB in 30.0s; live memory 1.0 MiB" };
	((struct snap_site *)s->sites)->trend = (struct trend){ .verdict = "steady", .why = "it is" };
}

static void none_is_old(struct snapshot *s)
{
	s->recording.older_ns = 3600 * S;
}

static void more_processes(struct snapshot *s, size_t n)
{
	struct snap_process *v = snapshot__alloc(s, n, sizeof(*v));

	for (size_t i = 0; i < n; i++)
		v[i] = s->processes[0];
	s->processes = v;
	s->n_processes = n;
}

/* None of them by a notable amount. */
static void rss_of_each_rose_a_little(struct snapshot *s)
{
	more_processes(s, 4);
	for (size_t i = 0; i < 4; i++)
		process(s)[i].rss_at_attach_bytes -= 900 * KIB;
}

static void another_leaked_and_ended(struct snapshot *s)
{
	tiny_leak(s);
	more_processes(s, 2);
	process(s)[1].ended = true;
	process(s)[1].pid = 11;
	process(s)[1].trend = (struct trend){ .verdict = "leak", .why = "all of it" };
}

static void ended(struct snapshot *s)
{
	process(s)->ended = true;
}

/* --mode leak, and its heap was not read: what it freed is not known. */
static void ended_at_once(struct snapshot *s)
{
	ended(s);
	process(s)->age_at_attach_ns = 0;
	process(s)->n_timeline = 1;
}

static void ended_unread(struct snapshot *s)
{
	ended(s);
	s->reading.n_unread = 1;
	s->reading.unsure_blocks = s->totals.live_blocks;
}

/* From its first instruction on. */
static void started_and_ended(struct snapshot *s)
{
	ended(s);
	process(s)->age_at_attach_ns = 0;
}

/* Its last calls of free came after the last point of the timeline. */
static void freed_but(struct snapshot *s, uint64_t kept)
{
	ended(s);
	s->n_sites = kept ? 1 : 0;
	s->totals.live_bytes = process(s)->c.live_bytes = kept;
	if (!kept)
		s->totals.live_blocks = process(s)->c.live_blocks = 0;
	((struct snap_site *)s->sites)->c.live_bytes = kept;
	((struct snap_site *)s->sites)->trend = (struct trend){ .verdict = "draining", .why = "it is" };
	process(s)->trend = (struct trend){};
	trends__processes(&(struct snapshot_info){}, s);
}

static void freed_and_ended(struct snapshot *s)
{
	freed_but(s, 0);
}

static void two_freed_and_ended(struct snapshot *s)
{
	freed_and_ended(s);
	more_processes(s, 2);
}

static void two_ended(struct snapshot *s)
{
	ended(s);
	more_processes(s, 2);
}

static void freed_most_and_ended(struct snapshot *s)
{
	freed_but(s, KIB);
}

static void all_lost(struct snapshot *s)
{
	losses(s);
	s->n_sites = 0;
	s->totals.live_bytes = s->totals.live_blocks = 0;
}

static void all_freed(struct snapshot *s)
{
	s->n_sites = 0;
	s->totals.live_bytes = s->totals.live_blocks = 0;
}

/* malloc(0) */
static void blocks_of_0_bytes(struct snapshot *s)
{
	struct snap_site *site = (struct snap_site *)s->sites;

	s->n_sites = 1;
	s->totals.live_bytes = process(s)->c.live_bytes = site->c.live_bytes = 0;
	s->totals.live_blocks = process(s)->c.live_blocks = site->c.live_blocks = 5000;
	site->trend = process(s)->trend = (struct trend){};
}

static void blocks_of_0_bytes_suspect(struct snapshot *s)
{
	blocks_of_0_bytes(s);
	((struct snap_site *)s->sites)->trend = (struct trend){ .verdict = "suspect", .why = "0 of 5,000 freed" };
}

static void ended_with_blocks_of_0_bytes(struct snapshot *s)
{
	blocks_of_0_bytes(s);
	ended(s);
}

static void all_freed_just_now(struct snapshot *s)
{
	all_freed(s);
	process(s)->trend = (struct trend){};
}

static void part_was_freed(struct snapshot *s)
{
	all_freed(s);
	s->recording.min_size = 100;
}

static void part_was_freed_and_ended(struct snapshot *s)
{
	freed_and_ended(s);
	s->recording.min_size = 100;
}

static void none_of_a_part(struct snapshot *s)
{
	all_freed(s);
	s->totals.alloc_calls = 0;
	s->n_selected = 2;
	s->n_watched = 1;
}

static void no_call_was_seen(struct snapshot *s)
{
	all_freed(s);
	s->totals.alloc_calls = 0;
	process(s)->blind = (struct snap_blind){ .is = true, .cpu_ns = SECOND_NS };
}

static void no_process(struct snapshot *s)
{
	all_freed(s);
	s->totals.alloc_calls = 0;
	s->n_processes = 0;
	s->n_left_out = 3;
}

/* As a profile may have it that somebody sent. */
static void at_one_time(struct snapshot *s)
{
	struct snap_point *v = snapshot__alloc(s, 2, sizeof(*v));

	v[0].t_ns = v[1].t_ns = INT64_MAX;
	process(s)->timeline = v;
	process(s)->n_timeline = 2;
}

static void only_ended_hold(struct snapshot *s)
{
	all_freed(s);
	s->totals.live_bytes = 5 * MIB;
	more_processes(s, 2);
	process(s)[0].c.live_bytes = 0;
	process(s)[1].ended = true;
	process(s)[1].pid = 11;
	process(s)[1].c.live_bytes = 5 * MIB;
	process(s)[1].trend = (struct trend){};
}

static void some_not_followed(struct snapshot *s)
{
	s->n_unfollowed = 1;
}

static void some_left_out(struct snapshot *s)
{
	s->n_left_out = 3;
}

#define UNCLEAR "Not clear whether memory grows: "

static const struct {
	const char *name;
	void (*second)(struct play *p);
	int seconds;
	void (*change)(struct snapshot *s);
	const char *begins, *has;
} all_clears[] = {
	{ "a tiny site", calm_beside_a_tiny_site, 60, tiny_leak, "Nothing grows except a small site that leaks, with <0.1% of live memory; live memory 95.0 MiB, RSS unchanged in 1m00s", "" },
	{ "growth beside a tiny site", map_beside_a_tiny_site, 30, tiny_leak, "Growing: RSS +76.0 MiB in 30.0s; ", "; in live memory a small site leaks" },
	{ "files go", map_for_files, 30, NULL, "Growing: RSS without files +31.0 MiB in 30.0s (RSS +1.0 MiB); live memory explains 1.0 MiB of it; ", "" },
	{ "files go, in a row of several", map_for_files, 60, row_of_several, UNCLEAR "RSS without files +61.0 MiB in 1m00s (RSS +1.0 MiB), and may still rise; ", "" },
	{ "files went", map_for_files_at_first, 60, NULL, "Nothing grows any more: live memory 1.0 MiB, RSS +1.0 MiB in 1m00s", "" },
	{ "only files go", files_go, 60, NULL, "Nothing grows: live memory 1.0 MiB, RSS -59.0 MiB in 1m00s", "" },
	{ "page tables grow", read_zeros, 30, NULL, "Growing: page tables +90.0 MiB in 30.0s (RSS +1.0 MiB); live memory explains 0 B of it; --mode growth ", "" },
	{ "page tables grew", read_zeros_at_first, 60, NULL, "Nothing grows any more: live memory 1.0 MiB, RSS +1.0 MiB in 1m00s", "" },
	{ "one of a row grows, not by its steady site", map, 30, row_of_several_grows,
	  "Growing: shop (10): in one of 2: RSS +76.0 MiB in 30.0s; live memory 1.0 MiB; no single site grows", "" },
	{ "no block of the site that leaks is so old", trickle, 130, none_is_old, "Leak: shop (10): 1 site leaks", "; no site shown grows" },
	{ "the heap grew", map, 30, heap_grew, "Growing: RSS +76.0 MiB in 30.0s; live memory explains 1.0 MiB of it; "
	  "the heap grew by 70.0 MiB: malloctrace heap -p 10 shows how much of it is free", "" },
	{ "a heap grew that nobody can read", map, 30, other_heap_grew, "Growing: RSS +76.0 MiB in 30.0s; live memory explains 1.0 MiB of it; "
	  "the heap grew by 70.0 MiB: --mode growth shows which code touches it", "" },
	{ "mappings grew", map, 30, anonymous_grew, "Growing: RSS +76.0 MiB in 30.0s; live memory explains 1.0 MiB of it; "
	  "anonymous memory outside of the heap grew by 70.0 MiB: --mmap shows which code maps it", "" },
	{ "shared memory grew", map, 30, shared_memory_grew, "Growing: RSS +76.0 MiB in 30.0s; live memory explains 1.0 MiB of it; "
	  "shared memory grew by 70.0 MiB: --mode growth shows which code touches it", "" },
	{ "a site has no verdict", calm_beside_a_tiny_site, 60, unsettled, UNCLEAR "[no stack] has no verdict yet, +1.4 MiB/min; ", "live memory 95.0 MiB" },
	{ "a floor that rises", tide, 60, all_steady, UNCLEAR, "live memory rose in the second half of the trace" },
	{ "no verdict", calm_beside_a_tiny_site, 60, no_verdict, UNCLEAR "the sites are steady, ", "; a small site leaks" },
	{ "a new process", calm_beside_a_tiny_site, 60, new_process, UNCLEAR "the sites are steady, ", "; a small site leaks" },
	{ "RSS rose", calm_beside_a_tiny_site, 60, rss_rose, UNCLEAR "RSS rose, and may still rise; live memory 95.0 MiB, RSS +20.0 MiB in ", "; a small site leaks" },
	{ "no process", calm, 60, no_process, "No process was traced: ", "; 3 could not be inspected" },
	{ "points of one time", calm, 60, at_one_time, "", "" },
	{ "only ended processes hold memory", calm, 90, only_ended_hold, "The running processes hold no live memory", "" },
	{ "a child that was not traced", calm, 90, some_not_followed, "Nothing grows: ", "; 1 child process not traced" },
	{ "some left out", calm, 90, some_left_out, "Nothing grows: ", "; 3 processes could not be inspected" },
	{ "RSS rose just now", calm_beside_a_tiny_site, 60, rss_rose_just_now, "Too early to tell: ", "; a small site leaks; trace longer" },
	{ "RSS was not read", calm_beside_a_tiny_site, 60, rss_not_read, UNCLEAR "RSS was not read; ", "; a small site leaks" },
	{ "losses", calm_beside_a_tiny_site, 60, losses, UNCLEAR "the trace has losses; ", "; a small site leaks" },
	{ "part of the blocks", calm_beside_a_tiny_site, 60, part_of_the_blocks, UNCLEAR "not all blocks were recorded; ", "; a small site leaks" },
	{ "part of the processes", calm_beside_a_tiny_site, 60, part_of_the_processes, UNCLEAR "not all processes were watched; ", "; a small site leaks" },
	{ "part of live memory", calm_beside_a_tiny_site, 60, part_of_live_memory, UNCLEAR "100% of live memory is not known to be steady; ", "; a small site leaks" },
	{ "several processes in a row, RSS rises", map, 60, row_of_several, UNCLEAR "RSS rose, and may still rise; ", "RSS +151.0 MiB in 1m00s" },
	{ "several processes in a row, RSS rose", warm_up, 120, row_of_several, "Nothing grows any more: live memory 100.0 MiB, RSS +100.0 MiB in 2m00s", "" },
	{ "many that rise a little", calm, 60, rss_of_each_rose_a_little, UNCLEAR "RSS rose, and may still rise; ", "RSS +3.5 MiB in 1m00s" },
	{ "an ended process", calm_beside_a_tiny_site, 60, another_leaked_and_ended, "Leak: shop (11): all of it", "" },
	{ "it ended unread", scatter, 2, ended_unread, "Too short to tell: ended after 2.0s of tracing, live memory ", "" },
	{ "it started, mapped its libraries and ended", map, 4, started_and_ended, "Not freed at exit: 1.0 MiB in 1 block", "" },
	{ "it grew until it ended", scatter, 130, ended, "Leak: shop (10): ", "RSS +5.0 MiB in 2m10s; no single site grows" },
	{ "it started and ended", warm_up, 8, ended, "Perhaps a leak: [no stack] holds 100% of live memory: ", "RSS +80.0 MiB in 8.0s" },
	{ "it mapped memory until it ended", map, 30, ended, "Grew before it ended: RSS +76.0 MiB in 30.0s; live memory explains 1.0 MiB of it", "--mode growth" },
	{ "it mapped memory, freed its blocks and ended", map, 30, freed_and_ended, "Grew before it ended: RSS +76.0 MiB in 30.0s; live memory explains 1.0 MiB of it", "--mode growth" },
	{ "it freed all and ended", warm_up, 8, freed_and_ended, "The process freed all live memory before it ended: live memory 0 B, RSS +80.0 MiB in 8.0s", "" },
	{ "two freed all and ended", warm_up, 8, two_freed_and_ended, "The processes freed all live memory before they ended: live memory 0 B, RSS +160.0 MiB in 8.0s", "" },
	{ "it freed most and ended", warm_up, 8, freed_most_and_ended, "Not freed at exit: 1.0 KiB in 80 blocks", "; RSS +80.0 MiB in 8.0s" },
	{ "two ended", scatter, 2, two_ended, "Not freed at exit: 78.1 KiB in 8 blocks of 2 processes", "" },
	{ "nothing is live", calm, 60, all_freed, "Nothing grows: live memory 0 B, RSS unchanged in 1m00s", "" },
	{ "nothing is live, no verdict", calm, 60, all_freed_just_now, "Everything allocated while traced was freed: live memory 0 B", "" },
	{ "blocks of 0 bytes are live", calm, 6, blocks_of_0_bytes, "Too early to tell: live memory 0 B in 5,000 blocks, RSS unchanged in 6.0s", "" },
	{ "blocks of 0 bytes are live, no verdict", calm, 60, blocks_of_0_bytes, UNCLEAR "100% of live memory is not known to be steady; live memory 0 B in 5,000 blocks", "" },
	{ "blocks of 0 bytes are suspect", calm, 60, blocks_of_0_bytes_suspect, "Perhaps a leak: ", " holds 100% of the blocks of live memory: 0 of 5,000 freed" },
	{ "it ended with blocks of 0 bytes", scatter, 2, ended_with_blocks_of_0_bytes, "Not freed at exit: 0 B in 5,000 blocks, 0 B of it in 5,000 blocks of ", "" },
	{ "nothing of a part is live", calm, 60, part_was_freed, "Everything recorded was freed: live memory 0 B", "" },
	{ "nothing of a part is live, it ended", warm_up, 8, part_was_freed_and_ended, "Everything recorded was freed: live memory 0 B, RSS +80.0 MiB", "" },
	{ "nothing of a part", calm, 60, none_of_a_part, "Nothing was recorded: live memory 0 B", "" },
	{ "no call was seen", calm, 60, no_call_was_seen, "No allocation was seen; RSS unchanged in 1m00s", "" },
	{ "it ended after a moment", scatter, 2, ended, "Not freed at exit: 78.1 KiB in 8 blocks; RSS +78.1 KiB in 2.0s", "" },
	{ "nothing is live, blocks were lost", calm_beside_a_tiny_site, 60, all_lost, UNCLEAR "the trace has losses; live memory 0", "" },
};

Test(sentence, gives_no_all_clear_while_a_figure_is_missing_or_rises)
{
	for (size_t i = 0; i < ARRAY_SIZE(all_clears); i++) {
		_cleanup_free_ char *got = sentence(all_clears[i].second, all_clears[i].seconds, all_clears[i].change);

		cr_expect(got && !strncmp(got, all_clears[i].begins, strlen(all_clears[i].begins)) && strstr(got, all_clears[i].has), "%s: wanted '%s...%s', got '%s'",
			  all_clears[i].name, all_clears[i].begins, all_clears[i].has, got);
	}
}

Test(sentence, says_no_time_of_two_readings_at_one_moment)
{
	_cleanup_free_ char *got = sentence(scatter, 2, ended_at_once);

	cr_expect_str_eq(got, "Not freed at exit: 78.1 KiB in 8 blocks; RSS +78.1 KiB");
}

/* Beside requests of which more or fewer are there. */
static void trickle_beside_requests(struct play *p)
{
	static const uint64_t held[] = { 9, 3, 7, 8, 2, 6, 9, 4, 5, 2, 8, 6, 3, 9, 7, 4, 2, 5, 8 };
	uint64_t n = held[p->t % ARRAY_SIZE(held)];

	trickle_beside(p);
	if (p->t)
		release(p, 2, held[(p->t - 1) % ARRAY_SIZE(held)], held[(p->t - 1) % ARRAY_SIZE(held)] * MIB);
	allocate(p, 2, n, n * MIB);
}

static void one_grows(struct snapshot *s)
{
	struct snap_site *sites = (struct snap_site *)s->sites;

	for (size_t i = 0; i < s->n_sites; i++)
		if (sites[i].trend.verdict && strcmp(sites[i].trend.verdict, "steady"))
			sites[i].trend.verdict = "growing";
}

/* A helper that many call: one caller's blocks are kept, and are few beside those of the others. */
Test(sentence, says_that_a_row_grows_where_one_of_its_stacks_does)
{
	_cleanup_free_ char *got = NULL;

	in_one_row = true;
	got = sentence(trickle_beside_requests, 60, one_grows);
	cr_expect(got && !strncmp(got, "Growing: [no stack] holds 100% of live memory: in one of 3: 0 of 1,980 freed", 76), "%s", got);
}

/* ---- of several processes it is about the one that grows most */

#define SMALL_PID 11

/* The second process holds next to nothing, all of it at the site with so many bytes, which no pointer leads to. */
static void small_one_leaks(struct snapshot *s)
{
	struct snap_site *sites = (struct snap_site *)s->sites;

	more_processes(s, 2);
	process(s)[1].id = 2;
	process(s)[1].pid = SMALL_PID;
	process(s)[1].comm = "sh";
	process(s)[1].c.live_bytes = TINY;
	process(s)[1].trend = (struct trend){ .verdict = "steady" };
	process(s)[1].rss_bytes = process(s)[1].rss_at_attach_bytes;
	process(s)[1].n_timeline = 1;
	for (size_t i = 0; i < s->n_sites; i++)
		if (sites[i].c.live_bytes == TINY) {
			sites[i].process = 1;
			sites[i].unreached_bytes = TINY;
			sites[i].trend = (struct trend){ .verdict = "leak", .why = "0 of 10 freed", .why_unreached = true };
		}
}

static void grow_beside_a_tiny_site(struct play *p)
{
	allocate(p, 0, 10, MIB);
	if (!p->t)
		allocate(p, 2, 10, TINY);
}

static const struct {
	const char *name;
	void (*second)(struct play *p);
	const char *begins, *has;
} of_several[] = {
	{ "one grows, a small one leaks", grow_beside_a_tiny_site, "Leak: shop (10): ", "RSS +60.0 MiB in 1m00s; [no stack] leaks; 1 more site leaks" },
	{ "a small one leaks", calm_beside_a_tiny_site, "Nothing grows except a small site that leaks, with <0.1% of live memory; live memory 95.0 MiB", "" },
};

Test(sentence, of_several_processes_is_about_the_one_that_grows_most)
{
	for (size_t i = 0; i < ARRAY_SIZE(of_several); i++) {
		_cleanup_free_ char *got = sentence(of_several[i].second, 60, small_one_leaks);

		cr_expect(got && !strncmp(got, of_several[i].begins, strlen(of_several[i].begins)) && strstr(got, of_several[i].has), "%s: wanted '%s...%s', got '%s'",
			  of_several[i].name, of_several[i].begins, of_several[i].has, got);
	}
}

/* A quarter of it to swap, as much into huge pages. */
static void grow_beside_rss(struct play *p)
{
	grow_beside_a_tiny_site(p);
	p->rss -= 5 * MIB;
	p->swap += 5 * MIB / 2;
	p->hugetlb += 5 * MIB / 2;
}

Test(sentence, says_once_what_memory_did)
{
	_cleanup_free_ char *got = sentence(grow_beside_rss, 60, small_one_leaks);
	const char *first = got ? strstr(got, "RSS, swap and huge pages +") : NULL;

	cr_expect(first && !strstr(first + 1, "RSS"), "%s", got);
}
