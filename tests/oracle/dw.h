/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* libdw's walk of a stopped thread. */
#ifndef MT_ORACLE_DW_H
#define MT_ORACLE_DW_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DW_MAX_FRAMES 4096

struct dw_stack {
	uint64_t ip[DW_MAX_FRAMES];
	size_t n;
	char why[160];		/* why it went no further; "": it came to the end */
};

struct dw;
struct dw *dw__open(pid_t pid);		/* NULL on failure; of the mappings as they are now */
void dw__close(struct dw *d);
/* The thread must be stopped by this process by ptrace. */
void dw__walk(struct dw *d, pid_t tid, struct dw_stack *ret);
/* "file+0x123", valid until the next four calls */
const char *dw__place(struct dw *d, uint64_t addr);

#endif
