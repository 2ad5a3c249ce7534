/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Where HTTP is spoken, and what tells friends from strangers there. */
#ifndef MT_LISTEN_H
#define MT_LISTEN_H

#include "options/opts.h"
#include "util/err.h"

/* -EINVAL: no address, or one that others can reach, and nothing that tells them from friends. */
int listen__check(const struct opt_serve *o, struct err *e);
/* A listening socket, or -errno; checked. */
int listen__open(const struct opt_serve *o, struct err *e);
void listen__close(const struct opt_serve *o);	/* its listen_fd; a path goes with it */
/* "http://127.0.0.1:9464/"; the caller's, NULL without memory */
char *listen__words(const struct opt_serve *o);

#define SERVE_SECRET_MAX (256u << 10)

/* What the files say that the user named; each owned, NULL: not given; none is empty. */
struct serve_secrets {
	char *token, *cert, *key, *client_ca;
};
int secrets__read(const struct opt_serve *o, struct serve_secrets *ret, struct err *e);
void secrets__done(struct serve_secrets *s);

#endif
