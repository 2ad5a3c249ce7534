/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The fixed-width types that all of abi.h is made of: the programs have them from the kernel, user
 * space from its headers.
 */
#ifndef MT_ABI_TYPES_H
#define MT_ABI_TYPES_H

#ifdef __bpf__
#include "vmlinux.h"
#else
#include <linux/types.h>
#endif

#endif
