// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns speedscope's files: one `sampled` profile per metric, the one that
 * was requested first. What was recorded, and what was lost, is
 * in the name, the one free text that speedscope shows.
 *
 * What always holds: samples and weights are as many, the frames' numbers are
 * those of shared.frames, and a profile's end is the sum of its weights.
 */
#include <errno.h>
#include <string.h>

#include "files/export.h"
#include "files/export_parts.h"
#include "files/json/json_writer.h"
#include "util/ids.h"
#include "util/util.h"

struct speedscope {
	struct json j;
	const struct snapshot *s;
	struct functions functions;
	struct key_ids frames;		/* (function, line) */
	struct stack_frame *stack;	/* room for any */
};

static uint32_t frame_id(struct speedscope *p, const struct stack_frame *f)
{
	uint32_t id = 0;

	key_ids__get(&p->frames, (struct key){ .a = f->function, .b = f->line }, &id, NULL);
	return id;
}

/* The frames come first in the file, so all are numbered before any is written. */
static void number_frames(struct speedscope *p)
{
	for (size_t i = 0; i < p->s->n_sites; i++) {
		size_t n = functions__stack(&p->functions, &p->s->sites[i], p->stack);

		for (size_t k = 0; k < n; k++)
			frame_id(p, &p->stack[k]);
	}
}

static void frames(struct speedscope *p)
{
	struct json *j = &p->j;

	json__object(j, "shared");
	json__array(j, "frames");
	for (size_t i = 0; i < p->frames.n; i++) {
		const struct function *f = &p->functions.v[p->frames.v[i].a];

		json__line(j, 2);
		json__object(j, NULL);
		json__str(j, "name", f->name);
		/* without a source, the module is the next best place */
		if (f->file || f->module)
			json__str(j, "file", f->file ? f->file : f->module);
		if (f->file && p->frames.v[i].b)
			json__u64(j, "line", p->frames.v[i].b);
		json__object_end(j);
	}
	json__array_end(j);
	json__object_end(j);
}

static void profile(struct speedscope *p, const struct metric *m)
{
	struct json *j = &p->j;

	json__line(j, 2);
	json__object(j, NULL);
	json__str(j, "type", "sampled");
	json__str(j, "name", m->name);
	json__str(j, "unit", strcmp(m->unit, "bytes") ? "none" : "bytes");
	json__u64(j, "startValue", 0);
	json__u64(j, "endValue", weights__sum(p->s, m));
	json__line(j, 4);
	json__array(j, "samples");
	for (size_t i = 0; i < p->s->n_sites; i++) {
		size_t n;

		if (!metric__of(m, &p->s->sites[i]))
			continue;
		n = functions__stack(&p->functions, &p->s->sites[i], p->stack);
		json__line(j, 6);
		json__array(j, NULL);
		for (size_t k = 0; k < n; k++)
			json__u64(j, NULL, frame_id(p, &p->stack[k]));
		json__array_end(j);
	}
	json__array_end(j);
	json__line(j, 4);
	json__array(j, "weights");
	for (size_t i = 0; i < p->s->n_sites; i++)
		if (metric__of(m, &p->s->sites[i]))
			json__u64(j, NULL, metric__of(m, &p->s->sites[i]));
	json__array_end(j);
	json__object_end(j);
}

static void write_all(struct speedscope *p, const struct export_opts *o)
{
	const struct metric *shown[WEIGHTS_MAX];
	size_t n_shown = weights__of(p->s, o ? o->metric : NULL, shown);
	_cleanup_free_ char *title = NULL;
	struct json *j = &p->j;
	char tool[64];

	functions__init(&p->functions, p->s);
	p->stack = xcalloc(p->functions.max_frames + 1, sizeof(*p->stack));
	number_frames(p);
	title = export_notes__title(p->s);
	json__object(j, NULL);
	json__str(j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	snprintf(tool, sizeof(tool), "malloctrace@%s", p->s->version);
	json__str(j, "exporter", tool);
	json__str(j, "name", title);
	json__u64(j, "activeProfileIndex", 0);
	json__line(j, 0);
	frames(p);
	json__line(j, 0);
	json__array(j, "profiles");
	for (size_t i = 0; i < n_shown; i++)
		profile(p, shown[i]);
	json__array_end(j);
	json__object_end(j);
	fputc('\n', j->out);
}

int speedscope__write(FILE *out, const struct snapshot *s, const struct export_opts *o, struct err *e)
{
	struct speedscope p = { .j = { .out = out }, .s = s };

	write_all(&p, o);
	functions__done(&p.functions);
	key_ids__done(&p.frames);
	free(p.stack);
	return ferror(out) ? err_set(e, -EIO, "cannot write the speedscope profile: %s", strerror(EIO)) : 0;
}
