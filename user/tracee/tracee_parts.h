/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The inside of the tracees, for the files that they are made of. */
#ifndef MT_TRACEE_PARTS_H
#define MT_TRACEE_PARTS_H

#include "tracee/tracee.h"

/* A tracee of a process, which it takes, also on failure; it has no life yet. */
int tracees__push(struct tracees *t, struct process *process, struct tracee **ret, struct err *e);
int tracee__add_life(struct tracees *t, struct tracee *p, uint32_t proc, struct err *e);
/* The number that the kernel gave to its only life. */
int tracee__set_proc(struct tracees *t, struct tracee *p, uint32_t proc, struct err *e);
int tracee__tell_model(struct tracees *t, struct tracee *p, uint64_t age_ns, struct err *e);
/* Reads what it maps; tables and probes are the caller's: p->dirty. */
int tracee__look(struct tracees *t, struct tracee *p, struct err *e);
/* Tables for new code. */
int tracee__update_unwind(struct tracees *t, struct tracee *p, struct err *e);
/* Files of this tracee that could not be read, each once. */
void tracee__tell_unread(const struct tracee *p);

/* Have its memory cgroup and those above it room for these probes (tracee_room.c)? -ENOSPC, with what to do. */
int tracee__check_room(const struct tracee *p, const struct plan *const *plans, size_t n, struct err *e);
/* The same just before they are set: once the trace has begun there is none for any, and that is said. */
int tracee__leave_room(const struct tracees *t, struct tracee *p, const struct plan *const *plans, size_t n, bool *ret_room, struct err *e);
/* For doctor; nothing where there is no limit. */
void tracee__tell_room(const struct tracee *p, FILE *out);

/* Everyone's probes in what `now` was before it was written to go. */
void tracees__unprobe_former(struct tracees *t, const struct object *now);
/* The same of where what it maps loads libraries (tracee_loader.c). */
int tracee__probe_loaders(struct tracees *t, struct tracee *p, struct err *e);
int tracees__probe_loader_of(struct tracees *t, struct known_plan *k, struct err *e);
/* And of where calls fail unseen, its own or everyone's (tracee_refusals.c). */
int tracee__probe_refusals(struct tracees *t, struct tracee *p, struct err *e);
/* Spots in what it maps: those that are not probed yet. */
int tracee__probe_spots(struct tracees *t, struct tracee *p, struct err *e);
/* The same in one file, where probes are everyone's. p: who mapped it, or NULL. */
int tracees__probe_spots_of(struct tracees *t, struct known_plan *k, const struct tracee *p, struct err *e);

/* Everyone's probes are in this file already, through another name of it: the plan of that one, else NULL. spots: those, not allocators. */
const struct known_plan *tracees__covered_by(const struct tracees *t, const struct known_plan *k, bool spots);

/* An ELF file of 64 bits and of this machine's architecture. */
bool tracees__is_native(const struct object *obj);
/* What an object offers; made when it is seen for the first time. */
int tracees__plan_of(struct tracees *t, struct object *obj, bool asked, struct known_plan **ret, struct err *e);
/* Once per file: are its points right? If not, the plan becomes a plain one, in place. */
int tracees__check_plan(struct tracees *t, const struct tracee *p, const struct plan *plan, struct err *e);
struct known_plan *tracees__known_plan(const struct tracees *t, const struct object *obj);	/* NULL: not looked at yet */
/* Once per file, when it is probed for the first time. */
void tracees__tell_plan(struct tracees *t, const struct plan *plan);

#endif
