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

#include <string.h>
#include <time.h>

#include "present/figures.h"
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

/* A line is put together by hand: there may be a million in a second, and stdio takes longer for each than the call did. */
struct row {
	char s[512];
	size_t n;
};

static void put_text(struct row *r, const char *text, size_t len)
{
	len = MIN(len, sizeof(r->s) - r->n);
	memcpy(r->s + r->n, text, len);
	r->n += len;
}

static void put_blanks(struct row *r, size_t n)
{
	n = MIN(n, sizeof(r->s) - r->n);
	memset(r->s + r->n, ' ', n);
	r->n += n;
}

/* The text in so many columns, after two blanks. */
static void put_left(struct row *r, const char *text, size_t width)
{
	size_t cols = text_width(text);
	_cleanup_free_ char *cut = cols > width ? text_shorten(text, width) : NULL;

	if (cut)
		cols = text_width(cut);
	put_blanks(r, 2);
	put_text(r, cut ? cut : text, strlen(cut ? cut : text));
	put_blanks(r, cols < width ? width - cols : 0);
}

static void put_right(struct row *r, const char *text, size_t width)
{
	size_t len = strlen(text);

	put_blanks(r, 2 + (len < width ? width - len : 0));
	put_text(r, text, len);
}

/* Up to its end, which is at `end`: the first digit. */
static char *digits(char *end, uint64_t n, unsigned int base, int at_least)
{
	*end = '\0';
	do {
		*--end = "0123456789abcdef"[n % base];
		n /= base;
	} while (--at_least > 0 || n);
	return end;
}

static void put_number(struct row *r, uint64_t n, size_t width)
{
	char text[FMT_MAX];

	put_right(r, digits(text + sizeof(text) - 1, n, 10, 1), width);
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
static void put_block(const struct call_line *c, struct row *r)
{
	char bytes[FMT_MAX], addr[FMT_MAX], *at = bytes + sizeof(bytes) - 1;
	const char *where = kinds[c->kind].failed ? "failed" : "-";
	size_t width;

	if (kinds[c->kind].unsized) {
		*at = '\0';
		*--at = '?';
	} else {
		at = digits(at, c->size, 10, 1);
	}
	if (*kinds[c->kind].sign)
		*--at = *kinds[c->kind].sign;
	width = MAX(strlen(at), (size_t)BYTES_WIDTH);
	put_right(r, at, BYTES_WIDTH);
	if (c->addr) {
		char *hex = digits(addr + sizeof(addr) - 1, c->addr, 16, 12);

		*--hex = 'x';
		*--hex = '0';
		where = hex;
	}
	put_left(r, where, width < ADDRESS_WIDTH + BYTES_WIDTH ? ADDRESS_WIDTH + BYTES_WIDTH - width : 0);
}

static void put_time(struct call_lines *l, int64_t wall_ns, struct row *r)
{
	char us[FMT_MAX], *from;

	put_text(r, clock_of(l, wall_ns / (int64_t)SECOND_NS), strlen("hh:mm:ss"));
	from = digits(us + sizeof(us) - 1, (uint64_t)(wall_ns % (int64_t)SECOND_NS) / 1000, 10, 6);
	*--from = '.';
	put_text(r, from, 7);
}

void call_lines__put(struct call_lines *l, const struct call_line *c, FILE *out)
{
	const char *site = c->site ? c->site : c->kind == MT_TOLD_UNKNOWN ? "[older than the trace]" : "[not known]";
	struct row r;
	char lived[FMT_MAX];

	if (c->kind >= MT_TOLD_KINDS || !kinds[c->kind].sign)
		return;
	r.n = 0;
	put_time(l, c->wall_ns, &r);
	if (l->pids)
		put_number(&r, (uint64_t)c->pid, 7);
	put_number(&r, (uint64_t)c->tid, 7);
	put_left(&r, c->thread, THREAD_WIDTH);
	put_left(&r, c->function ? c->function : "(not seen)", CALL_WIDTH);
	put_block(c, &r);
	put_right(&r, c->lived_ns == UINT64_MAX ? "-" : fmt_duration(lived, c->lived_ns), 6);
	put_blanks(&r, 2);
	fwrite_unlocked(r.s, 1, r.n, out);
	fputs_unlocked(site, out);
	if (c->where) {
		fputs_unlocked("  freed by ", out);
		fputs_unlocked(c->where, out);
	}
	putc_unlocked('\n', out);
}

void call_lines__gap(FILE *out, uint64_t n, const char *why)
{
	char text[FMT_MAX];

	fprintf(out, "... %s event%s not shown: %s\n", fmt_exact(text, n), plural(n), why);
}

static void put_frame(const struct frame *f, bool is_caller, FILE *out)
{
	_cleanup_free_ char *name = telling__name(f);
	_cleanup_free_ char *cut = name && text_width(name) > NAME_WIDTH ? text_shorten(name, NAME_WIDTH) : NULL;

	fputs(is_caller ? " < " : "", out);
	fputs(cut ? cut : name ? name : "?", out);
}

char *call_line__site(const struct snapshot *s, const struct snap_site *site)
{
	size_t from = tellings__number(NULL, s, site), end = MIN(site__n_frames(s, site), from + CALL_LINE_FRAMES), size = 0, told = 0;
	char *text = NULL;
	FILE *out = text_stream__open(&text, &size);

	for (size_t i = from; i < end; i++) {
		struct frame f = site__frame(s, site, i);

		put_frame(&f, i > from, out);
		fflush(out);
		/* what the program's first function was called by says nothing */
		if (frame__is_telling(&f) || !told)
			told = size;
	}
	fseeko(out, (off_t)told, SEEK_SET);
	fputs(!site->n_stack ? NO_STACK_NAME : site->end == MT_END_UNSURE ? " (unsure)" : "", out);
	text_stream__close(out);
	text[size] = '\0';
	return text;
}
