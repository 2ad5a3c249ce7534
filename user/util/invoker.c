// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing beyond a call. What always holds: after it the thread has the rights that it had before. */
#include "util/invoker.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/magic.h>
#include <pwd.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

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
struct invoker_rights invoker__begin_below_sudo(void)
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

char *invoker__real_path(const char *path)
{
	struct invoker_rights r = invoker__begin();
	char *real = realpath(path, NULL);

	invoker__end(&r);
	return real;
}

int invoker__open_named(const char *path)
{
	struct invoker_rights r = invoker__begin();
	int fd = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		fd = -errno;
	invoker__end(&r);
	return fd;
}

/* ---- directories on whose way nobody else has put a link */

/* One name after the other is opened, each in a directory that is open: nobody can change the way behind us. */

#define LINKS_MAX 40	/* as in the kernel */

/* The kernel's rule for sticky directories (protected_symlinks), for every directory in which others can make links. */
static bool is_trusted(const struct stat *link, const struct stat *dir)
{
	uid_t uid;
	gid_t gid;

	return !(dir->st_mode & (S_IWGRP | S_IWOTH)) || link->st_uid == dir->st_uid || !link->st_uid || link->st_uid == geteuid() ||
	       (invoker__find(&uid, &gid) && link->st_uid == uid);
}

static bool is_of_proc(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

static void move_to(int *dir_fd, int fd)
{
	close(*dir_fd);
	*dir_fd = fd;
}

int link__put_target_before(int link_fd, char **rest)
{
	char target[PATH_MAX], *way;
	ssize_t n = readlinkat(link_fd, "", target, sizeof(target));

	if (n < 0 || (size_t)n + 1 + strlen(*rest) >= sizeof(target))
		return n < 0 ? -errno : -ENAMETOOLONG;
	way = xasprintf("%.*s/%s", (int)n, target, *rest);
	free(*rest);
	*rest = way;
	return 0;
}

static int follow(int *dir_fd, const char *name, char **rest, struct err *why)
{
	_cleanup_close_ int link_fd = openat(*dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat link, dir;
	int fd, err;

	if (link_fd < 0 || fstat(link_fd, &link) || fstat(*dir_fd, &dir))
		return -errno;
	if (!S_ISLNK(link.st_mode))
		return -ENOTDIR;
	/* the kernel's own links: their text is not always a path */
	if (is_of_proc(link_fd)) {
		fd = openat(*dir_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		move_to(dir_fd, fd);
		return 0;
	}
	if (!is_trusted(&link, &dir))
		return err_set(why, -ELOOP, "uid %u made the symbolic link %s, where others can write; name the directory itself", link.st_uid, name);
	err = link__put_target_before(link_fd, rest);
	if (!err && **rest == '/') {
		fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		move_to(dir_fd, fd);
	}
	return err;
}

int trusted_dir__open(const char *dir, struct err *why)
{
	_cleanup_close_ int fd = open(*dir == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_free_ char *rest = xstrdup(dir);
	unsigned int n_links = 0;
	int err = fd < 0 ? -errno : 0, ret;

	while (!err) {
		size_t begin = strspn(rest, "/"), len = strcspn(rest + begin, "/");
		_cleanup_free_ char *name = xstrndup(rest + begin, len);

		if (!len)
			break;
		memmove(rest, rest + begin + len, strlen(rest + begin + len) + 1);
		ret = openat(fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (ret >= 0)
			move_to(&fd, ret);
		else
			err = errno != ENOTDIR ? -errno : n_links++ < LINKS_MAX ? follow(&fd, name, &rest, why) : -ELOOP;
	}
	ret = fd;
	if (!err)
		fd = -1;
	return err ? err : ret;
}

/* ---- how many files may be open */

/* Owns RLIMIT_NOFILE, and what it was when malloctrace began. */

/* A trace of one process has some 90 open, without files of its target. */
#define OWN 160
#define LEAST 256

static struct rlimit former;
static bool raised;

int descriptors__raise(struct err *e)
{
	struct rlimit r;

	if (raised || getrlimit(RLIMIT_NOFILE, &r))
		return 0;
	former = r;
	r.rlim_cur = r.rlim_max;
	raised = r.rlim_cur != former.rlim_cur && !setrlimit(RLIMIT_NOFILE, &r);
	if (r.rlim_max >= LEAST)
		return 0;
	return err_set(e, -EMFILE, "only %llu files may be open at a time (ulimit -Hn, LimitNOFILE=), and malloctrace needs %d: raise the limit",
		       (unsigned long long)r.rlim_max, LEAST);
}

void descriptors__restore(void)
{
	if (raised)
		setrlimit(RLIMIT_NOFILE, &former);
}

void descriptors__keep_only(int fd)
{
	if (dup2(fd, STDIN_FILENO) < 0 || syscall(__NR_close_range, STDIN_FILENO + 1, ~0u, 0))
		_exit(EXIT_FAILURE);
}

uint64_t descriptors__for_targets(void)
{
	struct rlimit r;

	/* of many, a quarter: probes take some, too */
	return getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur < OWN ? 0 : MIN(r.rlim_cur - OWN, r.rlim_cur / 4 * 3);
}

/* ---- the environment */

/* Owns `environ` while it is a clean one: the strings are those that the kernel put there. */

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
#define VALUE_MAX 64

/* Names of terminals and locales become parts of paths: no slash in them. */
static const struct {
	const char *name, *letters;
} kept_rows[] = {
	{ "TERM", LETTERS "+._-" },
	{ "LANG", LETTERS "._@-" },
	{ "LC_ALL", LETTERS "._@-" },
	{ "LC_CTYPE", LETTERS "._@-" },
	/* a zone, or a rule; what begins with a slash or a colon would be any file */
	{ "TZ", LETTERS "+-_/,.<>" },
	{ "NO_COLOR", LETTERS },
};

static char **former_environ;	/* NULL: it is as it was */

bool environment__is_of_another(void)
{
	return getauxval(AT_SECURE);
}

static bool is_harmless(const char *entry)
{
	for (size_t i = 0; i < ARRAY_SIZE(kept_rows); i++) {
		size_t len = strlen(kept_rows[i].name);
		const char *value = entry + len + 1;

		if (strncmp(entry, kept_rows[i].name, len) || entry[len] != '=')
			continue;
		return strlen(value) <= VALUE_MAX && value[strspn(value, kept_rows[i].letters)] == '\0' && value[0] != '/' &&
		       value[0] != '.' && !strstr(value, "..");
	}
	return false;
}

void environment__clean(void)
{
	static char *clean[ARRAY_SIZE(kept_rows) + 1];
	size_t n = 0;

	if (!environment__is_of_another() || former_environ)
		return;
	/* one that is there twice counts once: the first */
	for (char **entry = environ; *entry && n < ARRAY_SIZE(kept_rows); entry++)
		if (is_harmless(*entry))
			clean[n++] = *entry;
	former_environ = environ;
	environ = clean;
}

void environment__restore(void)
{
	if (former_environ)
		environ = former_environ;
}
