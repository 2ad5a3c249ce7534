/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* A client of `malloctrace serve`, and a server beside a program with a ledger. */
#ifndef SERVE_CLIENT_H
#define SERVE_CLIENT_H

#include "lt.h"

#define TOKEN "a-token-of-more-than-sixteen"
#define LOCAL "Host: localhost\r\n"

struct reply {
	int status;		/* 0: the connection ended without one */
	char *head, *body;	/* owned */
	size_t n_body;
};

void reply__done(struct reply *r);
int connect_to(struct test *t, const char *path);	/* or a port, in digits; so are sockets below */
int bind_loopback(struct test *t, unsigned int *ret_port);	/* a port of its own, not yet listened at */
struct reply read_reply(struct test *t, int fd);
int ask(struct test *t, const char *socket, const char *method, const char *path, const char *headers);
struct reply get_as(struct test *t, const char *socket, const char *path, const char *headers);
struct reply get(struct test *t, const char *socket, const char *path);
void want_status(struct test *t, const char *socket, const char *method, const char *path, const char *headers, int status);
json_t *get_json(struct test *t, const char *socket, const char *path);
/* The value of a series of /metrics: its name with its labels. UINT64_MAX: there is none. */
uint64_t series(const char *text, const char *name);
uint64_t get_series(struct test *t, const char *socket, const char *name);	/* as it is now */
void want_series(struct test *t, const char *text, const char *name, uint64_t wanted);	/* of the fixture's name */

#define COLUMNS 4
/* pprof: sums over all samples, by column */
void sums_of_profile(struct test *t, const struct reply *r, uint64_t sums[COLUMNS]);

struct served {
	struct fx f;
	struct mt m;
	const char *socket;
};

/* more: further arguments, up to NULL */
void served__start(struct test *t, struct served *s, const char *const *more);
void served__stop(struct test *t, struct served *s);
void served__reload(struct test *t, struct served *s);	/* until another process traces */

size_t family(pid_t pid, pid_t *v, size_t n, size_t room);	/* behind the n that are there, a process and those below it; returns how many there are */
pid_t child_called(struct test *t, pid_t pid, const char *comm);	/* one of them */
void write_file(struct test *t, const char *path, const char *text);

#endif
