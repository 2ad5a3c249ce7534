// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Children that share their parent's memory: what they do with its heap is its own. */
#include "chain.h"
#include "group.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* From 6.12 on the kernel runs no programs of the parent's links for them: right, or told. */
TEST(vfork_right_or_told)
{
	struct fx f;
	struct mt m;
	json_t *root, *p;

	fx__start(t, &f, "life", "vfork", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = stop_group(t, &m, SIGINT);
	p = process_of(t, root, f.c.pid, 0);
	if (!ju64(t, root, "losses.borrowed_unseen")) {
		want_ledger(t, root, p, &f.led, LED_ALL);
	} else {
		want_u64(t, root, "losses.borrowed_unseen", 1);
		/* three of 13 allocations are the child's */
		want_u64(t, p, "totals.alloc_calls", ledger__sum(&f.led, LED_ALLOC_CALLS) - 3);
	}
	fx__quit(t, &f);
}

/* As the words of that loss say. */
TEST(vfork_followed)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, "life", "vfork", NULL);
	root = trace(t, &f, 0, "-f", NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL & ~LED_ONLY);
	fx__quit(t, &f);
}

/* Most of them touch no heap: nothing to tell. */
TEST(vfork_spawn)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, "life", "spawn", NULL);
	root = trace(t, &f, 0, NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	fx__quit(t, &f);
}

/*
 * The same with another tracer's uretprobe pending in the parent: the kernel hands its note of that down to such children,
 * who look as if they had met breakpoints of their own then. That is not known, and no loss.
 */
TEST(vfork_spawn_pending)
{
	uint64_t hits = 0, unclear;
	json_t *root;
	struct fx f;
	struct mt m;
	int fd;

	fx__start(t, &f, "life", "place-spawn", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	fd = other_uretprobe(t, fixture("life"), ledger__note(t, &f.led, "with_spawned"), f.c.pid);
	fx__go(t, &f);
	must(t, read(fd, &hits, sizeof(hits)) == sizeof(hits), "read: %s", strerror(errno));
	want_eq(t, "hits of the other tracer's probe", 1, hits);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	unclear = ju64(t, root, "edges.borrowed_unclear");
	/* before 6.12 the kernel runs the programs for them, and all is known */
	want(t, !unclear || unclear == 5, "edges.borrowed_unclear: wanted none or all 5, got %lu", (unsigned long)unclear);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	close(fd);
	fx__quit(t, &f);
}
