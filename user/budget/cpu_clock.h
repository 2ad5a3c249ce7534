/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The CPU time of a process that runs meanwhile, to the microsecond. */
#ifndef MT_CPU_CLOCK_H
#define MT_CPU_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cpu_clock;

/* Not fine: it lags by up to a tick, and costs next to nothing. */
struct cpu_clock *cpu_clock__open(pid_t pid, bool fine);
void cpu_clock__close(struct cpu_clock *c);	/* takes NULL */
/* Never runs back; of a process that has ended, the last figure stays. From any thread. */
uint64_t cpu_clock__ns(struct cpu_clock *c);
/* From now on also of one thread by itself; false: there is no clock for it. */
bool cpu_clock__watch(struct cpu_clock *c, pid_t tid);
/* As it was when cpu_clock__ns was last called; false: it is not watched. */
bool cpu_clock__thread_ns(const struct cpu_clock *c, pid_t tid, uint64_t *ret);

/*
 * Which threads of a process did not sleep between two instants: those ran, or waited for a CPU that others had. CPU time
 * cannot distinguish a thread that waits for a CPU from one that sleeps.
 */

/* Reading one takes some 20 us: of a process with more threads none is read, and its CPU time must do. */
#define AWAKE_MOST_THREADS 16

struct awake {
	size_t n;
	struct awake_thread {
		pid_t tid;
		bool runnable;
		uint64_t sleeps;	/* since it was created */
	} threads[AWAKE_MOST_THREADS];
};

void awake__read(pid_t pid, struct awake *ret);
/* text: of /proc/PID/task/TID/status. */
bool awake__parse(const char *text, struct awake_thread *ret);
/* How many threads were runnable from one reading to the other. */
size_t awake__between(const struct awake *from, const struct awake *to);

#endif
