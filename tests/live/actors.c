// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing: who runs malloctrace in a test, and what they may. */
#include "actors.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

/* ---- becoming someone */

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int failed = fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return failed;
}

static int enter_user_ns(uid_t uid)
{
	char map[64];

	/* else its files in /proc are root's */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	if (unshare(CLONE_NEWUSER))
		return -1;
	snprintf(map, sizeof(map), "0 %u 1", uid);
	return write_file("/proc/self/setgroups", "deny") || write_file("/proc/self/uid_map", map) ||
	       write_file("/proc/self/gid_map", map);
}

static int set_caps(uint64_t caps)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2] = {
		{ (uint32_t)caps, (uint32_t)caps, (uint32_t)caps },
		{ (uint32_t)(caps >> 32), (uint32_t)(caps >> 32), (uint32_t)(caps >> 32) },
	};

	if (syscall(SYS_capset, &head, d))
		return -1;
	for (unsigned long cap = 0; cap <= CAP_LAST_CAP; cap++)
		if (caps & BIT(cap) && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0))
			return -1;
	return 0;
}

int become(const void *arg)
{
	const struct actor *a = arg;

	for (unsigned long cap = 0; cap <= CAP_LAST_CAP; cap++)
		if (a->not_in_bounds & BIT(cap) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
			return -1;
	if (a->no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	if (!a->uid)
		return 0;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || setgroups(0, NULL) || setresgid(a->uid, a->uid, a->uid) ||
	    setresuid(a->uid, a->uid, a->uid) || set_caps(a->caps))
		return -1;
	return a->user_ns ? enter_user_ns(a->uid) : 0;
}

/* ---- the program and its targets */

const char *own_copy(struct test *t)
{
	const char *bin = in_dir(t, "malloctrace");

	if (access(bin, F_OK))
		copy_file(t, lt_bin, bin);
	return bin;
}

const char *copy_with_caps(struct test *t, uint64_t caps)
{
	const char *bin = own_copy(t);
	struct vfs_cap_data v = {
		.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
		.data = { { (uint32_t)caps, 0 }, { (uint32_t)(caps >> 32), 0 } },
	};
	struct statvfs fs;

	if (setxattr(bin, "security.capability", &v, sizeof(v), 0))
		skip(t, "files in %s cannot have capabilities: %s", t->dir, strerror(errno));
	if (!statvfs(bin, &fs) && fs.f_flag & ST_NOSUID)
		skip(t, "%s is mounted nosuid", t->dir);
	return bin;
}

void start_fixture(struct test *t, struct fx *f, const char *name, uid_t uid, bool closed, const char *what)
{
	const char *path = in_dir(t, "%s-%u-%d", name, uid, closed);
	struct spawn s = { .argv = { path, what, "10" }, .uid = uid };

	if (access(path, F_OK)) {
		copy_file(t, fixture(name), path);
		must(t, !chown(path, uid, uid) && !chmod(path, closed ? 0500 : 0755), "chown %s: %s", path, strerror(errno));
	}
	fx__start_as(t, f, &s);
}

bool has_multi(struct test *t)
{
	struct mt m;
	const char *row;

	want_eq(t, "root's doctor: exit status", 0, (uint64_t)mt__run(t, &m, "doctor", NULL));
	want(t, strstr(m.c.outs.s, "\nyes: malloctrace can trace processes of all users\n") != NULL, "doctor, wanted a yes, got: %.900s", m.c.outs.s);
	row = strstr(m.c.outs.s, "\n  uprobe_multi ");
	must(t, row != NULL, "doctor, wanted a row uprobe_multi, got: %.600s", m.c.outs.s);
	return strstr(row, " ok ") && strstr(row, " ok ") < strchr(row + 1, '\n');
}
