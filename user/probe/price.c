// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns three probes in a function of our own, until their price is known. A thread closes them, because that takes the kernel
 * a while.
 *
 * The points are those of a malloc and its free (place.c): two entries, on instructions that the kernel carries out itself, and a
 * return. Only what a program takes is measured in the targets (bpf/budget.bpf.h): it grows with their stacks and tables, the trap
 * does not.
 */
#include "probe/price.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "malloctrace.skel.h"
#include "probe/features.h"
#include "probe/multi.h"
#include "process/maps.h"
#include "util/log.h"
#include "util/util.h"

#define POINTS 3
#define SLICES 9
#define CALLS 40

void price_pair(void);
extern const char price_entry_2[], price_return[];

#if defined(__x86_64__)
__asm__(".text\n.globl price_pair, price_entry_2, price_return\n.type price_pair, @function\nprice_pair:\n"
	"push %rbp\nprice_entry_2: nop\n pop %rbp\nprice_return: ret\n.size price_pair, . - price_pair\n");
#else
__asm__(".text\n.globl price_pair, price_entry_2, price_return\n.type price_pair, %function\nprice_pair:\n"
	"adr x9, .\nprice_entry_2: adr x9, .\nprice_return: ret\n.size price_pair, . - price_pair\n");
#endif

struct links {
	int entries, ret;
};

/* On x86_64 a single step is dearer than a uretprobe. */
static bool returns_by_uretprobe(void)
{
#if defined(__x86_64__)
	return feature__has(FEATURE_URETPROBES);
#else
	return false;
#endif
}

static void *close_links(void *arg)
{
	struct links *l = arg;

	if (l->entries >= 0)
		close(l->entries);
	if (l->ret >= 0)
		close(l->ret);
	free(l);
	return NULL;
}

static void close_later(struct links *l)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, close_links, l))
		close_links(l);
	else
		pthread_detach(thread);
}

static int put_probe(struct kernel *k, const uint64_t *offsets, size_t n, bool at_return)
{
	return uprobe_multi__link(bpf_program__fd(k->skel->progs.stay), "/proc/self/exe", offsets, NULL, n, at_return, getpid());
}

static bool put_probes(struct kernel *k, struct links *ret)
{
	const uintptr_t at[POINTS] = { (uintptr_t)price_pair, (uintptr_t)price_entry_2, (uintptr_t)price_return };
	uint64_t offsets[POINTS];
	const struct mapping *m;
	struct maps maps = {};

	if (maps__read(getpid(), &maps, NULL))
		return false;
	m = maps__find(&maps, at[0]);
	for (size_t i = 0; m && i < POINTS; i++)
		offsets[i] = m->file_off + (at[i] - m->start);
	if (m) {
		bool by_uretprobe = returns_by_uretprobe();

		ret->entries = put_probe(k, offsets, 2, false);
		ret->ret = put_probe(k, by_uretprobe ? offsets : offsets + 2, 1, by_uretprobe);
	}
	maps__done(&maps);
	return ret->entries >= 0 && ret->ret >= 0;
}

COMPARATOR(by_value, uint64_t, ORDER(*a, *b))

/* Of a quick slice: those that an interrupt or another process disturbed are longer. */
static uint64_t measure(void)
{
	uint64_t took_ns[SLICES];

	for (size_t i = 0; i < SLICES; i++) {
		uint64_t from_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

		for (size_t n = 0; n < CALLS; n++)
			price_pair();
		took_ns[i] = clock_ns(CLOCK_THREAD_CPUTIME_ID) - from_ns;
	}
	qsort(took_ns, SLICES, sizeof(*took_ns), by_value);
	return took_ns[SLICES / 4] / (CALLS * POINTS);
}

void price__measure_trap(struct kernel *k)
{
	struct links *l;
	uint64_t trap_ns;

	if (!k->multi)
		return;
	l = xcalloc(1, sizeof(*l));
	*l = (struct links){ -1, -1 };
	if (put_probes(k, l)) {
		trap_ns = measure();
		__atomic_store_n(&k->skel->bss->mt_trap_ns, trap_ns, __ATOMIC_RELAXED);
		say_verbose("the trap of a probe takes %" PRIu64 " ns here", trap_ns);
	}
	close_later(l);
}

double price__hit_ns(const struct kernel *k)
{
	uint64_t trap_ns = __atomic_load_n(&k->skel->bss->mt_trap_ns, __ATOMIC_RELAXED);
	uint64_t n = __atomic_load_n(&k->skel->bss->mt_timed, __ATOMIC_RELAXED);

	return trap_ns && n ? (double)trap_ns + (double)__atomic_load_n(&k->skel->bss->mt_timed_ns, __ATOMIC_RELAXED) / (double)n : 0;
}
