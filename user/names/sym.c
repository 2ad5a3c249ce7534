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
#include <stdlib.h>
#include <string.h>

#include "elf/code_book.h"
#include "elf/debugfile.h"
#include "elf/debugfind.h"
#include "elf/debuginfod.h"
#include "elf/demangle.h"
#include "elf/dwarfinfo.h"
#include "elf/jitmap.h"
#include "elf/minidebug.h"
#include "elf/object.h"
#include "elf/pool.h"
#include "elf/symtab.h"
#include "names/sym_apart.h"
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
	uint64_t id;		/* for a reader */
	struct vec(uint64_t) expected;	/* return addresses that will be asked for */
};

struct sym {
	struct sym_opts opts;
	char *debug_dir;
	struct pool pool;
	struct hash modules;	/* address of the object → struct module */
	struct vec(struct module *) all;
	struct sym_apart apart;	/* without a reader: files are read here */
};

static const struct line unnamed;

struct sym *sym__new(const struct sym_opts *o)
{
	struct sym *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	if (o)
		s->opts = *o;
	s->debug_dir = strdup(s->opts.debug_dir ?: DEBUG_DIR);
	if (!s->debug_dir) {
		free(s);
		return NULL;
	}
	pool__init(&s->pool);
	s->apart = (struct sym_apart){ .opts = &s->opts, .debug_dir = s->debug_dir };
	if (readers__are_apart())
		s->apart.reader = reader__new();
	if (readers__are_apart() && !s->apart.reader) {
		sym__free(s);
		return NULL;
	}
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
	reader__free(s->apart.reader);
	vec_done(&s->all);
	hash__done(&s->modules);
	pool__done(&s->pool);
	free(s->debug_dir);
	free(s);
}

static bool is_text(uint64_t addr, void *arg)
{
	const struct object *obj = arg;

	for (size_t i = 0; i < obj->n_segments; i++)
		if (obj->segments[i].exec && addr >= obj->segments[i].vaddr &&
		    addr - obj->segments[i].vaddr < obj->segments[i].mem_size)
			return true;
	return false;
}

static int add_symbol(const struct object_symbol *sym, void *arg)
{
	symtab__add(arg, sym->name, sym->value, sym->size);
	return 0;
}

/* As debugfile__open, from a server. */
static int download(struct sym *s, struct module *m)
{
	int fd = m->obj->build_id ? debugfind__open(&(struct debug_wish){ WISH_DOWNLOAD, 0, "" }, m->obj, s->debug_dir, s->opts.debuginfod) :
				    -ENOENT;

	return fd < 0 ? fd : debugfile__take(&m->debug, fd, m->obj->build_id);
}

static void open_files(struct sym *s, struct module *m)
{
	struct elffile *with_dwarf = NULL;

	if (!m->obj->is_elf || elffile__open_fd(&m->file, m->obj->fd))
		return;
	if (!debugfile__open_dwarf(&m->file, m->obj, s->debug_dir)) {
		with_dwarf = &m->file;
	} else if (!debugfile__open(&m->debug, m->obj, m->file.elf, s->debug_dir) || !download(s, m)) {
		symtab__add_elf(&m->symtab, m->debug.elf);
		if (!debugfile__open_dwarf(&m->debug, m->obj, s->debug_dir))
			with_dwarf = &m->debug;
	}
	/* What a debug file has of symbols is more. */
	if (!m->debug.elf && !minidebug__open(&m->mini, m->file.elf))
		symtab__add_elf(&m->symtab, m->mini.elf);
	symtab__add_elf(&m->symtab, m->file.elf);
	/* Without section headers the dynamic segment still leads to symbols. */
	if (!m->symtab.n)
		object__for_each_function(m->obj, add_symbol, &m->symtab, NULL);
	symtab__sort(&m->symtab);
	if (with_dwarf)
		m->dwarf = dwarfinfo__new(with_dwarf->dwarf, is_text, m->obj);
}

static struct module *get_module(struct sym *s, struct object *obj)
{
	struct module *m = hash__get(&s->modules, (uintptr_t)obj), **slot;

	if (m)
		return m;
	m = calloc(1, sizeof(*m));
	slot = m ? vec_push(&s->all) : NULL;
	if (!slot) {
		free(m);
		return NULL;
	}
	*slot = m;
	m->obj = obj;
	object__hold(obj);
	m->id = s->all.n;
	hash__put(&s->modules, (uintptr_t)obj, m);
	if (!s->apart.reader && !object__has_names(obj) && !object__look_for_change(obj))
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

static const struct result *resolve_jit(struct sym *s, struct module *m, uint64_t addr)
{
	struct result *r = pool__alloc(&s->pool, sizeof(*r) + sizeof(r->lines[0]));

	r->n = 1;
	r->lines[0] = (struct line){ .function = function_name(s, jitmap__find(m->obj->jit, addr)) };
	return r;
}

static const struct result *resolve_script(struct sym *s, struct module *m, uint64_t at)
{
	struct result *r = pool__alloc(&s->pool, sizeof(*r) + sizeof(r->lines[0]));
	struct code_line l = {};

	/* its strings live as long as the object, which the module holds */
	code_book__line(m->obj->script, at, &l);
	r->n = 1;
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
		r = pool__alloc(&s->pool, sizeof(*r) + sizeof(r->lines[0]));
		r->n = 1;
		r->lines[0] = (struct line){ .function = symbol ? function_name(s, symbol->name) : NULL };
		return r;
	}

	if (s->opts.no_inlines)
		skip = frames.n - 1;
	r = pool__alloc(&s->pool, sizeof(*r) + (frames.n - skip) * sizeof(r->lines[0]));
	r->n = frames.n - skip;
	for (size_t i = skip; i < frames.n; i++) {
		const struct dwarf_frame *f = &frames.v[i];
		struct line *l = &r->lines[i - skip];

		*l = (struct line){
			.function = f->inlined ? function_name(s, f->name) : own_name(s, m, f, frames.c, addr),
			.line = f->line,
			.inlined = f->inlined,
		};
		l->file = file_name(s, f->file, f->comp_dir, &l->dir);
	}
	return r;
}

/* ---- by a reader */

struct asked {
	struct sym *s;
	struct module *m;
};

static void keep_lines(uint64_t vaddr, const struct line *lines, size_t n, void *arg)
{
	const struct asked *a = arg;
	struct result *r = pool__alloc(&a->s->pool, sizeof(*r) + n * sizeof(r->lines[0]));

	r->n = n;
	for (size_t i = 0; i < n; i++) {
		r->lines[i] = lines[i];
		r->lines[i].function = pool__string(&a->s->pool, lines[i].function);
		r->lines[i].file = pool__string(&a->s->pool, lines[i].file);
		r->lines[i].dir = pool__string(&a->s->pool, lines[i].dir);
	}
	hash__put(&a->m->results, vaddr, r);	/* without memory it is asked for again */
}

/* All that are expected. */
static void ask(struct sym *s, struct module *m)
{
	if (!is_changed(s, m))
		sym_apart__ask(&s->apart, m->id, m->obj, m->expected.v, m->expected.n, keep_lines, &(struct asked){ s, m });
	m->expected.n = 0;
}

static void expect(struct sym *s, struct module *m, uint64_t vaddr)
{
	uint64_t *slot = vec_push(&m->expected);

	if (slot)
		*slot = vaddr;
	if (m->expected.n >= EXPECTED_MAX)
		ask(s, m);
}

void sym__expect(struct sym *s, struct object *obj, uint64_t vaddr)
{
	struct module *m = s->apart.reader && obj && !object__has_names(obj) && vaddr ? get_module(s, obj) : NULL;

	if (m && !hash__get(&m->results, vaddr))
		expect(s, m, vaddr);
}

/* NULL: an end is asked for, or there is no memory. */
static const struct result *ask_for(struct sym *s, struct module *m, uint64_t vaddr)
{
	expect(s, m, vaddr);
	if (m->expected.n)
		ask(s, m);
	return hash__get(&m->results, vaddr);
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
		if (s->apart.reader && !object__has_names(m->obj)) {
			r = ask_for(s, m, vaddr);
			*ret = r ? r->lines : &unnamed;
			return r ? r->n : 1;
		}
		r = m->obj->script ? resolve_script(s, m, vaddr - 1) : m->obj->jit ? resolve_jit(s, m, vaddr - 1) : resolve(s, m, vaddr - 1);
		hash__put(&m->results, vaddr, (void *)r);	/* without memory it is resolved again */
	}
	*ret = r->lines;
	return r->n;
}
