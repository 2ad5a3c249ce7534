// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how a line of --events looks. What always holds: all that varies in width is in
 * columns that are wide enough, or is shortened, but for the site, which is last.
 *
 *	TIME                 TID  THREAD           CALL                      BYTES  ADDRESS          LIVED  SITE
 *	14:03:22.123456     1234  worker           malloc                      +40  0xaaaad2a012c0       -  token_make < session_open
 *	14:03:22.123999     1234  worker           free                        -40  0xaaaad2a012c0   543us  token_make < session_open
 *	14:03:22.124010     1234  worker           malloc               1000000000  failed               -  buffer_make < main
 */
#include "present/text/call_lines.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "present/telling.h"
#include "util/parse.h"
#include "util/text.h"
#include "util/util.h"

#define THREAD_WIDTH 15		/* the kernel's own limit */
#define CALL_WIDTH 17		/* "operator delete[]" */
#define BYTES_WIDTH 14
#define ADDRESS_WIDTH 14
#define NAME_WIDTH 60		/* of a frame: templates have names of thousands of characters */

static const char *clock_of(struct call_lines *l, int64_t second)
{
	time_t t = (time_t)second;
	struct tm tm;

	if (l->second == second && l->clock[0])
		return l->clock;
	l->second = second;
	if (!localtime_r(&t, &tm) || !strftime(l->clock, sizeof(l->clock), "%H:%M:%S", &tm))
		snprintf(l->clock, sizeof(l->clock), "--:--:--");
	return l->clock;
}

/* The text in so many columns, on the left. */
static void put_left(FILE *out, const char *text, size_t width)
{
	size_t cols = text_width(text);
	_cleanup_free_ char *cut = cols > width ? text_shorten(text, width) : NULL;

	if (cut)
		cols = text_width(cut);
	fprintf(out, "  %s%*s", cut ? cut : text, cols < width ? (int)(width - cols) : 0, "");
}

void call_lines__header(const struct call_lines *l, FILE *out)
{
	fprintf(out, "%-15s", "TIME");
	if (l->pids)
		fprintf(out, "  %7s", "PID");
	fprintf(out, "  %7s  %-*s  %-*s  %*s  %-*s  %6s  %s\n", "TID", THREAD_WIDTH, "THREAD", CALL_WIDTH, "CALL", BYTES_WIDTH,
		"BYTES", ADDRESS_WIDTH, "ADDRESS", "LIVED", "SITE");
}

/* What a line of each kind has of its bytes and its address. */
static const struct {
	const char *sign;
	bool unsized, failed;
} kinds[MT_TOLD_KINDS] = {
	[MT_TOLD_ALLOC] = { .sign = "+" },
	[MT_TOLD_FREE] = { .sign = "-" },
	[MT_TOLD_UNSEEN] = { .sign = "-" },
	[MT_TOLD_UNKNOWN] = { .sign = "-", .unsized = true },
	[MT_TOLD_FAILED] = { .sign = "", .failed = true },
	[MT_TOLD_UNSIZED] = { .sign = "", .unsized = true, .failed = true },
};

/* "+40  0xaaaad2a012c0", "-?  0xaaaad2a012c0"; what cannot be had may be a number of twenty digits, and has no address */
static void put_block(const struct call_line *c, FILE *out)
{
	char bytes[FMT_MAX], addr[FMT_MAX];
	int width;

	if (kinds[c->kind].unsized)
		snprintf(bytes, sizeof(bytes), "%s?", kinds[c->kind].sign);
	else
		snprintf(bytes, sizeof(bytes), "%s%" PRIu64, kinds[c->kind].sign, c->size);
	if (c->addr)
		snprintf(addr, sizeof(addr), "0x%012" PRIx64, c->addr);
	else
		snprintf(addr, sizeof(addr), "%s", kinds[c->kind].failed ? "failed" : "-");
	width = MAX((int)strlen(bytes), BYTES_WIDTH);
	fprintf(out, "  %*s  %-*s", BYTES_WIDTH, bytes, MAX(ADDRESS_WIDTH + BYTES_WIDTH - width, 0), addr);
}

void call_lines__put(struct call_lines *l, const struct call_line *c, FILE *out)
{
	int64_t second = c->wall_ns / (int64_t)SECOND_NS;
	char lived[FMT_MAX];

	if (c->kind >= MT_TOLD_KINDS || !kinds[c->kind].sign)
		return;
	fprintf(out, "%s.%06d", clock_of(l, second), (int)(c->wall_ns % (int64_t)SECOND_NS / 1000));
	if (l->pids)
		fprintf(out, "  %7d", (int)c->pid);
	fprintf(out, "  %7d", (int)c->tid);
	put_left(out, c->thread, THREAD_WIDTH);
	put_left(out, c->function ? c->function : "(not seen)", CALL_WIDTH);
	put_block(c, out);
	fprintf(out, "  %6s  %s", c->lived_ns == UINT64_MAX ? "-" : fmt_duration(lived, c->lived_ns),
		c->site			     ? c->site :
		c->kind == MT_TOLD_UNKNOWN ? "[older than the trace]" :
					     "[not known]");
	if (c->where)
		fprintf(out, "  freed by %s", c->where);
	fputc('\n', out);
}

void call_lines__gap(FILE *out, uint64_t n, const char *why)
{
	char text[FMT_MAX];

	fprintf(out, "... %s event%s not shown: %s\n", fmt_exact(text, n), n == 1 ? "" : "s", why);
}

char *call_line__site(const struct snapshot *s, const struct snap_site *site)
{
	size_t from = tellings__number(NULL, s, site), number = 0, size = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	if (!site->n_stack)
		fputs("[no stack]", out);
	for (uint32_t i = 0; i < site->n_stack && number < from + CALL_LINE_FRAMES; i++) {
		const struct place *p = &s->places[site->stack[i]];

		for (size_t k = 0; k < place__n_frames(p) && number < from + CALL_LINE_FRAMES; k++, number++) {
			struct frame f = place__frame(s, p, k);
			const char *name = telling__name(&f);
			_cleanup_free_ char *cut = text_width(name) > NAME_WIDTH ? text_shorten(name, NAME_WIDTH) : NULL;

			if (number >= from && *name)
				fprintf(out, "%s%s", number > from ? " < " : "", cut ? cut : name);
			else if (number >= from)
				fprintf(out, "%s0x%" PRIx64, number > from ? " < " : "", p->offset);
		}
	}
	if (site->end == MT_END_UNSURE)
		fputs(" (unsure)", out);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}
