// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The call tree over the sample: sums that hold for every node, and paths that are known. */
#include <criterion/criterion.h>
#include <string.h>

#include "present/tree.h"
#include "sample_snapshot.h"
#include "util/util.h"

#define KIB 1024ull
#define MIB (1024ull * KIB)

static struct snapshot *snap;
static struct tree tree;

static void plant(enum tree_order order, const char *metric, bool processes)
{
	struct tree_opts o = { .order = order, .metric = metric__find(metric), .processes = processes };

	snap = sample__new(0);
	tree__init(&tree, snap, &o);
}

static void fell(void)
{
	tree__done(&tree);
	snapshot__free(snap);
}

/* The child of a node by its name. */
static uint32_t child(uint32_t node, const char *name)
{
	tree__expand(&tree, node);
	for (uint32_t i = 0; i < tree.v[node].n_children; i++) {
		uint32_t at = tree.v[node].first_child + i;
		_cleanup_free_ char *is = tree__name(&tree, at);

		if (!strcmp(is, name))
			return at;
	}
	cr_assert(false, "no child %s", name);
	return 0;
}

static uint32_t path(const char *const *names)
{
	uint32_t at = 0;

	for (; *names; names++)
		at = child(at, *names);
	return at;
}

#define PATH(...) path((const char *const[]){ __VA_ARGS__, NULL })

Test(tree, callers_first_goes_from_main_to_the_allocation)
{
	uint32_t n;
	_cleanup_free_ char *where = NULL;

	plant(TREE_CALLERS, "live-bytes", false);
	cr_assert_eq(tree.v[0].weight, snap->totals.live_bytes);
	/* 31 MiB by tracking, 48 B by sds; the dict's own main is under libc's start, too */
	n = PATH("_start", "__libc_start_call_main", "main", "aeMain", "aeProcessEvents", "processCommand", "call",
		 "trackingRememberKey", "raxTryInsert", "raxGenericInsert");
	cr_assert_eq(tree.v[n].weight, 31 * MIB);
	cr_assert_eq(tree.v[n].self, 31 * MIB);
	cr_assert(tree.v[n].leaf);
	cr_assert_eq(tree.v[n].depth, 10);
	where = tree__where(&tree, n, 40);
	cr_assert_str_eq(where, "src/rax.c:494");
	n = PATH("__libc_start_call_main", "main");
	cr_assert_eq(tree.v[n].weight, 6 * MIB + 48);
	cr_assert_eq(tree.v[n].n_sites, 2);
	n = PATH("[no stack]");
	cr_assert_eq(tree.v[n].self, 1200);
	cr_assert(tree.v[n].leaf);
	fell();
}

Test(tree, callees_first_goes_the_other_way)
{
	uint32_t n;

	plant(TREE_CALLEES, "live-bytes", false);
	n = PATH("raxGenericInsert", "raxTryInsert", "trackingRememberKey", "call", "processCommand", "aeProcessEvents",
		 "aeMain", "main", "__libc_start_call_main", "_start");
	cr_assert_eq(tree.v[n].ends, 31 * MIB);
	cr_assert_eq(tree.v[n].self, 0, "_start allocates nothing itself");
	n = PATH("raxGenericInsert");
	cr_assert_eq(tree.v[n].self, 31 * MIB);
	n = PATH("raxGenericInsert", "raxTryInsert");
	cr_assert_eq(tree.v[n].self, 0);
	n = PATH("[no stack]");
	cr_assert_eq(tree.v[n].self, 1200);
	/* the same stack through two functions is one path */
	n = PATH("evil?[31m\"name\"; \\ with é", "0xffff8a001234");
	cr_assert_eq(tree.v[n].weight, 60);
	cr_assert_eq(tree.v[n].n_sites, 2);
	fell();
}

Test(tree, processes_are_a_level_of_their_own)
{
	uint32_t n;

	plant(TREE_CALLERS, "alloc-calls", true);
	n = PATH("redis-server (1432)");
	cr_assert_eq(tree.v[n].kind, TREE_PROCESS);
	cr_assert_eq(tree.v[n].weight, snap->processes[0].c.alloc_calls);
	n = PATH("table?worker;1 (1501)");
	cr_assert_eq(tree.v[n].weight, 512 + 1 + 30 + 30);
	cr_assert_eq(tree.v[0].n_children, 2);
	fell();
}

static void check_sums(uint32_t node)
{
	uint64_t sum = 0;
	struct tree_node n;

	tree__expand(&tree, node);
	n = tree.v[node];
	cr_assert_eq(n.leaf, !n.n_children);
	for (uint32_t i = 0; i < n.n_children; i++) {
		const struct tree_node *c = &tree.v[n.first_child + i];

		cr_assert_eq(c->parent, node);
		cr_assert_eq(c->depth, n.depth + 1);
		cr_assert_geq(c->first, n.first);
		cr_assert_leq(c->end, n.end);
		cr_assert(!i || c[-1].weight > c->weight || (c[-1].weight == c->weight && c[-1].id < c->id));
		sum += c->weight;
	}
	cr_assert_eq(sum + n.ends, n.weight);
	for (uint32_t i = 0; i < n.n_children; i++)
		check_sums(n.first_child + i);
}

Test(tree, every_node_is_the_sum_of_what_is_below_it)
{
	for (size_t m = 0; m < n_metrics; m++)
		for (int order = TREE_CALLERS; order <= TREE_CALLEES; order++)
			for (int processes = 0; processes < 2; processes++) {
				uint64_t whole = 0;

				plant(order, metrics[m].name, processes);
				for (size_t i = 0; i < snap->n_sites; i++)
					whole += metric__of(&metrics[m], &snap->sites[i]);
				cr_assert_eq(tree.v[0].weight, whole);
				check_sums(0);
				fell();
			}
}

Test(tree, a_path_keeps_its_id_when_sites_come_in_another_order)
{
	uint64_t id;

	plant(TREE_CALLERS, "live-bytes", true);
	id = tree.v[PATH("redis-server (1432)", "_start", "__libc_start_call_main", "main")].id;
	tree__done(&tree);
	for (size_t i = 0; i < snap->n_sites / 2; i++) {
		struct snap_site swap = snap->sites[i];

		snap->sites[i] = snap->sites[snap->n_sites - 1 - i];
		snap->sites[snap->n_sites - 1 - i] = swap;
	}
	tree__init(&tree, snap, &(struct tree_opts){ .metric = metric__find("live-bytes"), .processes = true });
	cr_assert_eq(tree.v[PATH("redis-server (1432)", "_start", "__libc_start_call_main", "main")].id, id);
	fell();
}

static bool keep_calloc(const struct snap_site *site, void *arg)
{
	return !strcmp(site->function, arg);
}

Test(tree, only_sites_that_are_kept_weigh)
{
	struct tree_opts o = { .metric = metric__find("live-bytes"), .keep = keep_calloc, .arg = "calloc" };

	snap = sample__new(0);
	tree__init(&tree, snap, &o);
	cr_assert_eq(tree.v[0].weight, 6 * MIB + 30);
	cr_assert_eq(tree.v[0].n_sites, 2);
	fell();
}

Test(tree, of_nothing_is_empty)
{
	struct tree_opts o = { .metric = metric__find("live-bytes") };

	snap = sample__new(SAMPLE_EMPTY);
	tree__init(&tree, snap, &o);
	cr_assert_eq(tree.v[0].weight, 0);
	cr_assert(tree.v[0].leaf);
	tree__expand(&tree, 0);
	cr_assert_eq(tree.v[0].n_children, 0);
	fell();
}
