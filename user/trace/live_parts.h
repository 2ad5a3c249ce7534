/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The inside of the live view, for its files: live_open.c its beginning and end, and messages; live.c what goes on in between. */
#ifndef MT_LIVE_PARTS_H
#define MT_LIVE_PARTS_H

#include <pthread.h>
#include <stdbool.h>

#include "model/group.h"
#include "names/names.h"
#include "names/source.h"
#include "present/top/top.h"
#include "trace/session.h"
#include "util/util.h"

/* What is said while the screen is up, by any thread. */

struct said {			/* all zero but fd, which is -1: it was never begun */
	int fd;			/* readable when there is something new */
	bool starts;		/* steps are shown: what they hold up is all there is to see */
	pthread_mutex_t lock;	/* of what follows */
	struct vec(char *) all;	/* the last ones */
	size_t n_shown;		/* of them */
	char *progress;		/* the last one; NULL: none */
};

/* Messages that have not been on the screen yet. */
void said__show(struct said *s, struct top *t);
/* False: there is none, and the screen stays as it is. */
bool said__show_progress(struct said *s, struct top *t);

struct held {
	struct snapshot *shown, *base;	/* with --by, shown is made of base, which it needs */
};

struct live {
	struct session *s;
	struct top *top;
	const struct grouping *by, *other;	/* what a row is, and what it is after the key that switches */
	struct grid grid;
	struct names *names;
	int timer_fd, respite_timer_fd;	/* the interval; what came too early after the last drawing */
	bool all_ended;
	bool told_missing;	/* that names are missing, once */
	uint64_t looked_missing_ns;	/* for them; 0: never */
	struct starting *starting;	/* NULL: the loop has the terminal */
	uint64_t waiting_since_ns;	/* for names; 0: for none */
	struct respite respite;	/* of what comes by itself */
	struct source_file *source;	/* what the screen shows of one; NULL: none */
	struct vec(struct held) held;
	unsigned int runtimes;	/* of which it was said what is not seen; a bit for each of the table */
	struct said said;
};

/* By program and by process; what --by asked for is one of the two. */
void live__choose_rows(struct live *l);
/* Keys, signals, the interval, messages and names are handled from now on, by the session's loop. -errno */
int live__fill_loop(struct live *l);
/* For top__on_drop(): of the snapshot that the view has done with. */
void live__on_drop(struct snapshot *s, void *arg);
/* A snapshot of now becomes what is shown; or, if none can be had, what is shown stays. */
void live__update(struct live *l);
void live__draw(struct live *l);
/* For struct top_opts. */
size_t live__fill_names(struct snapshot *s, const uint32_t *places, size_t n, void *arg);
/* 0: not at all. */
void live__set_timer(struct live *l, uint64_t first_ns, uint64_t interval_ns);

#endif
