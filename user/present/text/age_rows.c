// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what reports say of the ages of live blocks. Behind a process's lifetimes:
 *
 *	LIVE NOW, OF AGE   BLOCKS  SHARE       HOLDS  OLDER
 *	just now                3  <0.1%     1.6 KiB  99.9%  ▏
 *	below     30.0s    31,744  99.9%    31.0 MiB  <0.1%  ██████████████
 *	below      5.0m         1  <0.1%     2.0 KiB     0%  ▏
 *
 * What always holds: shares are of blocks; OLDER is what lies below a line.
 */
#include <errno.h>

#include "model/ages.h"
#include "present/figures.h"
#include "present/text/report_parts.h"
#include "util/util.h"

#define LABEL_MAX (FMT_MAX + 16)

/* "below     30.0s", or "1.0m to 5.0m" where several classes are one */
static const char *label(char buf[static LABEL_MAX], const struct snap_age *a)
{
	char from[FMT_MAX], below[FMT_MAX];
	uint8_t class = age__class(a->from_ns);

	/* by a clock that ticks: since its last tick */
	if (!a->from_ns && age__below_ns(0) == a->below_ns)
		snprintf(buf, LABEL_MAX, "just now");
	else if (age__from_ns(class) == a->from_ns && age__below_ns(class) == a->below_ns && a->below_ns != UINT64_MAX)
		snprintf(buf, LABEL_MAX, "below %9s", fmt_duration(below, a->below_ns));
	else if (a->below_ns == UINT64_MAX)
		snprintf(buf, LABEL_MAX, "from %10s", fmt_duration(from, a->from_ns));
	else
		snprintf(buf, LABEL_MAX, "%s to %s", fmt_duration(from, a->from_ns), fmt_duration(below, a->below_ns));
	return buf;
}

static int add_up(const struct report *r, const struct snap_process *p, struct snapshot *to, struct snap_site *ret)
{
	_cleanup_free_ const struct snap_site **v = calloc(r->s->n_sites + 1, sizeof(*v));
	size_t n = 0;

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < r->s->n_sites; i++)
		if (&r->s->processes[r->s->sites[i].process] == p)
			v[n++] = &r->s->sites[i];
	return ages__add_up(to, v, n, ret);
}

int report__age_bars(struct report *r, const struct snap_process *p)
{
	struct snapshot *own = snapshot__new();
	struct snap_site sum = {};
	uint64_t blocks = 0, most = 0, left;
	size_t room = report__room_for_bar(r, 51);
	int err = own ? add_up(r, p, own, &sum) : -ENOMEM;

	for (size_t i = 0; !err && i < sum.n_ages; i++) {
		blocks += sum.ages[i].blocks;
		most = MAX(most, sum.ages[i].blocks);
	}
	left = blocks;
	if (!err && sum.n_ages)
		fprintf(r->out, "\nLIVE NOW, OF AGE %8s  %5s  %10s  %5s\n", "BLOCKS", "SHARE", "HOLDS", "OLDER");
	for (size_t i = 0; !err && i < sum.n_ages; i++) {
		const struct snap_age *a = &sum.ages[i];
		char name[LABEL_MAX], b[FMT_MAX], c[FMT_MAX], d[FMT_MAX], e[FMT_MAX];

		left -= a->blocks;
		fprintf(r->out, "%-15s  %8s  %5s  %10s  %5s", label(name, a), report__mark_figure(r, fmt_count(b, a->blocks)),
			fmt_share(c, a->blocks, blocks), report__mark_figure(r, fmt_bytes(d, a->bytes)), fmt_share(e, left, blocks));
		report__put_bar(r, room, a->blocks, most);
	}
	snapshot__free(own);
	return err;
}

/* at least: 300 more blocks (1.2 MiB) are 20.0s to 30.0s old, ages are kept no finer */
void report__older_lines(struct report *r)
{
	const struct older_unsure *u = &r->s->older_unsure;
	char a[FMT_MAX], b[FMT_MAX], c[FMT_MAX], d[FMT_MAX] = "any age";

	if (!u->blocks)
		return;
	para__begin(&r->para, "", 0);
	para__item(&r->para, "at least: %s%s more block%s (%s%s) %s %s to %s old", report__mark(r), fmt_exact(a, u->blocks), plural(u->blocks),
		   report__mark(r), fmt_bytes(b, u->bytes), u->blocks == 1 ? "is" : "are", fmt_duration(c, u->from_ns),
		   u->below_ns == UINT64_MAX ? d : fmt_duration(d, u->below_ns));
	para__item(&r->para, "ages are kept no finer");
	para__end(&r->para);
}
