/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What the oracle's program in the kernel tells of one stop. */
#ifndef MT_ORACLE_H
#define MT_ORACLE_H

#include "bpf/abi.h"

struct oracle_event {
	__u32 tid;
	__u32 n;		/* frames of the walk by tables, from malloc's caller on */
	__u32 end;		/* enum mt_end */
	__u32 n_fp;		/* the same by frame pointers */
	__u64 ip[MT_MAX_DEPTH];
	__u32 fp_end;
	__u32 pad;
	__u64 ra_at;		/* where its return address is; 0: in a register */
	__u64 fp_ip[MT_MAX_DEPTH];
};

#endif
