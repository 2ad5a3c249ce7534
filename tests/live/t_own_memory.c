// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* malloctrace in a memory cgroup with little room: the kernel would kill it, without a word. */
#include "group.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Either version; to be removed by the test. */
static const char *make_room(struct test *t, const char *bytes)
{
	static const char *const parents[] = { "/sys/fs/cgroup/memory", "/sys/fs/cgroup" };
	static char cgroup[128];

	for (size_t i = 0; i < sizeof(parents) / sizeof(*parents); i++) {
		snprintf(cgroup, sizeof(cgroup), "%s/malloctrace-own-%d", parents[i], getpid());
		put_text(parents[i], "cgroup.subtree_control", "+memory");
		if (mkdir(cgroup, 0755))
			continue;
		put_text(cgroup, "memory.swap.max", "0");
		if (put_text(cgroup, "memory.max", bytes) || put_text(cgroup, "memory.limit_in_bytes", bytes))
			return cgroup;
		rmdir(cgroup);
	}
	skip(t, "no memory cgroup can be made below /sys/fs/cgroup");
}

/* Tables are made for the room that there is, and the trace is whole. */
TEST_ALONE(own_memory_is_kept_to)
{
	const char *cgroup = make_room(t, "335544320");
	struct spawn s = { .argv = { lt_bin, "--comm", "when", "--json" }, .become = enter_cgroup, .become_arg = cgroup };
	json_t *root;
	struct fx f;
	struct mt m;

	fx__start(t, &f, "when", NULL);
	mt__start_v(t, &m, &s);
	mt__wait_attached(t, &m);
	fx__send(t, &f, 's');
	fx__read_ledger(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	fx__quit(t, &f);
	want(t, !rmdir(cgroup), "rmdir %s: %s", cgroup, strerror(errno));
}

/* Where even the smallest do not fit, it says so instead of being killed. */
TEST_ALONE(own_memory_is_too_little)
{
	const char *cgroup = make_room(t, "104857600");
	struct spawn s = { .argv = { lt_bin, "-a", "-d", "1" }, .become = enter_cgroup, .become_arg = cgroup };
	struct mt m;

	mt__start_v(t, &m, &s);
	want_eq(t, "exit status", 1, (uint64_t)child__wait(t, &m.c));
	want(t, strstr(m.c.errs.s, cgroup) && strstr(m.c.errs.s, "lower --max-live"), "stderr, wanted the cgroup and what to do, got: %.600s", m.c.errs.s);
	want(t, !rmdir(cgroup), "rmdir %s: %s", cgroup, strerror(errno));
}
