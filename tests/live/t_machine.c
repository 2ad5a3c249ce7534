// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Processes that are hard to look at: gone before anybody could, without their
 * first thread, or not there at all.
 */
#include "group.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* One that has ended is in another cgroup, as the kernel has it: it was in the one that it was selected by. */
TEST_ALONE(cgroup_short_lives)
{
	const char *dir = ledgers(t), *cgroup = make_cgroup(t), *name = strrchr(cgroup, '/');
	struct spawn s = { .argv = { fixture("group"), dir, "spawn", "10" }, .become = enter_cgroup, .become_arg = cgroup };
	unsigned int n_here = 0;
	struct fx f;
	struct mt m;
	json_t *root, *p;
	size_t i;

	fx__start_as(t, &f, &s);
	mt__start(t, &m, "--cgroup", cgroup, SHORT, NULL);
	mt__wait_attached(t, &m);
	/* nothing is read meanwhile: all of them are gone when they are looked at */
	child__kill(t, &m.c, SIGSTOP);
	fx__go(t, &f);
	child__kill(t, &m.c, SIGCONT);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_eq(t, "ledgers", 21, want_ledgers(t, root, dir, LED_ALL));
	json_array_foreach(jget(root, "processes"), i, p)
		n_here += jget(p, "cgroup") && strstr(jstr(p, "cgroup"), name);
	/* only some hierarchies' paths are told */
	if (n_here)
		want_eq(t, "processes that are told to be in it", json_array_size(jget(root, "processes")), n_here);
	fx__quit(t, &f);
	want(t, !rmdir(cgroup), "rmdir %s: %s", cgroup, strerror(errno));
}

TEST_ALONE(cgroup_that_is_not_there)
{
	struct mt m;

	if (access("/sys/fs/cgroup/cgroup.procs", F_OK) && access("/sys/fs/cgroup/memory/cgroup.procs", F_OK))
		skip(t, "no cgroups");
	want_eq(t, "exit status", 1, (uint64_t)mt__run(t, &m, "--cgroup", "/no/such/cgroup", "-d", "1", NULL));
	want(t, strstr(m.c.errs.s, "/no/such/cgroup: there is no such cgroup") != NULL, "stderr: %.300s", m.c.errs.s);
}

TEST_ALONE(comm_that_nobody_has)
{
	struct mt m;

	want_eq(t, "exit status", 0, (uint64_t)mt__run(t, &m, "--comm", "nobody-has-it", "-d", "1", NULL));
	want(t, strstr(m.c.errs.s, "attached; no match yet, waiting") != NULL, "stderr: %.300s", m.c.errs.s);
}

/* Its first thread has ended, which /proc takes for the process. */
TEST_ALONE(headless)
{
	struct mt m;
	struct fx f;
	json_t *root, *p;

	fx__start(t, &f, "group", ledgers(t), "headless", NULL);
	want_eq(t, "exit status of -p", 1, (uint64_t)mt__run(t, &m, "-p", pid_arg(f.c.pid), "-d", "1", NULL));
	want(t, strstr(m.c.errs.s, "the first thread of") != NULL, "stderr: %.300s", m.c.errs.s);
	mt__start(t, &m, "-f", "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL & ~LED_STACKS);
	fx__quit(t, &f);

	fx__start(t, &f, "group", ledgers(t), "headless", NULL);
	mt__start(t, &m, "-a", SHORT, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = stop_group(t, &m, SIGINT);
	p = process_of(t, root, f.c.pid, 0);
	want_ledger(t, root, p, &f.led, LED_ALL & ~LED_STACKS);
	want(t, strstr(jstr(p, "exe"), "/group") != NULL, "exe, wanted the fixture's, got '%s'", jstr(p, "exe"));
	want_bool(t, p, "ended", false);
	want(t, ju64(t, p, "rss_bytes") > 0, "rss_bytes, wanted more than 0");
	fx__quit(t, &f);
}

/*
 * Processes begin and become others while all are read: messages of what they were come after they were read as what they are,
 * and end nobody.
 */
TEST_ALONE(arrivals_while_it_attaches)
{
	struct mt m;
	struct fx f;
	json_t *root, *p;
	size_t i;

	fx__start(t, &f, "arrivals", NULL);
	fx__send(t, &f, 'g');
	mt__start(t, &m, "-a", SHORT, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = stop_group(t, &m, SIGINT);
	must(t, f.led.n_notes > 0, "wanted processes, got none");
	for (unsigned int k = 0; k < f.led.n_notes; k++) {
		uint64_t n_running = 0;

		json_array_foreach(jget(root, "processes"), i, p)
			n_running += ju64(t, p, "pid") == f.led.note[k].v && json_is_false(jget(p, "ended"));
		want(t, n_running == 1, "process %" PRIu64 " runs, wanted 1 row that does, got %" PRIu64 " among %" PRIu64 " of it",
		     f.led.note[k].v, n_running, lives_of(t, root, (pid_t)f.led.note[k].v));
	}
	json_decref(root);
	fx__quit(t, &f);
}
