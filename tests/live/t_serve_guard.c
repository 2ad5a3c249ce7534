// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* `malloctrace serve`: what keeps strangers out, from the start and through reloads. */
#include "serve_client.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- HTTPS */

static bool shell(const char *command)
{
	return !system(command);
}

/* An authority, or what one has signed, for what it says: NAME.pem and NAME.key. */
static void make_certificate(struct test *t, const char *name, const char *authority, const char *purpose)
{
	char signer[300] = "", use[100] = "", command[900];

	if (authority)
		snprintf(signer, sizeof(signer), "-CA %s/%s.pem -CAkey %s/%s.key", t->dir, authority, t->dir, authority);
	if (purpose)
		snprintf(use, sizeof(use), "-addext extendedKeyUsage=%s", purpose);
	snprintf(command, sizeof(command), "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost %s %s -keyout %s/%s.key -out %s/%s.pem 2>%s/openssl",
		 signer, use, t->dir, name, t->dir, name, t->dir);
	must(t, shell(command), "%s", command);
}

/* What curl is told with these arguments; 0: no answer. */
static int status_of(struct test *t, const struct served *s, const char *arguments)
{
	char command[900], *text;
	int status = 0;

	snprintf(command, sizeof(command), "curl -s --cacert %s/own.pem %s --unix-socket %s -o /dev/null -w '%%{http_code}' https://localhost/metrics >%s/status", t->dir, arguments, s->socket, t->dir);
	(void)!system(command);
	text = read_all(in_dir(t, "status"), NULL);
	if (text)
		sscanf(text, "%d", &status);
	free(text);
	return status;
}

static void want_status_as(struct test *t, const struct served *s, const char *certificate, const char *more, int wanted)
{
	char arguments[500] = "";

	if (certificate)
		snprintf(arguments, sizeof(arguments), "--cert %s/%s.pem --key %s/%s.key", t->dir, certificate, t->dir, certificate);
	strcat(arguments, more);
	want_eq(t, certificate ? certificate : "no certificate", (uint64_t)wanted, (uint64_t)status_of(t, s, arguments));
}

#define WITH_TOKEN " -H 'Authorization: Bearer " TOKEN "'"

TEST(serve_tls)
{
	const char *cert = in_dir(t, "own.pem"), *key = in_dir(t, "own.key"), *ca = in_dir(t, "ca.pem"), *token = in_dir(t, "token");
	struct served s;

	if (!shell("openssl version >/dev/null 2>&1 && curl --version >/dev/null 2>&1"))
		skip(t, "no openssl, or no curl");
	make_certificate(t, "own", NULL, NULL);
	make_certificate(t, "ca", NULL, NULL);
	make_certificate(t, "stranger", NULL, NULL);
	make_certificate(t, "friend", "ca", NULL);
	make_certificate(t, "client", "ca", "clientAuth");
	make_certificate(t, "server", "ca", "serverAuth");
	write_file(t, token, TOKEN "\n");

	served__start(t, &s, (const char *[]){ "--tls-cert", cert, "--tls-key", key, "--token-file", token, NULL });
	want_status_as(t, &s, NULL, "", 401);
	want_status_as(t, &s, NULL, WITH_TOKEN, 200);
	served__stop(t, &s);

	served__start(t, &s, (const char *[]){ "--tls-cert", cert, "--tls-key", key, "--tls-client-ca", ca, NULL });
	want_status_as(t, &s, NULL, "", 403);
	want_status_as(t, &s, "stranger", "", 403);
	want_status_as(t, &s, "own", "", 403);
	want_status_as(t, &s, "server", "", 403);
	want_status_as(t, &s, "friend", "", 200);
	want_status_as(t, &s, "client", "", 200);
	served__stop(t, &s);

	/* files that are none: it is said before anything is traced */
	fx__start(t, &s.f, "basic", "family", NULL);
	want_eq(t, "status with a bad certificate", 1,
		(uint64_t)mt__run(t, &s.m, "serve", "-p", pid_arg(s.f.c.pid), "--listen", "127.0.0.1:1", "--tls-cert", token, "--tls-key", key, NULL));
	want(t, strstr(s.m.c.errs.s, "by the certificate and key") && !strstr(s.m.c.errs.s, "attached"), "%s", s.m.c.errs.s);
	fx__quit(t, &s.f);

	/* both: both are wanted */
	served__start(t, &s, (const char *[]){ "--tls-cert", cert, "--tls-key", key, "--tls-client-ca", ca, "--token-file", token, NULL });
	want_status_as(t, &s, NULL, WITH_TOKEN, 403);
	want_status_as(t, &s, "client", "", 401);
	want_status_as(t, &s, "client", WITH_TOKEN, 200);
	served__stop(t, &s);
}

/* ---- files and options that are wrong */

static void want_refused(struct test *t, struct mt *m, const char *config, const char *text, const char *says)
{
	size_t from = m->c.err_seen;

	write_file(t, config, text);
	child__kill(t, &m->c, SIGHUP);
	child__wait_err(t, &m->c, "malloctrace:", "all goes on as before", patience_s(60));
	want(t, strstr(m->c.errs.s + from, says), "%s: wanted '%s' in: %s", text, says, m->c.errs.s + from);
}

/* Each is said, and what there was goes on: the same process traces, and knows what it knew. */
TEST(serve_reload_refused)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "token-file = /nowhere/at/all\n", "No such file" },
		{ "token-file = /dev/null\n", "it is empty" },
		{ "tls-cert = /dev/null\ntls-key = /dev/null\n", "it is empty" },
		{ "container = nobody-is-called-so\n", "nobody-is-called-so" },
	};
	const char *config = in_dir(t, "config");
	struct served s;
	struct reply r;

	write_file(t, config, "");
	served__start(t, &s, (const char *[]){ "--config", config, NULL });
	fx__go(t, &s.f);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		want_refused(t, &s.m, config, rows[i].text, rows[i].says);
	r = get(t, s.socket, "/metrics");
	want_series(t, r.body, "allocations_total", ledger__sum(&s.f.led, LED_ALLOC_CALLS));
	reply__done(&r);
	served__stop(t, &s);
}

/* What keeps strangers from an address that they can reach cannot be taken away by a reload, nor can those who are traced. */
TEST(serve_reload_unguarded)
{
	const char *config = in_dir(t, "config"), *token = in_dir(t, "token"), *port;
	char text[400];
	struct mt m;
	struct fx f;
	unsigned int n;
	int fd = bind_loopback(t, &n);

	fx__start(t, &f, "basic", "family", NULL);
	write_file(t, token, TOKEN "\n");
	port = number_arg(n);
	close(fd);
	snprintf(text, sizeof(text), "pid = %d\nlisten = 0.0.0.0:%u\ntoken-file = %s\n", (int)f.c.pid, n, token);
	write_file(t, config, text);
	mt__start(t, &m, "serve", "--config", config, NULL);
	child__wait_err(t, &m.c, "malloctrace: serving", NULL, patience_s(60));
	snprintf(text, sizeof(text), "pid = %d\nlisten = 0.0.0.0:%u\n", (int)f.c.pid, n);
	want_refused(t, &m, config, text, "it needs --token-file");
	snprintf(text, sizeof(text), "pid = 4194305\nlisten = 0.0.0.0:%u\ntoken-file = %s\n", n, token);
	want_refused(t, &m, config, text, "no process 4194305");
	/* the same port of another address: it is taken until the one that has it has ended */
	snprintf(text, sizeof(text), "pid = %d\nlisten = 127.0.0.1:%u\n", (int)f.c.pid, n);
	want_refused(t, &m, config, text, "takes a restart");
	want_status(t, port, "GET", "/metrics", LOCAL, 401);
	want_status(t, port, "GET", "/metrics", LOCAL "Authorization: Bearer " TOKEN "\r\n", 200);
	mt__stop(t, &m, SIGTERM, 0);
	fx__quit(t, &f);
}

/* A reload that waits for the process that traces is called off by what ends all. */
TEST(serve_reload_called_off)
{
	const char *config = in_dir(t, "config");
	pid_t own[16];
	struct served s;

	write_file(t, config, "");
	served__start(t, &s, (const char *[]){ "--config", config, NULL });
	must(t, family(s.m.c.pid, own, 0, 16) > 1, "no process that traces");
	kill(own[1], SIGSTOP);
	want_state(t, own[1], 'T');
	child__kill(t, &s.m.c, SIGHUP);
	child__kill(t, &s.m.c, SIGTERM);
	kill(own[1], SIGCONT);
	want_eq(t, "status", 0, (uint64_t)child__wait(t, &s.m.c));
	want(t, strstr(s.m.c.errs.s, "attached") && !strstr(strstr(s.m.c.errs.s, "attached") + 1, "attached"), "it went on: %s", s.m.c.errs.s);
	want_unprobed(t, s.f.c.pid);
	fx__quit(t, &s.f);
}

/* What has got hold of the process that meets strangers cannot start another one. */
TEST(serve_cannot_fork)
{
	char path[60], *text;
	struct served s;

	served__start(t, &s, NULL);
	snprintf(path, sizeof(path), "/proc/%d/limits", (int)child_called(t, s.m.c.pid, "malloctrace-web"));
	text = read_all(path, NULL);
	want(t, text && strstr(text, "Max processes             2                    2 "), "%s", text ? text : path);
	free(text);
	want_status(t, s.socket, "GET", "/metrics", LOCAL, 200);
	served__stop(t, &s);
}

/* Nor can it read what is typed where malloctrace was started, which standard error would let it. */
TEST(serve_has_no_terminal)
{
	char path[60], to[256] = "";
	struct served s;

	served__start(t, &s, NULL);
	snprintf(path, sizeof(path), "/proc/%d/fd/2", (int)child_called(t, s.m.c.pid, "malloctrace-web"));
	want(t, readlink(path, to, sizeof(to) - 1) > 0 && !strcmp(to, "/dev/null"), "%s is %s", path, to);
	served__stop(t, &s);
}

#define OF_ONE 64

/* One address cannot take all connections where others come from, too. */
TEST(serve_one_address)
{
	const char *token = in_dir(t, "token"), *port;
	char listen[40], c;
	int fds[OF_ONE + 1], fd;
	unsigned int n;
	struct mt m;
	struct fx f;

	fd = bind_loopback(t, &n);
	port = number_arg(n);
	close(fd);
	fx__start(t, &f, "basic", "family", NULL);
	write_file(t, token, TOKEN "\n");
	snprintf(listen, sizeof(listen), "0.0.0.0:%u", n);
	mt__start(t, &m, "serve", "-p", pid_arg(f.c.pid), "--listen", listen, "--token-file", token, NULL);
	child__wait_err(t, &m.c, "malloctrace: serving", NULL, patience_s(60));
	for (size_t i = 0; i <= OF_ONE; i++) {
		fds[i] = connect_to(t, port);
		(void)!write(fds[i], "GET /met", 8);
	}
	/* the last one is closed; those before it wait for the rest */
	want(t, recv(fds[OF_ONE], &c, 1, 0) <= 0, "one more connection of one address");
	want(t, recv(fds[OF_ONE - 1], &c, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN, "not even %d", OF_ONE);
	for (size_t i = 0; i <= OF_ONE; i++)
		close(fds[i]);
	mt__stop(t, &m, SIGTERM, 0);
	want_unprobed(t, f.c.pid);
	fx__quit(t, &f);
}

/* A file that protects, and has nothing in it, is not the same as none. */
TEST(serve_empty_files)
{
	static const char *const options[] = { "--token-file", "--tls-client-ca" };
	char listen[200];
	struct mt m;
	struct fx f;

	fx__start(t, &f, "basic", "family", NULL);
	snprintf(listen, sizeof(listen), "unix:%s", in_dir(t, "socket"));
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		int status = mt__run(t, &m, "serve", "-p", pid_arg(f.c.pid), "--listen", listen, "--tls-cert", "/etc/hostname", "--tls-key", "/etc/hostname", options[i], "/dev/null", NULL);

		want(t, status == 1 && strstr(m.c.errs.s, "it is empty"), "%s: status %d: %s", options[i], status, m.c.errs.s);
	}
	fx__quit(t, &f);
}
