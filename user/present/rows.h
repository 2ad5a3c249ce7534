/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What tables have rows of, beside processes and sites as they are (present/columns.h). */
#ifndef MT_ROWS_H
#define MT_ROWS_H

#include "model/snapshot.h"
#include "model/tags.h"
#include "present/columns.h"
#include "present/telling.h"
#include "present/views.h"

/* ---- stacks of one line */

/*
 * Sites as people count them: all stacks that allocate in one line of one function are one row. Where the line is
 * not known, the function is; where that has no name, its address in the file.
 */

/*
 * s with its sites merged into rows; t: of s. It refers to s, which must outlive it. ret_row_of, if wanted: the row of
 * each site, the caller's. leak_after_ns: as of snapshot__merge_sites().
 */
struct snapshot *rows__of(const struct snapshot *s, const struct tellings *t, uint64_t leak_after_ns, uint32_t **ret_row_of);
/* What tells a row from others, in every snapshot of the same trace. */
uint64_t row__id(const struct snapshot *s, const struct tellings *t, const struct snap_site *site);

/* ---- processes that grow */

#define GROWERS 3		/* of several processes, these have rows of sites */
#define GROWER_ROWS 3		/* each so many */

/* All processes, those that grow most first; the caller's. */
const struct snap_process **processes__by_growth(const struct snapshot *s);
/*
 * Sites of those that grow most or, where none does, that hold most, by process, as indexes; sort
 * NULL: by growth. The caller's, room for all GROWERS * GROWER_ROWS. *ret_verb: what these processes
 * do most, "grow", "hold" or, of ended ones, "held".
 */
size_t *processes__sites_of_growers(const struct snapshot *s, const char *sort, size_t *ret_n,
				    const char **ret_verb);

/* ---- threads: those of a process whose names differ in digits alone are one, worker-1 and worker-2 worker-* */

struct thread_rows {
	struct thread_row *v;		/* owned; in order */
	size_t n;
	struct thread_row *members;	/* owned; all threads, those of a row beside each other */
	size_t n_members;
	char **names;			/* owned; of rows of several, and patterns */
};

/* key NULL: by calls. Names of single threads are the snapshot's. */
void thread_rows__init(struct thread_rows *t, const struct snapshot *s, const struct metric *key);
void thread_rows__done(struct thread_rows *t);

/* ---- sites that have something in common, such as the function that allocates: ROWS_SUMS of present/views.h */

struct sum_row {
	struct sum_key key;
	struct tag_sum sum;
	int64_t since_baseline_bytes;
	struct trend trend;	/* growth added up; the worst verdict */
	const struct snap_site *oldest;	/* the one with the oldest live block; NULL: none has one */
	uint64_t total;		/* bytes of all sites that have a frame which would be of this row; live ones, where they are known */
	uint32_t number;	/* among all, by their keys */
	uint64_t weight, whole;	/* by some metric: its own, and that of all rows */
};

struct sum_rows {		/* all zero: none */
	struct sum_row *v;	/* owned; the heaviest first */
	size_t n;
	uint32_t *of;		/* owned; by site: 1 + its row; 0: it is in none */
};

/* Of the sites that the view shows; takes NULL: of all these. The order is total. Strings are the snapshot's. */
void sum_rows__init(struct sum_rows *r, const struct view *v, const struct snapshot *s, const struct tellings *t, const struct metric *key,
		   bool (*takes)(void *arg, const struct snap_site *site), void *arg);
void sum_rows__done(struct sum_rows *r);

/* ---- tags (text/row_tables.c) */

struct tag_row {
	const char *name;
	const struct snap_tag *tag;	/* NULL: what has none */
	uint64_t entered;		/* UINT64_MAX: calls are not known */
	struct tag_sum sum;
	uint64_t weight, whole;		/* by some metric: its own, and that of all rows */
};

/* What has no tag, and each tag, from their sums (tags__add_up), in that order: n_tags + 1 rows, the caller's. */
struct tag_row *tag_rows__make(const struct snapshot *s, const struct tag_sum *sums, const struct metric *key);

/* ---- --free-stacks: where the blocks of a site were freed, the place with the most calls first */

struct free_lists {		/* of site i: v[start[i]] up to v[start[i + 1]], indexes of frees */
	size_t *start;
	uint32_t *v;
};

void free_lists__init(struct free_lists *l, const struct snapshot *s);
void free_lists__done(struct free_lists *l);

struct free_place {
	uint32_t where;		/* index into free_sites */
	uint64_t calls, bytes, cross_calls, lifetime_sum_ns;
};

/* All places of a site; *ret is the caller's. */
void free_places__of(const struct snapshot *s, const struct free_lists *l, size_t site, struct free_place **ret, size_t *ret_n);

/* The places that a report shows of a site. */
#define FREE_PLACES_SHOWN 3

/* The free sites that a report of these sites shows, each once; *ret is the caller's. */
void free_places__shown(const struct snapshot *s, const size_t *sites, size_t n, uint32_t **ret, size_t *ret_n);

#endif
