// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what the HTML report's data hold only if it was asked for when tracing:
 * tags, marks, where blocks were freed; and where resident memory is.
 *
 * What always holds: what is not there is not written, and a row whose index leads
 * nowhere is left out: the page follows them unasked.
 */
#include "files/html/html_parts.h"
#include "util/util.h"

/* [name, 1 for a thread's, how often entered or null] */
static void tags(struct json *j, const struct snapshot *s, struct html_strings *t)
{
	if (!s->n_tags)
		return;
	json__line(j, 0);
	json__array(j, "tags");
	for (size_t i = 0; i < s->n_tags; i++) {
		json__array(j, NULL);
		json__i64(j, NULL, html__number(t, s->tags[i].name));
		json__u64(j, NULL, s->tags[i].thread);
		if (s->tags[i].entered == UINT64_MAX)
			json__null(j, NULL);
		else
			json__u64(j, NULL, s->tags[i].entered);
		json__array_end(j);
	}
	json__array_end(j);
}

/* [name, number, process, tid, t_ns, live_bytes] and, at a whole one, [..., alloc_calls, alloc_bytes, live_blocks, live bytes of all] */
static void marks(struct json *j, const struct snapshot *s, struct html_strings *t)
{
	if (!s->n_marks_seen && !s->n_marks)
		return;
	json__line(j, 0);
	json__u64(j, "n_marks_seen", s->n_marks_seen);
	json__u64(j, "n_marks_whole", s->n_marks_whole);
	json__array(j, "marks");
	for (size_t i = 0; i < s->n_marks; i++) {
		const struct snap_mark *m = &s->marks[i];

		if (m->process >= s->n_processes)
			continue;
		json__line(j, 0);
		json__array(j, NULL);
		json__i64(j, NULL, html__number(t, m->name));
		json__u64(j, NULL, m->number);
		json__u64(j, NULL, m->process);
		json__i64(j, NULL, m->tid);
		json__u64(j, NULL, m->t_ns);
		json__u64(j, NULL, m->live_bytes);
		if (m->whole) {
			json__u64(j, NULL, m->alloc_calls);
			json__u64(j, NULL, m->alloc_bytes);
			json__u64(j, NULL, m->live_blocks);
			json__u64(j, NULL, m->all_live_bytes);
		}
		json__array_end(j);
	}
	json__array_end(j);
}

void html__asked(struct json *j, const struct snapshot *s, struct html_strings *t)
{
	tags(j, s, t);
	marks(j, s, t);
}

void html__memory(struct json *j, const struct snap_memory *m)
{
	const struct {
		const char *key;
		uint64_t n;
	} v[] = {
		{ "heap_mapped", m->heap_mapped },	{ "heap_resident", m->heap_resident },
		{ "large_mapped", m->large_mapped },	{ "large_resident", m->large_resident },
		{ "file_resident", m->file_resident },	{ "stack_resident", m->stack_resident },
		{ "n_arenas", m->n_arenas },		{ "sized_blocks", m->sized_blocks },
		{ "sized_requested", m->sized_requested }, { "sized_usable", m->sized_usable },
		{ "sized_apart", m->sized_apart },	{ "seen_ns", m->seen_ns },
	};

	json__object(j, "memory");
	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		json__u64(j, v[i].key, v[i].n);
	json__bool(j, "sized_all", m->sized_all);
	if (m->heap_estimated)
		json__bool(j, "heap_estimated", true);
	if (m->large_estimated)
		json__bool(j, "large_estimated", true);
	if (m->grown_known) {
		json__i64(j, "heap_grown", m->heap_grown);
		json__i64(j, "large_grown", m->large_grown);
		json__i64(j, "file_grown", m->file_grown);
	}
	json__object_end(j);
}

/* [process, function, calls, bytes, how the stack ends, its places from the root] */
static void free_site(struct json *j, const struct snapshot *s, const struct snap_free_site *f, struct html_strings *t)
{
	struct snap_site stack = { .n_stack = f->n_stack, .stack = f->stack };

	json__line(j, 0);
	json__array(j, NULL);
	json__u64(j, NULL, f->process);
	json__i64(j, NULL, html__number(t, f->function));
	json__u64(j, NULL, f->calls);
	json__u64(j, NULL, f->bytes);
	json__u64(j, NULL, f->end);
	json__array(j, NULL);
	for (uint32_t i = f->n_stack; i--;)
		json__u64(j, NULL, f->stack[i]);
	json__array_end(j);
	html__telling(j, s, &stack);
	json__array_end(j);
}

void html__frees(struct json *j, const struct snapshot *s, const uint32_t *row, struct html_strings *t)
{
	json__line(j, 0);
	json__array(j, "free_sites");
	for (size_t i = 0; i < s->n_free_sites; i++)
		free_site(j, s, &s->free_sites[i], t);
	json__array_end(j);
	json__line(j, 0);
	json__array(j, "frees");	/* [site, free site, tid, thread, calls, bytes, calls by another thread than allocated, lifetimes] */
	for (size_t i = 0; i < s->n_frees; i++) {
		const struct snap_free *f = &s->frees[i];

		if (f->site >= s->n_sites || f->where >= s->n_free_sites)
			continue;
		json__line(j, 0);
		json__array(j, NULL);
		json__u64(j, NULL, row[f->site]);
		json__u64(j, NULL, f->where);
		json__i64(j, NULL, f->tid);
		json__i64(j, NULL, html__number(t, f->thread));
		json__u64(j, NULL, f->calls);
		json__u64(j, NULL, f->bytes);
		json__u64(j, NULL, f->cross_calls);
		json__u64(j, NULL, f->lifetime_sum_ns);
		json__array_end(j);
	}
	json__array_end(j);
}
