// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the members of processes, sites, frees and tags. What always holds: the process, the site,
 * the tag that a row names are there when it was read. The sums of tags are for other programs:
 * they follow from the sites, and are not read.
 */
#include <errno.h>
#include <inttypes.h>

#include "files/json/json_members.h"
#include "model/tags.h"

/* ---- what several of them have */

static const struct snap_process *process_at(struct writer *w, const struct member *m,
					     const void *row)
{
	return &w->s->processes[*(const uint32_t *)((const char *)row + m->offset)];
}

void json__process(struct writer *w, const struct member *m, const void *row)
{
	json__u64(w->j, m->key, process_at(w, m, row)->id);
}

int reader__process(struct reader *r, const struct member *m, json_t *from, void *row)
{
	json_t *process = json_object_get(from, m->key);
	struct key key = { .a = (uint64_t)json_integer_value(process) };

	if (!json_is_integer(process) || json_integer_value(process) < 0)
		return err_set(r->e, -EINVAL, "a site: process: want the id of a process");
	if (!key_ids__find(&r->process_ids, key, (uint32_t *)((char *)row + m->offset)))
		return err_set(r->e, -EINVAL, "a site: process: no process has the id %lld",
			       (long long)json_integer_value(process));
	return 0;
}

static void write_pid(struct writer *w, const struct member *m, const void *row)
{
	const struct snap_process *p = process_at(w, m, row);

	json__u64_or_null(w->j, m->key, p->pid > 0, (uint64_t)p->pid);
}
#define PID(type) OWN("pid", write_pid, NULL, .offset = AT(type, process))

/* The sum is not in the file; the mean is what all readers want. */
static void write_mean(struct writer *w, const struct member *m, const void *row)
{
	uint64_t calls = *(const uint64_t *)((const char *)row + m->count);
	uint64_t sum_ns = *(const uint64_t *)((const char *)row + m->offset);

	json__u64_or_null(w->j, m->key, calls, calls ? sum_ns / calls : 0);
}

static int read_mean(struct reader *r, const struct member *m, json_t *from, void *row)
{
	const struct field mean = ROW(m->key, FIELD_U64, m->offset);
	uint64_t calls = *(const uint64_t *)((const char *)row + m->count);
	uint64_t *sum_ns = (uint64_t *)((char *)row + m->offset);
	int err = reader__row(r, from, row, &(struct fields){ &mean, 1 }, "a site");

	if (__builtin_mul_overflow(*sum_ns, calls, sum_ns))
		*sum_ns = UINT64_MAX;
	return err;
}
#define MEAN(type, calls, ...) \
	OWN("lifetime_mean_ns", write_mean, read_mean, .offset = AT(type, lifetime_sum_ns), \
	    .count = AT(type, calls), __VA_ARGS__)

static bool is_number(json_t *from, const char *key)
{
	return json_is_number(json_object_get(from, key));
}

/* ---- processes */

/* A block may be freed by any thread: it is live in no thread. */
static unsigned int known_of_thread(const struct snapshot *s, const void *row, unsigned int known)
{
	unsigned int frees = known & HAS_LIFETIMES ? 0 : HAS_FREE_CALLS | HAS_FREE_BYTES;

	return known & ~(HAS_LIVE_BLOCKS | HAS_LIVE_BYTES | HAS_PEAK_BYTES | frees);
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

const struct member process_members[] = {
	OF_FIELDS(THESE(ROW("ended_members", FIELD_U32, AT(snap_process, n_ended))),
		  .write = write_ended),
	OBJECT("totals", NULL, .what = "a process's totals", .line = 6,
	       MEMBERS(OF_FIELDS(&counter_fields, .offset = AT(snap_process, c)),
		       STANDARD_ERROR(snap_process))),
	OBJECT("blind", &blind_fields, .offset = AT(snap_process, blind), .line = 6,
	       .flag = AT(snap_process, blind.is)),
	OBJECT("memory", &memory_fields, .offset = AT(snap_process, memory), .line = 6,
	       .flag = AT(snap_process, memory.known), MEMBERS(OWN(NULL, NULL, read_grown))),
	OBJECT("growth", NULL, .needs = KNOWN_GROWTH, OR_ABSENT, .line = 6,
	       MEMBERS(OF_FIELDS(&growth_fields, .offset = AT(snap_process, growth)),
		       OWN("explained_share", write_explained, NULL))),
	ROWS("threads", &thread_fields, snap_process, threads, n_threads, .line = 6, .row_line = 8,
	     .known = known_of_thread,
	     MEMBERS(OBJECT("totals", &counter_fields, .what = "a thread's totals",
			    .offset = AT(snap_thread, c)))),
	ROWS("timeline", &point_fields, snap_process, timeline, n_timeline, .line = 6,
	     .row_line = 8),
	ROWS("sizes", &size_fields, snap_process, sizes, n_sizes, .line = 6),
	ROWS("lifetimes", &lifetime_fields, snap_process, lifetimes, n_lifetimes, .line = 6,
	     .needs = HAS_LIFETIMES),
	OWN(NULL, NULL, settle_process),
	{},
};

/* ---- tags */

/* A name that was read is one string, wherever it stands: its address is enough. */
static void tag_id(struct reader *r, const char *name, bool thread, uint32_t *ret, bool *ret_new)
{
	key_ids__get(&r->tag_ids, (struct key){ (uintptr_t)name, thread, 0 }, ret, ret_new);
}

/* The first one has no name: it is what has no tag. */
void json__tags(struct writer *w, const struct member *m, const void *row)
{
	static const struct snap_tag none = { .entered = UINT64_MAX };
	/* the first ones: those of calls and of what is live */
	const struct fields counters = { counter_fields.v, 6 };
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
int reader__tags(struct reader *r, const struct member *m, json_t *from, void *row)
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

const struct member site_members[] = {
	PROCESS(snap_site),
	PID(snap_site),
	OF_FIELDS(&site_names),
	OWN("tag", write_tag, read_tag),
	OF_FIELDS(&counter_fields, .offset = AT(snap_site, c)),
	STANDARD_ERROR(snap_site),
	OF_FIELDS(&site_fields),
	MEAN(snap_site, c.free_calls, .needs = HAS_LIFETIMES),
	/* no key where realloc was not called for a block that was known */
	OBJECT("moves", &move_fields, .offset = AT(snap_site, moves), OR_ABSENT,
	       .any = AT(snap_site, moves.calls)),
	ROWS("ages", &age_fields, snap_site, ages, n_ages, .needs = HAS_LIVE_BLOCKS),
	ROWS("history", &history_fields, snap_site, history, n_history, .needs = HAS_LIVE_BLOCKS),
	ROWS("types", &share_fields, snap_site, types, n_types, .any = AT(snap_site, n_types)),
	/* no key where it was not asked who holds what */
	{ .kind = MEMBER_POINTER, .key = "held", .fields = &root_fields, OR_ABSENT,
	  .offset = AT(snap_site, held), .size = sizeof(struct snap_root), .any = AT(snap_site, held) },
	STACK(snap_site, .end = AT(snap_site, end)),
	OWN(NULL, NULL, settle_site),
	{},
};

/* ---- --free-stacks: places where blocks were freed; "frees" has their numbers, from 0 on */

const struct member free_site_members[] = {
	PROCESS(snap_site),
	PID(snap_site),
	OF_FIELDS(&free_site_fields),
	STACK(snap_site, .end = AT(snap_site, end)),
	{},
};

static int check_free(struct reader *r, const struct member *m, json_t *from, void *row)
{
	const struct snap_free *f = row;

	if (f->site >= r->s->n_sites || !json_value__is_there(json_object_get(from, "site")))
		return err_set(r->e, -EINVAL, "frees: site: want the number of a site");
	if (f->where >= r->s->n_free_sites || !json_value__is_there(json_object_get(from, "where")))
		return err_set(r->e, -EINVAL, "frees: where: want the number of a free site");
	return 0;
}

const struct member free_members[] = { MEAN(snap_free, calls), OWN(NULL, NULL, check_free), {} };
