// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns pprof's profile.proto, gzipped, as `go tool pprof` and its kin read it.
 * The message is small and does not change: nine kinds of records of integers
 * and strings. Written by hand it needs neither a generator nor a library, and
 * each record can be compressed as soon as it is made, where a library would
 * want the whole message in memory.
 *
 * What always holds: the string table comes last, when all strings are known;
 * the first string is empty; a place is one location, with a line for each
 * function inlined there; a location's address is the return address as an ELF
 * address of its file, so every mapping begins at 0. Resident memory and
 * address space are never in one column (--mode growth).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "files/export_parts.h"
#include "files/export.h"
#include "model/runtimes.h"
#include "present/telling.h"
#include "util/ids.h"
#include "util/util.h"

/*
 * ---- drop_frames: which functions only pass a call on to the allocator (malloc, operator new, wrappers around them, the C++ library), so
 * that `go tool pprof -top` names their callers. pprof removes a function that matches and all that it calls, so what always holds: a
 * function is in the expression only if no stack has it above a frame that says who wanted memory (telling.h).
 */

#define REGEX_MAX (64u << 10)

enum fact { IS_LEAF_SIDE = 1, IS_ABOVE = 2 };

struct known_frame {
	uint32_t name;		/* its number + 1; 0: none that can be used */
	bool telling;
};

struct dropping {
	const struct snapshot *s;
	struct string_ids names;
	struct vec(char *) owned;	/* names' strings */
	struct vec(unsigned char) facts;	/* by name: enum fact */
	struct vec(struct known_frame) frames;	/* of all places, one after the other */
	size_t *first;		/* by place: where its frames begin; the last one: their number */
};

/*
 * As pprof compares it: "std::vector<int>::push_back(int const&)" is "std::vector::push_back". NULL: a name that
 * pprof and this might read differently.
 */
static char *simplified(const char *name)
{
	char *ret, *to;
	int depth = 0;

	/* operator() and operator<< have brackets that enclose nothing */
	for (const char *at = name; (at = strstr(at, "operator")); at += strlen("operator"))
		if (at[strlen("operator")] && strchr("(<>-", at[strlen("operator")]))
			return NULL;
	ret = to = xstrdup(name);
	for (; *name; name++) {
		if (*name < ' ' || *name > '~') {
			free(ret);
			return NULL;
		}
		depth += *name == '<' || *name == '(';
		if (!depth)
			*to++ = *name;
		depth -= *name == '>' || *name == ')';
	}
	*to = '\0';
	if (depth || !*ret) {
		free(ret);
		return NULL;
	}
	return ret;
}

/* The number of a function's name + 1; 0: it cannot be used. */
static uint32_t name_of(struct dropping *d, const char *function)
{
	char *name = function ? simplified(function) : NULL;
	uint32_t id;

	if (!name)
		return 0;
	string_ids__get(&d->names, name, &id);
	if (id < d->owned.n) {
		free(name);
		return id + 1;
	}
	*(char **)vec_push(&d->owned) = name;
	*(unsigned char *)vec_push(&d->facts) = 0;
	return id + 1;
}

static void take_places(struct dropping *d)
{
	d->first = xcalloc(d->s->n_places + 1, sizeof(*d->first));
	for (size_t i = 0; i < d->s->n_places; i++) {
		const struct place *place = &d->s->places[i];

		d->first[i] = d->frames.n;
		for (size_t k = 0; k < place__n_frames(place); k++) {
			struct frame f = place__frame(d->s, place, k);
			struct known_frame *to = vec_push(&d->frames);

			*to = (struct known_frame){ name_of(d, f.line ? f.line->function : NULL), frame__is_telling(&f) };
		}
		d->first[i + 1] = d->frames.n;
	}
}

static void take_site(struct dropping *d, const struct snap_site *site)
{
	bool found = false;

	for (uint32_t k = 0; k < site->n_stack; k++)
		for (size_t i = d->first[site->stack[k]]; i < d->first[site->stack[k] + 1]; i++) {
			const struct known_frame *f = &d->frames.v[i];

			found |= f->telling;
			if (f->name)
				d->facts.v[f->name - 1] |= found ? IS_ABOVE : IS_LEAF_SIDE;
		}
}

static void put_quoted(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("\\.+*?()|[]{}^$", *text))
			fputc('\\', out);
		fputc(*text, out);
	}
}

static char *write_regex(const struct dropping *d)
{
	char *text = NULL;
	size_t len = 0;
	bool any = false;
	FILE *out = text_stream__open(&text, &len);

	for (size_t i = 0; i < d->facts.n && ftell(out) < REGEX_MAX; i++) {
		if (d->facts.v[i] != IS_LEAF_SIDE)
			continue;
		fputs(any ? "|" : "(?:", out);
		put_quoted(out, d->names.v[i]);
		any = true;
	}
	if (any)
		fputs(")(?: const)?", out);
	text_stream__close(out);
	return text;
}

char *drop_frames__regex(const struct snapshot *s)
{
	struct dropping d = { .s = s };
	char *ret;

	take_places(&d);
	for (size_t i = 0; i < s->n_sites; i++)
		take_site(&d, &s->sites[i]);
	ret = write_regex(&d);
	string_ids__done(&d.names);
	for (size_t i = 0; i < d.owned.n; i++)
		free(d.owned.v[i]);
	vec_done(&d.owned);
	vec_done(&d.facts);
	vec_done(&d.frames);
	free(d.first);
	return ret;
}

/* ---- the profile */

/* Field numbers of profile.proto. */
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE = 2, PROFILE_MAPPING = 3, PROFILE_LOCATION = 4, PROFILE_FUNCTION = 5,
       PROFILE_STRING = 6, PROFILE_DROP_FRAMES = 7, PROFILE_TIME_NS = 9, PROFILE_DURATION_NS = 10, PROFILE_PERIOD_TYPE = 11, PROFILE_PERIOD = 12,
       PROFILE_COMMENT = 13, PROFILE_DEFAULT_TYPE = 14 };
enum { VALUE_TYPE = 1, VALUE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_STR = 2 };
enum { MAPPING_ID = 1, MAPPING_LIMIT = 3, MAPPING_FILE = 5, MAPPING_BUILD_ID = 6, MAPPING_HAS_FUNCTIONS = 7,
       MAPPING_HAS_FILES = 8, MAPPING_HAS_LINES = 9, MAPPING_HAS_INLINES = 10 };
enum { LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_NUMBER = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4 };

#define MAPPING_MIN (1ull << 32)
#define CHUNK 32768

struct bytes vec(unsigned char);

struct pprof {
	FILE *out;
	const struct snapshot *s;
	z_stream z;
	unsigned char *deflated;	/* CHUNK bytes */
	struct bytes record, inner;	/* of the record that is being made, and of one inside it */
	struct string_ids strings;
	struct key_ids functions;	/* (name, file) */
	int err;
};

/* ---- protocol buffers */

static void put_varint(struct bytes *to, uint64_t n)
{
	for (; n >= 0x80; n >>= 7)
		*vec_push(to) = (unsigned char)(n | 0x80);
	*vec_push(to) = (unsigned char)n;
}

/* 0 is what a reader takes a missing field for */
static void put_u64(struct bytes *to, unsigned int field, uint64_t n)
{
	if (!n)
		return;
	put_varint(to, field << 3);
	put_varint(to, n);
}

/* The inner record becomes a field of the outer one. */
static void put_inner(struct pprof *p, unsigned int field)
{
	put_varint(&p->record, field << 3 | 2);
	put_varint(&p->record, p->inner.n);
	vec_append(&p->record, p->inner.v, p->inner.n);
	p->inner.n = 0;
}

static uint32_t string(struct pprof *p, const char *s)
{
	uint32_t id = 0;

	string_ids__get(&p->strings, s, &id);
	return id;
}

static void put_str(struct pprof *p, struct bytes *to, unsigned int field, const char *s)
{
	put_u64(to, field, string(p, s));
}

/* ---- gzip */

static void deflate_all(struct pprof *p, const void *v, size_t n, int flush)
{
	if (p->err)
		return;
	p->z.next_in = (void *)v;
	p->z.avail_in = (uInt)n;
	do {
		p->z.next_out = p->deflated;
		p->z.avail_out = CHUNK;
		if (deflate(&p->z, flush) == Z_STREAM_ERROR)
			p->err = -EIO;
		fwrite(p->deflated, 1, CHUNK - p->z.avail_out, p->out);
	} while (!p->z.avail_out && !p->err);
}

/* A field of the profile: out with it. */
static void put_field(struct pprof *p, unsigned int field, const void *v, size_t n)
{
	struct bytes head = {};

	put_varint(&head, field << 3 | 2);
	put_varint(&head, n);
	deflate_all(p, head.v, head.n, Z_NO_FLUSH);
	if (n)
		deflate_all(p, v, n, Z_NO_FLUSH);
	vec_done(&head);
}

static void put_record(struct pprof *p, unsigned int field)
{
	put_field(p, field, p->record.v, p->record.n);
	p->record.n = 0;
}

/* ---- columns */

#define N_COLUMNS 4
/* the last that is known is what a reader shows first */
static const struct metric heap_columns[N_COLUMNS] = {
	METRIC("alloc_objects", "count", "alloc_calls", HAS_ALLOC_CALLS, c.alloc_calls),
	METRIC("alloc_space", "bytes", "alloc_bytes", HAS_ALLOC_BYTES, c.alloc_bytes),
	METRIC("inuse_objects", "count", "live_blocks", HAS_LIVE_BLOCKS, c.live_blocks),
	METRIC("inuse_space", "bytes", "live_bytes", HAS_LIVE_BYTES, c.live_bytes),
};
static const struct metric growth_columns[N_COLUMNS] = {
	METRIC("mapped_calls", "count", "alloc_calls", HAS_ALLOC_CALLS, c.alloc_calls, .takes = site__is_mapped),
	METRIC("mapped_space", "bytes", "alloc_bytes", HAS_ALLOC_BYTES, c.alloc_bytes, .takes = site__is_mapped),
	METRIC("fault_calls", "count", "alloc_calls", HAS_ALLOC_CALLS, c.alloc_calls, .takes = site__is_fault),
	METRIC("fault_space", "bytes", "alloc_bytes", HAS_ALLOC_BYTES, c.alloc_bytes, .takes = site__is_fault),
};

static const struct metric *column(const struct pprof *p, size_t i)
{
	const struct metric *c = recording__is_growth(&p->s->recording) ? &growth_columns[i] : &heap_columns[i];

	return p->s->known & c->needs ? c : NULL;
}

/* ---- records */

static void value_type(struct pprof *p, unsigned int field, const char *type, const char *unit)
{
	put_str(p, &p->record, VALUE_TYPE, type);
	put_str(p, &p->record, VALUE_UNIT, unit);
	put_record(p, field);
}

/* A number that stands in the profile itself */
static void profile_u64(struct pprof *p, unsigned int field, uint64_t n)
{
	struct bytes b = {};

	put_u64(&b, field, n);
	if (b.n)
		deflate_all(p, b.v, b.n, Z_NO_FLUSH);
	vec_done(&b);
}

/* first: the sample type that a reader shows first; NULL: the last one that is known */
static void header(struct pprof *p, const char *first)
{
	const struct snapshot *s = p->s;
	const char *shown = "";

	string(p, "");
	for (size_t i = 0; i < N_COLUMNS; i++) {
		const struct metric *c = column(p, i);

		if (!c)
			continue;
		value_type(p, PROFILE_SAMPLE_TYPE, c->name, c->unit);
		if (!first || strcmp(shown, first))
			shown = c->name;
	}
	profile_u64(p, PROFILE_TIME_NS, (uint64_t)s->wall_start_ns);
	profile_u64(p, PROFILE_DURATION_NS, s->duration_ns);
	value_type(p, PROFILE_PERIOD_TYPE, "space", "bytes");
	profile_u64(p, PROFILE_PERIOD, s->recording.sample_bytes ? s->recording.sample_bytes : 1);
	profile_u64(p, PROFILE_DEFAULT_TYPE, string(p, shown));
}

struct range {
	uint64_t limit;
	bool named, inlined;
};

static void mapping(struct pprof *p, size_t i, const struct range *r)
{
	const struct snapshot *s = p->s;

	put_u64(&p->record, MAPPING_ID, i + 1);
	put_u64(&p->record, MAPPING_LIMIT, r->limit);
	put_str(p, &p->record, MAPPING_FILE, s->modules[i].path);
	put_str(p, &p->record, MAPPING_BUILD_ID, s->modules[i].build_id);
	put_u64(&p->record, MAPPING_HAS_FUNCTIONS, r->named);
	put_u64(&p->record, MAPPING_HAS_FILES, r->named);
	put_u64(&p->record, MAPPING_HAS_LINES, r->named);
	put_u64(&p->record, MAPPING_HAS_INLINES, r->inlined);
	put_record(p, PROFILE_MAPPING);
}

/* The module that a process runs: the one that allocated most, of those that have one. n_modules: none. */
static size_t program_of(const struct snapshot *s)
{
	size_t ret = s->n_modules;
	uint64_t most = 0;

	for (size_t k = 0; k < s->n_processes; k++) {
		const struct snap_process *p = &s->processes[k];

		for (size_t i = 0; p->exe && (ret == s->n_modules || p->c.alloc_bytes > most) && i < s->n_modules; i++)
			if (!strcmp(s->modules[i].path, p->exe)) {
				ret = i;
				most = p->c.alloc_bytes;
				break;
			}
	}
	return ret;
}

/*
 * Where files were mapped is not kept. A size that most files fit into is the
 * same in every profile, so that those of several runs can be added up.
 */
static void mappings(struct pprof *p)
{
	const struct snapshot *s = p->s;
	_cleanup_free_ struct range *ranges = xcalloc(s->n_modules + 1, sizeof(*ranges));
	size_t program;

	for (size_t i = 0; i < s->n_modules; i++)
		ranges[i].limit = MAPPING_MIN;
	for (size_t i = 0; i < s->n_places; i++) {
		const struct place *place = &s->places[i];
		struct range *r = place->module >= 0 ? &ranges[place->module] : NULL;

		if (!r)
			continue;
		while (place->offset >= r->limit && r->limit < 1ull << 63)
			r->limit <<= 1;
		r->named |= place->resolved && place->n_lines;
		r->inlined |= place->resolved && place->n_lines > 1;
	}
	/* readers take the first one for the program, and name the profile by it */
	program = program_of(s);
	if (program < s->n_modules)
		mapping(p, program, &ranges[program]);
	for (size_t i = 0; i < s->n_modules; i++)
		if (i != program)
			mapping(p, i, &ranges[i]);
}

/*
 * Readers shorten a name that is the linker's, too: go tool pprof leaves out what is in angle brackets, which are C++'s
 * templates, and Python's <module> would be nothing. Functions of Python have no name for a linker.
 */
static uint64_t function(struct pprof *p, const struct line *l, bool for_linkers)
{
	uint64_t name = string(p, l->function);
	uint32_t id = 0;

	key_ids__get(&p->functions, (struct key){ .a = name, .b = string(p, l->file), .c = for_linkers ? name : 0 }, &id, NULL);
	return id + 1;
}

static void locations(struct pprof *p)
{
	const struct snapshot *s = p->s;

	for (size_t i = 0; i < s->n_places; i++) {
		const struct place *place = &s->places[i];
		bool for_linkers = place->module < 0 || !is_python_module(s->modules[place->module].path);

		put_u64(&p->record, LOCATION_ID, i + 1);
		put_u64(&p->record, LOCATION_MAPPING, (uint64_t)place->module + 1);
		put_u64(&p->record, LOCATION_ADDRESS, place->offset);
		for (size_t k = 0; place->resolved && k < place->n_lines; k++) {
			const struct line *l = &place->lines[k];

			if (!l->function || !*l->function)
				continue;
			put_u64(&p->inner, LINE_FUNCTION, function(p, l, for_linkers));
			put_u64(&p->inner, LINE_NUMBER, l->line);
			put_inner(p, LOCATION_LINE);
		}
		put_record(p, PROFILE_LOCATION);
	}
	/* a sample must have a location */
	put_u64(&p->record, LOCATION_ID, s->n_places + 1);
	put_u64(&p->inner, LINE_FUNCTION, function(p, &(struct line){ .function = "[no stack]" }, true));
	put_inner(p, LOCATION_LINE);
	put_record(p, PROFILE_LOCATION);
}

static void functions(struct pprof *p)
{
	for (size_t i = 0; i < p->functions.n; i++) {
		put_u64(&p->record, FUNCTION_ID, i + 1);
		put_u64(&p->record, FUNCTION_NAME, p->functions.v[i].a);
		put_u64(&p->record, FUNCTION_SYSTEM_NAME, p->functions.v[i].c);
		put_u64(&p->record, FUNCTION_FILE, p->functions.v[i].b);
		put_record(p, PROFILE_FUNCTION);
	}
}

/* Of a sample: whose it is, and by what those who have many machines ask. */
static void put_labels(struct pprof *p, const struct snap_site *site, const char *pid)
{
	const struct snap_process *of = &p->s->processes[site->process];
	const struct {
		const char *key, *value;
	} labels[] = {
		{ "pid", pid }, { "comm", of->comm },
		{ "cgroup", of->cgroup }, { "container", of->container }, { "unit", of->unit }, { "pod", of->pod },
		{ "thread", site->thread }, { "tag", site->tag ? p->s->tags[site->tag - 1].name : NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
		if (!labels[i].value || !*labels[i].value)
			continue;
		put_str(p, &p->inner, LABEL_KEY, labels[i].key);
		put_str(p, &p->inner, LABEL_STR, labels[i].value);
		put_inner(p, SAMPLE_LABEL);
	}
}

/* pids: as texts, by process; empty for a row of several */
static void samples(struct pprof *p, const char (*pids)[16])
{
	const struct snapshot *s = p->s;

	for (size_t i = 0; i < s->n_sites; i++) {
		const struct snap_site *site = &s->sites[i];

		for (uint32_t k = 0; k < site->n_stack; k++)
			put_varint(&p->inner, site->stack[k] + 1ull);
		if (!site->n_stack)
			put_varint(&p->inner, s->n_places + 1);
		put_inner(p, SAMPLE_LOCATION);
		for (size_t k = 0; k < N_COLUMNS; k++)
			if (column(p, k))
				put_varint(&p->inner, metric__of(column(p, k), site));
		put_inner(p, SAMPLE_VALUE);
		put_labels(p, site, pids[site->process]);
		put_record(p, PROFILE_SAMPLE);
	}
}

static int write_all(struct pprof *p, const struct export_opts *o)
{
	const struct snapshot *s = p->s;
	struct export_notes notes = {};
	char (*pids)[16] = xcalloc(s->n_processes + 1, sizeof(*pids)), *drop = drop_frames__regex(s);

	p->deflated = xmalloc(CHUNK);
	export_notes__init(&notes, s);
	for (size_t i = 0; i < s->n_processes; i++)
		if (s->processes[i].pid > 0)
			snprintf(pids[i], sizeof(pids[i]), "%d", s->processes[i].pid);
	header(p, o ? o->shown_first : NULL);
	/* what `-comments` prints */
	for (size_t i = 0; i < notes.n; i++)
		profile_u64(p, PROFILE_COMMENT, string(p, notes.v[i]));
	profile_u64(p, PROFILE_DROP_FRAMES, string(p, drop));
	mappings(p);
	locations(p);
	functions(p);
	samples(p, pids);
	for (size_t i = 0; i < p->strings.n; i++)
		put_field(p, PROFILE_STRING, p->strings.v[i], strlen(p->strings.v[i]));
	deflate_all(p, NULL, 0, Z_FINISH);
	/* the table of strings pointed here */
	export_notes__done(&notes);
	free(drop);
	free(pids);
	return p->err;
}

int pprof__write(FILE *out, const struct snapshot *s, const struct export_opts *o, struct err *e)
{
	struct pprof p = { .out = out, .s = s };
	int err;

	/* 16 more: gzip's header, without a time, so that the same profile gives the same file */
	if (deflateInit2(&p.z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		xmalloc__end();
	err = write_all(&p, o);
	deflateEnd(&p.z);
	free(p.deflated);
	vec_done(&p.record);
	vec_done(&p.inner);
	string_ids__done(&p.strings);
	key_ids__done(&p.functions);
	if (!err && ferror(out))
		err = -EIO;
	return err ? err_set(e, err, "cannot write the pprof profile: %s", strerror(-err)) : 0;
}
