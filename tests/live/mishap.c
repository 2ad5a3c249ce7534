// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns who makes calls fail. Memory: a library that is preloaded (tests/fixtures/libmishap.c). System calls: the kernel asks before
 * each of those in the table (a seccomp filter with a listener), and a process beside the test answers, so that all of them
 * are met, whichever library makes them: the kernel goes on with the call, or it has failed.
 *
 * What always holds: calls of malloctrace's own process are counted, and no others: not those of children, nor of a target.
 */
#include "mishap.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROW(call, kind, err, of) { __NR_##call, #call, kind, err, of }

/* What its first or its second argument is, for those who want to know which file it was. */
enum of_call { OF_NOTHING, OF_FD, OF_PATH, OF_PATH_AT };

static const struct call {
	int nr;
	const char *name;
	enum mishap_kind kind;
	int err;
	enum of_call of;
} calls[] = {
	ROW(bpf, MISHAP_KERNEL, ENOMEM, OF_NOTHING),
	ROW(perf_event_open, MISHAP_KERNEL, EMFILE, OF_NOTHING),
	ROW(openat, MISHAP_FILES, EMFILE, OF_PATH_AT),
	ROW(read, MISHAP_FILES, EIO, OF_FD),
	ROW(pread64, MISHAP_FILES, EIO, OF_FD),
	ROW(fstat, MISHAP_FILES, EIO, OF_FD),
	ROW(newfstatat, MISHAP_FILES, EIO, OF_PATH_AT),
	ROW(statx, MISHAP_FILES, EIO, OF_PATH_AT),
	ROW(readlinkat, MISHAP_FILES, EIO, OF_PATH_AT),
	ROW(getdents64, MISHAP_FILES, EIO, OF_FD),
	ROW(faccessat, MISHAP_FILES, EIO, OF_PATH_AT),
	ROW(process_vm_readv, MISHAP_FILES, ENOMEM, OF_NOTHING),
	ROW(write, MISHAP_WRITES, EIO, OF_FD),
	ROW(writev, MISHAP_WRITES, EIO, OF_FD),
	ROW(pwrite64, MISHAP_WRITES, EIO, OF_FD),
	ROW(renameat, MISHAP_WRITES, EIO, OF_PATH_AT),
	ROW(mmap, MISHAP_OTHERS, ENOMEM, OF_NOTHING),
	ROW(mremap, MISHAP_OTHERS, ENOMEM, OF_NOTHING),
	ROW(clone, MISHAP_OTHERS, EAGAIN, OF_NOTHING),
	ROW(clone3, MISHAP_OTHERS, EAGAIN, OF_NOTHING),
	ROW(pipe2, MISHAP_OTHERS, EMFILE, OF_NOTHING),
	ROW(dup, MISHAP_OTHERS, EMFILE, OF_FD),
	ROW(dup3, MISHAP_OTHERS, EMFILE, OF_NOTHING),
	ROW(fcntl, MISHAP_OTHERS, EMFILE, OF_FD),
	ROW(ioctl, MISHAP_OTHERS, EIO, OF_FD),
	ROW(epoll_create1, MISHAP_OTHERS, EMFILE, OF_NOTHING),
	ROW(epoll_ctl, MISHAP_OTHERS, ENOMEM, OF_NOTHING),
	ROW(timerfd_create, MISHAP_OTHERS, EMFILE, OF_NOTHING),
	ROW(timerfd_settime, MISHAP_OTHERS, EINVAL, OF_NOTHING),
	ROW(eventfd2, MISHAP_OTHERS, EMFILE, OF_NOTHING),
	ROW(signalfd4, MISHAP_OTHERS, EMFILE, OF_NOTHING),
	ROW(inotify_init1, MISHAP_OTHERS, EMFILE, OF_NOTHING),
	ROW(inotify_add_watch, MISHAP_OTHERS, ENOSPC, OF_NOTHING),
	ROW(pidfd_open, MISHAP_OTHERS, EMFILE, OF_NOTHING),
	ROW(getrandom, MISHAP_OTHERS, EAGAIN, OF_NOTHING),
	ROW(kcmp, MISHAP_COMPARES, EPERM, OF_NOTHING),
#ifdef __NR_open
	ROW(open, MISHAP_FILES, EMFILE, OF_PATH),
	ROW(stat, MISHAP_FILES, EIO, OF_PATH),
	ROW(lstat, MISHAP_FILES, EIO, OF_PATH),
	ROW(readlink, MISHAP_FILES, EIO, OF_PATH),
	ROW(access, MISHAP_FILES, EIO, OF_PATH),
	ROW(rename, MISHAP_WRITES, EIO, OF_PATH),
	ROW(dup2, MISHAP_OTHERS, EMFILE, OF_NOTHING),
#endif
};
#define N_CALLS (sizeof(calls) / sizeof(*calls))

static char path[256];		/* of the file */
static int ours = -1, theirs = -1;	/* the way that the listener takes from malloctrace-to-be */
static pid_t answers;		/* who answers; it ends with the last one that asks */

static uint64_t asked_at;	/* in the run under way; 0: none */

static bool wants_all(void)
{
	const char *how = getenv("MISHAPS");

	return how && !strncmp(how, "all", strlen("all"));
}

struct walk mishap__walk(const struct mishap *m, uint64_t some)
{
	uint64_t step = 1, n[2] = { 1, UINT64_MAX };

	/* of all that there are, or of those that stand behind the word: from n[0] to n[1]; a run may make more calls than another */
	if (wants_all()) {
		sscanf(getenv("MISHAPS"), "%*s %" SCNu64 "-%" SCNu64, &n[0], &n[1]);
		return (struct walk){ n[0], 1, n[1] };
	}
	/* a power of two, so that a few calls more or less are the same walk */
	while (step * 2 * some <= m->n_calls)
		step *= 2;
	return (struct walk){ 1, step, m->n_calls };
}

bool walk__next(struct walk *w, const struct mishap *m)
{
	w->at += w->step;
	return m->n_failed && w->at <= w->last;
}

void walk__tell(const struct walk *w, const char *what, enum mishap_kind kind)
{
	const char *of = kind == MISHAP_KERNEL ? "kernel" : kind == MISHAP_FILES ? "files" : kind == MISHAP_WRITES ? "writes" : kind == MISHAP_MEMORY ? "memory" :
			 "others";

	/* the one that it ended at was there no more, or is not asked for */
	if (wants_all())
		printf("%s, %s: up to call %llu, each failed in its turn\n", what, of, (unsigned long long)w->at - 1);
}

struct mishap *mishap__new(struct test *t)
{
	struct mishap *m;
	int fd;

	snprintf(path, sizeof(path), "%s", in_dir(t, "mishap"));
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	must(t, fd >= 0 && !ftruncate(fd, sizeof(*m)), "%s: %s", path, strerror(errno));
	m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(t, m != MAP_FAILED, "mmap: %s", strerror(errno));
	close(fd);
	return m;
}

void mishap__has_been(struct test *t, const struct mishap *m)
{
	if (m->n_failed)
		about(t, "call %" PRIu64 "%s, %.700s: ", asked_at, m->lasting ? " and all after it" : "", m->where);
	else
		about(t, "no call failed: ");
}

void mishap__ask(struct test *t, struct mishap *m, uint64_t at, bool lasting)
{
	about(t, "call %" PRIu64 "%s: ", at, lasting ? " and all after it" : "");
	asked_at = at;
	m->at = at;
	m->lasting = lasting;
	m->pid = 0;
	m->n_calls = m->n_failed = 0;
	m->where[0] = 0;
}

/* ---- in malloctrace-to-be */

static enum mishap_kind filtered;

/* Sends the listener, and is filtered from here on; what the loader does is not counted. */
static int be_watched(const void *arg)
{
	struct sock_filter f[2 * N_CALLS + 2];
	struct sock_fprog prog = { .filter = f };
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr h;
	} control = {};
	struct iovec byte = { "", 1 };
	struct msghdr msg = { .msg_iov = &byte, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control.room) };
	int fd;

	f[prog.len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < N_CALLS; i++) {
		if (!(calls[i].kind & filtered))
			continue;
		f[prog.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i].nr, 0, 1);
		f[prog.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	}
	f[prog.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	fd = (int)syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
	if (fd < 0)
		return -1;
	control.h = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&control.h), &fd, sizeof(fd));
	return sendmsg(theirs, &msg, 0) == 1 ? 0 : -1;
}

/* ---- beside the test */

static int receive(void)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr h;
	} control = {};
	char c;
	struct iovec byte = { &c, 1 };
	struct msghdr msg = { .msg_iov = &byte, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control.room) };
	int fd;

	if (recvmsg(ours, &msg, 0) != 1 || msg.msg_controllen < CMSG_LEN(sizeof(int)))
		_exit(0);
	memcpy(&fd, CMSG_DATA(&control.h), sizeof(fd));
	return fd;
}

static const struct call *call_of(int nr)
{
	size_t i = 0;

	while (i < N_CALLS - 1 && calls[i].nr != nr)
		i++;
	return &calls[i];
}

static bool is_thread_of(pid_t pid, uint32_t tid)
{
	char task[64];

	snprintf(task, sizeof(task), "/proc/%d/task/%u", (int)pid, tid);
	return !access(task, F_OK);
}

/* The path that it was given, or that of the file which it is about. */
static void find_file(const struct seccomp_notif *n, const struct call *c, char *ret, size_t room)
{
	char link[64];
	ssize_t len = 0;

	ret[0] = 0;
	if (c->of == OF_PATH || c->of == OF_PATH_AT) {
		uint64_t from = n->data.args[c->of == OF_PATH_AT];
		/* not beyond the page: what comes after it may not be there */
		size_t left = 4096 - from % 4096, most = left < room ? left : room - 1;
		struct iovec to = { ret, most }, at = { (void *)from, most };

		len = process_vm_readv((pid_t)n->pid, &to, 1, &at, 1, 0);
	}
	/* with an empty path it is about the descriptor */
	if (c->of == OF_FD || (c->of == OF_PATH_AT && !ret[0])) {
		snprintf(link, sizeof(link), "/proc/%u/fd/%d", n->pid, (int)n->data.args[0]);
		len = readlink(link, ret, room - 1);
	}
	ret[len > 0 ? len : 0] = 0;
}

static bool is_about(const struct mishap *m, const char *file)
{
	return (!m->of[0][0] && !m->of[1][0]) || (m->of[0][0] && strstr(file, m->of[0])) || (m->of[1][0] && strstr(file, m->of[1]));
}

static bool fails(struct mishap *m, const struct seccomp_notif *n, const struct call *c)
{
	char file[256];
	uint64_t at;

	if (!m->pid || !is_thread_of(m->pid, n->pid) || (c->kind == MISHAP_WRITES && n->data.args[0] == 2 && c->nr != __NR_renameat))
		return false;
	find_file(n, c, file, sizeof(file));
	if (!is_about(m, file))
		return false;
	at = ++m->n_calls;
	if (!m->at || (m->lasting ? at < m->at : at != m->at))
		return false;
	if (!m->n_failed++)
		snprintf(m->where, sizeof(m->where), "%s(%#llx, %#llx, %#llx, %#llx) %s", c->name, (unsigned long long)n->data.args[0],
			 (unsigned long long)n->data.args[1], (unsigned long long)n->data.args[2], (unsigned long long)n->data.args[3], file);
	return true;
}

static _Noreturn void answer(struct mishap *m)
{
	int listener;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* pipes of fixtures among them, which would not end */
	if (ours != 3)
		dup2(ours, 3);
	ours = 3;
	syscall(__NR_close_range, 4u, ~0u, 0);
	listener = receive();
	for (;;) {
		struct pollfd p = { .fd = listener, .events = POLLIN };
		struct seccomp_notif n = {};
		struct seccomp_notif_resp r = {};
		const struct call *c;

		if (poll(&p, 1, -1) < 0)
			continue;
		if (!(p.revents & POLLIN))
			_exit(0);
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &n))
			continue;
		c = call_of(n.data.nr);
		r.id = n.id;
		if (fails(m, &n, c))
			r.error = -c->err;
		else
			r.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &r);
	}
}

void mishap__prepare(struct test *t, struct mishap *m, enum mishap_kind kind, struct spawn *s)
{
	static char preload[4200], where[300];
	int fds[2];

	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", fixture("libmishap.so"));
	snprintf(where, sizeof(where), MISHAP_ENV "=%s", path);
	s->env[0] = preload;
	s->env[1] = where;
	m->in_memory = kind == MISHAP_MEMORY;
	if (m->in_memory)
		return;
	must(t, !socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), "socketpair: %s", strerror(errno));
	ours = fds[0];
	theirs = fds[1];
	filtered = kind;
	if (answers)
		waitpid(answers, NULL, 0);
	fflush(NULL);
	answers = fork();
	must(t, answers >= 0, "fork: %s", strerror(errno));
	if (!answers)
		answer(m);
	close(ours);
	s->become = be_watched;
}

void mishap__begun(void)
{
	if (theirs >= 0)
		close(theirs);
	theirs = -1;
}
