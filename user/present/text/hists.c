// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the views of sizes and of lifetimes:
 *
 *	SIZES of redis-server (1432)
 *
 *	SIZE                CALLS  SHARE     LIVE       HOLDS    OVERHEAD
 *	below      64 B     2.10M  95.7%        1        48 B       ~16 B  ██████████████
 *	below   2.0 KiB    31,744   1.4%   31,744    31.0 MiB  ~496.0 KiB  ▎
 *	most is held below 2.0 KiB: 31.0 MiB (81.6%)
 *
 *	SIZES by bytes (9 of 9 sites, 100% of bytes)
 *
 *	 1.  310.0 MiB  70.0%  512 B to  64.0 KiB  mean   5.2 KiB  calloc
 *	     _dictExpand  src/dict.c:180
 *
 * What always holds: classes are kept by count alone. What a class holds is
 * exact as far as its blocks come from sites that have all their blocks in it;
 * the rest of a process's live bytes is put where the rest of the blocks is, and
 * bears the mark of an estimate. A class adds up to no more than its process.
 */
#include <string.h>

#include "model/ages.h"
#include "present/text/report_parts.h"

#define CLASSES_MAX 80
#define BAR_MAX 40
#define TEXT_MAX (FMT_MAX + 16)

struct class {
	uint64_t live_blocks;	/* as far as it is known */
	uint64_t sure_blocks, bytes;	/* of sites that are all in it; then all of it */
	uint64_t even_blocks, overhead;	/* of sites whose blocks are all of one size; then all of it */
	bool guessed;		/* bytes: not all of them are sure */
};

/* ---- what glibc's malloc takes beyond what is asked for */

#define GLIBC_HEADER 8
#define GLIBC_ALIGN 16
#define GLIBC_LEAST 32

static uint64_t glibc_overhead(uint64_t size)
{
	uint64_t chunk = (size + GLIBC_HEADER + GLIBC_ALIGN - 1) & ~(uint64_t)(GLIBC_ALIGN - 1);

	return MAX(chunk, (uint64_t)GLIBC_LEAST) - size;
}

/* Of sizes from below / 2 on: all residues are as likely. In halves: their mean is none of a whole number. */
static uint64_t glibc_mean_overhead_x2(uint64_t below)
{
	uint64_t from = below / 2, sum = 0, n = MAX(MIN(below - from, (uint64_t)GLIBC_ALIGN), (uint64_t)1);

	for (uint64_t i = 0; i < n; i++)
		sum += glibc_overhead(from + i);
	return 2 * sum / n;
}

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* Are all blocks glibc's, and their sizes those that were asked for? C++ libraries call malloc. */
static bool overhead_known(const struct snapshot *s)
{
	bool glibc = false;

	if (!(s->known & HAS_LIFETIMES) || s->recording.size != SIZE_REQUESTED || recording__has_mappings(&s->recording))
		return false;
	for (size_t i = 0; i < s->n_probes; i++) {
		const char *name = path_basename(s->probes[i].object);
		bool libc = starts(name, "libc.so.6");

		if (!libc && !starts(name, "libstdc++.so") && !starts(name, "libc++"))
			return false;
		if (s->probes[i].size != s->recording.size)
			return false;
		glibc |= libc;
	}
	return glibc;
}

/* ---- classes of sizes */

static size_t class_of(const struct snap_process *p, size_t n, uint64_t size)
{
	size_t i = 0;

	while (i < n && size >= p->sizes[i].below && p->sizes[i].below != UINT64_MAX)
		i++;
	return i;
}

/* The middle of a class, for weighing alone. */
static double middle(const struct snap_process *p, size_t i)
{
	if (p->sizes[i].below == UINT64_MAX)
		return i ? MAX(1.5 * (double)p->sizes[i - 1].below, 1.0) : 1;
	return MAX(0.75 * (double)p->sizes[i].below, 1.0);
}

static void add_sites(const struct report *r, const struct snap_process *p, struct class *v, size_t n)
{
	for (size_t i = 0; i < r->s->n_sites; i++) {
		const struct snap_site *site = &r->s->sites[i];
		size_t at = class_of(p, n, site->min_size);

		if (&r->s->processes[site->process] != p || at == n || at != class_of(p, n, site->max_size))
			continue;
		v[at].sure_blocks += site->c.live_blocks;
		v[at].bytes += site->c.live_bytes;
		if (site->min_size == site->max_size) {
			v[at].even_blocks += site->c.live_blocks;
			v[at].overhead += site->c.live_blocks * glibc_overhead(site->min_size);
		}
	}
}

static void share_out(const struct snap_process *p, struct class *v, size_t n)
{
	uint64_t sure = 0, rest;
	double weight = 0;

	for (size_t i = 0; i < n; i++) {
		sure += v[i].bytes;
		if (v[i].live_blocks > v[i].sure_blocks)
			weight += middle(p, i) * (double)(v[i].live_blocks - v[i].sure_blocks);
	}
	rest = p->c.live_bytes > sure ? p->c.live_bytes - sure : 0;
	for (size_t i = 0; i < n; i++) {
		if (v[i].live_blocks > v[i].sure_blocks && rest) {
			v[i].bytes += (uint64_t)((double)rest * (middle(p, i) * (double)(v[i].live_blocks - v[i].sure_blocks) / weight));
			v[i].guessed = true;
		}
		if (v[i].live_blocks > v[i].even_blocks)
			v[i].overhead += (uint64_t)((unsigned __int128)(v[i].live_blocks - v[i].even_blocks) *
						    glibc_mean_overhead_x2(p->sizes[i].below) / 2);
	}
}

/* ---- a line of the bars */

/* and the end of the line */
static void put_bar(struct report *r, size_t room, uint64_t n, uint64_t most)
{
	/* ▏ to ▉ */
	uint64_t eighths = most ? (uint64_t)((unsigned __int128)n * room * 8 / most) : 0;

	if (n && !eighths)
		eighths = 1;
	if (!eighths || !room) {
		fputc('\n', r->out);
		return;
	}
	fputs("  ", r->out);
	for (uint64_t i = 0; i < eighths / 8; i++)
		fputs("█", r->out);
	if (eighths % 8)
		fprintf(r->out, "\xe2\x96%c", (char)(0x90 - eighths % 8));
	fputc('\n', r->out);
}

/* "below   2.0 KiB": of bytes, or of nanoseconds */
static const char *label(char buf[static TEXT_MAX], uint64_t below, bool ns)
{
	if (below == UINT64_MAX)
		snprintf(buf, TEXT_MAX, "%s", ns ? "any longer" : "any larger");
	else
		snprintf(buf, TEXT_MAX, "below %9s", ns ? DURATION(below) : BYTES(below));
	return buf;
}

static const char *in_words(char buf[static TEXT_MAX], uint64_t below)
{
	if (below == UINT64_MAX)
		snprintf(buf, TEXT_MAX, "in the largest");
	else
		snprintf(buf, TEXT_MAX, "below %s", BYTES(below));
	return buf;
}

static const char *marked(char buf[static TEXT_MAX], bool mark, const char *text)
{
	snprintf(buf, TEXT_MAX, "%s%s", mark ? "~" : "", text);
	return buf;
}

static size_t room_for_bar(const struct report *r, size_t cols)
{
	return r->width > cols + 2 ? MIN(r->width - cols - 2, (size_t)BAR_MAX) : 0;
}

static void most_line(struct report *r, const struct snap_process *p, const struct class *v, size_t n, bool overhead)
{
	char a[TEXT_MAX];
	uint64_t sum = 0;
	size_t held = 0, over = 0;

	for (size_t i = 0; i < n; i++) {
		held = v[i].bytes > v[held].bytes ? i : held;
		over = v[i].overhead > v[over].overhead ? i : over;
		sum += v[i].overhead;
	}
	if (!v[held].bytes)
		return;
	report__line(r, "most is held %s: %s%s (%s)", in_words(a, p->sizes[held].below), v[held].guessed || r->s->estimated ? "~" : "",
		   BYTES(v[held].bytes), SHARE(v[held].bytes, p->c.live_bytes));
	if (!overhead || !v[over].overhead)
		return;
	para__begin(&r->para, "", 0);
	para__item(&r->para, "most overhead %s: ~%s (%s)", in_words(a, p->sizes[over].below), BYTES(v[over].overhead),
		   SHARE(v[over].overhead, sum));
	para__item(&r->para, "headers and rounding of glibc's malloc");
	para__end(&r->para);
}

static void sizes_of(struct report *r, const struct snap_process *p)
{
	bool live = r->s->known & HAS_LIFETIMES && r->s->known & HAS_LIVE_BYTES, overhead = overhead_known(r->s);
	size_t n = MIN(p->n_sizes, (size_t)CLASSES_MAX), room;
	struct class v[CLASSES_MAX] = {};
	char d[TEXT_MAX], e[TEXT_MAX], f[TEXT_MAX];
	uint64_t calls = 0, most = 0;

	for (size_t i = 0; i < n; i++) {
		calls += p->sizes[i].alloc_calls;
		most = MAX(most, p->sizes[i].alloc_calls);
		v[i].live_blocks = p->sizes[i].live_blocks;
	}
	if (live) {
		add_sites(r, p, v, n);
		share_out(p, v, n);
	}
	room = room_for_bar(r, 32 + (live ? 22 : 0) + (overhead ? 12 : 0));
	fprintf(r->out, "SIZE             %8s  %5s", "CALLS", "SHARE");
	if (live)
		fprintf(r->out, "  %8s  %10s", "LIVE", "HOLDS");
	if (overhead)
		fprintf(r->out, "  %10s", "OVERHEAD");
	fputc('\n', r->out);
	for (size_t i = 0; i < n; i++) {
		fprintf(r->out, "%-15s  %8s  %5s", label(e, p->sizes[i].below, false),
			report__mark_figure(r, COUNT(p->sizes[i].alloc_calls)), SHARE(p->sizes[i].alloc_calls, calls));
		if (live)
			fprintf(r->out, "  %8s  %10s", report__mark_figure(r, COUNT(v[i].live_blocks)),
				marked(f, (r->s->estimated || v[i].guessed) && v[i].bytes, BYTES(v[i].bytes)));
		if (overhead)
			fprintf(r->out, "  %10s", marked(d, v[i].overhead, BYTES(v[i].overhead)));
		put_bar(r, room, p->sizes[i].alloc_calls, most);
	}
	if (live)
		most_line(r, p, v, n, overhead);
}

static void lifetimes_of(struct report *r, const struct snap_process *p)
{
	char f[TEXT_MAX];
	uint64_t blocks = 0, most = 0, so_far = 0;
	size_t room = room_for_bar(r, 39);

	for (size_t i = 0; i < p->n_lifetimes; i++) {
		blocks += p->lifetimes[i].blocks;
		most = MAX(most, p->lifetimes[i].blocks);
	}
	fprintf(r->out, "LIVED            %8s  %5s  %5s\n", "BLOCKS", "SHARE", "SUM");
	for (size_t i = 0; i < p->n_lifetimes; i++) {
		so_far += p->lifetimes[i].blocks;
		fprintf(r->out, "%-15s  %8s  %5s  %5s", label(f, p->lifetimes[i].below_ns, true),
			report__mark_figure(r, COUNT(p->lifetimes[i].blocks)), SHARE(p->lifetimes[i].blocks, blocks),
			SHARE(so_far, blocks));
		put_bar(r, room, p->lifetimes[i].blocks, most);
	}
}

/* ---- ages of live blocks */

/*
 * What reports say of the ages of live blocks. Behind a process's lifetimes:
 *
 *	LIVE NOW, OF AGE   BLOCKS  SHARE       HOLDS  OLDER
 *	just now                3  <0.1%     1.6 KiB  99.9%  ▏
 *	below     30.0s    31,744  99.9%    31.0 MiB  <0.1%  ██████████████
 *	below      5.0m         1  <0.1%     2.0 KiB     0%  ▏
 *
 * What always holds: shares are of blocks; OLDER is what lies below a line.
 */

/* "below     30.0s", or "1.0m to 5.0m" where several classes are one */
static const char *age_label(char buf[static TEXT_MAX], const struct snap_age *a)
{
	uint8_t class = age__class(a->from_ns);

	/* by a clock that ticks: since its last tick */
	if (!a->from_ns && age__below_ns(0) == a->below_ns)
		snprintf(buf, TEXT_MAX, "just now");
	else if (age__from_ns(class) == a->from_ns && age__below_ns(class) == a->below_ns && a->below_ns != UINT64_MAX)
		snprintf(buf, TEXT_MAX, "below %9s", DURATION(a->below_ns));
	else if (a->below_ns == UINT64_MAX)
		snprintf(buf, TEXT_MAX, "from %10s", DURATION(a->from_ns));
	else
		snprintf(buf, TEXT_MAX, "%s to %s", DURATION(a->from_ns), DURATION(a->below_ns));
	return buf;
}

static void age_bars(struct report *r, const struct snap_process *p)
{
	_cleanup_free_ const struct snap_site **v = xcalloc(r->s->n_sites + 1, sizeof(*v));
	struct snapshot *own = snapshot__new();
	struct snap_site sum = {};
	uint64_t blocks = 0, most = 0, left;
	size_t room = room_for_bar(r, 51), n = 0;

	for (size_t i = 0; i < r->s->n_sites; i++)
		if (&r->s->processes[r->s->sites[i].process] == p)
			v[n++] = &r->s->sites[i];
	ages__add_up(own, v, n, &sum);
	for (size_t i = 0; i < sum.n_ages; i++) {
		blocks += sum.ages[i].blocks;
		most = MAX(most, sum.ages[i].blocks);
	}
	left = blocks;
	if (sum.n_ages)
		fprintf(r->out, "\nLIVE NOW, OF AGE %8s  %5s  %10s  %5s\n", "BLOCKS", "SHARE", "HOLDS", "OLDER");
	for (size_t i = 0; i < sum.n_ages; i++) {
		const struct snap_age *a = &sum.ages[i];
		char name[TEXT_MAX];

		left -= a->blocks;
		fprintf(r->out, "%-15s  %8s  %5s  %10s  %5s", age_label(name, a), report__mark_figure(r, COUNT(a->blocks)),
			SHARE(a->blocks, blocks), report__mark_figure(r, BYTES(a->bytes)), SHARE(left, blocks));
		put_bar(r, room, a->blocks, most);
	}
	snapshot__free(own);
}

/* Of the processes that called the most, as many as rows are asked for. */
static void bars(struct report *r, const char *title, bool sizes)
{
	_cleanup_free_ const struct snap_process **v = processes__rank(r->s, metric__find("alloc-calls"), false);
	size_t told = 0, left = 0;

	for (size_t i = 0; i < r->s->n_processes; i++) {
		_cleanup_free_ char *who = NULL;

		if (!(sizes ? v[i]->n_sizes : v[i]->n_lifetimes))
			continue;
		if (told == r->top) {
			left++;
			continue;
		}
		told++;
		who = report__owner(r, v[i], r->width - strlen(title) - 4);
		fprintf(r->out, "\n%s of %s\n\n", title, who);
		if (sizes) {
			sizes_of(r, v[i]);
			continue;
		}
		lifetimes_of(r, v[i]);
		age_bars(r, v[i]);
	}
	if (left)
		fprintf(r->out, "\n%zu more process%s: -T N for more\n", left, left == 1 ? "" : "es");
}

void report__size_bars(struct report *r)
{
	bars(r, "SIZES", true);
}

void report__lifetime_bars(struct report *r)
{
	bars(r, "LIFETIMES", false);
}
