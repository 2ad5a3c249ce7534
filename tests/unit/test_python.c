// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Where interpreters keep their frames: of each version, from memory that is made here; and of what is no Python. */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "script/python.h"
#include "util/err.h"
#include "util/util.h"

#define RUNTIME 0x10000ull
#define VERSION_AT 0x30000ull
#define CODE_TYPE 0x40000ull
#define EVAL 0x50000ull

#define V_3_11 0x030b02f0
#define V_3_12 0x030c05f0
#define V_3_13 0x030d01f0
#define V_3_14 0x030e07f0

struct process {
	unsigned char runtime[4096];
	uint64_t version;
	bool no_runtime, no_version;	/* cannot be read */
};

static bool read_process(uint64_t addr, void *buf, size_t len, void *arg)
{
	const struct process *p = arg;

	if (addr >= RUNTIME && addr + len <= RUNTIME + sizeof(p->runtime) && !p->no_runtime)
		memcpy(buf, p->runtime + (addr - RUNTIME), len);
	else if (addr == VERSION_AT && len == sizeof(p->version) && !p->no_version)
		memcpy(buf, &p->version, len);
	else
		return false;
	return true;
}

static struct python_symbols symbols(void)
{
	return (struct python_symbols){
		.runtime = RUNTIME, .code_type = CODE_TYPE, .version = VERSION_AT,
		.eval = { { EVAL, EVAL + 0x8000 }, { EVAL - 0x1000, EVAL - 0xf00 } }, .n_eval = 2,
	};
}

static void put(struct process *p, size_t at, uint64_t value)
{
	memcpy(p->runtime + at, &value, sizeof(value));
}

/* What 3.13 says of itself at the start of its _PyRuntime. */
static struct process *made_3_13(void)
{
	static const struct {
		uint16_t at;
		uint64_t value;
	} said[] = {
		{ 8, V_3_13 }, { 40, 632 }, { 64, 7264 }, { 72, 7344 },
		{ 160, 0 }, { 168, 8 }, { 176, 16 }, { 184, 72 }, { 192, 152 }, { 200, 160 },
		{ 232, 8 }, { 240, 0 }, { 248, 56 }, { 256, 72 }, { 264, 70 },
		{ 280, 112 }, { 288, 120 }, { 296, 128 }, { 304, 136 }, { 312, 68 }, { 344, 200 },
		{ 520, 16 }, { 528, 32 }, { 544, 32 }, { 552, 16 }, { 560, 40 },
	};
	struct process *p = calloc(1, sizeof(*p));

	memcpy(p->runtime, "xdebugpy", 8);
	for (size_t i = 0; i < ARRAY_SIZE(said); i++)
		put(p, said[i].at, said[i].value);
	p->version = V_3_13;
	return p;
}

static struct process *made_3_14(void)
{
	static const struct {
		uint16_t at;
		uint64_t value;
	} said[] = {
		{ 8, V_3_14 }, { 40, 808 }, { 64, 7272 }, { 72, 7344 },
		{ 184, 0 }, { 192, 8 }, { 200, 16 }, { 208, 72 }, { 216, 152 }, { 224, 160 },
		{ 256, 8 }, { 264, 0 }, { 272, 56 }, { 280, 80 }, { 288, 74 },
		{ 320, 112 }, { 328, 120 }, { 336, 128 }, { 344, 136 }, { 352, 68 }, { 384, 208 },
		{ 600, 16 }, { 608, 32 }, { 624, 32 }, { 632, 16 }, { 640, 40 },
	};
	struct process *p = calloc(1, sizeof(*p));

	memcpy(p->runtime, "xdebugpy", 8);
	for (size_t i = 0; i < ARRAY_SIZE(said); i++)
		put(p, said[i].at, said[i].value);
	p->version = V_3_14;
	return p;
}

static struct process *made_old(uint64_t version)
{
	struct process *p = calloc(1, sizeof(*p));

	p->version = version;
	return p;
}

/* All of these are freed here. */
static void expect(struct process *p, unsigned int minor, struct mt_python want)
{
	struct python_symbols syms = symbols();
	struct script_memory mem = { read_process, p };
	_cleanup_err_ struct err e = { 0 };
	struct mt_python got;
	unsigned int got_minor;
	int err;

	want.runtime = RUNTIME;
	want.code_type = CODE_TYPE;
	want.eval[0].start = EVAL;
	want.eval[0].end = EVAL + 0x8000;
	want.eval[1].start = EVAL - 0x1000;
	want.eval[1].end = EVAL - 0xf00;
	memset(&got, 0xa5, sizeof(got));
	err = python__layout(&syms, &mem, &got, &got_minor, &e);
	cr_assert_eq(err, 0, "%s", err_msg(&e));
	cr_expect_eq(got_minor, minor);
	for (size_t i = 0; i < sizeof(got); i += 2)
		cr_expect_eq(memcmp((char *)&got + i, (char *)&want + i, 2), 0, "3.%u: byte %zu", minor, i);
	free(p);
}

/* It fails, touches nothing, and says why. */
static void expect_error_of(struct python_symbols syms, struct process *p, int code, const char *words)
{
	struct script_memory mem = { read_process, p };
	_cleanup_err_ struct err e = { 0 };
	struct mt_python got = { .proc = 7 };
	unsigned int got_minor = 77;

	cr_expect_eq(python__layout(&syms, &mem, &got, &got_minor, &e), code, "%s", words);
	cr_expect_eq(e.code, code);
	cr_expect(e.msg && strstr(e.msg, words), "%s: %s", words, e.msg);
	cr_expect_eq(got.proc, 7);
	cr_expect_eq(got.runtime, 0);
	cr_expect_eq(got_minor, 77);
	free(p);
}

static void expect_error(struct process *p, int code, const char *words)
{
	expect_error_of(symbols(), p, code, words);
}

static const struct mt_python layout_3_11 = {
	.current = 592, .interpreters = 40, .threads = 16, .next_interpreter = 0,
	.ts_prev = 0, .ts_next = 8, .ts_interp = 16, .ts_frame = 56, .ts_tid = 160, .cframe = 8,
	.f_code = 32, .f_prev = 48, .f_instr = 56, .f_owner = 68, .entry = 1, .has_shims = 0,
	.co_file = 112, .co_name = 128, .co_lines = 136, .co_first_line = 72, .co_bytecode = 184,
	.str_len = 16, .str_state = 32, .str_ascii = 48, .str_compact = 72, .bytes_len = 16, .bytes_data = 32,
};

static const struct mt_python layout_3_13 = {
	.current = MT_PYTHON_NONE, .interpreters = 632, .threads = 7344, .next_interpreter = 7264,
	.ts_prev = 0, .ts_next = 8, .ts_interp = 16, .ts_frame = 72, .ts_tid = 160, .cframe = MT_PYTHON_NONE,
	.f_code = 0, .f_prev = 8, .f_instr = 56, .f_owner = 70, .entry = 3, .has_shims = 1,
	.co_file = 112, .co_name = 128, .co_lines = 136, .co_first_line = 68, .co_bytecode = 200,
	.str_len = 16, .str_state = 32, .str_ascii = 40, .str_compact = 56, .bytes_len = 16, .bytes_data = 32,
};

/* The main interpreter, and behind the running thread's state the same again. */
static struct process *made_3_11(size_t current)
{
	struct process *p = made_old(V_3_11);

	put(p, 48, 0x7f00001000);
	put(p, current + 8, 0x7f00001000);
	return p;
}

Test(python, layout_of_3_11)
{
	struct mt_python want = layout_3_11;

	expect(made_3_11(592), 11, want);
	want.current = 576;
	expect(made_3_11(576), 11, want);
	want.current = MT_PYTHON_NONE;
	expect(made_3_11(584), 11, want);
}

Test(python, layout_of_one_that_has_not_begun)
{
	struct mt_python want = layout_3_11;

	want.current = sizeof(pthread_mutex_t) == 48 ? 592 : 576;
	expect(made_old(V_3_11), 11, want);
}

Test(python, layout_of_3_12)
{
	expect(made_old(V_3_12), 12, (struct mt_python){
		.current = MT_PYTHON_NONE, .interpreters = 40, .threads = 72, .next_interpreter = 0,
		.ts_prev = 0, .ts_next = 8, .ts_interp = 16, .ts_frame = 56, .ts_tid = 144, .cframe = 0,
		.f_code = 0, .f_prev = 8, .f_instr = 56, .f_owner = 70, .entry = 3, .has_shims = 1,
		.co_file = 112, .co_name = 128, .co_lines = 136, .co_first_line = 68, .co_bytecode = 192,
		.str_len = 16, .str_state = 32, .str_ascii = 40, .str_compact = 56, .bytes_len = 16, .bytes_data = 32,
	});
}

Test(python, layout_of_3_13)
{
	struct mt_python want = layout_3_13;
	struct process *p = made_3_13();

	expect(p, 13, want);
	/* of an interpreter's own state it is not known better */
	p = made_3_13();
	put(p, 72, 9000);
	want.threads = 9000;
	expect(p, 13, want);
}

Test(python, layout_of_3_14)
{
	struct mt_python want = layout_3_13;

	want.interpreters = 808;
	want.next_interpreter = 7272;
	want.f_owner = 74;
	want.code_tag = 7;
	want.co_bytecode = 208;
	expect(made_3_14(), 14, want);
}

/* From 3.13 on the table says it, too. */
Test(python, version_of_the_table)
{
	struct python_symbols syms = symbols();
	struct process *p = made_3_13();
	struct script_memory mem = { read_process, p };
	struct mt_python got;
	unsigned int minor;

	syms.version = 0;
	p->no_version = true;
	cr_assert_eq(python__layout(&syms, &mem, &got, &minor, NULL), 0);
	cr_expect_eq(minor, 13);
	cr_expect_eq(got.co_bytecode, 200);
	free(p);
	expect_error_of(syms, made_old(0), -ENOTSUP, "does not say its version");
}

Test(python, versions_that_are_not_known)
{
	struct process *p;

	expect_error(made_old(0x030a0cf0), -ENOTSUP, "Python 3.10: only frames of 3.11 to 3.14");
	expect_error(made_old(0x030f00f0), -ENOTSUP, "Python 3.15: only frames of 3.11 to 3.14");
	expect_error(made_old(0), -ENOTSUP, "makes no sense: 0x0");
	expect_error(made_old(0x040000f0), -ENOTSUP, "makes no sense: 0x40000f0");
	expect_error(made_old(0x1030b02f0), -ENOTSUP, "makes no sense: 0x1030b02f0");
	p = made_3_14();
	p->version = 0x030f00f0;
	put(p, 8, p->version);
	expect_error(p, -ENOTSUP, "Python 3.15: only frames of 3.11 to 3.14");
}

Test(python, tables_that_are_none)
{
	struct process *p;

	expect_error(made_old(V_3_13), -ENOTSUP, "no table of offsets");
	p = made_3_13();
	p->runtime[7] = 'Y';
	expect_error(p, -ENOTSUP, "Python 3.13: there is no table of offsets");
	p = made_3_13();
	put(p, 8, V_3_13 + 1);
	expect_error(p, -ENOTSUP, "another version, 0x30d01f1");
	p = made_3_14();
	p->version = V_3_13;
	expect_error(p, -ENOTSUP, "another version, 0x30e07f0");
}

Test(python, free_threaded)
{
	struct process *p = made_3_13();

	put(p, 16, 1);
	expect_error(p, -ENOTSUP, "Python 3.13: a free-threaded build");
	p = made_3_14();
	put(p, 16, 1);
	expect_error(p, -ENOTSUP, "Python 3.14: a free-threaded build");
}

Test(python, offsets_that_do_not_fit)
{
	static const struct {
		uint16_t at;
		uint64_t value;
		const char *words;
	} wrong[] = {
		{ 40, 4096, "interpreters_head is at 4096, which cannot be" },
		{ 40, 4089, "interpreters_head is at 4089, which cannot be" },
		{ 40, 65536 + 632, "interpreters_head is at 66168, which cannot be" },
		{ 72, 1 << 20, "threads_head is at 1048576, which cannot be" },
		{ 64, UINT64_MAX, "next is at 18446744073709551615, which cannot be" },
		{ 200, 249, "native_thread_id is at 249, which cannot be" },
		{ 200, 248, "native_thread_id is at 248, and was expected at 160" },
		{ 248, 81, "instr_ptr is at 81, which cannot be" },
		{ 264, 88, "owner is at 88, which cannot be" },
		{ 264, 74, "owner is at 74, and was expected at 70" },
		{ 344, 208, "co_code_adaptive is at 208, and was expected at 200" },
		{ 528, 4096, "ob_sval is at 4096, which cannot be" },
		{ 560, 48, "asciiobject_size is at 48, and was expected at 40" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct process *p = made_3_13();

		put(p, wrong[i].at, wrong[i].value);
		expect_error(p, -ENOTSUP, wrong[i].words);
	}
}

/* Whatever stands there, it is refused, or it is what is known. */
Test(python, each_byte_of_a_table)
{
	struct python_symbols syms = symbols();
	size_t n_taken = 0;

	for (size_t i = 0; i < 648; i++) {
		struct process *p = made_3_14();
		struct script_memory mem = { read_process, p };
		struct mt_python got;
		unsigned int minor;

		p->runtime[i] ^= 0xff;
		if (!python__layout(&syms, &mem, &got, &minor, NULL)) {
			n_taken++;
			cr_expect_eq(got.ts_tid, 160);
			cr_expect_eq(got.f_owner, 74);
			cr_expect_eq(got.co_bytecode, 208);
			cr_expect(got.threads <= (1 << 20) - 8 && got.next_interpreter <= (1 << 20) - 8 && got.interpreters <= 4096 - 8);
		}
		free(p);
	}
	/* 81 words; three are the head, 22 are read, and of those the lowest byte of one and two of two are free within their bounds */
	cr_expect_eq(n_taken, (81 - 3 - 22) * 8 + 1 + 2 + 2);
}

Test(python, memory_that_cannot_be_read)
{
	struct process *p = made_3_13();

	p->no_runtime = true;
	expect_error(p, -EFAULT, "cannot read its _PyRuntime at 0x10000");
	p = made_3_13();
	p->no_version = true;
	expect_error(p, -EFAULT, "cannot read its Py_Version at 0x30000");
}

Test(python, symbols_that_are_missing)
{
	struct python_symbols syms = symbols();

	syms.runtime = 0;
	expect_error_of(syms, made_3_13(), -ENOTSUP, "it has no _PyRuntime");
	syms = symbols();
	syms.code_type = 0;
	expect_error_of(syms, made_3_13(), -ENOTSUP, "it has no _PyRuntime");
	syms = symbols();
	syms.n_eval = 0;
	expect_error_of(syms, made_3_13(), -ENOTSUP, "it has no _PyRuntime");
	syms.n_eval = MT_PYTHON_RANGES + 1;
	expect_error_of(syms, made_3_13(), -ENOTSUP, "it has no _PyRuntime");
	syms = symbols();
	syms.eval[1].end = syms.eval[1].start;
	expect_error_of(syms, made_3_13(), -ENOTSUP, "ends where it starts");
}
