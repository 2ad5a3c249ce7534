/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Registers of all threads of a process, by a BPF task iterator: nobody is stopped. */
#ifndef MT_REGISTERS_H
#define MT_REGISTERS_H

#include "bpf/abi_registers.h"
#include "process/sharers.h"
#include "util/err.h"

/*
 * Of pid, and of others with its memory; *ret is the caller's to free. The program is loaded at the first call and kept; one thread at a time may call.
 * -EPERM, -ENOSYS: this user may not, this kernel cannot. -ESRCH: no such process.
 */
int registers__read(pid_t pid, const struct sharers *others, struct mt_registers **ret, size_t *ret_n, void *arg, struct err *e);
/* Unloads it. */
void registers__close(void);

#endif
