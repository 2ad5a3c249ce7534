/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* One process as /proc shows it. */
#ifndef MT_PROCESS_H
#define MT_PROCESS_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/err.h"

struct process {
	pid_t pid;
	char *comm, *exe;	/* owned, clean; exe "" if it cannot be read */
	char *cgroup;		/* owned, clean; NULL if unknown */
	char *container, *unit;	/* owned; NULL if the cgroup's path names none */
	char *pod;		/* owned, clean: NAMESPACE/NAME if that is known, else its uid; NULL: it is in none */
	uint64_t age_ns;	/* since its start, when it was read */
	uint64_t start_ticks;	/* when it started, in clock ticks since boot: with the pid this names it for good */
	pid_t ns_pid;		/* in its own pid namespace, if that is another one; else 0 */
	uid_t uid;
	bool is_headless;	/* its first thread has ended, others go on */
	int pidfd;		/* owned; -1 if not opened */
};

/*
 * What is there to know about a process that is to be traced. Fails, with a
 * sentence, for one that does not exist, has ended, is a kernel thread, or may
 * not be inspected by this user.
 */
int process__read(pid_t pid, struct process *ret, struct err *e);
/* The same without a descriptor; a thread is not distinguished from a process. */
int process__look(pid_t pid, struct process *ret, struct err *e);
/* Its effective user, and its pid as it sees it itself; -errno. */
int process__ids(pid_t pid, uid_t *ret_uid, pid_t *ret_own_pid);
/* The number of a thread, or a process, in its own pid namespace; 0: that is ours. -errno */
int process__own_tid(pid_t tid, pid_t *ret);
/* Of a forked child: what its parent is, but for its pid and its age. */
void process__copy(const struct process *from, pid_t pid, struct process *ret);
void process__done(struct process *p);
/*
 * A thread of it that has not ended: pid, if that is one. Of a process whose first
 * thread has ended, /proc shows most under the number of another one. 0: it has ended.
 */
pid_t process__runner(pid_t pid);
/* Is it there, and neither a kernel thread nor a zombie? */
bool process__has_memory(pid_t pid);
bool process__is_own(pid_t pid);	/* malloctrace, one that reads for it, or that holds a process's memory for it */
uid_t process__owner(pid_t pid);	/* whose its files in /proc are; -1: it has ended */
pid_t process__parent(pid_t pid);	/* 0: none that can be seen */
/* Is that one still there? */
bool process__is(pid_t pid, uint64_t start_ticks);
/* What may change in a life. False: it is where it was. */
bool process__read_cgroup(struct process *p);
void process__set_exe(struct process *p);
char *process__exe(pid_t pid);	/* the path of its program, clean; "" if it cannot be read; the caller's */
/* The text of /proc/PID/cgroup; *ret is the caller's. -ESRCH: it has ended, or is about to. */
int process__cgroups(pid_t pid, char **ret);

/* Small questions to a process that may have ended meanwhile: 0 then. */
/*
 * An instant before its program began, by CLOCK_REALTIME. A process that was forked and has not
 * called exec has the memory of its ancestors: the machine's start.
 */
uint64_t process__program_began_ns(pid_t pid);
uint64_t process__rss_bytes(pid_t pid);
/* What it uses as of one instant: RSS counts neither swap nor pages of hugetlbfs. All 0: it has no memory any more. */
struct process_use {
	uint64_t rss_bytes, file_bytes, shmem_bytes, swap_bytes, hugetlb_bytes;	/* file_bytes, shmem_bytes: of rss_bytes */
	uint64_t table_bytes;	/* page tables, which RSS does not count */
};
struct process_use process__use(pid_t pid);
/* The same by the text of /proc/PID/status, for the tests; false: all 0. */
bool process_use__parse(const char *text, struct process_use *ret);
uint64_t process__most_rss_bytes(pid_t pid);	/* of the memory that it has now: since its exec, or fork */
uint64_t process__cpu_ns(pid_t pid);
/* Names the time since the machine started; "" and false: not known. */
#define BOOT_ID_MAX 40
bool machine__boot_id(char ret[static BOOT_ID_MAX]);
uint64_t machine__cpu_ns(void);	/* of all processes since the machine started; 0: not known */
/* What a look at it in passing shows, from one small file. */
struct process_pulse {
	pid_t ppid;
	uint64_t start_ticks, age_ns, cpu_ns;
	uint64_t rss_bytes;	/* as the kernel had it some milliseconds ago */
};
int process__pulse(pid_t pid, struct process_pulse *ret);	/* -ESRCH: it has ended, or is a thread of the kernel */
/* Clean, into buf; "" and -errno if there is no such thread, or it is not told. */
int process__thread_comm(pid_t pid, pid_t tid, char buf[static 32]);

/* ---- its files in /proc */

/* The text of one, such as "status", of a process or a thread; the caller's. -errno */
int process__file(pid_t pid, const char *what, char **ret);
/* A descriptor of one, such as "mem"; flags of open(), or 0 for reading. -errno */
int process__open(pid_t pid, const char *what, int flags);
/* The letter of its state, of a thread as well; X: it has ended. */
char process__state(pid_t tid);
/* "VmRSS:     1234 kB": of a text such as status, bytes of the line with this name; 0: there is none. */
uint64_t bytes_of_line(const char *text, const char *name);

/* ---- which of them there are */

struct pids {			/* of a directory of /proc; closes itself */
	DIR *dir;		/* owned */
	int err;		/* -errno: why it could not be opened, or read to its end; 0 */
};
#define _cleanup_pids_ __attribute__((cleanup(pids__done)))

struct pids pids__of_all(void);
struct pids pids__of_threads(pid_t pid);
pid_t pids__next(struct pids *p);	/* 0: there are no more */
/* The same, but for malloctrace's own, threads of the kernel, and those that have ended. */
pid_t pids__next_other(struct pids *p);
void pids__done(struct pids *p);

/* The memory of the machine, as the kernel accounts for it. */

struct meminfo {
	uint64_t total_bytes, available_bytes, free_bytes, swap_bytes, swap_free_bytes;
};

/* What cannot be read is 0. */
void meminfo__read(struct meminfo *ret);
/* The same by the text of /proc/meminfo, for the tests. */
void meminfo__parse(const char *text, struct meminfo *ret);

#endif
