/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* A program that the benchmark starts: a tool, or the target that it measures. */
#ifndef MT_BENCH_CHILD_H
#define MT_BENCH_CHILD_H

#include <stdint.h>
#include <sys/types.h>

#include "util/err.h"

/*
 * What a child writes goes to a memory file, so that it never waits for a
 * reader. env: "NAME=value" rows to add, NULL at the end. cpu: the number of
 * the one that it may use, NULL: any. Whoever starts a child ends it.
 */
struct child {
	pid_t pid;	/* 0: none */
	int in, out;	/* the target's pipes, -1: none */
	int text;	/* memory file with standard output and error, -1: none */
};

#define CHILD_NONE ((struct child){ .in = -1, .out = -1, .text = -1 })
#define _cleanup_child_ __attribute__((cleanup(child__kill)))

int child__start_tool(char *const argv[], char *const env[], const char *cpu, struct child *ret, struct err *e);
int child__start_target(char *const argv[], char *const env[], const char *cpu, struct child *ret, struct err *e);
/* -ETIMEDOUT, or -ECHILD if it ended without having written it; the message has its last words. */
int child__wait_for_text(struct child *c, const char *wanted, int timeout_ms, struct err *e);
/* Until its first thread has not run for a while: what is preloaded may have others. */
int child__wait_until_it_sleeps(struct child *c, int timeout_ms, struct err *e);
/* Until it has ended; its CPU time can still be asked for. */
int child__wait_for_end(struct child *c, int timeout_ms, struct err *e);
/*
 * Signals (0: none), waits for the end, gives all text (may be NULL) to the caller to free.
 * The exit status, or -errno.
 */
int child__finish(struct child *c, int signal, int timeout_ms, char **ret_text, struct err *e);
uint64_t child__cpu_ns(const struct child *c);	/* of all its threads; 0: it is gone */
/* For every way out: nothing of it remains. */
void child__kill(struct child *c);

#endif
