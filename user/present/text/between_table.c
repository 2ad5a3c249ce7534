// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the table of --between:
 *
 *	BETWEEN 10.0s and 25.0s by change of live bytes (10 of 214 sites, 97.1% of change)
 *	all processes: from 13.0 MiB to 27.0 MiB, +14.0 MiB; no history of 3 of 214 sites
 *
 *	 1.   +12.0 MiB  80.2%  from  10.0 MiB to  22.0 MiB  malloc
 *	     in redis-server (1432)
 *	     trackingRememberKey  src/tracking.c:212
 *
 * What always holds: what went up and what went down are ranked together, by how
 * much; of how many sites nothing is known is said.
 */
#include <errno.h>

#include "model/between.h"
#include "present/columns.h"
#include "present/figures.h"
#include "present/frames.h"
#include "present/text/report_parts.h"
#include "util/util.h"

#define INDENT 5

static double change_of(uint64_t before, uint64_t after)
{
	return (double)after - (double)before;
}

static uint64_t size_of(const struct change *c)
{
	return c->after > c->before ? c->after - c->before : c->before - c->after;
}

static void told(struct report *r, const struct changes *c)
{
	char a[FMT_MAX], b[FMT_MAX], d[CELL_MAX];

	para__begin(&r->para, "", 0);
	para__item(&r->para, "all processes: from %s%s to %s%s", report__mark(r), fmt_bytes(a, c->before), report__mark(r),
		   fmt_bytes(b, c->after));
	para__item(&r->para, "%s%s", report__mark(r), fmt_change(d, change_of(c->before, c->after)));
	if (c->n_unknown)
		para__item(&r->para, "no history of %s of %s site%s", fmt_exact(a, c->n_unknown), fmt_exact(b, r->s->n_sites),
			   plural(r->s->n_sites));
	else
		para__item(&r->para, "all sites are known");
	if (c->off_ns)
		para__item(&r->para, "looked at up to %s off the moments", fmt_duration(a, c->off_ns));
	para__end(&r->para);
}

static int entry(struct report *r, const struct change *c, size_t number, uint64_t whole, size_t name_width)
{
	char a[CELL_MAX], b[FMT_MAX], d[FMT_MAX], e[FMT_MAX], change[CELL_MAX + 1];
	const struct snap_process *p = &r->s->processes[c->site->process];
	_cleanup_free_ char *function = NULL, *who = NULL;
	int cols;

	snprintf(change, sizeof(change), "%s%s", report__mark(r), fmt_change(a, change_of(c->before, c->after)));
	cols = fprintf(r->out, "\n%2zu.  %11s  %5s  from %9s to %9s", number, change, fmt_share(b, size_of(c), whole), fmt_bytes(d, c->before),
		       fmt_bytes(e, c->after));
	/* the line break is no column, two blanks are */
	function = name__shorten(c->site->function, r->width > (size_t)cols + 1 ? r->width - cols - 1 : 1);
	who = report__owner(r, p, r->width - INDENT - 4);
	if (!function || !who)
		return -ENOMEM;
	fprintf(r->out, "%s%s\n", *function ? "  " : "", function);
	if (r->s->n_processes > 1) {
		para__begin(&r->para, "", INDENT);
		para__item(&r->para, "in %s", who);
		para__end(&r->para);
	}
	return frames__write(r->out, r->s, c->site, INDENT, name_width, r->width);
}

int report__between(struct report *r)
{
	uint64_t whole = 0, listed = 0;
	char a[FMT_MAX], b[FMT_MAX], share[FMT_MAX], of[FMT_OF_MAX];
	const char *names = r->o->between_names;
	size_t name_width = 0, n;
	struct changes c;
	int err = changes__init(&c, r->s, r->o->between_from_ns, r->o->between_to_ns);

	if (err)
		return err;
	n = MIN(c.n, r->top);
	for (size_t i = 0; i < c.n; i++) {
		whole += size_of(&c.v[i]);
		listed += i < n ? size_of(&c.v[i]) : 0;
	}
	for (size_t i = 0; i < n; i++)
		name_width = MAX(name_width, frames__name_width(r->s, c.v[i].site));
	fmt_duration(a, r->o->between_from_ns);
	fmt_duration(b, MIN(r->o->between_to_ns, r->s->duration_ns));
	if (c.n)
		fprintf(r->out, "\nBETWEEN %s%s%s and %s%s by change of live bytes (%s site%s, %s of it)\n", names ? names : "",
			names ? ", " : "", a, b, names ? "," : "", fmt_of(of, n, c.n), plural(c.n), fmt_share(share, listed, whole));
	else
		fprintf(r->out, "\nBETWEEN %s%s%s and %s: no site is known to hold more or less\n", names ? names : "", names ? ", " : "", a, b);
	told(r, &c);
	for (size_t i = 0; !err && i < n; i++)
		err = entry(r, &c.v[i], i + 1, whole, name_width);
	changes__done(&c);
	return err;
}
