/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What programs report: counters of what was lost, messages, and the hits of the self-check. A part
 * of abi.h, which includes it.
 */
#ifndef MT_ABI_EVENTS_H
#define MT_ABI_EVENTS_H

#include "abi_cookie.h"
#include "abi_procs.h"
#include "abi_types.h"

/* ---- what can be lost, and what the edges of the trace cut off */

enum mt_counter {
	/* losses */
	MT_LOST_LIVE_FULL,	/* no room for a block */
	MT_LOST_STACK_FULL,	/* no room for a new stack's frames */
	MT_LOST_SITE_FULL,	/* no room for a new site */
	MT_LOST_SCRATCH_BUSY,	/* no buffer to walk a stack in */
	MT_LOST_INFLIGHT_FULL,	/* no room for a thread */
	MT_LOST_PROCESS_FULL,	/* no room for a process */
	MT_LOST_RING_FULL,	/* no room for a message */
	MT_LOST_MISSED_FREE,	/* a block appeared at an address still in the table */
	MT_LOST_MISSED_RETURN,	/* a call of a function whose return cannot be probed safely */
	MT_LOST_UNREADABLE,	/* posix_memalign's result, or strdup's, could not be read */
	MT_LOST_FREES_FULL,	/* --free-stacks: no room for a site that frees blocks of another */
	MT_LOST_HEAP_DESTROYED,	/* a heap was destroyed with all its blocks, which are still reported as live */
	MT_LOST_MAPPING_BUSY,	/* --mmap: another thread had the process's mappings in its hands for too long */
	/* a child that shared its parent's memory met probes, and the kernel ran no program for it */
	MT_LOST_BORROWED,
	MT_LOST_MISSED_ENTRY,	/* a call that did not begin where its function does */
	MT_LOST_EVENTS_FULL,	/* --events: no room for a call, which is counted all the same */
	/* --within: a stack is not whole: is an inlined copy of a function on it? */
	MT_LOST_WITHIN_UNSURE,
	/* edges */
	MT_EDGE_RETURN_ONLY,	/* a return whose entry was not seen: under way when the trace began */
	MT_EDGE_ABANDONED,	/* a call left without a return: longjmp, exception, the end of the trace */
	MT_EDGE_DIED_INSIDE,	/* a thread ended inside a call */
	MT_EDGE_SIZE_GUESSED,	/* --mode growth: the size of a page fault that was interrupted, see growth.bpf.h */
	MT_EDGE_WINDOW,		/* --overhead: a call was under way when a window ended */
	MT_EDGE_OWN_FREE,	/* the allocator freed what is no block of the program's */
	MT_EDGE_PYTHON_UNNAMED,	/* frames of Python without their names, or a stack without them: there was no room */
	MT_EDGE_BORROWED,	/* as MT_LOST_BORROWED, where it is not known whether the child met probes */
	MT_EDGE_RENAMED,	/* a thread got another name, and what it does under each could not be kept apart */
	MT_N_COUNTERS
};
#define MT_N_LOSSES MT_EDGE_RETURN_ONLY

/* ---- messages */

enum mt_event_kind {
	/*
	 * pid is a new program: proc is the new life's number (0: no room), old_proc the one that
	 * ended (0: none)
	 */
	MT_EV_EXEC = 1,
	MT_EV_EXIT = 2,		/* the last thread of proc ended */
	MT_EV_THREAD_END = 3,	/* its counts are those of a thread of proc */
	MT_EV_FORK = 4,		/* pid was forked: proc is its number, old_proc that of its parent (0: not traced) */
	MT_EV_NEW = 5,		/* pid was met, unknown so far, and has got the number proc */
	MT_EV_CHANGED = 6,	/* the name of pid, a known or ignored one, changed; proc is 0 if it is ignored */
	/* the kernel has no memory left and chose pid, to kill it; proc is 0 if it has ended already */
	MT_EV_OOM = 7,
	MT_EV_MOVED = 8,	/* struct mt_move: pid entered a cgroup; if it was ignored, it has got the number proc by that */
	MT_EV_THREAD_RENAMED = 9,	/* its counts are those of a thread of proc up to now, comm is the name it had */
};

struct mt_event {
	__u32 kind;
	__u32 proc;
	__u32 old_proc;
	__u32 pid;
	/* MT_EV_THREAD_END, MT_EV_THREAD_RENAMED; MT_EV_EXEC: the thread that called it, 0 if that was the first one */
	__u32 tid;
	__s32 exit_code;	/* MT_EV_EXIT: as of waitpid; MT_EV_EXEC: MT_EXEC_HELD, MT_EXEC_CLOSED */
	__u32 parent;		/* MT_EV_EXEC of a vfork child: the life that made it, which goes on */
	/* of lives, 0 for threads */
	__u32 ns_pid;		/* the pid in its own pid namespace */
	__u32 ppid;		/* its parent, as malloctrace sees it; 0: cannot be seen */
	__u32 oom;		/* MT_EV_EXIT alone: 1 if the kernel, out of memory, had chosen it */
	/* of the process, since boot, as in /proc/PID/stat: with the pid it names a process for good */
	__u64 start_ns;
	__u64 t_ns;		/* of the message, CLOCK_MONOTONIC */
	char comm[16];		/* of the process, MT_EV_CHANGED: the new one; of the thread, MT_EV_THREAD_END and _RENAMED */
	struct mt_thread_counts counts;
};
_Static_assert(sizeof(struct mt_event) == 72 + 64, "abi");

#define MT_EXEC_HELD 1		/* it stands still */
#define MT_EXEC_CLOSED 2	/* a program that malloctrace's user may not look into: proc is 0 */

#define MT_CGROUP_PATH 256

/*
 * A process that ends at once is in no cgroup any more when user space checks: so the message says
 * which one it entered.
 */
struct mt_move {
	struct mt_event ev;
	__u32 hierarchy;	/* a line of /proc/PID/cgroup begins with it */
	__u32 pad;
	char path[MT_CGROUP_PATH];	/* from the root of the hierarchy; cut if it fills this */
};
_Static_assert(sizeof(struct mt_move) == 144 + MT_CGROUP_PATH, "abi");

/* ---- the self-check of probe points */

#define MT_MAX_HITS 1024
#define MT_HIT_RETURNED (1ULL << 16)	/* cookie: below it the number of the point; it is a uretprobe */

struct mt_hit {			/* what was seen at a point */
	__u64 point;
	__u64 sp;		/* after return */
	__u64 ra;
	__u64 result;
	__u64 arg[MT_N_ARGS];
};
_Static_assert(sizeof(struct mt_hit) == 80, "abi");

#endif
