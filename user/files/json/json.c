// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the order of the JSON profile, schema "malloctrace/2": a line for each key of
 * the whole, for each process, site and frame, so that a profile can be read by
 * eye and compared by diff. What a row has is in the tables of model/schema.c.
 *
 * What always holds: every key of the schema is there; one without meaning is
 * null. Keys may be added, never renamed: scripts depend on them. Of a profile of
 * so many sites that nobody reads it by eye, sites have no keys that are empty.
 */
#include <errno.h>
#include <string.h>

#include "files/export.h"
#include "files/json/json_members.h"
#include "model/heaps.h"
#include "model/marks.h"

#define FULL_SITES 10000	/* a site with all its keys is a kilobyte, most of it zeros */
#define SCHEMA "malloctrace/2"

/* ---- whose it is */

static void write_schema(struct writer *w, const struct member *m, const void *row)
{
	json__str(w->j, m->key, SCHEMA);
}

static int read_schema(struct reader *r, const struct member *m, json_t *from, void *row)
{
	const char *schema = json_string_value(json_object_get(from, m->key));

	if (!schema)
		return err_set(r->e, -EINVAL, "not a malloctrace profile: \"schema\": \"" SCHEMA "\" is missing");
	if (strcmp(schema, SCHEMA) && strcmp(schema, "malloctrace/1"))
		return err_set(r->e, -EINVAL,
			       "this version reads the schemas \"malloctrace/1\" and \"" SCHEMA
			       "\", and the profile has another one");
	return 0;
}

#define WHOSE \
	OWN("schema", write_schema, read_schema, .line = 2), \
	OBJECT("tool", &tool_fields, .line = 2), \
	OBJECT("host", &host_fields, .line = 2)

/* ---- marks, probes, sources */

/* Read before the processes are: an id, until all are known. */
static int read_mark(struct reader *r, const struct member *m, json_t *from, void *row)
{
	const struct snap_mark *mark = row;

	if (!mark->name)
		return err_set(r->e, -EINVAL, "marks: one has no name");
	return reader__row(r, from, row, THESE(ROW(m->key, FIELD_U32, m->offset)), "marks");
}

/* What was an id becomes an index. A mark of no process is left out. */
static int settle_marks(struct reader *r, const struct member *m, json_t *from, void *row)
{
	struct snap_mark *rows = (struct snap_mark *)r->s->marks;
	size_t kept = 0;

	for (size_t i = 0; i < r->s->n_marks; i++) {
		uint32_t index;

		if (!key_ids__find(&r->process_ids, (struct key){ .a = rows[i].process }, &index))
			continue;
		rows[kept] = rows[i];
		rows[kept++].process = index;
	}
	r->s->n_marks = kept;
	return 0;
}

/* An allocator whose usable sizes are not known, among others. */
static unsigned int known_of_probe(const struct snapshot *s, const void *row, unsigned int known)
{
	const struct snap_probe *p = row;

	return known | (p->size != s->recording.size ? KNOWN_OWN_SIZE : 0);
}

static int read_own_size(struct reader *r, const struct member *m, json_t *from, void *row)
{
	struct snap_probe *p = row;

	if (!json_value__is_there(json_object_get(from, "size")))
		p->size = r->s->recording.size;
	return 0;
}

#define LINES_MAX 1000000

static bool has_no_lines(const void *row)
{
	const struct snap_source *source = row;

	return !source->n;
}

static int check_source(struct reader *r, const struct member *m, json_t *from, void *row)
{
	const struct snap_source *source = row;

	if (!source->file || !source->from || source->from > UINT32_MAX - LINES_MAX)
		return err_set(r->e, -EINVAL, "a source: want a file, and the number of its first line");
	return 0;
}

/* ---- how good it is */

static int read_known(struct reader *r, const struct member *m, json_t *from, void *row)
{
	struct snapshot *s = r->s;

	/* where frees are counted they were seen, but in this mode */
	if (json_is_integer(json_object_get(from, "free_calls")) && !recording__is_leak(&s->recording))
		s->known |= HAS_LIFETIMES;
	for (size_t i = 0; i < counter_fields.n; i++)
		if (json_is_integer(json_object_get(from, counter_fields.v[i].key)))
			s->known |= counter_fields.v[i].needs;
	return 0;
}

static void write_counters(struct writer *w, const struct member *m, const void *row)
{
	const struct snap_counter *const *v = (const void *)((const char *)row + m->offset);
	size_t n = *(const size_t *)((const char *)row + m->count);

	json__object(w->j, m->key);
	if (m->fields)
		json__row(w->j, m->fields, row, w->s->known);
	for (size_t i = 0; i < n; i++)
		json__u64(w->j, (*v)[i].name, (*v)[i].n);
	json__object_end(w->j);
}

/* Names and what they mean are this version's; one of another version's speaks for itself. */
static int read_counters(struct reader *r, const struct member *m, json_t *from, void *row)
{
	json_t *counters = json_object_get(from, m->key), *n;
	struct snap_counter *v, *c;
	const char *key;
	int err;

	/* every trace wrote its losses: nobody can say that a file without them has none */
	if (!counters)
		return m->fields && json_object_get(from, "totals") ?
			       err_set(r->e, -EINVAL, "%s: missing, so figures may be incomplete", m->key) : 0;
	if (!json_is_object(counters))
		return err_set(r->e, -EINVAL, "losses and edges: want an object");
	err = m->fields ? reader__row(r, counters, row, m->fields, m->key) : 0;
	c = v = snapshot__alloc(r->s, json_object_size(counters) + 1, sizeof(*c));
	json_object_foreach(counters, key, n) {
		if (!json_is_integer(n) || json_integer_value(n) < 0)
			return err ?: err_set(r->e, -EINVAL, "losses and edges: want numbers");
		if (!strcmp(key, "total"))
			continue;
		c->name = reader__string(r, key);
		c->n = (uint64_t)json_integer_value(n);
		c->says = counter__says(c->name, c->n);
		c++;
	}
	*(const void **)((char *)row + m->offset) = v;
	*(size_t *)((char *)row + m->count) = (size_t)(c - v);
	return err;
}

#define COUNTERS(its_key, v, n, ...) \
	OWN(its_key, write_counters, read_counters, .offset = AT(snapshot, v), \
	    .count = AT(snapshot, n), .line = 2, __VA_ARGS__)

/* ---- the whole */

#define KNOWN_BY(name, known_of_row) \
	static unsigned int name(const struct snapshot *s, const void *row, unsigned int known) \
	{ \
		return known_of_row(s, row); \
	}

KNOWN_BY(known_of_mark, marks__known)
KNOWN_BY(known_of_process, process__known)
KNOWN_BY(known_of_site, site__known)
KNOWN_BY(known_of_heap, heap__known)

#define LISTED_MAX 100000	/* rows */
#define LIST(key, fields, v, ...) ROWS(key, fields, snapshot, v, n_##v, .row_line = 4, __VA_ARGS__)
#define HEAPS \
	LIST("heap", NULL, heaps, .members = heap_members, .max = HEAPS_MAX, .line = 2, \
	     .known = known_of_heap, .any = AT(snapshot, n_heaps), .empty = EMPTY_IS_NULL)

static const struct member whole_members[] = {
	WHOSE,
	OBJECT("machine", &machine_fields, .offset = AT(snapshot, machine), .line = 2,
	       .flag = AT(snapshot, machine.known), OR_ABSENT),
	OF_FIELDS(&recording_fields),
	/* more than a trace lists; null of a version before */
	LIST("marks", &mark_fields, marks, .max = 4096, .known = known_of_mark,
	     .empty = EMPTY_IS_NULL,
	     MEMBERS(OWN("process", json__process, read_mark, .offset = AT(snap_mark, process)))),
	LIST("probes", &probe_fields, probes, .what = "a probe", .max = LISTED_MAX, .line = 2,
	     .known = known_of_probe,
	     MEMBERS(OWN(NULL, NULL, read_own_size),
		     STRINGS("functions", snap_probe, functions, n_functions))),
	OBJECT("totals", NULL, .line = 2,
	       MEMBERS(OF_FIELDS(&counter_fields, .offset = AT(snapshot, totals)),
		       STANDARD_ERROR(snapshot), OWN(NULL, NULL, read_known))),
	COUNTERS("losses", losses, n_losses,
		 .fields = THESE(ROW("total", FIELD_U64, AT(snapshot, losses_total)))),
	COUNTERS("edges", edges, n_edges),
	/* what the block table itself holds: at rest the same as the live totals */
	OBJECT("scan", &scan_fields, .flag = AT(snapshot, scanned), .needs = HAS_LIVE_BLOCKS,
	       OR_ABSENT, .line = 2),
	/* of ended processes, what is kept as sums alone */
	OBJECT("folded", &folded_fields, .line = 2),
	OBJECT("stacks", &stack_fields, .line = 2),
	OBJECT("overhead", &overhead_fields, .line = 2),
	/* totals are those of the sites and these together */
	OBJECT("hidden", &hidden_fields, .offset = AT(snapshot, hidden), .line = 2,
	       .any = AT(snapshot, hidden.by), OR_ABSENT),
	LIST("snapshots", &taken_fields, taken, .what = "a snapshot", .max = LISTED_MAX,
	     .any = AT(snapshot, n_taken), OR_ABSENT, .line = 2),
	LIST("modules", &module_fields, modules, .what = "a module", .max = LISTED_MAX, .line = 2),
	OWN(NULL, NULL, reader__modules),
	LIST("tags", THESE(ROW("name", FIELD_STR, AT(snap_tag, name)),
			   ROW("thread", FIELD_BOOL, AT(snap_tag, thread)),
			   ROW("entered", FIELD_BOUND, AT(snap_tag, entered))),
	     tags, .what = "a tag", .max = LISTED_MAX, .any = AT(snapshot, n_tags), OR_ABSENT,
	     .write = json__tags, .line = 2),
	OWN(NULL, NULL, reader__tags),
	LIST("processes", &process_fields, processes, .what = "a process",
	     .members = process_members, .max = 500000, .known = known_of_process, .line = 2),
	LIST("sites", NULL, sites, .what = "a site", .members = site_members, .max = 2000000,
	     .known = known_of_site, .terse = true, .line = 2),
	LIST("free_sites", NULL, free_sites, .what = "a free site", .members = free_site_members,
	     .max = 2000000, .flag = AT(snapshot, recording.free_stacks), OR_ABSENT, .line = 2),
	LIST("frees", &free_fields, frees, .members = free_members, .max = 8000000,
	     .flag = AT(snapshot, recording.free_stacks), OR_ABSENT, .line = 2),
	OWN(NULL, NULL, reader__processes_of_heaps),
	HEAPS,
	OWN(NULL, NULL, reader__heaps),
	{ .kind = MEMBER_FRAMES, .key = "frames", .write = json__frames, .line = 2, .row_line = 4 },
	LIST("sources", &source_fields, sources, .what = "a source", .max = 1000000, .line = 2,
	     .any = AT(snapshot, n_sources), OR_ABSENT, .skips = has_no_lines,
	     MEMBERS(STRINGS("lines", snap_source, text, n), OWN(NULL, NULL, check_source))),
	OWN(NULL, NULL, settle_marks),
	{},
};

const struct member json_whole = OBJECT(NULL, NULL, .what = "profile", .members = whole_members);

/* What `malloctrace heap` found: there is no trace to tell of. */
static const struct member heap_alone_members[] = {
	WHOSE,
	OF_FIELDS(THESE(ROW("wall_now", FIELD_TIME, AT(snapshot, wall_now_ns))), .line = 2),
	LIST("processes", &process_fields, processes, .known = known_of_process, .line = 2),
	HEAPS,
	{},
};
static const struct member heap_alone = OBJECT(NULL, NULL, .members = heap_alone_members);

void json__document(struct json *j, const struct snapshot *s)
{
	__attribute__((cleanup(frames__done))) struct writer w = { .j = j, .s = s };
	unsigned int known = s->known | (s->baseline ? KNOWN_BASELINE : 0) |
			     (s->estimated ? KNOWN_ERROR : 0);

	/* a page reads its own */
	w.terse = s->n_sites > FULL_SITES && !j->in_page;
	frames__init(&w);
	json__object(j, NULL);
	json__members(&w, snapshot__is_heap(s) ? &heap_alone : &json_whole, s, known);
	json__line(j, 0);
	json__object_end(j);
}

int json__write(FILE *out, const struct snapshot *s, const struct export_opts *o, struct err *e)
{
	struct json j = { .out = out };

	json__document(&j, s);
	fputc('\n', out);
	return ferror(out) ? err_set(e, -EIO, "cannot write JSON") : 0;
}
