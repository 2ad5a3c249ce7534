// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what is derived, checked or settled by code when a profile is written and read. What always
 * holds: the process and the tag that a row names are there when it was read; a heap that was read
 * is of a process that is there, or of one that is made for it; names of losses are this version's,
 * or speak for themselves. The sums of tags are for other programs: they follow from the sites, and
 * are not read.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "files/json/json_members.h"
#include "model/heaps.h"
#include "model/tags.h"

static bool is_number(json_t *from, const char *key)
{
	return json_is_number(json_object_get(from, key));
}

/* ---- the whole */

#define SCHEMA "malloctrace/2"

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

static int read_own_size(struct reader *r, const struct member *m, json_t *from, void *row)
{
	struct snap_probe *p = row;

	if (!json_value__is_there(json_object_get(from, "size")))
		p->size = r->s->recording.size;
	return 0;
}

#define LINES_MAX 1000000

static int check_source(struct reader *r, const struct member *m, json_t *from, void *row)
{
	const struct snap_source *source = row;

	if (!source->file || !source->from || source->from > UINT32_MAX - LINES_MAX)
		return err_set(r->e, -EINVAL, "a source: want a file, and the number of its first line");
	return 0;
}

/* ---- processes */

static void write_pid(struct writer *w, const struct member *m, const void *row)
{
	uint32_t process = *(const uint32_t *)((const char *)row + m->offset);
	const struct snap_process *p = &w->s->processes[process];

	json__u64_or_null(w->j, m->key, p->pid > 0, (uint64_t)p->pid);
}

/* What was folded is several, too. */
static void write_ended(struct writer *w, const struct member *m, const void *row)
{
	const struct snap_process *p = row;

	json__u64_or_null(w->j, m->fields->v->key, p->n_members, process__n_ended(w->s, p));
}

static int read_grown(struct reader *r, const struct member *m, json_t *from, void *row)
{
	struct snap_memory *memory = row;

	memory->grown_known = is_number(from, "heap_grown_bytes");
	return 0;
}

/* What the faults brought against what RSS grew by; null where it did not grow. */
static void write_explained(struct writer *w, const struct member *m, const void *row)
{
	const struct snap_process *p = row;
	int64_t change = (int64_t)(p->rss_bytes - p->rss_at_attach_bytes);

	json__i64(w->j, "rss_change_bytes", change);
	if (change > 0)
		json__double(w->j, m->key, (double)p->growth.bytes[GROWTH_FAULT] / (double)change);
	else
		json__null(w->j, m->key);
}

static int settle_process(struct reader *r, const struct member *m, json_t *from, void *row)
{
	struct snap_process *p = row;
	uint32_t index;
	bool is_new;

	p->trend.known = is_number(from, "growth_bytes_per_s");
	key_ids__get(&r->process_ids, (struct key){ .a = p->id }, &index, &is_new);
	return is_new ? 0 : err_set(r->e, -EINVAL, "two processes have the id %" PRIu32, p->id);
}

/* ---- tags */

/* A name that was read is one string, wherever it stands: its address is enough. */
static void tag_id(struct reader *r, const char *name, bool thread, uint32_t *ret, bool *ret_new)
{
	key_ids__get(&r->tag_ids, (struct key){ (uintptr_t)name, thread, 0 }, ret, ret_new);
}

/* The first one has no name: it is what has no tag. */
static void write_tags(struct writer *w, const struct member *m, const void *row)
{
	static const struct snap_tag none = { .entered = UINT64_MAX };
	/* the first ones: those of calls and of what is live */
	const struct fields counters = { .v = counter_fields.v, .n = 6 };
	_cleanup_free_ struct tag_sum *sums = tags__add_up(w->s);

	json__array(w->j, m->key);
	for (size_t i = 0; i <= w->s->n_tags; i++) {
		json__line(w->j, m->row_line);
		json__object(w->j, NULL);
		json__row(w->j, m->fields, i ? &w->s->tags[i - 1] : &none, w->s->known);
		json__u64(w->j, "sites", sums[i].n_sites);
		json__row(w->j, &counters, &sums[i].c, w->s->known);
		json__row(w->j, THESE(ROW("at_peak_bytes", FIELD_U64, AT(tag_sum, c.peak_bytes), .needs = HAS_PEAK_BYTES)),
			  &sums[i], w->s->known);
		json__object_end(w->j);
	}
	json__array_end(w->j);
}

/* Sites are its by its name: of two that are alike, the first one's. */
static int settle_tags(struct reader *r, const struct member *m, json_t *from, void *row)
{
	struct snap_tag *v = (struct snap_tag *)r->s->tags;
	size_t n = r->s->n_tags;

	r->s->n_tags = 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t id;
		bool is_new;

		if (!v[i].name)
			continue;
		tag_id(r, v[i].name, v[i].thread, &id, &is_new);
		if (is_new)
			*vec_push(&r->tag_of_id) = (uint32_t)r->s->n_tags;
		v[r->s->n_tags++] = v[i];
	}
	return 0;
}

static void write_tag(struct writer *w, const struct member *m, const void *row)
{
	const struct snap_site *site = row;
	const struct snap_tag *t = site->tag ? &w->s->tags[site->tag - 1] : NULL;

	if (!w->s->n_tags)
		return;
	json__str(w->j, m->key, t ? t->name : NULL);
	/* a function may have the name of a thread */
	if (t && t->thread)
		json__bool(w->j, "tag_is_thread", true);
}

static int read_tag(struct reader *r, const struct member *m, json_t *from, void *row)
{
	json_t *v = json_object_get(from, m->key);
	bool thread = json_is_true(json_object_get(from, "tag_is_thread"));
	struct snap_site *site = row;
	uint32_t id;
	bool is_new;

	if (!json_value__is_there(v))
		return 0;
	if (!json_is_string(v))
		return err_set(r->e, -EINVAL, "a site: tag: want a string");
	/* cleaned as the tag's was */
	tag_id(r, reader__string(r, json_string_value(v)), thread, &id, &is_new);
	if (is_new)
		return err_set(r->e, -EINVAL, "a site: tag: no tag has that name");
	site->tag = r->tag_of_id.v[id] + 1;
	return 0;
}

/* ---- sites */

static int settle_site(struct reader *r, const struct member *m, json_t *from, void *row)
{
	struct snap_site *site = row;

	site->trend.known = is_number(from, "growth_bytes_per_s");
	if (recording__is_growth(&r->s->recording))
		site->growth = growth__of(site->function);
	/* a file of the contract's least does not tell blocks that came after the search */
	if (json_is_integer(json_object_get(from, "unreached_blocks")) &&
	    !json_object_get(from, "looked_blocks"))
		site->looked_blocks = site->c.live_blocks;
	for (size_t i = 0; i < site->n_ages; i++)
		if (site->ages[i].from_ns >= site->ages[i].below_ns)
			return err_set(r->e, -EINVAL, "ages: want from_ns below below_ns");
	return 0;
}

/* ---- heaps */

/* They are the heap's own where a row of processes is of several. */
static void write_whose(struct writer *w, const struct member *m, const void *row)
{
	json__i64(w->j, "pid", heap__pid(w->s, row));
	json__str(w->j, "comm", heap__comm(w->s, row));
}

/* Files of the contract's least have no processes of their own. */
static int read_heap_processes(struct reader *r, const struct member *m, json_t *from, void *row)
{
	const struct member processes =
		ROWS("heap",
		     THESE(ROW("process", FIELD_U32, AT(snap_process, id)),
			   ROW("pid", FIELD_INT, AT(snap_process, pid)),
			   ROW("comm", FIELD_STR, AT(snap_process, comm), .missing = ""),
			   ROW("rss_bytes", FIELD_U64, AT(snap_process, rss_bytes))),
		     snapshot, processes, n_processes, .max = HEAPS_MAX,
		     MEMBERS(OWN(OWN_PROCESS, NULL)));

	return r->s->n_processes ? 0 : reader__rows(r, &processes, from, row);
}

static int settle_heaps(struct reader *r, const struct member *m, json_t *from, void *row)
{
	snapshot__set_heaps(r->s, r->s->heaps, r->s->n_heaps);
	return 0;
}

/* ---- all of them */

const struct json_own json_owns[N_OWN] = {
	[OWN_SCHEMA] = { write_schema, read_schema },
	[OWN_KNOWN] = { NULL, read_known },
	[OWN_COUNTERS] = { write_counters, read_counters },
	[OWN_MODULES] = { NULL, reader__modules },
	[OWN_PROBE_SIZE] = { NULL, read_own_size },
	[OWN_SOURCE] = { NULL, check_source },
	[OWN_MARK_PROCESS] = { NULL, read_mark },
	[OWN_MARKS] = { NULL, settle_marks },
	[OWN_TAG_ROWS] = { write_tags, NULL },
	[OWN_TAGS] = { NULL, settle_tags },
	[OWN_TAG] = { write_tag, read_tag },
	[OWN_PID] = { write_pid, NULL },
	[OWN_ENDED_MEMBERS] = { write_ended, NULL },
	[OWN_GROWN] = { NULL, read_grown },
	[OWN_EXPLAINED] = { write_explained, NULL },
	[OWN_PROCESS] = { NULL, settle_process },
	[OWN_SITE] = { NULL, settle_site },
	[OWN_WHOSE] = { write_whose, NULL },
	[OWN_HEAP_PROCESSES] = { NULL, read_heap_processes },
	[OWN_HEAPS] = { NULL, settle_heaps },
	[OWN_FRAME] = { NULL, reader__offset },
};
