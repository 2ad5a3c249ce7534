/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The inside of the tracees, for the files that they are made of. */
#ifndef MT_TRACEE_PARTS_H
#define MT_TRACEE_PARTS_H

#include "tracee/tracee.h"

extern const struct probing probing_own;	/* tracee_own.c */
extern const struct probing probing_shared;	/* machine.c */

/* A tracee of a process, which it takes, also on failure; it has no life yet. */
int tracees__push(struct tracees *t, struct process *process, struct tracee **ret, struct err *e);
int tracee__add_life(struct tracees *t, struct tracee *p, uint32_t proc, struct err *e);
/* The number that the kernel gave to its only life. */
int tracee__set_proc(struct tracees *t, struct tracee *p, uint32_t proc, struct err *e);
int tracee__tell_model(struct tracees *t, struct tracee *p, uint64_t age_ns, uint64_t began_ns, struct err *e);
/* Reads what it maps; tables and probes are the caller's: p->dirty. */
int tracee__look(struct tracees *t, struct tracee *p, struct err *e);
/* Tables for new code. */
int tracee__update_unwind(struct tracees *t, struct tracee *p, struct err *e);
/* One that could not begin: nothing is known of it. */
void tracees__drop(struct tracees *t, struct tracee *p);
/* It becomes known to the kernel, and gets its tables and probes. parked: these come when the budget wants them. */
int tracee__begin(struct tracees *t, struct tracee *p, bool parked, struct err *e);
/* All tracees are known to the kernel, have their tables, and their files are probed. */
int tracees__attach_all(struct tracees *t, struct err *e);
/* After detaching it is not examined any more. */
bool tracee__is_open(const struct tracees *t, const struct tracee *p);
/* One mapping, by a record; tables and probes follow: p->dirty, p->stale. */
int tracee__note_mapping(struct tracees *t, struct tracee *p, const struct mapping *m, uint64_t t_ns, struct err *e);
/* It has unloaded code since it was read. */
bool tracee__is_unsettled(const struct tracees *t, const struct tracee *p);
/*
 * It runs another program now, as the message says; comm, clean, is the name that the exec gave it.
 * Where probes are its own.
 */
int tracee__on_exec(struct tracees *t, struct tracee *p, const struct mt_event *ev, const char *comm, struct err *e);
/* Plans for the objects that this tracee did not have before. *ret is the caller's. */
int tracee__new_plans(struct tracees *t, struct tracee *p, const struct plan ***ret, size_t *ret_n, struct err *e);
/* The name of the file that the newest probes are in; "" without any. */
const char *tracee__last_allocator(const struct tracees *t, const struct tracee *p);
/* It was loaded while the process was traced: what it did until it was probed was not seen. */
void tracee__note_late_allocator(struct tracees *t, struct tracee *p);
/* Files of this tracee that could not be read, each once. */
void tracee__tell_unread(const struct tracee *p);

/* Have its memory cgroup and those above it room for these probes (tracee_room.c)? -ENOSPC, with what to do. */
int tracee__check_room(const struct tracee *p, const struct plan *const *plans, size_t n, struct err *e);
/* The same just before they are set: once the trace has begun there is none for any, and that is said. */
int tracee__leave_room(const struct tracees *t, struct tracee *p, const struct plan *const *plans, size_t n,
		       bool *ret_room, struct err *e);
/* For doctor; nothing where there is no limit. */
void tracee__tell_room(const struct tracee *p, FILE *out);

/* Shared probes in what `now` was before it was written to go. */
void tracees__unprobe_former(struct tracees *t, const struct object *now);
/*
 * Extra points of one file, for this tracee or, where probes are shared, for all, those that are
 * not probed yet. p: the tracee that mapped it, or NULL.
 */
int tracees__probe_extra(struct tracees *t, struct tracee *p, struct known_file *k, enum extra_kind kind,
			 struct err *e);
/* They are looked for, and not probed. */
int tracees__find_extra(struct tracees *t, struct known_file *k, enum extra_kind kind, struct err *e);
/* Of all files that it maps. */
int tracee__probe_extras(struct tracees *t, struct tracee *p, enum extra_kind kind, struct err *e);
/* Its shared probes are out, until a process maps it again. */
void known_file__forget_probes(struct known_file *k);
/*
 * Where the probes of this tracee go: its own, or the shared ones; NULL: it is detached. p may be
 * NULL where probes are shared.
 */
static inline struct attachment *tracees__probes_of(const struct tracees *t, const struct tracee *p)
{
	return t->shared_probes ? t->shared_probes : p ? p->attachment : NULL;
}

/* A Python interpreter among what it maps: its frames are walked from here on (tracee_python.c). */
int tracee__know_python(struct tracees *t, struct tracee *p, struct err *e);
/*
 * Where it frees code is not probed any more, if it does in this file (NULL: in any): its frames are native ones until it is known
 * again, and then no code is known by its address.
 */
void tracee__doubt_python(struct tracees *t, struct tracee *p, struct known_file *k);
/* A life has begun: what was reported of its code before is its own. */
void tracees__claim_codes(struct tracees *t, uint32_t proc);
void tracees__drop_codes(struct tracees *t);	/* all that nobody claimed */
/* Where a word of a stack that is a frame of Python lies; and is it the same code at both times? */
void tracees__locate_python(const struct tracees *t, const struct tracee_life *l, uint64_t word, uint64_t t_ns, struct address *ret);
bool tracees__is_same_python(const struct tracee_life *l, uint64_t word, uint64_t t1_ns, uint64_t t2_ns);

/* Functions that the user named, in one file (tracee_spots.c): for tracee_extras.c. */
int tracees__find_spots(struct tracees *t, struct known_file *k, struct err *e);
int tracees__attach_spots(struct tracees *t, struct attachment *a, struct known_file *k,
			  const struct tracee *p, struct err *e);

/*
 * Shared probes are in this file already, through another name of it: what is known of that one,
 * else NULL. spots: those, not allocators.
 */
const struct known_file *tracees__covered_by(const struct tracees *t, const struct known_file *k, bool spots);

/* An ELF file of 64 bits and of this machine's architecture. */
bool tracees__is_native(const struct object *obj);
/* What an object offers; made when it is seen for the first time. */
int tracees__file_of(struct tracees *t, struct object *obj, bool asked, struct known_file **ret, struct err *e);
/* Once per file: are its points right? If not, the plan becomes a plain one, in place. */
int tracees__check_plan(struct tracees *t, const struct tracee *p, const struct plan *plan, struct err *e);
struct known_file *tracees__known_file(const struct tracees *t, const struct object *obj);	/* NULL: not read yet */
/* Once per file, when it is probed for the first time. */
void tracees__tell_plan(struct tracees *t, const struct plan *plan);

#endif
