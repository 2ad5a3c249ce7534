// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the stop of a process: not yet there. */
#include <errno.h>

#include "heap/target.h"

int target__pause(struct target *t, struct err *e)
{
	return err_set(e, -ENOSYS, "process %d cannot be stopped yet", (int)t->pid);
}

void target__resume(struct target *t)
{
}

int target__registers(struct target *t, struct target_thread **ret, size_t *ret_n, struct err *e)
{
	return err_set(e, -ENOSYS, "registers of process %d cannot be read yet", (int)t->pid);
}
