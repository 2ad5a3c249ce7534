// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the parser of first screens: sentence and rows. */
#include "sentence.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define LINES_MAX 30
#define WORDS_MAX 200
#define ROWS_MAX 64
#define N_OF(v) (sizeof(v) / sizeof(*(v)))

/* How sentences begin; the first N_ALARMS are alarms. */
static const char *const openings[] = {
	"Leak: ", "Perhaps a leak: ", "Growing: ", "Grew before it ended: ",
	"Nothing grows", "The process freed all live memory", "Too early to tell", "Too short to tell", "No allocation was seen", "Too few samples", "Not clear whether", "Everything allocated", "Nothing was allocated", "Not freed at exit: ",
};
#define N_OPENINGS N_OF(openings)
#define N_ALARMS 4

const char *report_of(struct test *t, const char *file)
{
	struct mt m;
	int status = mt__run(t, &m, "report", file, NULL);

	must(t, !status, "report %s: %s", file, m.c.errs.s);
	return m.c.outs.s;
}

const char *sentence__find(const char *report)
{
	const char *first = NULL;
	char *line;

	for (const char *at = report; at && !first; at = strchr(at, '\n')) {
		at += *at == '\n';
		for (size_t i = 0; !first && i < N_OPENINGS; i++)
			first = strncmp(at, openings[i], strlen(openings[i])) ? NULL : at;
	}
	line = strdup(first ? first : "");
	for (char *at = line; at && (at = strchr(at, '\n'));)
		*at = ' ';
	return line ? line : "";
}

const char *sentence__about(const char *sentence)
{
	for (size_t i = 0; i < N_ALARMS; i++)
		if (!strncmp(sentence, openings[i], strlen(openings[i])))
			return sentence + strlen(openings[i]);
	return NULL;
}

bool sentence__is_all_clear(const char *sentence)
{
	return !strncmp(sentence, "Nothing grows", strlen("Nothing grows"));
}

void want_named(struct test *t, const char *sentence, const char *site)
{
	const char *whom = sentence__about(sentence), *after = whom ? whom + strlen(site) : NULL;

	/* "value_here (everyday.c:32) holds", or "value_here (everyday.c:32): none of its" */
	want(t, whom && !strncmp(whom, site, strlen(site)) && (*after == ' ' || *after == ':'),
	     "wanted %s, got: %.500s", site, sentence);
}

/* ---- rows */

/*
 *	    LIVE  BLOCKS  FREED  OLDEST    GROWTH/s  VERDICT  PROCESS  SITE
 *	13.4 MiB  13,919     0%   30.0s  +456.6 KiB  leak     demo     remember_visit  forgetful.c:27
 *
 * From the column of SITE on, a row is a name and, if that is known, its line.
 */
struct rows {
	char *text;			/* what they point into */
	size_t n;
	struct {
		const char *verdict;	/* to the end of the line */
		const char *site;	/* the same; with the process, where there is one */
		const char *name;	/* without */
	} v[ROWS_MAX];
};

static size_t column_of(const char *header, const char *title)
{
	const char *at = strstr(header, title);

	return at ? (size_t)(at - header) + 1 : 0;
}

static struct rows read_rows(struct test *t, const char *report)
{
	struct rows r = { .text = strdup(report) };
	size_t verdict = 0, process = 0, site = 0;
	char *save, *line;

	must(t, r.text != NULL, "no memory");
	for (line = strtok_r(r.text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (!site) {
			site = strchr(line, '(') ? 0 : column_of(line, " SITE");
			verdict = column_of(line, " VERDICT");
			process = column_of(line, " PROCESS");
			continue;
		}
		/* stacks and what follows begin at the margin */
		if (strlen(line) <= site || isalpha((unsigned char)*line))
			break;
		must(t, r.n < ROWS_MAX, "more than %d rows: %s", ROWS_MAX, report);
		r.v[r.n].verdict = verdict ? line + verdict : "";
		r.v[r.n].site = line + (process ? process : site);
		r.v[r.n++].name = line + site;
	}
	return r;
}

void want_rows_distinct(struct test *t, const char *report)
{
	struct rows r = read_rows(t, report);

	for (size_t i = 0; i < r.n; i++)
		for (size_t k = 0; k < i; k++)
			want(t, strcmp(r.v[i].site, r.v[k].site) != 0, "two rows are '%s':\n%s", r.v[i].site, report);
	free(r.text);
}

void want_one_row(struct test *t, const char *report, const char *function)
{
	static const char *const alarms[] = { "leak ", "suspect ", "growing " };
	struct rows r = read_rows(t, report);
	size_t n = 0, len = strlen(function);

	for (size_t i = 0; i < r.n; i++) {
		bool alarm = false;

		if (strncmp(r.v[i].name, function, len) || (r.v[i].name[len] && r.v[i].name[len] != ' '))
			continue;
		for (size_t k = 0; k < N_OF(alarms); k++)
			alarm |= !strncmp(r.v[i].verdict, alarms[k], strlen(alarms[k]));
		want(t, alarm, "its verdict, wanted an alarm, got '%s':\n%s", r.v[i].verdict, report);
		n++;
	}
	want(t, n == 1, "rows of %s, wanted 1, got %zu:\n%s", function, n, report);
	free(r.text);
}

void want_one_screen(struct test *t, const char *report)
{
	unsigned int lines = 0, words = 0;
	bool counted = false;

	for (const char *at = report; *at; at++) {
		lines += *at == '\n';
		/* "<" between the functions of a stack is none */
		words += isalnum((unsigned char)*at) && !counted;
		counted = !isspace((unsigned char)*at) && (counted || isalnum((unsigned char)*at));
	}
	want(t, lines <= LINES_MAX, "lines, wanted at most %u, got %u:\n%s", LINES_MAX, lines, report);
	want(t, words <= WORDS_MAX, "words, wanted at most %u, got %u:\n%s", WORDS_MAX, words, report);
	want_rows_distinct(t, report);
}

/* ---- goldens */

/*
 * How lines begin. One that begins otherwise continues the one above, which was broken where the
 * width of its figures wanted it.
 */
static const char *const line_begins[] = {
	"malloctrace  ", "malloctrace searched ", "Every block that was searched ", "traced ", "sh started ", "Also growing",
	"Probably leaked", "A flat profile",
	"live   ", "heap   ", "stacks ", "names  ", "python ", "node   ", "BLIND  ", "probes took ",
	"ended: ", "look into one: ", "allocates most: ", "next: ",
};

/* The report has this line from 5% on, which depends on the load of the machine. */
static const char *const of_load[] = { "probes took " };
/* These depend on the program's version, and on the symbols that its distribution left in it. */
static const char *const of_build[] = {
	"probes took ", "stacks ", "names  ", "A flat profile", "allocates most: ",
};
/* Whether RSS of so short a process was read twice is chance. */
static const char *const of_short_ones[] = {
	"Not freed at exit: ", "Too few samples ", "Too short to tell: ",
};

static bool begins_with(const char *line, const char *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(line, v[i], strlen(v[i])))
			return true;
	return false;
}

static bool is_digit(char c)
{
	return isdigit((unsigned char)c);
}

/* A figure and its unit, past which *at goes. Zero stays: 0 B, 0%, 0 of. */
static const char *figure(const char **at)
{
	static const char *const units[] = { " B", " KiB", " MiB", " GiB" };
	const char *from = *at, *end = from;
	bool zero;

	while (is_digit(*end) || (*end && strchr(".,:-", *end) && is_digit(end[1])))
		end++;
	zero = end == from + 1 && *from == '0';
	/* 2m49s, 2.10M, 0x4bd94 */
	if (isalpha((unsigned char)*end)) {
		while (isalnum((unsigned char)*end) || (*end == '.' && is_digit(end[1])))
			end++;
		*at = end;
		if (zero && from[1] == 'x')
			return "OFFSET";
		return end[-1] == 'k' || end[-1] == 'M' ? "N" : "TIME";
	}
	for (size_t i = 0; i < N_OF(units) && !zero; i++) {
		const char *after = end + strlen(units[i]);

		if (strncmp(end, units[i], strlen(units[i])) || isalnum((unsigned char)*after))
			continue;
		*at = after;
		return "BYTES";
	}
	*at = end;
	return zero ? "0" : "N";
}

/* How severe an alarm is, and how many sites there are: a busy machine serves clients unevenly. */
static const struct {
	const char *text, *as;
} of_servers[] = {
	{ "Leak: ", "ALARM:" }, { "Perhaps a leak: ", "ALARM:" }, { "Growing: ", "ALARM:" },
	{ "sites, ", "site," },
};

/* Writes what differs from run to run as a word. Returns what follows; NULL: the line ends here. */
static const char *pass(FILE *out, const char *line, const char *at, const char *guilty)
{
	static const char on[] = " on ", main_[] = " < main < ", held[] = ", and held by ",
			  of_live[] = " of live memory";
	struct utsname u;

	if (guilty && !strncmp(at, guilty, strlen(guilty))) {
		fputs("GUILTY", out);
		return at + strlen(guilty);
	}
	if (!strncmp(at, on, strlen(on)) && !uname(&u) &&
	    !strncmp(at + strlen(on), u.nodename, strlen(u.nodename))) {
		fputs(" on HOST", out);
		return at + strlen(on) + strlen(u.nodename);
	}
	if (!strncmp(at + 1, " RSS ", 5) && begins_with(line, of_short_ones, N_OF(of_short_ones)))
		return NULL;
	for (size_t i = 0; guilty && i < N_OF(of_servers); i++)
		if (!strncmp(at, of_servers[i].text, strlen(of_servers[i].text))) {
			fputs(of_servers[i].as, out);
			return at + strlen(of_servers[i].text) - 1;
		}
	if (guilty && !strncmp(at, of_live, strlen(of_live)))
		return NULL;
	/* what called main() is libc's; in Python it is <module> */
	if (!strncmp(at, main_, strlen(main_)) && at[strlen(main_)] != '<') {
		fputs(" < main", out);
		return NULL;
	}
	/* names of variables are read for two seconds; heap_trace_searched_unasked wants them */
	if (!strncmp(at, held, strlen(held)) && strchr(at, ':'))
		return strchr(at, ':');
	return at;
}

/* Digits within names stay. The line of a file is the ledger's: an edit above it moves it. */
static void write_plain(FILE *out, const char *line, const char *guilty)
{
	const char *at = line, *next;
	char before = ' ';

	while (*at && (next = pass(out, line, at, guilty))) {
		if (next != at) {
			at = next;
		} else if (is_digit(*at) && before == ':') {
			at += strspn(at, "0123456789");
			fputs("LINE", out);
		} else if (*at == '~' && is_digit(at[1])) {
			/* the heap may have changed while it was read */
			at++;
		} else if (is_digit(*at) && !isalnum((unsigned char)before) && !strchr("._/", before)) {
			fputs(figure(&at), out);
			before = '0';
		} else if (!strncmp(at, "   ", 3)) {
			/* columns are as wide as their figures */
			at++;
		} else {
			before = *at;
			fputc(*at++, out);
		}
	}
}

/* A column and the gap in front of it. */
static void drop_column(char *line, const char *titles, const char *title, bool last)
{
	const char *found = strstr(titles, title);
	size_t begin = found ? (size_t)(found - titles) : 0, end = begin + strlen(title);

	while (begin && titles[begin - 1] == ' ')
		begin--;
	if (!found || strlen(line) < end)
		return;
	if (last)
		line[begin] = '\0';
	else
		memmove(line + begin, line + end, strlen(line + end) + 1);
}

struct plain {
	FILE *out;
	const char *guilty;
	char *line;		/* in one piece; NULL: none */
	char *titles;		/* of the table that it is in; NULL: it is in none */
	bool is_row, any, apart;
};

/* Is it about the program that was traced, and not about this run, or its version? */
static bool is_kept(const struct plain *p)
{
	if (!p->guilty)
		return !begins_with(p->line, of_load, N_OF(of_load));
	if (p->is_row)
		return strstr(p->line, p->guilty);
	return !begins_with(p->line, of_build, N_OF(of_build)) && !strstr(p->line, " < ");
}

static void end_line(struct plain *p)
{
	if (p->line && is_kept(p)) {
		fputs(!p->any ? "" : p->apart ? "\n\n" : "\n", p->out);
		write_plain(p->out, p->line + strspn(p->line, " "), p->guilty);
		p->any = true;
		p->apart = false;
	}
	free(p->line);
	p->line = NULL;
}

static void begin_line(struct test *t, struct plain *p, const char *line, bool is_known)
{
	bool is_titles = !p->titles && !strchr(line, '(') &&
			 (strstr(line, " SITE") || strstr(line, " PROCESS"));

	end_line(p);
	p->is_row = p->titles && !is_known;
	p->line = strdup(line);
	if (is_titles)
		p->titles = strdup(line);
	must(t, p->line && (!is_titles || p->titles), "no memory");
	if (!is_titles && !p->is_row)
		return;
	/* from right to left; a container's, which this machine may be */
	drop_column(p->line, p->titles, " WHERE", true);
	/* whether a site of a short process was judged, and its RSS read twice, is chance */
	if (p->guilty)
		drop_column(p->line, p->titles, " VERDICT", false);
	if (p->guilty)
		drop_column(p->line, p->titles, " RSS CHANGE", false);
	/* the first that has no room where figures are wide */
	drop_column(p->line, p->titles, " SHARE", false);
}

static char *plain(struct test *t, const char *report, const char *guilty)
{
	char *text = strdup(report), *rest = text, *line, *ret = NULL;
	struct plain p = { .guilty = guilty };
	size_t len = 0;

	p.out = open_memstream(&ret, &len);
	must(t, text && p.out, "no memory");
	while ((line = strsep(&rest, "\n"))) {
		bool is_known = begins_with(line, line_begins, N_OF(line_begins)) ||
				begins_with(line, openings, N_OPENINGS);
		char *longer = NULL;

		if (!*line) {
			end_line(&p);
			free(p.titles);
			p.titles = NULL;
			p.apart = true;
		} else if (!p.line || p.titles || is_known) {
			begin_line(t, &p, line, is_known);
		} else {
			must(t, asprintf(&longer, "%s %s", p.line, line + strspn(line, " ")) > 0, "no memory");
			free(p.line);
			p.line = longer;
		}
	}
	end_line(&p);
	fputc('\n', p.out);
	fclose(p.out);
	free(text);
	return ret;
}

/* The first line in which they differ: to its end, and a number of it. */
static unsigned int difference(const char **a, const char **b)
{
	unsigned int n = 1;
	const char *x = *a, *y = *b;

	for (; *x && *x == *y; x++, y++)
		if (*x == '\n') {
			n++;
			*a = x + 1;
			*b = y + 1;
		}
	return n;
}

void want_golden(struct test *t, const char *name, const char *report, const char *guilty)
{
	const char *src = getenv("MT_SRC"), *renew = getenv("MT_GOLDEN");
	char path[4096], *seen = plain(t, report, guilty), *wanted;
	const char *a, *b = seen;
	unsigned int n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/golden/first-screen/%s.txt", src ? src : ".", name);
	if (renew && !strcmp(renew, "renew")) {
		f = fopen(path, "we");
		must(t, f && fputs(seen, f) >= 0 && !fclose(f), "%s cannot be written", path);
	}
	a = wanted = read_all(path, NULL);
	must(t, wanted != NULL, "%s cannot be read; MT_GOLDEN=renew writes it", path);
	n = difference(&a, &b);
	want(t, !strcmp(wanted, seen), "line %u of %s is '%.*s', got '%.*s'", n, path,
	     (int)strcspn(a, "\n"), a, (int)strcspn(b, "\n"), b);
	free(wanted);
	free(seen);
}
