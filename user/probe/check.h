/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Does a plan see what it should? Tried on a child of our own before a target is touched. */
#ifndef MT_CHECK_H
#define MT_CHECK_H

#include "probe/kernel.h"
#include "probe/plan.h"

enum check_verdict {
	CHECK_RIGHT,	/* each function that can be called was, and was seen exactly so */
	CHECK_WRONG,	/* something else was seen, or the points broke the code */
	CHECK_CANNOT,	/* nothing is known */
};

struct check_result {
	enum check_verdict verdict;
	unsigned int n_called;
	char why[160];	/* unless it is right; clean */
};

/* Has the plan anything but first instructions and uretprobes? */
bool plan__is_plain(const struct plan *p);
void check__plan(struct kernel *k, const struct alloc_funcs *funcs, const struct plan *p, struct check_result *ret);

/* ---- between the two processes */

#define CHECK_CHILD_NAME "malloctrace-check"	/* argv[0] of the child */
#define CHECK_FD_FILE 3		/* the library; 0 and 1 are the requests and the answers */

struct check_request {
	uint64_t vaddr;		/* of the function */
	uint64_t arg[MT_N_ARGS];
	uint64_t out_arg;	/* this one is replaced by the address of a word; MT_NO_ARG: none */
};

struct check_answer {
	uint64_t sp, ra;	/* of the call, after it returned */
	uint64_t result;
	uint64_t out;		/* the word */
};

struct check_hello {		/* the child's first words */
	uint32_t ready;
	char why_not[124];	/* hostile */
};

/* The child's whole life: serves requests until there are no more. */
int check_child__main(int argc, char **argv);

#endif
