/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Where one machine instruction leads to, and which of a function's first ones is cheap to probe:
 * all that choosing points needs of a disassembler.
 */
#ifndef MT_INSN_H
#define MT_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/object.h"

enum flow {
	FLOW_BAD,	/* no instruction, or one that is not understood */
	FLOW_NEXT,	/* on to the next */
	FLOW_NOP,	/* the same, and does nothing: also padding */
	FLOW_CALL,	/* on to the next, if the callee returns */
	FLOW_BRANCH,	/* on to the next or to target */
	FLOW_JUMP,	/* to target */
	FLOW_SLOT,	/* to the function in a slot of the global offset table, target being the slot: the PLT */
	FLOW_INDIRECT,	/* to where a register or memory says */
	FLOW_RETURN,	/* to the caller, the stack pointer as at entry */
	FLOW_RETURN_AUTH,	/* the same by retaa or retab, where the kernel refuses a breakpoint */
	FLOW_STOP,	/* a trap: nowhere */
};

struct insn {
	enum flow flow;
	size_t len;
	uint64_t target;
	/* what becomes of the stack pointer; known for arm64 only, elsewhere it is always lost */
	int32_t sp_change;
	bool sp_lost;
	/*
	 * x86_64: sets no register that carries an argument, nor the stack pointer, nor memory, and
	 * goes on to the next
	 */
	bool is_quiet;
};

/* A decoder per architecture of the object, whatever the host is. */
struct decoder;
/* NULL if there is none for this e_machine. */
struct decoder *decoder__new(uint16_t machine);
struct insn decoder__at(struct decoder *d, const uint8_t *code, size_t len, uint64_t vaddr);
void decoder__free(struct decoder *d);

/* ---- a cheaper place than the first instruction to see a function being entered */

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
