/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Words of another process's memory, of pages that are there. */
#ifndef MT_PEEK_H
#define MT_PEEK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Words at once. */
#define PEEK_MAX 512

/* Neither is owned. */
struct peek {
	pid_t runner;		/* a thread that runs */
	int pagemap;		/* its /proc/PID/pagemap */
};

/*
 * n addresses, best in their order, and at most PEEK_MAX of them. Returns how many were read; each
 * other one's word is 0: its page is not there, or it may not be read, or it is not aligned.
 */
size_t peek__words(const struct peek *p, const uint64_t *addrs, uint64_t *words, size_t n);

#endif
