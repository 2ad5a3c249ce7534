/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Probes on malloc and free with programs that do nothing: what any tracer with that layout pays at least. */
#ifndef MT_BENCH_FLOOR_H
#define MT_BENCH_FLOOR_H

#include <sys/types.h>

#include "util/err.h"

enum layout {
	LAYOUT_OURS,	/* the points that malloctrace chooses, the links that it uses */
	LAYOUT_ONE,	/* of those the returns of malloc alone: the least for every block */
	LAYOUT_TWO,	/* of those the returns of malloc and the entry of free: the least for every block and its end */
	LAYOUT_USUAL,	/* entry and uretprobe of malloc, entry of free; the links that malloctrace uses */
	LAYOUT_USUAL_PERF,	/* the same through perf events, as tools that know no uprobe_multi attach */
};

struct floor;
int floor__attach(enum layout layout, pid_t pid, const char *libc, struct floor **ret, struct err *e);
void floor__detach(struct floor *f);

#endif
