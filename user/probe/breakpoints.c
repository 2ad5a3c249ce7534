// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns what it reads for the time of a call. */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "elf/elffile.h"
#include "probe/attach.h"
#include "process/maps.h"
#include "process/memory.h"
#include "process/process.h"
#include "util/util.h"

static const struct trap {
	uint16_t machine;
	uint32_t mask, any;	/* breakpoints of all kinds */
	uint32_t own_mask, own;	/* the kernel's, for uprobes */
} traps[] = {
	{ EM_AARCH64, 0xffe0001f, 0xd4200000, 0xffffffff, 0xd42000a0 },
	{ EM_X86_64, 0xff, 0xcc, 0xff, 0xcc },
};

static const struct trap *trap_of(uint16_t machine)
{
	return table_first(one, traps, one->machine == machine);
}

bool breakpoints__tell_foreign(void)
{
#if defined(__x86_64__)
	const struct trap *t = trap_of(EM_X86_64);
#else
	const struct trap *t = trap_of(EM_AARCH64);
#endif
	return t->mask != t->own_mask;
}

/* What is mapped there now, and is it this file's? */
static bool is_of(const struct mapping *m, const struct space *space, const struct object *obj)
{
	const struct space_range *r = space ? space__find(space, m->start) : NULL;

	return m->ino && m->ino == obj->ino && (!space || (r && r->object == obj));
}

static bool covers(const struct mapping *m, uint64_t offset)
{
	return offset >= m->file_off && offset - m->file_off < m->end - m->start;
}

/* Where a point was, or would be, by another part of the same code. */
static bool old_place(const struct maps *maps, const struct space *space, const struct object *obj,
		      uint64_t offset, uint64_t *ret)
{
	for (size_t i = 0; space && i < space->n; i++) {
		const struct space_range *r = &space->v[i];

		if (r->object == obj && offset >= r->file_off && offset - r->file_off < r->end - r->start) {
			*ret = r->start + (offset - r->file_off);
			return true;
		}
	}
	for (size_t i = 0; i < maps->n; i++) {
		if (!maps->v[i].exec || !is_of(&maps->v[i], space, obj))
			continue;
		*ret = maps->v[i].start + (offset - maps->v[i].file_off);
		return true;
	}
	return false;
}

static bool is_moved(const struct maps *maps, const struct space *space, const struct object *obj, uint64_t offset)
{
	const struct mapping *now;
	uint64_t addr;

	if (!old_place(maps, space, obj, offset, &addr))
		return false;
	now = maps__find(maps, addr);
	/* code of another file: it was unloaded, and that one took its place */
	return now && now->exec && !now->ino;
}

#define X86_PREFIX_MAX 4

/* A nop of x86_64 that is long enough for a call: 0f 1f /0, or 90 after prefixes. */
static bool is_long_nop(const unsigned char *insn)
{
	size_t n = 0;

	while (n < X86_PREFIX_MAX && (insn[n] == 0x66 || insn[n] == 0x2e))
		n++;
	if (insn[n] == 0x90)
		return n == X86_PREFIX_MAX;
	/* with a SIB byte: 5 bytes and more; else only with four bytes after it */
	return insn[n] == 0x0f && insn[n + 1] == 0x1f && !(insn[n + 2] & 0x38) &&
	       ((insn[n + 2] & 0xc7) == 0x44 || (insn[n + 2] & 0xc0) == 0x80);
}

/*
 * Has the kernel made a call of it? From 6.18 on it does so on x86_64 when a nop of five bytes was
 * hit, to save the trap; later ones, which leave the red zone alone, take nops of ten bytes, and
 * the call is their second half.
 */
static bool is_call(const unsigned char *mem, const unsigned char *file)
{
	return is_long_nop(file) && memcmp(mem, file, BREAKPOINT_BYTES) && (mem[0] == 0xe8 || mem[5] == 0xe8);
}

enum breakpoint_kind breakpoint__kind(uint16_t machine, const unsigned char *mem, const unsigned char *file)
{
	const struct trap *trap = trap_of(machine);
	uint32_t word;

	memcpy(&word, mem, sizeof(word));
	if ((word & trap->own_mask) == trap->own || (machine == EM_X86_64 && is_call(mem, file)))
		return BREAKPOINT_IN_PLACE;
	return (word & trap->mask) == trap->any ? BREAKPOINT_FOREIGN : BREAKPOINT_GONE;
}

static void look_at(struct memory *mem, const struct mapping *m, const struct object *obj, uint64_t offset,
		    struct breakpoints *s)
{
	unsigned char now[BREAKPOINT_BYTES] = {}, file[BREAKPOINT_BYTES] = {};

	if (memory__read(mem, m->start + (offset - m->file_off), now, sizeof(now)) < sizeof(uint32_t))
		return;
	object__read_at(obj, offset, file, sizeof(file));	/* at the file's end it is no nop */
	s->n_points++;
	switch (breakpoint__kind(obj->machine, now, file)) {
	case BREAKPOINT_IN_PLACE:
		break;
	case BREAKPOINT_FOREIGN:
		s->n_foreign++;
		break;
	case BREAKPOINT_GONE:
		s->n_gone++;
		break;
	}
}

/* A uretprobe is where an entry is: one breakpoint. */
static bool has_breakpoint(const struct point *p)
{
	return p->how != ON_RETURN || p->return_only;
}

/*
 * The kernel sets no probe in a mapping that can be written: one that has none of them never had
 * any, and only one that became writable later can have lost some.
 */
static void check_mapping(struct memory *mem, const struct mapping *m, const struct plan *p, struct breakpoints *s)
{
	struct breakpoints is = {};

	for (size_t i = 0; i < p->n_points; i++)
		if (has_breakpoint(&p->points[i]) && covers(m, p->points[i].offset))
			look_at(mem, m, p->object, p->points[i].offset, &is);
	if (m->write && is.n_gone == is.n_points) {
		s->n_never += is.n_points;
		return;
	}
	s->n_points += is.n_points;
	s->n_gone += is.n_gone;
	s->n_foreign += is.n_foreign;
}

static void check_plan(struct memory *mem, const struct maps *maps, const struct space *space, const struct plan *p,
		       struct breakpoints *s)
{
	_cleanup_free_ bool *found = xcalloc(p->n_points + 1, sizeof(*found));

	if (!trap_of(p->object->machine))
		return;
	for (size_t k = 0; k < maps->n; k++) {
		const struct mapping *m = &maps->v[k];

		if (!m->exec || !is_of(m, space, p->object))
			continue;
		check_mapping(mem, m, p, s);
		for (size_t i = 0; i < p->n_points; i++)
			found[i] |= covers(m, p->points[i].offset);
	}
	for (size_t i = 0; i < p->n_points; i++)
		s->n_moved += has_breakpoint(&p->points[i]) && !found[i] &&
			      is_moved(maps, space, p->object, p->points[i].offset);
}

int breakpoints__check(pid_t pid, const struct space *space, const struct plan *const *plans, size_t n,
		   struct breakpoints *ret)
{
	_cleanup_memory_ struct memory mem = {};
	struct breakpoints s = {};
	struct maps maps = {};
	/* a first thread that has ended shows no memory */
	pid_t runner = process__runner(pid);
	int err = runner ? memory__open(&mem, runner) : -ESRCH;

	if (err)
		return err;
	err = maps__read(runner, &maps, NULL);
	for (size_t i = 0; i < n && !err; i++)
		check_plan(&mem, &maps, space, plans[i], &s);
	maps__done(&maps);
	if (!err)
		*ret = s;
	return err;
}

/* ---- one file under two names */

#define INSN_BYTES 4u	/* at least as many as a breakpoint has, on any architecture */

bool breakpoint__is_at(const struct object *obj, uint64_t offset)
{
	size_t page = sysconf(_SC_PAGESIZE), at = offset & (page - 1), len = MIN(INSN_BYTES, page - at);
	unsigned char in_file[INSN_BYTES], mapped[INSN_BYTES];

	/* its pages may never come */
	return !obj->remote && !object__read_at(obj, offset, in_file, len) && !elffile__read_mapped(obj->fd, offset, mapped, len) &&
	       memcmp(mapped, in_file, len);
}

/*
 * In the bytes of e_ident that mean nothing, which are zero: an instruction that the kernel takes
 * on every architecture.
 */
#define MARK_OFFSET 12

int file_mark__set(struct kernel *k, const struct object *obj, struct attachment **ret)
{
	struct attachment *a;
	int err;

	/* another tracer's, for every process */
	if (file_mark__is_seen(obj))
		return -EBUSY;
	a = attachment__new(k, getpid(), false);
	err = attachment__add_spot(a, FOR_MARK, obj, MARK_OFFSET, NULL);
	if (!err && !file_mark__is_seen(obj))
		err = -ENOENT;	/* it cannot be seen, say through a mount without exec */
	if (err)
		attachment__free(a);
	else
		*ret = a;
	return err;
}

bool file_mark__is_seen(const struct object *obj)
{
	return breakpoint__is_at(obj, MARK_OFFSET);
}
