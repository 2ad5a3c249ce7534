/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Spots: places of the program that the user named. FUNC, BINARY:FUNC (a path or
 * its last part), or a probe that the program carries with it, PROVIDER:PROBE or
 * BINARY:PROVIDER:PROBE. All functions of that name are selected, in all files that
 * the targets map, unless the file is named.
 */
#ifndef MT_SPOTS_H
#define MT_SPOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "elf/object.h"
#include "util/err.h"
#include "util/util.h"

struct kernel;

struct spot {
	uint32_t number;	/* in the kernel's table, from 1 on */
	enum mt_spot_kind kind;
	const char *option;	/* "--mark"; not owned */
	char *text;		/* owned; as it was given */
	char *part[3];		/* owned; what stands between colons */
	size_t n_parts;
	char *path;		/* owned; the file, if it was named with a '/' and is there; else NULL */
	char *hint;		/* owned; what the linker's name has in it if it is this function's; NULL: not known */
	size_t n_points;	/* that were found */
};

struct spots {
	struct spot *v;		/* owned */
	size_t n, room;
};

/* One more; the same text twice, of the same kind, is one. -EINVAL if that is no name, -E2BIG */
int spots__add(struct spots *s, enum mt_spot_kind kind, const char *option, const char *text, struct err *e);
void spots__done(struct spots *s);
/* Tells the kernel what each of them means; before they are probed. */
int spots__load(const struct spots *s, struct kernel *k, struct err *e);
/* The first of a kind; NULL: there is none. */
const struct spot *spots__first(const struct spots *s, enum mt_spot_kind kind);

struct spot_point {
	uint64_t offset;	/* in the file */
	uint64_t counter;	/* of a program's own probe: the word that counts its tracers, in the file; else 0 */
	uint64_t cookie;	/* the numbers of the spots that it is: abi.h */
};

struct spot_points {
	struct spot_point *v;	/* owned */
	size_t n, room;
};

/* The point at this offset, made if there is none; NULL: out of memory. */
struct spot_point *spot_points__at(struct spot_points *points, uint64_t offset);

/* Where an object has any of them; n 0: nowhere. debug_dir as of defined__each(). */
int spots__find(struct spots *s, struct object *obj, const char *debug_dir, struct spot_points *ret, struct err *e);

/* ---- of one that was found nowhere */

#define CLOSEST_MAX 3
struct closest {
	char *name[CLOSEST_MAX];	/* owned; the nearest first */
	size_t distance[CLOSEST_MAX];
	size_t n;
};

/* Names in obj that look like it. */
void closest__look(struct closest *c, const struct spot *s, struct object *obj);
void closest__done(struct closest *c);
/* Is it in a file that this may be? False for all if another binary was named. */
bool spot__may_be_in(const struct spot *s, const struct object *obj);

#endif
