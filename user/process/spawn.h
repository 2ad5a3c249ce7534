/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * -- CMD: a program of our own, seen from its first allocation.
 *
 * Which libraries it will use is not known before its loader has mapped them,
 * and constructors allocate before its entry point. So it is traced (ptrace)
 * from exec on and stopped at each executable mapping, until its entry point is
 * reached; from then on it is stopped by its next exec only. Nothing is written
 * into it, and if malloctrace dies the kernel lets it go on.
 */
#ifndef MT_SPAWN_H
#define MT_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

#include "util/err.h"

struct spawn;

struct spawn_opts {
	char **argv;
	bool as_root;		/* else as SUDO_UID, if we are root and it is set */
	bool stdout_to_stderr;
	int fds[3];		/* CMD's standard input, output and error; 0: as ours, or as above */
};

struct spawn_calls {
	/* The child has a new program, or new code: it stands still until this returns. */
	void (*on_exec)(pid_t pid, void *arg);
	void (*on_mapping)(pid_t pid, void *arg);
	/* Has its entry point been reached? */
	bool (*has_started)(pid_t pid, void *arg);
	/* Its loader is done. */
	void (*on_started)(pid_t pid, void *arg);
	void *arg;
};

/*
 * The child exists and waits before its exec. SIGCHLD must be blocked, and
 * spawn__on_sigchld called for it (and once after spawn__go).
 */
int spawn__new(const struct spawn_opts *o, const struct spawn_calls *calls, struct spawn **ret, struct err *e);
pid_t spawn__pid(const struct spawn *s);
/* Lets it exec. */
int spawn__go(struct spawn *s, struct err *e);
void spawn__on_sigchld(struct spawn *s);
/*
 * It has execed and was not traced: the process that has its pid now got a SIGSTOP before its
 * program began. It is caught again, and goes on as after every exec.
 */
void spawn__catch(struct spawn *s);
/* It is traced no more and goes on. */
void spawn__release(struct spawn *s);
/* No exec holds it any more: should one have just now, it goes on. */
void spawn__let_go(struct spawn *s);

/*
 * The most memory that was resident at a time, by the kernel's account at its end; 0: not known, or
 * so little that it may have been that of malloctrace's fork.
 */
uint64_t spawn__most_rss_bytes(const struct spawn *s);
uint64_t spawn__cpu_ns(const struct spawn *s);	/* and of all children that it has waited for; 0: it runs */
/* Why it could not be run: an errno, or 0. */
int spawn__exec_errno(const struct spawn *s);
/* Waits for its end; as a shell would report it, 128+N for a signal; 126 or 127 if it could not be run. */
int spawn__wait(struct spawn *s);
/* Takes NULL. A child that has not been let go to its exec is ended. */
void spawn__free(struct spawn *s);

#endif
