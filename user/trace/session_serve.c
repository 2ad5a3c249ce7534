// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * `malloctrace serve`: answers what the HTTP process asks for. Owns that process's socket, and the requests that last.
 *
 * What always holds: a question has one answer, which is of a moment after it was asked; those who ask the same at the same time
 * share one; answers take at most a part of the time (REST), however many ask, as after each there is a rest; nothing that a request
 * says is used before it was checked.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "files/outfile.h"
#include "model/narrow.h"
#include "model/since.h"
#include "reader/reader.h"
#include "serve/serve.h"
#include "trace/session.h"
#include "util/log.h"

#define AT_ONCE 32		/* questions */
#define WAITING_MAX 16		/* requests with ?seconds= */
#define REST 3			/* times what an answer took, until the next one is made */
#define REST_FROM_NS (2 * MS_NS)

struct waiting {
	struct serving *serving;	/* NULL: nobody's */
	struct serve_ask ask;
	struct snapshot *before;
	bool is_due;
};

struct serving {
	struct session *session;
	struct web web;
	struct metrics *metrics;
	struct waiting waiting[WAITING_MAX];
	struct serve_ask asks[AT_ONCE];	/* questions that are not answered yet, in their order */
	size_t n_asks;
	bool rests;		/* then nothing is read from the HTTP process */
	uint64_t n_requests, probe_hits;
};

/* ---- before the trace */

int session__open_server(struct session *s, struct err *e)
{
	struct serve_secrets secrets = {};
	struct serving *v;
	int err;

	if (!s->opts->serve.on)
		return 0;
	s->serving = v = xcalloc(1, sizeof(*v));
	v->session = s;
	v->web = (struct web){ 0, -1 };
	v->metrics = metrics__new();
	err = secrets__read(&s->opts->serve, &secrets, e);
	if (!err)
		err = web__start(s->opts->serve.listen_fd, &secrets, &v->web, e);
	secrets__done(&secrets);
	/* neither is traced with the machine: each answer would make work that the next one shows */
	readers__claim(getppid());
	readers__claim(v->web.pid);
	return err;
}

static void done(struct session *s)
{
	struct serving *v = s->serving;

	if (!v)
		return;
	for (size_t i = 0; i < WAITING_MAX; i++)
		snapshot__free(v->waiting[i].before);
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
	return (a->what < N_SERVED || a->what == SERVE_GONE) && a->seconds <= SERVE_SECONDS_MAX && a->pid >= 0;
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

static int write_answer(struct serving *v, const struct serve_ask *a, struct snapshot *snap, uint64_t took_ns, FILE *out, struct err *e)
{
	static const char *const formats[N_SERVED] = {
		[SERVE_HEAP] = "pprof", [SERVE_ALLOCS] = "pprof", [SERVE_JSON] = "json", [SERVE_PAGE] = "html",
	};
	const char *names[METRICS_NAMES];
	struct metrics_own own = { .snapshot_ns = took_ns, .n_requests = v->n_requests, .probe_hits = MAX(v->probe_hits, snap->probe_hits) };

	v->probe_hits = own.probe_hits;
	own.profiles = names;
	own.n_profiles = list_profiles(v, names, &own);
	if (a->what == SERVE_METRICS) {
		metrics__write(v->metrics, out, snap, &own);
		return 0;
	}
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
	const struct narrowing n = {
		.pid = a->pid,
		.comm = *a->comm ? a->comm : NULL,
		.cgroup = *a->cgroup ? a->cgroup : NULL,
		.container = *a->container ? a->container : NULL,
		.pod = *a->pod ? a->pod : NULL,
	};
	struct snapshot *narrow = narrowing__any(&n) ? snapshot__narrow(snap, &n) : NULL, *shown = narrow ? narrow : snap, *since = NULL;
	/* what others did before is not to be looked for in what is shown */
	struct snapshot *narrow_before = narrow && before ? snapshot__narrow(before, &n) : NULL;
	int fd;

	if (narrow && !narrow->n_processes) {
		snapshot__free(narrow);
		snapshot__free(narrow_before);
		return err_set(e, -ENOENT, "no process of that kind is traced");
	}
	if (before) {
		since = snapshot__since(narrow_before ? narrow_before : before, shown);
		shown = since;
	}
	fd = in_memory(v, a, shown, took_ns, e);
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
	snap = session__take(v->session, false, e);
	if (snap)
		snapshot__free_ended(snap);
	return snap;
}

/* ---- requests that last */

static void end_waiting(struct serving *v, struct waiting *w)
{
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

static void work(struct serving *v);

static void on_due(void *arg)
{
	struct waiting *w = arg;

	w->is_due = true;
	work(w->serving);
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

/* Its client has gone: it is not answered, and makes room. */
static void forget(struct serving *v, uint32_t id)
{
	for (size_t i = 0; i < v->n_asks; i++)
		if (v->asks[i].id == id) {
			v->n_asks--;
			memmove(v->asks + i, v->asks + i + 1, (v->n_asks - i) * sizeof(*v->asks));
			return;
		}
	for (size_t i = 0; i < WAITING_MAX; i++) {
		struct waiting *w = &v->waiting[i];

		if (!w->serving || w->ask.id != id)
			continue;
		loop__remove_timer(v->session->loop, on_due, w);
		snapshot__free(w->before);
		*w = (struct waiting){};
	}
}

static bool is_same(const struct serve_ask *a, const struct serve_ask *b)
{
	struct serve_ask x = *a;

	x.id = b->id;
	return !a->seconds && !memcmp(&x, b, sizeof(x));
}

/* The first of them, and those of the others that ask the same. */
static void answer_first(struct serving *v)
{
	const struct serve_ask a = v->asks[0];
	bool has_ages = a.what == SERVE_JSON || a.what == SERVE_PAGE;
	_cleanup_err_ struct err e = {};
	struct snapshot *snap = NULL;
	uint64_t began = now_ns();
	size_t n_left = 0;
	int fd;

	if (a.seconds) {
		if (begin_waiting(v, &a, &e))
			put(v, &a, -1, &e);
		v->n_asks--;
		memmove(v->asks, v->asks + 1, v->n_asks * sizeof(*v->asks));
		return;
	}
	if (a.what == SERVE_HEAP || a.what == SERVE_ALLOCS) {
		snap = take_for_profile(v, &e);
	} else if (a.what != SERVE_HEALTH) {
		session__read_uses(v->session, READ_NOW | READ_FOR_SNAPSHOT);
		snap = session__take(v->session, has_ages, &e);
	}
	fd = a.what == SERVE_HEALTH ? in_memory(v, &a, NULL, 0, &e) : snap ? answer_of(v, &a, snap, NULL, now_ns() - began, &e) : e.code;
	for (size_t i = 0; i < v->n_asks; i++) {
		if (is_same(&v->asks[i], &a))
			put(v, &v->asks[i], fd, &e);
		else
			v->asks[n_left++] = v->asks[i];
	}
	v->n_asks = n_left;
	if (fd >= 0)
		close(fd);
	snapshot__free(snap);
}

/* Questions that are there, good ones. -EPIPE: nobody asks any more. */
static int take_questions(struct serving *v)
{
	while (v->n_asks < AT_ONCE) {
		struct serve_ask *a = &v->asks[v->n_asks];
		int fd;
		ssize_t got = reader_socket__get(v->web.fd, a, sizeof(*a), &fd, MSG_DONTWAIT);

		if (fd >= 0)
			close(fd);
		if (got < 0 && errno == EAGAIN)
			break;
		if (!got || (got < 0 && errno != EINTR))
			return -EPIPE;
		if (got != sizeof(*a) || !is_good(a))
			continue;
		if (a->what == SERVE_GONE)
			forget(v, a->id);
		else
			v->n_asks++;
	}
	return 0;
}

static void on_ask(void *arg)
{
	struct serving *v = arg;

	if (take_questions(v)) {
		err_set(&v->session->failure, -EPIPE, "the process that speaks HTTP has ended");
		session__fail(v->session);
		return;
	}
	work(v);
}

/* ---- one after the other, with rests */

/* false: there is none */
static bool next_answer(struct serving *v)
{
	for (size_t i = 0; i < WAITING_MAX; i++)
		if (v->waiting[i].is_due) {
			end_waiting(v, &v->waiting[i]);
			return true;
		}
	if (v->n_asks)
		answer_first(v);
	else
		return false;
	return true;
}

static void on_rested(void *arg)
{
	struct serving *v = arg;

	v->rests = false;
	loop__add_fd(v->session->loop, v->web.fd, on_ask, v);
	work(v);
}

static void work(struct serving *v)
{
	uint64_t began = now_ns(), took = 0;

	while (!v->rests && took < REST_FROM_NS) {
		if (!next_answer(v))
			return;
		took = now_ns() - began;
	}
	if (v->rests)
		return;
	v->rests = true;
	loop__remove_fd(v->session->loop, v->web.fd);
	/* without a timer it goes on with the next question */
	if (loop__add_timer(v->session->loop, REST * took, true, on_rested, v)) {
		v->rests = false;
		loop__add_fd(v->session->loop, v->web.fd, on_ask, v);
	}
}

/* ---- the service manager */

static void on_watchdog(void *arg)
{
	notify__say("WATCHDOG=1");
}

static int watch(struct session *s)
{
	uint64_t watchdog_ns = notify__watchdog_ns();
	int err;

	if (!s->serving)
		return 0;
	err = loop__add_fd(s->loop, s->serving->web.fd, on_ask, s->serving);
	if (!err && watchdog_ns)
		err = loop__add_timer(s->loop, watchdog_ns / 3, false, on_watchdog, NULL);
	return err;
}

static void on_attached(const struct session *s)
{
	_cleanup_free_ char *where = s->serving ? listen__words(&s->opts->serve) : NULL;

	if (!s->serving)
		return;
	say("serving at %s", where ? where : s->opts->serve.listen);
	notify__say("READY=1");
}

const struct session_module server_module = { .watch = watch, .on_attached = on_attached, .done = done };
