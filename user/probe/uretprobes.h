/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * On x86_64, kernels from 6.11 on return from a uretprobe by a system call of its own, and up to
 * 6.13 (unless mended since) a seccomp filter of the target sees it, knows nothing of it, and
 * forbids it: services died of that. A child of ours that allows itself next to nothing tries it.
 */
#ifndef MT_URETPROBES_H
#define MT_URETPROBES_H

#include "probe/features.h"

/* FEATURE_OK: they are safe. */
enum feature_state uretprobes__try(void);

#endif
