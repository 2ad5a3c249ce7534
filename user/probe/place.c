// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Chooses the points of one function. Owns nothing beyond a call.
 *
 * Entry. The first instruction, where the ABI says what the arguments are; or one
 * shortly after it that is cheaper and sees the same (insn.c), if nothing jumps
 * to between the two. A uretprobe goes where the entry is, if the return address
 * is still in its place there: one breakpoint serves both.
 *
 * Return. A uretprobe sees every return, but it does so by putting the address
 * of a trampoline in place of the return address. A C++ exception that leaves
 * the function (operator new, out of memory) is unwound by return addresses,
 * finds no rule for the trampoline and ends the target; and on arm64 it costs
 * twice a breakpoint on `ret`, more so with several threads. So functions that
 * may throw, and on arm64 all, get probes on their return instructions instead:
 * the code that can be reached from the first instruction is walked, through tail
 * jumps into other functions too, and each return found is a point. Only code
 * that is reached is followed: a breakpoint in data between functions would
 * change the data. A return in a function that others call as well is hit by
 * them, too; the kernel side knows by the stack pointer which call, if any, has
 * come to its end. Where one way out cannot be followed (a jump through a
 * register, or through the PLT to another object), no return instruction is
 * probed at all, because a call whose end was missed would look as if it went
 * on: a uretprobe then, or for a function that may throw the entry alone.
 * Where the kernel's uretprobes are no good (want->no_uretprobes), all functions
 * are treated as those that may throw. On x86_64 a `ret` is single-stepped, which
 * is dearer than a uretprobe, and right.
 *
 * The stack pointer at a return instruction is what it was at entry, by both
 * ABIs: AAPCS64 has sp preserved across a call and `ret` does not touch it; on
 * x86_64 `ret` pops the return address, which at entry lay at (%rsp). A tail
 * jump hands on that same state. So sp_delta is 0 there. On arm64 the walk also
 * adds up what the code does to it, and a return with another sum is unclear.
 *
 * Without an entry. Where the size is read from the block's header, nothing of
 * a call is needed before it returns, and one trap less does (return_only). But
 * then a return instruction alone must show which function it ends: it must lie
 * in that function's own bytes, and be reached from its first instruction alone.
 * Where such a function jumps to another one, that jump is probed like an entry,
 * and the returns after it as usual. The function must call none of the others
 * (FUNC_INNERMOST), or its blocks would be seen twice: theirs have entries, and
 * what returns inside them does not count. A uretprobe without an entry would
 * do as well, but only where all others have entries or are uretprobes, too.
 */
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "probe/insn.h"
#include "probe/plan.h"
#include "util/sorted.h"
#include "util/util.h"

#define MAX_REGIONS MT_CODE_RANGES
#define MAX_REGION_BYTES 16384

/* ---- the walk */

struct region {			/* a function, or what of it is known */
	uint64_t start, end;
	bool cut;		/* it may go on after end */
	uint8_t code[MAX_REGION_BYTES];
	bool seen[MAX_REGION_BYTES];
};

#define SP_LOST INT64_MIN

struct step {			/* code to be followed */
	uint64_t addr;
	int64_t sp;		/* relative to its value at entry, or SP_LOST */
};

struct walk {
	const struct object *obj;
	uint64_t start, end;	/* the function's own bytes */
	struct decoder *decoder;
	uint64_t *starts;	/* where functions begin, for code that has no symbol of its own */
	size_t n_starts;
	struct region *regions[MAX_REGIONS];
	size_t n_regions;
	struct vec(struct step) todo;
	struct exits exits;	/* jumps: as tails, also where the stack pointer is not known */
	struct vec(uint64_t) targets;	/* of jumps and branches */
	struct vec(uint64_t) tails;	/* jumps out of its own bytes, the stack pointer as at entry */
	bool tangled;		/* its own bytes are left or entered in other ways, too */
	bool reentered;		/* some code that is not its own jumps into the middle of it */
	bool open;		/* some code that it may run in is not known */
	bool by_register;	/* because it jumps there through a register */
	const char *unclear;
};

static void give_up(struct walk *w, const char *why)
{
	w->unclear = why;
}

/* The same where that is because it leads to code that is not known. */
static void lose_way(struct walk *w, const char *why)
{
	w->open = true;
	give_up(w, why);
}

static void add_region(struct walk *w, uint64_t start, uint64_t end)
{
	struct region *r;
	uint64_t len = end - start;

	if (w->n_regions == MAX_REGIONS) {
		lose_way(w, "its tail calls lead too far");
		return;
	}
	r = xcalloc(1, sizeof(*r));
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
}

static struct region *region_of(struct walk *w, uint64_t addr)
{
	struct region **r = array_first(x, w->regions, w->n_regions, addr >= (*x)->start && addr < (*x)->end);

	return r ? *r : NULL;
}

static void go_to(struct walk *w, uint64_t target, int64_t sp)
{
	*vec_push(&w->todo) = (struct step){ target, sp };
	*vec_push(&w->targets) = target;
}

static bool is_own(const struct walk *w, uint64_t addr)
{
	return addr >= w->start && addr < w->end;
}

/* Notes whether a jump or branch at addr crosses the border of the function's own bytes. */
static void note_crossing(struct walk *w, uint64_t addr, const struct insn *i, int64_t sp)
{
	if (is_own(w, addr) == is_own(w, i->target) || i->target == w->start)
		return;
	w->reentered |= !is_own(w, addr);
	if (is_own(w, addr) && i->flow == FLOW_JUMP && (!sp || sp == SP_LOST))
		*vec_push(&w->exits.jumps) = (struct exit_jump){ addr, i->target };
	if (!is_own(w, addr) || i->flow != FLOW_JUMP || sp)
		w->tangled = true;
	else
		*vec_push(&w->tails) = addr;
}

/* Programs are free to bring these themselves: the object's own may not be the one that is jumped to. */
static bool is_replaceable(const char *name)
{
	static const char *const names[] = { "malloc", "calloc", "realloc", "memalign", "aligned_alloc",
					     "posix_memalign", "valloc", "pvalloc", "reallocarray" };

	return table_first(s, names, !strcmp(name, *s)) || !strncmp(name, "_Znw", 4) || !strncmp(name, "_Zna", 4);
}

/* tcmalloc and mimalloc reach even their own functions through the PLT. */
static void go_through_slot(struct walk *w, uint64_t slot, int64_t sp)
{
	_cleanup_free_ char *name = NULL;
	uint64_t target;

	if (object__slot_function(w->obj, slot, &target, &name) || is_replaceable(name))
		lose_way(w, "it leaves by a jump into another object");
	else
		go_to(w, target, sp);
}

/* Code that was followed ends with this instruction. */
static void end_with(struct walk *w, const struct insn *i, uint64_t addr, int64_t sp, bool after_call)
{
	switch (i->flow) {
	case FLOW_BAD:
		if (!after_call)
			lose_way(w, "its code cannot be decoded");
		break;
	case FLOW_SLOT:
		go_through_slot(w, i->target, sp);
		break;
	case FLOW_INDIRECT:
		w->by_register = true;
		lose_way(w, "it leaves by an indirect jump");
		break;
	case FLOW_JUMP:
		go_to(w, i->target, sp);
		break;
	case FLOW_RETURN_AUTH:
		give_up(w, "it returns by an instruction that cannot be probed");
		break;
	case FLOW_RETURN:
		if (sp && sp != SP_LOST)
			give_up(w, "it returns with another stack pointer");
		else
			*vec_push(&w->exits.returns) = addr;
		break;
	default:
		break;
	}
}

/* Follows code until it ends, jumps, or meets what was seen before. */
static void follow(struct walk *w, struct step from)
{
	uint64_t addr = from.addr;
	int64_t sp = from.sp;
	struct region *r = region_of(w, addr);
	bool after_call = false;

	if (!r) {
		size_t n = sorted__count(start, w->starts, w->n_starts, *start <= addr);
		bool is_near = n && addr - w->starts[n - 1] < MAX_REGION_BYTES / 2;

		/* from the nearest known start to the next one */
		add_region(w, is_near ? w->starts[n - 1] : addr, n < w->n_starts ? w->starts[n] : UINT64_MAX);
		r = region_of(w, addr);
		if (!r) {
			if (!w->unclear)
				lose_way(w, "it jumps to where the file has no code");
			return;
		}
	}
	for (;;) {
		struct insn i;

		if (addr >= r->end) {
			/* nothing is left to run after a call that does not return */
			if (!after_call || r->cut)
				lose_way(w, r->cut ? "its code is too long to follow" : "its code runs past its end");
			return;
		}
		if (r->seen[addr - r->start])
			return;
		r->seen[addr - r->start] = true;
		i = decoder__at(w->decoder, r->code + (addr - r->start), r->end - addr, addr);
		if (i.flow == FLOW_JUMP || i.flow == FLOW_BRANCH)
			note_crossing(w, addr, &i, sp);
		if (i.flow == FLOW_BRANCH) {
			go_to(w, i.target, sp);
		} else if (i.flow != FLOW_CALL && i.flow != FLOW_NOP && i.flow != FLOW_NEXT) {
			end_with(w, &i, addr, sp, after_call);
			return;
		}
		after_call = i.flow == FLOW_CALL || (after_call && i.flow == FLOW_NOP);
		addr += i.len;
		sp = i.sp_lost || sp == SP_LOST ? SP_LOST : sp + i.sp_change;
	}
}

static void walk_done(struct walk *w)
{
	for (size_t i = 0; i < w->n_regions; i++)
		free(w->regions[i]);
	free(w->starts);
	vec_done(&w->todo);
	vec_done(&w->targets);
	vec_done(&w->tails);
	exits__done(&w->exits);
	decoder__free(w->decoder);
}

/* False: nothing can be followed. */
static bool begin(struct walk *w, uint64_t vaddr, uint64_t size)
{
	w->decoder = decoder__new(w->obj->machine);
	if (!w->decoder || !size) {
		lose_way(w, w->decoder ? "where it ends is not known" : "no decoder for this architecture");
		return false;
	}
	w->start = vaddr;
	w->end = size > UINT64_MAX - vaddr ? UINT64_MAX : vaddr + size;
	object__function_starts(w->obj, &w->starts, &w->n_starts);
	add_region(w, w->start, w->end);
	go_to(w, vaddr, 0);
	return true;
}

static void find_returns(struct walk *w, const struct planned_func *f)
{
	const char *why;

	if (!begin(w, f->vaddr, f->size))
		return;
	while (!w->unclear && w->todo.n)
		follow(w, w->todo.v[--w->todo.n]);
	/* which code is its own is of interest all the same */
	why = w->unclear;
	while (w->todo.n)
		follow(w, w->todo.v[--w->todo.n]);
	if (why)
		w->unclear = why;
	if (!w->unclear && !w->exits.returns.n)
		give_up(w, "no return was found in its code");
}

/* The code that it may be found in, and what it may end by jumping to. */
static void describe_code(const struct walk *w, struct planned_func *f)
{
	struct mt_code *c = &f->code;

	*c = (struct mt_code){ .flags = (w->open ? MT_CODE_OPEN : 0) | (w->by_register ? MT_CODE_BY_REGISTER : 0) };
	for (size_t i = 0; i < w->n_regions && c->n < MT_CODE_RANGES; i++) {
		const struct region *r = w->regions[i];
		int64_t from = (int64_t)(r->start - f->vaddr), to = (int64_t)(r->end - f->vaddr);

		if (r->cut || from < INT32_MIN / 2 || to > INT32_MAX / 2)
			c->flags |= MT_CODE_OPEN;
		if (from >= INT32_MIN / 2 && to <= INT32_MAX / 2)
			c->range[c->n++] = (struct mt_code_range){ (int32_t)from, (int32_t)to };
	}
}

/* ---- the points */

static int add_point(const struct object *obj, struct points *p, uint64_t vaddr, const struct point *like)
{
	struct point *point;
	uint64_t offset;
	uint8_t byte;

	/* a file cut short has segments of which nothing is there */
	if (object__read_code(obj, vaddr, &byte, 1) || !object__vaddr_to_offset(obj, vaddr, &offset))
		return -EINVAL;
	point = vec_push(p);
	*point = *like;
	point->offset = offset;
	return 0;
}

#define ADD_POINT(obj, p, vaddr, ...) add_point(obj, p, vaddr, &(struct point){ __VA_ARGS__ })

__attribute__((format(printf, 2, 3))) static void because(struct planned_func *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->why, sizeof(f->why), fmt, ap);
	va_end(ap);
}

/* One function, what is known of it, and where its points go. */
struct placing {
	const struct object *obj;
	const struct alloc_func *row;
	const struct plan_want *want;
	struct planned_func *f;
	const struct walk *w;	/* its code, walked */
	struct points *p;
};

/* Where its entry is probed; with a uretprobe, where that one is set as well. */
static struct entry_point choose_entry(const struct placing *at, bool for_uretprobe)
{
	const struct planned_func *f = at->f;
	struct entry_point e, plain = { .vaddr = f->vaddr };

	if (at->want->recording.points == POINTS_PLAIN || !entry__cheapest(at->obj, f->vaddr, f->size, &e))
		return plain;
	if (e.vaddr == f->vaddr)
		return e;
	/* control must not come to somewhere between the two, other than by running on from the first instruction */
	if (at->w->unclear || vec_first(target, &at->w->targets, *target > f->vaddr && *target <= e.vaddr) ||
	    (for_uretprobe && !e.ra_in_place))
		return plain;
	return e;
}

static const char *entry_words(const struct placing *at, const struct entry_point *e, char buf[static 64])
{
	if (!e->insn)
		return "first instruction";
	snprintf(buf, 64, "+0x%x %s", (unsigned int)(e->vaddr - at->f->vaddr), e->insn);
	return buf;
}

/* The entry of a function without a uretprobe. */
static int place_entry(const struct placing *at)
{
	struct entry_point e = choose_entry(at, false);
	char words[64];

	because(at->f, "%s", entry_words(at, &e, words));
	return ADD_POINT(at->obj, at->p, e.vaddr, .how = ON_ENTRY, .sp_delta = e.sp_delta);
}

/* Is its first instruction the only way into its own bytes? No other function begins there, and none that it jumps to comes back. */
static bool has_one_entry(const struct walk *w)
{
	return !w->reentered && sorted__count(start, w->starts, w->n_starts, *start <= w->start) ==
					sorted__count(start, w->starts, w->n_starts, *start < w->end);
}

static int place_return_insns(const struct placing *at)
{
	struct planned_func *f = at->f;
	const struct walk *w = at->w;
	bool one_entry = has_one_entry(w);
	char entry[sizeof(f->why)];
	int r = 0;

	for (size_t i = 0; !r && i < w->exits.returns.n; i++)
		r = ADD_POINT(at->obj, at->p, w->exits.returns.v[i], .how = ON_RET_INSN,
			      .own_return = one_entry && is_own(w, w->exits.returns.v[i]));
	snprintf(entry, sizeof(entry), "%s", f->why);
	because(f, "%.60s, %zu ret", entry, w->exits.returns.n);
	return r;
}

/* Its own returns, which need no entry; and jumps to elsewhere with the returns there. */
static int place_without_entry(const struct placing *at)
{
	const struct walk *w = at->w;
	size_t n_own = 0;
	int r = 0;

	for (size_t i = 0; !r && i < w->tails.n; i++)
		r = ADD_POINT(at->obj, at->p, w->tails.v[i], .how = ON_ENTRY, .no_args = true);
	for (size_t i = 0; !r && i < w->exits.returns.n; i++) {
		bool own = is_own(w, w->exits.returns.v[i]);

		n_own += own;
		r = ADD_POINT(at->obj, at->p, w->exits.returns.v[i], .how = ON_RET_INSN, .return_only = own);
	}
	because(at->f, "no entry, %zu ret%s", n_own, w->tails.n ? "; jumps to elsewhere, and the returns there" : "");
	return r;
}

static int place_with_uretprobe(const struct placing *at, bool return_only)
{
	struct entry_point e = choose_entry(at, true);
	const char *why = at->w->unclear;
	char words[64];
	int r = 0;

	because(at->f, "%s%s, uretprobe%s%s", return_only ? "no entry; " : "", entry_words(at, &e, words),
		why ? ": " : "", why ? why : "");
	if (!return_only)
		r = ADD_POINT(at->obj, at->p, e.vaddr, .how = ON_ENTRY);
	return r ? r : ADD_POINT(at->obj, at->p, e.vaddr, .how = ON_RETURN, .return_only = return_only);
}

static int place(const struct placing *at)
{
	bool throws = at->row->flags & FUNC_THROWS;
	bool safe_only = throws || at->want->no_uretprobes;
	bool by_insns = safe_only || (at->obj->machine == EM_AARCH64 && at->want->recording.points != POINTS_PLAIN);
	/* what is mapped inside of a call is known by its entry */
	bool no_entry = at->f->usable && at->row->flags & FUNC_INNERMOST && !throws && !recording__has_mappings(&at->want->recording);
	int r;

	if (at->row->role == ROLE_FREE || at->want->recording.mode == MT_MODE_COUNT)
		return place_entry(at);
	if (!by_insns)
		return place_with_uretprobe(at, no_entry);
	if (!at->w->unclear) {
		if (no_entry && !at->w->tangled)
			return place_without_entry(at);
		r = place_entry(at);
		return r ? r : place_return_insns(at);
	}
	if (!safe_only)
		return place_with_uretprobe(at, false);
	at->f->no_return = true;
	because(at->f, "entry only: %s", at->w->unclear);
	return ADD_POINT(at->obj, at->p, at->f->vaddr, .how = ON_ENTRY);
}

int place__function(const struct object *obj, const struct alloc_func *row, const struct plan_want *want,
		    struct planned_func *f, struct points *p)
{
	struct walk w = { .obj = obj };
	struct placing at = { obj, row, want, f, &w, p };
	size_t first = p->n;
	int r;

	find_returns(&w, f);
	f->no_return = false;
	describe_code(&w, f);
	r = place(&at);
	walk_done(&w);
	if (r) {
		p->n = first;
		return r;
	}
	for (size_t i = first; i < p->n; i++)
		p->v[i].func = f->func;
	return 0;
}

/* What cannot be followed is left out, and the rest is followed all the same. */
void place__exits(const struct object *obj, uint64_t vaddr, uint64_t size, struct exits *ret)
{
	struct walk w = { .obj = obj };

	for (bool begun = begin(&w, vaddr, size); begun && w.todo.n;) {
		w.unclear = NULL;
		follow(&w, w.todo.v[--w.todo.n]);
	}
	*ret = w.exits;
	w.exits = (struct exits){};
	walk_done(&w);
}

void exits__done(struct exits *x)
{
	vec_done(&x->returns);
	vec_done(&x->jumps);
}
