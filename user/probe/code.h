/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What the programs know of code: what a process maps where, and the files whose unwind tables are loaded. */
#ifndef MT_CODE_H
#define MT_CODE_H

#include <stdint.h>

#include "bpf/abi.h"

struct kernel;
struct object;

struct code_state {		/* what goes with a process's ranges */
	uint32_t method;	/* enum mt_method: how its stacks are walked from now on */
	uint32_t seq;		/* kernel__code_seq() before its mappings were read */
	uint64_t replaced_ns;	/* code is known to have taken the place of other code, 0: not */
};

int kernel__set_space(struct kernel *k, uint32_t proc, const struct mt_space *s, const struct code_state *state);
void kernel__drop_space(struct kernel *k, uint32_t proc);
/* Moves when code may take the place of other code: what was seen of its mappings before is not sure any more. */
uint32_t kernel__code_seq(const struct kernel *k, uint32_t proc);
/* When code was first about to be unmapped, CLOCK_MONOTONIC; 0: never. */
uint64_t kernel__unmapped_ns(const struct kernel *k, uint32_t proc);

/* What names a file for the programs. -ENODEV: it cannot be mapped. */
int kernel__name_file(struct kernel *k, const struct object *obj, struct mt_file_key *ret);
int kernel__set_file(struct kernel *k, const struct mt_file_key *key, const struct mt_file *file);
void kernel__drop_file(struct kernel *k, const struct mt_file_key *key);
/* Files were dropped: when this returns, no program uses their tables any more. */
int kernel__wait_for_walks(struct kernel *k);

#endif
