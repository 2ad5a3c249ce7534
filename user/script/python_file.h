/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* A file that holds a Python interpreter: what of it the programs need to know. */
#ifndef MT_PYTHON_FILE_H
#define MT_PYTHON_FILE_H

#include "bpf/abi.h"
#include "elf/object.h"

struct python_file {		/* ELF virtual addresses; 0: there is none */
	uint64_t runtime, code_type, version;
	uint64_t dealloc;	/* what frees code: a file's first word on it, for a process may write what it likes there */
	struct {
		uint64_t start, end;
	} eval[MT_PYTHON_RANGES];	/* the function that runs frames, and parts of it that lie elsewhere */
	size_t n_eval;
};

#define PYTHON_TP_DEALLOC 48	/* of a type, in all versions */

/* By its symbols; runtime 0: it has no interpreter. */
void python_file__read(struct object *obj, struct python_file *ret);

#endif
