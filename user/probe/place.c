// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Chooses the points of one function. Owns nothing beyond a call.
 *
 * Entry. The first instruction, where the ABI says what the arguments are; or one
 * shortly behind it that is cheaper and sees the same (entry.c), if nothing jumps
 * to between the two and if no uretprobe is needed: that one must sit on the
 * first, before the return address is put away.
 *
 * Return. A uretprobe sees every return, but it does so by putting the address
 * of a trampoline in place of the return address. A C++ exception that leaves
 * the function (operator new, out of memory) is unwound by return addresses,
 * finds no rule for the trampoline and ends the target; and on arm64 it costs
 * twice a breakpoint on `ret`, more so with several threads. So functions that
 * may throw, and on arm64 all, get probes on their return instructions instead:
 * the code that can be reached from the first instruction is walked, through tail
 * jumps into other functions too, and each return found is a point. Only code
 * that is reached is looked at: a breakpoint in data between functions would
 * change the data. A return in a function that others call as well is hit by
 * them, too; the kernel side tells by the stack pointer which call, if any, has
 * come to its end. Where one way out cannot be followed (a jump through a
 * register, or through the PLT to another object), no return instruction is
 * probed at all, because a call whose end was missed would look as if it went
 * on: a uretprobe then, or for a function that may throw the entry alone.
 *
 * The stack pointer at a return instruction is what it was at entry, by both
 * ABIs: AAPCS64 has sp preserved across a call and `ret` does not touch it; on
 * x86_64 `ret` pops the return address, which at entry lay at (%rsp). A tail
 * jump hands on that same state. So sp_delta is 0 there.
 */
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "probe/entry.h"
#include "probe/insn.h"
#include "probe/plan.h"
#include "util/util.h"

#define MAX_REGIONS 8
#define MAX_REGION_BYTES 16384

/* ---- the walk */

struct region {			/* a function, or what of it is known */
	uint64_t start, end;
	bool cut;		/* it may go on behind end */
	uint8_t code[MAX_REGION_BYTES];
	bool seen[MAX_REGION_BYTES];
};

struct walk {
	const struct object *obj;
	struct decoder *decoder;
	uint64_t *starts;	/* where functions begin, for code that has no symbol of its own */
	size_t n_starts;
	struct region *regions[MAX_REGIONS];
	size_t n_regions;
	struct vec(uint64_t) todo;
	struct vec(uint64_t) returns;
	struct vec(uint64_t) targets;	/* of jumps and branches */
	const char *unclear;
};

static int give_up(struct walk *w, const char *why)
{
	w->unclear = why;
	return 0;
}

static int add_region(struct walk *w, uint64_t start, uint64_t end)
{
	struct region *r;
	uint64_t len = end - start;

	if (w->n_regions == MAX_REGIONS)
		return give_up(w, "its tail calls lead too far");
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	w->regions[w->n_regions++] = r;
	if (len > MAX_REGION_BYTES) {
		len = MAX_REGION_BYTES;
		r->cut = true;
	}
	/* the last function of a segment has no neighbour that ends it: take what is there */
	while (len && object__read_code(w->obj, start, r->code, len)) {
		len /= 2;
		r->cut = true;
	}
	r->start = start;
	r->end = start + len;
	return 0;
}

static struct region *region_of(struct walk *w, uint64_t addr)
{
	size_t i;

	for (i = 0; i < w->n_regions; i++)
		if (addr >= w->regions[i]->start && addr < w->regions[i]->end)
			return w->regions[i];
	return NULL;
}

/* From the nearest known start to the next one. */
static void bounds_of(const struct walk *w, uint64_t addr, uint64_t *ret_start, uint64_t *ret_end)
{
	size_t lo = 0, hi = w->n_starts;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (w->starts[mid] <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	*ret_start = lo && addr - w->starts[lo - 1] < MAX_REGION_BYTES / 2 ? w->starts[lo - 1] : addr;
	*ret_end = lo < w->n_starts ? w->starts[lo] : UINT64_MAX;
}

static int go_to(struct walk *w, uint64_t target)
{
	uint64_t *todo = vec_push(&w->todo), *known = vec_push(&w->targets);

	if (!todo || !known)
		return -ENOMEM;
	*todo = *known = target;
	return 0;
}

/* Can control come to somewhere behind first, up to last, other than by running on from first? */
static bool is_entered(const struct walk *w, uint64_t first, uint64_t last)
{
	for (size_t i = 0; i < w->targets.n; i++)
		if (w->targets.v[i] > first && w->targets.v[i] <= last)
			return true;
	return false;
}

/* Programs are free to bring these themselves: the object's own may not be the one that is jumped to. */
static bool is_replaceable(const char *name)
{
	static const char *const names[] = { "malloc", "calloc", "realloc", "memalign", "aligned_alloc",
					     "posix_memalign", "valloc", "pvalloc", "reallocarray" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return !strncmp(name, "_Znw", 4) || !strncmp(name, "_Zna", 4);
}

/* tcmalloc and mimalloc reach even their own functions through the PLT. */
static int go_through_slot(struct walk *w, uint64_t slot)
{
	_cleanup_free_ char *name = NULL;
	uint64_t target;
	int r = object__slot_function(w->obj, slot, &target, &name);

	if (r == -ENOMEM)
		return r;
	if (r || is_replaceable(name))
		return give_up(w, "it leaves by a jump into another object");
	return go_to(w, target);
}

/* Follows code from addr until it ends, jumps, or meets what was seen before. */
static int follow(struct walk *w, uint64_t addr)
{
	struct region *r = region_of(w, addr);
	bool after_call = false;

	if (!r) {
		uint64_t start, end;
		int err;

		bounds_of(w, addr, &start, &end);
		err = add_region(w, start, end);
		if (err || w->unclear)
			return err;
		r = region_of(w, addr);
		if (!r)
			return give_up(w, "it jumps to where the file has no code");
	}
	for (;;) {
		struct insn i;
		uint64_t *slot;

		if (addr >= r->end) {
			/* nothing is left to run after a call that does not return */
			if (after_call && !r->cut)
				return 0;
			return give_up(w, r->cut ? "its code is too long to follow" :
						   "its code runs past its end");
		}
		if (r->seen[addr - r->start])
			return 0;
		r->seen[addr - r->start] = true;
		i = decoder__at(w->decoder, r->code + (addr - r->start), r->end - addr, addr);
		switch (i.flow) {
		case FLOW_BAD:
			if (after_call)
				return 0;
			return give_up(w, "its code cannot be decoded");
		case FLOW_SLOT:
			return go_through_slot(w, i.target);
		case FLOW_INDIRECT:
			return give_up(w, "it leaves by an indirect jump");
		case FLOW_STOP:
			return 0;
		case FLOW_JUMP:
			return go_to(w, i.target);
		case FLOW_RETURN:
			slot = vec_push(&w->returns);
			if (!slot)
				return -ENOMEM;
			*slot = addr;
			return 0;
		case FLOW_BRANCH:
			if (go_to(w, i.target))
				return -ENOMEM;
			break;
		case FLOW_CALL:
		case FLOW_NOP:
		case FLOW_NEXT:
			break;
		}
		after_call = i.flow == FLOW_CALL || (after_call && i.flow == FLOW_NOP);
		addr += i.len;
	}
}

static void walk_done(struct walk *w)
{
	size_t i;

	for (i = 0; i < w->n_regions; i++)
		free(w->regions[i]);
	free(w->starts);
	vec_done(&w->todo);
	vec_done(&w->returns);
	vec_done(&w->targets);
	decoder__free(w->decoder);
}

static int find_returns(struct walk *w, const struct planned_func *f)
{
	int r;

	w->decoder = decoder__new(w->obj->machine);
	if (!w->decoder)
		return give_up(w, "no decoder for this architecture");
	if (!f->size)
		return give_up(w, "where it ends is not known");
	r = object__function_starts(w->obj, &w->starts, &w->n_starts);
	if (!r)
		r = add_region(w, f->vaddr, f->size > UINT64_MAX - f->vaddr ? UINT64_MAX : f->vaddr + f->size);
	if (!r)
		r = go_to(w, f->vaddr);
	while (!r && !w->unclear && w->todo.n)
		r = follow(w, w->todo.v[--w->todo.n]);
	if (!r && !w->unclear && !w->returns.n)
		return give_up(w, "no return was found in its code");
	return r;
}

/* ---- the points */

static int add_point(const struct object *obj, struct points *p, uint64_t vaddr, enum how how, uint32_t sp_delta)
{
	struct point *point;
	uint64_t offset;

	if (!object__vaddr_to_offset(obj, vaddr, &offset))
		return -EINVAL;
	point = vec_push(p);
	if (!point)
		return -ENOMEM;
	*point = (struct point){ .offset = offset, .how = how, .sp_delta = sp_delta };
	return 0;
}

__attribute__((format(printf, 2, 3))) static void because(struct planned_func *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->why, sizeof(f->why), fmt, ap);
	va_end(ap);
}

/* The entry of a function without a uretprobe; w: its code, walked. */
static int place_entry(const struct object *obj, struct planned_func *f, const struct walk *w, struct points *p)
{
	struct entry_point e;

	if (!entry__cheapest(obj, f->vaddr, f->size, &e) || (e.vaddr != f->vaddr && (w->unclear || is_entered(w, f->vaddr, e.vaddr)))) {
		because(f, "first instruction");
		return add_point(obj, p, f->vaddr, ON_ENTRY, 0);
	}
	because(f, "+0x%x %s", (unsigned int)(e.vaddr - f->vaddr), e.insn);
	return add_point(obj, p, e.vaddr, ON_ENTRY, e.sp_delta);
}

static int place_return_insns(const struct object *obj, struct planned_func *f, const struct walk *w, struct points *p)
{
	char entry[sizeof(f->why)];
	int r = 0;

	for (size_t i = 0; !r && i < w->returns.n; i++)
		r = add_point(obj, p, w->returns.v[i], ON_RET_INSN, 0);
	snprintf(entry, sizeof(entry), "%s", f->why);
	because(f, "%.60s, %zu ret", entry, w->returns.n);
	return r;
}

static int place(const struct object *obj, const struct alloc_func *row, struct planned_func *f, const struct walk *w,
		 struct points *p)
{
	bool by_insns = row->flags & FUNC_THROWS || obj->machine == EM_AARCH64;
	int r;

	if (row->role == ROLE_FREE)
		return place_entry(obj, f, w, p);
	if (by_insns && !w->unclear) {
		r = place_entry(obj, f, w, p);
		return r ? r : place_return_insns(obj, f, w, p);
	}
	r = add_point(obj, p, f->vaddr, ON_ENTRY, 0);
	if (row->flags & FUNC_THROWS) {
		f->no_return = true;
		because(f, "entry only: %s", w->unclear);
		return r;
	}
	because(f, "entry and uretprobe%s%s", w->unclear ? ": " : "", w->unclear ? w->unclear : "");
	return r ? r : add_point(obj, p, f->vaddr, ON_RETURN, 0);
}

int place__function(const struct object *obj, const struct alloc_func *row, struct planned_func *f, struct points *p)
{
	struct walk w = { .obj = obj };
	size_t first = p->n;
	int r = find_returns(&w, f);

	f->no_return = false;
	if (!r)
		r = place(obj, row, f, &w, p);
	walk_done(&w);
	if (r) {
		p->n = first;
		return r;
	}
	for (size_t i = first; i < p->n; i++)
		p->v[i].func = f->func;
	return 0;
}
