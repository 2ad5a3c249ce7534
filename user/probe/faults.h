/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The page faults of one process: --mode growth. */
#ifndef MT_FAULTS_H
#define MT_FAULTS_H

#include <sys/types.h>

#include "probe/kernel.h"
#include "util/err.h"

struct faults;

/* All its threads, now and later; not its children. *ret is the caller's. */
int faults__open(struct kernel *k, pid_t pid, struct faults **ret, struct err *e);
void faults__close(struct faults *f);	/* takes NULL */

#endif
