// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the symbol cache: per object its open files and tables, made when its
 * first address is requested, and per address the lines found.
 *
 * All that leaves here is clean (no control characters) and interned. Sources
 * are tried in this order: DWARF of the object, DWARF of its separate debug
 * file (here, then from a debuginfod server if one may be asked), .symtab and
 * .dynsym of both and of .gnu_debugdata. An object that was written to since it
 * was opened has no new names: its symbols would be those of other code.
 */
#include "names/sym.h"

#include <errno.h>
#include <string.h>

#include "elf/apart.h"
#include "elf/code_book.h"
#include "elf/debugfile.h"
#include "elf/object.h"
#include "elf/symtab.h"
#include "util/util.h"

#define EXPECTED_MAX 256	/* addresses that are asked for at once */

struct result {
	size_t n;
	struct line lines[];
};

struct module {			/* what is known of one object */
	struct object *obj;	/* holds a reference */
	struct elffile file, debug;
	struct elffile mini;
	struct symtab symtab;
	struct dwarfinfo *dwarf;	/* NULL: none */
	struct hash results;	/* return address → struct result */
	bool reported;		/* that the object changed */
	bool reported_split;	/* that inlined calls are not known */
	uint64_t id;		/* for a reader */
	struct vec(uint64_t) expected;	/* return addresses that will be asked for */
};

struct sym {
	struct sym_opts opts;
	char *debug_dir;
	struct pool pool;
	struct hash modules;	/* address of the object → struct module */
	struct vec(struct module *) all;
	struct reader *reader;	/* owned; NULL: files are read here */
};

static const struct line unnamed;

struct sym *sym__new(const struct sym_opts *o)
{
	struct sym *s = xcalloc(1, sizeof(*s));

	if (o)
		s->opts = *o;
	s->debug_dir = s->opts.debug_dir ? xstrdup(s->opts.debug_dir) : NULL;
	pool__init(&s->pool);
	if (readers__are_apart())
		s->reader = reader__new();
	return s;
}

static void module__free(struct module *m)
{
	dwarfinfo__free(m->dwarf);
	symtab__done(&m->symtab);
	elffile__close(&m->mini);
	elffile__close(&m->debug);
	elffile__close(&m->file);
	hash__done(&m->results);
	vec_done(&m->expected);
	object__put(m->obj);
	free(m);
}

void sym__free(struct sym *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->all.n; i++)
		module__free(s->all.v[i]);
	reader__free(s->reader);
	vec_done(&s->all);
	hash__done(&s->modules);
	pool__done(&s->pool);
	free(s->debug_dir);
	free(s);
}

static void open_files(struct sym *s, struct module *m)
{
	struct elffile *with_dwarf = m->obj->is_elf ? debugfile__with_dwarf(&m->file, &m->debug, m->obj, s->debug_dir) : NULL;

	if (!m->file.elf)
		return;
	if (!with_dwarf && !m->debug.elf && !debugfile__download(&m->debug, m->obj, s->opts.debuginfod) &&
	    !debugfile__open_dwarf(&m->debug, m->obj, s->debug_dir))
		with_dwarf = &m->debug;
	/* What a debug file has of symbols is more. */
	if (m->debug.elf)
		symtab__add(&m->symtab, &m->debug, NULL);
	else if (!minidebug__open(&m->mini, m->file.elf))
		symtab__add(&m->symtab, &m->mini, NULL);
	symtab__add(&m->symtab, &m->file, NULL);
	if (!m->symtab.all.n)
		symtab__add(&m->symtab, &m->file, m->obj);
	symtab__sort(&m->symtab);
	if (with_dwarf)
		m->dwarf = dwarfinfo__new(with_dwarf->dwarf, m->obj);
}

static struct module *get_module(struct sym *s, struct object *obj)
{
	struct module *m = hash__get(&s->modules, (uintptr_t)obj);

	if (m)
		return m;
	m = xcalloc(1, sizeof(*m));
	*vec_push(&s->all) = m;
	m->obj = obj;
	object__hold(obj);
	m->id = s->all.n;
	hash__put(&s->modules, (uintptr_t)obj, m);
	if (!s->reader && !object__has_names(obj) && !object__look_for_change(obj))
		open_files(s, m);
	return m;
}

static const char *function_name(struct sym *s, const char *raw)
{
	char name[DEMANGLE_IN_MAX + 2], buf[DEMANGLE_OUT_MAX + 1], *version;
	size_t len;

	if (!raw || !*raw)
		return NULL;
	len = strnlen(raw, sizeof(name) - 1);
	memcpy(name, raw, len);
	name[len] = '\0';
	/* "memcpy@@GLIBC_2.17" in .symtab */
	version = strchr(name + 1, '@');
	if (version)
		*version = '\0';
	demangle(name, buf);
	return pool__string(&s->pool, buf);
}

/* "a.c" as the compiler was given it; libdw has put the compiler's directory before it. */
static const char *clean_copy(struct sym *s, const char *raw, size_t len)
{
	char buf[SYM_FILE_NAME_MAX + 1];

	memcpy(buf, raw, len);
	buf[len] = '\0';
	clean_name(buf);
	return pool__string(&s->pool, buf);
}

static const char *file_name(struct sym *s, const char *raw, const char *comp_dir, const char **ret_dir)
{
	size_t len = comp_dir ? strnlen(comp_dir, SYM_FILE_NAME_MAX) : 0;

	*ret_dir = NULL;
	if (!raw || !*raw || !strcmp(raw, "???"))
		return NULL;
	while (len > 1 && comp_dir[len - 1] == '/')
		len--;
	if (len > 1 && !strncmp(raw, comp_dir, len) && raw[len] == '/' && raw[len + 1]) {
		*ret_dir = clean_copy(s, raw, len);
		raw += len + 1;
	}
	return clean_copy(s, raw, strnlen(raw, SYM_FILE_NAME_MAX));
}

/*
 * The name of a function that is there as such. DWARF has the name in the
 * source; the linker's is better where DWARF's is not whole (C++ functions
 * without a linkage name) or where the source defines the function under a name
 * of its own (__libc_malloc for malloc).
 */
static const char *own_name(struct sym *s, struct module *m, const struct dwarf_frame *f, bool c, uint64_t addr)
{
	const struct symbol *sym;

	if (f->name && (f->mangled || (c && f->name[0] != '_')))
		return function_name(s, f->name);
	sym = symtab__find(&m->symtab, addr);
	if (!f->name ||
	    (sym && sym->start == f->entry &&
	     (c ? sym->name[0] != '_' : sym->name[0] == '_' && (sym->name[1] == 'Z' || sym->name[1] == 'R'))))
		return function_name(s, sym ? sym->name : NULL);
	return function_name(s, f->name);
}

static struct result *new_result(struct sym *s, size_t n)
{
	struct result *r = pool__alloc(&s->pool, sizeof(*r) + n * sizeof(r->lines[0]));

	r->n = n;
	return r;
}

/* function: as the file has it; NULL: none is known. */
static const struct result *name_alone(struct sym *s, const char *function)
{
	struct result *r = new_result(s, 1);

	r->lines[0] = (struct line){ .function = function_name(s, function) };
	return r;
}

static const struct result *resolve_script(struct sym *s, struct module *m, uint64_t at)
{
	struct result *r = new_result(s, 1);
	struct code_line l = {};

	/* its strings live as long as the object, which the module holds */
	code_book__line(m->obj->script, at, &l);
	r->lines[0] = (struct line){ .function = l.function };
	if (!s->opts.no_source) {
		r->lines[0].file = l.file;
		r->lines[0].line = l.line;
	}
	return r;
}

/* Whether what is read from the object now would be of other code. */
static bool is_changed(struct sym *s, struct module *m)
{
	if (object__has_names(m->obj) || !object__look_for_change(m->obj))
		return false;
	if (!m->reported && s->opts.on_changed)
		s->opts.on_changed(m->obj->path, s->opts.arg);
	m->reported = true;
	return true;
}

static void report_split(struct sym *s, struct module *m, const struct result *r)
{
	if (!r->lines[0].split || m->reported_split || !s->opts.on_split)
		return;
	s->opts.on_split(m->obj->path, s->opts.arg);
	m->reported_split = true;
}

static const struct result *resolve(struct sym *s, struct module *m, uint64_t addr)
{
	const struct symbol *symbol = NULL;
	struct dwarf_frames frames = { .n = 0 };
	struct result *r;
	size_t skip = 0;

	/* With names only, the symbol table answers without reading a unit of DWARF. */
	if (s->opts.no_inlines && s->opts.no_source)
		symbol = symtab__find(&m->symtab, addr);
	if (m->dwarf && !symbol)
		dwarfinfo__find(m->dwarf, addr, !s->opts.no_source, &s->pool, &frames);
	if (!frames.n) {
		if (!symbol)
			symbol = symtab__find(&m->symtab, addr);
		return name_alone(s, symbol ? symbol->name : NULL);
	}

	if (s->opts.no_inlines)
		skip = frames.n - 1;
	r = new_result(s, frames.n - skip);
	for (size_t i = skip; i < frames.n; i++) {
		const struct dwarf_frame *f = &frames.v[i];
		struct line *l = &r->lines[i - skip];

		*l = (struct line){
			.function = f->inlined ? function_name(s, f->name) : own_name(s, m, f, frames.c, addr),
			.line = f->line,
			.inlined = f->inlined,
			.split = frames.split && !s->opts.no_inlines,
		};
		l->file = file_name(s, f->file, f->comp_dir, &l->dir);
	}
	return r;
}

/* ---- asked of the sandbox: the same code answers there */

#define LINES_MAX (DWARF_INLINES_MAX + 1)
#define OBJECTS_MAX 512		/* that one process of the sandbox keeps open */
#define FLUSH_NS SECOND_NS

struct request {
	uint64_t id;		/* the object's for as long as the process lives that is asked */
	bool no_inlines, no_source;
	uint64_t *vaddrs;
	size_t n;
};

struct named {			/* an address */
	struct line *lines;
	size_t n;
};

struct answer {			/* in the order of the request */
	struct named *v;
	size_t n;
};

static const struct wire_field request_fields[] = {
	WIRE_ANY(struct request, id),
	WIRE_BOOL(struct request, no_inlines),
	WIRE_BOOL(struct request, no_source),
	WIRE_PLAIN(struct request, vaddrs, n),
};

static const struct wire_type request_type = WIRE_TYPE(struct request, request_fields);

static const struct wire_field line_fields[] = {
	WIRE_CLEAN(struct line, function, DEMANGLE_OUT_MAX),
	WIRE_CLEAN(struct line, file, SYM_FILE_NAME_MAX),
	WIRE_CLEAN(struct line, dir, SYM_FILE_NAME_MAX),
	WIRE_UPTO(struct line, line, INT32_MAX),
	WIRE_BOOL(struct line, inlined),
	WIRE_BOOL(struct line, split),
};

static const struct wire_type line_type = WIRE_TYPE(struct line, line_fields);

static const struct wire_field named_fields[] = { WIRE_LIST(struct named, lines, n, &line_type) };

static bool is_named(const void *record)
{
	const struct named *n = record;

	return n->n && n->n <= LINES_MAX;
}

static const struct wire_type named_type = WIRE_TYPE(struct named, named_fields, is_named);

static const struct wire_field answer_fields[] = { WIRE_LIST(struct answer, v, n, &named_type) };
static const struct wire_type answer_type = WIRE_TYPE(struct answer, answer_fields);

static struct {			/* of a process of the sandbox */
	struct sym *sym;
	struct hash objects;	/* by id; sym holds them, too */
} kept;

/* What is sent of the file each time is of use the first time alone. */
static struct object *object_of(struct reader_request *q, uint64_t id)
{
	struct object *obj = hash__get(&kept.objects, id);

	if (!obj) {
		obj = apart__object(q);
		if (obj)
			hash__put(&kept.objects, id, obj);
	}
	q->tired = kept.objects.n >= OBJECTS_MAX;
	return obj;
}

static int serve(struct reader_request *q, const void *args, void *ret)
{
	const struct request *of = args;
	struct object *obj = object_of(q, of->id);
	uint64_t flushed_ns = now_ns();

	if (!kept.sym)
		kept.sym = sym__new(&(struct sym_opts){ .no_inlines = of->no_inlines, .no_source = of->no_source });
	/* each one is sent as soon as it took long */
	q->sent = true;
	wire__u64(&q->out, of->n);
	for (size_t i = 0; i < of->n; i++) {
		const struct line *lines;
		size_t n = sym__resolve(kept.sym, obj, of->vaddrs[i], &lines);

		wire__put(&q->out, &named_type, &(struct named){ (struct line *)lines, MIN(n, (size_t)LINES_MAX) });
		if (now_ns() - flushed_ns > FLUSH_NS) {
			reader_child__flush(q);
			flushed_ns = now_ns();
		}
	}
	return 0;
}

const struct reader_question names_question = { READ_NAMES, &request_type, &answer_type, serve };

static void keep_lines(struct sym *s, struct module *m, uint64_t vaddr, const struct line *lines, size_t n)
{
	struct result *r = new_result(s, n);

	for (size_t i = 0; i < n; i++) {
		r->lines[i] = lines[i];
		r->lines[i].function = pool__string(&s->pool, lines[i].function);
		r->lines[i].file = pool__string(&s->pool, lines[i].file);
		r->lines[i].dir = pool__string(&s->pool, lines[i].dir);
	}
	report_split(s, m, r);
	hash__put(&m->results, vaddr, r);
}

/* All that are expected. A file that was lost has lines without names. */
static void ask(struct sym *s, struct module *m)
{
	apart_cleanup struct apart a = {
		.about = &names_question, .obj = m->obj, .debug_dir = s->debug_dir, .debuginfod = s->opts.debuginfod, .reader = s->reader,
	};
	struct request of = { m->id, s->opts.no_inlines, s->opts.no_source, m->expected.v, m->expected.n };
	struct answer got = {};
	int err = is_changed(s, m) ? -EINTR : apart__ask(&a, &of, &got, NULL);

	if (!err && got.n != of.n)
		err = apart__distrust(&a, &got);
	for (size_t i = 0; i < of.n && err != -EINTR; i++)
		keep_lines(s, m, of.vaddrs[i], err ? &unnamed : got.v[i].lines, err ? 1 : got.v[i].n);
	wire_type__done(&answer_type, &got);
	m->expected.n = 0;
}

static void expect(struct sym *s, struct module *m, uint64_t vaddr)
{
	*vec_push(&m->expected) = vaddr;
	if (m->expected.n >= EXPECTED_MAX)
		ask(s, m);
}

void sym__expect(struct sym *s, struct object *obj, uint64_t vaddr)
{
	struct module *m = s->reader && obj && !object__has_names(obj) && vaddr ? get_module(s, obj) : NULL;

	if (m && !hash__get(&m->results, vaddr))
		expect(s, m, vaddr);
}

size_t sym__resolve(struct sym *s, struct object *obj, uint64_t vaddr, const struct line **ret)
{
	struct module *m = obj ? get_module(s, obj) : NULL;
	const struct result *r;

	if (!m || !vaddr) {
		*ret = &unnamed;
		return 1;
	}
	r = hash__get(&m->results, vaddr);
	if (!r) {
		if (is_changed(s, m)) {
			*ret = &unnamed;
			return 1;
		}
		if (s->reader && !object__has_names(m->obj)) {
			expect(s, m, vaddr);
			if (m->expected.n)
				ask(s, m);
			/* NULL: an end is asked for */
			r = hash__get(&m->results, vaddr);
			*ret = r ? r->lines : &unnamed;
			return r ? r->n : 1;
		}
		r = m->obj->script ? resolve_script(s, m, vaddr - 1) :
		    m->obj->jit	   ? name_alone(s, jitmap__find(m->obj->jit, vaddr - 1)) :
				     resolve(s, m, vaddr - 1);
		report_split(s, m, r);
		hash__put(&m->results, vaddr, (void *)r);
	}
	*ret = r->lines;
	return r->n;
}
