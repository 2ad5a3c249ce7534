/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Threads as rows: those of a process whose names differ in digits alone are one, worker-1 and worker-2 worker-*. */
#ifndef MT_THREADS_H
#define MT_THREADS_H

#include <stdbool.h>

#include "present/columns.h"

struct thread_rows {
	struct thread_row *v;		/* owned; in order */
	size_t n;
	struct thread_row *members;	/* owned; all threads, those of a row beside each other */
	size_t n_members;
	char **names;			/* owned; of rows of several, and patterns */
};

/* key NULL: by calls. 0 or -ENOMEM. Names of single threads are the snapshot's. */
int thread_rows__init(struct thread_rows *t, const struct snapshot *s, const struct metric *key);
void thread_rows__done(struct thread_rows *t);

#endif
