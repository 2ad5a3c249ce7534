// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the making of a table: the records of .eh_frame in the order of their
 * addresses, each run over its own range, and the ranges written down as rows.
 *
 * What always holds: rows ascend strictly, neighbours differ, the last one is
 * MT_CFA_NONE. Where two records claim an address, the one that begins first
 * has it (of two that begin together, the first in the file). A record that
 * makes no sense leaves no rows, and no other record's rule is stretched over
 * it: there is no rule there.
 *
 * Why rows can be left out. A return address is looked up one byte before
 * itself, so what is looked up lies in a call instruction. A row without any
 * call is never needed; left out, its predecessor stretches over it, to no
 * effect. The same holds for stretches without a record. First frames and
 * signal frames stay: nothing calls from a signal frame, its address is put on
 * the stack by the kernel.
 *
 * A return address may be a function's first. If the instruction before it is
 * a call, that may have been made, by a function that ends so because the call
 * never returns; then the byte before is the call. Or the program has put it there
 * by hand, as debuggers and coroutines do, and no call was made at all. So the
 * first addresses are kept, with whether a call ends there.
 */
#include <elf.h>
#include <errno.h>

#include "elf/cfi.h"
#include "elf/apart.h"
#include "elf/cfi_parts.h"
#include "util/sorted.h"
#include "util/stint.h"

/* What compilers put between functions to align the next one. */
#define MAX_PADDING_BYTES 15

struct build {
	struct cfi out;
	size_t room;
	bool calls_only;
	const struct cfa_arch *arch;
	struct calls calls;
	uint64_t end;		/* what lies below is settled */
	bool hole;		/* a record that begins there made no sense: what follows is no padding */
	uint64_t fn_lo, fn_hi;	/* the function that is compiled now */
	/* arm64: where from the frame's end its code makes the frame pointer point to; 0: that was not found */
	int64_t record_at;
};

static bool same_rule(const struct mt_rule *a, const struct mt_rule *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static int push(struct build *b, uint64_t pc, const struct mt_rule *rule)
{
	struct cfi *c = &b->out;

	if (c->n_rows ? same_rule(&c->rows[c->n_rows - 1].rule, rule) : rule->cfa == MT_CFA_NONE)
		return 0;
	if (c->n_rows == b->room) {
		size_t more = b->room ? b->room * 2 : 1024;
		struct cfi_row *rows;

		if (more > CFI_MAX_ROWS)
			return -EFBIG;
		rows = reallocarray(c->rows, more, sizeof(*rows));
		if (!rows)
			return -ENOMEM;
		c->rows = rows;
		b->room = more;
	}
	c->rows[c->n_rows++] = (struct cfi_row){ .pc = pc, .rule = *rule };
	return 0;
}

/*
 * Does the frame pointer point to this frame's own record? The two stand side by side, the frame
 * pointer below; on x86_64 there is one place for them. That they are saved is not enough: code
 * that keeps no frame pointer saves the register, too, to use it for something else. If the frame
 * is found by the frame pointer, the rule itself says where that points to. Else, as in most arm64
 * code, the instruction must be found that makes it point there, which comes just after the one
 * that saves the two: what has been found of a function holds for the rest of it.
 */
static bool is_frame_record(struct build *b, uint64_t lo, uint64_t hi, const struct mt_rule *r)
{
	/* of the record, from the register that the frame is found by */
	int64_t at = (int64_t)r->cfa_off + r->fp_off;

	if (r->fp != MT_SAVED_AT_CFA || r->ra != MT_SAVED_AT_CFA || (int64_t)r->ra_off != (int64_t)r->fp_off + 8)
		return false;
	if (r->cfa == MT_CFA_FP)
		return !at;
	if (r->cfa != MT_CFA_SP || b->arch->machine != EM_AARCH64 || at < 0)
		return false;
	/* the stack pointer may move further, the record stays where it is */
	if (b->record_at != r->fp_off && calls__sets_fp(&b->calls, lo, hi, at, b->fn_lo, b->fn_hi))
		b->record_at = r->fp_off;
	return b->record_at == r->fp_off;
}

static int add_range(void *arg, uint64_t lo, uint64_t hi, const struct mt_rule *rule)
{
	struct build *b = arg;
	struct cfi_stats *st = &b->out.stats;
	bool keep = rule->cfa == MT_CFA_STOP || rule->cfa == MT_CFA_SIGNAL;
	struct mt_rule proven = *rule;

	lo = MAX(lo, b->end);
	if (lo >= hi)
		return 0;
	if (rule->cfa == MT_CFA_UNSUPPORTED || rule->fp == MT_SAVED_UNSUPPORTED)
		st->n_unsupported++;
	proven.record = !keep && is_frame_record(b, lo, hi, rule);
	if (!keep && calls__in(&b->calls, lo, hi)) {
		keep = true;
		st->n_call_rows++;
		st->n_no_record += !proven.record;
	}
	return keep || !b->calls_only ? push(b, lo, &proven) : 0;
}

static int add_gap(struct build *b, uint64_t hi)
{
	static const struct mt_rule none;

	bool small = !b->hole && hi - b->end <= MAX_PADDING_BYTES;

	if (hi <= b->end || ((small || b->calls_only) && !calls__in(&b->calls, b->end, hi)))
		return 0;
	return push(b, b->end, &none);
}

/* Handlers of signals return to where the kernel says: no program has made that up. */
static int add_start(struct build *b, const struct eh_cie *cie, uint64_t pc)
{
	struct cfi_start *start = cie->signal ? NULL : vec_push(&b->out.starts);

	if (start)
		*start = (struct cfi_start){ pc, calls__ends_at(&b->calls, pc) };
	return start || cie->signal ? 0 : -ENOMEM;
}

static int add_fde(struct build *b, const struct cfi_elf *elf, const struct eh_frame *f, const struct eh_fde *fde)
{
	struct cfa_sink sink = { add_range, b };
	const uint8_t *insns = elf->eh + fde->insns_at;
	struct bytes program = { insns, insns + fde->insns_len, false };
	struct cfi_stats stats = b->out.stats;
	size_t n_rows, n_starts = b->out.starts.n;
	int r;

	if (fde->hi <= b->end)
		return 0;
	r = add_gap(b, fde->lo);
	if (!r && fde->lo >= b->end)
		r = add_start(b, &f->cies.v[fde->cie], fde->lo);
	if (r)
		return r;
	b->end = MAX(b->end, fde->lo);
	b->record_at = 0;
	b->fn_lo = fde->lo;
	b->fn_hi = fde->hi;
	n_rows = b->out.n_rows;
	r = cfa__run(b->arch, &f->cies.v[fde->cie], program, elf->eh_vaddr + fde->insns_at, fde->lo, fde->hi, &sink);
	if (r == -EINVAL) {
		b->out.n_rows = n_rows;
		b->out.starts.n = n_starts;
		b->out.stats = stats;
		b->out.stats.n_bad_fdes++;
		b->hole = true;
		return 0;
	}
	b->end = fde->hi;
	b->hole = false;
	return r;
}

static int add_all(struct build *b, const struct cfi_elf *elf, struct err *e)
{
	static const struct mt_rule none;
	struct eh_frame f;
	size_t i;
	int r = eh_frame__read(elf, b->arch, &f, e);

	if (r)
		return r;
	b->out.stats.n_fdes = f.n_seen;
	b->out.stats.n_bad_fdes = f.n_bad;
	for (i = 0; i < f.fdes.n && !r; i++) {
		if (!i)
			b->end = f.fdes.v[0].lo;
		r = stint__is_over() ? -ETIME : add_fde(b, elf, &f, &f.fdes.v[i]);
	}
	if (!r)
		r = push(b, b->end, &none);
	eh_frame__done(&f);
	if (r == -ETIME)
		return err_set(e, -EFBIG, "its unwind tables take too long to be read");
	return !r ? 0 : r == -EFBIG ? err_set(e, r, "more than %u unwind rows", CFI_MAX_ROWS) :
				      err_set(e, r, "no memory for unwind tables");
}

/* ---- the vdso */

/* [lo, hi) gets a rule, whatever rows there were; after it, the rule from before goes on. */
static int overlay(struct cfi *c, uint64_t lo, uint64_t hi, const struct mt_rule *rule)
{
	struct cfi_row *rows = calloc(c->n_rows + 2, sizeof(*rows));
	const struct cfi_row *after = cfi__find(c, hi);
	struct mt_rule next = after ? after->rule : (struct mt_rule){};
	size_t i, n = 0;

	if (!rows)
		return -ENOMEM;
	for (i = 0; i < c->n_rows && c->rows[i].pc < lo; i++)
		rows[n++] = c->rows[i];
	if (!n || !same_rule(&rows[n - 1].rule, rule))
		rows[n++] = (struct cfi_row){ .pc = lo, .rule = *rule };
	while (i < c->n_rows && c->rows[i].pc <= hi)
		i++;
	if (!same_rule(&next, rule))
		rows[n++] = (struct cfi_row){ .pc = hi, .rule = next };
	for (; i < c->n_rows; i++)
		if (!same_rule(&rows[n - 1].rule, &c->rows[i].rule))
			rows[n++] = c->rows[i];
	free(c->rows);
	c->rows = rows;
	c->n_rows = n;
	return 0;
}

/*
 * arm64's vdso says nothing about __kernel_rt_sigreturn: mov, svc. Handlers
 * return to its first instruction, and that is looked up one byte before: in
 * the nop that the kernel puts there for this very reason.
 */
static int add_sigreturn(struct cfi *c, const struct cfi_elf *elf)
{
	static const struct mt_rule signal_frame = { .cfa = MT_CFA_SIGNAL };
	uint64_t at;

	if (elf->machine != EM_AARCH64 || !cfi_elf__find_symbol(elf, "__kernel_rt_sigreturn", &at) || at < 4 ||
	    at > UINT64_MAX - 8 || !cfi_elf__is_text(elf, at - 4, at + 8))
		return 0;
	for (size_t i = 0; i < c->starts.n; i++)
		if (c->starts.v[i].pc == at) {
			c->starts.n--;
			memmove(&c->starts.v[i], &c->starts.v[i + 1], (c->starts.n - i) * sizeof(*c->starts.v));
		}
	return overlay(c, at - 4, at + 8, &signal_frame);
}

/* ---- the outside */

static int compile(const struct cfi_source *src, bool calls_only, struct cfi *ret, struct err *e)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	struct build b = { .calls_only = calls_only };
	struct cfi_elf elf;
	struct cfi_row *rows;
	int r = cfi_elf__read(src, &elf, e);

	if (r)
		return r;
	b.out.machine = elf.machine;
	b.arch = cfa_arch__of(elf.machine);
	calls__init(&b.calls, &elf);
	if (elf.eh)
		r = add_all(&b, &elf, e);
	if (!r && src->image && add_sigreturn(&b.out, &elf))
		r = err_set(e, -ENOMEM, "no memory for unwind tables");
	if (!r && !elf.eh && !b.out.n_rows)
		r = err_set(e, -ENOENT, "it has no .eh_frame");
	calls__done(&b.calls);
	cfi_elf__done(&elf);
	if (r) {
		cfi__done(&b.out);
		return r;
	}
	rows = b.out.n_rows ? reallocarray(b.out.rows, b.out.n_rows, sizeof(*rows)) : NULL;
	if (rows)
		b.out.rows = rows;
	*ret = b.out;
	return 0;
}

int cfi__compile(const struct object *obj, bool calls_only, struct cfi *ret, struct err *e)
{
	struct cfi_source src = { .obj = obj };
	int r = readers__are_apart() ? cfi_apart__compile(obj, NULL, 0, calls_only, ret, e) : compile(&src, calls_only, ret, e);

	return r ? err_wrap(e, r, "%s", obj->path) : 0;
}

int cfi__compile_image(const void *image, size_t len, bool calls_only, struct cfi *ret, struct err *e)
{
	struct cfi_source src = { .image = image, .len = len };

	return readers__are_apart() ? cfi_apart__compile(NULL, image, len, calls_only, ret, e) : compile(&src, calls_only, ret, e);
}

const struct cfi_row *cfi__find(const struct cfi *c, uint64_t pc)
{
	size_t n = sorted__count(row, c->rows, c->n_rows, row->pc <= pc);

	return n ? &c->rows[n - 1] : NULL;
}

int cfi__mark_starts(struct cfi *c)
{
	struct cfi_row *rows = calloc(c->n_rows + c->starts.n + 1, sizeof(*rows));
	size_t i = 0, n = 0;

	if (!rows)
		return -ENOMEM;
	for (size_t k = 0; k < c->starts.n; k++) {
		const struct cfi_start *start = &c->starts.v[k];

		while (i < c->n_rows && c->rows[i].pc <= start->pc)
			rows[n++] = c->rows[i++];
		if (!n || rows[n - 1].pc != start->pc) {
			rows[n] = n ? rows[n - 1] : (struct cfi_row){};
			rows[n++].pc = start->pc;
		}
		rows[n - 1].flags = MT_ROW_STARTS | (start->after_call ? MT_ROW_AFTER_CALL : 0);
	}
	while (i < c->n_rows)
		rows[n++] = c->rows[i++];
	free(c->rows);
	c->rows = rows;
	c->n_rows = n;
	return 0;
}

void cfi__done(struct cfi *c)
{
	free(c->rows);
	vec_done(&c->starts);
	*c = (struct cfi){};
}
