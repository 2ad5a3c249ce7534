// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how heaps follow their processes and sites from one snapshot into another. What always holds: a heap is
 * never added to another one, and never lost; a listed block names a site that is there, or none.
 */
#include "model/heaps.h"

#include <string.h>

#include "model/merge.h"
#include "model/schema.h"
#include "util/ids.h"
#include "util/util.h"

#define MATTERS_PCT 3	/* of live memory: a site with less needs no search before its verdict is known */

#define CHOICES(its_names) { .names = its_names, .n = ARRAY_SIZE(its_names) }

static const char *const root_names[N_ROOT_KINDS] = {
	[ROOT_GLOBAL] = "global", [ROOT_STACK] = "stack", [ROOT_THREAD] = "thread", [ROOT_MAPPING] = "mapping",
};
const struct choices root_choices = CHOICES(root_names);

static const char *const part_names[N_PART_KINDS] = {
	[PART_HEAP] = "heap", [PART_STACK] = "stack", [PART_GLOBAL] = "global", [PART_TLS] = "tls", [PART_CODE] = "code",
	[PART_FILE] = "file", [PART_SHARED] = "shared", [PART_ANON] = "anonymous", [PART_OTHER] = "other",
};
const struct choices part_choices = CHOICES(part_names);

static const char *const reach_names[] = {
	[REACH_UNKNOWN] = "unknown", [REACH_REACHED] = "reached", [REACH_UNREACHED] = "unreached", [REACH_INDIRECT] = "indirect",
};
const struct choices reach_choices = CHOICES(reach_names);

const char *root_kind__word(enum root_kind kind)
{
	return kind == ROOT_THREAD ? "tls/regs" : choices__name(&root_choices, kind);
}

const char *root_kind__before(enum root_kind kind)
{
	return kind == ROOT_STACK ? "the stack of " : kind == ROOT_THREAD ? "thread-locals or registers of " : "";
}

/* ---- whose they are */

/* One that grows; where that is not known yet, one that matters. */
static bool site__needs_search(const struct snapshot *s, const struct snap_site *site)
{
	const char *verdict = site->trend.verdict;

	if (s->processes[site->process].ended || !site->c.live_blocks)
		return false;
	if (verdict && strcmp(verdict, "new"))
		return verdict__is_alarm(verdict);
	return site->c.live_bytes * 100 >= s->totals.live_bytes * MATTERS_PCT;
}

bool snapshot__needs_search(const struct snapshot *s)
{
	for (size_t i = 0; i < s->n_sites; i++)
		if (site__needs_search(s, &s->sites[i]))
			return true;
	return false;
}

bool heap__was_searched(const struct snap_heap *h)
{
	return h && h->unreached.scans;
}

void snapshot__set_heaps(struct snapshot *s, const struct snap_heap *heaps, size_t n)
{
	s->heaps = heaps;
	s->n_heaps = n;
	s->known &= ~HAS_UNREACHED;
	for (size_t i = 0; i < n; i++)
		if (heap__was_searched(&heaps[i]) && !heaps[i].sites_unknown)
			s->known |= HAS_UNREACHED;
}

const struct snap_heap *snapshot__heap_of(const struct snapshot *s, uint32_t process)
{
	for (size_t i = 0; i < s->n_heaps; i++)
		if (s->heaps[i].process == process)
			return &s->heaps[i];
	return NULL;
}

bool snapshot__was_searched(const struct snapshot *s, uint32_t process)
{
	for (size_t i = 0; s->known & HAS_UNREACHED && i < s->n_heaps; i++)
		if (s->heaps[i].process == process && heap__was_searched(&s->heaps[i]) && !s->heaps[i].sites_unknown)
			return true;
	return false;
}

bool site__was_searched(const struct snapshot *s, const struct snap_site *site)
{
	return (site->looked_blocks || !site->c.live_blocks) && snapshot__was_searched(s, site->process);
}

bool snapshot__is_heap(const struct snapshot *s)
{
	return s->n_heaps && !(s->known & HAS_ALL);
}

pid_t heap__pid(const struct snapshot *s, const struct snap_heap *h)
{
	return h->pid ? h->pid : s->processes[h->process].pid;
}

const char *heap__comm(const struct snapshot *s, const struct snap_heap *h)
{
	return h->comm ? h->comm : s->processes[h->process].comm;
}

/* ---- several sites in one */

COMPARATOR(by_share, struct snap_share, ORDER(b->share, a->share) ?: strcmp(a->name, b->name))

void shares__add_up(struct snapshot *to, const struct snap_site *const *v, size_t n, struct snap_site *ret)
{
	struct string_ids names = {};
	struct snap_share *sum;
	double blocks = 0;
	size_t room = 0;

	ret->held = NULL;
	for (size_t i = 0; i < n; i++) {
		room += v[i]->n_types;
		blocks += v[i]->n_types ? (double)v[i]->c.live_blocks : 0;
		if (v[i]->held && (!ret->held || v[i]->held->bytes > ret->held->bytes))
			ret->held = v[i]->held;
	}
	sum = snapshot__alloc(to, room + 1, sizeof(*sum));
	for (size_t i = 0; i < n && blocks > 0; i++)
		for (size_t k = 0; k < v[i]->n_types; k++) {
			const struct snap_share *t = &v[i]->types[k];
			uint32_t at;

			string_ids__get(&names, t->name, &at);
			sum[at].name = t->name;
			sum[at].is_class |= t->is_class;
			sum[at].share += t->share * (double)v[i]->c.live_blocks / blocks;
		}
	qsort(sum, names.n, sizeof(*sum), by_share);
	ret->types = sum;
	ret->n_types = names.n;
	string_ids__done(&names);
}

/* ---- copies of what was found in memory, from one snapshot into another */

const struct snap_root *snap_root__copy(struct snapshot *s, const struct snap_root *root)
{
	return rows__copy(s, &root_fields, root, 1, sizeof(*root));
}

/*
 * ---- growth that has no explanation
 *
 * How much of a process's growth has no explanation: what a program gets that calls allocation functions past their probes.
 *
 * Two ways to find it, each of which gives a lower bound:
 *
 *   by blocks   a look at the heap has found blocks that the table has not. They are older than the trace; but all that is
 *               older had room in what was mapped when the trace began. The rest was allocated since.
 *   by calls    the heap, in pages, has grown by more than all calls since then have requested, freed or not. Pages
 *               that were mapped and untouched at first may have been touched since.
 *
 * So neither memory that the allocator keeps, nor large blocks that were touched late, nor the program's own mappings, nor the
 * stacks of threads are taken for it. What always holds: where something is left out on purpose, by an option or for
 * want of room, nothing is claimed.
 */

#define CLEAR_BYTES (8ull << 20)	/* what is less, or one of so many parts of the growth, is not clear enough to be said */
#define CLEAR_PART 8
#define CALL_BYTES 32		/* header and rounding of a block, at most */
#define POOL_FACTOR 2		/* an allocator above malloc takes no more than this of what its own blocks came to */

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t by_blocks(const struct snap_process *p, const struct snap_heap *h)
{
	uint64_t unsure;

	if (!h || h->refused || !h->older_known || !h->older_blocks || h->older_unsure_blocks > h->older_blocks / 4)
		return 0;
	unsure = h->older_bytes / h->older_blocks * h->older_unsure_blocks;
	/* blocks of another allocator, which has its memory from malloc, lie inside of what malloc gave it */
	if (!p->memory.sized_blocks)
		unsure += POOL_FACTOR * p->c.peak_bytes + CALL_BYTES * p->c.live_blocks;
	return less(h->older_bytes, p->memory.first_mapped + unsure);
}

static uint64_t by_calls(const struct snap_process *p)
{
	const struct snap_memory *m = &p->memory;

	if (m->heap_grown <= 0 || m->heap_estimated)
		return 0;
	return less((uint64_t)m->heap_grown, p->c.alloc_bytes + CALL_BYTES * p->c.alloc_calls + m->first_untouched);
}

static uint64_t unexplained(const struct snap_process *p, const struct snap_heap *h)
{
	int64_t grown = p->memory.heap_grown + p->memory.large_grown;
	uint64_t n;

	if (!p->memory.known || !p->memory.grown_known || grown <= 0 || p->lost_blocks || p->unseen_ns)
		return 0;
	n = MIN(MAX(by_blocks(p, h), by_calls(p)), (uint64_t)grown);
	return n >= CLEAR_BYTES && n >= (uint64_t)grown / CLEAR_PART ? n : 0;
}

void snapshot__find_unexplained(struct snapshot *s)
{
	struct snap_process *v = (struct snap_process *)s->processes;

	/* a mapping that the program makes is a block then, and explains nothing of the heap */
	if (recording__is_partial(&s->recording) || recording__is_growth(&s->recording) || s->estimated || s->observed_share < 1 || s->recording.mmap)
		return;
	for (size_t i = 0; i < s->n_processes; i++)
		v[i].memory.unexplained_bytes = unexplained(&v[i], snapshot__heap_of(s, (uint32_t)i));
}
