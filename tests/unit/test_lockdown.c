// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Who a child becomes that meets what is hostile, where all numbers of users are to be had and where they are not. As root. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reader/lockdown.h"
#include "util/util.h"

#define STRANGERS_FROM 0x80000000u
#define STRANGERS_TO 0xbfffffffu
#define NOBODY 65534

struct who {
	uint64_t uid, gid;
};

static void write_map(pid_t pid, const char *name, const char *map)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_WRONLY);
	cr_assert(fd >= 0 && write(fd, map, strlen(map)) == (ssize_t)strlen(map), "%s", path);
	close(fd);
}

/* It begins when its user namespace has these numbers (map NULL: as we), and tells its status. */
static _Noreturn void be_child(bool apart, int go, int said, int out)
{
	static char *const argv[] = { "cat", "/proc/self/status", NULL }, *const envp[] = { NULL };
	const int fds[] = { -1, out, -1 };
	char c;

	if (apart && unshare(CLONE_NEWUSER))
		_exit(1);
	if (write(said, "", 1) != 1 || read(go, &c, 1) != 1)
		_exit(1);
	lockdown__exec(&(struct lockdown_start){ open("/bin/cat", O_PATH | O_CLOEXEC), fds, ARRAY_SIZE(fds), argv, envp });
}

static struct who who_with(const char *map)
{
	char status[8192], c;
	struct who w = {};
	size_t n = 0;
	ssize_t got;
	int go[2], said[2], out[2];
	pid_t pid;

	cr_assert(!pipe(go) && !pipe(said) && !pipe(out));
	pid = fork();
	cr_assert(pid >= 0);
	if (!pid)
		be_child(map, go[0], said[1], out[1]);
	close(out[1]);
	close(said[1]);
	if (read(said[0], &c, 1) != 1)
		cr_skip("no user namespaces here");
	if (map) {
		write_map(pid, "uid_map", map);
		write_map(pid, "gid_map", map);
	}
	cr_assert_eq(write(go[1], "", 1), 1);
	while ((got = read(out[0], status + n, sizeof(status) - 1 - n)) > 0)
		n += (size_t)got;
	status[n] = 0;
	cr_assert(strstr(status, "\nUid:") && strstr(status, "\nGid:"), "it said: %s", status);
	w.uid = strtoull(strstr(status, "\nUid:") + 5, NULL, 10);
	w.gid = strtoull(strstr(status, "\nGid:") + 5, NULL, 10);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	return w;
}

static bool is_stranger(const struct who *w)
{
	return w->uid >= STRANGERS_FROM && w->uid <= STRANGERS_TO && w->gid == w->uid;
}

Test(lockdown, is_somebody_that_nobody_is)
{
	struct who a, b;

	if (geteuid())
		cr_skip("not root");
	a = who_with(NULL);
	b = who_with(NULL);
	cr_expect(is_stranger(&a), "%llu", (unsigned long long)a.uid);
	cr_expect(is_stranger(&b), "%llu", (unsigned long long)b.uid);
	/* once in a billion times */
	cr_expect_neq(a.uid, b.uid);
}

Test(lockdown, is_nobody_where_there_is_no_stranger)
{
	struct who w;

	if (geteuid())
		cr_skip("not root");
	w = who_with("0 0 65536");
	cr_expect_eq(w.uid, NOBODY);
	cr_expect_eq(w.gid, NOBODY);
	/* nor that one: it stays who it is, which is judged when it runs */
	w = who_with("0 0 1");
	cr_expect_eq(w.uid, 0);
}
