/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Which threads of a process did not sleep between two instants: those ran, or waited for a CPU that others had. CPU time
 * cannot distinguish a thread that waits for a CPU from one that sleeps.
 */
#ifndef MT_AWAKE_H
#define MT_AWAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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
