// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Who holds a list that has grown since its blocks were listed: the variable, as if nothing had moved. Each list of the fixture has
 * blocks of a size of its own, so a look says itself how many there were.
 */
#include "lt.h"

#include <string.h>

#define LOOKS 10

static const struct list {
	const char *name, *site;
	uint64_t usable;
	uint64_t more;		/* that the variable holds beside them */
} lists[] = {
	{ "fast", "grow_fast", 232, 0 },
	{ "slow", "grow_slow", 264, 0 },
	{ "object", "grow_object", 296, 1 },
};

static uint64_t blocks_of_size(struct test *t, json_t *heap, uint64_t usable)
{
	json_t *class;
	size_t i;

	json_array_foreach(jget(heap, "classes"), i, class)
		if (ju64(t, class, "usable") == usable)
			return ju64(t, class, "blocks");
	return 0;
}

static uint64_t held_by(struct test *t, json_t *heap, const char *name)
{
	uint64_t sum = 0;
	json_t *root;
	size_t i;

	json_array_foreach(jget(heap, "roots"), i, root)
		if (!strcmp(jstr(root, "name"), name))
			sum += ju64(t, root, "blocks");
	return sum;
}

/*
 * A block is on its way while the thread has made it and not yet put it into its list. What was taken out of the queue while
 * all was read may be another list's by then.
 */
static void want_holders(struct test *t, json_t *heap)
{
	uint64_t in_queue = blocks_of_size(t, heap, 328), of_queue = held_by(t, heap, "queue");

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		uint64_t blocks = blocks_of_size(t, heap, lists[i].usable) + lists[i].more, held = held_by(t, heap, lists[i].name);

		want(t, held + 1 >= blocks && held + of_queue <= blocks + in_queue, "%s holds %llu of %llu blocks", lists[i].name,
		     (unsigned long long)held, (unsigned long long)blocks);
	}
	want(t, of_queue > in_queue / 2, "queue holds %llu of %llu blocks", (unsigned long long)of_queue, (unsigned long long)in_queue);
	want_eq(t, "blocks that `old` holds", 0, held_by(t, heap, "old"));
	want_eq(t, "unreached blocks", 0, ju64(t, heap, "unreached.blocks"));
}

static void look_at(struct test *t, const char *rate)
{
	struct fx f;

	fx__start(t, &f, "growing", rate, NULL);
	for (int i = 0; i < LOOKS; i++) {
		json_t *root;
		struct mt m;

		must(t, mt__run(t, &m, "heap", "-p", pid_arg(f.c.pid), "--reachable", "--roots", "--json", NULL) == 0, "heap fails: %s",
		     m.c.errs.s);
		root = json_loads(m.c.outs.s, 0, NULL);
		want_holders(t, jget(root, "heap[0]"));
		json_decref(root);
	}
	fx__quit(t, &f);
}

/* A thousand a second, and 50,000. */
TEST(reach_roots_growing) { look_at(t, "1"); }
TEST(reach_roots_growing_fast) { look_at(t, "50"); }

/* What points to blocks is itself copied and freed faster than it can be read: they are reached all the same. */
TEST(reach_rotating)
{
	struct fx f;

	fx__start(t, &f, "rotating", NULL);
	for (int i = 0; i < 2 * LOOKS; i++) {
		json_t *root;
		struct mt m;

		must(t, mt__run(t, &m, "heap", "-p", pid_arg(f.c.pid), "--reachable", "--json", NULL) == 0, "heap fails: %s", m.c.errs.s);
		root = json_loads(m.c.outs.s, 0, NULL);
		want_eq(t, "unreached blocks", 0, ju64(t, root, "heap[0].unreached.blocks"));
		json_decref(root);
	}
	fx__quit(t, &f);
}

static uint64_t held_of_site(struct test *t, json_t *root, const struct list *l)
{
	json_t *site;
	size_t i;

	json_array_foreach(jget(root, "sites"), i, site)
		if (!strcmp(jstr(site, "stack[1].function"), l->site)) {
			want(t, !strcmp(jstr(site, "held.name"), l->name), "%s is held by %s", l->site, jstr(site, "held.name"));
			want(t, ju64(t, site, "held.bytes") / ju64(t, site, "held.blocks") == l->usable, "%s: %llu bytes a block", l->site,
			     (unsigned long long)(ju64(t, site, "held.bytes") / ju64(t, site, "held.blocks")));
			return ju64(t, site, "held.blocks");
		}
	return 0;
}

/* In a trace there is more time between the blocks and the roots. */
TEST(reach_roots_growing_traced)
{
	struct fx f;

	fx__start(t, &f, "growing", "50", NULL);
	for (int i = 0; i < LOOKS / 2; i++) {
		json_t *root;
		struct mt m;

		must(t, mt__run(t, &m, "-p", pid_arg(f.c.pid), "-d", "1", "--roots", "--json", NULL) == 0, "trace fails: %s", m.c.errs.s);
		root = with_frames(json_loads(m.c.outs.s, 0, NULL));
		want_holders(t, jget(root, "heap[0]"));
		for (size_t k = 0; k < sizeof(lists) / sizeof(*lists); k++)
			want(t, held_of_site(t, root, &lists[k]) > 0, "nobody holds what %s made", lists[k].site);
		json_decref(root);
	}
	fx__quit(t, &f);
}
