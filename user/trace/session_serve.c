// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * `malloctrace serve`: answers what the HTTP process asks for. Owns that process's socket, and the requests that last.
 *
 * What always holds: a question has one answer, which is of a moment after it was asked; those who ask the same at the same time
 * share one; answers take at most a part of the time (REST), however many ask; nothing that a request says is used before it was
 * checked.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "files/outnames.h"
#include "model/narrow.h"
#include "model/since.h"
#include "reader/reader.h"
#include "serve/ask.h"
#include "serve/hook.h"
#include "serve/listen.h"
#include "serve/metrics.h"
#include "serve/push.h"
#include "serve/web.h"
#include "trace/session_parts.h"
#include "util/log.h"
#include "util/notify.h"

#define AT_ONCE 32		/* questions */
#define WAITING_MAX 16		/* requests with ?seconds= */
#define REST 3			/* times what an answer took, until the next one is made */
#define REST_FROM_NS (2 * MS_NS)

struct waiting {
	struct serving *serving;	/* NULL: nobody's */
	struct serve_ask ask;
	struct snapshot *before;
};

struct serving {
	struct session *session;
	struct web web;
	struct metrics *metrics;
	struct waiting waiting[WAITING_MAX];
	uint64_t n_requests;
	struct push push;
	struct snapshot *pushed;	/* what the next profile counts from; NULL: the trace's start */
};

/* ---- before the trace */

static int start_push(const struct session *s, struct serving *v, struct err *e)
{
	char name[sizeof(s->uname.nodename) + 32];

	if (!s->opts->serve.push)
		return 0;
	snprintf(name, sizeof(name), "malloctrace{host=%s}", s->uname.nodename);
	return push__start(s->opts->serve.push, name, &v->push, e);
}

int session__open_server(struct session *s, struct err *e)
{
	struct web_opts o = { .listen_fd = -1 };
	struct serve_secrets secrets = {};
	struct serving *v;
	int err;

	if (!s->opts->serve.on)
		return 0;
	s->serving = v = calloc(1, sizeof(*v));
	if (v) {
		v->session = s;
		v->web = (struct web){ 0, -1 };
		v->push.fd = -1;
		v->metrics = metrics__new();
	}
	if (!v || !v->metrics)
		return err_set(e, -ENOMEM, "out of memory");
	err = secrets__read(&s->opts->serve, &secrets, e);
	o.listen_fd = s->opts->serve.listen_fd;
	o.token = secrets.token;
	o.cert = secrets.cert;
	o.key = secrets.key;
	o.client_ca = secrets.client_ca;
	if (!err)
		err = web__start(&o, &v->web, e);
	secrets__done(&secrets);
	err = err ?: start_push(s, v, e);
	/* none of them is traced with the machine: each answer would make work that the next one shows */
	readers__claim(getppid());
	readers__claim(v->web.pid);
	readers__claim(v->push.pid);
	return err;
}

void session__server_done(struct session *s)
{
	struct serving *v = s->serving;

	if (!v)
		return;
	for (size_t i = 0; i < WAITING_MAX; i++)
		snapshot__free(v->waiting[i].before);
	snapshot__free(v->pushed);
	push__end(&v->push);
	web__end(&v->web);
	metrics__free(v->metrics);
	free(v);
	s->serving = NULL;
}

/* ---- answers */

static void put(struct serving *v, const struct serve_ask *ask, int fd, const struct err *why)
{
	struct serve_answer a = { .id = ask->id, .err = fd < 0 ? (why && why->code ? why->code : -EIO) : 0 };

	if (fd < 0)
		snprintf(a.why, sizeof(a.why), "%s", why && why->msg ? why->msg : "it failed");
	/* who does not take answers has died, which the loop is told */
	(void)!reader_socket__put(v->web.fd, &a, sizeof(a), fd, MSG_DONTWAIT);
	v->n_requests++;
}

/* Is it what the process that asks was built to say? That process meets strangers. */
static bool is_good(struct serve_ask *a)
{
	a->comm[sizeof(a->comm) - 1] = a->cgroup[sizeof(a->cgroup) - 1] = a->container[sizeof(a->container) - 1] = a->pod[sizeof(a->pod) - 1] = '\0';
	return a->what < N_SERVED && a->seconds <= SERVE_SECONDS_MAX && a->pid >= 0;
}

static struct narrowing narrowing_of(const struct serve_ask *a)
{
	return (struct narrowing){ .pid = a->pid,
				   .comm = *a->comm ? a->comm : NULL,
				   .cgroup = *a->cgroup ? a->cgroup : NULL,
				   .container = *a->container ? a->container : NULL,
				   .pod = *a->pod ? a->pod : NULL };
}

/* The newest files of conditions, and how much there is of all. */
static size_t list_profiles(const struct serving *v, const char **names, struct metrics_own *own)
{
	const struct outname_series *kept = output__kept(&v->session->output);
	size_t n = kept ? MIN(kept->files.n, METRICS_NAMES) : 0;

	for (size_t i = 0; kept && i < kept->files.n; i++)
		own->profile_bytes += kept->files.v[i].bytes;
	for (size_t i = 0; i < n; i++)
		names[i] = kept->files.v[kept->files.n - 1 - i].path;
	own->n_kept = kept ? kept->files.n : 0;
	return n;
}

void session__tell_hook(struct session *s, const char *why)
{
	const struct outname_series *kept = output__kept(&s->output);

	if (!why || s->opts->serve.exec_fd < 0 || !kept || !kept->files.n)
		return;
	if (!hook__ask(s->opts->serve.exec_fd, kept->files.v[kept->files.n - 1].path, why))
		say_error("--exec: not run: the file is gone, or too many wait already");
}

static int write_answer(struct serving *v, const struct serve_ask *a, struct snapshot *snap, uint64_t took_ns, FILE *out, struct err *e)
{
	static const char *const formats[N_SERVED] = {
		[SERVE_HEAP] = "pprof", [SERVE_ALLOCS] = "pprof", [SERVE_JSON] = "json", [SERVE_PAGE] = "html",
	};
	const char *names[METRICS_NAMES];
	struct metrics_own own = { .snapshot_ns = took_ns, .n_requests = v->n_requests, .pushes = v->push.fd >= 0 };

	if (own.pushes) {
		push__read_counts(&v->push);
		own.n_pushed = v->push.counts.pushed;
		own.n_push_failed = v->push.counts.failed;
		own.n_push_dropped = v->push.counts.dropped + v->push.n_refused;
	}

	own.profiles = names;
	own.n_profiles = list_profiles(v, names, &own);
	if (a->what == SERVE_METRICS)
		return metrics__write(v->metrics, out, snap, &own) ? err_set(e, -ENOMEM, "out of memory") : 0;
	return output__write_stream(&v->session->output, snap, export__find_by_name(formats[a->what]), a->what == SERVE_ALLOCS ? "alloc_space" : NULL, out, e);
}

/* The bytes are in memory of their own, which nobody changes any more. A descriptor, or -errno. */
static int in_memory(struct serving *v, const struct serve_ask *a, struct snapshot *snap, uint64_t took_ns, struct err *e)
{
	int fd = memfd_create("answer", MFD_CLOEXEC | MFD_ALLOW_SEALING), err = 0;
	FILE *out = fd >= 0 ? fdopen(dup(fd), "w") : NULL;

	if (!out) {
		err = err_set(e, -errno, "no room for an answer: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return err;
	}
	if (snap)
		err = write_answer(v, a, snap, took_ns, out, e);
	else
		fputs("ok\n", out);
	if (fclose(out) && !err)
		err = err_set(e, -EIO, "no room for an answer");
	if (!err)
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
	if (err)
		close(fd);
	return err ? err : fd;
}

/* What is asked for of this snapshot; before: and what it was when the request came; NULL: all since the trace began. */
static int answer_of(struct serving *v, const struct serve_ask *a, struct snapshot *snap, struct snapshot *before, uint64_t took_ns, struct err *e)
{
	struct narrowing n = narrowing_of(a);
	struct snapshot *narrow = narrowing__any(&n) ? snapshot__narrow(snap, &n) : NULL, *shown = narrow ? narrow : snap, *since = NULL;
	/* what others did before is not to be looked for in what is shown */
	struct snapshot *narrow_before = narrow && before ? snapshot__narrow(before, &n) : NULL;
	int fd;

	if (narrowing__any(&n) && (!narrow || (before && !narrow_before))) {
		snapshot__free(narrow);
		return err_set(e, -ENOMEM, "out of memory");
	}
	if (narrow && !narrow->n_processes) {
		snapshot__free(narrow);
		snapshot__free(narrow_before);
		return err_set(e, -ENOENT, "no process of that kind is traced");
	}
	if (before) {
		since = snapshot__since(narrow_before ? narrow_before : before, shown, SINCE_LIVE_CHANGE);
		shown = since;
	}
	fd = shown ? in_memory(v, a, shown, took_ns, e) : err_set(e, -ENOMEM, "out of memory");
	snapshot__free(since);
	snapshot__free(narrow_before);
	snapshot__free(narrow);
	return fd;
}

/* Of this moment, for a profile: what is live is what processes hold that run. */
static struct snapshot *take_for_profile(struct serving *v, struct err *e)
{
	struct snapshot *snap;

	session__read_uses(v->session, READ_NOW | READ_FOR_SNAPSHOT);
	snap = session__take(v->session, false, false, e);
	if (snap)
		snapshot__free_ended(snap);
	return snap;
}

/* ---- requests that last */

static void on_due(void *arg)
{
	struct waiting *w = arg;
	struct serving *v = w->serving;
	_cleanup_err_ struct err e = {};
	uint64_t began = now_ns();
	struct snapshot *snap = take_for_profile(v, &e);
	int fd = snap ? answer_of(v, &w->ask, snap, w->before, now_ns() - began, &e) : e.code;

	put(v, &w->ask, fd, &e);
	if (fd >= 0)
		close(fd);
	snapshot__free(snap);
	snapshot__free(w->before);
	*w = (struct waiting){};
}

static int begin_waiting(struct serving *v, const struct serve_ask *a, struct err *e)
{
	struct waiting *w = NULL;
	int err;

	for (size_t i = 0; i < WAITING_MAX && !w; i++)
		if (!v->waiting[i].serving)
			w = &v->waiting[i];
	if (!w)
		return err_set(e, -EBUSY, "too many requests with ?seconds= are under way");
	w->before = take_for_profile(v, e);
	if (!w->before)
		return e->code;
	w->ask = *a;
	w->serving = v;
	err = loop__add_timer(v->session->loop, a->seconds * SECOND_NS, true, on_due, w);
	if (err) {
		snapshot__free(w->before);
		*w = (struct waiting){};
		return err_set(e, err, "event loop: %s", strerror(-err));
	}
	return 0;
}

/* ---- questions */

static bool is_same(const struct serve_ask *a, const struct serve_ask *b)
{
	struct serve_ask x = *a;

	x.id = b->id;
	return !a->seconds && !memcmp(&x, b, sizeof(x));
}

/* The first of them, and those of the others that ask the same. */
static void answer(struct serving *v, const struct serve_ask *a, size_t n, bool *answered)
{
	bool has_ages = a->what == SERVE_JSON || a->what == SERVE_PAGE;
	_cleanup_err_ struct err e = {};
	struct snapshot *snap = NULL;
	uint64_t began = now_ns();
	int fd;

	if (a->seconds) {
		if (begin_waiting(v, a, &e))
			put(v, a, -1, &e);
		return;
	}
	if (a->what == SERVE_HEAP || a->what == SERVE_ALLOCS) {
		snap = take_for_profile(v, &e);
	} else if (a->what != SERVE_HEALTH) {
		session__read_uses(v->session, READ_NOW | READ_FOR_SNAPSHOT);
		snap = session__take(v->session, false, has_ages, &e);
	}
	fd = a->what == SERVE_HEALTH ? in_memory(v, a, NULL, 0, &e) : snap ? answer_of(v, a, snap, NULL, now_ns() - began, &e) : e.code;
	for (size_t i = 0; i < n; i++)
		if (!i || is_same(&a[i], a)) {
			put(v, &a[i], fd, &e);
			answered[i] = true;
		}
	if (fd >= 0)
		close(fd);
	snapshot__free(snap);
}

/* Questions that are there, good ones; -EPIPE: nobody asks any more. */
static ssize_t take_questions(struct serving *v, struct serve_ask *asks)
{
	size_t n = 0;

	while (n < AT_ONCE) {
		int fd;
		ssize_t got = reader_socket__get(v->web.fd, &asks[n], sizeof(*asks), &fd, MSG_DONTWAIT);

		if (fd >= 0)
			close(fd);
		if (got < 0 && errno == EAGAIN)
			break;
		if (!got || (got < 0 && errno != EINTR))
			return -EPIPE;
		n += got == sizeof(*asks) && is_good(&asks[n]);
	}
	return (ssize_t)n;
}

static void on_ask(void *arg);

static void on_rested(void *arg)
{
	struct serving *v = arg;

	loop__add_fd(v->session->loop, v->web.fd, on_ask, v);
}

static void on_ask(void *arg)
{
	struct serving *v = arg;
	uint64_t began = now_ns(), took;
	struct serve_ask asks[AT_ONCE];
	bool answered[AT_ONCE] = {};
	ssize_t n = take_questions(v, asks);

	if (n < 0) {
		err_set(&v->session->failure, -EPIPE, "the process that speaks HTTP has ended");
		session__fail(v->session);
		return;
	}
	for (ssize_t i = 0; i < n; i++)
		if (!answered[i])
			answer(v, &asks[i], (size_t)(n - i), &answered[i]);
	took = now_ns() - began;
	if (took < REST_FROM_NS)
		return;
	loop__remove_fd(v->session->loop, v->web.fd);
	if (loop__add_timer(v->session->loop, REST * took, true, on_rested, v))
		on_rested(v);
}

/* ---- profiles that nobody asks for */

/* What was allocated since the last one, and what is live now. One that is lost is counted, and the next one counts from here all the same. */
static void on_push(void *arg)
{
	struct serving *v = arg;
	const struct serve_ask a = { .what = SERVE_HEAP };
	_cleanup_err_ struct err e = {};
	struct snapshot *snap = take_for_profile(v, &e), *since = NULL;
	struct push_item item;
	int fd = -1;

	if (!snap) {
		v->push.n_refused++;
		return;
	}
	if (v->pushed)
		since = snapshot__since(v->pushed, snap, SINCE_LIVE_NOW);
	item.from_s = (v->pushed ? v->pushed->wall_now_ns : snap->wall_start_ns) / SECOND_NS;
	item.until_s = snap->wall_now_ns / SECOND_NS;
	if (!v->pushed || since)
		fd = in_memory(v, &a, since ? since : snap, 0, &e);
	if (fd >= 0) {
		push__put(&v->push, &item, fd);
		close(fd);
	} else {
		v->push.n_refused++;
	}
	push__read_counts(&v->push);
	snapshot__free(since);
	snapshot__free(v->pushed);
	v->pushed = snap;
}

/* ---- the service manager */

static void on_watchdog(void *arg)
{
	notify__say("WATCHDOG=1");
}

int session__watch_server(struct session *s)
{
	uint64_t watchdog_ns = notify__watchdog_ns();
	int err;

	if (!s->serving)
		return 0;
	err = loop__add_fd(s->loop, s->serving->web.fd, on_ask, s->serving);
	if (!err && s->serving->push.fd >= 0)
		err = loop__add_timer(s->loop, s->opts->serve.push_every_ns, false, on_push, s->serving);
	if (!err && watchdog_ns)
		err = loop__add_timer(s->loop, watchdog_ns / 3, false, on_watchdog, NULL);
	return err;
}

void session__say_serving(const struct session *s)
{
	_cleanup_free_ char *where = s->serving ? listen__words(&s->opts->serve) : NULL;

	if (!s->serving)
		return;
	say("serving at %s", where ? where : s->opts->serve.listen);
	notify__say("READY=1");
}
