/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What passes between the process that speaks HTTP, which has no rights and meets everybody, and the one that traces: records of
 * fixed size, one a message. What the former says is checked as if a stranger had said it.
 */
#ifndef MT_SERVE_H
#define MT_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "model/snapshot.h"
#include "util/err.h"

/* What is served: what is asked for, the path, what the answer is, and whether ?pid= and its kin, and ?seconds=, mean something. */
enum serve_what { SERVE_HEALTH, SERVE_METRICS, SERVE_HEAP, SERVE_ALLOCS, SERVE_JSON, SERVE_PAGE, N_SERVED };

struct served {
	const char *path, *type;
	const char *download;	/* the name that a browser saves it under; NULL: it is shown */
	uint8_t narrows, lasts;
};
extern const struct served served[N_SERVED];

#define SERVE_GONE N_SERVED	/* not a question: the client of request `id` has closed its connection, and wants no answer */
#define SERVE_SECONDS_MAX 600
#define SERVE_COMM_MAX 64
#define SERVE_PATH_MAX 512

struct serve_ask {
	uint32_t id;		/* of the request, chosen by who asks */
	uint32_t what;		/* enum serve_what, or SERVE_GONE */
	uint32_t seconds;	/* 0: now; else what was done in the seconds to come */
	int32_t pid;		/* 0: any; so are empty texts */
	char comm[SERVE_COMM_MAX], cgroup[SERVE_PATH_MAX], container[SERVE_COMM_MAX + 16], pod[SERVE_PATH_MAX / 2];
};

/* A descriptor with the answer's bytes goes with it, unless there is an error. */
struct serve_answer {
	uint32_t id;
	int32_t err;		/* 0, or a negative errno */
	char why[256];		/* in words, if there is an error */
};

/* ---- where HTTP is spoken */

/* Where HTTP is spoken, and what tells friends from strangers there. */

struct serve_options {
	bool on;		/* the command is `serve`: a trace that answers over HTTP */
	const char *listen;	/* "127.0.0.1:9464" */
	int listen_fd;		/* that is open already; -1: none */
	const char *config;	/* NULL: none */
	char *config_text;	/* owned: what it says, which other fields point into */
	/* files that the user named; NULL: none */
	const char *token_file, *cert, *key, *client_ca;
};

/* -EINVAL: no address, or one that others can reach, and nothing that tells them from friends. */
int listen__check(const struct serve_options *o, struct err *e);
/* A listening socket, or -errno; checked. */
int listen__open(const struct serve_options *o, struct err *e);
void listen__close(const struct serve_options *o);	/* its listen_fd; a path goes with it */
/* "http://127.0.0.1:9464/"; the caller's */
char *listen__words(const struct serve_options *o);

#define SERVE_SECRET_MAX (256u << 10)

/* What the files say that the user named; each owned, NULL: not given; none is empty. */
struct serve_secrets {
	char *token, *cert, *key, *client_ca;
};
int secrets__read(const struct serve_options *o, struct serve_secrets *ret, struct err *e);
void secrets__done(struct serve_secrets *s);

/* ---- the process that speaks it */

/* The process that speaks HTTP: libmicrohttpd, without rights. It knows nothing but what it asks for, and who may ask. */

#define WEB_CHILD_NAME "malloctrace-web"

struct web {
	pid_t pid;
	int fd;			/* struct serve_ask comes from here, struct serve_answer goes there */
};

/* Without a token requests need none, without a certificate it is plain HTTP, without a client_ca whoever comes is answered. */
int web__start(int listen_fd, const struct serve_secrets *secrets, struct web *ret, struct err *e);
void web__end(struct web *w);

/* Its main(), under WEB_CHILD_NAME. */
int web_child__main(void);

/* What both sides of the HTTP process know: its descriptors, the texts that it is given, what it says first, what a request may have. */

enum { WEB_CONTROL_FD, WEB_LISTEN_FD, WEB_SETTINGS_FD = 3 };	/* not standard error, which may be a terminal: whoever has it reads what is typed */
/* Each with its length before it; 0: there is none. */
enum web_text { WEB_TOKEN, WEB_CERT, WEB_KEY, WEB_CLIENT_CA, N_WEB_TEXTS };

/* ---- the first that a child of serve says: that it can do its work, or why it cannot */

/* why NULL: it can. */
void ready__say(int fd, const char *why);

/* ---- what stands in a request, checked: strangers write it */

/* ?key=value: into the question; ask->what is known. NULL, or what is wrong with it, in words. */
const char *web_query__take(struct serve_ask *ask, const char *key, const char *value);
/*
 * May a request for this name (the header Host; NULL: none was given) be answered where nothing else tells friends from strangers?
 * A page that a browser shows can have a name of its own point to this machine, and read what is served here; it cannot have an
 * address, nor localhost.
 */
bool web_query__is_local(const char *host);

/* ---- what Prometheus reads */

/*
 * Snapshot → what Prometheus reads. What is counted over the lives of processes is remembered here, so that it never becomes less
 * when processes end and their rows are folded.
 */

struct metrics;

/* What malloctrace knows of its own work, beside the snapshot. */
struct metrics_own {
	uint64_t snapshot_ns;		/* what it took to take the snapshot of this scrape */
	uint64_t n_requests;		/* answered so far */
	uint64_t probe_hits;		/* the most that a snapshot had: while a process is put away, one may lack some of its */
	const char *const *profiles;	/* files that conditions have written, the newest ones that are still there */
	size_t n_profiles, n_kept;	/* of those; of all */
	uint64_t profile_bytes;		/* of all */
};

struct metrics *metrics__new(void);
void metrics__free(struct metrics *m);
/* The caller looks for errors of out. */
void metrics__write(struct metrics *m, FILE *out, const struct snapshot *s, const struct metrics_own *own);

/* Names of comms and cgroups at a time; what others did is called `other`. */
#define METRICS_NAMES 50
#define METRICS_OTHER "other"

#endif
