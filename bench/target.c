// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The program of bench/pairs.c. Owns its threads, their rings of live
 * blocks and a ledger of every malloc and free it makes.
 *
 * Always holds: once it has said that it is ready, the process calls malloc and
 * free in pairs__*(), fill(), drain() and proof() and nowhere else. Hence threads are
 * made before that, rings are mapped instead of allocated, and orders and
 * answers go through read(2) and write(2), not through stdio.
 *
 * The clock is CLOCK_THREAD_CPUTIME_ID: a trap is spent by the thread that hits
 * it, so its CPU time holds the whole price of a probe, while what other
 * processes take from the machine meanwhile, which wall time would hold as
 * well, does not count. It is read twice per order of thousands of pairs, so
 * that the system call it needs is not seen.
 */
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "bench/target.h"
#include "util/util.h"

#define BLOCK_BYTES 64

struct ring {
	void **block;
	uint32_t n, oldest;
	uint32_t seed;
	uint64_t pick;
};

struct worker {
	pthread_t thread;
	int cpu;
	struct ring ring;
	uint64_t cpu_ns;
	uint64_t n_mallocs, n_frees, n_bytes;
} __attribute__((aligned(128)));	/* two threads' ledgers never share a cache line */

static struct worker workers[TARGET_MAX_THREADS];
static uint32_t n_workers;
static struct order order;
static pthread_barrier_t begin, end;

static uint64_t thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Sizes of 16 to 271 bytes: several size classes, so that the allocator has to look for room now and then. */
static size_t next_size(struct ring *r)
{
	r->seed = r->seed * 1664525u + 1013904223u;
	return 16 + (r->seed >> 24);
}

/* The compiler must believe that the block is used, or it may drop the call. */
static void use(void *p)
{
	__asm__ volatile("" ::"r"(p) : "memory");
}

static __attribute__((noinline)) uint64_t pairs__at_once(struct worker *w, uint64_t n)
{
	uint64_t since_ns = thread_cpu_ns(), spent_ns;

	for (uint64_t i = 0; i < n; i++) {
		void *p = malloc(BLOCK_BYTES);

		use(p);
		free(p);
	}
	spent_ns = thread_cpu_ns() - since_ns;
	w->n_mallocs += n;
	w->n_frees += n;
	w->n_bytes += n * BLOCK_BYTES;
	return spent_ns;
}

static uint64_t replace(struct ring *r, uint32_t i)
{
	size_t size = next_size(r);

	free(r->block[i]);
	r->block[i] = malloc(size);
	return size;
}

/* The oldest: those that were allocated one after the other are freed so, too. */
static __attribute__((noinline)) uint64_t pairs__oldest(struct worker *w, uint64_t n)
{
	struct ring *r = &w->ring;
	uint64_t since_ns = thread_cpu_ns(), spent_ns, n_bytes = 0;

	for (uint64_t i = 0; i < n; i++) {
		n_bytes += replace(r, r->oldest);
		if (++r->oldest == r->n)
			r->oldest = 0;
	}
	spent_ns = thread_cpu_ns() - since_ns;
	w->n_mallocs += n;
	w->n_frees += n;
	w->n_bytes += n_bytes;
	return spent_ns;
}

/* Any: no cache and no prefetcher has seen it coming. */
static __attribute__((noinline)) uint64_t pairs__any(struct worker *w, uint64_t n)
{
	struct ring *r = &w->ring;
	uint64_t since_ns = thread_cpu_ns(), spent_ns, n_bytes = 0;

	for (uint64_t i = 0; i < n; i++) {
		r->pick = r->pick * 6364136223846793005u + 1442695040888963407u;
		n_bytes += replace(r, (r->pick >> 32) * r->n >> 32);
	}
	spent_ns = thread_cpu_ns() - since_ns;
	w->n_mallocs += n;
	w->n_frees += n;
	w->n_bytes += n_bytes;
	return spent_ns;
}

static __attribute__((noinline)) void make_pairs(struct worker *w, uint32_t n_frames)
{
	if (n_frames)
		make_pairs(w, n_frames - 1);
	else if (order.n_live)
		w->cpu_ns = (order.any ? pairs__any : pairs__oldest)(w, order.n_pairs);
	else
		w->cpu_ns = pairs__at_once(w, order.n_pairs);
	__asm__ volatile("" ::: "memory");	/* a frame each: no jump instead of the call */
}

static __attribute__((noinline)) void fill(struct worker *w, uint32_t n)
{
	struct ring *r = &w->ring;

	for (; r->n < n; r->n++, w->n_mallocs++) {
		size_t size = next_size(r);

		r->block[r->n] = malloc(size);
		w->n_bytes += size;
	}
}

static __attribute__((noinline)) void drain(struct worker *w)
{
	struct ring *r = &w->ring;

	for (; r->n; r->n--, w->n_frees++)
		free(r->block[r->n - 1]);
	r->oldest = 0;
}

/* One stack of its own, so that a tool's figures for it can be told from the others. */
static __attribute__((noinline, noclone)) void proof(struct worker *w)
{
	for (int i = 0; i < PROOF_PAIRS; i++) {
		void *p = malloc(PROOF_BYTES);

		if (malloc_usable_size(p) != PROOF_USABLE_BYTES)
			abort();
		free(p);
	}
	w->n_mallocs += PROOF_PAIRS;
	w->n_frees += PROOF_PAIRS;
	w->n_bytes += PROOF_PAIRS * PROOF_BYTES;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *work(void *arg)
{
	struct worker *w = arg;

	pin(w->cpu);
	free(malloc(BLOCK_BYTES));	/* the thread's arena and cache are made here, not in the first pair */
	pthread_barrier_wait(&end);
	for (;;) {
		pthread_barrier_wait(&begin);
		if (w < workers + order.n_threads) {
			switch (order.kind) {
			case ORDER_FILL:
				fill(w, order.n_live);
				break;
			case ORDER_PAIRS:
				make_pairs(w, order.n_frames);
				break;
			case ORDER_DRAIN:
				drain(w);
				break;
			case ORDER_PROOF:
				if (w == workers)
					proof(w);
				break;
			}
		}
		pthread_barrier_wait(&end);
	}
	return NULL;
}

static bool order_is_sane(void)
{
	return order.n_threads <= n_workers && order.n_live <= TARGET_MAX_LIVE &&
	       (order.kind != ORDER_PAIRS || !order.n_live || workers[0].ring.n == order.n_live);
}

/*
 * argv: one CPU number per thread. The first byte out says that it is ready;
 * then one answer per order, until the input ends.
 */
int main(int argc, char **argv)
{
	n_workers = argc - 1;
	if (!n_workers || n_workers > TARGET_MAX_THREADS)
		return 2;
	pthread_barrier_init(&begin, NULL, n_workers + 1);
	pthread_barrier_init(&end, NULL, n_workers + 1);
	for (uint32_t i = 0; i < n_workers; i++) {
		struct worker *w = &workers[i];

		w->cpu = atoi(argv[i + 1]);
		w->ring.seed = w->ring.pick = i + 1;
		w->ring.block = mmap(NULL, TARGET_MAX_LIVE * sizeof(void *), PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (w->ring.block == MAP_FAILED || pthread_create(&w->thread, NULL, work, w))
			return 1;
	}
	pthread_barrier_wait(&end);
	if (write(STDOUT_FILENO, "", 1) != 1)
		return 1;

	while (read(STDIN_FILENO, &order, sizeof(order)) == sizeof(order)) {
		struct answer a = { 0 };

		if (!order_is_sane())
			return 2;
		pthread_barrier_wait(&begin);
		pthread_barrier_wait(&end);
		for (uint32_t i = 0; i < n_workers; i++) {
			a.n_mallocs += workers[i].n_mallocs;
			a.n_frees += workers[i].n_frees;
			a.n_bytes += workers[i].n_bytes;
			if (order.kind == ORDER_PAIRS && i < order.n_threads) {
				a.cpu_ns += workers[i].cpu_ns;
				a.n_pairs += order.n_pairs;
			}
		}
		if (write(STDOUT_FILENO, &a, sizeof(a)) != sizeof(a))
			return 1;
	}
	_exit(0);	/* the rest of an ordinary exit would free what stdio and the loader hold */
}
