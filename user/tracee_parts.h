/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The inside of the tracees, for the files that they are made of. */
#ifndef MT_TRACEE_PARTS_H
#define MT_TRACEE_PARTS_H

#include "tracee.h"

/* An ELF file of 64 bits and of this machine's architecture. */
bool tracees__is_native(const struct object *obj);
/* What an object offers; made when it is seen for the first time. */
int tracees__plan_of(struct tracees *t, struct object *obj, bool asked, struct known_plan **ret, struct err *e);
/* Once per file: are its points right? If not, the plan becomes a plain one, in place. */
int tracees__check_plan(struct tracees *t, const struct tracee *p, const struct plan *plan, struct err *e);
/* Once per file, when it is probed for the first time. */
void tracees__tell_plan(struct tracees *t, const struct plan *plan);

#endif
