// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns nothing: runs the program of one record, and follows three things only:
 * the CFA, the return address and the frame pointer.
 *
 * What always holds: each byte of a program is read at most once, remembered
 * states are bounded, and offsets that a rule has no room for make the thing
 * they belong to "other", never something wrong. A rule that the kernel cannot
 * follow is the same MT_CFA_UNSUPPORTED, and all else in it zero, whatever it
 * was; so is a signal frame's, and a thread's first frame's.
 *
 * x86_64's part is proven against libdw and readelf on files; the walk itself
 * is proven where it runs.
 *
 * Why not libdw (0.188): one dwarf_cfi_addrframe() for each row runs its FDE from the beginning again. CPU seconds, x86_64, least of 6:
 *
 *	                    .eh_frame      rows    here    libdw
 *	libLLVM-14             5.0 MB   818,000   0.080    1.57
 *	node 20                2.8 MB   277,000   0.042    1.50
 *	chromium               0.4 MB    49,000   0.006    0.094
 */
#include <dwarf.h>
#include <elf.h>
#include <errno.h>

#include "elf/cfi_parts.h"

#define MAX_REMEMBERED 32

/* younger than elfutils 0.188 */
#define OP_AARCH64_NEGATE_RA_STATE_WITH_PC 0x2c

static const struct cfa_arch archs[] = {
	{ EM_AARCH64, .sp = 31, .fp = 29, .ra = 30, .ra_signed = true },
	{ EM_X86_64, .sp = 7, .fp = 6, .ra = 16, .ra_at_cfa_8 = true, .plt_expression = true },
};

const struct cfa_arch *cfa_arch__of(uint16_t machine)
{
	for (size_t i = 0; i < ARRAY_SIZE(archs); i++)
		if (archs[i].machine == machine)
			return &archs[i];
	return NULL;
}

struct run {
	const struct cfa_arch *arch;
	const struct eh_cie *cie;
	struct bytes b;
	struct cfa_state now;
	struct cfa_state remembered[MAX_REMEMBERED];
	size_t n_remembered;
	bool initial;			/* a CIE's: it holds for no address in particular */
	uint64_t insns_vaddr;
	const uint8_t *insns;
	/* the range that is open: since `from` the rule holds; `now` may have changed at `at` */
	uint64_t at, from, hi;
	struct mt_rule rule;
	bool changed;
	cfa_range_fn *fn;
	void *arg;
};

/* ---- a state as a rule */

static bool fits(int64_t v)
{
	return v >= INT32_MIN && v <= INT32_MAX;
}

static struct mt_rule plain(enum mt_cfa cfa)
{
	return (struct mt_rule){ .cfa = cfa };
}

static bool cfa_to_rule(const struct cfa_arch *arch, const struct cfa_state *s, struct mt_rule *r)
{
	if (!fits(s->off) || !fits(s->post_off))
		return false;
	r->cfa_off = s->off;
	if (s->kind == CFA_KNOWN_EXPRESSION) {
		r->cfa = s->known;
		r->post_off = s->post_off;
		return true;
	}
	if (s->kind != CFA_REGISTER || (s->reg != arch->sp && s->reg != arch->fp))
		return false;
	r->cfa = s->reg == arch->sp ? MT_CFA_SP : MT_CFA_FP;
	return true;
}

static bool ra_to_rule(const struct cfa_arch *arch, const struct cfa_state *s, struct mt_rule *r)
{
	if (s->ra.kind == SLOT_AT_CFA && (!arch->ra_at_cfa_8 || s->ra.off == -8)) {
		r->ra = MT_SAVED_AT_CFA;
		r->ra_off = s->ra.off;
		return true;
	}
	r->ra = MT_SAVED_SAME;
	return s->ra.kind == SLOT_SAME && !arch->ra_at_cfa_8;
}

static void fp_to_rule(const struct cfa_state *s, struct mt_rule *r)
{
	static const uint8_t saved[] = {
		[SLOT_SAME] = MT_SAVED_SAME,
		[SLOT_AT_CFA] = MT_SAVED_AT_CFA,
		[SLOT_AT_FP] = MT_SAVED_AT_FP,
		[SLOT_UNDEFINED] = MT_SAVED_UNSUPPORTED,
		[SLOT_OTHER] = MT_SAVED_UNSUPPORTED,
	};

	r->fp = saved[s->fp.kind];
	r->fp_off = s->fp.off;
}

static struct mt_rule to_rule(const struct run *run)
{
	const struct cfa_state *s = &run->now;
	struct mt_rule r = {};

	if (run->cie->signal)
		return plain(MT_CFA_SIGNAL);
	if (!run->cie->ra_known)
		return plain(MT_CFA_UNSUPPORTED);
	if (s->ra.kind == SLOT_UNDEFINED)
		return plain(MT_CFA_STOP);
	if (!cfa_to_rule(run->arch, s, &r) || !ra_to_rule(run->arch, s, &r))
		return plain(MT_CFA_UNSUPPORTED);
	fp_to_rule(s, &r);
	return r;
}

/* ---- expressions */

/* breg of a register below 32; sets *ret_reg */
static bool read_breg(struct bytes *b, uint8_t *ret_reg, int64_t *ret_off)
{
	uint8_t op = bytes__u8(b);

	if (op < DW_OP_breg0 || op > DW_OP_breg31)
		return false;
	*ret_reg = op - DW_OP_breg0;
	*ret_off = bytes__sleb(b);
	return !b->bad;
}

/*
 * What linkers write for x86_64's PLT, whose entries push a word half-way:
 * sp + 8 + ((pc & 15) >= threshold) * 8. The threshold tells entries with and
 * without an endbr64 apart.
 */
static bool plt_expression(const struct bytes *b, int64_t *ret_threshold)
{
	static const uint8_t head[] = { DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and };
	static const uint8_t tail[] = { DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus };
	uint8_t lit;

	if (bytes__left(b) != sizeof(head) + 1 + sizeof(tail) || memcmp(b->p, head, sizeof(head)) ||
	    memcmp(b->p + sizeof(head) + 1, tail, sizeof(tail)))
		return false;
	lit = b->p[sizeof(head)];
	if (lit < DW_OP_lit0 || lit > DW_OP_lit15)
		return false;
	*ret_threshold = lit - DW_OP_lit0;
	return true;
}

static void set_cfa_expression(struct run *run, struct bytes b)
{
	struct cfa_state *s = &run->now;
	int64_t off;
	uint64_t post = 0;
	uint8_t reg;

	s->kind = CFA_OTHER;
	s->off = s->post_off = 0;
	if (run->arch->plt_expression && plt_expression(&b, &off)) {
		s->kind = CFA_KNOWN_EXPRESSION;
		s->known = MT_CFA_PLT;
		s->off = off;
		return;
	}
	if (!read_breg(&b, &reg, &off) || (reg != run->arch->sp && reg != run->arch->fp) ||
	    bytes__u8(&b) != DW_OP_deref)
		return;
	if (bytes__left(&b)) {
		if (bytes__u8(&b) != DW_OP_plus_uconst)
			return;
		post = bytes__uleb(&b);
	}
	if (b.bad || b.p != b.end || post > INT32_MAX)
		return;
	s->kind = CFA_KNOWN_EXPRESSION;
	s->known = reg == run->arch->sp ? MT_CFA_AT_SP : MT_CFA_AT_FP;
	s->off = off;
	s->post_off = post;
}

/* ---- what instructions do */

static struct cfa_slot *slot_of(struct run *run, uint64_t reg)
{
	return reg == run->arch->ra ? &run->now.ra : reg == run->arch->fp ? &run->now.fp : NULL;
}

static void set_slot(struct run *run, uint64_t reg, enum cfa_slot_kind kind, int64_t off)
{
	struct cfa_slot *slot = slot_of(run, reg);

	if (!slot)
		return;
	*slot = fits(off) ? (struct cfa_slot){ kind, off } : (struct cfa_slot){ SLOT_OTHER, 0 };
	run->changed = true;
}

/* Beyond 63 bits all offsets are as unusable. */
static int64_t read_unsigned(struct bytes *b)
{
	uint64_t n = bytes__uleb(b);

	return MIN(n, (uint64_t)INT64_MAX);
}

/* factored: in units of the CIE; what overflows cannot fit a rule either */
static int64_t factored(const struct run *run, int64_t n)
{
	int64_t off;

	return __builtin_mul_overflow(n, (int64_t)run->cie->data_align, &off) ? INT64_MAX : off;
}

static void set_expression(struct run *run, uint64_t reg, struct bytes b)
{
	int64_t off;
	uint8_t base;

	if (reg == run->arch->fp && read_breg(&b, &base, &off) && base == run->arch->fp && b.p == b.end)
		set_slot(run, reg, SLOT_AT_FP, off);
	else
		set_slot(run, reg, SLOT_OTHER, 0);
}

static void restore_slot(struct run *run, uint64_t reg)
{
	struct cfa_slot *slot = slot_of(run, reg);

	if (slot) {
		*slot = reg == run->arch->ra ? run->cie->init.ra : run->cie->init.fp;
		run->changed = true;
	}
}

static void set_cfa(struct run *run, uint64_t reg, int64_t off)
{
	run->now.kind = CFA_REGISTER;
	run->now.reg = reg;
	run->now.off = off;
	run->now.post_off = 0;
	run->changed = true;
}

/* Changes half of a register and an offset, which must be there. */
static int change_cfa(struct run *run, uint64_t reg, int64_t off)
{
	if (run->now.kind != CFA_REGISTER)
		return -EINVAL;
	set_cfa(run, reg, off);
	return 0;
}

static int remember(struct run *run)
{
	if (run->n_remembered == MAX_REMEMBERED)
		return -EINVAL;
	run->remembered[run->n_remembered++] = run->now;
	return 0;
}

static int recall(struct run *run)
{
	if (!run->n_remembered)
		return -EINVAL;
	run->now = run->remembered[--run->n_remembered];
	run->changed = true;
	return 0;
}

/* The open range ends where another rule begins, not where the program only says that something may have changed. */
static void end_range(struct run *run)
{
	struct mt_rule next;

	if (!run->changed)
		return;
	run->changed = false;
	next = to_rule(run);
	if (!memcmp(&next, &run->rule, sizeof(next)))
		return;
	if (run->at > run->from)
		run->fn(run->arg, run->from, run->at, &run->rule);
	run->from = run->at;
	run->rule = next;
}

static int advance_to(struct run *run, uint64_t at)
{
	/* a CIE's program has no place to advance from; and none goes back */
	if (run->initial || at < run->at)
		return -EINVAL;
	if (at > run->at)
		end_range(run);
	run->at = at;
	return 0;
}

static int advance(struct run *run, uint64_t n)
{
	uint64_t at;

	/* neither factor has more than 32 bits */
	if (__builtin_add_overflow(run->at, n * run->cie->code_align, &at))
		return -EINVAL;
	return advance_to(run, at);
}

static int set_loc(struct run *run)
{
	uint64_t at;

	if (!eh_frame__address(&run->b, run->cie->enc, run->insns_vaddr + (run->b.p - run->insns), &at))
		return -EINVAL;
	return advance_to(run, at);
}

static struct bytes read_block(struct run *run)
{
	uint64_t len = bytes__uleb(&run->b);
	const uint8_t *p = run->b.p;

	bytes__skip(&run->b, len);
	return (struct bytes){ p, run->b.p, false };
}

/* ---- the program */

static int step_extended(struct run *run, uint8_t op)
{
	struct bytes *b = &run->b;
	uint64_t reg;

	switch (op) {
	case DW_CFA_nop:
		return 0;
	case DW_CFA_set_loc:
		return set_loc(run);
	case DW_CFA_advance_loc1:
		return advance(run, bytes__fixed(b, 1));
	case DW_CFA_advance_loc2:
		return advance(run, bytes__fixed(b, 2));
	case DW_CFA_advance_loc4:
		return advance(run, bytes__fixed(b, 4));
	case DW_CFA_remember_state:
		return remember(run);
	case DW_CFA_restore_state:
		return recall(run);
	case DW_CFA_def_cfa:
		reg = bytes__uleb(b);
		set_cfa(run, reg, read_unsigned(b));
		return 0;
	case DW_CFA_def_cfa_sf:
		reg = bytes__uleb(b);
		set_cfa(run, reg, factored(run, bytes__sleb(b)));
		return 0;
	case DW_CFA_def_cfa_register:
		return change_cfa(run, bytes__uleb(b), run->now.off);
	case DW_CFA_def_cfa_offset:
		return change_cfa(run, run->now.reg, read_unsigned(b));
	case DW_CFA_def_cfa_offset_sf:
		return change_cfa(run, run->now.reg, factored(run, bytes__sleb(b)));
	case DW_CFA_def_cfa_expression:
		set_cfa_expression(run, read_block(run));
		run->changed = true;
		return 0;
	case DW_CFA_GNU_args_size:
		bytes__uleb(b);
		return 0;
	case DW_CFA_AARCH64_negate_ra_state:
	case OP_AARCH64_NEGATE_RA_STATE_WITH_PC:
		/* the signature's bits are taken off every return address anyway */
		return run->arch->ra_signed ? 0 : -EINVAL;
	}
	/* all others name a register */
	reg = bytes__uleb(b);
	switch (op) {
	case DW_CFA_offset_extended:
		set_slot(run, reg, SLOT_AT_CFA, factored(run, read_unsigned(b)));
		return 0;
	case DW_CFA_offset_extended_sf:
		set_slot(run, reg, SLOT_AT_CFA, factored(run, bytes__sleb(b)));
		return 0;
	case DW_CFA_GNU_negative_offset_extended:
		set_slot(run, reg, SLOT_AT_CFA, factored(run, -read_unsigned(b)));
		return 0;
	case DW_CFA_restore_extended:
		restore_slot(run, reg);
		return 0;
	case DW_CFA_undefined:
		set_slot(run, reg, SLOT_UNDEFINED, 0);
		return 0;
	case DW_CFA_same_value:
		set_slot(run, reg, SLOT_SAME, 0);
		return 0;
	case DW_CFA_register:
		set_slot(run, reg, bytes__uleb(b) == reg ? SLOT_SAME : SLOT_OTHER, 0);
		return 0;
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		bytes__sleb(b);
		set_slot(run, reg, SLOT_OTHER, 0);
		return 0;
	case DW_CFA_expression:
		set_expression(run, reg, read_block(run));
		return 0;
	case DW_CFA_val_expression:
		read_block(run);
		set_slot(run, reg, SLOT_OTHER, 0);
		return 0;
	}
	return -EINVAL;
}

static int step(struct run *run)
{
	uint8_t op = bytes__u8(&run->b), low = op & 0x3f;

	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		return advance(run, low);
	case DW_CFA_offset:
		set_slot(run, low, SLOT_AT_CFA, factored(run, read_unsigned(&run->b)));
		return 0;
	case DW_CFA_restore:
		restore_slot(run, low);
		return 0;
	}
	return step_extended(run, op);
}

bool cfa__run_initial(const struct cfa_arch *arch, struct eh_cie *cie, struct bytes insns)
{
	struct run run = { .arch = arch, .cie = cie, .b = insns, .initial = true };
	int r = 0;

	cie->init = (struct cfa_state){};
	while (!r && run.b.p < run.b.end)
		r = step(&run);
	cie->init = run.now;
	return !r && !run.b.bad;
}

bool cfa__run(const struct cfa_arch *arch, const struct eh_cie *cie, struct bytes insns, uint64_t insns_vaddr,
	      uint64_t lo, uint64_t hi, cfa_range_fn *fn, void *arg)
{
	struct run run;
	int r = 0;

	/* the remembered states, most of it, need no clearing */
	run.arch = arch;
	run.cie = cie;
	run.b = insns;
	run.now = cie->init;
	run.n_remembered = 0;
	run.initial = false;
	run.insns_vaddr = insns_vaddr;
	run.insns = insns.p;
	run.at = run.from = lo;
	run.hi = hi;
	run.fn = fn;
	run.arg = arg;
	run.rule = to_rule(&run);
	run.changed = false;
	while (!r && run.b.p < run.b.end && run.at < hi)
		r = step(&run);
	if (r || run.b.bad)
		return false;
	/* what was said last holds up to the end, unless it was said for after the end */
	if (run.at < hi)
		end_range(&run);
	fn(arg, run.from, hi, &run.rule);
	return true;
}
