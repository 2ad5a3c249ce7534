/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Which processes map new code: a program that is started, dlopen in one that runs. A perf
 * event that counts nothing, one per CPU, carries the kernel's notes about
 * executable mappings; nothing is paid per system call or per page.
 */
#ifndef MT_WATCH_H
#define MT_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/maps.h"
#include "util/err.h"

struct watch;

enum watch_kind {
	WATCH_MAPPED,		/* pid has mapped code */
	/* pid begins another program: what it had mapped is gone, what it maps is reported next */
	WATCH_EXEC,
	WATCH_LOST,		/* some were lost: of which process is not known */
};

struct watch_record {
	enum watch_kind kind;
	pid_t pid;		/* in malloctrace's pid namespace */
	uint64_t t_ns;		/* CLOCK_MONOTONIC; 0 of WATCH_LOST */
	size_t seq;		/* by which those of the same time are ordered */
	struct mapping map;	/* of WATCH_MAPPED */
};

typedef void (*watch_fn)(const struct watch_record *r, void *arg);

/* all_processes: room for the records of the whole machine. */
int watch__open(bool all_processes, struct watch **ret, struct err *e);
void watch__close(struct watch *w);	/* takes NULL */
size_t watch__n_fds(const struct watch *w);
int watch__fd(const struct watch *w, size_t i);
/* Calls fn for each record since, in order; the record is gone afterwards. */
void watch__read(struct watch *w, watch_fn fn, void *arg);

#endif
