/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* uprobe_multi links by the raw system call: libbpf has them from 1.3 on, Debian 12 has 1.1. */
#ifndef MT_MULTI_H
#define MT_MULTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* An fd, or -1 with errno. cookies may be NULL; pid 0: every process. */
int uprobe_multi__link(int prog_fd, const char *path, const uint64_t *offsets, const uint64_t *cookies, size_t n,
		       bool at_return, pid_t pid);
/* The same at entries. counters: where in the file a word is that counts tracers of the probe, 0: none. */
int uprobe_multi__link_counted(int prog_fd, const char *path, const uint64_t *offsets,
			       const uint64_t *counters, const uint64_t *cookies, size_t n, pid_t pid);

#endif
