// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Knows the layout of each Python, a row each. From 3.13 on an interpreter has a table of its offsets at the start of its
 * state, and from there they are taken. It is also compared with what is known of that version, for whoever puts it together may
 * be mistaken or malicious, and programs in the kernel follow it. So a version without a row is refused.
 */
#include "script/python.h"

#include <pthread.h>
#include <string.h>

#include "elf/symtab.h"
#include "util/util.h"

#define TABLE_BYTES 648		/* of the longest of these tables, up to the last member that is wanted */
#define OTHER_BYTES 4096	/* what else is read of an object lies within */
#define INTERPRETER_BYTES (1u << 20)
#define MUTEXES_BEFORE_CURRENT 2

/* What all of these tables begin with. */
struct table_head {
	char cookie[8];
	uint64_t version;
	uint64_t free_threaded;
};

/* Versions whose tables of offsets have the same shape. */
enum shape { NO_TABLE, SHAPE_3_13, SHAPE_3_14, N_SHAPES };

static const struct version {
	unsigned int minor;
	enum shape shape;
	struct mt_python known;		/* what the table says is compared with it, but for what is BY_BUILD */
} versions[] = {
	{ 11, NO_TABLE, {
		.current = 496,		/* without the mutexes before it: find_current() */
		.interpreters = 40, .threads = 16, .next_interpreter = 0,
		.ts_prev = 0, .ts_next = 8, .ts_interp = 16, .ts_frame = 56, .ts_tid = 160, .cframe = 8,
		.f_code = 32, .f_prev = 48, .f_instr = 56, .f_owner = 68, .entry = 1, .has_shims = 0, .code_tag = 0,
		.co_file = 112, .co_name = 128, .co_lines = 136, .co_first_line = 72, .co_bytecode = 184,
		.str_len = 16, .str_state = 32, .str_ascii = 48, .str_compact = 72, .bytes_len = 16, .bytes_data = 32,
	} },
	{ 12, NO_TABLE, {
		.current = MT_PYTHON_NONE,
		.interpreters = 40, .threads = 72, .next_interpreter = 0,
		.ts_prev = 0, .ts_next = 8, .ts_interp = 16, .ts_frame = 56, .ts_tid = 144, .cframe = 0,
		.f_code = 0, .f_prev = 8, .f_instr = 56, .f_owner = 70, .entry = 3, .has_shims = 1, .code_tag = 0,
		.co_file = 112, .co_name = 128, .co_lines = 136, .co_first_line = 68, .co_bytecode = 192,
		.str_len = 16, .str_state = 32, .str_ascii = 40, .str_compact = 56, .bytes_len = 16, .bytes_data = 32,
	} },
	{ 13, SHAPE_3_13, {
		.current = MT_PYTHON_NONE,
		.ts_prev = 0, .ts_next = 8, .ts_interp = 16, .ts_frame = 72, .ts_tid = 160, .cframe = MT_PYTHON_NONE,
		.f_code = 0, .f_prev = 8, .f_instr = 56, .f_owner = 70, .entry = 3, .has_shims = 1, .code_tag = 0,
		.co_file = 112, .co_name = 128, .co_lines = 136, .co_first_line = 68, .co_bytecode = 200,
		.str_len = 16, .str_state = 32, .str_ascii = 40, .str_compact = 56, .bytes_len = 16, .bytes_data = 32,
	} },
	{ 14, SHAPE_3_14, {
		.current = MT_PYTHON_NONE,
		.ts_prev = 0, .ts_next = 8, .ts_interp = 16, .ts_frame = 72, .ts_tid = 160, .cframe = MT_PYTHON_NONE,
		.f_code = 0, .f_prev = 8, .f_instr = 56, .f_owner = 74, .entry = 3, .has_shims = 1, .code_tag = 7,
		.co_file = 112, .co_name = 128, .co_lines = 136, .co_first_line = 68, .co_bytecode = 208,
		.str_len = 16, .str_state = 32, .str_ascii = 40, .str_compact = 56, .bytes_len = 16, .bytes_data = 32,
	} },
};

/* An interpreter's own state and the runtime's have members that differ with how Python was configured: those are only bounded. */
enum { AS_KNOWN, BY_BUILD };

/* Members of struct mt_python that the tables have. */
static const struct member {
	const char *name;	/* as Python calls it */
	uint16_t at, size;	/* in struct mt_python, 2 or 4 bytes */
	uint16_t in_table[N_SHAPES];	/* where an interpreter says it */
	uint32_t within, width;	/* of how many bytes it must be a part, and how many it has */
	int rule;
} members[] = {
#define MEMBER(member) offsetof(struct mt_python, member), sizeof_field(member)
#define sizeof_field(member) sizeof(((struct mt_python *)NULL)->member)
	{ "runtime_state.interpreters_head", MEMBER(interpreters), { 0, 40, 40 }, OTHER_BYTES, 8, BY_BUILD },
	{ "interpreter_state.next", MEMBER(next_interpreter), { 0, 64, 64 }, INTERPRETER_BYTES, 8, BY_BUILD },
	{ "interpreter_state.threads_head", MEMBER(threads), { 0, 72, 72 }, INTERPRETER_BYTES, 8, BY_BUILD },
	{ "thread_state.prev", MEMBER(ts_prev), { 0, 160, 184 }, MT_PYTHON_TSTATE_BYTES, 8, AS_KNOWN },
	{ "thread_state.next", MEMBER(ts_next), { 0, 168, 192 }, MT_PYTHON_TSTATE_BYTES, 8, AS_KNOWN },
	{ "thread_state.interp", MEMBER(ts_interp), { 0, 176, 200 }, MT_PYTHON_TSTATE_BYTES, 8, AS_KNOWN },
	{ "thread_state.current_frame", MEMBER(ts_frame), { 0, 184, 208 }, MT_PYTHON_TSTATE_BYTES, 8, AS_KNOWN },
	{ "thread_state.native_thread_id", MEMBER(ts_tid), { 0, 200, 224 }, MT_PYTHON_TSTATE_BYTES, 8, AS_KNOWN },
	{ "interpreter_frame.previous", MEMBER(f_prev), { 0, 232, 256 }, MT_PYTHON_FRAME_BYTES, 8, AS_KNOWN },
	{ "interpreter_frame.executable", MEMBER(f_code), { 0, 240, 264 }, MT_PYTHON_FRAME_BYTES, 8, AS_KNOWN },
	{ "interpreter_frame.instr_ptr", MEMBER(f_instr), { 0, 248, 272 }, MT_PYTHON_FRAME_BYTES, 8, AS_KNOWN },
	{ "interpreter_frame.owner", MEMBER(f_owner), { 0, 264, 288 }, MT_PYTHON_FRAME_BYTES, 1, AS_KNOWN },
	{ "code_object.filename", MEMBER(co_file), { 0, 280, 320 }, OTHER_BYTES, 8, AS_KNOWN },
	{ "code_object.qualname", MEMBER(co_name), { 0, 296, 336 }, OTHER_BYTES, 8, AS_KNOWN },
	{ "code_object.linetable", MEMBER(co_lines), { 0, 304, 344 }, OTHER_BYTES, 8, AS_KNOWN },
	{ "code_object.firstlineno", MEMBER(co_first_line), { 0, 312, 352 }, OTHER_BYTES, 4, AS_KNOWN },
	{ "code_object.co_code_adaptive", MEMBER(co_bytecode), { 0, 344, 384 }, OTHER_BYTES, 2, AS_KNOWN },
	{ "bytes_object.ob_size", MEMBER(bytes_len), { 0, 520, 600 }, OTHER_BYTES, 8, AS_KNOWN },
	{ "bytes_object.ob_sval", MEMBER(bytes_data), { 0, 528, 608 }, OTHER_BYTES, 1, AS_KNOWN },
	{ "unicode_object.state", MEMBER(str_state), { 0, 544, 624 }, OTHER_BYTES, 4, AS_KNOWN },
	{ "unicode_object.length", MEMBER(str_len), { 0, 552, 632 }, OTHER_BYTES, 8, AS_KNOWN },
	{ "unicode_object.asciiobject_size", MEMBER(str_ascii), { 0, 560, 640 }, OTHER_BYTES, 1, AS_KNOWN },
};

static uint64_t member_get(const struct member *m, const struct mt_python *py)
{
	uint16_t two;
	uint32_t four;

	if (m->size == sizeof(two)) {
		memcpy(&two, (const char *)py + m->at, sizeof(two));
		return two;
	}
	memcpy(&four, (const char *)py + m->at, sizeof(four));
	return four;
}

static void member_set(const struct member *m, struct mt_python *py, uint32_t value)
{
	uint16_t two = value;

	if (m->size == sizeof(two))
		memcpy((char *)py + m->at, &two, sizeof(two));
	else
		memcpy((char *)py + m->at, &value, sizeof(value));
}

/* What the interpreter's table says, into py, which has what is known of its version. */
static int take_table(const struct version *v, const unsigned char *table, struct mt_python *py, struct err *e)
{
	for (const struct member *m = members; m < members + ARRAY_SIZE(members); m++) {
		uint64_t said, known = member_get(m, py);

		memcpy(&said, table + m->in_table[v->shape], sizeof(said));
		if (said >= m->within || m->within - said < m->width)
			return err_set(e, -ENOTSUP, "Python 3.%u: its %s is at %llu, which cannot be", v->minor, m->name,
				       (unsigned long long)said);
		if (m->rule == AS_KNOWN && said != known)
			return err_set(e, -ENOTSUP, "Python 3.%u: its %s is at %llu, and was expected at %llu: a build of its own?",
				       v->minor, m->name, (unsigned long long)said, (unsigned long long)known);
		member_set(m, py, said);
	}
	return 0;
}

static bool has_cookie(const struct table_head *head)
{
	return !memcmp(head->cookie, "xdebugpy", sizeof(head->cookie));
}

/* version is PY_VERSION_HEX: 0x030b02f0 is 3.11.2. */
static int find_version(uint64_t version, const struct version **ret, struct err *e)
{
	unsigned int minor = version >> 16 & 0xff;

	if (version >> 24 != 3)
		return err_set(e, -ENOTSUP, "its version makes no sense: 0x%llx", (unsigned long long)version);
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
		if (versions[i].minor == minor) {
			*ret = &versions[i];
			return 0;
		}
	return err_set(e, -ENOTSUP, "Python 3.%u: only frames of 3.%u to 3.%u can be read", minor, versions[0].minor,
		       versions[ARRAY_SIZE(versions) - 1].minor);
}

/*
 * The version is a variable of its own from 3.11 on, and also in the table from 3.13 on: whoever has neither is older, or no
 * Python at all. Both are there from before main(), so that zeros are those of a copy that is not in use.
 */
static int read_version(const struct python_symbols *syms, const struct script_memory *mem, const unsigned char *table,
			const struct version **ret, struct err *e)
{
	struct table_head head;
	uint64_t version;
	int err;

	memcpy(&head, table, sizeof(head));
	version = head.version;
	if (syms->version && !mem->read(syms->version, &version, sizeof(version), mem->arg))
		return err_set(e, -EFAULT, "cannot read its Py_Version at 0x%llx", (unsigned long long)syms->version);
	if (!syms->version && !has_cookie(&head))
		return err_set(e, -ENOTSUP, "it does not say its version, as Python does from 3.%u on", versions[0].minor);
	err = find_version(version, ret, e);
	if (err || (*ret)->shape == NO_TABLE)
		return err;
	if (!has_cookie(&head))
		return err_set(e, -ENOTSUP, "Python 3.%u: there is no table of offsets in its _PyRuntime", (*ret)->minor);
	if (head.version != version)
		return err_set(e, -ENOTSUP, "Python 3.%u: its table of offsets is of another version, 0x%llx", (*ret)->minor,
			       (unsigned long long)head.version);
	if (head.free_threaded)
		return err_set(e, -ENOTSUP, "Python 3.%u: a free-threaded build, whose frames cannot be read", (*ret)->minor);
	return 0;
}

/*
 * 3.11 has the state of the running thread behind the lock of the interpreter, of mutexes of the C library: they have 48 bytes
 * on aarch64 with glibc, 40 else, and the process may have another C library than we do. Behind it lies a pointer to
 * the main interpreter, which shows which of them it is, once Python has begun. Where neither is right nobody looks there.
 */
static uint16_t find_current(const struct mt_python *py, const struct script_memory *mem)
{
	static const size_t mutex_bytes[] = { 40, 48 };
	uint64_t main_interpreter, found;

	if (py->current == MT_PYTHON_NONE)
		return MT_PYTHON_NONE;
	if (!mem->read(py->runtime + py->interpreters + 8, &main_interpreter, sizeof(main_interpreter), mem->arg))
		return MT_PYTHON_NONE;
	if (!main_interpreter)
		return py->current + MUTEXES_BEFORE_CURRENT * sizeof(pthread_mutex_t);
	for (size_t i = 0; i < ARRAY_SIZE(mutex_bytes); i++) {
		const uint16_t at = py->current + MUTEXES_BEFORE_CURRENT * mutex_bytes[i];

		if (mem->read(py->runtime + at + 8, &found, sizeof(found), mem->arg) && found == main_interpreter)
			return at;
	}
	return MT_PYTHON_NONE;
}

static int check_symbols(const struct python_symbols *syms, struct err *e)
{
	if (!syms->runtime || !syms->code_type || !syms->n_eval || syms->n_eval > MT_PYTHON_RANGES)
		return err_set(e, -ENOTSUP, "it has no _PyRuntime, no PyCode_Type, or no function that runs frames");
	for (size_t i = 0; i < syms->n_eval; i++)
		if (syms->eval[i].start >= syms->eval[i].end)
			return err_set(e, -ENOTSUP, "its function that runs frames ends where it starts");
	return 0;
}

static void take_symbols(const struct python_symbols *syms, struct mt_python *py)
{
	py->runtime = syms->runtime;
	py->code_type = syms->code_type;
	for (size_t i = 0; i < syms->n_eval; i++) {
		py->eval[i].start = syms->eval[i].start;
		py->eval[i].end = syms->eval[i].end;
	}
}

int python__layout(const struct python_symbols *syms, const struct script_memory *mem, struct mt_python *ret,
		   unsigned int *ret_minor, struct err *e)
{
	unsigned char table[TABLE_BYTES];
	const struct version *v = NULL;
	struct mt_python py;
	int err = check_symbols(syms, e);

	if (err)
		return err;
	/* older ones have other things there, and no fewer */
	if (!mem->read(syms->runtime, table, sizeof(table), mem->arg))
		return err_set(e, -EFAULT, "cannot read its _PyRuntime at 0x%llx", (unsigned long long)syms->runtime);
	err = read_version(syms, mem, table, &v, e);
	if (err)
		return err;
	py = v->known;
	err = v->shape == NO_TABLE ? 0 : take_table(v, table, &py, e);
	if (err)
		return err;
	take_symbols(syms, &py);
	py.current = find_current(&py, mem);
	*ret = py;
	*ret_minor = v->minor;
	return 0;
}

/* ---- of a file: its dynamic symbols, which a stripped one has as well */

#define EVAL "_PyEval_EvalFrameDefault"

/* Compilers put code that is seldom run elsewhere, as EVAL.cold; such names are in files that were not stripped. */
static int take_function(const struct object_symbol *sym, void *arg)
{
	struct python_symbols *f = arg;
	size_t len = strlen(EVAL);

	if (sym->ifunc || strncmp(sym->name, EVAL, len) || (sym->name[len] && sym->name[len] != '.') || !sym->size || f->n_eval == MT_PYTHON_RANGES)
		return 0;
	for (size_t i = 0; i < f->n_eval; i++)
		if (f->eval[i].start == sym->value)
			return 0;
	f->eval[f->n_eval].start = sym->value;
	f->eval[f->n_eval++].end = sym->value + sym->size;
	return 0;
}

void python_file__read(struct object *obj, struct python_file *ret)
{
	const struct {
		const char *name;
		uint64_t *at;
	} wanted[] = {
		{ "_PyRuntime", &ret->symbols.runtime },
		{ "PyCode_Type", &ret->symbols.code_type },
		{ "Py_Version", &ret->symbols.version },
	};
	struct python_symbols *s = &ret->symbols;
	struct variables all;

	*ret = (struct python_file){};
	object__for_each_function(obj, take_function, s);
	if (!s->n_eval)
		return;
	variables__read(obj, NULL, &all);
	for (size_t i = 0; i < all.n; i++)
		for (size_t k = 0; k < ARRAY_SIZE(wanted); k++)
			if (!strcmp(variable__name(&all, &all.v[i]), wanted[k].name))
				*wanted[k].at = all.v[i].start;
	variables__done(&all);
	if (!s->code_type)
		s->runtime = 0;
	else
		object__initial_address(obj, s->code_type + PYTHON_TP_DEALLOC, &ret->dealloc);
}
