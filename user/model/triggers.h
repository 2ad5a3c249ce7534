/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * --when: conditions, what is remembered of each process that they are checked for, and
 * when one fires. Where figures come from, and what is done then, is the caller's.
 */
#ifndef MT_TRIGGERS_H
#define MT_TRIGGERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/snapshot.h"
#include "util/err.h"

enum figure { FIGURE_RSS, FIGURE_LIVE, FIGURE_BLOCKS, FIGURE_ALLOCS, N_FIGURES };
#define FIGURE_BIT(f) (1u << (f))

enum event { EVENT_NONE, EVENT_KILLED, EVENT_OOM };

struct measure;			/* a row of the table in triggers.c */

struct condition {
	const char *text;	/* as it was given; not owned */
	const struct measure *measure;
	uint64_t limit;
	uint64_t per_ns;	/* of a rate: the time that it is for; else 0 */
};

/*
 * "rss>2G", "growth>10M/min", "oom". -EINVAL: e says what is taken, without the option's name. text
 * must outlive ret.
 */
int condition__parse(const char *text, struct condition *ret, struct err *e);
/* The counters that must be recorded for it (enum counter_bit); 0: it needs none. */
unsigned int condition__needs(const struct condition *c);

/* Between two checks. */
#define TRIGGERS_LOOK_NS (250 * MS_NS)

struct triggers;

/* The texts are good, and outlive it. */
struct triggers *triggers__new(const char *const *texts, size_t n, uint64_t pause_ns);
void triggers__free(struct triggers *t);

/* Which figures are needed at all (FIGURE_BIT). */
unsigned int triggers__figures(const struct triggers *t);

/* A process as it is at this moment. */
struct look {
	uint32_t proc;		/* its number in the kernel's tables */
	const char *who;	/* "nginx (1432)" */
	const char *mark;	/* stands before what is counted: "~" if that is an estimate, else "" */
	unsigned int known;	/* FIGURE_BIT */
	uint64_t v[N_FIGURES];
};

/* Some times a second, of each process. */
void triggers__look(struct triggers *t, const struct look *l, uint64_t now_ns);
/* It happened: what, in words. */
void triggers__event(struct triggers *t, enum event event, const char *says, uint64_t now_ns);
/* The number may be another process's from now on. */
void triggers__forget(struct triggers *t, uint32_t proc);

/*
 * Why a snapshot is to be taken now; the caller's. NULL: for nothing, or another one was
 * taken a short while ago; what happened since is reported then. last: there will be no other.
 */
char *triggers__reasons(struct triggers *t, uint64_t now_ns, bool last);
/* What became of a condition so far, until the next check or event; last_ns: on the clock of now_ns, 0: it never fired. */
size_t triggers__n(const struct triggers *t);
const struct snap_when *triggers__when(const struct triggers *t, size_t i);
/* It was taken: the pause begins. */
void triggers__taken(struct triggers *t, uint64_t now_ns);

#endif
