// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The starter and its readers: two lives of one program, which is malloctrace under another name.
 *
 * The starter owns the readers that it has forked. It takes nothing from them and reads no file, so what it hands on to the
 * next reader is always a process that has met nothing hostile.
 *
 * A reader is a user that nobody else is, if malloctrace is root, without capabilities; what it can still do is to read descriptors
 * that were sent to it, to manage its own memory, and to answer. It can open, start, signal and connect to nothing, nor
 * make memory executable. Memory and time are limited by the kernel, the time of a request by malloctrace.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "reader/lockdown.h"
#include "reader/reader.h"
#include "util/util.h"

#define CONTROL_FD 0
#define ARGS_MAX (64u << 20)

/* A sanitizer reserves more addresses than there are. */
#if defined(__SANITIZE_ADDRESS__)
#define MOST_BYTES RLIM_INFINITY
#define MOST_ADDRESSES RLIM_INFINITY
#else
#define MOST_BYTES (2ull << 30)		/* that it takes */
#define MOST_ADDRESSES (24ull << 30)	/* big files of root are mapped */
#endif

static const struct lockdown_limit starter_limits[] = {
	{ RLIMIT_CORE, 0 },
	{ RLIMIT_FSIZE, 0 },
	{ RLIMIT_MEMLOCK, 0 },
	{ RLIMIT_MSGQUEUE, 0 },
	{ RLIMIT_DATA, MOST_BYTES },
	{ RLIMIT_AS, MOST_ADDRESSES },
	{ RLIMIT_NOFILE, 4096 },
}, reader_limits[] = {
	{ RLIMIT_NPROC, 0 },
	{ RLIMIT_CPU, 600 },	/* over its life: of a request it is malloctrace's clock that counts */
};

#define CALL LOCKDOWN_CALL
#define NO_CODE .arg = 2, .none_of = PROT_EXEC

static const struct lockdown_call reader_calls[] = {
	CALL(read), CALL(pread64), CALL(write), CALL(recvmsg), CALL(recvfrom), CALL(sendmsg), CALL(sendto), CALL(close),
	CALL(fstat), CALL(newfstatat), CALL(lseek), LOCKDOWN_FCNTL,
	{ .number = __NR_mmap, NO_CODE }, { .number = __NR_mprotect, NO_CODE }, CALL(munmap), CALL(mremap), CALL(madvise), CALL(brk),
	CALL(futex), CALL(getrandom), CALL(sysinfo), CALL(clock_gettime), CALL(gettimeofday), CALL(sched_yield),
	CALL(sched_getaffinity), CALL(getpid), CALL(gettid), CALL(rt_sigprocmask), CALL(rt_sigaction), CALL(rt_sigreturn),
	CALL(rt_sigpending), CALL(timer_create), CALL(timer_settime), CALL(timer_delete), CALL(fstatfs), CALL(restart_syscall), CALL(exit), CALL(exit_group),
#if defined(__x86_64__)
	{ .number = NR_URETPROBE }, { .number = NR_UPROBE },
#endif
};

/* What the starter needs beside that. */
static const struct lockdown_call starter_calls[] = {
	CALL(clone), CALL(wait4), CALL(kill), CALL(prctl), CALL(prlimit64), CALL(set_robust_list), CALL(rseq),
	CALL(dup3), CALL(close_range), CALL(clock_nanosleep), CALL(nanosleep),
#if defined(__x86_64__)
	CALL(dup2), CALL(fork),
#endif
};

/* ---- a reader */

static int own_fd = -1;		/* the socket */

static void put(const void *bytes, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t put = reader_socket__put(own_fd, (const char *)bytes + done, n - done, -1, 0);

		if (put < 0 && errno != EINTR)
			_exit(1);
		done += put > 0 ? (size_t)put : 0;
	}
}

/* false: there will be no more */
static bool get(void *bytes, size_t n, int *ret_fd)
{
	*ret_fd = -1;
	for (size_t done = 0; done < n;) {
		int fd;
		ssize_t got = reader_socket__get(own_fd, (char *)bytes + done, n - done, &fd, 0);

		if (fd >= 0)
			*ret_fd = fd;
		if (!got || (got < 0 && errno != EINTR))
			return false;
		done += got > 0 ? (size_t)got : 0;
	}
	return true;
}

static void put_frame(enum reader_frame what, int err, const struct wire *w)
{
	struct reader_head head = { .what = what, .err = err, .len = w->n };

	put(&head, sizeof(head));
	put(w->v, w->n);
}

bool reader_child__is(void)
{
	return own_fd >= 0;
}

int reader_child__wish(const struct wire *wish)
{
	struct reader_head head;
	int fd;

	put_frame(FRAME_WISH, 0, wish);
	if (!get(&head, sizeof(head), &fd))
		_exit(1);
	return head.err ? head.err : fd >= 0 ? fd : -EMFILE;
}

void reader_child__flush(struct reader_request *q)
{
	if (!q->out.n)
		return;
	put_frame(FRAME_PART, 0, &q->out);
	q->out.n = 0;
}

static int serve(const struct reader_question *about, struct wire_in *in, struct reader_request *q)
{
	_cleanup_free_ void *args = xcalloc(1, about->args->size), *answer = xcalloc(1, about->answer->size);
	int err = -EINVAL;

	q->path = wire_in__string(in, ARGS_MAX);
	if (wire_in__get(in, about->args, args)) {
		err = about->serve(q, args, answer);
		if (err)
			wire__string(&q->out, err_msg(&q->e));
		else if (!q->sent)
			wire__put(&q->out, about->answer, answer);
		wire_type__done(about->answer, answer);
		wire_type__done(about->args, args);
	}
	err_done(&q->e);
	return err;
}

static _Noreturn void read_files(const struct reader_question *const questions[])
{
	struct reader_head head;
	int fd;

	while (get(&head, sizeof(head), &fd)) {
		struct reader_request q = { .fd = fd };
		unsigned char *args;
		struct wire_in in;
		int err, none;

		if (head.len > ARGS_MAX || head.what >= N_READER_KINDS)
			_exit(1);
		args = xmalloc(head.len + 1);
		if (!get(args, head.len, &none))
			_exit(1);
		in = (struct wire_in){ .at = args, .end = args + head.len };
		err = serve(questions[head.what], &in, &q);
		put_frame(q.tired ? FRAME_TIRED : FRAME_DONE, err, &q.out);
		if (q.fd >= 0)
			close(q.fd);
		wire__done(&q.out);
		free(args);
	}
	/* not exit(): there is nothing to be done by others */
	_exit(0);
}

static _Noreturn void become_reader(int fd, const struct reader_question *const questions[])
{
	own_fd = fd;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || dup3(fd, CONTROL_FD, 0) < 0)
		_exit(1);
	own_fd = CONTROL_FD;
	if (syscall(__NR_close_range, 3, ~0u, 0) || lockdown__limit(reader_limits, ARRAY_SIZE(reader_limits)) ||
	    lockdown__allow(reader_calls, ARRAY_SIZE(reader_calls)))
		_exit(1);
	read_files(questions);
}

/* ---- the starter */

#define DYING_MS 50		/* that one which was killed is waited for */

/* One that waits for a file system which does not answer dies when that does: its place is free then. */
static struct {
	pid_t pid;		/* 0: nobody's */
	bool dying;
} readers[READERS_MAX];

static void bury_dying(void)
{
	for (size_t i = 0; i < READERS_MAX; i++)
		if (readers[i].dying && waitpid(readers[i].pid, NULL, WNOHANG) == readers[i].pid) {
			readers[i].pid = 0;
			readers[i].dying = false;
		}
}

static int start(int fd, const struct reader_question *const questions[])
{
	size_t i;
	pid_t pid;

	bury_dying();
	for (i = 0; i < READERS_MAX && readers[i].pid; i++)
		;
	if (i == READERS_MAX)
		return READERS_ALL_TAKEN;
	pid = fork();
	if (!pid)
		become_reader(fd, questions);
	if (pid < 0)
		return -errno;
	readers[i].pid = pid;
	return pid;
}

/* How it ended, as of waitpid; 0: it has not yet. */
static int end(pid_t pid)
{
	struct timespec moment = { 0, (long)MS_NS };
	int status = 0;

	for (size_t i = 0; i < READERS_MAX; i++)
		if (readers[i].pid == pid && !readers[i].dying) {
			readers[i].dying = true;
			/* one that died by itself says of what: it is not yet buried */
			for (unsigned int ms = 0; ms <= DYING_MS; ms++) {
				if (waitpid(pid, &status, WNOHANG) == pid) {
					readers[i].pid = 0;
					readers[i].dying = false;
					return status;
				}
				if (!ms)
					kill(pid, SIGKILL);
				nanosleep(&moment, NULL);
			}
		}
	return 0;
}

static int confine(void)
{
	struct lockdown_call calls[ARRAY_SIZE(reader_calls) + ARRAY_SIZE(starter_calls)];
	int err = lockdown__give_up_rights(ROOT_POWERLESS);

	memcpy(calls, reader_calls, sizeof(reader_calls));
	memcpy(calls + ARRAY_SIZE(reader_calls), starter_calls, sizeof(starter_calls));
	prctl(PR_SET_NAME, READER_CHILD_NAME);
	return err ?: lockdown__limit(starter_limits, ARRAY_SIZE(starter_limits)) ?: lockdown__allow(calls, ARRAY_SIZE(calls));
}

int reader_child__main(const struct reader_question *const questions[N_READER_KINDS])
{
	struct starter_request q;
	int err = confine(), fd;
	ssize_t got;

	/* to malloctrace its status is an errno, and so is that of a reader */
	xmalloc__end_with(ENOMEM);
	if (err)
		return -err;
	do {
		struct starter_answer a = {};

		got = reader_socket__get(CONTROL_FD, &q, sizeof(q), &fd, 0);
		if (got != sizeof(q))
			continue;
		if (q.end)
			a.status = end(q.end);
		else
			a.pid = fd < 0 ? -EMFILE : start(fd, questions);
		if (fd >= 0)
			close(fd);
		if (reader_socket__put(CONTROL_FD, &a, sizeof(a), -1, 0) < 0)
			break;
	} while (got > 0 || (got < 0 && errno == EINTR));
	/* they are nobody's then, and are buried by whom that falls to */
	for (size_t i = 0; i < READERS_MAX; i++)
		if (readers[i].pid)
			kill(readers[i].pid, SIGKILL);
	return 0;
}
