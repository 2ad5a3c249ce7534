// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns files for DHAT's viewer (dh_view.html, the Firefox Profiler): version 2
 * of its JSON, a program point for each allocation function, stack and, where there are several, process.
 *
 * What always holds: totals and what is live at the end are as they were counted. No two points
 * have the same frames: the viewer refuses such a file. What the format requires and malloctrace
 * does not record is derived: the blocks at a peak from its bytes, by the site's mean size; the age
 * of live blocks from the middle of their class.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "files/export.h"
#include "files/json/json_writer.h"
#include "files/export_parts.h"
#include "util/ids.h"
#include "util/util.h"

#define MOST 9e15		/* that JavaScript can count to */
#define SHORT_LIVED_US 500	/* what the viewer calls short-lived */

struct numbers {			/* of frames, in the order in which they first appear; 0 is "[root]" */
	uint32_t *first;		/* by place: the number of its first frame; 0: none yet */
	struct string_ids made;		/* frames that are no places: allocation functions, processes */
	struct vec(uint32_t) made_at;	/* their numbers */
	uint32_t n;
};

#define N_FIGURES 9
/* The format's names: bytes and blocks in all, lifetimes, at most, at the peak, at the end. */
static const char *const figures[N_FIGURES] = { "tb", "tbk", "tl", "mb", "mbk", "gb", "gbk", "eb", "ebk" };

/* A program point: sites that DHAT would not tell apart are one. */
struct point {
	uint32_t *frames;		/* owned; innermost first */
	size_t n_frames;
	uint64_t figures[N_FIGURES];
};

struct points vec(struct point);

static uint64_t blocks_of(const struct snap_site *s, uint64_t bytes)
{
	double mean = s->c.alloc_calls ? (double)s->c.alloc_bytes / (double)s->c.alloc_calls : 0;

	return !bytes ? 0 : mean > 0 && (double)bytes / mean < MOST ? MAX((uint64_t)llround((double)bytes / mean), 1ull) : 1;
}

/* Of all blocks, freed or not. */
static uint64_t lifetimes_us(const struct snapshot *s, const struct snap_site *site)
{
	double sum_us = (double)site->lifetime_sum_ns / US_NS;

	for (size_t i = 0; i < site->n_ages; i++) {
		const struct snap_age *a = &site->ages[i];
		double from_ns = (double)a->from_ns, to_ns = (double)MIN(a->below_ns, s->duration_ns);

		sum_us += (double)a->blocks * (from_ns + MAX(to_ns, from_ns)) / 2 / US_NS;
	}
	return sum_us < MOST ? (uint64_t)sum_us : (uint64_t)MOST;
}

/* ---- frames of a point */

/* The number of a frame that is no place. text is kept. */
static void made_frame(struct snapshot *keep, struct numbers *n, uint32_t *ret, const char *fmt, const char *name)
{
	_cleanup_free_ char *text = xasprintf(fmt, name ? name : "???");
	uint32_t id, *slot;

	string_ids__get(&n->made, snapshot__strdup(keep, text), &id);
	if (id == n->made_at.n) {
		slot = vec_push(&n->made_at);
		*slot = n->n++;
	}
	*ret = n->made_at.v[id];
}

static void add_frames(struct snapshot *keep, const struct snapshot *s, const struct snap_site *site,
		      struct numbers *n, struct point *to)
{
	const struct snap_process *p = &s->processes[site->process];
	_cleanup_free_ char *owner = owner__has_process(s) ? owner__process(s, p) : NULL;

	to->frames = xcalloc(site__n_frames(s, site) + 2, sizeof(*to->frames));
	made_frame(keep, n, &to->frames[to->n_frames++], "0x0: %s (allocation function)", site->function);
	for (uint32_t i = 0; i < site->n_stack; i++) {
		const struct place *at = &s->places[site->stack[i]];

		if (!n->first[site->stack[i]]) {
			n->first[site->stack[i]] = n->n;
			n->n += (uint32_t)place__n_frames(at);
		}
		for (size_t k = 0; k < place__n_frames(at); k++)
			to->frames[to->n_frames++] = n->first[site->stack[i]] + (uint32_t)k;
	}
	if (owner)
		made_frame(keep, n, &to->frames[to->n_frames++], "0x0: %s (process)", owner);
}

static void add_figures(const struct snapshot *s, const struct snap_site *site, struct point *to)
{
	uint64_t most = MAX(MAX(site->c.peak_bytes, site->at_peak_bytes), site->c.live_bytes);

	memcpy(to->figures,
	       (const uint64_t[N_FIGURES]){ site->c.alloc_bytes, site->c.alloc_calls, lifetimes_us(s, site), most,
					    MAX(blocks_of(site, most), site->c.live_blocks), site->at_peak_bytes,
					    blocks_of(site, site->at_peak_bytes), site->c.live_bytes, site->c.live_blocks },
	       sizeof(to->figures));
}

COMPARATOR(by_frames, struct point,
	   memcmp(a->frames, b->frames, MIN(a->n_frames, b->n_frames) * sizeof(*a->frames)) ?: ORDER(a->n_frames, b->n_frames))

static void merge_equal(struct points *v)
{
	size_t kept = 0;

	vec_sort(v, by_frames);
	for (size_t i = 0; i < v->n; i++) {
		if (kept && !by_frames(&v->v[kept - 1], &v->v[i])) {
			for (size_t k = 0; k < N_FIGURES; k++)
				v->v[kept - 1].figures[k] += v->v[i].figures[k];
			free(v->v[i].frames);
		} else {
			v->v[kept++] = v->v[i];
		}
	}
	v->n = kept;
}

/* ---- writing */

static void write_point(struct json *j, const struct point *p)
{
	json__line(j, 2);
	json__object(j, NULL);
	for (size_t i = 0; i < N_FIGURES; i++)
		json__u64(j, figures[i], p->figures[i]);
	json__array(j, "fs");
	for (size_t i = 0; i < p->n_frames; i++)
		json__u64(j, NULL, p->frames[i]);
	json__array_end(j);
	json__object_end(j);
}

/* "0x4A3F: main (server.c:12)", "0x4A3F: ??? (in /usr/bin/redis-server)" */
static char *frame_text(const struct frame *f)
{
	const char *name = f->line && f->line->function ? f->line->function : "???";

	if (f->line && f->line->file)
		return xasprintf("0x%" PRIX64 ": %s (%s:%u)", f->place->offset, name, f->line->file, f->line->line);
	return xasprintf("0x%" PRIX64 ": %s (in %s)", f->place->offset, name, f->module ? f->module : "???");
}

/* In the order of their numbers, which is not that of the places. */
static void frame_table(struct json *j, const struct snapshot *s, const struct numbers *n)
{
	_cleanup_free_ struct frame *v = xcalloc(n->n, sizeof(*v));
	_cleanup_free_ const char **made = xcalloc(n->n, sizeof(*made));

	for (size_t i = 0; i < s->n_places; i++)
		for (size_t k = 0; n->first[i] && k < place__n_frames(&s->places[i]); k++)
			v[n->first[i] + k] = place__frame(s, &s->places[i], k);
	for (size_t i = 0; i < n->made_at.n; i++)
		made[n->made_at.v[i]] = n->made.v[i];
	json__line(j, 0);
	json__array(j, "ftbl");
	json__str(j, NULL, "[root]");
	for (uint32_t i = 1; i < n->n; i++) {
		_cleanup_free_ char *text = made[i] ? NULL : frame_text(&v[i]);

		json__line(j, 2);
		json__str(j, NULL, made[i] ? made[i] : text);
	}
	json__array_end(j);
}

static void header(struct json *j, const struct snapshot *s, const char *title)
{
	json__u64(j, "dhatFileVersion", 2);
	json__str(j, "mode", "heap");
	json__str(j, "verb", "Allocated");
	json__bool(j, "bklt", true);
	json__bool(j, "bkacc", false);
	json__line(j, 0);
	json__str(j, "tu", "us");
	json__str(j, "Mtu", "s");
	json__u64(j, "tuth", SHORT_LIVED_US);
	json__line(j, 0);
	json__str(j, "cmd", title);
	json__u64(j, "pid", s->n_processes == 1 && s->processes->pid > 0 ? (uint64_t)s->processes->pid : 0);
	json__u64(j, "te", s->duration_ns / US_NS);
	json__u64(j, "tg", s->n_processes == 1 ? s->processes->peak_at_ns / US_NS : 0);
	json__line(j, 0);
}

int dhat__write(FILE *out, const struct snapshot *s, const struct export_opts *o, struct err *e)
{
	_cleanup_free_ char *title = export_notes__title(s);	/* the viewer shows no other text */
	struct numbers n = { .first = xcalloc(s->n_places + 1, sizeof(*n.first)), .n = 1 };
	struct snapshot *keep = snapshot__new();		/* for texts */
	struct json j = { .out = out };
	struct points points = {};

	for (size_t i = 0; i < s->n_sites; i++) {
		struct point *to = vec_push(&points);

		add_frames(keep, s, &s->sites[i], &n, to);
		add_figures(s, &s->sites[i], to);
	}
	merge_equal(&points);
	json__object(&j, NULL);
	header(&j, s, title);
	json__array(&j, "pps");
	for (size_t i = 0; i < points.n; i++)
		write_point(&j, &points.v[i]);
	json__array_end(&j);
	frame_table(&j, s, &n);
	json__object_end(&j);
	fputc('\n', out);
	for (size_t i = 0; i < points.n; i++)
		free(points.v[i].frames);
	vec_done(&points);
	string_ids__done(&n.made);
	vec_done(&n.made_at);
	free(n.first);
	snapshot__free(keep);
	return ferror(out) ? err_set(e, -EIO, "cannot write DHAT's JSON") : 0;
}
