// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * A census against a ledger of all blocks (tests/fixtures/heapledger.h):
 *
 *	heap-check PID LEDGER [--pause] [--times N] [--say] [--kept]
 *
 * --kept: its memory is kept, "ready" says so, and the census is taken after a byte on standard input: the process may have ended by then.
 *
 * Prints "KEY NUMBER" lines: sums over all times, but for those that say otherwise. LEDGER "-": there is none. Where the
 * heap is refused: "refused -ERRNO", and the sentence.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "heap/census.h"
#include "process/keeper.h"
#include "tests/fixtures/heapledger.h"

static struct sums {
	uint64_t stable, changed, missed, false_live, wrong_size, in_flight, libc, unknown, unsure, most_wrong, beyond_bound;
	uint64_t blocks, bytes, mapped, broken_bytes, swapped_bytes, cpu_us, paused_us, read_bytes, arenas, free_bytes, tcache_bytes;
	uint64_t trimmable_bytes, resident_free_bytes, unsure_most, unsure_looks, tool_bytes;
} sum;
static bool say;

static uint64_t cpu_us(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1000;
}

/* ---- the comparison */

struct in_flight {
	uint64_t n_allocs, n_frees;
	uint64_t freeing[HEAP_THREADS];
};

static struct in_flight read_in_flight(const struct heap_ledger *l)
{
	struct in_flight f = {};

	for (unsigned int i = 0; i < HEAP_THREADS; i++) {
		uint64_t doing = l->threads[i].doing;

		f.n_allocs += doing == HEAP_ALLOC || doing == HEAP_REALLOC;
		if (doing == HEAP_FREE || doing == HEAP_REALLOC)
			f.freeing[f.n_frees++] = l->threads[i].xored;
	}
	return f;
}

static bool is_being_freed(const struct in_flight *f, uint64_t xored)
{
	for (uint64_t i = 0; i < f->n_frees; i++)
		if (f->freeing[i] == xored)
			return true;
	return false;
}

static void tell(const char *what, uint64_t addr, uint64_t found, uint64_t wanted)
{
	if (say)
		fprintf(stderr, "%s %" PRIx64 ": found %" PRIu64 ", ledger %" PRIu64 "\n", what, addr, found, wanted);
}

/* Blocks that did not change since `since` must be as they are there; but for those in f, which libc had or gave meanwhile. */
static uint64_t compare(const struct heap_ledger *l, const struct census *c, uint64_t since, bool paused, struct in_flight f)
{
	uint8_t *seen = calloc(c->blocks.n + 1, 1);
	uint64_t wrong = 0, strange = 0;

	for (uint64_t i = 0; i < l->n_entries; i++) {
		struct heap_entry e = { .xored = l->entries[i].xored, .state = l->entries[i].state, .usable = l->entries[i].usable };
		uint64_t addr = e.xored ^ HEAP_XOR;
		const struct heap_block *b;

		if (!e.xored)
			continue;
		b = census__find(c, addr);
		b = b && b->addr == addr ? b : NULL;
		if (b)
			seen[b - c->blocks.v] = 1;
		if (!paused && (e.state >> 1 > since || l->entries[i].state != e.state)) {
			sum.changed++;
			continue;
		}
		sum.stable++;
		if (is_being_freed(&f, e.xored)) {
			sum.in_flight++;
		} else if (e.state & 1 && !b) {
			sum.missed++;
			wrong++;
			tell("missed", addr, 0, e.usable);
		} else if (!(e.state & 1) && b && !(b->flags & BLOCK_LIBC)) {
			/* given by libc, and not in the ledger yet */
			strange++;
			tell("not live", addr, b->usable, 0);
		} else if (e.state & 1 && b->usable != e.usable) {
			sum.wrong_size++;
			wrong++;
			tell("size", addr, b->usable, e.usable);
		}
	}
	sum.in_flight += MIN(strange, f.n_allocs);
	strange -= MIN(strange, f.n_allocs);
	sum.false_live += strange;
	wrong += strange;
	for (size_t i = 0; i < c->blocks.n; i++) {
		if (seen[i])
			continue;
		if (c->blocks.v[i].flags & BLOCK_LIBC) {
			sum.libc++;
			continue;
		}
		/* while it runs: one that is new, and came after the ledger was read there */
		sum.unknown++;
		tell("unknown", c->blocks.v[i].addr, c->blocks.v[i].usable, 0);
	}
	free(seen);
	return wrong;
}

static const struct heap_ledger *map_ledger(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st))
		return NULL;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

/* ---- one time */

static void check_order(const struct census *c)
{
	for (size_t i = 1; i < c->blocks.n; i++)
		if (c->blocks.v[i].addr < c->blocks.v[i - 1].addr + c->blocks.v[i - 1].usable) {
			printf("overlap %" PRIx64 "\n", c->blocks.v[i].addr);
			return;
		}
	for (size_t i = 1; i < c->ranges.n; i++)
		if (c->ranges.v[i].start < c->ranges.v[i - 1].end)
			printf("ranges_overlap %" PRIx64 "\n", c->ranges.v[i].start);
}

static void add(const struct census *c)
{
	sum.blocks = c->blocks.n;
	sum.bytes = sum.free_bytes = sum.tcache_bytes = sum.trimmable_bytes = sum.resident_free_bytes = 0;
	for (size_t i = 0; i < c->blocks.n; i++)
		sum.bytes += c->blocks.v[i].usable;
	for (size_t i = 0; i < c->arenas.n; i++) {
		const struct heap_arena *a = &c->arenas.v[i];

		sum.free_bytes += a->is.tcache_bytes + a->is.bins_bytes + a->is.top_bytes;
		sum.tcache_bytes += a->is.tcache_bytes;
		sum.trimmable_bytes += a->is.trimmable_bytes;
		sum.resident_free_bytes += a->free_resident_bytes;
	}
	sum.arenas = c->arenas.n;
	sum.mapped = c->mapped_blocks;
	sum.unsure += c->unsure_blocks;
	sum.unsure_most = MAX(sum.unsure_most, c->unsure_blocks);
	sum.broken_bytes += c->broken_bytes;
	sum.swapped_bytes += c->swapped_bytes;
	check_order(c);
}

static int once(struct target *t, struct glibc *g, const struct heap_ledger *l, bool pause, struct err *e)
{
	uint64_t since, before, wrong = 0;
	struct in_flight f = {};
	struct census c = {};
	struct sums was;
	int r = pause ? target__pause(t, e) : 0;

	if (r)
		return r;
	if (l)
		f = read_in_flight(l);
	since = l ? l->serial : 0;
	before = cpu_us();
	r = census__take(t, g, &c, e);
	sum.cpu_us += cpu_us() - before;
	/* it may have been stopped anew */
	if (pause && l)
		f = read_in_flight(l);
	was = sum;
	if (!r && l)
		wrong = compare(l, &c, since, pause, f);
	target__resume(t);
	if (r)
		return r;
	/* of a stop that says what it is not sure of, only that is held against it */
	if (pause && c.unsure_blocks) {
		sum = was;
		sum.unsure_looks++;
	}
	sum.most_wrong = MAX(sum.most_wrong, wrong);
	sum.beyond_bound += wrong > c.unsure_blocks ? wrong - c.unsure_blocks : 0;
	add(&c);
	census__done(&c);
	return 0;
}

static void print(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	sum.tool_bytes = (uint64_t)u.ru_maxrss * 1024;
#define LINE(member) printf(#member " %" PRIu64 "\n", sum.member)
	LINE(stable); LINE(changed); LINE(missed); LINE(false_live); LINE(wrong_size); LINE(in_flight); LINE(libc); LINE(unknown);
	LINE(unsure); LINE(unsure_most); LINE(unsure_looks); LINE(most_wrong); LINE(beyond_bound); LINE(blocks); LINE(bytes); LINE(mapped); LINE(arenas);
	LINE(free_bytes); LINE(tcache_bytes); LINE(trimmable_bytes); LINE(resident_free_bytes); LINE(broken_bytes); LINE(swapped_bytes);
	LINE(cpu_us); LINE(paused_us); LINE(read_bytes); LINE(tool_bytes);
#undef LINE
}

static int open_kept(pid_t pid, struct keeper **k, struct keeping **kept, struct target *ret, struct err *e)
{
	int r = keeper__new(k, e) ?: keeper__keep(*k, pid, kept, e);
	char c;

	if (!r && (write(STDOUT_FILENO, "ready\n", 6) != 6 || read(STDIN_FILENO, &c, 1) != 1))
		r = err_set(e, -EPIPE, "nobody says when to look");
	return r ? r : target__open_kept(*kept, NULL, ret, e);
}

int main(int argc, char **argv)
{
	_cleanup_err_ struct err e = {};
	struct keeper *keeper = NULL;
	struct keeping *kept = NULL;
	const struct heap_ledger *l;
	struct glibc g = {};
	struct target t;
	bool pause = false, keeps = false;
	int times = 1, r;

	for (int i = 3; i < argc; i++) {
		pause |= !strcmp(argv[i], "--pause");
		say |= !strcmp(argv[i], "--say");
		keeps |= !strcmp(argv[i], "--kept");
		if (!strcmp(argv[i], "--times"))
			times = atoi(argv[++i]);
	}
	if (argc < 3)
		return 2;
	l = strcmp(argv[2], "-") ? map_ledger(argv[2]) : NULL;
	r = keeps ? open_kept(atoi(argv[1]), &keeper, &kept, &t, &e) : target__open(atoi(argv[1]), NULL, &t, &e);
	if (!r) {
		for (int i = 0; i < times && !r; i++)
			r = once(&t, &g, l, pause, &e);
		sum.paused_us = t.paused_ns / 1000;
		sum.read_bytes = t.memory.read_bytes;
		target__done(&t);
	}
	glibc__done(&g);
	keeping__free(kept);
	keeper__free(keeper);
	if (r) {
		printf("refused %d\n%s\n", r, err_msg(&e));
		return 1;
	}
	print();
	return 0;
}
