/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Registers of all threads of a process, by a BPF task iterator: nobody is stopped. A registers_fn of heap/reach.h. */
#ifndef MT_REGISTERS_H
#define MT_REGISTERS_H

#include "heap/target.h"

/*
 * sp is 0 of a thread that runs. The program is loaded at the first call and kept; one thread at a time may call.
 * -EPERM, -ENOSYS: this user may not, this kernel cannot. -ESRCH: no such process.
 */
int registers__read(struct target *t, struct target_thread **ret, size_t *ret_n, void *arg, struct err *e);
/* Unloads it. */
void registers__close(void);

#endif
