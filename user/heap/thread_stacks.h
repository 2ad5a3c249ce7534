/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The threads of a process, and where their stacks are. */
#ifndef MT_THREAD_STACKS_H
#define MT_THREAD_STACKS_H

#include "heap/target.h"

struct thread_stack {
	int tid;		/* 0: a thread's that has ended; libc keeps it for the next one */
	char name[32];		/* clean */
	uint64_t sp;		/* 0: not known */
	uint64_t start, end;	/* without the guard; both 0: not found */
	uint64_t guard_bytes;	/* below that, which libc knows of; it may look as any other memory in /proc */
	/* libc's descriptor of the thread, and its thread-local variables: from here to the end; 0: not known */
	uint64_t tls;
};

struct thread_stacks {		/* all zero: none */
	struct vec(struct thread_stack) all;
	/* the first thread's descriptor and thread-local variables, which the loader put elsewhere; 0: not found */
	uint64_t first_tls_start, first_tls_end;
	bool first_tls_in_heap;	/* in pages that the heap begins with */
};

/* tls_bytes: of thread-local variables, for each thread. -ENOMEM, -EINTR */
int thread_stacks__init(struct thread_stacks *s, struct target *t, uint64_t tls_bytes);
void thread_stacks__done(struct thread_stacks *s);
const struct thread_stack *thread_stacks__by_tid(const struct thread_stacks *s, int tid);	/* NULL: none */

#endif
