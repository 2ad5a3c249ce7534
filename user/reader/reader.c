// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the starter and the readers.
 *
 * What always holds: one request at a time is under way in a reader (its lock); an answer is taken whole, so that a reader
 * that dies in the middle has said nothing; whatever a reader does, a request ends in bounded time, and much sooner if an end
 * is asked for. A reader that died is tried once more with a fresh one: it may have been somebody else, or what it kept of
 * other files. One that was too slow is not.
 *
 * A shared reader has read files of one owner on one file system only: whoever takes it over by a
 * file cannot answer for another owner's. It is ended before it would be given one, and the starter
 * forks a fresh one.
 *
 * Locks, in this order: a reader's own, for as long as a request takes; desk.talk, for as long as the starter takes to answer;
 * desk.lock, which nobody waits for another process with: every record of a process asks whether it is one of ours.
 */
#include "reader/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "reader/lockdown.h"
#include "reader/reader_parts.h"
#include "util/signals.h"
#include "util/util.h"

#define START_NS (20 * SECOND_NS)	/* for the starter to come up and answer */
#define ANSWER_MAX (256ull << 20)	/* bytes */
#define WISH_MAX (64u << 10)
#define WISHES_MAX 256	/* each function of --within looks for a debug file at several paths */
#define N_SHARED 3

/* Who may have made a file. */
struct origin {
	bool is_anyones;	/* it may be anyone's, whatever its owner */
	dev_t dev;
	uid_t uid;		/* -1: there is no file */
};

struct reader {
	pthread_mutex_t lock;
	int fd;			/* -1: it is not running */
	struct origin origin;	/* of all that a shared one has read, debug files among them */
	uint64_t used_ns;
	pid_t pid;		/* 0: not running, or a test's; written with desk.lock, too */
	struct reader *next;	/* of all; desk.lock */
};

static struct {
	bool apart, lent;
	struct reader shared[N_SHARED];
	pthread_mutex_t talk;	/* with the starter */
	int control;		/* -1: there is no starter */
	pthread_mutex_t lock;	/* of all below */
	pid_t starter;		/* written with talk, too */
	bool bearing;		/* it makes a reader, whose pid is not known yet */
	struct reader *all;
	pid_t claimed[4];	/* 0: none */
} desk = {
	.talk = PTHREAD_MUTEX_INITIALIZER,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.control = -1,
	.shared = { [0 ... N_SHARED - 1] = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 } },
};

/* ---- the starter; under desk.talk */

static void set_starter(pid_t pid)
{
	pthread_mutex_lock(&desk.lock);
	desk.starter = pid;
	pthread_mutex_unlock(&desk.lock);
}

/* Why it came to an end by itself, a negative errno; 0: it did not. */
static int bury_starter(void)
{
	int status;

	if (desk.control >= 0)
		close(desk.control);
	desk.control = -1;
	/* who may not kill it has closed its socket; and it dies with us, also one that is not waited for */
	status = desk.starter > 0 ? lockdown__end(desk.starter) : 0;
	set_starter(0);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : 0;
}

static int start_starter(void)
{
	static char *const argv[] = { READER_CHILD_NAME, NULL };
	int pair[2];
	pid_t pid;

	if (desk.control >= 0)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	/* nobody sees it before it is known as ours */
	pthread_mutex_lock(&desk.lock);
	pid = lockdown__spawn(&(struct lockdown_start){ .fds = { pair[1], -1, -1 }, .n_fds = 3, .argv = argv });
	desk.starter = MAX(pid, 0);
	pthread_mutex_unlock(&desk.lock);
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return pid;
	}
	desk.control = pair[0];
	return 0;
}

static int ask_starter(const struct starter_request *q, int passed, struct starter_answer *ret)
{
	uint64_t now = now_ns();
	struct wait w = { now, now + START_NS, .grace_ns = WAIT_LONG_NS };
	enum outcome o = talk__put(desk.control, q, sizeof(*q), passed, &w);

	if (o == ANSWERED)
		o = talk__get(desk.control, ret, sizeof(*ret), &w);
	return o == ANSWERED ? 0 : o == CALLED_OFF ? -EINTR : -EPIPE;
}

/* ---- a reader; its lock is held */

static int start(struct reader *r)
{
	struct starter_answer a = {};
	int pair[2], err = -EPIPE;

	if (r->fd >= 0)
		return 0;
	if (desk.lent)
		return -ENOTSUP;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	pthread_mutex_lock(&desk.talk);
	pthread_mutex_lock(&desk.lock);
	desk.bearing = true;
	pthread_mutex_unlock(&desk.lock);
	/* a starter that has died is noticed when it is asked */
	for (int tries = 0; tries < 2 && err == -EPIPE; tries++) {
		err = start_starter() ?: ask_starter(&(struct starter_request){}, pair[1], &a);
		if (err) {
			int own = bury_starter();

			err = err == -EPIPE && own ? own : err;
		}
	}
	err = err ?: a.pid > 0 ? 0 : a.pid ?: -EIO;
	/* it is on the list as of the moment in which its parent is asked for no more */
	pthread_mutex_lock(&desk.lock);
	desk.bearing = false;
	r->pid = err ? 0 : a.pid;
	pthread_mutex_unlock(&desk.lock);
	pthread_mutex_unlock(&desk.talk);
	close(pair[1]);
	if (err)
		close(pair[0]);
	else
		r->fd = pair[0];
	return err;
}

/* How it ended, as of waitpid; 0: nobody knows. */
static int end(struct reader *r)
{
	struct starter_answer a = {};

	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
	if (!r->pid)
		return 0;
	pthread_mutex_lock(&desk.talk);
	if (desk.control >= 0 && ask_starter(&(struct starter_request){ .end = r->pid }, -1, &a))
		bury_starter();
	pthread_mutex_unlock(&desk.talk);
	pthread_mutex_lock(&desk.lock);
	r->pid = 0;
	pthread_mutex_unlock(&desk.lock);
	return a.status;
}

static void enlist(struct reader *r)
{
	pthread_mutex_lock(&desk.lock);
	r->next = desk.all;
	desk.all = r;
	pthread_mutex_unlock(&desk.lock);
}

struct reader *reader__new(void)
{
	struct reader *r = xcalloc(1, sizeof(*r));

	r->fd = -1;
	pthread_mutex_init(&r->lock, NULL);
	enlist(r);
	return r;
}

void reader__free(struct reader *r)
{
	if (!r)
		return;
	end(r);
	pthread_mutex_lock(&desk.lock);
	for (struct reader **at = &desk.all; *at; at = &(*at)->next)
		if (*at == r) {
			*at = r->next;
			break;
		}
	pthread_mutex_unlock(&desk.lock);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

/* ---- all of them */

void readers__set_apart(readers_lost_fn *on_lost)
{
	desk.apart = true;
	unread__tell_to(on_lost);
	for (size_t i = 0; i < N_SHARED; i++)
		enlist(&desk.shared[i]);
}

void readers__lend(int fd)
{
	desk.lent = true;
	unread__begin_anew();
	desk.shared[0].fd = fd;
}

void readers__lend_starter(int fd, pid_t pid)
{
	desk.control = fd;
	set_starter(pid);
}

bool readers__are_apart(void)
{
	return desk.apart;
}

void readers__prepare(void)
{
	pthread_mutex_lock(&desk.talk);
	start_starter();	/* that it cannot be is told to whoever needs it */
	pthread_mutex_unlock(&desk.talk);
}

static void say_none(int err, char *buf, size_t size)
{
	if (err == READERS_ALL_TAKEN)
		snprintf(buf, size, "no process can be made for that: there are %d, the most there can be; one that waits for a file system that does not answer ends when that does",
			 READERS_MAX);
	else
		snprintf(buf, size, "no process can be made for that: %s%s", strerror(-err),
			 err == -EAGAIN ? ": too many for this user (ulimit -u, RLIMIT_NPROC) or for its cgroup (pids.max)" : "");
}

int readers__need(struct err *e)
{
	struct reader *r = &desk.shared[0];
	char why[256];
	int err;

	if (!desk.apart)
		return 0;
	pthread_mutex_lock(&r->lock);
	err = start(r);
	pthread_mutex_unlock(&r->lock);
	if (!err || err == -EINTR)
		return 0;
	say_none(err, why, sizeof(why));
	return err_set(e, err, "files of targets cannot be read: %s", why);
}

void readers__end(void)
{
	for (size_t i = 0; i < N_SHARED; i++) {
		if (desk.shared[i].fd >= 0)
			close(desk.shared[i].fd);
		desk.shared[i].fd = -1;
		desk.shared[i].pid = 0;
	}
	/* it takes those along that are left */
	bury_starter();
	unread__done();
}

void readers__claim(pid_t pid)
{
	pthread_mutex_lock(&desk.lock);
	for (size_t i = 0; i < ARRAY_SIZE(desk.claimed); i++)
		if (!desk.claimed[i]) {
			desk.claimed[i] = pid;
			break;
		}
	pthread_mutex_unlock(&desk.lock);
}

size_t readers__pids(pid_t *v, size_t room)
{
	size_t n = 0;

	pthread_mutex_lock(&desk.talk);
	pthread_mutex_lock(&desk.lock);
	if (desk.starter > 0 && n < room)
		v[n++] = desk.starter;
	for (const struct reader *r = desk.all; r && n < room; r = r->next)
		if (r->pid)
			v[n++] = r->pid;
	for (size_t i = 0; i < ARRAY_SIZE(desk.claimed) && n < room; i++)
		if (desk.claimed[i])
			v[n++] = desk.claimed[i];
	pthread_mutex_unlock(&desk.lock);
	pthread_mutex_unlock(&desk.talk);
	return n;
}

bool readers__own(pid_t pid, pid_t *ret_parent)
{
	bool own;

	pthread_mutex_lock(&desk.lock);
	*ret_parent = desk.bearing ? desk.starter : 0;
	own = pid == desk.starter;
	for (const struct reader *r = desk.all; r && !own; r = r->next)
		own = r->pid == pid;
	for (size_t i = 0; i < ARRAY_SIZE(desk.claimed) && !own; i++)
		own = desk.claimed[i] == pid;
	pthread_mutex_unlock(&desk.lock);
	return own && pid > 0;
}

/* ---- a request */

/* What may be written to is a copy of ours: of a file that somebody else serves, or of a process's memory. */
static struct origin origin_of(int file)
{
	struct stat st;

	if (file < 0)
		return (struct origin){ .uid = (uid_t)-1 };
	if ((fcntl(file, F_GETFL) & O_ACCMODE) != O_RDONLY || fstat(file, &st) ||
	    st.st_mode & S_IWOTH || (!st.st_uid && st.st_mode & S_IWGRP))
		return (struct origin){ .is_anyones = true };
	return (struct origin){ .dev = st.st_dev, .uid = st.st_uid };
}

static bool is_same_origin(const struct origin *a, const struct origin *b)
{
	return !a->is_anyones && !b->is_anyones && a->dev == b->dev && a->uid == b->uid;
}

/* One that has read files of the same origin, else one that is not running, else the least recently used. */
static uint64_t fitness(const struct reader *r, const struct origin *o)
{
	if (r->fd < 0)
		return UINT64_MAX - 1;
	return is_same_origin(&r->origin, o) ? UINT64_MAX : UINT64_MAX - 2 - r->used_ns;
}

static struct reader *take_shared(const struct origin *o)
{
	struct reader *best = NULL;

	for (size_t i = 0; i < N_SHARED && !desk.lent; i++) {
		struct reader *r = &desk.shared[i];

		if (pthread_mutex_trylock(&r->lock))
			continue;
		if (best && fitness(best, o) >= fitness(r, o)) {
			pthread_mutex_unlock(&r->lock);
			continue;
		}
		if (best)
			pthread_mutex_unlock(&best->lock);
		best = r;
	}
	if (!best) {
		best = &desk.shared[0];
		pthread_mutex_lock(&best->lock);
	}
	if (best->fd >= 0 && !desk.lent && !is_same_origin(&best->origin, o))
		end(best);
	best->origin = *o;
	best->used_ns = now_ns();
	return best;
}

/* What may be written to is a copy of ours: a reader that somebody has taken over could change it, and points are verified by it. */
static int read_only(int file)
{
	char link[64];
	int fd;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
	fd = (fcntl(file, F_GETFL) & O_ACCMODE) == O_RDONLY ? fcntl(file, F_DUPFD_CLOEXEC, 0) : open(link, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static enum outcome grant(struct reader *r, const struct reader_call *c, size_t len, struct wait *w)
{
	struct reader_head answer = { .err = -ENOENT };
	unsigned char wish[WISH_MAX];
	struct wire_in in = { .at = wish, .end = wish + len };
	enum outcome o = len <= sizeof(wish) && c->on_wish ? talk__get(r->fd, wish, len, w) : NONSENSE;
	_cleanup_close_ int found = -1, fd = -1;
	uint64_t asked_ns = now_ns();

	if (o != ANSWERED)
		return o;
	found = c->on_wish(&in, c->arg);
	fd = found < 0 ? found : read_only(found);
	/* whoever put that file there may take the reader over, which serves no other file then */
	if (fd >= 0) {
		struct origin origin = origin_of(found);

		r->origin.is_anyones |= !is_same_origin(&r->origin, &origin);
	}
	/* one that is there, perhaps: that there is none is usual */
	if (err_is_want(fd))
		unread__tell(c->path, strerror(-fd), false);
	answer.err = MIN(fd, 0);
	/* what we took ourselves is not its time: a download may take minutes */
	w->begun_ns += now_ns() - asked_ns;
	wait__for_part(w);
	return talk__put(r->fd, &answer, sizeof(answer), fd, w);
}

static enum outcome append(struct reader *r, size_t len, const struct wait *w, struct wire *ret)
{
	enum outcome o;

	if (len > ANSWER_MAX - ret->n)
		return NONSENSE;
	if (len > ret->room - ret->n) {
		ret->room = MAX(ret->n + len, ret->room * 2);
		ret->v = xrealloc(ret->v, ret->room);
	}
	o = talk__get(r->fd, ret->v + ret->n, len, w);
	if (o == ANSWERED)
		ret->n += len;
	return o;
}

/* The two that say that there is no answer are not for a reader to say: nobody would tell of its file. */
static bool is_errno(int err)
{
	return err <= 0 && err > -4096 && err != READER_LOST && err != -EINTR;
}

static enum outcome converse(struct reader *r, const struct reader_call *c, int file, struct wait *w, struct wire *ret, int *ret_err,
			     bool *ret_tired)
{
	struct reader_head head = { .what = c->kind, .len = c->args->n };
	unsigned int n_wishes = 0;
	enum outcome o;

	*w = (struct wait){ .begun_ns = now_ns(), .part_ns = c->part_ns ? c->part_ns : WAIT_PART_NS };
	wait__for_part(w);
	o = talk__put(r->fd, &head, sizeof(head), file, w);
	if (o == ANSWERED && head.len)
		o = talk__put(r->fd, c->args->v, head.len, -1, w);
	while (o == ANSWERED) {
		o = wait__judge(w);
		if (o == ANSWERED)
			o = talk__get(r->fd, &head, sizeof(head), w);
		if (o != ANSWERED)
			return o;
		wait__for_part(w);
		switch (head.what) {
		case FRAME_WISH:
			o = n_wishes++ < WISHES_MAX ? grant(r, c, head.len, w) : NONSENSE;
			break;
		case FRAME_PART:
			/* nobody sends an empty one; whoever does could do so without end */
			o = head.len ? append(r, head.len, w, ret) : NONSENSE;
			break;
		case FRAME_DONE:
		case FRAME_TIRED:
			o = append(r, head.len, w, ret);
			if (o != ANSWERED)
				break;
			*ret_tired = head.what == FRAME_TIRED;
			*ret_err = head.err;
			return is_errno(head.err) ? ANSWERED : NONSENSE;
		default:
			return NONSENSE;
		}
	}
	return o;
}

static void describe(enum outcome o, const struct wait *w, int status, char *buf, size_t size)
{
	char name[SIGNAL_NAME_MAX];

	if (o == LATE)
		snprintf(buf, size, "it took its reader more than %llu s%s", (unsigned long long)((w->is_last ? WAIT_ANSWER_NS : w->part_ns) / SECOND_NS),
			 w->is_last ? " in all" : "");
	else if (o == NONSENSE)
		snprintf(buf, size, "its reader's answer made no sense");
	else if (WIFSIGNALED(status))
		snprintf(buf, size, "its reader was ended by %s", signal_name(WTERMSIG(status), name));
	else if (WIFEXITED(status) && WEXITSTATUS(status) == ENOMEM)
		snprintf(buf, size, "its reader ran out of memory");
	else
		snprintf(buf, size, "its reader ended");
}

static int ask(struct reader_call *c, struct wire *ret)
{
	struct reader *r;
	enum outcome o = DIED;
	uint64_t begun_ns = now_ns();
	struct wait w = {};
	_cleanup_close_ int file = c->fd < 0 ? -1 : read_only(c->fd);
	struct origin origin = origin_of(c->fd);
	bool tired = false;
	int err = 0, status = 0;
	char why[256];

	/* no fault of a reader's: there may be a descriptor later */
	if (c->fd >= 0 && file < 0) {
		unread__not_now(c, strerror(-file));
		return file;
	}
	if (unread__is_lost(c))
		return READER_LOST;
	if (readers__is_end(begun_ns))
		return -EINTR;
	r = c->reader;
	if (r)
		pthread_mutex_lock(&r->lock);
	else
		r = take_shared(&origin);
	for (int tries = 0; tries < (desk.lent ? 1 : 2) && o == DIED; tries++) {
		ret->n = 0;
		err = start(r);
		o = err ? (err == -EINTR ? CALLED_OFF : NO_READER) : converse(r, c, file, &w, ret, &err, &tired);
		c->by = r;
		c->pid = r->pid;
		if (o != ANSWERED || tired)
			status = end(r);
	}
	pthread_mutex_unlock(&r->lock);
	switch (o) {
	case ANSWERED:
		if (err != -ENOMEM)
			return err;
		unread__lose(c, "its reader ran out of memory", now_ns() - begun_ns);
		return READER_LOST;
	case CALLED_OFF:
		return -EINTR;
	case NO_READER:
		say_none(err, why, sizeof(why));
		unread__give_up(why);
		return READER_LOST;
	default:
		describe(o, &w, status, why, sizeof(why));
		unread__lose(c, why, now_ns() - begun_ns);
		return READER_LOST;
	}
}

int reader__ask(struct reader_call *c, struct wire *ret)
{
	int err = ask(c, ret);

	if (err == READER_LOST || err == -EINTR)
		unread__note(c);
	return err;
}

int reader__distrust(const struct reader_call *c)
{
	char why[128];

	pthread_mutex_lock(&c->by->lock);
	if (c->by->pid == c->pid)
		end(c->by);
	pthread_mutex_unlock(&c->by->lock);
	describe(NONSENSE, NULL, 0, why, sizeof(why));
	unread__lose(c, why, 0);
	unread__note(c);
	return READER_LOST;
}
