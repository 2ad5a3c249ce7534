/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * --overhead: calls that a window's end has cut off. What a thread had under way
 * then is void in the next window: whether and how it returned was not seen.
 */
#ifndef MT_CUTOFF_BPF_H
#define MT_CUTOFF_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/buckets.bpf.h"
#include "bpf/budget.bpf.h"
#include "bpf/charge.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/frees.bpf.h"
#include "bpf/interrupted.bpf.h"

/*
 * Of realloc, the old block was taken from the table at its entry. All but a realloc that
 * failed have ended it since, unseen, and the address may be another block's
 * by now: so it ends here, as blocks do whose free falls between windows, and is not put back.
 */
__noinline int budget_cut_off(struct mt_thread *t)
{
	struct taken old;
	__u64 cut = mt_cut, now;

	if (!t)
		return 0;
	/* those that signals have interrupted, too */
#pragma clang loop unroll(disable)
	for (int i = 0; i <= MT_MAX_OUTER; i++) {
		count(MT_EDGE_WINDOW);
		if (t->old_site) {
			old = (struct taken){ .size = t->old_size, .site = t->old_site };
			now = clock_now();
			end_old_block(t, &old, t->old, cut, now);
			free_unseen(t, &old, cut, now);
		}
		if (!outer_pop(t))
			break;
	}
	return 0;
}

/* Before anything is read from a thread's record. */
static __always_inline void budget_thread(struct mt_thread *t)
{
	if (!mt_config.budget)
		return;
	if (t->left_ns) {
		if (t->window == mt_window)
			budget_gap(t->left_ns);
		t->left_ns = 0;
	}
	if (t->window == mt_window)
		return;
	t->window = mt_window;
	if (t->sp || outer_pop(t))
		budget_cut_off(t);
	t->sp = 0;
	t->old_site = 0;
	t->last_block = 0;
	t->last_freed = 0;
}

#endif
