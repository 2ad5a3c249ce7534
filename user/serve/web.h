/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The process that speaks HTTP: libmicrohttpd, without rights. It knows nothing but what it asks for, and who may ask. */
#ifndef MT_WEB_H
#define MT_WEB_H

#include <stddef.h>
#include <sys/types.h>

#include "util/err.h"

#define WEB_CHILD_NAME "malloctrace-web"

struct web_opts {
	int listen_fd;
	const char *token;	/* what requests must carry; NULL: nothing */
	/* the contents of PEM files; NULL: plain HTTP; client_ca NULL: whoever comes */
	const char *cert, *key, *client_ca;
};

struct web {
	pid_t pid;
	int fd;			/* struct serve_ask comes from here, struct serve_answer goes there */
};

int web__start(const struct web_opts *o, struct web *ret, struct err *e);
void web__end(struct web *w);

/* Its main(), under WEB_CHILD_NAME. */
int web_child__main(void);

#endif
