// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns, in a reader, the symbol cache and the objects that it was asked for; in malloctrace nothing. The same sym.c answers that
 * asks: a reader does not read apart.
 */
#include "names/sym_apart.h"

#include <errno.h>
#include <string.h>

#include "elf/apart.h"
#include "elf/demangle.h"
#include "elf/dwarfinfo.h"
#include "util/hash.h"
#include "util/util.h"

#define NO_INLINES 1
#define NO_SOURCE 2
#define LINES_MAX (DWARF_INLINES_MAX + 1)
#define OBJECTS_MAX 512		/* that one reader keeps open */
#define FLUSH_NS SECOND_NS

/* ---- the answer */

static struct {
	struct sym *sym;
	struct hash objects;	/* by id; sym holds them, too */
} kept;

/* What is sent of the file each time is of use the first time alone. */
static struct object *object_of(struct reader_request *q)
{
	struct wire_in ahead = q->in;
	struct object *obj;
	uint64_t id;

	wire_in__string(&ahead, SIZE_MAX - 1);
	id = wire_in__u64(&ahead);
	obj = hash__get(&kept.objects, id);
	if (!obj) {
		obj = apart__object(q);
		if (obj && hash__put(&kept.objects, id, obj)) {
			object__put(obj);
			return NULL;
		}
	}
	q->in = ahead;
	q->tired = kept.objects.n >= OBJECTS_MAX;
	return obj;
}

static void put_lines(struct wire *w, const struct line *lines, size_t n)
{
	n = MIN(n, (size_t)LINES_MAX);
	wire__u64(w, n);
	for (size_t i = 0; i < n; i++) {
		wire__string(w, lines[i].function);
		wire__string(w, lines[i].file);
		wire__string(w, lines[i].dir);
		wire__u64(w, lines[i].line);
		wire__u64(w, lines[i].inlined);
	}
}

int sym_apart__serve(struct reader_request *q)
{
	struct object *obj = object_of(q);
	uint64_t flags = wire_in__u64(&q->in), flushed_ns = now_ns();
	size_t n = wire_in__count(&q->in, sizeof(uint64_t));

	if (!kept.sym)
		kept.sym = sym__new(&(struct sym_opts){ .no_inlines = flags & NO_INLINES, .no_source = flags & NO_SOURCE });
	if (!kept.sym || !obj)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct line *lines;
		size_t n_lines = sym__resolve(kept.sym, obj, wire_in__u64(&q->in), &lines);

		put_lines(&q->out, lines, n_lines);
		if (now_ns() - flushed_ns > FLUSH_NS) {
			reader_child__flush(q);
			flushed_ns = now_ns();
		}
	}
	return 0;
}

/* ---- the question */

/* Clean, in buf; NULL stays NULL. */
static const char *get_text(struct wire_in *in, size_t most, char *buf)
{
	const char *s = wire_in__string(in, most);

	if (!s)
		return NULL;
	strcpy(buf, s);
	clean_name(buf);
	return buf;
}

struct text {
	char function[DEMANGLE_OUT_MAX + 1], file[SYM_FILE_NAME_MAX + 1], dir[SYM_FILE_NAME_MAX + 1];
};

static size_t get_lines(struct wire_in *in, struct line *lines, struct text *text)
{
	size_t n = wire_in__upto(in, LINES_MAX);

	in->bad |= !n;
	for (size_t i = 0; i < n && !in->bad; i++) {
		lines[i].function = get_text(in, sizeof(text->function) - 1, text[i].function);
		lines[i].file = get_text(in, sizeof(text->file) - 1, text[i].file);
		lines[i].dir = get_text(in, sizeof(text->dir) - 1, text[i].dir);
		lines[i].line = wire_in__upto(in, INT32_MAX);
		lines[i].inlined = wire_in__bool(in);
	}
	return in->bad ? 0 : n;
}

bool sym_apart__ask(const struct sym_apart *of, uint64_t id, struct object *obj, const uint64_t *vaddrs, size_t n,
		    void (*fn)(uint64_t vaddr, const struct line *lines, size_t n, void *arg), void *arg)
{
	_cleanup_free_ struct text *text = calloc(LINES_MAX, sizeof(*text));
	static const struct line unnamed;
	struct line lines[LINES_MAX];
	apart_cleanup struct apart a;
	struct wire_in all;
	int err;

	apart__begin(&a, READ_NAMES, obj);
	a.debug_dir = of->debug_dir;
	a.debuginfod = of->opts->debuginfod;
	a.call.reader = of->reader;
	wire__u64(&a.args, id);
	wire__u64(&a.args, (of->opts->no_inlines ? NO_INLINES : 0) | (of->opts->no_source ? NO_SOURCE : 0));
	wire__u64(&a.args, n);
	wire__bytes(&a.args, vaddrs, n * sizeof(*vaddrs));
	err = text ? apart__ask(&a) : -ENOMEM;
	if (err == -EINTR || err == -ENOMEM)
		return false;
	all = a.in;
	for (size_t i = 0; i < n && !err; i++)
		get_lines(&a.in, lines, text);
	if (!err)
		err = apart__settle(&a);
	for (size_t i = 0; i < n; i++) {
		size_t n_lines = err ? 0 : get_lines(&all, lines, text);

		fn(vaddrs[i], n_lines ? lines : &unnamed, MAX(n_lines, (size_t)1), arg);
	}
	return true;
}
