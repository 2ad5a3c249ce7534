// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Whatever a target maps is compiled by root: any bytes must give an error or
 * a table that is well-formed. The first byte says how the rest is read:
 *
 *   bit 0   only rows with calls
 *   bit 1   the rest is an .eh_frame, in a file made around it; else a whole file
 *   bit 2   of that file: x86_64 instead of arm64
 *   bit 3   of that file: no section headers
 *   bit 4   of that file: it has __kernel_rt_sigreturn
 */
#include "elf/cfi.h"
#include "tests/unit/cfi_image.h"
#include "fuzz.h"

enum { CALLS_ONLY = 1, WRAP = 2, X86 = 4, NO_SECTIONS = 8, SIGRETURN = 16 };

/* calls and other instructions, in turns of a few bytes */
static uint8_t code[4096];

static void check(const struct cfi *c)
{
	size_t i;

	for (i = 0; i < c->n_rows; i++) {
		if (cfi__rule(c, &c->rows[i])->cfa > MT_CFA_UNSUPPORTED || cfi__rule(c, &c->rows[i])->fp > MT_SAVED_UNSUPPORTED)
			abort();
		if (i && (c->rows[i - 1].pc >= c->rows[i].pc ||
			  !memcmp(cfi__rule(c, &c->rows[i - 1]), cfi__rule(c, &c->rows[i]), sizeof(struct mt_rule))))
			abort();
		if (cfi__find(c, c->rows[i].pc) != &c->rows[i])
			abort();
	}
	if (c->n_rows && cfi__rule(c, &c->rows[c->n_rows - 1])->cfa != MT_CFA_NONE)
		abort();
	if (c->stats.n_bad_fdes > c->stats.n_fdes || c->stats.n_no_record > c->stats.n_call_rows)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	_cleanup_free_ uint8_t *made = NULL;
	struct err e = {};
	struct cfi c = {};
	uint8_t how;
	int r;

	if (!len)
		return 0;
	how = *data++;
	len--;
	if (how & WRAP) {
		struct cfi_image im = {
			.machine = how & X86 ? EM_X86_64 : EM_AARCH64,
			.eh = data,
			.eh_len = len,
			.code = code,
			.code_len = sizeof(code),
			.no_sections = how & NO_SECTIONS,
			.sigreturn = how & SIGRETURN ? CFI_IMAGE_TEXT + 64 : 0,
		};

		data = made = cfi_image__make(&im, &len);
	}
	r = cfi_image__compile(data, len, how & CALLS_ONLY, &c, &e);
	if (r ? e.code != r || c.rows : e.code)
		abort();
	check(&c);
	cfi__done(&c);
	err_done(&e);
	return 0;
}

/* ---- seeds */

static void write_seed(const char *name, uint8_t how, const void *p, size_t len)
{
	char path[32];

	snprintf(path, sizeof(path), "%s-%02x", name, how);
	put_seed(path, how, p, len);
}

/* One of every kind of instruction that the compiler tells apart. */
static void make_eh_frame(struct cfi_bytes *b, uint16_t machine)
{
	size_t cie = put_plain_cie(b, machine), signal;
	uint8_t fp = machine == EM_AARCH64 ? 29 : 6, sp = machine == EM_AARCH64 ? 31 : 7;

	begin_fde(b, cie, 0, 64);
	put_u8(b, 0x41, 0x0e, 16, 0x80 | fp, 2, 0x44, 0x0d, fp, 0x0a, 0x43, 0x0c, sp, 8, 0xc0 | fp, 0x41, 0x0b);
	end_record(b);
	begin_fde(b, cie, 64, 64);
	put_u8(b, 0x02, 4, 0x0f, 3, 0x70 + fp, 0x78, 0x06, 0x10, fp, 2, 0x70 + fp, 0, 0x03, 4, 0, 0x13, 0x7e, 0x2d);
	end_record(b);
	begin_fde(b, cie, 128, 32);
	put_u8(b, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22, 0x04, 1, 0, 0, 0, 0x12, sp, 0x7e);
	end_record(b);
	begin_fde(b, cie, 192, 32);
	put_u8(b, 0x07, machine == EM_AARCH64 ? 30 : 16, 0x01, 0xd0, 0, 0x10, 0, 0x05, fp, 2, 0x11, fp, 0x7e, 0x06, fp, 0x08, fp);
	put_u8(b, 0x09, fp, 3, 0x14, fp, 1, 0x15, fp, 1, 0x16, fp, 1, 0x30, 0x2e, 8, 0x2f, fp, 1);
	end_record(b);
	signal = begin_cie(b, machine, true);
	end_record(b);
	begin_fde(b, signal, 256, 16);
	end_record(b);
	put_u32(b, 0);
}

static void write_seeds(void)
{
	static const uint16_t machines[] = { EM_AARCH64, EM_X86_64 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(machines); i++) {
		struct cfi_bytes eh = {};
		_cleanup_free_ uint8_t *whole = NULL;
		uint8_t how = WRAP | (machines[i] == EM_X86_64 ? X86 : 0);
		size_t len;

		make_eh_frame(&eh, machines[i]);
		write_seed("eh", how, eh.v, eh.n);
		write_seed("eh", how | CALLS_ONLY | NO_SECTIONS | SIGRETURN, eh.v, eh.n);
		whole = cfi_image__make(&(struct cfi_image){ machines[i], eh.v, code, eh.n, 512, false, CFI_IMAGE_TEXT + 64 },
					&len);
		write_seed(i ? "x86_64" : "arm64", CALLS_ONLY, whole, len);
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const uint8_t bl[] = { 0, 0, 0, 0x94 }, nop[] = { 0x1f, 0x20, 0x03, 0xd5 };
	size_t i;

	for (i = 0; i < sizeof(code); i += 4)
		memcpy(code + i, i / 4 % 3 ? nop : bl, 4);
	/* and of the other machine */
	for (i = 1024; i < 2048; i += 16)
		memcpy(code + i, (uint8_t[]){ 0xe8, 0, 0, 0, 0, 0xff, 0xd0 }, 7);
	write_seeds();
	return 0;
}
