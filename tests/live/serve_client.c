// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
#include "serve_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- a client */

void reply__done(struct reply *r)
{
	free(r->head);
	*r = (struct reply){};
}

int connect_to(struct test *t, const char *path)
{
	struct sockaddr_in ip = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)atoi(path)) };
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	bool is_port = *path != '/';
	int fd = socket(is_port ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (is_port) {
		must(t, fd >= 0 && !connect(fd, (const struct sockaddr *)&ip, sizeof(ip)), "connect %s: %s", path, strerror(errno));
		return fd;
	}
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	must(t, fd >= 0 && !connect(fd, (const struct sockaddr *)&a, sizeof(a)), "connect %s: %s", path, strerror(errno));
	return fd;
}

int bind_loopback(struct test *t, unsigned int *ret_port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must(t, fd >= 0 && !bind(fd, (const struct sockaddr *)&a, len) && !getsockname(fd, (struct sockaddr *)&a, &len), "bind: %s", strerror(errno));
	*ret_port = ntohs(a.sin_port);
	return fd;
}

struct reply read_reply(struct test *t, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct reply r = {};
	size_t n = 0, room = 1 << 16;
	ssize_t got;
	char *end;

	r.head = malloc(room + 1);
	must(t, r.head, "memory");
	for (;;) {
		must(t, poll(&p, 1, (int)patience_s(60) * 1000) == 1, "no answer");
		if (n == room) {
			room *= 2;
			r.head = realloc(r.head, room + 1);
			must(t, r.head, "memory");
		}
		got = read(fd, r.head + n, room - n);
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	r.head[n] = '\0';
	close(fd);
	sscanf(r.head, "HTTP/1.1 %d", &r.status);
	end = memmem(r.head, n, "\r\n\r\n", 4);
	if (end) {
		*end = '\0';
		r.body = end + 4;
		r.n_body = n - (size_t)(r.body - r.head);
	}
	return r;
}

int ask(struct test *t, const char *socket, const char *method, const char *path, const char *headers)
{
	int fd = connect_to(t, socket);
	char text[1024];
	int n = snprintf(text, sizeof(text), "%s %s HTTP/1.1\r\nConnection: close\r\n%s\r\n", method, path, headers);

	must(t, write(fd, text, (size_t)n) == n, "write");
	return fd;
}

struct reply get_as(struct test *t, const char *socket, const char *path, const char *headers)
{
	return read_reply(t, ask(t, socket, "GET", path, headers));
}

struct reply get(struct test *t, const char *socket, const char *path)
{
	return get_as(t, socket, path, LOCAL);
}

void want_status(struct test *t, const char *socket, const char *method, const char *path, const char *headers, int status)
{
	struct reply r = read_reply(t, ask(t, socket, method, path, headers));

	want(t, r.status == status, "%s %s (%.40s): status %d, wanted %d: %.200s", method, path, headers, r.status, status, r.body ? r.body : "");
	reply__done(&r);
}

json_t *get_json(struct test *t, const char *socket, const char *path)
{
	struct reply r = get(t, socket, path);
	json_error_t e;
	json_t *root;

	must(t, r.status == 200, "%s: status %d: %.200s", path, r.status, r.body ? r.body : "");
	root = json_loadb(r.body, r.n_body, 0, &e);
	must(t, root, "%s: %s", path, e.text);
	reply__done(&r);
	return with_frames(root);
}

uint64_t series(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, len) && line[len] == ' ')
			return (uint64_t)strtod(line + len, NULL);
	}
	return UINT64_MAX;
}

uint64_t get_series(struct test *t, const char *socket, const char *name)
{
	struct reply r = get(t, socket, "/metrics");
	uint64_t v;

	must(t, r.status == 200, "/metrics: status %d: %.200s", r.status, r.body ? r.body : "");
	v = series(r.body, name);
	reply__done(&r);
	return v;
}

/* ---- pprof */

static uint64_t varint(const unsigned char **at, const unsigned char *end)
{
	uint64_t n = 0;

	for (unsigned int shift = 0; *at < end && shift < 64; shift += 7) {
		unsigned char c = *(*at)++;

		n |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80))
			break;
	}
	return n;
}

static void add_sample(const unsigned char *at, const unsigned char *end, uint64_t sums[COLUMNS])
{
	while (at < end) {
		uint64_t key = varint(&at, end), n = varint(&at, end);
		const unsigned char *inner = at;

		if ((key & 7) != 2)
			continue;
		for (unsigned int i = 0; key >> 3 == 2 && inner < at + n && i < COLUMNS; i++)
			sums[i] += varint(&inner, at + n);
		at += n;
	}
}

void sums_of_profile(struct test *t, const struct reply *r, uint64_t sums[COLUMNS])
{
	const char *path = in_dir(t, "profile.pb.gz");
	char command[400];
	unsigned char *bytes;
	const unsigned char *at, *end;
	size_t n;
	FILE *f = fopen(path, "w");

	must(t, f && fwrite(r->body, 1, r->n_body, f) == r->n_body && !fclose(f), "%s", path);
	snprintf(command, sizeof(command), "gzip -dc %s > %s.raw", path, path);
	must(t, !system(command), "what was served is no gzip: %.40s", r->body);
	snprintf(command, sizeof(command), "%s.raw", path);
	bytes = (unsigned char *)read_all(command, &n);
	must(t, bytes, "%s", command);
	memset(sums, 0, COLUMNS * sizeof(*sums));
	for (at = bytes, end = bytes + n; at < end;) {
		uint64_t key = varint(&at, end), len = varint(&at, end);

		if ((key & 7) != 2)
			continue;
		must(t, len <= (uint64_t)(end - at), "a profile that ends in the middle");
		if (key >> 3 == 2)
			add_sample(at, at + len, sums);
		at += len;
	}
	free(bytes);
}

/* ---- a server beside a program with a ledger */

void served__start(struct test *t, struct served *s, const char *const *more)
{
	struct spawn sp = { .argv = { lt_bin, "serve", "-p" } };
	char listen[200];
	unsigned int n = 3;

	fx__start(t, &s->f, "basic", "family", NULL);
	s->socket = in_dir(t, "socket");
	snprintf(listen, sizeof(listen), "unix:%s", s->socket);
	sp.argv[n++] = pid_arg(s->f.c.pid);
	sp.argv[n++] = "--listen";
	sp.argv[n++] = listen;
	for (; more && *more; more++)
		sp.argv[n++] = *more;
	mt__start_v(t, &s->m, &sp);
	mt__wait_attached(t, &s->m);
	child__wait_err(t, &s->m.c, "malloctrace: serving", NULL, patience_s(60));
}

void served__stop(struct test *t, struct served *s)
{
	mt__stop(t, &s->m, SIGTERM, 0);
	want(t, access(s->socket, F_OK), "the socket is left");
	want_unprobed(t, s->f.c.pid);
	fx__quit(t, &s->f);
}

void served__reload(struct test *t, struct served *s)
{
	child__kill(t, &s->m.c, SIGHUP);
	child__wait_err(t, &s->m.c, "malloctrace: serving", NULL, patience_s(60));
}

void want_series(struct test *t, const char *text, const char *name, uint64_t wanted)
{
	char whole[160];

	snprintf(whole, sizeof(whole), "malloctrace_comm_%s{comm=\"basic\"}", name);
	want_eq(t, whole, wanted, series(text, whole));
}

void write_file(struct test *t, const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	must(t, f && fputs(text, f) >= 0 && !fclose(f), "%s", path);
}

size_t family(pid_t pid, pid_t *v, size_t n, size_t room)
{
	char path[80], *text, *save = NULL;

	if (n == room)
		return n;
	v[n++] = pid;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	text = read_all(path, NULL);
	for (char *child = text ? strtok_r(text, " ", &save) : NULL; child; child = strtok_r(NULL, " ", &save))
		n = family((pid_t)atoi(child), v, n, room);
	free(text);
	return n;
}

pid_t child_called(struct test *t, pid_t pid, const char *comm)
{
	pid_t own[16], found = 0;
	size_t n = family(pid, own, 0, 16);

	for (size_t i = 0; i < n && !found; i++) {
		char path[40], *text;

		snprintf(path, sizeof(path), "/proc/%d/comm", (int)own[i]);
		text = read_all(path, NULL);
		/* the kernel keeps 15 characters */
		if (text && !strncmp(text, comm, strlen(comm) > 15 ? 15 : strlen(comm)))
			found = own[i];
		free(text);
	}
	must(t, found, "no process %s", comm);
	return found;
}
