// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the list of devices that do not answer, and the process that waits for each of them. What always holds: as long as it
 * waits, nobody else touches that device; all that was waited in vain for one user's files has an end; and what waits holds no probe
 * and no table.
 */
#include "elf/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "elf/elffile.h"
#include "process/maps.h"
#include "process/mounts.h"
#include "process/process.h"
#include "reader/reader.h"
#include "util/util.h"

#define ANSWER_NS (2 * SECOND_NS)	/* without a byte: a server at the other end of the world answers within that */
#define COPY_NS (10 * SECOND_NS)	/* for all of a file */
#define VAIN_NS (10 * SECOND_NS)	/* for all files of processes of one user: then none of them is tried any more */
#define HUSH_NS (30 * SECOND_NS)	/* without a process that shows when it answers again */
#define SLICE_MS 20			/* a user who asks for the end does not wait longer */
#define CHUNK_BYTES 65536
#define FILE_MAX (256ull << 20)
#define USER_MAX (256ull << 20)		/* of all copies at a time, for processes of one user, */
#define ALL_MAX (1ull << 30)		/* and for those of all users */
#define USERS_MAX 1024

struct silence {
	uint64_t key;		/* of a device, or of a list */
	int pidfd;		/* owned; of who waits for it; -1: nobody does, */
	uint64_t until_ns;	/* and it is left alone until then */
};

struct spent {
	uid_t user;
	uint64_t vain_ns;	/* what was waited in vain for files of this user's processes */
	uint64_t copied;	/* bytes of copies that there are */
};

static struct {
	pthread_mutex_t lock;
	struct vec(struct silence) silent;
	struct vec(struct spent) spent;
	uint64_t copied;	/* bytes, of all users */
	char *mounts;		/* owned; our own mountinfo */
	int mounts_fd;		/* owned; 0: not opened yet, -1: there is none */
} trials = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- which file systems */

static const char *own_mounts(void)
{
	if (!trials.mounts_fd)
		trials.mounts_fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (trials.mounts_fd >= 0 && (mounts__have_changed(trials.mounts_fd) || !trials.mounts)) {
		free(trials.mounts);
		trials.mounts = NULL;
		if (!lseek(trials.mounts_fd, 0, SEEK_SET))
			read_small_fd(trials.mounts_fd, &trials.mounts, NULL);
	}
	return trials.mounts ? trials.mounts : "";
}

/*
 * By the mount that a descriptor is on (O_PATH); else by the device. *own: our table of mounts;
 * *theirs: that of the process, which the caller frees. *ret points into one of them. Both are read
 * after the descriptor was opened: until then its mount's id may have been another mount's.
 */
static bool find_mount(pid_t pid, int fd, const struct mapping *m, const char **own, char **theirs,
		       struct mount_line *ret, bool *is_ours)
{
	unsigned int id;
	bool by_id = fd >= 0 && mounts__id_of(fd, &id);

	if (fd >= 0 && !by_id)
		return false;
	*own = own_mounts();
	*is_ours = by_id ? mounts__find_id(*own, id, ret) :
			   mounts__find_dev(*own, m->dev_major, m->dev_minor, ret);
	if (*is_ours)
		return true;
	free(*theirs);
	*theirs = mounts__of(pid);
	return *theirs && (by_id ? mounts__find_id(*theirs, id, ret) :
				   mounts__find_dev(*theirs, m->dev_major, m->dev_minor, ret));
}

/* A process may have mapped another file there since its maps were read. */
static int open_memory(const char *link)
{
	int fd = elffile__find(link);

	if (fd < 0 || mounts__fd_is_memory(fd))
		return fd;
	close(fd);
	return -ESTALE;
}

/*
 * Are calls on the mapped file sure to return? Then t->file is the file that was checked, or why it
 * cannot be opened. The device is not enough: below an overlay it may be that of another file
 * system (before 6.8), and the process may have mapped another file since. *ret_trusted: root, or
 * the user who runs malloctrace, mounted and serves it.
 */
static bool is_local(pid_t pid, const struct mapping *m, const char *link, struct trial *t, bool *ret_trusted)
{
	_cleanup_free_ char *theirs = NULL;
	_cleanup_close_ int fd = -1;
	struct mount_line mount = {};
	const char *own = "";
	bool trusted, found;

	if (mapping__is_memory(m)) {
		t->file = open_memory(link);
		return true;
	}
	trusted = mounts__are_trusted(pid);
	found = find_mount(pid, -1, m, &own, &theirs, &mount, &t->is_ours);
	if (found && mount__is_local(&mount, own)) {
		fd = elffile__find(link);
		/* it is mapped no more, or this user may not follow the link: then its path leads to it, which others may change */
		if (fd < 0 && (trusted || t->is_ours)) {
			t->file = fd;
			return true;
		}
		found = fd >= 0 && find_mount(pid, fd, m, &own, &theirs, &mount, &t->is_ours);
		if (found && mount__is_local(&mount, own)) {
			t->file = fd;
			fd = -1;
			return true;
		}
	}
	snprintf(t->type, sizeof(t->type), "%s", found ? mount.type : "unknown");
	*ret_trusted = found && (t->is_ours || trusted) &&
		       mount__has_trusted_servers(&mount, own, mounts__is_trusted_server);
	return false;
}

/* ---- the process: a copy of one of several threads, so system calls alone */

struct job {
	const char *link, *path;	/* of a mapped file; NULL: a list */
	const struct mapping *m;
	bool trusted;
	const struct trial_list *list;
	uint64_t room;			/* bytes by which the copy may grow */
	int copy, socket;
};

struct answer {
	int err;
	bool is_local, is_too_large, by_name;
	struct stat st;
};

/* The caller's; not of the mapping: -ESTALE. */
static int open_mapped(const char *path, const struct job *j, bool is_link, struct answer *a)
{
	int found = open(path, O_PATH | O_CLOEXEC);

	if (found < 0 || fstat(found, &a->st))
		return -errno;
	/* it is not mapped to learn its numbers: that takes an answer, too */
	a->by_name = !mapping__is_file(j->m, found);
	if (a->by_name && !(is_link && mapping__is_named(j->m, found)))
		return -ESTALE;
	return elffile__open_found(found);
}

/*
 * A second name would let one user pass another's file for his own; so would a mount of it in a
 * namespace of his, which takes no right to read it: that of root, too, is not his.
 */
static int check_list(const struct stat *st, uid_t user)
{
	if (S_ISLNK(st->st_mode))
		return -ELOOP;
	return !S_ISREG(st->st_mode) || st->st_nlink != 1 || st->st_uid != user ? -EPERM : 0;
}

static int open_list(const struct trial_list *l, struct stat *st)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | O_NOFOLLOW, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	int found = (int)syscall(SYS_openat2, l->root, l->path, &how, sizeof(how));

	if (found < 0 || fstat(found, st))
		return -errno;
	return check_list(st, l->user) ?: elffile__open_found(found);
}

static int copy_bytes(int from, int to, off_t at, uint64_t max, bool elf_only, bool *ret_too_large)
{
	static char buf[CHUNK_BYTES];

	while (true) {
		ssize_t got = pread(from, buf, sizeof(buf), at), put;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : 0;
		if (!at && elf_only && (got < 4 || memcmp(buf, "\177ELF", 4)))
			return 0;
		if ((uint64_t)at + (uint64_t)got > max) {
			*ret_too_large = true;
			return 0;
		}
		for (ssize_t done = 0; done < got; done += put) {
			put = pwrite(to, buf + done, (size_t)(got - done), at + done);
			if (put <= 0)
				return -ENOSPC;
		}
		at += got;
	}
}

/* Only file systems of disks say where the bytes of a file lie; FUSE does not, nor does an overlay above it. */
static bool is_on_disk(int fd)
{
	struct fiemap map = { .fm_length = FIEMAP_MAX_OFFSET };

	return !ioctl(fd, FS_IOC_FIEMAP, &map);
}

static void work(const struct job *j)
{
	struct answer a = {};
	struct stat had;
	uint64_t max;
	int fd;

	if (j->list) {
		fd = open_list(j->list, &a.st);
		if (fd >= 0 && !fstat(j->copy, &had)) {
			max = MIN(j->list->max, (uint64_t)had.st_size + j->room);
			if (a.st.st_size < had.st_size && !ftruncate(j->copy, 0))
				had.st_size = 0;
			a.err = copy_bytes(fd, j->copy, had.st_size, max, false, &a.is_too_large);
		}
	} else {
		fd = open_mapped(j->link, j, true, &a);
		if (fd < 0)
			fd = open_mapped(j->path, j, false, &a);
		a.is_local = fd >= 0 && j->trusted && is_on_disk(fd);
		if (fd >= 0 && !a.is_local)
			a.err = copy_bytes(fd, j->copy, 0, MIN(FILE_MAX, j->room), true, &a.is_too_large);
	}
	if (fd < 0)
		a.err = fd;
	reader_socket__put(j->socket, &a, sizeof(a), !j->list && fd >= 0 && (j->trusted || is_on_disk(fd)) ? fd : -1, MSG_NOSIGNAL);
}

/* Tables that are mapped would stay as long as a process has them that cannot be ended. */
static void keep_tables_from_children(void)
{
	struct maps maps;

	if (maps__read(getpid(), &maps, NULL))
		return;
	for (size_t i = 0; i < maps.n; i++)
		if (!strncmp(maps.v[i].path, "anon_inode:", strlen("anon_inode:")))
			madvise((void *)(uintptr_t)maps.v[i].start, maps.v[i].end - maps.v[i].start, MADV_DONTFORK);
	maps__done(&maps);
}

static void close_all_but(const int *keep, size_t n)
{
	for (int fd = 0; fd >= 0;) {
		int next = -1;

		for (size_t i = 0; i < n; i++)
			if (keep[i] >= fd && (next < 0 || keep[i] < next))
				next = keep[i];
		if (next != fd)
			syscall(SYS_close_range, fd, next < 0 ? ~0u : (unsigned int)next - 1, 0);
		fd = next < 0 ? -1 : next + 1;
	}
}

/* Its pidfd, or -errno. It ends by itself, with or without the file, unless it has to wait. Nobody is told of its end. */
static int send_out(const struct job *j)
{
	pid_t parent = getpid();
	int pidfd = -1;
	long pid;

	keep_tables_from_children();
	pid = syscall(SYS_clone, CLONE_PIDFD, NULL, &pidfd, NULL, NULL);
	if (pid < 0)
		return -errno;
	if (pid)
		return pidfd;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent) {
		close_all_but((int[]){ j->copy, j->socket, j->list ? j->list->root : j->copy }, 3);
		work(j);
	}
	_exit(0);
}

static bool is_over(int pidfd, int wait_ms)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	if (poll(&p, 1, wait_ms) <= 0)
		return false;
	waitid(P_PIDFD, pidfd, &(siginfo_t){}, WEXITED | WNOHANG | __WALL);
	return true;
}

/* ---- who does not answer */

static bool is_silent(uint64_t key)
{
	bool is = false;

	for (size_t i = trials.silent.n; i-- > 0;) {
		struct silence *s = &trials.silent.v[i];

		if (s->key != key)
			continue;
		if (s->pidfd >= 0 ? !is_over(s->pidfd, 0) : now_ns() < s->until_ns) {
			is = true;
			continue;
		}
		if (s->pidfd >= 0)
			close(s->pidfd);
		*s = trials.silent.v[--trials.silent.n];
	}
	return is;
}

/* Users beyond the bound share one row. */
static struct spent *spent_by(uid_t user)
{
	static struct spent others;
	struct spent *s;

	for (size_t i = 0; i < trials.spent.n; i++)
		if (trials.spent.v[i].user == user)
			return &trials.spent.v[i];
	if (trials.spent.n == USERS_MAX)
		return &others;
	s = vec_push(&trials.spent);
	s->user = user;
	return s;
}

void trial_charge__set(struct trial_charge *c, uint64_t bytes)
{
	struct spent *s;

	if (c->bytes == bytes)
		return;
	pthread_mutex_lock(&trials.lock);
	s = spent_by(c->user);
	s->copied += bytes - c->bytes;
	trials.copied += bytes - c->bytes;
	c->bytes = bytes;
	pthread_mutex_unlock(&trials.lock);
}

/* ---- a trial */

static off_t size_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_size;
}

/* Takes pidfd. */
static enum trial_verdict await(uint64_t key, uid_t user, int copy, int pidfd)
{
	uint64_t begun_ns = now_ns(), heard_ns = begun_ns;
	off_t size = size_of(copy);
	bool called_off = false;

	while (now_ns() - heard_ns < ANSWER_NS && now_ns() - begun_ns < COPY_NS && !called_off) {
		off_t now;

		if (is_over(pidfd, SLICE_MS)) {
			close(pidfd);
			return TRIAL_COPIED;
		}
		now = size_of(copy);
		if (now != size)
			heard_ns = now_ns();
		size = now;
		called_off = readers__is_end(begun_ns);
	}
	syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	pthread_mutex_lock(&trials.lock);
	spent_by(user)->vain_ns += now_ns() - begun_ns;
	*vec_push(&trials.silent) = (struct silence){ key, pidfd, now_ns() + HUSH_NS };
	pthread_mutex_unlock(&trials.lock);
	return called_off ? TRIAL_CALLED_OFF : TRIAL_SILENT;
}

/* Has the file copied into j->copy. *ret_file: a descriptor, or -1. */
static enum trial_verdict run(struct job *j, uint64_t key, uid_t user, struct answer *ret, int *ret_file)
{
	uint64_t max = j->list ? j->list->max : FILE_MAX;
	enum trial_verdict verdict;
	int pair[2], pidfd;

	*ret_file = -1;
	pthread_mutex_lock(&trials.lock);
	j->room = MIN(USER_MAX - MIN(spent_by(user)->copied, USER_MAX), ALL_MAX - MIN(trials.copied, ALL_MAX));
	verdict = is_silent(key) ? TRIAL_SILENT : spent_by(user)->vain_ns > VAIN_NS ? TRIAL_NOT_TRIED :
		  !j->room && !j->trusted && !j->list ? TRIAL_NO_ROOM : TRIAL_COPIED;
	pthread_mutex_unlock(&trials.lock);
	if (verdict != TRIAL_COPIED)
		return verdict;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return TRIAL_NOT_TRIED;
	j->socket = pair[1];
	pidfd = send_out(j);
	close(pair[1]);
	verdict = pidfd < 0 ? TRIAL_NOT_TRIED : await(key, user, j->copy, pidfd);
	/* it was killed, perhaps for lack of memory */
	if (verdict == TRIAL_COPIED && reader_socket__get(pair[0], ret, sizeof(*ret), ret_file, MSG_DONTWAIT) != (ssize_t)sizeof(*ret))
		verdict = TRIAL_NOT_TRIED;
	close(pair[0]);
	if (verdict == TRIAL_COPIED && ret->is_too_large)
		verdict = (uint64_t)ret->st.st_size > max ? TRIAL_TOO_LARGE : TRIAL_NO_ROOM;
	if (verdict == TRIAL_COPIED && ret->err)
		verdict = TRIAL_FAILED;
	if (verdict == TRIAL_COPIED && ret->is_local)
		verdict = TRIAL_LOCAL;
	return verdict;
}

void trial__of(pid_t pid, const struct mapping *m, const char *link, struct trial *ret)
{
	_cleanup_free_ char *path = xasprintf("/proc/%d/root%s", (int)pid, m->path);
	struct job j = { .link = link, .path = path, .m = m };
	struct answer a = {};
	bool local;

	*ret = (struct trial){ .copy = -1, .file = -ESTALE, .charge.user = process__owner(pid) };
	pthread_mutex_lock(&trials.lock);
	local = is_local(pid, m, link, ret, &j.trusted);
	pthread_mutex_unlock(&trials.lock);
	if (local)
		return;
	ret->verdict = TRIAL_NOT_TRIED;
	ret->copy = memfd_create("malloctrace-copy", MFD_CLOEXEC);
	j.copy = ret->copy;
	if (ret->copy >= 0)
		ret->verdict = run(&j, makedev(m->dev_major, m->dev_minor), ret->charge.user, &a, &ret->file);
	ret->st = a.st;
	ret->err = a.err;
	if (ret->verdict == TRIAL_COPIED) {
		ret->by_name = a.by_name;
		trial_charge__set(&ret->charge, (uint64_t)size_of(ret->copy));
		return;
	}
	if (ret->copy >= 0)
		close(ret->copy);
	ret->copy = -1;
	if (ret->verdict == TRIAL_LOCAL)
		return;
	if (ret->file >= 0)
		close(ret->file);
	ret->file = -1;
}

/* ---- lists */

int trial__copy_list(struct trial_list *l, int copy)
{
	uint64_t key = 1ull << 63 | (uint32_t)l->pid;
	struct job j = { .list = l, .copy = copy };
	enum trial_verdict verdict;
	struct answer a = {};
	int file;

	if (!l->charge.bytes)
		l->charge.user = process__owner(l->pid);
	verdict = run(&j, key, l->charge.user, &a, &file);
	trial_charge__set(&l->charge, (uint64_t)size_of(copy));
	switch (verdict) {
	case TRIAL_TOO_LARGE:
	case TRIAL_NO_ROOM:
		/* names are missing, and no figures */
		readers__lose_file(l->path, key, 0, verdict == TRIAL_TOO_LARGE ?
				   "it is too large to be copied whole from its file system, which may not answer" :
				   "copies of files whose file systems may not answer have 256 MiB for one user, 1 GiB for all, which are used up", false);
		return 0;
	case TRIAL_COPIED:
		return 0;
	case TRIAL_FAILED:
		return a.err;
	default:
		return -EREMOTEIO;
	}
}

bool trial__find_list(const struct trial_list *l, int *ret)
{
	struct stat st;
	int found = path_walk__mapped(l->pid, l->root, l->path), err;

	if (found == -EXDEV || found == -ELOOP)
		return false;
	*ret = found;
	err = found < 0 ? 0 : fstat(found, &st) ? -errno : check_list(&st, l->user);
	if (err) {
		close(found);
		*ret = err;
	}
	return true;
}
