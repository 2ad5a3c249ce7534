// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Who a child becomes that meets what is hostile, where all numbers of users are to be had and where they are not. As root. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuse_made.h"
#include "reader/lockdown.h"
#include "util/util.h"

#define STRANGERS_FROM 0x80000000u
#define STRANGERS_TO 0xbfffffffu
#define NOBODY 65534

#define USER 12345

struct who {
	uint64_t uid, gid, caps;
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
static _Noreturn void be_child(bool apart, uid_t uid, int go, int said, int out)
{
	static char *const argv[] = { "cat", "/proc/self/status", NULL };
	pid_t pid;
	char c;

	if (apart && unshare(CLONE_NEWUSER))
		_exit(1);
	/* a user who holds capabilities that are not ambient */
	if (uid && (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid)))
		_exit(1);
	if (write(said, "", 1) != 1 || read(go, &c, 1) != 1)
		_exit(1);
	pid = lockdown__spawn(&(struct lockdown_start){ "/bin/cat", { -1, out, -1 }, 3, argv });
	_exit(pid < 0 || waitpid(pid, NULL, 0) != pid);
}

static struct who who_with(const char *map, uid_t uid)
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
		be_child(map, uid, go[0], said[1], out[1]);
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
	w.caps = strtoull(strstr(status, "\nCapPrm:") + 8, NULL, 16);
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
	a = who_with(NULL, 0);
	b = who_with(NULL, 0);
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
	w = who_with("0 0 65536", 0);
	cr_expect_eq(w.uid, NOBODY);
	cr_expect_eq(w.gid, NOBODY);
	/* nor that one: it stays who it is, which is judged when it runs */
	w = who_with("0 0 1", 0);
	cr_expect_eq(w.uid, 0);
}

/* An exec makes it dumpable: its capabilities are all that keeps others of that user from tracing it until it gives them up. */
Test(lockdown, keeps_capabilities_up_to_its_first_instruction)
{
	struct who w;

	if (geteuid())
		cr_skip("not root");
	w = who_with(NULL, USER);
	cr_expect_eq(w.uid, USER);
	cr_expect(w.caps & 1ull << CAP_DAC_READ_SEARCH, "%llx", (unsigned long long)w.caps);
	/* a stranger has no use for them */
	w = who_with(NULL, 0);
	cr_expect_eq(w.caps, 0);
}

/* One that cannot become undumpable gives up nothing. */
static _Noreturn void give_up_dumpable(bool refused)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_prctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_DUMPABLE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	cap_flag_value_t held = CAP_CLEAR;
	int err;

	if (refused && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &(struct sock_fprog){ ARRAY_SIZE(f), f }))
		_exit(1);
	err = lockdown__give_up_rights(ROOT_POWERLESS);
	cap_get_flag(cap_get_proc(), CAP_DAC_READ_SEARCH, CAP_PERMITTED, &held);
	if (refused)
		_exit(err == -ENOSYS && held == CAP_SET ? 0 : 2);
	_exit(!err && held == CAP_CLEAR && !prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) ? 0 : 3);
}

Test(lockdown, is_undumpable_before_it_gives_up_capabilities)
{
	if (geteuid())
		cr_skip("not root");
	for (int refused = 0; refused < 2; refused++) {
		pid_t pid = fork();
		int status;

		if (!pid)
			give_up_dumpable(refused);
		cr_assert_eq(waitpid(pid, &status, 0), pid);
		cr_expect_eq(status, 0, "%#x", status);
	}
}

/* A call that a server has taken up ends when that answers, and not by a signal: nobody waits for such a child. */
Test(lockdown, ends_a_child_that_cannot_die_yet, .timeout = 30)
{
	struct fuse_made f;
	uint64_t from_ns;
	int status;
	pid_t pid;
	char c;

	fuse_made__begin(&f);
	pid = fork();
	if (!pid)
		_exit(read(open(f.file, O_RDONLY), &c, 1) < 0);
	cr_assert_eq(read(f.waits, &c, 1), 1);
	from_ns = now_ns();
	cr_expect_eq(lockdown__end(pid), 0);
	cr_expect_lt(now_ns() - from_ns, SECOND_NS);
	fuse_made__end(&f);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect(WIFSIGNALED(status));
	pid = fork();
	if (!pid)
		pause();
	cr_expect_eq(WTERMSIG(lockdown__end(pid)), SIGKILL);
}
