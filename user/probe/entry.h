/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* A cheaper place than the first instruction to see a function being entered. */
#ifndef MT_ENTRY_H
#define MT_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/object.h"

struct entry_point {
	uint64_t vaddr;
	uint32_t sp_delta;	/* bytes that the stack pointer is below its value at entry */
	bool ra_in_place;	/* the return address is where the call left it: a uretprobe can be set here */
	const char *insn;	/* its name, static; NULL: not decoded */
};

/*
 * The first instruction that the kernel carries out itself, all before it leaving
 * the arguments and the flow of control as they were. False: there is none near.
 */
bool entry__cheapest(const struct object *obj, uint64_t vaddr, uint64_t size, struct entry_point *ret);

#endif
