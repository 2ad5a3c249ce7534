/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Names while a screen is up: looked up by a thread of its own, because the first
 * name of a big program may take seconds. The caller names what it wants again and again;
 * what has been found is there at once.
 */
#ifndef MT_NAMES_H
#define MT_NAMES_H

#include "model/snapshot.h"
#include "names/sym.h"

struct names;

/*
 * NULL without threads. sym is used by that thread alone until names__free(), but between
 * pause and resume.
 */
struct names *names__new(struct sym *sym);
/* The lookup that is under way ends soon. */
void names__free(struct names *n);
/* Readable when something was found since the last names__want(). */
int names__fd(const struct names *n);
/* The caller has seen that, and will want names later: the descriptor is not readable until more is found. */
void names__heard(struct names *n);

/*
 * Fills in what is known of these places of s, and has the others looked up, in
 * this order, instead of what was wanted before. Returns how many got a name now.
 */
size_t names__want(struct names *n, struct snapshot *s, const uint32_t *places, size_t n_places);
/* How many are still to come; which object is read now, into path: "" if nothing is. */
size_t names__n_left(struct names *n, char *path, size_t size);

/* The thread stands still, and sym may be used by the caller. NULL is allowed. */
void names__pause(struct names *n);
void names__resume(struct names *n);

#endif
