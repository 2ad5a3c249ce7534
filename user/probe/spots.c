// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the spots that the user named, and finds them in objects. What always
 * holds: a point is the first instruction of a function that is in the file, or the
 * nop of a program's own probe; one point per instruction, whatever it is for.
 */
#include <ctype.h>
#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "elf/elffile.h"
#include "elf/symtab.h"
#include "probe/spots.h"
#include "reader/reader.h"
#include "util/clock.h"
#include "util/funcname.h"
#include "util/invoker.h"
#include "util/util.h"

/* ---- what the user named */

/* A colon of its own: "::" is part of a name, and so is what stands in brackets. */
static const char *next_colon(const char *s)
{
	for (; *s && *s != '(' && *s != '<'; s++) {
		if (*s != ':')
			continue;
		if (s[1] != ':')
			return s;
		s++;
	}
	return NULL;
}

static int parse(struct spot *s, const char *text)
{
	const char *at = text, *colon;

	s->text = xstrdup(text);
	do {
		colon = next_colon(at);
		if (s->n_parts == ARRAY_SIZE(s->part) || at == colon || !*at)
			return -EINVAL;
		s->part[s->n_parts++] = colon ? xstrndup(at, (size_t)(colon - at)) : xstrdup(at);
		at = colon ? colon + 1 : at;
	} while (colon);
	if (s->n_parts > 1 && strchr(s->part[0], '/'))
		s->path = invoker__real_path(s->part[0]);
	return 0;
}

/*
 * Of "ns::C::f(int)", "f": the linker's name has it in it, too. Not so of operators, and of what
 * has a letter of its own.
 */
static char *hint_of(const char *name)
{
	size_t end = strcspn(name, "(<"), begin;

	if (!strncmp(name, "std::", 5) || strstr(name, "operator") || name[0] == '<' || name[0] == '(')
		return NULL;
	begin = end;
	while (begin && (isalnum((unsigned char)name[begin - 1]) || name[begin - 1] == '_'))
		begin--;
	return begin < end ? xstrndup(name + begin, end - begin) : NULL;
}

static void spot_done(struct spot *s)
{
	for (size_t i = 0; i < s->n_parts; i++)
		free(s->part[i]);
	free(s->text);
	free(s->path);
	free(s->hint);
}

int spots__add(struct spots *s, enum mt_spot_kind kind, const char *option, const char *text, struct err *e)
{
	struct spot spot = { .kind = kind, .option = option };
	int err;

	if (vec_first(had, s, had->kind == kind && !strcmp(had->text, text)))
		return 0;
	if (s->n + 1 >= MT_MAX_SPOTS)
		return err_set(e, -E2BIG, "%s %s: no more than %d functions can be named", option, text,
			       MT_MAX_SPOTS - 1);
	err = parse(&spot, text);
	if (err) {
		spot_done(&spot);
		return err_set(e, err, "%s %s: want FUNC, BINARY:FUNC, PROVIDER:PROBE or BINARY:PROVIDER:PROBE", option, text);
	}
	if (spot.n_parts < 3)
		spot.hint = hint_of(spot.part[spot.n_parts - 1]);
	spot.number = (uint32_t)s->n + 1;
	*vec_push(s) = spot;
	return 0;
}

void spots__done(struct spots *s)
{
	for (size_t i = 0; i < s->n; i++)
		spot_done(&s->v[i]);
	vec_done(s);
}

const struct spot *spots__first(const struct spots *s, enum mt_spot_kind kind)
{
	return vec_first(one, s, one->kind == kind);
}

/*
 * ---- .note.stapsdt
 *
 * The file is hostile: what is handed on has names that end, a place in code that is in the file,
 * and a counter in data that is in the file. A note holds link-time addresses. Prelinking moves
 * code and does not know of notes, so each also has the address that .stapsdt.base had, and is
 * right by as much as that section has moved.
 */

#define NOTE_TYPE 3
#define NOTE_OWNER "stapsdt"
#define MAX_NOTES 65536
#define MAX_NOTES_BYTES (16u << 20)

struct notes {
	const struct object *obj;
	int (*fn)(const struct usdt *u, void *arg);
	void *arg;
	uint64_t base;		/* where .stapsdt.base is; 0: nowhere */
	size_t n_notes;
};

static uint64_t word(const unsigned char *p)
{
	uint64_t v;

	/* the file is of this machine's architecture: so is its byte order */
	memcpy(&v, p, sizeof(v));
	return v;
}

/* desc: three addresses, then provider, name and arguments as strings. */
static int read_note(struct notes *s, const unsigned char *desc, size_t len)
{
	const char *provider = (const char *)desc + 24, *end = (const char *)desc + len, *name, *args;
	struct usdt u = {};
	uint64_t pc, semaphore, moved;

	if (len < 24 + 3)
		return 0;
	name = memchr(provider, '\0', (size_t)(end - provider));
	args = name && name + 1 < end ? memchr(name + 1, '\0', (size_t)(end - name - 1)) : NULL;
	if (!args || !*provider || !name[1])
		return 0;
	moved = s->base && word(desc + 8) ? s->base - word(desc + 8) : 0;
	pc = word(desc) + moved;
	semaphore = word(desc + 16);
	if (!object__segment_at(s->obj, pc, true) || !object__vaddr_to_offset(s->obj, pc, &u.offset))
		return 0;
	/* a word in data that is not in the file cannot be reached by the kernel, and the probe would stay silent */
	if (semaphore && !object__vaddr_to_offset(s->obj, semaphore + moved, &u.counter))
		return 0;
	u.provider = provider;
	u.name = name + 1;
	return s->fn(&u, s->arg);
}

static int read_notes(struct notes *s, Elf_Scn *scn, uint64_t size)
{
	Elf_Data *data = size <= MAX_NOTES_BYTES ? elf_getdata(scn, NULL) : NULL;
	size_t at = 0, next, name_at, desc_at;
	GElf_Nhdr note;
	int r = 0;

	while (!r && data && data->d_buf && s->n_notes < MAX_NOTES &&
	       (next = gelf_getnote(data, at, &note, &name_at, &desc_at)) > 0) {
		const unsigned char *buf = data->d_buf;

		s->n_notes++;
		if (note.n_type == NOTE_TYPE && note.n_namesz == sizeof(NOTE_OWNER) &&
		    !memcmp(buf + name_at, NOTE_OWNER, sizeof(NOTE_OWNER)))
			r = read_note(s, buf + desc_at, note.n_descsz);
		at = next;
	}
	return r;
}

int usdt__each(const struct object *obj, int (*fn)(const struct usdt *u, void *arg), void *arg)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	struct notes s = { .obj = obj, .fn = fn, .arg = arg };
	struct elf_section section = {};
	struct elffile file = {};
	Elf_Scn *notes = NULL;
	uint64_t size = 0;
	int r = 0;

	if (!obj->is_elf || !obj->is_64 || elffile__open_fd(&file, obj->fd))
		return 0;
	while (elffile__next_section(file.elf, &section)) {
		if (!strcmp(section.name, ".stapsdt.base"))
			s.base = section.shdr.sh_addr;
		if (!strcmp(section.name, ".note.stapsdt") && section.shdr.sh_type == SHT_NOTE &&
		    !(section.shdr.sh_flags & SHF_COMPRESSED)) {
			notes = section.scn;
			size = section.shdr.sh_size;
		}
	}
	if (notes)
		r = read_notes(&s, notes, size);
	elffile__close(&file);
	return r;
}

/* ---- where that is */

bool spot__may_be_in(const struct spot *s, const struct object *obj)
{
	struct func_ref r = { s->part[0], s->n_parts > 1 ? strlen(s->part[0]) : 0, "" };

	return func_ref__is_in(&r, obj->path) || (s->path && !strcmp(s->path, obj->path));
}

/* The function's name; NULL: what was named is none. */
static const char *function_of(const struct spot *s)
{
	return s->n_parts < 3 ? s->part[s->n_parts - 1] : NULL;
}

bool spot__is_function(const struct spot *s, const char *raw, bool pieces)
{
	const char *asked = function_of(s);
	char buf[DEMANGLE_OUT_MAX + 1];

	if (func_name__matches(asked, raw, pieces))
		return true;
	if (raw[0] != '_' || (raw[1] != 'Z' && raw[1] != 'R') || (s->hint && !strstr(raw, s->hint)))
		return false;
	demangle(raw, buf);
	return func_name__matches(asked, buf, pieces);
}

struct search {
	struct spots *spots;
	const struct object *obj;
	struct spot_points points;
	struct {		/* what is requested in this file */
		bool function, probe, inlined;
	} wanted[MT_MAX_SPOTS];
	struct spot *full;	/* found where too many are already */
};

/* One more of what a point is: in the order of kinds, none twice. */
static int join(const struct search *s, struct spot_point *p, const struct spot *spot)
{
	uint8_t v[MT_SPOTS_AT_ONCE + 1];
	size_t n = 0, at;

	for (uint64_t c = p->cookie; c; c >>= 8)
		v[n++] = c & 0xff;
	for (at = 0; at < n; at++)
		if (v[at] == spot->number)
			return 0;
	if (n == MT_SPOTS_AT_ONCE)
		return -E2BIG;
	for (at = 0; at < n && s->spots->v[v[at] - 1].kind <= spot->kind; at++)
		;
	memmove(v + at + 1, v + at, n - at);
	v[at] = (uint8_t)spot->number;
	p->cookie = 0;
	for (size_t i = 0; i <= n; i++)
		p->cookie |= (uint64_t)v[i] << 8 * i;
	return 1;
}

static int add_point(struct search *s, struct spot *spot, uint64_t offset, uint64_t counter)
{
	struct spot_point *p = spot_points__at(&s->points, offset);
	int added;

	if (counter)
		p->counter = counter;
	added = join(s, p, spot);
	if (added < 0)
		s->full = spot;
	else
		spot->n_points += added;
	return added < 0 ? added : 0;
}

static int on_symbol(const char *raw, uint64_t vaddr, void *arg)
{
	char plain[DEMANGLE_IN_MAX + 1];
	size_t len = strnlen(raw, sizeof(plain) - 1), version;
	struct search *s = arg;
	uint64_t offset;
	int err = 0;

	memcpy(plain, raw, len);
	plain[len] = '\0';
	/* "memcpy@@GLIBC_2.17" */
	version = strcspn(plain + (len > 0), "@") + (len > 0);
	plain[version] = '\0';
	for (size_t i = 0; i < s->spots->n && !err; i++)
		if (s->wanted[i].function && spot__is_function(&s->spots->v[i], plain, false) &&
		    object__segment_at(s->obj, vaddr, true) && object__vaddr_to_offset(s->obj, vaddr, &offset))
			err = add_point(s, &s->spots->v[i], offset, 0);
	return err;
}

static int on_inlined(const char *name, uint64_t low, uint64_t high, bool first, void *arg)
{
	struct search *s = arg;

	for (size_t i = 0; first && i < s->spots->n; i++)
		s->spots->v[i].n_inlined_here += s->wanted[i].inlined &&
						 spot__is_function(&s->spots->v[i], name, false);
	return 0;
}

/* A file of which nothing has the name of any is not read: that takes much longer than to find the name. */
static void count_inlined(struct search *s, struct object *obj, const char *debug_dir)
{
	bool any = false;
	int err;

	for (size_t i = 0; i < s->spots->n; i++) {
		const char *hint = s->spots->v[i].hint;

		s->wanted[i].inlined = s->wanted[i].function && (!hint || defined__may_be_inlined(obj, debug_dir, hint));
		any |= s->wanted[i].inlined;
	}
	err = any ? defined__each_inlined(obj, debug_dir, on_inlined, s) : 0;
	for (size_t i = 0; i < s->spots->n && err; i++)
		if (s->wanted[i].inlined)
			s->spots->v[i].unsearched_here =
				err == -ENODATA ? UNSEARCHED_SPLIT : UNSEARCHED_LONG;
}

static int on_usdt(const struct usdt *u, void *arg)
{
	struct search *s = arg;
	int err = 0;

	for (size_t i = 0; i < s->spots->n && !err; i++) {
		struct spot *spot = &s->spots->v[i];

		if (s->wanted[i].probe && !strcmp(spot->part[spot->n_parts - 2], u->provider) &&
		    !strcmp(spot->part[spot->n_parts - 1], u->name))
			err = add_point(s, spot, u->offset, u->counter);
	}
	return err;
}

int spots__find(struct spots *s, struct object *obj, const char *debug_dir, struct spot_points *ret, struct err *e)
{
	struct search search = { .spots = s, .obj = obj };
	bool functions = false, probes = false;
	int err = 0;

	for (size_t i = 0; i < s->n; i++) {
		s->v[i].n_inlined_here = 0;
		s->v[i].unsearched_here = SEARCHED;
	}
	if (readers__are_apart())
		return spots_apart__find(s, obj, debug_dir, ret, e);
	for (size_t i = 0; i < s->n; i++) {
		const struct spot *spot = &s->v[i];

		/* of two parts, the first may be a file, or a provider, whose probes may be in any file */
		search.wanted[i].function = function_of(spot) && spot__may_be_in(spot, obj);
		search.wanted[i].probe = spot->n_parts == 2 || (spot->n_parts == 3 && spot__may_be_in(spot, obj));
		functions |= search.wanted[i].function;
		probes |= search.wanted[i].probe;
	}
	if (functions)
		err = defined__each(obj, debug_dir, on_symbol, &search);
	if (functions && !err)
		count_inlined(&search, obj, debug_dir);
	if (!err && probes)
		err = usdt__each(obj, on_usdt, &search);
	for (size_t i = 0; i < s->n && !err; i++) {
		s->v[i].n_inlined += s->v[i].n_inlined_here;
		s->v[i].n_unsearched += s->v[i].unsearched_here != SEARCHED;
	}
	if (!err) {
		*ret = search.points;
		return 0;
	}
	vec_done(&search.points);
	return err_set(e, err, "%s %s: no more than %d such options can match one function", search.full->option,
		       search.full->text, MT_SPOTS_AT_ONCE);
}
