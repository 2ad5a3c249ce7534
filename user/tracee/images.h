/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Mappings that were reported of a process before it was known that the process, or its present
 * program, is traced.
 */
#ifndef MT_IMAGES_H
#define MT_IMAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/watch.h"
#include "tracee/tracee_shared.h"
#include "util/hash.h"
#include "util/util.h"

struct image {
	struct image *next;	/* a later one of the same pid */
	pid_t pid;
	bool exec;		/* it begins with an exec */
	uint64_t t_ns;		/* when it began, CLOCK_MONOTONIC */
	struct vec(struct told_mapping) maps;
};

struct images {
	struct hash by_pid;	/* the first one of each */
};

void image__free(struct image *i);	/* takes NULL */

void images__done(struct images *s);
/* A process execs, or maps what belongs to no known life yet. Of one that has too many, the first goes. */
int images__begin(struct images *s, pid_t pid, bool exec, uint64_t t_ns);
/* Goes to the last image of its process; without one, -ENOENT. */
int images__add(struct images *s, const struct watch_record *r);
/*
 * The image that a new life of pid takes over, the caller's; NULL: none. exec: the life begins with
 * one, reported at t_ns; its record came before the message and after those of execs that were not
 * reported, because the process was ignored then.
 */
struct image *images__claim(struct images *s, pid_t pid, bool exec, uint64_t t_ns);
/*
 * The first image, if it began before t_ns and was not followed by an exec that is still to be
 * reported; NULL: none.
 */
struct image *images__claim_before(struct images *s, pid_t pid, uint64_t t_ns);
/* Those that began before t_ns: what came later belongs to what the process became since. */
void images__forget_before(struct images *s, pid_t pid, uint64_t t_ns);
/* What no life claimed for some seconds. */
void images__drop_old(struct images *s, uint64_t now_ns);

#endif
