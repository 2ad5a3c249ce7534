/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Files that are probed and written to. To the kernel such a file is the same one as
 * before: it goes on putting breakpoints where the old code had its functions, and carries out the old
 * instructions there, which kills processes that map the new code (any tool that sets uprobes, 6.1
 * to 6.18). So the probes have to be out before a process does.
 *
 * inotify reports it, with the first byte that is written, or when the file is truncated; a thread
 * of its own, which has nothing else to do, takes the links away from the code that made them. A
 * lease (F_SETLEASE) would report it before, and make the writer wait until the probes are out; but
 * it would wait for up to 45 seconds (lease-break-time) if malloctrace is stopped meanwhile, by
 * SIGSTOP, a frozen cgroup or a debugger.
 */
#ifndef MT_WRITES_H
#define MT_WRITES_H

#include "elf/object.h"

struct writes;

/* NULL: there is no thread, or no inotify (fs.inotify.max_user_instances): then writes go unnoticed. */
struct writes *writes__new(void);
void writes__free(struct writes *w);
/*
 * In all of these w may be NULL. From now on, until it is reported once; before the file is probed.
 * -ESTALE: it was written to since it was opened, and what is known of it does not hold any more:
 * it must not be probed, and is reported.
 */
int writes__watch(struct writes *w, struct object *obj);
/*
 * A link in the file that closing ends. Before fd is closed it is to be dropped; by then it may be
 * one of /dev/null. anchor: see attach.h.
 */
void writes__add_link(struct writes *w, const struct object *obj, int fd, bool anchor);
void writes__drop_link(struct writes *w, int fd);
int writes__fd(const struct writes *w);	/* readable: a file was written to */
/* One that was; no reference. NULL: no more. */
const struct object *writes__next(struct writes *w);

#endif
