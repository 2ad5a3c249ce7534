/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What the programs know of the code of functions: a table by number, which cookies carry. The kernel owns one. */
#ifndef MT_CODES_H
#define MT_CODES_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"

struct codes;
struct kernel;

struct codes *codes__new(void);
void codes__free(struct codes *c);	/* takes NULL */

/*
 * The number of a function's code as it lies around a point, so many bytes after
 * what `of_function` is relative to. 0: there is no room, or nothing is known.
 */
uint32_t codes__number(struct kernel *k, const struct mt_code *of_function, int32_t point);
/* Without the kernel: the number that this very code has, or has from now on. */
uint32_t codes__find(struct codes *c, const struct mt_code *code, bool *ret_new);
/* How many different ones found no room. */
uint64_t codes__n_full(struct codes *c);

#endif
