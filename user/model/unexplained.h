/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Memory that a process has taken while it was traced, and that nothing explains which was seen. */
#ifndef MT_UNEXPLAINED_H
#define MT_UNEXPLAINED_H

#include "model/snapshot.h"

/* Of each process, into its memory.unexplained_bytes: at least so much; 0 also where it cannot be known. */
void snapshot__find_unexplained(struct snapshot *s);

#endif
