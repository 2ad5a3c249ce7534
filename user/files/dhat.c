// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns files for DHAT's viewer (dh_view.html, the Firefox Profiler): version 2
 * of its JSON, one program point for each site.
 *
 * What always holds: totals and what is live at the end are as they were counted.
 * What the format asks for and nobody records is derived: the blocks at a peak from its bytes, by the
 * site's mean size; the age of live blocks from the middle of their class.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "files/export.h"
#include "files/json/json_writer.h"
#include "files/notes.h"
#include "util/util.h"

#define NS_PER_US 1000
#define MOST 9e15		/* that JavaScript can count to */
#define SHORT_LIVED_US 500	/* what the viewer calls short-lived */

struct numbers {
	uint32_t *first;	/* by place: the number of its first frame; 0, "[root]": none yet */
	uint32_t n;
};

static uint64_t blocks_of(const struct snap_site *s, uint64_t bytes)
{
	double mean = s->c.alloc_calls ? (double)s->c.alloc_bytes / (double)s->c.alloc_calls : 0;

	return !bytes ? 0 : mean > 0 && (double)bytes / mean < MOST ? MAX((uint64_t)((double)bytes / mean + 0.5), 1ull) : 1;
}

/* Of all blocks, freed or not. */
static uint64_t lifetimes_us(const struct snapshot *s, const struct snap_site *site)
{
	double sum_us = (double)site->lifetime_sum_ns / NS_PER_US;

	for (size_t i = 0; i < site->n_ages; i++) {
		const struct snap_age *a = &site->ages[i];
		double from_ns = (double)a->from_ns, to_ns = (double)MIN(a->below_ns, s->duration_ns);

		sum_us += (double)a->blocks * (from_ns + MAX(to_ns, from_ns)) / 2 / NS_PER_US;
	}
	return sum_us < MOST ? (uint64_t)sum_us : (uint64_t)MOST;
}

static void point(struct json *j, const struct snapshot *s, const struct snap_site *site, struct numbers *n)
{
	uint64_t most = MAX(MAX(site->c.peak_bytes, site->at_peak_bytes), site->c.live_bytes);

	json__line(j, 2);
	json__object(j, NULL);
	json__u64(j, "tb", site->c.alloc_bytes);
	json__u64(j, "tbk", site->c.alloc_calls);
	json__u64(j, "tl", lifetimes_us(s, site));
	json__u64(j, "mb", most);
	json__u64(j, "mbk", MAX(blocks_of(site, most), site->c.live_blocks));
	json__u64(j, "gb", site->at_peak_bytes);
	json__u64(j, "gbk", blocks_of(site, site->at_peak_bytes));
	json__u64(j, "eb", site->c.live_bytes);
	json__u64(j, "ebk", site->c.live_blocks);
	json__array(j, "fs");
	for (uint32_t i = 0; i < site->n_stack; i++) {
		const struct place *p = &s->places[site->stack[i]];

		if (!n->first[site->stack[i]]) {
			n->first[site->stack[i]] = n->n;
			n->n += (uint32_t)place__n_frames(p);
		}
		for (size_t k = 0; k < place__n_frames(p); k++)
			json__u64(j, NULL, n->first[site->stack[i]] + k);
	}
	json__array_end(j);
	json__object_end(j);
}

/* "0x4A3F: main (server.c:12)", "0x4A3F: ??? (in /usr/bin/redis-server)" */
static int frame_text(const struct frame *f, char **ret)
{
	const char *name = f->line && f->line->function ? f->line->function : "???";

	if (f->line && f->line->file)
		return asprintf(ret, "0x%" PRIX64 ": %s (%s:%u)", f->place->offset, name, f->line->file, f->line->line);
	return asprintf(ret, "0x%" PRIX64 ": %s (in %s)", f->place->offset, name, f->module ? f->module : "???");
}

/* In the order of their numbers, which is not that of the places. */
static int frame_table(struct json *j, const struct snapshot *s, const struct numbers *n)
{
	_cleanup_free_ struct frame *v = calloc(n->n, sizeof(*v));
	int err = v ? 0 : -ENOMEM;

	for (size_t i = 0; i < s->n_places && !err; i++)
		for (size_t k = 0; n->first[i] && k < place__n_frames(&s->places[i]); k++)
			v[n->first[i] + k] = place__frame(s, &s->places[i], k);
	json__line(j, 0);
	json__array(j, "ftbl");
	json__str(j, NULL, "[root]");
	for (uint32_t i = 1; i < n->n && !err; i++) {
		_cleanup_free_ char *text = NULL;

		json__line(j, 2);
		if (frame_text(&v[i], &text) < 0)
			err = -ENOMEM;
		else
			json__str(j, NULL, text);
	}
	json__array_end(j);
	return err;
}

int dhat__write(FILE *out, const struct snapshot *s, const struct export_opts *o, struct err *e)
{
	_cleanup_free_ char *title = export_notes__title(s);	/* the viewer shows no other text */
	struct numbers n = { calloc(s->n_places + 1, sizeof(*n.first)), 1 };
	struct json j = { .out = out };
	int err = n.first && title ? 0 : -ENOMEM;

	json__object(&j, NULL);
	json__u64(&j, "dhatFileVersion", 2);
	json__str(&j, "mode", "heap");
	json__str(&j, "verb", "Allocated");
	json__bool(&j, "bklt", true);
	json__bool(&j, "bkacc", false);
	json__line(&j, 0);
	json__str(&j, "tu", "us");
	json__str(&j, "Mtu", "s");
	json__u64(&j, "tuth", SHORT_LIVED_US);
	json__line(&j, 0);
	json__str(&j, "cmd", title ? title : "");
	json__u64(&j, "pid", s->n_processes == 1 && s->processes->pid > 0 ? (uint64_t)s->processes->pid : 0);
	json__u64(&j, "te", s->duration_ns / NS_PER_US);
	json__u64(&j, "tg", s->n_processes == 1 ? s->processes->peak_at_ns / NS_PER_US : 0);
	json__line(&j, 0);
	json__array(&j, "pps");
	for (size_t i = 0; i < s->n_sites && !err; i++)
		point(&j, s, &s->sites[i], &n);
	json__array_end(&j);
	err = err ?: frame_table(&j, s, &n);
	json__object_end(&j);
	fputc('\n', out);
	free(n.first);
	if (err)
		return err_set(e, err, "out of memory");
	return ferror(out) ? err_set(e, -EIO, "cannot write DHAT's JSON") : 0;
}
