// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Python in what a tracee maps: the programs are told where its frames are, and what they report of code is noted.
 *
 * What always holds: a process gets frames of Python only if the layout of its interpreter is known for sure, and where that frees code
 * is probed; else it has those of the interpreter itself, and that is said.
 */
#include <errno.h>
#include <string.h>

#include "elf/code_book.h"
#include "probe/plan.h"
#include "process/memory.h"
#include "script/python.h"
#include "tracee/tracee_parts.h"
#include "util/clock.h"
#include "util/log.h"

static const char python_path[] = PYTHON_PATH;

/* ---- which process has one, and where */

static bool read_memory(uint64_t addr, void *buf, size_t len, void *arg)
{
	const struct tracee *p = arg;
	_cleanup_memory_ struct memory memory = {};

	return !memory__open(&memory, p->process.pid) && memory__read(&memory, addr, buf, len) == len;
}

/* An interpreter as a process maps it. */
struct mapped_file {
	const struct tracee *tracee;
	const struct object *object;
	uint64_t bias;
};

/*
 * Of constants a page may not be there: a child that was forked has none that it has not read yet, and may never read what Python's
 * version is. The file has them, too, and is open.
 */
static bool read_mapped(uint64_t addr, void *buf, size_t len, void *arg)
{
	const struct mapped_file *in = arg;

	return read_memory(addr, buf, len, (void *)in->tracee) || !object__read_constant(in->object, addr - in->bias, buf, len);
}

static bool is_python(const struct known_file *k)
{
	return k && k->runtime && !strcmp(k->runtime->name, "python");
}

/* NULL: the file has no interpreter. */
static const struct python_file *file_of(struct known_file *k)
{
	if (!k->python) {
		k->python = xcalloc(1, sizeof(*k->python));
		python_file__read(k->plan.object, k->python);
	}
	return k->python->symbols.runtime ? k->python : NULL;
}

static struct python_symbols symbols_at(const struct python_file *f, uint64_t bias)
{
	struct python_symbols s = f->symbols;

	s.runtime += bias;
	s.code_type += bias;
	s.version += s.version ? bias : 0;
	for (size_t i = 0; i < s.n_eval; i++) {
		s.eval[i].start += bias;
		s.eval[i].end += bias;
	}
	return s;
}

/* Whether its state has an interpreter: then its loader is done with it. While it is not, anything may be there. */
static bool has_begun(const struct mt_python *python, struct tracee *p)
{
	uint64_t first = 0, word;

	return read_memory(python->runtime + python->interpreters, &first, sizeof(first), p) && first && read_memory(first, &word, sizeof(word), p);
}

/* What its type of code says that frees it, an ELF address; -EFAULT: that cannot be read; -EINVAL: it is no code of its file, so far. */
static int find_dealloc(struct tracee *p, const struct known_file *k, uint64_t bias, uint64_t *ret)
{
	uint64_t dealloc = 0;

	if (!read_memory(k->python->symbols.code_type + bias + PYTHON_TP_DEALLOC, &dealloc, sizeof(dealloc), p))
		return -EFAULT;
	*ret = dealloc - bias;
	return object__is_code(k->plan.object, *ret) ? 0 : -EINVAL;
}

/*
 * Where the interpreter frees code. Its file says where, which all processes share: what its type says in the process is the process's
 * to write. Files, too, are somebody's, so only the beginning of a function is probed, where a breakpoint does no harm.
 */
static int probe_frees(struct tracees *t, struct tracee *p, struct known_file *k, uint64_t dealloc, struct err *e)
{
	struct attachment *a = tracees__probes_of(t, p);
	const struct object *obj = k->plan.object;
	struct verified_point start = {};
	int err;

	if (dealloc != k->python->dealloc || !object__vaddr_to_offset(obj, dealloc, &start.offset))
		return err_set(e, -EINVAL, "it does not free code as its file says");
	if (!a || (t->shared_probes && k->python_probed))
		return 0;
	verify__points(obj, &start, 1);
	if (!(start.is & POINT_START))
		return err_set(e, -EINVAL, "it does not free code as a Python does");
	err = attachment__add_spot(a, FOR_PYTHON, obj, start.offset, e);
	k->python_probed |= !err && t->shared_probes;
	return err;
}

static void tell(struct known_file *k, const struct tracee *p, const char *why)
{
	if (!k->python_told)
		say("%s (%d): frames of Python are not shown, but those of its interpreter: %s", p->process.comm, (int)p->process.pid, why);
	k->python_told = true;
}

#define UNREADABLE_NS (2 * SECOND_NS)

/* Memory of it is not there, such as what was swapped out: it may come back. Not so that of a process that has ended. */
static void tell_unreadable(struct known_file *k, struct tracee *p)
{
	_cleanup_memory_ struct memory memory = {};
	struct tracee_life *l = tracee__life(p);
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (!l->unreadable_ns)
		l->unreadable_ns = now_ns;
	if (now_ns - l->unreadable_ns >= UNREADABLE_NS && !k->python_told && !memory__open(&memory, p->process.pid) && !memory__is_gone(&memory))
		tell(k, p, "its state is not in memory, so far; it is tried again");
}

static void set_up(struct tracees *t, struct tracee *p, struct known_file *k, const struct space_range *r)
{
	struct mapped_file mapped = { .tracee = p, .object = k->plan.object };
	const struct script_memory mem = { read_mapped, &mapped };
	struct tracee_life *l = tracee__life(p);
	_cleanup_err_ struct err why = {};
	struct python_symbols syms;
	struct mt_python python;
	uint64_t vaddr, bias, dealloc;
	unsigned int minor;
	int err, loaded;

	if (!object__offset_to_vaddr(r->object, r->file_off, &vaddr))
		return;
	mapped.bias = bias = r->start - vaddr;
	syms = symbols_at(k->python, bias);
	err = python__layout(&syms, &mem, &python, &minor, &why);
	loaded = find_dealloc(p, k, bias, &dealloc);
	/* before its loader is done what is read is not what will be there, or cannot be read; nor can it of a process that ends */
	l->awaits_python = err == -EFAULT || loaded == -EFAULT || (loaded && (err || !has_begun(&python, p)));
	if (err == -EFAULT || loaded == -EFAULT)
		tell_unreadable(k, p);
	if (l->awaits_python)
		return;
	if (loaded)
		err = err_set(&why, -EINVAL, "it frees code outside of its own file");
	else if (!err)
		err = probe_frees(t, p, k, dealloc, &why);
	l->knows_python = true;
	if (!err) {
		python.proc = l->proc;
		python.doubts = t->python_doubts;
		err = kernel__set_python(t->kernel, &python);
		if (err)
			err_set(&why, err, "the kernel's table: %s", strerror(-err));
	}
	if (err)
		tell(k, p, err_msg(&why));
	else
		say_verbose("%s (%d): Python 3.%u", p->process.comm, (int)p->process.pid, minor);
}

/*
 * Whether it is Python is known by what it maps, not by what was typed: that may be a script, or a
 * program that starts one.
 */
static void look_for_arenas(struct tracees *t, struct tracee *p)
{
	struct tracee_life *l = tracee__life(p);

	if (!t->want.recording.arenas)
		return;
	l->has_python |= vec_first(r, &l->space,
				   r->object && !r->gone &&
					   is_python(tracees__known_file(t, r->object))) != NULL;
	t->saw_arenas |= l->has_python;
	kernel__set_arenas(t->kernel, l->proc, l->has_python);
}

void tracee__know_python(struct tracees *t, struct tracee *p)
{
	const struct space *space = &tracee__life(p)->space;

	look_for_arenas(t, p);
	if (t->want.recording.python == PYTHON_OFF || recording__is_growth(&t->want.recording))
		return;
	for (size_t i = 0; i < space->n && !tracee__life(p)->knows_python; i++) {
		const struct space_range *r = &space->v[i];
		struct known_file *k = r->object && !r->gone && !r->object->changed ? tracees__known_file(t, r->object) : NULL;

		if (!is_python(k) || !file_of(k))
			continue;
		/* the programs that walk frames of Python are only loaded where there may be any */
		if (!kernel__sees_python(t->kernel))
			tell(k, p, "it was loaded when the trace ran already; another trace, begun now, shows them");
		else
			set_up(t, p, k, r);
	}
}

void tracee__doubt_python(struct tracees *t, struct tracee *p, struct known_file *k)
{
	struct tracee_life *l = tracee__life(p);

	if (!kernel__sees_python(t->kernel) || (k && !is_python(k)))
		return;
	if (k && k->plan.object->changed && l->knows_python)
		tell(k, p, "its file was written to");
	kernel__drop_python(t->kernel, l->proc);
	l->knows_python = l->awaits_python = false;
	t->python_doubts++;
}

void tracees__retry_python(struct tracees *t)
{
	for (size_t i = 0; i < t->v.n; i++)
		if (t->v.v[i]->lives.n && tracee__life(t->v.v[i])->awaits_python && tracee__is_open(t, t->v.v[i]))
			tracee__know_python(t, t->v.v[i]);
}

bool tracees__may_run_python(const struct tracees *t)
{
	return vec_first(one, &t->files, is_python(*one));
}

/* ---- its code */

static struct object *book_of(struct tracee_life *l)
{
	if (!l->script)
		l->script = object__make((struct object){ .fd = -1, .path = xstrdup(python_path), .script = code_book__new() });
	return l->script;
}

#define BYTES_DATA 32		/* of a bytes object, in all versions */

/*
 * A table of lines that is longer than a report: the rest of it is read now, if it is still that one, by its beginning. The report with
 * all of it, the caller's; NULL: it cannot be had.
 */
static char *complete(const struct tracee *p, const struct mt_python_code *code)
{
	size_t n = MIN(code->n_lines, CODE_BOOK_LINES);
	char *all = xmalloc(MT_PYTHON_CODE_HEADER + n);

	memcpy(all, code, MT_PYTHON_CODE_HEADER);
	if (read_memory(code->lines_addr + BYTES_DATA, all + MT_PYTHON_CODE_HEADER, n, (void *)p) &&
	    !memcmp(all + MT_PYTHON_CODE_HEADER, code->lines, sizeof(code->lines)))
		return all;
	free(all);
	return NULL;
}

#define EARLY_CODES 4096	/* of processes that are not known yet */
#define EARLY_NS (10 * SECOND_NS)	/* it was of no interest, and its number may be another's soon */

static void forget_early(struct tracees *t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(t->early_codes.v[i].record);
	t->early_codes.n -= n;
	memmove(t->early_codes.v, t->early_codes.v + n, t->early_codes.n * sizeof(*t->early_codes.v));
}

static void keep_early(struct tracees *t, const struct mt_python_code *code, size_t len)
{
	const struct early_code *v = t->early_codes.v;
	struct early_code new = { code->proc, code->seen_ns, len, xmalloc(len) };
	size_t n_old = 0;

	while (n_old < t->early_codes.n && v[n_old].seen_ns + EARLY_NS < code->seen_ns)
		n_old++;
	/* a part of them at once: each time all are moved */
	if (t->early_codes.n - n_old >= EARLY_CODES) {
		n_old += EARLY_CODES / 4;
		t->n_codes_unkept += EARLY_CODES / 4;
	}
	if (n_old)
		forget_early(t, n_old);
	memcpy(new.record, code, len);
	*vec_push(&t->early_codes) = new;
}

static void note_code(const void *record, size_t len, void *arg)
{
	struct tracees *t = arg;
	const struct mt_python_code *code = record;
	struct tracee_life *l;
	struct code_book *book;
	_cleanup_free_ char *all = NULL;
	uint64_t n_changes;

	if (len < MT_PYTHON_CODE_HEADER)
		return;
	l = hash__get(&t->by_proc, code->proc);
	if (!l) {
		keep_early(t, code, len);
		return;
	}
	if (len >= sizeof(*code) && code->n_lines > sizeof(code->lines))
		all = complete(l->tracee, code);
	book = book_of(l)->script;
	n_changes = code_book__n_changes(book);
	if (code_book__add(book, all ? all : record, all ? MT_PYTHON_CODE_HEADER + MIN(code->n_lines, CODE_BOOK_LINES) : len))
		t->n_codes_unkept++;
	/* where its frames lie is kept from one snapshot to the next, as that of mapped files is */
	t->n_changes += code_book__n_changes(book) - n_changes;
}

void tracees__claim_codes(struct tracees *t, uint32_t proc)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->early_codes.n; i++) {
		struct early_code c = t->early_codes.v[i];

		if (c.proc != proc) {
			t->early_codes.v[kept++] = c;
			continue;
		}
		note_code(c.record, c.len, t);
		free(c.record);
	}
	t->early_codes.n = kept;
}

void tracees__drop_codes(struct tracees *t)
{
	for (size_t i = 0; i < t->early_codes.n; i++)
		free(t->early_codes.v[i].record);
	vec_done(&t->early_codes);
}

void tracees__note_code(struct tracees *t)
{
	kernel__read_python(t->kernel, note_code, t);
}

void tracees__locate_python(const struct tracees *t, const struct tracee_life *l, uint64_t word, uint64_t t_ns, struct address *ret)
{
	uint32_t code;

	*ret = (struct address){ .module = python_path, .path = python_path, .offset = MT_PYTHON_CODE(word), .timeless = true, .fixed = true };
	if (!ret->offset || !l)
		return;
	ret->fixed = ret->timeless = false;
	if (!l->script || !code_book__find(l->script->script, ret->offset, t_ns, &code, &ret->timeless))
		return;
	ret->module = ret->handle = l->script;
	ret->path = l->script->path;
	/* as of a return address: its name is looked up one before it */
	ret->offset = code_book__place(l->script->script, code, MT_PYTHON_UNIT(word)) + 1;
	ret->fixed = true;
}

bool tracees__is_same_python(const struct tracee_life *l, uint64_t word, uint64_t t1_ns, uint64_t t2_ns)
{
	uint32_t a, b;
	bool sole;

	return l && l->script && code_book__find(l->script->script, MT_PYTHON_CODE(word), t1_ns, &a, &sole) &&
	       code_book__find(l->script->script, MT_PYTHON_CODE(word), t2_ns, &b, &sole) && a == b;
}
