/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What is said while the screen is up, by any thread. */
#ifndef MT_LIVE_SAID_H
#define MT_LIVE_SAID_H

#include <pthread.h>
#include <stdbool.h>

#include "present/top/top.h"
#include "util/util.h"

struct said {			/* all zero but fd, which is -1: it was never begun */
	int fd;			/* readable when there is something new */
	bool starts;		/* steps are shown: what they hold up is all there is to see */
	pthread_mutex_t lock;	/* of what follows */
	struct vec(char *) all;	/* the last ones */
	size_t n_shown;		/* of them */
	char *progress;		/* the last one; NULL: none */
};

int said__open(struct said *s);	/* -errno */
/* Messages go here from now on. */
void said__listen(struct said *s);
/* The trace has begun: a step is over before the screen could show it. */
void said__begun(struct said *s);
/* Has something been said since the last call? */
bool said__is_new(struct said *s);
/* Messages that have not been on the screen yet. */
void said__show(struct said *s, struct top *t);
/* False: there is none, and the screen stays as it is. */
bool said__show_progress(struct said *s, struct top *t);
/* From a thread that ends the process now: what was said is said again, and nobody says any more. */
void said__leave(struct said *s);
/* Messages go to stderr again; what was said is said again. */
void said__close(struct said *s);

#endif
