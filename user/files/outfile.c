// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how output files come to be. malloctrace runs as root and is told to
 * write into directories that others may write to, so:
 *
 *   - a regular file is written under a name that nobody can guess (O_EXCL,
 *     O_NOFOLLOW, mode 0600) in the same directory, and renamed at the end. The
 *     directory is held open from the first check to the rename, so both names
 *     mean the same directory throughout;
 *   - rename replaces a symbolic link and never follows it, so a link that
 *     appears between the check and the commit does no harm;
 *   - on the way to the directory, a symbolic link is followed only if another
 *     user cannot have planted it there (util/invoker.h);
 *   - all of it is done with the rights of the user who named the file, whatever
 *     malloctrace itself may do;
 *   - nothing else is written to, but for a descriptor that we were given and
 *     devices of which it is known what that does. A FIFO would be read by whoever
 *     put it there, and its reader decides when the trace ends; it is refused.
 *
 * What always holds: until commit succeeds, what was at the path is as it was.
 */
#include "files/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include "files/export.h"
#include "util/invoker.h"
#include "util/parse.h"
#include "util/util.h"

#define MAX_HELD 64

enum kind {
	KIND_FD,	/* a descriptor that we were given */
	KIND_DIRECT,	/* a device of devices[] */
	KIND_FILE,	/* a regular file, or nothing yet */
};

struct dest {
	enum kind kind;
	int fd;			/* KIND_FD: which */
	int dir_fd;		/* KIND_FILE: owned */
	const char *name;	/* KIND_FILE: within the directory */
};

/* -1: path names no descriptor of ours */
static int as_descriptor(const char *path)
{
	static const char *const dirs[] = { "/dev/fd/", "/proc/self/fd/" };
	uint64_t fd;

	if (!strcmp(path, "-") || !strcmp(path, "/dev/stdout"))
		return STDOUT_FILENO;
	if (!strcmp(path, "/dev/stderr"))
		return STDERR_FILENO;
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		size_t len = strlen(dirs[i]);

		if (!strncmp(path, dirs[i], len) && !parse_u64(path + len, 0, INT32_MAX, &fd))
			return (int)fd;
	}
	return -1;
}

static char *dir_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? xstrndup(path, MAX(slash - path, 1)) : xstrdup(".");
}

/*
 * Directories as they were when the trace began: whoever owns one above them may put another one, or a link, in their place
 * meanwhile, and root's file would be written there.
 */
static struct {
	char *dir;
	int fd;
} held[MAX_HELD];
static size_t n_held;

static int held_dir(const char *dir, struct err *why)
{
	int fd;

	for (size_t i = 0; i < n_held; i++)
		if (!strcmp(held[i].dir, dir)) {
			fd = fcntl(held[i].fd, F_DUPFD_CLOEXEC, 0);
			return fd < 0 ? -errno : fd;
		}
	return trusted_dir__open(dir, why);
}

int outfile__dir(const char *path, const char **ret_name)
{
	_cleanup_free_ char *dir = dir_of(path);
	const char *slash = strrchr(path, '/');

	*ret_name = slash ? slash + 1 : path;
	return held_dir(dir, NULL);
}

static void hold_dir(const char *path, int fd)
{
	char *dir = fd >= 0 && n_held < MAX_HELD ? dir_of(path) : NULL;

	for (size_t i = 0; dir && i < n_held; i++)
		if (!strcmp(held[i].dir, dir)) {
			free(dir);
			dir = NULL;
		}
	if (!dir)
		return;
	held[n_held].dir = dir;
	held[n_held].fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (held[n_held].fd >= 0)
		n_held++;
	else
		free(dir);
}

static int open_dir(const char *path, const char **ret_name, int *ret_fd, struct err *e)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *dir = dir_of(path);
	_cleanup_err_ struct err why = {};
	int fd, err;

	*ret_name = slash ? slash + 1 : path;
	if (!**ret_name || !strcmp(*ret_name, ".") || !strcmp(*ret_name, ".."))
		return err_set(e, -EISDIR, "cannot write %s: it names a directory, not a file", path);
	fd = held_dir(dir, &why);
	if (fd < 0)
		return err_set(e, fd, "cannot write %s: directory %s: %s", path, dir, why.code ? err_msg(&why) : strerror(-fd));
	if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS)) {
		err = -errno;
		close(fd);
		return err_set(e, err, "cannot write %s: directory %s may not be written to: %s", path, dir,
			       strerror(-err));
	}
	*ret_fd = fd;
	return 0;
}

/* What it means to write to them is known, and none of them keeps us waiting but the user's own terminal. */
static const struct {
	unsigned int major, minor;
} devices[] = {
	{ 1, 3 },	/* /dev/null */
	{ 1, 7 },	/* /dev/full */
	{ 5, 0 },	/* /dev/tty */
};

static bool is_usable_device(const struct stat *st)
{
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++)
		if (S_ISCHR(st->st_mode) && major(st->st_rdev) == devices[i].major && minor(st->st_rdev) == devices[i].minor)
			return true;
	return false;
}

static int cannot(const char *path, int err, struct err *e)
{
	return err_set(e, err, "cannot write %s: %s", path, strerror(-err));
}

static int find_direct(const char *path, struct dest *d, struct err *e)
{
	if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS))
		return cannot(path, -errno, e);
	d->kind = KIND_DIRECT;
	return 0;
}

static const char *kind_word(mode_t mode)
{
	return S_ISFIFO(mode) ? "a FIFO" : S_ISSOCK(mode) ? "a socket" : S_ISDIR(mode) ? "a directory" : "a device";
}

/* In a sticky directory, rename refuses to replace a file of another user. */
static bool is_replaceable(const struct stat *st, int dir_fd)
{
	uid_t uid = (uid_t)setfsuid((uid_t)-1);		/* which changes nothing */
	struct stat dir;

	return !uid || fstat(dir_fd, &dir) || !(dir.st_mode & S_ISVTX) || dir.st_uid == uid || st->st_uid == uid;
}

/* For a regular file that may be replaced, or a name that is free. */
static int find_file(const char *path, struct dest *d, struct err *e)
{
	struct stat st;
	int err;

	err = open_dir(path, &d->name, &d->dir_fd, e);
	if (err)
		return err;
	d->kind = KIND_FILE;
	if (fstatat(d->dir_fd, d->name, &st, AT_SYMLINK_NOFOLLOW)) {
		if (errno == ENOENT)
			return 0;
		err = cannot(path, -errno, e);
	} else if (S_ISLNK(st.st_mode)) {
		err = err_set(e, -ELOOP,
			      "cannot write %s: it is a symbolic link; name the file itself, or remove the link",
			      path);
	} else if (!S_ISREG(st.st_mode)) {
		err = err_set(e, S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL, "cannot write %s: it is %s, not a file%s", path,
			      kind_word(st.st_mode), S_ISFIFO(st.st_mode) ? "; for a pipe, write to standard output" : "");
	} else if (faccessat(d->dir_fd, d->name, W_OK, AT_EACCESS)) {
		/* rename would not ask: a file that is write-protected is meant to stay */
		err = cannot(path, -errno, e);
	} else if (!is_replaceable(&st, d->dir_fd)) {
		err = err_set(e, -EPERM, "cannot write %s: it belongs to uid %u, in a directory where only that user may replace it", path,
			      st.st_uid);
	}
	if (err) {
		close(d->dir_fd);
		d->dir_fd = -1;
	}
	return err;
}

static int find(const char *path, struct dest *d, struct err *e)
{
	struct stat st;
	int flags;

	*d = (struct dest){ .fd = as_descriptor(path), .dir_fd = -1 };
	if (!*path)
		return err_set(e, -EINVAL, "cannot write to a file without a name");
	if (d->fd >= 0) {
		d->kind = KIND_FD;
		flags = fcntl(d->fd, F_GETFL);
		/* those of our own are closed at exec: nobody gave them to us */
		if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || fcntl(d->fd, F_GETFD) & FD_CLOEXEC)
			return err_set(e, -EBADF, "cannot write %s: it is not open for writing", path);
		return 0;
	}
	if (!lstat(path, &st) && is_usable_device(&st))
		return find_direct(path, d, e);
	return find_file(path, d, e);
}

int outfile__check(const char *path, struct err *e)
{
	struct invoker_rights own = invoker__begin();
	struct dest d;
	int err = find(path, &d, e);

	invoker__end(&own);
	if (!err) {
		hold_dir(path, d.dir_fd);
		cleanup_close(&d.dir_fd);
	}
	return err;
}

/* An open descriptor, or -errno */
static int open_direct(const char *path, struct err *e)
{
	/* O_NONBLOCK: a FIFO that took its place would hold us here for good, with signals blocked */
	_cleanup_close_ int fd = open(path, O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	int ret;

	if (fd < 0)
		return cannot(path, -errno, e);
	if (fstat(fd, &st) || !is_usable_device(&st))
		return err_set(e, -EAGAIN, "cannot write %s: it changed while it was opened", path);
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) < 0)
		return cannot(path, -errno, e);
	ret = fd;
	fd = -1;
	return ret;
}

/* Under sudo the file is the user's who typed it: they will want to read it without sudo. */
static void give_to_invoker(int fd)
{
	uid_t uid;
	gid_t gid;

	if (invoker__find(&uid, &gid) && fchown(fd, uid, gid)) {
		/* a file system without owners: root's it stays */
	}
}

static int open_tmp(int dir_fd, const char *path, char **ret_tmp, struct err *e)
{
	_cleanup_free_ char *tmp = NULL;
	uint64_t salt;
	int fd;

	if (getrandom(&salt, sizeof(salt), 0) != sizeof(salt))
		return err_set(e, -EIO, "cannot write %s: no random number for a temporary name", path);
	tmp = xasprintf(".malloctrace-%016" PRIx64, salt);
	fd = openat(dir_fd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return cannot(path, -errno, e);
	give_to_invoker(fd);
	*ret_tmp = tmp;
	tmp = NULL;
	return fd;
}

/* The one that is being written: a program that ends for want of memory (util/util.h) leaves none behind. */
static struct outfile *unfinished;

static void remove_unfinished(void)
{
	if (unfinished && unfinished->tmp)
		unlinkat(unfinished->dir_fd, unfinished->tmp, 0);
}

static int open_file(struct outfile *ret, const char *path, struct err *e)
{
	static bool registered;
	struct outfile o = { .dir_fd = -1 };
	struct dest d;
	int fd, err = find(path, &d, e);

	if (err)
		return err;
	o.dir_fd = d.dir_fd;
	o.path = xstrdup(path);
	if (d.kind == KIND_FD) {
		/* what stdio still holds for this descriptor comes before what we write */
		fflush(NULL);
		fd = fcntl(d.fd, F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			fd = cannot(path, -errno, e);
	} else if (d.kind == KIND_DIRECT) {
		fd = open_direct(path, e);
	} else {
		fd = open_tmp(d.dir_fd, path, &o.tmp, e);
	}
	if (fd < 0) {
		err = fd;
		goto fail;
	}
	o.f = fdopen(fd, "w");
	if (!o.f) {
		err = cannot(path, -errno, e);
		close(fd);
		goto fail;
	}
	/* one thread writes it: a lock for each character would take a third of the time */
	__fsetlocking(o.f, FSETLOCKING_BYCALLER);
	*ret = o;
	if (!registered)
		atexit(remove_unfinished);
	registered = true;
	unfinished = ret;
	return 0;
fail:
	outfile__abort(&o);
	return err;
}

int outfile__open(struct outfile *ret, const char *path, struct err *e)
{
	struct invoker_rights own = invoker__begin();
	int err = open_file(ret, path, e);

	invoker__end(&own);
	return err;
}

static void done(struct outfile *o)
{
	if (unfinished == o)
		unfinished = NULL;
	cleanup_close(&o->dir_fd);
	free(o->path);
	free(o->tmp);
	*o = (struct outfile){ .dir_fd = -1 };
}

/* It was a pipe, and no process reads it any more. */
static bool is_broken_pipe(FILE *f)
{
	struct pollfd p = { .fd = fileno(f), .events = POLLOUT };

	return poll(&p, 1, 0) == 1 && p.revents & POLLERR;
}

static bool is_full(FILE *f)
{
	struct statvfs s;

	return !fstatvfs(fileno(f), &s) && s.f_blocks && !s.f_bavail;
}

const char *outfile__name(const char *path)
{
	return strcmp(path, "-") ? path : "standard output";
}

int outfile__error(struct outfile *o)
{
	bool failed = ferror(o->f);

	/* stdio remembers that a write failed, not why: what it still holds is tried again */
	errno = 0;
	if (!fflush(o->f) && !failed)
		return 0;
	if (!errno && is_broken_pipe(o->f))
		return -EPIPE;
	/* nothing is held any more: one byte more does no harm to a file that is not whole */
	if (errno || write(fileno(o->f), "", 1) < 0)
		return -errno;
	return is_full(o->f) ? -ENOSPC : -EIO;
}

static int move_into_place(const struct outfile *o)
{
	struct invoker_rights own = invoker__begin();
	int err = renameat(o->dir_fd, o->tmp, o->dir_fd, path_basename(o->path)) ? -errno : 0;

	invoker__end(&own);
	return err;
}

int outfile__commit(struct outfile *o, struct err *e)
{
	int err = outfile__error(o);

	if (fclose(o->f) && !err)
		err = errno ? -errno : -EIO;
	o->f = NULL;
	if (!err && o->tmp)
		err = move_into_place(o);
	if (err) {
		cannot(outfile__name(o->path), err, e);
		outfile__abort(o);
		return err;
	}
	done(o);
	return 0;
}

void outfile__abort(struct outfile *o)
{
	if (o->f)
		fclose(o->f);
	o->f = NULL;
	if (o->tmp)
		unlinkat(o->dir_fd, o->tmp, 0);
	done(o);
}

char *outfile__numbered(const char *path, unsigned int n)
{
	size_t stem = strlen(path) - export__suffix_len(path);
	struct stat st;

	if (as_descriptor(path) >= 0 || (!lstat(path, &st) && !S_ISREG(st.st_mode)))
		return xstrdup(path);
	return xasprintf("%.*s.%u%s", (int)stem, path, n, path + stem);
}
