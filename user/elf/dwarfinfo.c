// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the way from an address to DWARF's functions.
 *
 * libdw finds the scopes of an address by walking the whole unit each time:
 * milliseconds in a big C++ file. So two indexes of our own stand before it:
 * units by address (from the units' own ranges, as .debug_aranges is often
 * missing), made at once; and per unit, when it is first met, its functions by
 * address with the inlined calls in each. A search is then two binary searches
 * and a walk over the inlined calls of one function.
 *
 * Inlined calls are kept in the order of the file, a function's own in one
 * piece, outer ones before inner ones: a chain is followed in one pass.
 *
 * The file is hostile. Every walk has a budget taken from the size of what it
 * walks over, so that references in circles or ranges shared by a million
 * functions cost time in proportion to the file and no more.
 */
#include "elf/debugfile.h"

#include <dwarf.h>
#include <errno.h>
#include <libelf.h>
#include <string.h>

#include "elf/object.h"
#include "elf/symtab.h"
#include "util/sorted.h"

#define UNITS_MAX (1u << 20)
#define UNIT_RANGES_MAX (4u << 20)	/* over all units */
#define RANGES_MAX 4096			/* of one function */
#define SPANS_MAX (4u << 20)		/* of one unit */
#define DEPTH_MAX 256			/* nesting of scopes */
#define REFS_MAX 8			/* inlined call → abstract function → declaration */
#define BACK_MAX 64			/* ranges that overlap */
#define NO_NODE UINT32_MAX

struct span {
	uint64_t low, high;
	uint32_t node;		/* of a unit's functions; in the index of units: the unit */
};

struct node {			/* a function, or a call that was inlined */
	Dwarf_Off die;
	uint32_t parent;	/* NO_NODE: a function */
	uint32_t inlines, inlines_end;	/* of a function: its calls in unit.inlines */
};

struct unit {
	Dwarf_Die die;
	Dwarf_Off off, end;
	bool indexed;
	bool c;
	bool split;		/* a skeleton: see debugfile.h */
	struct vec(struct node) nodes;
	struct vec(struct span) functions;	/* by low */
	struct vec(struct span) inlines;	/* outer before inner */
};

struct dwarfinfo {
	Dwarf *dwarf;
	const char *info;	/* the bytes of .debug_info */
	size_t info_size;
	const struct object *obj;
	struct vec(struct unit) units;
	struct vec(struct span) ranges;	/* of units, by low */
	struct hash names;	/* address of a DIE in memory → struct name */
};

struct name {
	const char *name;
	bool mangled;
};

COMPARATOR(by_low, struct span,
	   ORDER(a->low, b->low) ?: ORDER(b->high, a->high) ?: ORDER(a->node, b->node))

/* The span that holds addr and begins last. */
static const struct span *find_span(const struct span *v, size_t n, uint64_t addr)
{
	size_t i = sorted__count(s, v, n, s->low <= addr);

	for (size_t steps = 0; i > 0 && steps < BACK_MAX; i--, steps++)
		if (v[i - 1].high > addr)
			return &v[i - 1];
	return NULL;
}

#define push_span(vec, max, ...)						\
	({									\
		bool _has_room = (vec)->n < (max);				\
		if (_has_room)							\
			*vec_push(vec) = (struct span){ __VA_ARGS__ };		\
		_has_room;							\
	})

static void add_unit(struct dwarfinfo *d, Dwarf_Off off, Dwarf_Off end, size_t header)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;
	Dwarf_Die die;
	struct unit *u;
	int tag, lang;

	if (!dwarf_offdie(d->dwarf, off + header, &die))
		return;
	tag = dwarf_tag(&die);
	if (tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit)
		return;
	u = vec_push(&d->units);
	u->die = die;
	u->off = off;
	u->end = end;
	u->split = tag == DW_TAG_skeleton_unit || dwarf_hasattr(&die, DW_AT_GNU_dwo_name) || dwarf_hasattr(&die, DW_AT_dwo_name);
	lang = dwarf_srclang(&die);
	u->c = lang == DW_LANG_C || lang == DW_LANG_C89 || lang == DW_LANG_C99 || lang == DW_LANG_C11 ||
	       lang == DW_LANG_Mips_Assembler || lang == -1;
	while ((at = dwarf_ranges(&die, at, &base, &low, &high)) > 0)
		/* ranges of functions that the linker dropped begin at 0 or nowhere */
		if (stint__is_over() || (low < high && object__is_code(d->obj, low) &&
		    !push_span(&d->ranges, UNIT_RANGES_MAX, low, high, d->units.n - 1)))
			break;
}

static void find_info(struct dwarfinfo *d)
{
	Elf *elf = dwarf_getelf(d->dwarf);
	struct elf_section s = {};

	while (elffile__next_section(elf, &s)) {
		const Elf_Data *data = strcmp(s.name, ".debug_info") && strcmp(s.name, ".zdebug_info") ? NULL :
												 elf_section__bytes(&s);

		if (data) {
			d->info = data->d_buf;
			d->info_size = data->d_size;
		}
	}
}

struct dwarfinfo *dwarfinfo__new(Dwarf *dwarf, const struct object *obj)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	struct dwarfinfo *d = xcalloc(1, sizeof(*d));
	Dwarf_Off off = 0, next;
	size_t header, n = 0;

	d->dwarf = dwarf;
	d->obj = obj;
	find_info(d);
	while (n++ < UNITS_MAX && !stint__is_over() &&
	       dwarf_next_unit(dwarf, off, &next, &header, NULL, NULL, NULL, NULL, NULL, NULL) == 0) {
		if (next <= off)
			break;
		add_unit(d, off, next, header);
		off = next;
	}
	vec_sort(&d->ranges, by_low);
	return d;
}

void dwarfinfo__free(struct dwarfinfo *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->units.n; i++) {
		vec_done(&d->units.v[i].nodes);
		vec_done(&d->units.v[i].functions);
		vec_done(&d->units.v[i].inlines);
	}
	vec_done(&d->units);
	vec_done(&d->ranges);
	hash__done(&d->names);
	free(d);
}

/* Makes a node of a function or call that has code; NO_NODE if it has none. */
static uint32_t add_node(struct dwarfinfo *d, struct unit *u, Dwarf_Die *die, uint32_t parent)
{
	Dwarf_Addr base, low, high;
	uint32_t self = NO_NODE;
	ptrdiff_t at = 0;

	for (int i = 0; i < RANGES_MAX && (at = dwarf_ranges(die, at, &base, &low, &high)) > 0; i++) {
		if (low >= high || !object__is_code(d->obj, low))
			continue;
		if (self == NO_NODE) {
			if (u->nodes.n >= SPANS_MAX)
				break;
			*vec_push(&u->nodes) = (struct node){ .die = dwarf_dieoffset(die), .parent = parent,
							      .inlines = u->inlines.n, .inlines_end = u->inlines.n };
			self = u->nodes.n - 1;
		}
		if (parent == NO_NODE ? !push_span(&u->functions, SPANS_MAX, low, high, self) :
					!push_span(&u->inlines, SPANS_MAX, low, high, self))
			break;
	}
	return self;
}

struct level {
	Dwarf_Die die;
	uint32_t node;		/* the function or call around it */
	uint32_t function;	/* the node to be closed when this level ends, NO_NODE if none */
};

/* What to do with one DIE; true if what is inside it matters. */
static bool visit(struct dwarfinfo *d, struct unit *u, struct level *at, struct level *inside)
{
	inside->node = at->node;
	inside->function = NO_NODE;
	switch (dwarf_tag(&at->die)) {
	case DW_TAG_subprogram:
		inside->node = inside->function = add_node(d, u, &at->die, NO_NODE);
		return inside->node != NO_NODE;
	case DW_TAG_inlined_subroutine:
		if (at->node == NO_NODE)
			return false;
		inside->node = add_node(d, u, &at->die, at->node);
		return inside->node != NO_NODE;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		return at->node != NO_NODE;
	case DW_TAG_namespace:
	case DW_TAG_module:
		return true;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		/* C++ compilers keep code out of their classes; Rust's and others do not. */
		switch (dwarf_srclang(&u->die)) {
		case DW_LANG_C_plus_plus:
		case DW_LANG_C_plus_plus_03:
		case DW_LANG_C_plus_plus_11:
		case DW_LANG_C_plus_plus_14:
			return false;
		}
		return !u->c;
	default:
		return false;
	}
}

static void index_unit(struct dwarfinfo *d, struct unit *u)
{
	uint64_t budget = u->end - u->off;
	struct level *levels = xcalloc(DEPTH_MAX, sizeof(*levels));
	int depth = 0;

	u->indexed = true;
	levels[0].node = levels[0].function = NO_NODE;
	if (dwarf_child(&u->die, &levels[0].die) != 0)
		depth = -1;
	while (depth >= 0 && budget-- > 0 && !stint__is_over()) {
		struct level *at = &levels[depth];
		Dwarf_Off here = dwarf_dieoffset(&at->die);

		if (depth + 1 < DEPTH_MAX && visit(d, u, at, at + 1) &&
		    dwarf_child(&at->die, &at[1].die) == 0) {
			depth++;
			continue;
		}
		/* Up to the next DIE that is not yet done. A sibling before its elder is a loop. */
		while (depth >= 0) {
			at = &levels[depth];
			here = dwarf_dieoffset(&at->die);
			if (dwarf_siblingof(&at->die, &at->die) == 0 && dwarf_dieoffset(&at->die) > here)
				break;
			if (at->function != NO_NODE)
				u->nodes.v[at->function].inlines_end = u->inlines.n;
			depth--;
		}
	}
	for (; depth >= 0; depth--)
		if (levels[depth].function != NO_NODE)
			u->nodes.v[levels[depth].function].inlines_end = u->inlines.n;
	free(levels);
	vec_sort(&u->functions, by_low);
}

/*
 * libdw checks that strings of string sections end; for one in the DIE itself
 * (DW_FORM_string) it does not, as of 0.188.
 */
static const char *attr_string(struct dwarfinfo *d, Dwarf_Die *die, unsigned int at)
{
	Dwarf_Attribute attr;
	const char *s;

	if (!dwarf_attr(die, at, &attr))
		return NULL;
	s = dwarf_formstring(&attr);
	if (!s || !*s)
		return NULL;
	if (dwarf_whatform(&attr) == DW_FORM_string) {
		if (s < d->info || s >= d->info + d->info_size || !memchr(s, '\0', d->info + d->info_size - s))
			return NULL;
	}
	return s;
}

static bool is_type(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

static const char *qualify(struct dwarfinfo *d, Dwarf_Die *die, const char *name, struct pool *names, bool is_scope);

/* "ns::function" for a function that is defined elsewhere than it is declared: its declaration has name and scope. */
static const char *declared_name(struct dwarfinfo *d, Dwarf_Die *die, struct pool *names)
{
	Dwarf_Die at = *die;

	for (int i = 0; i < REFS_MAX; i++) {
		const char *name = attr_string(d, &at, DW_AT_name);
		Dwarf_Attribute ref;

		if (name)
			return qualify(d, &at, name, names, true);
		if (!dwarf_attr(&at, DW_AT_abstract_origin, &ref) && !dwarf_attr(&at, DW_AT_specification, &ref))
			break;
		if (!dwarf_formref_die(&ref, &at))
			break;
	}
	return NULL;
}

/*
 * "ns::type::name", "ns::function::{lambda}::operator()" for a function without a linkage name: found from the unit down to its DIE.
 * is_scope: name is that of a scope of it; what is around that function is not looked for.
 */
static const char *qualify(struct dwarfinfo *d, Dwarf_Die *die, const char *name, struct pool *names, bool is_scope)
{
	Dwarf_Off target = dwarf_dieoffset(die), unit_off;
	Dwarf_Die scope, next;
	char path[1024] = "";
	size_t len = 0, budget = 1u << 20;

	if (!dwarf_diecu(die, &scope, NULL, NULL))
		return name;
	unit_off = dwarf_dieoffset(&scope);
	if (target <= unit_off)
		return name;
	for (int depth = 0; depth < 32 && dwarf_child(&scope, &next) == 0; depth++) {
		const char *part;
		int tag;

		scope = next;
		while (budget-- > 0 && !stint__is_over() && dwarf_siblingof(&scope, &next) == 0 && dwarf_dieoffset(&next) <= target &&
		       dwarf_dieoffset(&next) > dwarf_dieoffset(&scope))
			scope = next;
		if (!budget || dwarf_dieoffset(&scope) >= target)
			break;
		tag = dwarf_tag(&scope);
		part = attr_string(d, &scope, DW_AT_name);
		if (tag == DW_TAG_namespace && !part)
			part = "(anonymous namespace)";
		/* a closure has no name, or "<lambda(int)>" */
		if (is_type(tag) && (!part || *part == '<') && !strcmp(name, "operator()"))
			part = "{lambda}";
		if (tag == DW_TAG_subprogram && !part && !is_scope) {
			part = declared_name(d, &scope, names);
			len = part ? 0 : len;
		}
		if ((tag != DW_TAG_namespace && tag != DW_TAG_subprogram && !is_type(tag)) || !part)
			continue;
		len += snprintf(path + len, sizeof(path) - len, "%s::", part);
		if (len >= sizeof(path))
			return name;
	}
	if (!len)
		return name;
	len += snprintf(path + len, sizeof(path) - len, "%s", name);
	return len < sizeof(path) ? pool__string(names, path) : name;
}

static struct name find_name(struct dwarfinfo *d, const struct unit *u, Dwarf_Die *die, struct pool *names)
{
	const struct name *have = NULL;
	struct name got = { 0 }, *keep;
	Dwarf_Die at = *die, named = *die;
	uint64_t key = 0;

	for (int i = 0; i < REFS_MAX; i++) {
		Dwarf_Attribute ref;
		const char *s;

		/* All calls of a function share its abstract DIE: that is where the name is kept. */
		if (i == 1) {
			key = (uintptr_t)at.addr;
			have = hash__get(&d->names, key);
			if (have)
				return *have;
		}
		/* In C a linkage name is an alias of the library's own (__GI___libc_malloc). */
		s = u->c ? NULL : attr_string(d, &at, DW_AT_linkage_name);
		if (!s && !u->c)
			s = attr_string(d, &at, DW_AT_MIPS_linkage_name);
		if (s) {
			got = (struct name){ s, true };
			break;
		}
		s = attr_string(d, &at, DW_AT_name);
		if (s && !got.name)
			got.name = s;
		named = at;
		if (!dwarf_attr(&at, DW_AT_abstract_origin, &ref) && !dwarf_attr(&at, DW_AT_specification, &ref))
			break;
		if (!dwarf_formref_die(&ref, &at))
			break;
	}
	if (got.name && !got.mangled && !u->c)
		got.name = qualify(d, &named, got.name, names, false);
	if (key) {
		keep = pool__alloc(names, sizeof(*keep));
		*keep = got;
		hash__put(&d->names, key, keep);
	}
	return got;
}

static void call_site(struct unit *u, Dwarf_Die *die, const char **file, uint32_t *line)
{
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	Dwarf_Word n;
	size_t n_files;

	*file = NULL;
	*line = 0;
	if (dwarf_attr(die, DW_AT_call_file, &attr) && dwarf_formudata(&attr, &n) == 0 &&
	    dwarf_getsrcfiles(&u->die, &files, &n_files) == 0 && n < n_files)
		*file = dwarf_filesrc(files, n, NULL, NULL);
	if (*file && dwarf_attr(die, DW_AT_call_line, &attr) && dwarf_formudata(&attr, &n) == 0)
		*line = n > INT32_MAX ? 0 : n;
}

static void position(struct unit *u, uint64_t addr, const char **file, uint32_t *line)
{
	Dwarf_Line *l = dwarf_getsrc_die(&u->die, addr);
	int n;

	*file = l ? dwarf_linesrc(l, NULL, NULL) : NULL;
	*line = *file && dwarf_lineno(l, &n) == 0 && n > 0 ? n : 0;
}

void dwarfinfo__find(struct dwarfinfo *d, uint64_t addr, bool lines, struct pool *names, struct dwarf_frames *ret)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	const struct span *range = find_span(d->ranges.v, d->ranges.n, addr), *f;
	uint32_t chain[DWARF_INLINES_MAX + 1], line = 0;
	const char *file = NULL, *comp_dir = NULL;
	size_t n = 0;
	struct unit *u;

	ret->n = 0;
	ret->split = false;
	if (!range)
		return;
	u = &d->units.v[range->node];
	ret->c = u->c;
	ret->split = u->split;
	if (!u->indexed)
		index_unit(d, u);
	if (lines) {
		position(u, addr, &file, &line);
		comp_dir = attr_string(d, &u->die, DW_AT_comp_dir);
	}
	f = find_span(u->functions.v, u->functions.n, addr);
	if (!f) {
		/* Assembly has lines but no functions. */
		if (file)
			ret->v[ret->n++] = (struct dwarf_frame){ .file = file, .line = line, .comp_dir = comp_dir };
		return;
	}

	chain[n++] = f->node;
	for (uint32_t i = u->nodes.v[f->node].inlines; i < u->nodes.v[f->node].inlines_end; i++) {
		const struct span *s = &u->inlines.v[i];

		if (s->low <= addr && addr < s->high && u->nodes.v[s->node].parent == chain[n - 1] &&
		    n < ARRAY_SIZE(chain))
			chain[n++] = s->node;
	}
	while (n-- > 0) {
		struct dwarf_frame *out = &ret->v[ret->n];
		struct name name;
		Dwarf_Die die;

		if (!dwarf_offdie(d->dwarf, u->nodes.v[chain[n]].die, &die))
			continue;
		name = find_name(d, u, &die, names);
		*out = (struct dwarf_frame){ .name = name.name, .mangled = name.mangled, .inlined = n > 0,
					     .file = file, .line = line, .comp_dir = comp_dir,
					     .entry = n ? 0 : f->low };
		ret->n++;
		if (n && lines)
			call_site(u, &die, &file, &line);
	}
}

int dwarfinfo__each_inlined(struct dwarfinfo *d, struct pool *names,
			    int (*fn)(const char *name, uint64_t low, uint64_t high, bool first, void *arg), void *arg)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	bool elsewhere = false;
	int r = 0;

	for (size_t i = 0; i < d->units.n && !r; i++) {
		struct unit *u = &d->units.v[i];
		uint32_t node = NO_NODE;
		struct name name = {};
		Dwarf_Die die;

		elsewhere |= u->split;
		if (!u->indexed)
			index_unit(d, u);
		for (size_t j = 0; j < u->inlines.n && !r && !stint__is_over(); j++) {
			const struct span *s = &u->inlines.v[j];
			bool first = s->node != node;

			node = s->node;
			if (first)
				name = dwarf_offdie(d->dwarf, u->nodes.v[node].die, &die) ? find_name(d, u, &die, names) : (struct name){};
			if (name.name)
				r = fn(name.name, s->low, s->high, first, arg);
		}
	}
	return r ?: stint__is_over() ? -E2BIG : elsewhere ? -ENODATA : 0;
}
