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
#include "util/hash.h"
#include "util/sorted.h"
#include "util/clock.h"

/* What compilers put between functions to align the next one. */
#define MAX_PADDING_BYTES 15

struct build {
	struct cfi out;
	struct hash rules;	/* number + 1, by content */
	size_t room;
	bool calls_only;
	const struct cfa_arch *arch;
	struct calls calls;
	uint64_t end;		/* what lies below is settled */
	bool hole;		/* a record that begins there made no sense: what follows is no padding */
	bool is_full;		/* there are more rows than are kept */
	uint64_t fn_lo, fn_hi;	/* the function that is compiled now */
	/* arm64: where from the frame's end its code makes the frame pointer point to; 0: that was not found */
	int64_t record_at;
};

static const struct mt_rule none;	/* MT_CFA_NONE */

static uint32_t number_of(struct build *b, const struct mt_rule *rule)
{
	uint64_t words[sizeof(*rule) / 8], key;
	uintptr_t number;

	memcpy(words, rule, sizeof(words));
	key = hash__mix(hash__mix(words[0], words[1]), words[2]);
	number = (uintptr_t)hash__get(&b->rules, key);
	if (number && !memcmp(&b->out.rules.v[number - 1], rule, sizeof(*rule)))
		return (uint32_t)number - 1;
	/* rule may be one of them */
	memcpy(vec_push(&b->out.rules), words, sizeof(words));
	/* two that have one key are listed again and again */
	if (!number)
		hash__put(&b->rules, key, (void *)(uintptr_t)b->out.rules.n);
	return (uint32_t)b->out.rules.n - 1;
}

static void push(struct build *b, uint64_t pc, const struct mt_rule *rule)
{
	struct cfi *c = &b->out;
	const struct mt_rule *before = c->n_rows ? cfi__rule(c, &c->rows[c->n_rows - 1]) : &none;

	b->is_full |= c->n_rows == CFI_MAX_ROWS;
	if (b->is_full || !memcmp(before, rule, sizeof(*rule)))
		return;
	if (c->n_rows == b->room) {
		b->room = MAX(2 * b->room, 1024u);
		c->rows = xreallocarray(c->rows, b->room, sizeof(*c->rows));
	}
	c->rows[c->n_rows++] = (struct cfi_row){ .pc = pc, .rule = number_of(b, rule) };
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

static void add_range(void *arg, uint64_t lo, uint64_t hi, const struct mt_rule *rule)
{
	struct build *b = arg;
	struct cfi_stats *st = &b->out.stats;
	bool keep = rule->cfa == MT_CFA_STOP || rule->cfa == MT_CFA_SIGNAL;
	struct mt_rule proven = *rule;

	lo = MAX(lo, b->end);
	if (lo >= hi)
		return;
	if (rule->cfa == MT_CFA_UNSUPPORTED || rule->fp == MT_SAVED_UNSUPPORTED)
		st->n_unsupported++;
	proven.record = !keep && is_frame_record(b, lo, hi, rule);
	if (!keep && calls__in(&b->calls, lo, hi)) {
		keep = true;
		st->n_call_rows++;
		st->n_no_record += !proven.record;
	}
	if (keep || !b->calls_only)
		push(b, lo, &proven);
}

static void add_gap(struct build *b, uint64_t hi)
{
	bool small = !b->hole && hi - b->end <= MAX_PADDING_BYTES;

	if (hi > b->end && (!(small || b->calls_only) || calls__in(&b->calls, b->end, hi)))
		push(b, b->end, &none);
}

static void add_fde(struct build *b, const struct eh_frame *f, const struct eh_fde *fde)
{
	const uint8_t *insns = (const uint8_t *)f->data->d_buf + fde->insns_at;
	struct bytes program = { insns, insns + fde->insns_len, false };
	const struct eh_cie *cie = &f->cies.v[fde->cie];
	struct cfi_stats stats = b->out.stats;
	size_t n_rows, n_starts = b->out.starts.n;

	if (fde->hi <= b->end)
		return;
	add_gap(b, fde->lo);
	/* handlers of signals return to where the kernel says: no program has made that up */
	if (fde->lo >= b->end && !cie->signal)
		*vec_push(&b->out.starts) = (struct cfi_start){ fde->lo, calls__ends_at(&b->calls, fde->lo) };
	b->end = MAX(b->end, fde->lo);
	b->record_at = 0;
	b->fn_lo = fde->lo;
	b->fn_hi = fde->hi;
	n_rows = b->out.n_rows;
	b->hole = !cfa__run(b->arch, cie, program, f->vaddr + fde->insns_at, fde->lo, fde->hi, add_range, b);
	if (b->hole) {
		b->out.n_rows = n_rows;
		b->out.starts.n = n_starts;
		b->out.stats = stats;
		b->out.stats.n_bad_fdes++;
	} else {
		b->end = fde->hi;
	}
}

static int add_all(struct build *b, const struct eh_frame *f, struct err *e)
{
	b->out.stats.n_fdes = f->n_seen;
	b->out.stats.n_bad_fdes = f->n_bad;
	b->end = f->fdes.n ? f->fdes.v[0].lo : 0;
	for (size_t i = 0; i < f->fdes.n && !b->is_full; i++) {
		if (stint__is_over())
			return err_set(e, -EFBIG, "its unwind tables take too long to be read");
		add_fde(b, f, &f->fdes.v[i]);
	}
	push(b, b->end, &none);
	return b->is_full ? err_set(e, -EFBIG, "more than %u unwind rows", CFI_MAX_ROWS) : 0;
}

/* ---- the vdso */

#define VDSO_MAX_BYTES 65536

/* [lo, hi) gets a rule, whatever rows there were; after it, the rule from before goes on. */
static void overlay(struct build *b, uint64_t lo, uint64_t hi, const struct mt_rule *rule)
{
	struct cfi old = b->out;
	const struct cfi_row *after = cfi__find(&old, hi);
	const struct mt_rule next = after ? *cfi__rule(&old, after) : none;
	size_t i;

	b->out.rows = NULL;
	b->out.n_rows = b->room = 0;
	for (i = 0; i < old.n_rows && old.rows[i].pc < lo; i++)
		push(b, old.rows[i].pc, cfi__rule(&b->out, &old.rows[i]));
	push(b, lo, rule);
	push(b, hi, &next);
	for (; i < old.n_rows; i++)
		if (old.rows[i].pc > hi)
			push(b, old.rows[i].pc, cfi__rule(&b->out, &old.rows[i]));
	free(old.rows);
}

static int note_sigreturn(const GElf_Sym *sym, const char *name, void *arg)
{
	bool is = !strcmp(name, "__kernel_rt_sigreturn");

	if (is)
		*(uint64_t *)arg = sym->st_value;
	return is;
}

/*
 * arm64's vdso says nothing about __kernel_rt_sigreturn: mov, svc. Handlers
 * return to its first instruction, and that is looked up one byte before: in
 * the nop that the kernel puts there for this very reason. No other file has a function
 * of that name, and a vdso is small.
 */
static void add_sigreturn(struct build *b, const struct object *obj, struct elffile *f)
{
	static const struct mt_rule signal_frame = { .cfa = MT_CFA_SIGNAL };
	struct cfi *c = &b->out;
	uint64_t at = 0;

	if (obj->machine != EM_AARCH64 || f->size_bytes > VDSO_MAX_BYTES || !elffile__each_symbol(f, note_sigreturn, &at) || at < 4 ||
	    at > UINT64_MAX - 8 || !object__is_code(obj, at - 4) || !object__is_code(obj, at + 7))
		return;
	for (size_t i = 0; i < c->starts.n; i++)
		if (c->starts.v[i].pc == at) {
			c->starts.n--;
			memmove(&c->starts.v[i], &c->starts.v[i + 1], (c->starts.n - i) * sizeof(*c->starts.v));
		}
	overlay(b, at - 4, at + 8, &signal_frame);
}

/* ---- the outside */

static int compile(const struct object *obj, bool calls_only, struct cfi *ret, struct err *e)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	struct build b = { .calls_only = calls_only, .arch = cfa_arch__of(obj->machine), .out.machine = obj->machine };
	struct eh_frame f = {};
	int r;

	if (!obj->is_64)
		return err_set(e, -ENOTSUP, "not a 64-bit ELF file");
	if (!b.arch)
		return err_set(e, -ENOTSUP, "code for another architecture (%u)", obj->machine);
	r = eh_frame__read(obj, b.arch, &f, e);
	if (r)
		return r;
	number_of(&b, &none);
	calls__init(&b.calls, obj);
	if (f.data)
		r = add_all(&b, &f, e);
	if (!r)
		add_sigreturn(&b, obj, &f.file);
	if (!r && !f.data && !b.out.n_rows)
		r = err_set(e, -ENOENT, "it has no .eh_frame");
	calls__done(&b.calls);
	eh_frame__done(&f);
	hash__done(&b.rules);
	if (r) {
		cfi__done(&b.out);
		return r;
	}
	b.out.rows = xreallocarray(b.out.rows, b.out.n_rows, sizeof(*b.out.rows));
	*ret = b.out;
	return 0;
}

int cfi__compile(const struct object *obj, bool calls_only, struct cfi *ret, struct err *e)
{
	int r = readers__are_apart() ? file_apart__compile(obj, calls_only, ret, e) : compile(obj, calls_only, ret, e);

	return r ? err_wrap(e, r, "%s", obj->path) : 0;
}

const struct cfi_row *cfi__find(const struct cfi *c, uint64_t pc)
{
	size_t n = sorted__count(row, c->rows, c->n_rows, row->pc <= pc);

	return n ? &c->rows[n - 1] : NULL;
}

void cfi__mark_starts(struct cfi *c)
{
	struct cfi_row *rows = xcalloc(c->n_rows + c->starts.n + 1, sizeof(*rows));
	size_t i = 0, n = 0;

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
}

void cfi__done(struct cfi *c)
{
	free(c->rows);
	vec_done(&c->rules);
	vec_done(&c->starts);
	*c = (struct cfi){};
}
