// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Unwind rows of real files, every one of them, against two independent
 * readers: libdw and readelf. Files of either machine are compared wherever
 * they are found; more can be named in CFI_FILES, separated by colons.
 */
#include <capstone/capstone.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "elf/cfi.h"
#include "util/util.h"

#define RULE_TEXT "cfa %u%+d post %d, ra %u%+d, fp %u%+d"
#define RULE_ARGS(r) (r)->cfa, (r)->cfa_off, (r)->post_off, (r)->ra, (r)->ra_off, (r)->fp, (r)->fp_off

static const char *const files[] = {
	"/proc/self/exe",
	"/lib/aarch64-linux-gnu/libc.so.6",
	"/lib/aarch64-linux-gnu/ld-linux-aarch64.so.1",
	"/usr/lib/aarch64-linux-gnu/libstdc++.so.6",
	"/usr/lib/aarch64-linux-gnu/libcrypto.so.3",
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/lib64/ld-linux-x86-64.so.2",
	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
	"/usr/bin/python3",
	/* where cross compilers keep the other machine's */
	"/usr/x86_64-linux-gnu/lib/libc.so.6",
	"/usr/aarch64-linux-gnu/lib/libc.so.6",
};

static const char *base_name(const char *path)
{
	return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
}

/* Calls fn for each file that is there; says how many and which machines. */
static void for_each_file(void (*fn)(const char *path, struct objects *o, struct object *obj))
{
	_cleanup_free_ char *more = strdup(getenv("CFI_FILES") ? getenv("CFI_FILES") : "");
	struct objects *o = objects__new();
	size_t i, n[2] = {};
	char *p = more, *path;

	for (i = 0; i < ARRAY_SIZE(files) || p; i++) {
		struct object *obj;

		path = i < ARRAY_SIZE(files) ? (char *)files[i] : strsep(&p, ":");
		if (!*path || access(path, R_OK))
			continue;
		cr_assert_eq(objects__get_path(o, path, &obj, NULL), 0, "%s", path);
		n[obj->machine == EM_X86_64]++;
		fn(path, o, obj);
		object__put(obj);
	}
	cr_assert_gt(n[0] + n[1], 1);
	if (!n[0] || !n[1])
		/* told, but not by cr_log_warn: Criterion ends with status 1 after a warning */
		fprintf(stderr, "note: no %s file is here to compare: only the other machine's were\n", n[0] ? "x86_64" : "arm64");
	objects__free(o);
}

static struct cfi compile(const struct object *obj, bool calls_only)
{
	_cleanup_err_ struct err e = {};
	struct cfi c;

	cr_assert_eq(cfi__compile(obj, calls_only, &c, &e), 0, "%s", err_msg(&e));
	return c;
}

/* ---- libdw */

struct machine {
	unsigned int sp, fp, ra;
};

static struct machine machine_of(uint16_t machine)
{
	return machine == EM_X86_64 ? (struct machine){ 7, 6, 16 } : (struct machine){ 31, 29, 30 };
}

static bool is_breg(const Dwarf_Op *op, unsigned int reg, int64_t *ret_off)
{
	if (op->atom == DW_OP_bregx && op->number == reg)
		*ret_off = op->number2;
	else if (op->atom == DW_OP_breg0 + reg)
		*ret_off = op->number;
	else
		return false;
	return true;
}

static bool libdw_cfa(Dwarf_Frame *frame, const struct machine *m, struct mt_rule *r)
{
	Dwarf_Op *ops;
	size_t n;
	int64_t off = 0;
	bool sp, fp;

	cr_assert_eq(dwarf_frame_cfa(frame, &ops, &n), 0);
	if (!n)
		return false;
	if (n == 9 && is_breg(&ops[0], 7, &off) && off == 8 && is_breg(&ops[1], 16, &off) && ops[5].atom == DW_OP_ge) {
		r->cfa = MT_CFA_PLT;
		r->cfa_off = ops[4].atom - DW_OP_lit0;
		return true;
	}
	sp = is_breg(&ops[0], m->sp, &off);
	fp = is_breg(&ops[0], m->fp, &off);
	r->cfa_off = off;
	if (n == 1)
		r->cfa = sp ? MT_CFA_SP : MT_CFA_FP;
	else
		r->cfa = sp ? MT_CFA_AT_SP : MT_CFA_AT_FP;
	if (n > 1 && ops[1].atom != DW_OP_deref)
		return false;
	if (n == 3 && ops[2].atom == DW_OP_plus_uconst)
		r->post_off = ops[2].number;
	else if (n > 2)
		return false;
	return sp || fp;
}

static void libdw_slot(Dwarf_Frame *frame, unsigned int reg, unsigned int fp, __u8 *ret_kind, __s32 *ret_off, bool *ret_undefined)
{
	Dwarf_Op mem[3], *ops;
	int64_t off;
	size_t n;

	*ret_off = 0;
	*ret_undefined = false;
	cr_assert_eq(dwarf_frame_register(frame, reg, mem, &ops, &n), 0);
	if (!n) {
		*ret_undefined = ops == mem;
		*ret_kind = *ret_undefined ? MT_SAVED_UNSUPPORTED : MT_SAVED_SAME;
	} else if (ops[0].atom == DW_OP_call_frame_cfa && (n == 1 || (n == 2 && ops[1].atom == DW_OP_plus_uconst))) {
		*ret_kind = MT_SAVED_AT_CFA;
		*ret_off = n == 2 ? ops[1].number : 0;
	} else if (n == 1 && reg == fp && is_breg(&ops[0], fp, &off)) {
		*ret_kind = MT_SAVED_AT_FP;
		*ret_off = off;
	} else {
		*ret_kind = MT_SAVED_UNSUPPORTED;
	}
}

/* False where libdw knows no rule. */
static bool libdw_rule(Dwarf_CFI *cfi, uint16_t machine, uint64_t pc, struct mt_rule *ret)
{
	struct machine m = machine_of(machine);
	struct mt_rule r = {};
	Dwarf_Frame *frame = NULL;
	bool signal, ra_undefined, fp_undefined, known;
	int ra;

	if (dwarf_cfi_addrframe(cfi, pc, &frame))
		return false;
	ra = dwarf_frame_info(frame, NULL, NULL, &signal);
	known = libdw_cfa(frame, &m, &r) && ra == (int)m.ra;
	libdw_slot(frame, m.ra, m.fp, &r.ra, &r.ra_off, &ra_undefined);
	libdw_slot(frame, m.fp, m.fp, &r.fp, &r.fp_off, &fp_undefined);
	free(frame);
	if (r.ra == MT_SAVED_UNSUPPORTED || (machine == EM_X86_64 && (r.ra != MT_SAVED_AT_CFA || r.ra_off != -8)))
		known = false;
	if (signal)
		r = (struct mt_rule){ .cfa = MT_CFA_SIGNAL };
	else if (ra_undefined)
		r = (struct mt_rule){ .cfa = MT_CFA_STOP };
	else if (!known)
		r = (struct mt_rule){ .cfa = MT_CFA_UNSUPPORTED };
	*ret = r;
	return true;
}

/* No rule here, but one within an alignment's distance on both sides. */
static bool is_padding(Dwarf_CFI *cfi, uint16_t machine, uint64_t pc)
{
	struct mt_rule r;
	unsigned int before, behind;

	for (before = 1; before <= 15 && !libdw_rule(cfi, machine, pc - before, &r); before++)
		;
	for (behind = 1; behind <= 15 && !libdw_rule(cfi, machine, pc + behind, &r); behind++)
		;
	return before + behind <= 16;
}

static void compare_with_libdw(const char *path, struct objects *o, struct object *obj)
{
	struct cfi c = compile(obj, false);
	Elf *elf;
	Dwarf_CFI *cfi;
	size_t i, k, n_compared = 0, n_padding = 0;

	elf_version(EV_CURRENT);
	elf = elf_begin(obj->fd, ELF_C_READ_MMAP, NULL);
	cfi = dwarf_getcfi_elf(elf);
	cr_assert_not_null(cfi, "%s", path);
	for (i = 0; i + 1 < c.n_rows; i++) {
		const struct cfi_row *row = &c.rows[i];
		const struct mt_rule *rule = cfi__rule(&c, row);
		uint64_t len = row[1].pc - row->pc;
		uint64_t at[] = { row->pc, row->pc + len / 2, row[1].pc - 1 };

		for (k = 0; k < ARRAY_SIZE(at); k++) {
			struct mt_rule want = {};

			if (!libdw_rule(cfi, c.machine, at[k], &want) && rule->cfa != MT_CFA_NONE &&
			    is_padding(cfi, c.machine, at[k])) {
				n_padding++;
				continue;
			}
			n_compared++;
			/* of which libdw knows nothing */
			want.record = rule->record;
			cr_assert(!memcmp(&want, rule, sizeof(want)), "%s at %#" PRIx64 ": " RULE_TEXT "; libdw: " RULE_TEXT,
				  path, at[k], RULE_ARGS(rule), RULE_ARGS(&want));
		}
	}
	cr_log_info("%-24s %s: %zu rows at %zu addresses as libdw has them, %zu in padding; %zu of %zu rules not followed",
		    base_name(path), c.machine == EM_X86_64 ? "x86_64" : "arm64", c.n_rows, n_compared, n_padding,
		    c.stats.n_unsupported, c.n_rows);
	cr_assert_eq(c.stats.n_bad_fdes, 0, "%s", path);
	cr_assert_leq(c.stats.n_unsupported * 100, c.n_rows, "%s: %zu rules are not followed", path, c.stats.n_unsupported);
	dwarf_cfi_end(cfi);
	elf_end(elf);
	cfi__done(&c);
}

Test(cfi_oracle, libdw)
{
	for_each_file(compare_with_libdw);
}

/* ---- rows that were left out are never asked for */

/* The calls among len bytes of code at vaddr, told by a disassembler; a row begins where an instruction does. */
static size_t compare_calls_of_row(csh cs, const struct cfi *all, const struct cfi_row *row, const struct cfi *calls,
				   const uint8_t *code, size_t len)
{
	static const struct mt_rule none;
	cs_insn *insn = cs_malloc(cs);
	const uint8_t *end = code + len;
	uint64_t at = row->pc;
	size_t n = 0;

	while (len) {
		const struct cfi_row *b;

		if (!cs_disasm_iter(cs, &code, &len, &at, insn)) {
			/* data between code */
			size_t skip = calls->machine == EM_X86_64 ? 1 : MIN(len, 4);

			code += skip;
			at += skip;
			len = end - code;
			continue;
		}
		if (strncmp(insn->mnemonic, "call", 4) && strcmp(insn->mnemonic, "bl") && strncmp(insn->mnemonic, "blr", 3))
			continue;
		b = cfi__find(calls, at - 1);
		cr_assert(!memcmp(cfi__rule(all, row), b ? cfi__rule(calls, b) : &none, sizeof(none)), "%s %s at %#" PRIx64 " has another rule",
			  insn->mnemonic, insn->op_str, insn->address);
		n++;
	}
	cs_free(insn, 1);
	return n;
}

static void compare_calls(const char *path, struct objects *o, struct object *obj)
{
	struct cfi all = compile(obj, false), calls = compile(obj, true);
	bool x86 = obj->machine == EM_X86_64;
	size_t i, n_calls = 0;
	csh cs;

	cr_assert_eq(cs_open(x86 ? CS_ARCH_X86 : CS_ARCH_ARM64, x86 ? CS_MODE_64 : CS_MODE_ARM, &cs), CS_ERR_OK);
	cr_assert_lt(calls.n_rows, all.n_rows);
	cr_assert(!memcmp(&all.stats, &calls.stats, sizeof(all.stats)), "%s", path);
	for (i = 0; i + 1 < all.n_rows; i++) {
		size_t len = all.rows[i + 1].pc - all.rows[i].pc;
		_cleanup_free_ uint8_t *code = malloc(len);

		/* a row of no rule may stretch over what is no code */
		if (!object__read_code(obj, all.rows[i].pc, code, len))
			n_calls += compare_calls_of_row(cs, &all, &all.rows[i], &calls, code, len);
		else
			cr_assert_eq(cfi__rule(&all, &all.rows[i])->cfa, MT_CFA_NONE);
	}
	cr_log_info("%-24s %s: %zu of %zu rows serve %zu calls", base_name(path), x86 ? "x86_64" : "arm64", calls.n_rows,
		    all.n_rows, n_calls);
	cr_assert_gt(n_calls, 100);
	cs_close(&cs);
	cfi__done(&all);
	cfi__done(&calls);
}

Test(cfi_oracle, rows_with_calls_serve_every_call)
{
	for_each_file(compare_calls);
}

/* ---- readelf */

/*
 *    LOC           CFA      x19   x29   ra
 * 0000000000027680 sp+0     u     u     u
 * 0000000000027684 sp+32    u     c-32  c-24
 */
struct columns {
	int cfa, fp, ra, n;
};

static struct columns read_head(char *line)
{
	struct columns c = { -1, -1, -1, 0 };
	char *tok, *save = NULL;

	for (tok = strtok_r(line, " \n", &save); tok; tok = strtok_r(NULL, " \n", &save), c.n++) {
		if (!strcmp(tok, "CFA"))
			c.cfa = c.n;
		else if (!strcmp(tok, "x29") || !strcmp(tok, "rbp"))
			c.fp = c.n;
		else if (!strcmp(tok, "ra"))
			c.ra = c.n;
	}
	return c;
}

static bool same_slot(const char *text, unsigned int kind, int off)
{
	int want;

	if (!text || !strcmp(text, "u") || !strcmp(text, "s"))
		return kind == MT_SAVED_SAME;
	if (sscanf(text, "c%d", &want) == 1)
		return kind == MT_SAVED_AT_CFA && off == want;
	return kind == MT_SAVED_UNSUPPORTED || (kind == MT_SAVED_AT_FP && !strcmp(text, "exp"));
}

static bool same_cfa(const char *text, const struct mt_rule *r)
{
	const char *sign = strpbrk(text, "+-");
	int want;

	if (!strcmp(text, "exp"))
		return r->cfa == MT_CFA_PLT || r->cfa == MT_CFA_AT_SP || r->cfa == MT_CFA_AT_FP;
	if (!sign || sscanf(sign, "%d", &want) != 1 || want != r->cfa_off)
		return false;
	if (!strncmp(text, "sp+", 3) || !strncmp(text, "rsp+", 4))
		return r->cfa == MT_CFA_SP;
	return (!strncmp(text, "x29", 3) || !strncmp(text, "rbp", 3)) && r->cfa == MT_CFA_FP;
}

/* One line of the table. True if it was one, and could be compared. */
static bool compare_line(const struct cfi *c, const struct columns *cols, const char *path, char *line)
{
	_cleanup_free_ char *whole = strdup(line);
	char *tok[64] = {}, *save = NULL, *end;
	const struct cfi_row *row;
	const struct mt_rule *rule;
	uint64_t pc;
	int n = 0;

	for (tok[0] = strtok_r(line, " \n", &save); n < 63 && tok[n]; tok[++n] = strtok_r(NULL, " \n", &save))
		;
	if (n != cols->n || strlen(tok[0]) != 16)
		return false;
	pc = strtoull(tok[0], &end, 16);
	cr_assert(!*end, "%s", whole);
	row = cfi__find(c, pc);
	cr_assert_not_null(row, "%s", whole);
	rule = cfi__rule(c, row);
	if (rule->cfa == MT_CFA_UNSUPPORTED || rule->cfa == MT_CFA_SIGNAL || rule->cfa == MT_CFA_STOP)
		return false;
	cr_assert(same_cfa(tok[cols->cfa], rule) &&
			  same_slot(cols->ra < 0 ? NULL : tok[cols->ra], rule->ra, rule->ra_off) &&
			  same_slot(cols->fp < 0 ? NULL : tok[cols->fp], rule->fp, rule->fp_off),
		  "%s: " RULE_TEXT "; readelf: %s", path, RULE_ARGS(rule), whole);
	return true;
}

static void compare_with_readelf(const char *path, struct objects *o, struct object *obj)
{
	_cleanup_free_ char *cmd = NULL, *line = NULL;
	size_t room = 0, n = 0, n_other = 0;
	struct columns cols = {};
	bool in_fde = false;
	struct cfi c;
	FILE *f;

	/* one file of each machine is enough of a second opinion */
	if (strcmp(base_name(path), "libc.so.6"))
		return;
	c = compile(obj, false);
	/* it exits with 1 if there is no separate debug file: the count below tells whether it ran */
	cr_assert_gt(asprintf(&cmd, "LC_ALL=C readelf --wide --debug-dump=frames-interp %s 2>/dev/null", path), 0);
	f = popen(cmd, "r");
	cr_assert_not_null(f);
	while (getline(&line, &room, f) > 0) {
		if (strstr(line, " FDE ") || strstr(line, " CIE "))
			in_fde = strstr(line, " FDE ");
		else if (strstr(line, "LOC "))
			cols = read_head(line);
		else if (in_fde && line[0] != '\n')
			*(compare_line(&c, &cols, path, line) ? &n : &n_other) += 1;
	}
	pclose(f);
	cr_log_info("%s: %zu rows as readelf has them, %zu not compared", path, n, n_other);
	cr_assert_gt(n, 5000);
	cr_assert_leq(n_other, 50);
	cfi__done(&c);
}

Test(cfi_oracle, readelf)
{
	for_each_file(compare_with_readelf);
}
