/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* CPython: what of a file that holds its interpreter matters to a trace, and where that of a process keeps its frames. */
#ifndef MT_PYTHON_H
#define MT_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "elf/object.h"

/* How the memory of a process is read: all of it, or false. */
struct script_memory {
	bool (*read)(uint64_t addr, void *buf, size_t len, void *arg);
	void *arg;
};

/* Symbols of the interpreter: ELF virtual addresses of a file, or addresses in a process. 0: there is none. */
struct python_symbols {
	uint64_t runtime;	/* _PyRuntime */
	uint64_t code_type;	/* PyCode_Type */
	uint64_t version;	/* Py_Version */
	struct {
		uint64_t start, end;
	} eval[MT_PYTHON_RANGES];	/* the function that runs frames, and parts of it that lie elsewhere */
	size_t n_eval;
};

struct python_file {
	struct python_symbols symbols;	/* runtime 0: it has no interpreter */
	uint64_t dealloc;	/* what frees code: a file's first word on it, for a process may write what it likes there */
};

#define PYTHON_TP_DEALLOC 48	/* of a type, in all versions */

void python_file__read(struct object *obj, struct python_file *ret);

/*
 * How its frames are read, and which Python it is: 3.ret_minor. -ENOTSUP: it is none that is known, or what it says of itself
 * is not what is known of it; the error says which. -EFAULT: its memory could not be read. It need not have begun to run.
 */
int python__layout(const struct python_symbols *syms, const struct script_memory *mem, struct mt_python *ret,
		   unsigned int *ret_minor, struct err *e);

#endif
