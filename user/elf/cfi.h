/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * .eh_frame → rows: from which address on, how the caller's registers are
 * found. One table per object, sorted; what the kernel walks by is made of it.
 */
#ifndef MT_CFI_H
#define MT_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "elf/object.h"
#include "util/err.h"
#include "util/util.h"

struct cfi_row {
	uint64_t pc;		/* ELF virtual address from which the rule holds, up to the next row's */
	uint32_t rule;		/* cfi__rule() */
	uint16_t flags;		/* MT_ROW_STARTS and what goes with it, once cfi__mark_starts() was called */
};

struct cfi_start {		/* where a function begins, as far as .eh_frame says */
	uint64_t pc;
	uint8_t after_call;	/* 1: a call may end there */
};

struct cfi_stats {
	size_t n_fdes, n_bad_fdes;	/* an FDE that makes no sense gives no rows */
	size_t n_call_rows;		/* rows in which a call stands */
	size_t n_no_record; /* those of them in which the caller's frame pointer and return address are not kept
					   side by side as a frame record: a frame-pointer walk goes wrong there */
	size_t n_unsupported;		/* rules that the kernel's walk cannot follow */
};

struct cfi {
	uint16_t machine;
	struct vec(struct mt_rule) rules;	/* owned; the first one is MT_CFA_NONE */
	struct cfi_row *rows;	/* owned; sorted, neighbours differ; the last one, if there is any, is MT_CFA_NONE */
	size_t n_rows;
	struct vec(struct cfi_start) starts;	/* owned; sorted, each once; none where a signal handler returns to */
	struct cfi_stats stats;
};

/*
 * calls_only: leave out rows that hold no call; enough for return addresses,
 * not for a frame that a signal interrupted. The counts are the same.
 *
 * -ENOTSUP: no 64-bit ELF file of a machine that is walked; -ENOENT: it has no
 * .eh_frame; -EFBIG: there is more than is read; -EINVAL: .eh_frame lies
 * outside the file.
 */
int cfi__compile(const struct object *obj, bool calls_only, struct cfi *ret, struct err *e);
/*
 * Each function's first address is the beginning of a row then, which has flags; neighbours may
 * have the same rule.
 */
void cfi__mark_starts(struct cfi *c);
/* The row that holds pc, or NULL. */
const struct cfi_row *cfi__find(const struct cfi *c, uint64_t pc);
static inline const struct mt_rule *cfi__rule(const struct cfi *c, const struct cfi_row *row)
{
	return &c->rules.v[row->rule];
}
void cfi__done(struct cfi *c);

#endif
