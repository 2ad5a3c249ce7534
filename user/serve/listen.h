/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Where HTTP is spoken, and what tells friends from strangers there. */
#ifndef MT_LISTEN_H
#define MT_LISTEN_H

#include "options/opts.h"
#include "util/err.h"

/*
 * A listening socket, or -errno. -EINVAL: an address that others can reach, and nothing that tells them from friends. A socket of
 * the service manager (LISTEN_FDS) is taken instead of a new one.
 */
int listen__open(const struct opt_serve *o, struct err *e);
/* "http://127.0.0.1:9464/"; the caller's, NULL without memory */
char *listen__words(const struct opt_serve *o);

/* What the files say that the user named; each owned, NULL: not given. */
struct serve_secrets {
	char *token, *cert, *key, *client_ca;
};
int secrets__read(const struct opt_serve *o, struct serve_secrets *ret, struct err *e);
void secrets__done(struct serve_secrets *s);

#endif
