/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Unwind tables in the kernel: one per file, shared by all processes that map
 * it, and for each process the list of what it maps where. Also decides how a
 * process's stacks are walked.
 */
#ifndef MT_TABLES_H
#define MT_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "elf/cfi.h"
#include "recording/recording.h"
#include "space/space.h"
#include "util/err.h"

struct unwind_verdict {
	uint32_t method;	/* enum mt_method */
	char why[160];		/* for doctor and --verbose */
};

struct kernel;
struct unwind;

/* k NULL: only to judge, as doctor does; nothing is loaded anywhere. */
struct unwind *unwind__new(struct kernel *k, enum unwind_choice choice);
void unwind__free(struct unwind *u);

/*
 * Brings the tables of proc up to what its space says; to be called again when
 * it has mapped more. seq: kernel__code_seq() before the space was read. The first call decides how
 * its stacks are walked; new code without frame pointers can change that to the tables, never back.
 */
int unwind__update(struct unwind *u, uint32_t proc, const struct space *space, uint32_t seq,
		   struct unwind_verdict *ret, struct err *e);
/* The process ended; tables that no other process uses stay until their room is needed. */
void unwind__drop(struct unwind *u, uint32_t proc);
/* A file that processes to come will most likely map. */
void unwind__prepare(struct unwind *u, struct object *obj);

/* Files whose table a process uses; those of others may be given up. */
size_t unwind__n_used(const struct unwind *u);
/* Files whose table found no room. */
uint64_t unwind__n_full(const struct unwind *u);

#endif
