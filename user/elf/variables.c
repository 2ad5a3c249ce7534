// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the variables of one ELF file and the choice among several that claim the same bytes: what begins first has
 * them, of these the longest, of equals the one with the plainest name.
 *
 * What always holds: those that are handed on do not overlap, so that sums over them hold.
 */
#include "elf/variables.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "elf/apart.h"
#include "elf/debugfile.h"
#include "elf/elffile.h"
#include "elf/object.h"
#include "util/sorted.h"
#include "util/stint.h"
#include "util/util.h"

#define VARIABLES_MAX (4u << 20)
#define NAME_MAX_BYTES 4096	/* a file may hold megabytes without a NUL */
#define NAMES_MAX_BYTES (256u << 20)

/* 1: no more are taken. */
static int add_name(struct variables *all, const char *name, size_t *ret)
{
	size_t len = strnlen(name, NAME_MAX_BYTES), room;
	char *names;

	if (len + 1 > NAMES_MAX_BYTES - all->names_len)
		return 1;
	if (len + 1 > all->names_room - all->names_len) {
		room = MAX(2 * all->names_room, all->names_len + len + 1);
		names = realloc(all->names, room);
		if (!names)
			return -ENOMEM;
		all->names = names;
		all->names_room = room;
	}
	*ret = all->names_len;
	memcpy(all->names + *ret, name, len);
	all->names[*ret + len] = 0;
	all->names_len += len + 1;
	return 0;
}

static int add(const struct object_symbol *s, void *arg)
{
	struct variables *all = arg;
	struct variable *v;
	size_t name;
	int r = all->n < VARIABLES_MAX ? add_name(all, s->name, &name) : 1;

	if (r)
		return r;
	v = vec__grow((void **)&all->v, &all->n, &all->room, sizeof(*v));
	if (!v)
		return -ENOMEM;
	/* its segment holds it: no sum overflows */
	*v = (struct variable){ s->value, s->value + s->size, name };
	return 0;
}

/* glibc has environ, _environ and __environ. */
static size_t plainness(const char *name)
{
	return strncmp(name, "_Z", 2) ? strspn(name, "_") : 0;
}

static int by_start(const void *pa, const void *pb, void *arg)
{
	const struct variable *a = pa, *b = pb;
	const char *names = arg, *x = names + a->name, *y = names + b->name;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	if (plainness(x) != plainness(y))
		return plainness(x) < plainness(y) ? -1 : 1;
	/* __GI_x is x, as libc's own parts call it */
	if (strlen(x) != strlen(y))
		return strlen(x) < strlen(y) ? -1 : 1;
	return strcmp(x, y);
}

static void settle(struct variables *all)
{
	uint64_t taken = 0;
	size_t n = 0;

	if (all->n)
		qsort_r(all->v, all->n, sizeof(*all->v), by_start, all->names);
	for (size_t i = 0; i < all->n; i++) {
		struct variable v = all->v[i];

		v.start = MAX(v.start, taken);
		if (v.start >= v.end)
			continue;
		taken = v.end;
		all->v[n++] = v;
	}
	all->n = n;
}

/* It has the addresses of the file that it was made of, and nothing but headers of its segments: so those of obj count. */
static int add_debug_file(struct object *obj, const char *debug_dir, struct variables *all)
{
	struct elffile file = {}, debug = {};
	struct object as = *obj;
	int r = 0;

	if (elffile__open_fd(&file, obj->fd))
		return 0;
	if (!debugfile__open(&debug, obj, file.elf, debug_dir ? debug_dir : DEBUG_DIR)) {
		as.fd = debug.fd;
		r = object__for_each_variable(&as, add, all, NULL);
	}
	elffile__close(&debug);
	elffile__close(&file);
	return r;
}

int variables__read(struct object *obj, const char *debug_dir, struct variables *ret)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	struct variables all = {};
	int r = 0;

	if (!obj->is_elf || object__has_names(obj) || object__look_for_change(obj)) {
		*ret = all;
		return 0;
	}
	if (readers__are_apart())
		return variables_apart__read(obj, debug_dir, ret);
	r = object__for_each_variable(obj, add, &all, NULL);
	if (r != -ENOMEM && !elffile__has_section(obj->fd, ".symtab"))
		r = add_debug_file(obj, debug_dir, &all);
	if (r == -ENOMEM) {
		variables__done(&all);
		return r;
	}
	settle(&all);
	*ret = all;
	return 0;
}

void variables__done(struct variables *v)
{
	free(v->v);
	free(v->names);
	*v = (struct variables){};
}

const struct variable *variables__find(const struct variables *v, uint64_t vaddr)
{
	return sorted__range_of(v->v, v->n, vaddr);
}
