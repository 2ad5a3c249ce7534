/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What the programs in the kernel are set up with: bpf/abi_config.h. */
#ifndef MT_CONFIG_H
#define MT_CONFIG_H

#include "bpf/abi.h"
#include "probe/kernel.h"

struct mt_config config__make(const struct kernel_opts *o, const struct table_sizes *s, bool multi);

/* Of births in the block table. */
static inline uint64_t config__born_unit_ns(const struct mt_config *c)
{
	return c->tick_ns ? c->tick_ns : 1;
}

#endif
