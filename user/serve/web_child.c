// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The process that speaks HTTP. It meets everybody who can reach the address, so it is a user that nobody else is, without
 * capabilities, and can open, start and connect to nothing: it takes connections, asks the process that traces, and passes on the
 * descriptor that it gets.
 *
 * Two threads: libmicrohttpd's, which never waits (a request that waits for its answer is suspended), and this one, which takes
 * the answers. What always holds: a request has one slot from its question to its answer; slots, connections, the size of a
 * request, the time of a client that does not read, and the bytes that wait for clients are bounded.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/x509.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "reader/lockdown.h"
#include "reader/reader.h"
#include "serve/serve.h"
#include "util/util.h"

#define CONNECTIONS_MAX 512
#define CONNECTIONS_OF_ONE 64	/* address, where others than this machine's can come from */
#define SLOTS 32
#define REQUEST_BYTES (16u << 10)
#define IDLE_S 5		/* of a client that neither sends nor reads */
#define ANSWER_MS 60000		/* for the other process to answer, beside the seconds that were asked for */
#define UNREAD_MAX (256ull << 20)	/* bytes of answers that clients have not read yet */

struct slot {
	struct MHD_Connection *connection;	/* NULL: free */
	uint32_t id;
	uint64_t until_ns;
	bool lasts;		/* a request with ?seconds= */
	bool answered;
	struct serve_answer answer;
	int fd;			/* with the answer; -1: none */
	enum serve_what what;
};

static struct {
	pthread_mutex_t lock;	/* of the next three */
	struct slot slots[SLOTS];
	uint32_t last_id;
	uint64_t unread_bytes;
	char *texts[N_WEB_TEXTS];	/* NULL: there is none */
	bool begun;		/* before, words has the last that libmicrohttpd said */
	char words[200];
} web = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- answers */

/* A request of libmicrohttpd's, from its question until its answer is sent, or its client gone. */
struct request {
	struct slot *slot;	/* while it waits for its answer; then NULL */
	uint64_t unread_bytes;
};

static enum MHD_Result put_text(struct MHD_Connection *c, unsigned int status, const char *text, const char *header, const char *value)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result ok;

	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, "Content-Type", "text/plain; charset=utf-8");
	MHD_add_response_header(r, "Cache-Control", "no-store");
	if (header)
		MHD_add_response_header(r, header, value);
	ok = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return ok;
}

static enum MHD_Result put_answer(struct MHD_Connection *c, const struct slot *s, struct request *q)
{
	const struct served *w = &served[s->what];
	char named[80];
	struct MHD_Response *r;
	enum MHD_Result ok;
	struct stat st;

	if (s->answer.err || s->fd < 0 || fstat(s->fd, &st)) {
		char why[300];

		if (s->fd >= 0)
			close(s->fd);
		snprintf(why, sizeof(why), "%s\n", *s->answer.why ? s->answer.why : "no answer");
		return put_text(c, s->answer.err == -ENOENT ? 404 : s->answer.err == -EBUSY ? 503 : s->answer.err == -ETIMEDOUT ? 504 : 500, why, NULL, NULL);
	}
	r = MHD_create_response_from_fd64((uint64_t)st.st_size, s->fd);
	if (!r) {
		close(s->fd);
		return MHD_NO;
	}
	MHD_add_response_header(r, "Content-Type", w->type);
	MHD_add_response_header(r, "Cache-Control", "no-store");
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, "Content-Security-Policy", "frame-ancestors 'none'");
	if (w->download) {
		snprintf(named, sizeof(named), "attachment; filename=\"%s\"", w->download);
		MHD_add_response_header(r, "Content-Disposition", named);
	}
	ok = MHD_queue_response(c, 200, r);
	MHD_destroy_response(r);
	if (ok != MHD_YES)
		return ok;
	pthread_mutex_lock(&web.lock);
	web.unread_bytes += (uint64_t)st.st_size - q->unread_bytes;
	q->unread_bytes = (uint64_t)st.st_size;
	pthread_mutex_unlock(&web.lock);
	return ok;
}

/* ---- who may ask */

/* Takes as long for a token that is nearly right as for one that is not. */
static bool same_secret(const char *a, const char *b)
{
	size_t len = strlen(a), n = strlen(b);
	unsigned char differs = len != n;

	for (size_t i = 0; i < len; i++)
		differs |= (unsigned char)a[i] ^ (unsigned char)b[n ? i % n : 0];
	return !differs;
}

/*
 * libmicrohttpd asks clients for a certificate, and takes those who have none, or any: only this finds out. One that is for
 * servers is none for a client.
 */
static bool has_certificate(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	gnutls_typed_vdata_st purpose = { .type = GNUTLS_DT_KEY_PURPOSE_OID, .data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT };
	unsigned int wrong = 0;

	return info && info->tls_session && !gnutls_certificate_verify_peers(info->tls_session, &purpose, 1, &wrong) && !wrong;
}

static bool has_token(struct MHD_Connection *c)
{
	const char *given = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization");

	return given && !strncasecmp(given, "Bearer ", 7) && same_secret(web.texts[WEB_TOKEN], given + 7);
}

/* ---- questions */

struct query {
	struct serve_ask *ask;
	const char *wrong;	/* what is wrong with it; NULL: nothing */
	char why[200];
};

static enum MHD_Result take_argument(void *arg, enum MHD_ValueKind kind, const char *key, const char *value)
{
	struct query *q = arg;

	q->wrong = web_query__take(q->ask, key, value ? value : "");
	if (!q->wrong)
		return MHD_YES;
	snprintf(q->why, sizeof(q->why), "%.80s: %s\n", key, q->wrong);
	return MHD_NO;
}

/* NULL: all are taken, or too much waits to be read. */
static struct slot *take_slot(struct MHD_Connection *c, const struct serve_ask *ask)
{
	struct slot *found = NULL;

	for (size_t i = 0; i < SLOTS && !found && web.unread_bytes < UNREAD_MAX; i++)
		if (!web.slots[i].connection)
			found = &web.slots[i];
	if (found)
		*found = (struct slot){ .connection = c, .id = ++web.last_id, .fd = -1, .what = (enum serve_what)ask->what, .lasts = ask->seconds,
					.until_ns = now_ns() + (ANSWER_MS + ask->seconds * 1000ull) * MS_NS };
	return found;
}

static enum MHD_Result ask(struct MHD_Connection *c, struct serve_ask *a, void **request)
{
	struct request *q = xcalloc(1, sizeof(*q));
	struct slot *s;

	pthread_mutex_lock(&web.lock);
	s = take_slot(c, a);
	if (s) {
		a->id = s->id;
		/* before the question: the answer may be here at once */
		MHD_suspend_connection(c);
		q->slot = s;
		*request = q;
		if (reader_socket__put(WEB_CONTROL_FD, a, sizeof(*a), -1, MSG_DONTWAIT) != sizeof(*a)) {
			s->answer.err = -EBUSY;
			snprintf(s->answer.why, sizeof(s->answer.why), "malloctrace is busy: try again");
			s->answered = true;
			MHD_resume_connection(c);
		}
	}
	pthread_mutex_unlock(&web.lock);
	if (!s)
		free(q);
	return s ? MHD_YES : put_text(c, 503, "too many requests wait for their answers\n", "Retry-After", "1");
}

static enum MHD_Result put_paths(struct MHD_Connection *c)
{
	char text[300] = "there are";

	for (size_t i = 0; i < N_SERVED; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " %s%s", served[i].path, i + 1 < N_SERVED ? "" : "\n");
	return put_text(c, 404, text, NULL, NULL);
}

static enum MHD_Result begin(struct MHD_Connection *c, const char *url, const char *method, void **request)
{
	const struct served *w = array_first(x, served, N_SERVED, !strcmp(url, x->path));
	bool is_open = w == &served[SERVE_HEALTH];
	struct serve_ask a = {};
	struct query q = { .ask = &a };

	if (strcmp(method, "GET") && strcmp(method, "HEAD"))
		return put_text(c, 405, "only GET and HEAD are answered\n", "Allow", "GET, HEAD");
	if (!web.texts[WEB_TOKEN] && !web.texts[WEB_CLIENT_CA] && !web_query__is_local(MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host")))
		return put_text(c, 403, "this name is not one of this machine's: ask for localhost, or an address\n", NULL, NULL);
	/* that it answers is no secret, and who probes a container has neither */
	if (!is_open && web.texts[WEB_CLIENT_CA] && !has_certificate(c))
		return put_text(c, 403, "a certificate is needed that the authority of --tls-client-ca has signed\n", NULL, NULL);
	if (!is_open && web.texts[WEB_TOKEN] && !has_token(c))
		return put_text(c, 401, "a token is needed: Authorization: Bearer TOKEN\n", "WWW-Authenticate", "Bearer realm=\"malloctrace\"");
	if (!w)
		return put_paths(c);
	a.what = (uint32_t)(w - served);
	MHD_get_connection_values(c, MHD_GET_ARGUMENT_KIND, take_argument, &q);
	if (q.wrong)
		return put_text(c, 400, q.why, NULL, NULL);
	if (a.seconds && !w->lasts)
		return put_text(c, 400, "seconds: goes with /debug/pprof/heap and /debug/pprof/allocs\n", NULL, NULL);
	return ask(c, &a, request);
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *url, const char *method, const char *version,
				  const char *upload, size_t *n_upload, void **request)
{
	struct request *q = *request;
	struct slot answered;

	if (!q)
		return begin(c, url, method, request);
	if (!q->slot)
		return MHD_NO;
	pthread_mutex_lock(&web.lock);
	answered = *q->slot;
	if (answered.answered)
		q->slot->connection = NULL;
	pthread_mutex_unlock(&web.lock);
	if (!answered.answered)
		return MHD_NO;
	q->slot = NULL;
	return put_answer(c, &answered, q);
}

static void on_end(void *arg, struct MHD_Connection *c, void **request, enum MHD_RequestTerminationCode why)
{
	struct request *q = *request;

	if (!q)
		return;
	pthread_mutex_lock(&web.lock);
	web.unread_bytes -= q->unread_bytes;
	/* it ended before its answer was put */
	if (q->slot) {
		q->slot->connection = NULL;
		if (q->slot->fd >= 0)
			close(q->slot->fd);
	}
	pthread_mutex_unlock(&web.lock);
	free(q);
	*request = NULL;
}

/* ---- the other thread */

static void finish(struct slot *s, const struct serve_answer *a, int fd)
{
	s->answer = *a;
	s->answer.why[sizeof(s->answer.why) - 1] = '\0';
	s->fd = fd;
	s->answered = true;
	MHD_resume_connection(s->connection);
}

static void on_answer(const struct serve_answer *a, int fd)
{
	bool taken = false;

	pthread_mutex_lock(&web.lock);
	for (size_t i = 0; i < SLOTS && !taken; i++)
		if (web.slots[i].connection && web.slots[i].id == a->id && !web.slots[i].answered) {
			finish(&web.slots[i], a, fd);
			taken = true;
		}
	pthread_mutex_unlock(&web.lock);
	if (!taken && fd >= 0)
		close(fd);
}

static void end_late_ones(void)
{
	struct serve_answer late = { .err = -ETIMEDOUT, .why = "malloctrace did not answer in time" };
	uint64_t now = now_ns();

	pthread_mutex_lock(&web.lock);
	for (size_t i = 0; i < SLOTS; i++)
		if (web.slots[i].connection && !web.slots[i].answered && now > web.slots[i].until_ns)
			finish(&web.slots[i], &late, -1);
	pthread_mutex_unlock(&web.lock);
}

/*
 * libmicrohttpd does not look at a connection that is suspended. As other servers do, a client that has closed its side only is
 * taken for one that has gone, where it would be waited for.
 */
static bool has_gone(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct pollfd p = { .fd = info ? info->connect_fd : -1, .events = POLLRDHUP };

	return poll(&p, 1, 0) > 0;
}

static void end_those_gone(void)
{
	const struct serve_answer none = { .err = -ECANCELED, .why = "the client closed its connection" };

	pthread_mutex_lock(&web.lock);
	for (size_t i = 0; i < SLOTS; i++) {
		struct slot *s = &web.slots[i];
		struct serve_ask gone = { .id = s->id, .what = SERVE_GONE };

		/* what cannot be sent now is sent a second later */
		if (s->connection && s->lasts && !s->answered && has_gone(s->connection) &&
		    reader_socket__put(WEB_CONTROL_FD, &gone, sizeof(gone), -1, MSG_DONTWAIT) == sizeof(gone))
			finish(s, &none, -1);
	}
	pthread_mutex_unlock(&web.lock);
}

static void take_answers(void)
{
	struct pollfd p = { .fd = WEB_CONTROL_FD, .events = POLLIN };
	struct serve_answer a;
	ssize_t got;
	int fd;

	for (;;) {
		if (poll(&p, 1, 1000) > 0) {
			got = reader_socket__get(WEB_CONTROL_FD, &a, sizeof(a), &fd, 0);
			if (!got || (got < 0 && errno != EINTR && errno != EAGAIN))
				return;
			if (got == sizeof(a))
				on_answer(&a, fd);
			else if (fd >= 0)
				close(fd);
		}
		end_late_ones();
		end_those_gone();
	}
}

/* ---- the process */

static const struct lockdown_limit limits[] = {
	{ RLIMIT_CORE, 0 },
	{ RLIMIT_FSIZE, 0 },
	{ RLIMIT_MEMLOCK, 0 },
	{ RLIMIT_NOFILE, 1024 },
};

/* This thread and libmicrohttpd's: what has got hold of it cannot fork. Not of nobody, who is others, too. */
static const struct lockdown_limit two_threads[] = { { RLIMIT_NPROC, 2 } };

#define CALL LOCKDOWN_CALL
#define NO_CODE .arg = 2, .none_of = PROT_EXEC
#define NO_SIGNALS .arg = 1, .none_of = FIOSETOWN & SIOCSPGRP	/* to others, by a socket */
#define OWN .arg = 0, .none_of = ~0u	/* 0 for a process is the caller */

static const struct lockdown_call calls[] = {
	CALL(read), CALL(pread64), CALL(write), CALL(readv), CALL(writev), CALL(sendfile), CALL(recvmsg), CALL(recvfrom), CALL(sendmsg), CALL(sendto),
	CALL(accept), CALL(accept4), CALL(shutdown), CALL(getsockname), CALL(getpeername), CALL(getsockopt), CALL(setsockopt), CALL(listen),
	CALL(epoll_create1), CALL(epoll_ctl), CALL(epoll_pwait), CALL(ppoll), CALL(pselect6), CALL(eventfd2), CALL(pipe2),
	CALL(close), CALL(fstat), CALL(newfstatat), CALL(lseek), LOCKDOWN_FCNTL, { .number = __NR_ioctl, NO_SIGNALS },
	{ .number = __NR_mmap, NO_CODE }, { .number = __NR_mprotect, NO_CODE }, CALL(munmap), CALL(mremap), CALL(madvise), CALL(brk),
	CALL(futex), CALL(getrandom), CALL(sysinfo), CALL(clock_gettime), CALL(gettimeofday), CALL(clock_nanosleep), CALL(sched_yield), CALL(sched_getaffinity),
	CALL(getpid), CALL(gettid), CALL(clone), CALL(clone3), CALL(rseq), CALL(set_robust_list), CALL(prctl), { .number = __NR_prlimit64, OWN },
	CALL(rt_sigprocmask), CALL(rt_sigaction), CALL(rt_sigreturn), CALL(restart_syscall), CALL(exit), CALL(exit_group),
#if defined(__x86_64__)
	CALL(epoll_wait), CALL(poll), CALL(select), CALL(time),
	{ .number = NR_URETPROBE }, { .number = NR_UPROBE },
#endif
};

static bool read_settings(void)
{
	for (size_t i = 0; i < N_WEB_TEXTS; i++) {
		uint32_t n;

		if (read(WEB_SETTINGS_FD, &n, sizeof(n)) != sizeof(n) || n > SERVE_SECRET_MAX)
			return false;
		web.texts[i] = n ? xmalloc(n + 1) : NULL;
		if (n && read(WEB_SETTINGS_FD, web.texts[i], n) != (ssize_t)n)
			return false;
		if (n)
			web.texts[i][n] = '\0';
	}
	close(WEB_SETTINGS_FD);
	return true;
}

/* What libmicrohttpd says of strangers is nobody's business; why it does not begin is. */
static void on_words(void *arg, const char *fmt, va_list ap)
{
	if (web.begun)
		return;
	vsnprintf(web.words, sizeof(web.words), fmt, ap);
	web.words[strcspn(web.words, "\n")] = '\0';
}

/* 0: as many as there are for all */
static unsigned int connections_of_one(void)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} a = {};
	socklen_t len = sizeof(a);

	if (getsockname(WEB_LISTEN_FD, &a.any, &len))
		return CONNECTIONS_OF_ONE;
	if (a.any.sa_family == AF_INET)
		return ntohl(a.v4.sin_addr.s_addr) >> 24 == 127 ? 0 : CONNECTIONS_OF_ONE;
	return a.any.sa_family == AF_INET6 && !IN6_IS_ADDR_LOOPBACK(&a.v6.sin6_addr) ? CONNECTIONS_OF_ONE : 0;
}

static struct MHD_Daemon *start(void)
{
	unsigned int flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
	struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, web.texts[WEB_CERT] },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, web.texts[WEB_KEY] },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0, "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2" },
		{ web.texts[WEB_CLIENT_CA] ? MHD_OPTION_HTTPS_MEM_TRUST : MHD_OPTION_END, 0, web.texts[WEB_CLIENT_CA] },
		{ MHD_OPTION_END, 0, NULL },
	}, none[] = { { MHD_OPTION_END, 0, NULL } };

	if (web.texts[WEB_CERT])
		flags |= MHD_USE_TLS;
	return MHD_start_daemon(flags, 0, NULL, NULL, on_request, NULL, MHD_OPTION_EXTERNAL_LOGGER, on_words, NULL,
				MHD_OPTION_LISTEN_SOCKET, WEB_LISTEN_FD, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
				MHD_OPTION_PER_IP_CONNECTION_LIMIT, connections_of_one(), MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_BYTES,
				MHD_OPTION_NOTIFY_COMPLETED, on_end, NULL, MHD_OPTION_ARRAY, web.texts[WEB_CERT] ? tls : none, MHD_OPTION_END);
}

int web_child__main(void)
{
	struct MHD_Daemon *daemon;

	prctl(PR_SET_NAME, WEB_CHILD_NAME);
	if (lockdown__give_up_rights(ROOT_POWERLESS) || !read_settings() ||
	    lockdown__limit(limits, ARRAY_SIZE(limits)) || (lockdown__is_stranger() && lockdown__limit(two_threads, ARRAY_SIZE(two_threads))) ||
	    lockdown__allow(calls, ARRAY_SIZE(calls)))
		return 1;
	daemon = start();
	if (!daemon) {
		char why[300];

		snprintf(why, sizeof(why), "it does not begin%s%s%s", web.texts[WEB_CERT] ? ", by the certificate and key that it is given" : "", *web.words ? ": " : "", web.words);
		ready__say(WEB_CONTROL_FD, why);
		return 2;
	}
	web.begun = true;
	ready__say(WEB_CONTROL_FD, NULL);
	take_answers();
	/* the one that traces has ended */
	_exit(0);
}
