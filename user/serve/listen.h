/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Where HTTP is spoken, and what tells friends from strangers there. */
#ifndef MT_LISTEN_H
#define MT_LISTEN_H

#include <stdbool.h>
#include <stdint.h>

#include "util/err.h"

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

#endif
