/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* One epoll: everything that malloctrace waits for. */
#ifndef MT_LOOP_H
#define MT_LOOP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/err.h"

typedef void (*loop_fn)(void *arg);

struct loop;

struct loop *loop__new(void);
void loop__free(struct loop *l);

/* fn is called while fd is readable. The fd stays the caller's. */
int loop__add_fd(struct loop *l, int fd, loop_fn fn, void *arg);
void loop__remove_fd(struct loop *l, int fd);
/* fn every interval_ns, first after that time; once: only then. */
int loop__add_timer(struct loop *l, uint64_t interval_ns, bool once, loop_fn fn, void *arg);
/* The one that was added with these two; no-op if there is none. */
void loop__remove_timer(struct loop *l, loop_fn fn, const void *arg);
/* fn(signal): the signals of the set are blocked and arrive here. */
int loop__add_signals(struct loop *l, const sigset_t *set, void (*fn)(int sig, void *arg), void *arg);

/* Until loop__stop(). */
int loop__run(struct loop *l, struct err *e);
void loop__stop(struct loop *l);

#endif
