// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the process that speaks HTTP, from the side of the one that traces: how it is started, and what it is told. */
#include "serve/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "reader/lockdown.h"
#include "reader/reader.h"
#include "util/parse.h"
#include "util/util.h"

const struct served served[N_SERVED] = {
	[SERVE_HEALTH] = { "/healthz", "text/plain; charset=utf-8", NULL, 0, 0 },
	[SERVE_METRICS] = { "/metrics", "text/plain; version=0.0.4; charset=utf-8", NULL, 0, 0 },
	[SERVE_HEAP] = { "/debug/pprof/heap", "application/octet-stream", "heap", 1, 1 },
	[SERVE_ALLOCS] = { "/debug/pprof/allocs", "application/octet-stream", "allocs", 1, 1 },
	[SERVE_JSON] = { "/profile.json", "application/json", NULL, 1, 0 },
	[SERVE_PAGE] = { "/", "text/html; charset=utf-8", NULL, 1, 0 },
};

/* ---- the first that a child of serve says */

#define WAIT_MS 20000

struct ready {
	char why[400];		/* empty: it is */
};

void ready__say(int fd, const char *why)
{
	struct ready r = {};

	snprintf(r.why, sizeof(r.why), "%s", why ? why : "");
	(void)!reader_socket__put(fd, &r, sizeof(r), -1, 0);
}

/* who: as messages begin. */
static int await_ready(int fd, const char *who, struct err *e)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct ready r = {};
	int with = -1;
	ssize_t got = poll(&p, 1, WAIT_MS) > 0 ? reader_socket__get(fd, &r, sizeof(r), &with, MSG_DONTWAIT) : -1;

	if (with >= 0)
		close(with);
	if (got != sizeof(r))
		return err_set(e, -EIO, "%s: its process %s", who, got ? "is not ready in time" : "ended before it was ready");
	r.why[sizeof(r.why) - 1] = '\0';
	clean_name(r.why);
	return *r.why ? err_set(e, -EIO, "%s: %s", who, r.why) : 0;
}

/* ---- the process */

/* Secrets pass in memory that no file system has. */
static int write_settings(const struct serve_secrets *o, struct err *e)
{
	const char *texts[N_WEB_TEXTS] = { [WEB_TOKEN] = o->token, [WEB_CERT] = o->cert, [WEB_KEY] = o->key, [WEB_CLIENT_CA] = o->client_ca };
	int fd = memfd_create("settings", MFD_CLOEXEC);

	for (size_t i = 0; fd >= 0 && i < N_WEB_TEXTS; i++) {
		uint32_t n = texts[i] ? (uint32_t)strlen(texts[i]) : 0;

		if (write(fd, &n, sizeof(n)) != sizeof(n) || (n && write(fd, texts[i], n) != (ssize_t)n)) {
			close(fd);
			fd = -1;
		}
	}
	if (fd < 0 || lseek(fd, 0, SEEK_SET))
		return err_set(e, -errno, "settings of the HTTP process: %s", strerror(errno));
	return fd;
}

int web__start(int listen_fd, const struct serve_secrets *secrets, struct web *ret, struct err *e)
{
	static char *const argv[] = { WEB_CHILD_NAME, NULL };
	_cleanup_close_ int settings = write_settings(secrets, e);
	int pair[2], err;
	pid_t pid;

	if (settings < 0)
		return settings;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return err_set(e, -errno, "the HTTP process: %s", strerror(errno));
	pid = lockdown__spawn(&(struct lockdown_start){ .fds = { pair[1], listen_fd, -1, settings }, .n_fds = 4, .argv = argv });
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return err_set(e, pid, "the HTTP process cannot be started: %s", strerror(-pid));
	}
	*ret = (struct web){ pid, pair[0] };
	err = await_ready(pair[0], "the process that speaks HTTP", e);
	if (err)
		web__end(ret);
	return err;
}

void web__end(struct web *w)
{
	if (w->fd >= 0)
		close(w->fd);
	if (w->pid > 0)
		lockdown__end(w->pid);
	*w = (struct web){ 0, -1 };
}

/* ---- what stands in a request */

/* What a request may ask for: the table of arguments. */

#define DIGITS_(n) #n
#define DIGITS(n) DIGITS_(n)
#define TEXT(its_key, member) { .key = its_key, .at = offsetof(struct serve_ask, member), .room = sizeof(((struct serve_ask *)0)->member) }

static const struct argument {
	const char *key;
	size_t at, room;	/* room 0: a number */
	uint64_t most;
} arguments[] = {
	{ .key = "pid", .at = offsetof(struct serve_ask, pid), .most = INT_MAX },
	{ .key = "seconds", .at = offsetof(struct serve_ask, seconds), .most = SERVE_SECONDS_MAX },
	TEXT("comm", comm), TEXT("cgroup", cgroup), TEXT("container", container), TEXT("pod", pod),
};

/* Go's servers have them, and what asks those sends them along: they change nothing here. */
static const char *const ignored[] = { "debug", "gc" };

const char *web_query__take(struct serve_ask *ask, const char *key, const char *value)
{
	for (size_t i = 0; i < ARRAY_SIZE(arguments); i++) {
		const struct argument *a = &arguments[i];
		char *to = (char *)ask + a->at;
		uint32_t number;
		uint64_t n;

		if (strcmp(key, a->key))
			continue;
		if (!served[ask->what].narrows)
			return "means nothing here";
		if (a->room ? *to : memcmp(to, &(uint32_t){ 0 }, sizeof(uint32_t)))
			return "is given twice";
		if (!a->room) {
			if (parse_u64(value, 1, a->most, &n))
				return a->most == INT_MAX ? "want a process's number" : "want seconds, from 1 to " DIGITS(SERVE_SECONDS_MAX);
			number = (uint32_t)n;
			memcpy(to, &number, sizeof(number));
			return NULL;
		}
		if (!*value || strlen(value) >= a->room)
			return "is empty, or too long";
		memcpy(to, value, strlen(value) + 1);
		return NULL;
	}
	return table_first(s, ignored, !strcmp(key, *s)) ? NULL : "not known; there are pid, comm, cgroup, container, pod and seconds";
}

bool web_query__is_local(const char *host)
{
	struct in6_addr addr6;
	struct in_addr addr4;
	char name[64];
	size_t len;

	if (!host)
		return true;
	if (*host == '[') {
		len = strcspn(host + 1, "]");
		if (len >= sizeof(name) || host[1 + len] != ']' || (host[2 + len] && host[2 + len] != ':'))
			return false;
		memcpy(name, host + 1, len);
		name[len] = '\0';
		return inet_pton(AF_INET6, name, &addr6) == 1;
	}
	len = strcspn(host, ":");
	if (len >= sizeof(name))
		return false;
	memcpy(name, host, len);
	name[len] = '\0';
	return !len || !strcasecmp(name, "localhost") || inet_pton(AF_INET, name, &addr4) == 1;
}
