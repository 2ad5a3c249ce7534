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

#include "elf/apart.h"
#include "elf/cfi.h"
#include "elf/cfi_parts.h"
#include "util/hash.h"
#include "util/sorted.h"

/*
 * ---- the code
 *
 * Does a call stand in a range, and where does a function's frame pointer point to? A range that
 * holds a call is never said to hold none. On arm64 instructions have four bytes and the answer is
 * exact, but for data between code. On x86_64 nothing is decoded: any byte that could begin a call
 * counts, be it the middle of another instruction. What cannot be read, or would take more reading
 * than one file is granted, counts as well.
 */

#define WINDOW_BYTES (256u << 10)

struct calls {
	const struct object *obj;
	uint8_t *buf;		/* owned: a window of the code */
	uint64_t buf_lo, buf_hi;
	uint64_t budget_bytes;	/* what may still be read and searched */
};

/* Reading and searching both count: records that overlap and fail could have the same code searched again and again. */
static bool spend(struct calls *c, uint64_t bytes)
{
	if (bytes > c->budget_bytes)
		return false;
	c->budget_bytes -= bytes;
	return true;
}

/* The code from lo on, at most up to hi; NULL if it is not in the file. */
static const uint8_t *code_at(struct calls *c, uint64_t lo, uint64_t hi, size_t *ret_len)
{
	const struct object_segment *s;
	uint64_t len;

	if (lo < c->buf_lo || lo >= c->buf_hi || (hi > c->buf_hi && c->buf_hi - lo < 16)) {
		s = object__segment_at(c->obj, lo, true);
		len = s ? MIN(s->file_size - (lo - s->vaddr), (uint64_t)WINDOW_BYTES) : 0;
		if (!s || !spend(c, len))
			return NULL;
		if (!c->buf)
			c->buf = xmalloc(WINDOW_BYTES);
		c->buf_lo = c->buf_hi = 0;
		if (object__read_at(c->obj, s->file_off + (lo - s->vaddr), c->buf, len))
			return NULL;
		c->buf_lo = lo;
		c->buf_hi = lo + len;
	}
	*ret_len = MIN(hi, c->buf_hi) - lo;
	return spend(c, *ret_len) ? c->buf + (lo - c->buf_lo) : NULL;
}

/* bl; blr; blraa, blrab and their forms without a modifier */
static bool is_arm64_call(uint32_t insn)
{
	return (insn & 0xfc000000) == 0x94000000 || (insn & 0xfffffc1f) == 0xd63f0000 ||
	       (insn & 0xfefff800) == 0xd63f0800;
}

static bool arm64_call_in(const uint8_t *code, size_t len, size_t *ret_used)
{
	size_t i;

	for (i = 0; i + 4 <= len; i += 4) {
		uint32_t insn;

		memcpy(&insn, code + i, sizeof(insn));
		if (is_arm64_call(insn))
			return true;
	}
	*ret_used = i;
	return false;
}

/* e8: call rel32; ff /2: call through a register or memory */
static bool x86_64_call_in(const uint8_t *code, size_t len, size_t *ret_used)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (code[i] == 0xe8)
			return true;
		if (code[i] == 0xff && i + 1 == len)
			break;
		if (code[i] == 0xff && (code[i + 1] & 0x38) == 0x10)
			return true;
	}
	*ret_used = i;
	return false;
}

/* May a call stand in [lo, hi)? True also where that is not known. Call in ascending order. */
static bool has_call(struct calls *c, uint64_t lo, uint64_t hi)
{
	bool arm64 = c->obj->machine == EM_AARCH64;

	if (arm64)
		lo = (lo + 3) & ~3ull;
	while (lo < hi) {
		size_t len, used;
		const uint8_t *code = code_at(c, lo, hi, &len);

		if (!code || (arm64 ? arm64_call_in(code, len, &used) : x86_64_call_in(code, len, &used)))
			return true;
		/*
		 * half an instruction: at the range's very end it can be no call, at the window's
		 * end it is read again
		 */
		if (len == hi - lo)
			return false;
		if (!used)
			return true;
		lo += used;
	}
	return false;
}

/* How long an x86_64 instruction is that begins with one byte and this one, which says what it works on. */
static size_t x86_64_modrm_len(uint8_t modrm, uint8_t sib)
{
	static const uint8_t disp[] = { 0, 1, 4, 0 };
	uint8_t mod = modrm >> 6, rm = modrm & 7;

	if (mod == 3)
		return 2;
	if (rm == 4)
		return 3 + (!mod && (sib & 7) == 5 ? 4 : disp[mod]);
	return 2 + (!mod && rm == 5 ? 4 : disp[mod]);
}

#define X86_64_MAX_CALL 7	/* bytes, without prefixes, which come first */

static bool x86_64_call_ends(const uint8_t *code, size_t len)
{
	if (len >= 5 && code[len - 5] == 0xe8)
		return true;
	for (size_t n = 2; n <= MIN(len, X86_64_MAX_CALL); n++) {
		const uint8_t *p = code + len - n;

		if (p[0] == 0xff && (p[1] & 0x38) == 0x10 && x86_64_modrm_len(p[1], n > 2 ? p[2] : 0) == n)
			return true;
	}
	return false;
}

/* May a call end just before pc? True also where that is not known. */
static bool call_ends_at(struct calls *c, uint64_t pc)
{
	size_t want = c->obj->machine == EM_AARCH64 ? 4 : X86_64_MAX_CALL, len;
	const struct object_segment *s = object__segment_at(c->obj, pc, true);
	const uint8_t *code;
	uint32_t insn;

	/* nothing lies before a segment's beginning */
	if (s)
		want = MIN(want, pc - s->vaddr);
	code = want ? code_at(c, pc - want, pc, &len) : NULL;
	if (!code || len != want)
		return want;
	if (c->obj->machine != EM_AARCH64)
		return x86_64_call_ends(code, len);
	if (len < sizeof(insn))
		return false;
	memcpy(&insn, code, sizeof(insn));
	return is_arm64_call(insn);
}

#define ARM64_ADD_FP_SP 0x910003fdu	/* add x29, sp, #0, which is also mov x29, sp */
#define ARM64_ADD_MAX 4095
#define ARM64_FP 29

static bool is_arm64_branch(uint32_t insn)
{
	/* b, bl; b.cond, bc.cond: no register where the others have theirs */
	return (insn & 0x7c000000) == 0x14000000 || (insn & 0xff000000) == 0x54000000;
}

/* A vector register's number is no frame pointer, but for what moves it to a general one. */
static bool is_arm64_vector(uint32_t insn)
{
	bool load = (insn & 0x0a000000) == 0x08000000;

	if (load)
		return insn & 1u << 26;
	return (insn & 0x0e000000) == 0x0e000000 && (insn & 0x7f20fc00) != 0x1e200000 &&
	       (insn & 0xbfe0ec00) != 0x0e002c00;
}

/* Saves or restores the two: stp, ldp x29, x30, [sp...] */
static bool is_arm64_record(uint32_t insn)
{
	return (insn & 0xfe007fff) == 0xa8007bfd;
}

/* May the instruction change x29? Yes, also where that is not easily known. */
static bool writes_arm64_fp(uint32_t insn)
{
	bool pair = (insn & 0x3e400000) == 0x28400000;		/* ldp: a second register */
	/* ... and its base */
	bool moves = (insn & 0x3a000000) == 0x28000000 ? (insn & 0x00800000) != 0 : (insn & 0x3b200400) == 0x38000400;

	if (is_arm64_branch(insn) || is_arm64_record(insn))
		return false;
	return ((insn & 31) == ARM64_FP && !is_arm64_vector(insn)) || (pair && (insn >> 10 & 31) == ARM64_FP) ||
	       (moves && (insn >> 5 & 31) == ARM64_FP);
}

/* What one instruction says of a stretch of code: yes, no, or that it is up to the next one. */
enum scan { SCAN_ON, SCAN_YES, SCAN_NO };

/*
 * Goes through the code of [lo, hi) until one says yes or no; at_end: what is said if none does.
 * No, too, if it cannot be read.
 */
static bool scan(struct calls *c, uint64_t lo, uint64_t hi, enum scan (*look)(uint32_t insn, uint32_t want),
		 uint32_t want, bool at_end)
{
	lo = (lo + 3) & ~3ull;
	while (lo < hi) {
		size_t len, i;
		const uint8_t *code = code_at(c, lo, hi, &len);

		if (!code || len < 4)
			return false;
		for (i = 0; i + 4 <= len; i += 4) {
			enum scan said;
			uint32_t insn;

			memcpy(&insn, code + i, sizeof(insn));
			said = look(insn, want);
			if (said != SCAN_ON)
				return said == SCAN_YES;
		}
		lo += i;
	}
	return at_end;
}

/* The code must leave x29 alone, but for `want`... */
static enum scan keeps_fp(uint32_t insn, uint32_t want)
{
	return insn != want && writes_arm64_fp(insn) ? SCAN_NO : SCAN_ON;
}

/* ... which must come before all calls: one that comes first would be made with the caller's frame pointer. */
static enum scan comes_first(uint32_t insn, uint32_t want)
{
	return insn == want ? SCAN_YES : is_arm64_call(insn) ? SCAN_NO : SCAN_ON;
}

/*
 * arm64: is the frame pointer made the stack pointer plus off in [lo, hi), before any call there,
 * and does nothing else in the function [fn_lo, fn_hi) change it, but to give its caller's back?
 */
static bool sets_fp(struct calls *c, uint64_t lo, uint64_t hi, int64_t off, uint64_t fn_lo, uint64_t fn_hi)
{
	uint32_t want = ARM64_ADD_FP_SP | (uint32_t)off << 10;

	return off >= 0 && off <= ARM64_ADD_MAX && scan(c, lo, hi, comes_first, want, false) &&
	       scan(c, fn_lo, fn_hi, keeps_fp, want, true);
}

/* ---- rows */

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
	if (b->record_at != r->fp_off && sets_fp(&b->calls, lo, hi, at, b->fn_lo, b->fn_hi))
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
	if (!keep && has_call(&b->calls, lo, hi)) {
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

	if (hi > b->end && (!(small || b->calls_only) || has_call(&b->calls, b->end, hi)))
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
		*vec_push(&b->out.starts) = (struct cfi_start){ fde->lo, call_ends_at(&b->calls, fde->lo) };
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
	b.calls = (struct calls){ .obj = obj, .budget_bytes = CFI_MAX_CODE_BYTES };
	if (f.data)
		r = add_all(&b, &f, e);
	if (!r)
		add_sigreturn(&b, obj, &f.file);
	if (!r && !f.data && !b.out.n_rows)
		r = err_set(e, -ENOENT, "it has no .eh_frame");
	free(b.calls.buf);
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
	file_answer_cleanup struct file_answer got = {};
	int r;

	if (!file__asks((struct apart){ .obj = obj }, (struct file_request){ .part = FILE_CFI, .calls_only = calls_only }, &got, e)) {
		r = compile(obj, calls_only, ret, e);
	} else {
		*ret = got.cfi;
		got.cfi = (struct cfi){};
		r = got.err == READER_LOST || got.err == -EINTR ? err_set(e, -EIO, "it could not be read") : got.err;
	}
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
