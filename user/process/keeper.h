/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The memory of a process is kept past its end: what it held when it ended can be read at leisure, and nobody stops it, delays it,
 * or writes to it for that.
 *
 * How: an address space lives for as long as somebody uses it, and who reads /proc/PID/mem is one who does. So a child of ours (a holder)
 * reads a word of it into a page of ours that is missing for as long as we like (userfaultfd), and does not return. mem, pagemap
 * and maps that were opened before then go on with the old memory: of a zombie, of a process that was waited for, of one that
 * became another program. Children that it forks have memory of their own, and are no matter of this.
 *
 * Why a child, and not a thread: a signal that is pending ends the wait in the kernel, which begins it again at once, and only SIGKILL ends the
 * read (seen with 6.18). So a thread would keep Ctrl-Z from ever stopping us, and go round in circles at full speed from then on, also after
 * SIGCONT. A holder has a session of its own, and all signals blocked. What still stops it (a SIGSTOP that is meant for it, ptrace, a
 * frozen cgroup, the machine's sleep, which may fail because of it) sends it round in circles, too, until keeping__tend() replaces it.
 *
 * Nothing is held for good: a holder has no descriptor but one of mem, and shares our memory. When we end, however that is, it is
 * killed (PR_SET_PDEATHSIG), and the page comes as the last descriptor of the userfaultfd is closed.
 * No signal ends a holder that waits for a FUSE server, to read a file of the process or to write
 * it back: we give up waiting for its end after two seconds. It holds our memory until that server
 * answers or ends, also when we have ended.
 *
 * What it costs. The process: nothing while it runs, and its exit and its exec are quicker, as its memory is given back by the holder, in
 * keeping__free(): measured with 1 GiB in pages of 4 KiB, an exit of 63 ms took 0.2 ms, and letting go 105 ms. Us: 0.3 ms to begin, four
 * descriptors, two pages and a process. But what is kept after the end is still charged to the memory cgroup that it was in, files that it
 * maps stay busy, and segments of SysV attached: some servers do not start again before that is over. So it is let go
 * as soon as it was read. What the kernel kills for want of memory it takes pages of all the same: these are not there.
 *
 * A keeper and what it keeps are used by one thread, which lives as long as they do: with it, the holders end.
 */
#ifndef MT_KEEPER_H
#define MT_KEEPER_H

#include <stdbool.h>
#include <sys/types.h>

#include "process/maps.h"
#include "util/err.h"

struct keeper;			/* the means */
struct keeping;			/* one process's memory */
struct memory;			/* process/memory.h */

/*
 * Before settle__process(), which has userfaultfd(2) refused; all that comes later needs only what stays allowed: clone, mmap, ioctl.
 * -ENOSYS: this kernel cannot; -EPERM: we may not. Then what was read last is the last word.
 */
int keeper__new(struct keeper **ret, struct err *e);
void keeper__free(struct keeper *k);	/* after all that it keeps; NULL: nothing */
/*
 * From here on it is kept. -ESRCH, -EPERM, -ENOMEM, -ENODATA: nothing of it is in memory now, -EAGAIN: it became
 * another program meanwhile, -ETIMEDOUT: its memory does not answer, or that of others took too long.
 */
int keeper__keep(struct keeper *k, pid_t pid, struct keeping **ret, struct err *e);
/*
 * Lets go, and returns when that is done, or after two seconds: if the process has ended, its
 * memory is gone then. NULL: nothing
 */
void keeping__free(struct keeping *p);
/* From time to time: a holder that was stopped is replaced. -ESRCH: it was killed, and the memory is gone, or is held no longer. */
int keeping__tend(struct keeping *p, struct err *e);

pid_t keeping__pid(const struct keeping *p);
/* A thread of it that runs, as process__runner(); 0: it has ended or become another program, and /proc/PID is not about this memory. */
pid_t keeping__runner(struct keeping *p);
/* For copies of it, as long as it is kept. */
const struct memory *keeping__memory(const struct keeping *p);
/*
 * Its mappings: of now, or as it left them. Before 6.11, of one that has been waited for, those that were told last: this is called before
 * that for the last time, then.
 */
int keeping__maps(struct keeping *p, struct maps *ret, struct err *e);
bool keeper__is_holder(pid_t pid);

#endif
