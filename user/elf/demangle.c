// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the way from a mangled name to a readable one, and a timer for each thread that goes it.
 *
 * A mangled name is a small program: back references let 100 bytes stand for
 * gigabytes. Four bounds hold here whatever the name: its length, libiberty's
 * recursion limit, the length of what comes out, and time. libiberty's callbacks
 * cannot make it stop, so a name that goes on long past what is kept is left
 * by longjmp. And some of them give nothing out for years: the arguments of a
 * template within a conversion are read twice (2.40), and so are those within
 * these. A timer over the thread's own CPU time leaves such a name the same way.
 * libiberty keeps its state on the stack in callback mode, and takes no lock; with one
 * exception (the buffer of a Rust punycode identifier, smaller than the name), which no timer
 * runs over: so nothing to speak of is leaked by such a name.
 */
#include <errno.h>
#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#undef ARRAY_SIZE	/* libiberty.h has one, too */
#include "elf/apart.h"

#define ELLIPSIS "…"
#define OUT_GIVE_UP (64 * 1024)	/* a name this long is a bomb, not a name */
#define WATCHED_BYTES 64	/* shorter ones cannot hold enough that is read twice */
#define NAME_NS (50 * MS_NS)	/* a thousand times what a long one takes */
#define WASTED_MAX_NS SECOND_NS	/* on names that were left: from then on each has SHORT_NS */
#define SHORT_NS (4 * MS_NS)	/* a tick */

enum left { LEFT_LONG = 1, LEFT_LATE };

struct out {
	char *buf;
	size_t len;		/* of all that came, also of what was not kept */
	sigjmp_buf leave;	/* with an enum left */
};

static void collect(const char *s, size_t len, void *arg)
{
	struct out *out = arg;

	/* an empty Rust identifier comes as NULL */
	if (len && out->len < DEMANGLE_OUT_MAX + 1)
		memcpy(out->buf + out->len, s, MIN(len, DEMANGLE_OUT_MAX + 1 - out->len));
	out->len += len;
	if (out->len > OUT_GIVE_UP)
		siglongjmp(out->leave, LEFT_LONG);
}

/* ---- time */

static __thread struct {
	bool is_made;
	timer_t timer;
	sigjmp_buf *volatile leave;	/* NULL: nothing is to be left */
} watch;

static uint64_t wasted_ns;	/* by __atomic builtins */

static void on_time(int sig)
{
	sigjmp_buf *leave = watch.leave;

	if (!leave)
		return;
	watch.leave = NULL;
	siglongjmp(*leave, LEFT_LATE);
}

/* Nobody else uses this signal. It stays unblocked after the jump out of its handler: SA_NODEFER. */
static void take_signal(void)
{
	sigaction(SIGVTALRM, &(struct sigaction){ .sa_handler = on_time, .sa_flags = SA_NODEFER }, NULL);
}

static int set_timer(uint64_t ns)
{
	struct itimerspec t = { .it_value.tv_nsec = (long)ns };

	return watch.is_made && !timer_settime(watch.timer, 0, &t, NULL) ? 0 : -EINVAL;
}

/* The first time in a thread, or in a process that was forked: timers stay behind. */
static int make_timer(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGVTALRM, ._sigev_un._tid = gettid() };
	sigset_t set;

	pthread_once(&once, take_signal);
	sigemptyset(&set);
	sigaddset(&set, SIGVTALRM);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	watch.is_made = !timer_create(CLOCK_THREAD_CPUTIME_ID, &ev, &watch.timer);
	return watch.is_made ? 0 : -errno;
}

static uint64_t time_for_name(void)
{
	return __atomic_load_n(&wasted_ns, __ATOMIC_RELAXED) < WASTED_MAX_NS ? NAME_NS : SHORT_NS;
}

/* Without a timer a name that needs one is not read. */
static bool begin_watch(struct out *out, size_t len)
{
	if (len < WATCHED_BYTES)
		return true;
	if (set_timer(time_for_name()) && (make_timer() || set_timer(time_for_name())))
		return false;
	watch.leave = &out->leave;
	return true;
}

static void end_watch(size_t len)
{
	watch.leave = NULL;
	if (len >= WATCHED_BYTES)
		set_timer(0);
}

/* ---- names */

/* Ends buf, whose first len bytes (of which DEMANGLE_OUT_MAX + 1 are there) are a name. */
static size_t finish(char *buf, size_t len)
{
	if (len > DEMANGLE_OUT_MAX) {
		len = DEMANGLE_OUT_MAX - strlen(ELLIPSIS);
		while (len && ((unsigned char)buf[len] & 0xc0) == 0x80)
			len--;
		memcpy(buf + len, ELLIPSIS, strlen(ELLIPSIS));
		len += strlen(ELLIPSIS);
	}
	buf[len] = '\0';
	clean_name(buf);
	return len;
}

static bool read_cxx(const char *mangled, size_t len, struct out *out)
{
	bool ok;

	out->len = 0;
	if (!begin_watch(out, len))
		return false;
	ok = cplus_demangle_v3_callback(mangled, DMGL_PARAMS | DMGL_ANSI | DMGL_VERBOSE, collect, out);
	end_watch(len);
	return ok;
}

/* As C++ begins its names (_Z, _GLOBAL_), and Rust (_R, _ZN). In C most names with an underscore are none of these. */
static bool may_be_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R' || name[1] == 'G');
}

/* 0: it stays as it is */
static size_t ask_for(const char *name, char buf[static DEMANGLE_OUT_MAX + 1])
{
	file_answer_cleanup struct file_answer got = {};

	file__asks((struct apart){ .fd = -1 }, (struct file_request){ .part = FILE_DEMANGLED, .name = name }, &got, NULL);
	return got.name && strlen(got.name) <= DEMANGLE_OUT_MAX ? strlen(strcpy(buf, got.name)) : 0;
}

size_t demangle(const char *name, char buf[static DEMANGLE_OUT_MAX + 1])
{
	/* volatile: read again after a longjmp */
	const char *volatile mangled = name;
	size_t volatile n = strnlen(name, DEMANGLE_IN_MAX + 1);
	struct out out = { .buf = buf };
	bool volatile ok = false;

	if (n <= DEMANGLE_IN_MAX && may_be_mangled(name) && readers__are_apart()) {
		if (ask_for(name, buf))
			return strlen(buf);
	} else if (n <= DEMANGLE_IN_MAX && may_be_mangled(name)) {
		switch (sigsetjmp(out.leave, 0)) {
		case LEFT_LONG:
			end_watch(n);
			return finish(buf, out.len);
		case LEFT_LATE:
			__atomic_fetch_add(&wasted_ns, time_for_name(), __ATOMIC_RELAXED);
			break;
		default:
			/* Rust's old scheme is also valid C++: it must be tried first. */
			ok = rust_demangle_callback(mangled, DMGL_NO_OPTS, collect, &out) || read_cxx(mangled, n, &out);
		}
	}
	if (ok && out.len)
		return finish(buf, out.len);
	memcpy(buf, mangled, MIN(n, (size_t)DEMANGLE_OUT_MAX + 1));
	return finish(buf, n);
}
