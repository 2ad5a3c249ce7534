// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing beyond a call. What always holds: after it the thread has the rights that it had before. */
#include "util/invoker.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/parse.h"

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

struct rights {
	bool other;
	uid_t was_uid;
	gid_t was_gid;
};

/* This thread's alone: the kernel takes root's rights over files from it meanwhile. */
static struct rights lower(void)
{
	struct rights r = {};
	uid_t uid;
	gid_t gid;

	r.other = invoker__find(&uid, &gid);
	if (r.other) {
		r.was_gid = (gid_t)setfsgid(gid);
		r.was_uid = (uid_t)setfsuid(uid);
	}
	return r;
}

static void restore(const struct rights *r)
{
	if (!r->other)
		return;
	setfsuid(r->was_uid);
	setfsgid(r->was_gid);
}

int invoker__open(const char *path, int flags, mode_t mode)
{
	struct rights r = lower();
	int fd = open(path, flags, mode);

	if (fd < 0)
		fd = -errno;
	restore(&r);
	return fd;
}

static int open_regular(const char *path)
{
	char link[64];
	struct stat st;
	int found, fd;

	/* of a user who is not root, access() asks without capabilities */
	if (geteuid() && access(path, R_OK))
		return -errno;
	found = open(path, O_PATH | O_CLOEXEC);
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
	struct rights r = lower();
	int fd = open_regular(path);

	restore(&r);
	return fd;
}
