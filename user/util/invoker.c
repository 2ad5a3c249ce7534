// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing beyond a call. What always holds: after it the thread has the rights that it had before. */
#include "util/invoker.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/parse.h"
#include "util/util.h"

bool invoker__find(uid_t *ret_uid, gid_t *ret_gid)
{
	const char *uid_text = getenv("SUDO_UID"), *gid_text = getenv("SUDO_GID");
	uint64_t uid, gid;
	struct passwd *pw;

	if (geteuid() != 0 || !uid_text || parse_u64(uid_text, 0, UINT32_MAX - 1, &uid))
		return false;
	if (!gid_text || parse_u64(gid_text, 0, UINT32_MAX - 1, &gid)) {
		pw = getpwuid((uid_t)uid);
		gid = pw ? pw->pw_gid : uid;
	}
	*ret_uid = (uid_t)uid;
	*ret_gid = (gid_t)gid;
	return true;
}

int invoker__become(void)
{
	struct passwd *pw;
	uid_t uid;
	gid_t gid;

	if (!invoker__find(&uid, &gid))
		return 0;
	pw = getpwuid(uid);
	if (pw ? initgroups(pw->pw_name, gid) : setgroups(0, NULL))
		return -errno;
	return setresgid(gid, gid, gid) || setresuid(uid, uid, uid) ? -errno : 0;
}

/* ---- for a while */

static void put_caps(const struct __user_cap_data_struct *caps)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };

	if (syscall(SYS_capset, &head, caps))
		abort();
}

/* This thread's alone: libcap's functions may mean all of them. Root's rights over files go by its uid. */
struct invoker_rights invoker__begin(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct less[_LINUX_CAPABILITY_U32S_3];
	struct invoker_rights r = {};

	if (!geteuid())
		return r;
	if (syscall(SYS_capget, &head, r.caps))
		abort();
	memcpy(less, r.caps, sizeof(less));
	for (size_t i = 0; i < ARRAY_SIZE(less); i++) {
		r.has_caps |= less[i].effective;
		less[i].effective = 0;
	}
	if (r.has_caps)
		put_caps(less);
	return r;
}

/* The kernel takes root's rights over files from the thread meanwhile. */
static struct invoker_rights begin_below_sudo(void)
{
	struct invoker_rights r = invoker__begin();
	uid_t uid;
	gid_t gid;

	r.other = invoker__find(&uid, &gid);
	if (r.other) {
		r.was_gid = (gid_t)setfsgid(gid);
		r.was_uid = (uid_t)setfsuid(uid);
	}
	return r;
}

void invoker__end(const struct invoker_rights *r)
{
	if (r->other) {
		setfsuid(r->was_uid);
		setfsgid(r->was_gid);
	}
	if (r->has_caps)
		put_caps(r->caps);
}

/* ---- files */

static int open_with(struct invoker_rights r, const char *path, int flags, mode_t mode)
{
	int fd = open(path, flags, mode);

	if (fd < 0)
		fd = -errno;
	invoker__end(&r);
	return fd;
}

char *invoker__real_path(const char *path)
{
	struct invoker_rights r = invoker__begin();
	char *real = realpath(path, NULL);

	invoker__end(&r);
	return real;
}

int invoker__open_named(const char *path, int flags, mode_t mode)
{
	return open_with(invoker__begin(), path, flags, mode);
}

int invoker__open(const char *path, int flags, mode_t mode)
{
	return open_with(begin_below_sudo(), path, flags, mode);
}

static int open_regular(const char *path)
{
	int found = open(path, O_PATH | O_CLOEXEC), fd;
	char link[64];
	struct stat st;

	if (found < 0)
		return -errno;
	if (fstat(found, &st) || !S_ISREG(st.st_mode)) {
		close(found);
		return -ENOENT;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
	fd = open(link, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	close(found);
	return fd;
}

int invoker__open_to_read(const char *path)
{
	struct invoker_rights r = begin_below_sudo();
	int fd = open_regular(path);

	invoker__end(&r);
	return fd;
}
