/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Who maps new code: dlopen in a running target. A perf event that counts
 * nothing, one per CPU, carries the kernel's notes about executable mappings;
 * nothing is paid per system call or per page.
 */
#ifndef MT_WATCH_H
#define MT_WATCH_H

#include <stddef.h>
#include <sys/types.h>

#include "util/err.h"

struct watch;

int watch__open(struct watch **ret, struct err *e);
void watch__close(struct watch *w);	/* takes NULL */
size_t watch__n_fds(const struct watch *w);
int watch__fd(const struct watch *w, size_t i);
/* Calls fn for each process that mapped code since; pid 0: notes were lost, it may have been anyone. */
void watch__read(struct watch *w, void (*fn)(pid_t pid, void *arg), void *arg);

#endif
