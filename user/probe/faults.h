/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The page faults of one process, or of all: --mode growth. */
#ifndef MT_FAULTS_H
#define MT_FAULTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "probe/kernel.h"
#include "util/err.h"

struct faults;

/* All its threads, now and later; not its children. *ret is the caller's. */
int faults__open(struct kernel *k, pid_t pid, struct faults **ret, struct err *e);
/* Those of every process, now and later: the programs know which are traced. *ret is the caller's. */
int faults__open_all(struct kernel *k, struct faults **ret, struct err *e);
/* False: CPUs were switched on or off since then, and who runs on a new one is not seen. */
bool faults__have_all(const struct faults *f);
/* Those that there are will do, until CPUs are switched on or off again. */
void faults__settle_for(struct faults *f);
void faults__close(struct faults *f);	/* takes NULL */

#endif
