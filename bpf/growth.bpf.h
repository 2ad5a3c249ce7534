/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * --mode growth: where resident memory and the address space grow, without a
 * probe in the allocator.
 *
 * Page faults are software events of the kernel, one set per thread of a target, or per
 * CPU where processes come and go (probe/faults.c): "page-faults" comes when a fault begins, "minor-faults" or
 * "major-faults" when it has been served. What it brought is the difference of
 * the process's resident pages between the two, the figure that RSS is made of:
 * one page or a huge one, the neighbours in a file that are mapped along, or
 * nothing where a shared page is copied.
 *
 * The kernel keeps three such figures, for files, anonymous and shared memory,
 * each in two parts: one that is shared and a small rest, per CPU (6.2 and later)
 * or per thread (before), which is moved over now and then. A fault changes the
 * rest of where it runs; grown_surely() and grown_by_move() compute by how much.
 * A thread that slept meanwhile makes no difference where no other thread has the
 * memory. If others have, or if it moved to another CPU, which takes long and so
 * happens to huge pages most of all, the rest is another one's, too. Then the
 * fault is taken for a huge page if the shared parts have grown by more than half
 * of one beyond what was charged to the process meanwhile, else for one page; it
 * is counted as a guess, in all and at its site.
 *
 * A thread may carry its events twice, when it was made while they were put in
 * place (see faults.c): the kernel numbers the faults of a thread, and each
 * number is charged once.
 *
 * mmap, mremap and brk are probed at their entry and return. What they add is
 * address space, which becomes resident by page faults: the two are never added
 * up.
 */
#ifndef MT_GROWTH_BPF_H
#define MT_GROWTH_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/arch.bpf.h"
#include "bpf/charge.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/current.bpf.h"
#include "bpf/frames.bpf.h"
#include "bpf/memo.bpf.h"
#include "bpf/memory.bpf.h"
#include "bpf/points.bpf.h"
#include "bpf/procs.bpf.h"
#include "bpf/ranges.bpf.h"
#include "bpf/sample.bpf.h"
#include "bpf/scratch.bpf.h"
#include "bpf/sites.bpf.h"
#include "bpf/stacks.bpf.h"
#include "bpf/threads.bpf.h"
#include "bpf/unwind.bpf.h"
#include "bpf/uretprobes.bpf.h"

#define FEW_PAGES 16		/* the most that come along with a page of a file */

/*
 * By how many pages one figure grew: the rest of where the fault ran was here and
 * is now, the shared part changed by shared. 0 where the rest may have been moved.
 */
__noinline int grown_surely(__s32 here, __s32 now, __s32 shared)
{
	__s32 d = now - here;

	return !shared || (now && d >= -1) ? d : 0;
}

/*
 * The same where the rest may have been moved. It is 0 right after, and what was
 * added then is in the shared part, together with what other CPUs moved there in
 * the same moment: rests of mt_config.rss_batch pages or little more. A fault brings few
 * pages or a power of two; what is left when those are taken off is its own.
 */
__noinline int grown_by_move(__s32 here, __s32 now, __s32 shared)
{
	__s32 d = now - here;

	if (!shared || (now && d >= -1))
		return 0;
	/* nothing was there to be moved: all at once, or not ours */
	if (!here && !now)
		return shared >= (__s32)mt_config.rss_batch && !(shared & (shared - 1)) ? shared : 0;
	d += shared;
	for (int i = 0; i < 64; i++) {
		if (d <= FEW_PAGES || !(d & (d - 1)))
			break;
		d -= mt_config.rss_batch;
	}
	return d;
}

/*
 * Before 6.2, all of the rest is this thread's doing, but huge pages go to the
 * shared part at once, where other threads put theirs, some 65 pages at a time. So
 * if they have grown it by as much meanwhile, it is a guess whether this was one.
 */
static __always_inline __s32 split_pages(const struct mt_thread *t, struct task_struct *task,
					 const struct rss *now, bool *guessed)
{
	bool moved = split_events(task) + 1 <= t->fault_mark;
	__s32 pages = 0, shared = 0, huge = mt_config.huge_bytes / mt_config.page_bytes;

	for (int i = 0; i < MT_N_RSS; i++) {
		pages += moved ? now->here[i] : now->here[i] - t->rss_here[i];
		shared += now->shared[i] - t->rss_shared[i] - (moved ? t->rss_here[i] : 0);
	}
	if (pages > 0 || shared * 2 <= huge)
		return pages;
	*guessed = shared != huge && !is_alone(task);
	return shared >= huge ? huge : 0;
}

/* What was charged to the current process for faults; two faults at a time may see each other's or not. */
static __always_inline __u32 charged_pages(const struct mt_thread *t)
{
	struct mt_proc *p = proc_at(t->proc);

	return p ? p->live_bytes / mt_config.page_bytes : 0;
}

/* May others have changed the same counters since the fault began? */
static __always_inline bool is_unsure(const struct mt_thread *t, struct task_struct *task)
{
	return t->fault_mark != migrations_of(task) || (t->n_switches != switches_of(task) && !is_alone(task));
}

/* By how many bytes the fault under way made the process larger. */
static __always_inline __u64 bytes_of_fault(struct mt_thread *t, struct task_struct *task, bool *guessed)
{
	__s32 pages = 0;
	struct rss now;

	read_rss(task, &now);
	if (IS_SPLIT) {
		pages = split_pages(t, task, &now, guessed);
		return pages > 0 ? pages * mt_config.page_bytes : 0;
	}
	if (is_unsure(t, task)) {
		*guessed = true;
		for (int i = 0; i < MT_N_RSS; i++)
			pages += now.shared[i] - t->rss_shared[i];
		pages -= charged_pages(t) - t->charged_pages;
		return pages > 0 && pages * mt_config.page_bytes > mt_config.huge_bytes / 2 ? mt_config.huge_bytes :
											      mt_config.page_bytes;
	}
	for (int i = 0; i < MT_N_RSS; i++)
		pages += grown_surely(t->rss_here[i], now.here[i], now.shared[i] - t->rss_shared[i]);
	/* a fault adds pages of one kind */
	for (int i = 0; i < MT_N_RSS && pages <= 0; i++)
		pages += grown_by_move(t->rss_here[i], now.here[i], now.shared[i] - t->rss_shared[i]);
	return pages > 0 ? pages * mt_config.page_bytes : 0;
}

static __always_inline bool fault_begin_walk(struct task_struct *task, struct mt_scratch *s)
{
	struct mt_walk *w = &s->walk;

	if (arch_user_frame(w, (const void *)bpf_task_pt_regs(task)))
		return false;
	w->is_return = 0;
	w->sp_known = 1;
	walk_fresh(s);
	memo_drop(s);
	return true;
}

/*
 * By frame pointers, but for the first step: memset and its like have no frame
 * record, and a walk without tables would leave their callers out. 0: they are
 * not known, see space_moved().
 */
__noinline __u32 fault_walk_frames(struct mt_scratch *s, struct mt_thread *t)
{
	struct mt_space *space;
	__u32 proc;
	int end;

	if (!s || !t)
		return 0;
	proc = t->proc;
	space = space_begin(s, proc);
	s->ip[0] = s->walk.pc;
	s->walk.hash = hash_frame(0, s->walk.pc);
	if (mt_config.depth < 2)
		return 1;
	end = walk_step(s, space);
	if (space_moved(s))
		return 0;
	if (end)
		return 1;
	s->ip[1] = s->walk.pc;
	s->walk.hash = hash_frame(s->walk.hash, s->walk.pc);
	return walk_frames(s, t, s->walk.fp, 2);
}

/* Where the fault happened: the instruction itself, or the one that called the kernel, and its callers. */
static __always_inline __u32 site_of_fault(struct task_struct *task, struct mt_thread *t)
{
	struct mt_scratch *s = scratch_claim(t);
	__u32 proc = t->proc, site = spare_site(proc), n = 0;
	struct mt_proc *p = proc_at(proc);

	if (!s)
		return site;
	s->key.gen_tid = mt_config.by_thread ? (__u64)t->named_tid << 32 : 0;
	if (!walks_by_tables(p)) {
		if (!fault_begin_walk(task, s))
			goto out;
		n = fault_walk_frames(s, t);
		/* names are looked up one byte before an address, as all others are return addresses */
		s->ip[0] += ARCH_BEHIND_INSN;
		site = n ? site_known(s, n, proc, MT_GROWTH_FAULT) : 0;
		/* the first step was made by tables */
		if (n && !site && take_by_fp(s, n, proc, 1)) {
			note_within(s, n, proc);
			site = site_add(s, n, n, proc, MT_GROWTH_FAULT);
		}
		s->n_by_fp++;
		if (site)
			goto out;
		fp_in_vain(s, p);
	}
#pragma clang loop unroll(disable)
	for (int i = 0; i < WALK_TRIES; i++) {
		site = spare_site(proc);
		if (!fault_begin_walk(task, s))
			goto out;
		n = walk_up(s, proc);
		if (!s->walk.moved)
			break;
		walk_moved(s);
	}
	s->ip[0] += ARCH_BEHIND_INSN;
	site = site_of_stack(s, n, proc, MT_GROWTH_FAULT);
out:
	t->frames += n;
	scratch_release(t, s);
	return site;
}

static __always_inline void charge_growth(struct mt_thread *t, __u32 site, __u64 bytes, __u64 cut, bool guessed)
{
	struct amount a = { .calls = 1, .bytes = bytes };
	struct charge c;

	if (guessed)
		count(MT_EDGE_SIZE_GUESSED);
	if (!charge_open(&c, site, t->proc, cut))
		return;
	if (guessed)
		__sync_fetch_and_add(&c.site->guessed_calls, 1);
	charge_call(&c, &a, bytes, clock_ns());
	charge_thread(&c, t, &a, false);
}

/* ---- page faults */

/* What a program of a perf event is given, as the kernel promises it. */
struct bpf_perf_event_data {
	mt_regs regs;
	__u64 sample_period;
	__u64 addr;		/* that was touched */
};

/*
 * The page that the kernel has put into the process for our own probes, where it carries out the
 * instructions that breakpoints replaced, is none that the program requested.
 */
static __always_inline bool is_our_page(__u64 addr)
{
	__u64 page = trampoline();

	return page && addr - page < mt_config.page_bytes;
}

/*
 * Whose fault it is; NULL if it does not count. A thread of the kernel that works on a process's memory is none of
 * its threads. Nor has a thread whose end was reported a record any more: what the kernel still touches on its behalf
 * must not make it, and its process, look new.
 */
static __always_inline struct mt_thread *thread_of_fault(struct task_struct *task)
{
	__u32 flags = flags_of(task);

	if (flags & TASK_OF_KERNEL || (flags & TASK_ENDS && !thread_find(bpf_get_current_pid_tgid())))
		return NULL;
	return thread_here();
}

SEC("perf_event")
int fault_begins(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct mt_thread *t;
	struct rss now;

	if (mt_cut & MT_CUT_FROZEN)
		return 0;
	t = thread_of_fault(task);
	if (!t || is_our_page(ctx->addr))
		return 0;
	read_rss(task, &now);
	t->charged_pages = charged_pages(t);
	for (int i = 0; i < MT_N_RSS; i++) {
		t->rss_here[i] = now.here[i];
		t->rss_shared[i] = now.shared[i];
	}
	t->n_switches = switches_of(task);
	t->fault_mark = IS_SPLIT ? split_events(task) + 1 : migrations_of(task);
	return 0;
}

SEC("perf_event")
int fault_ends(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct mt_thread *t;
	__u64 cut = mt_cut, bytes;
	bool guessed = false;
	struct mt_proc *p;
	__u32 no;

	if (cut & MT_CUT_FROZEN)
		return 0;
	t = thread_of_fault(task);
	if (!t || is_our_page(ctx->addr))
		return 0;
	no = faults_of(task);
	if (no == t->fault_no)
		return 0;
	t->fault_no = no;
	if (!t->fault_mark) {
		count(MT_EDGE_RETURN_ONLY);
		return 0;
	}
	bytes = bytes_of_fault(t, task, &guessed);
	t->fault_mark = 0;
	p = proc_at(t->proc);
	if (p)
		__sync_fetch_and_add(&p->live_bytes, bytes);
	charge_growth(t, site_of_fault(task, t), bytes, cut, guessed);
	return 0;
}

/* ---- mmap, mremap, brk */

/* What a call would add: memory that can be written, and is this process's own. */
static __always_inline __u64 asked_growth(__u64 cookie, const __u64 *arg)
{
	switch (MT_COOKIE_RESULT(cookie)) {
	case MT_GROWS_MMAP:
		return arg[2] & PROT_WRITE && arg[3] & (MAP_PRIVATE | MAP_ANONYMOUS) ? arg[1] : 0;
	case MT_GROWS_MREMAP:
		return arg[2] > arg[1] ? arg[2] - arg[1] : 0;
	default:
		return 0;
	}
}

SEC("uprobe")
int enter_map(mt_regs *ctx)
{
	__u64 cookie, arg[8];
	struct mt_thread *t;

	t = point_thread(ctx, mt_cut, &cookie);
	if (!t)
		return 0;
	if (t->sp)
		count(MT_EDGE_ABANDONED);
	if (cookie & MT_COOKIE_NO_RETURN) {
		count(MT_LOST_MISSED_RETURN);
		return 0;
	}
	arch_args(ctx, arg);
	t->cookie = cookie;
	t->ra = arch_return_address(ctx);
	t->size = asked_growth(cookie, arg);
	t->old = MT_COOKIE_RESULT(cookie) == MT_GROWS_BRK ? brk_of(bpf_get_current_task_btf()) : 0;
	t->sp = point_sp(ctx, cookie);
	return 0;
}

SEC("uprobe")
int leave_map(mt_regs *ctx)
{
	__u64 cut = mt_cut, cookie, caller, sp, bytes;
	struct mt_thread *t;

	t = point_thread(ctx, cut, &cookie);
	if (!t)
		return 0;
	sp = point_return_sp(ctx, cookie);
	caller = point_caller(ctx, cookie, t->ra);
	if (t->sp != sp) {
		if (!t->sp)
			count(MT_EDGE_RETURN_ONLY);
		return 0;
	}
	t->sp = 0;
	cookie = t->cookie;
	bytes = t->size;
	if (MT_COOKIE_RESULT(cookie) == MT_GROWS_BRK) {
		__u64 now = brk_of(bpf_get_current_task_btf());

		bytes = now > t->old ? now - t->old : 0;
	} else if (arch_result(ctx) == ~0ULL) {
		return 0;
	}
	if (bytes)
		charge_growth(t, site_here(ctx, t, MT_COOKIE_FUNC(cookie), caller, sp), bytes, cut, false);
	return 0;
}

#endif
