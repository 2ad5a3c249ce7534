// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Help text, man page and completion scripts tell of the same options. */
#include <criterion/criterion.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "options/opts.h"
#include "options/opts_table.h"
#include "util/util.h"

static char *help_text(const struct command_row *of, bool all)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	cr_assert(f);
	opts__help(f, of, all);
	fclose(f);
	return text;
}

Test(opts_help, fits_80_columns)
{
	_cleanup_free_ char *text = help_text(NULL, true);
	char *rest = text, *l;

	while ((l = strsep(&rest, "\n")))
		cr_expect_lt(strlen(l), 80, "%s", l);
}

/* The short help is one screen; what it names is in the long one, which has every option but those for tests. */
Test(opts_help, of_one_screen)
{
	_cleanup_free_ char *text = help_text(NULL, false), *all = help_text(NULL, true);
	static const char *const commands[] = { "report", "diff", "heap", "serve", "doctor" };
	size_t n_lines = 0, n_options = 0;
	char *rest = text, *l, key[40];

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		snprintf(key, sizeof(key), "\n  %s ", commands[i]);
		cr_expect(strstr(text, key), "%s", commands[i]);
	}
	while ((l = strsep(&rest, "\n")) && (*l || rest)) {
		n_lines++;
		n_options += !strncmp(l, "  -", 3) || !strncmp(l, "      --", 8);
		cr_expect_lt(strlen(l), 80, "%s", l);
	}
	cr_expect(n_lines >= 30 && n_lines <= 40, "%zu lines", n_lines);
	cr_expect_eq(n_options, 10);
	for (size_t i = 0; i < n_opt_rows; i++) {
		snprintf(key, sizeof(key), "--%s", opt_rows[i].name);
		cr_expect_eq(!opt_rows[i].help, !strstr(all, key), "%s in --help all", key);
	}
}

Test(opts_help, all_or_one_screen)
{
	static const struct {
		char *const argv[4];
		bool all;
	} lines[] = {
		{ { "malloctrace", "--help" }, false }, { { "malloctrace", "help" }, false }, { { "malloctrace", "-h", "heap" }, false },
		{ { "malloctrace", "--help", "all" }, true }, { { "malloctrace", "help", "all" }, true }, { { "malloctrace", "-h", "all" }, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		_cleanup_err_ struct err e = {};
		struct opts o;

		cr_assert_eq(opts__parse(&o, lines[i].argv[2] ? 3 : 2, (char **)lines[i].argv, &e), 0, "%s", err_msg(&e));
		cr_expect_eq(o.command, CMD_HELP);
		cr_expect_eq(o.help_all, lines[i].all, "%zu", i);
		opts__done(&o);
	}
}

/* `heap --help` has what heap takes, and no more; a screen has room for it. */
Test(opts_help, of_one_command)
{
	char *const lines[][4] = { { "malloctrace", "heap", "--help" }, { "malloctrace", "help", "heap" }, { "malloctrace", "heap", "-h" } };

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		_cleanup_free_ char *text = NULL;
		_cleanup_err_ struct err e = {};
		struct opts o;
		size_t n = 0;

		cr_assert_eq(opts__parse(&o, 3, (char **)lines[i], &e), 0, "%s", err_msg(&e));
		cr_expect_eq(o.command, CMD_HELP);
		text = help_text(o.help_of, o.help_all);
		opts__done(&o);
		cr_expect(strstr(text, "usage: malloctrace heap ") == text && strstr(text, "--reachable  ") && strstr(text, "--pause  ") && strstr(text, "--full  "), "%s", text);
		cr_expect(!strstr(text, "--filter") && !strstr(text, "--when") && !strstr(text, "malloctrace diff"), "%s", text);
		for (const char *s = text; (s = strchr(s, '\n')); s++)
			n++;
		cr_expect_leq(n, 50, "%zu lines", n);
		for (char *l = strtok(text, "\n"); l; l = strtok(NULL, "\n"))
			cr_expect_leq(strlen(l), 80, "%s", l);
	}
}

static bool is_name(char c)
{
	return islower((unsigned char)c) || c == '-';
}

/* The long options that stand in a text, each as " name " in one string. */
static char *long_options(const char *text)
{
	char *list = calloc(1, strlen(text) * 2 + 2), *end = list;

	cr_assert(list);
	*end++ = ' ';
	for (const char *s = text; (s = strstr(s, "--")); ) {
		s += 2;
		if (!is_name(*s))
			continue;
		while (is_name(*s))
			*end++ = *s++;
		*end++ = ' ';
	}
	return list;
}

static void check_all_in(const char *names, const char *in, const char *what)
{
	_cleanup_free_ char *copy = strdup(names);
	char *rest = copy, *w, key[80];
	int n = 0;

	while ((w = strsep(&rest, " "))) {
		if (!*w)
			continue;
		n++;
		snprintf(key, sizeof(key), " %s ", w);
		cr_expect(strstr(in, key), "--%s is not in the %s", w, what);
	}
	cr_expect_gt(n, 20, "the options were not found at all");
}

/* The man page tells of every option of this version, and of no other. */
Test(opts_help, man_page)
{
	_cleanup_free_ char *help = help_text(NULL, true);
	_cleanup_free_ char *page = NULL, *in_help = NULL, *in_page = NULL;
	size_t len;
	char *out;

	cr_assert_eq(read_small_file("docs/malloctrace.1", &page, &len), 0, "run from the top of the source tree");
	/* roff's \- is a plain - */
	out = page;
	for (char *s = page; *s; s++) {
		if (s[0] != '\\' || s[1] != '-')
			*out++ = *s;
	}
	*out = '\0';
	in_help = long_options(help);
	in_page = long_options(page);
	check_all_in(in_help, in_page, "man page");
	check_all_in(in_page, in_help, "help text");
	for (const char *s = help; (s = strstr(s, "\n  -")); s += 4) {
		char key[8];

		if (s[4] == '-')
			continue;
		snprintf(key, sizeof(key), "-%c", s[4]);
		cr_expect(strstr(page, key), "%s is not in the man page", key);
	}
}

/* roff: a word in bold, "\\fB\\-\\-max\\-live\\fR" */
static void bold(char *to, size_t room, const char *word)
{
	size_t len = (size_t)snprintf(to, room, "\\fB");

	for (; *word && len + 6 < room; word++)
		len += (size_t)snprintf(to + len, room - len, "%s%c", *word == '-' ? "\\" : "", *word);
	snprintf(to + len, room - len, "\\fR");
}

/* What stands between a line that begins with `from` and the next one that begins with `to`; owned. */
static char *section(const char *page, const char *from, const char *to)
{
	_cleanup_free_ char *start = NULL, *stop = NULL;
	const char *at, *end;

	cr_assert(asprintf(&start, "\n%s\n", from) > 0 && asprintf(&stop, "\n%s", to) > 0);
	at = strstr(page, start);
	if (!at)
		return NULL;
	end = strstr(at + strlen(start) - 1, stop);
	return end ? strndup(at, (size_t)(end - at)) : strdup(at);
}

/* Its entry: a line after .TP, and what follows it up to the next option's. NULL: there is none. */
static const char *entry_of(const char *part, const struct row *r)
{
	char key[80], option[OPT_NAME_MAX + 3];

	snprintf(option, sizeof(option), "--%s", r->name);
	bold(key, sizeof(key), option);
	for (const char *s = part; (s = strstr(s, "\n.TP\n\\fB\\-")); s++) {
		const char *line = s + strlen("\n.TP\n"), *found = strstr(line, key);

		if (found && found < strchr(line, '\n'))
			return line;
	}
	return NULL;
}

/* The letter of an option, and all words of a choice, are in its entry. */
static void check_entry(const char *entry, const struct row *r)
{
	const char *next = strstr(entry, "\n.TP\n\\fB\\-");
	_cleanup_free_ char *text = next ? strndup(entry, (size_t)(next - entry)) : strdup(entry);
	_cleanup_free_ char *words = row__words(r);
	char *rest = words, *w, key[80], letter[3] = { '-', r->letter };

	bold(key, sizeof(key), letter);
	cr_expect(!r->letter || !strncmp(text, key, strlen(key)), "the entry of --%s does not begin with -%c", r->name, r->letter);
	while (words && (w = strsep(&rest, " "))) {
		bold(key, sizeof(key), w);
		/* without \fB and \fR: .B and .BR make it bold, too */
		key[strlen(key) - strlen("\\fR")] = '\0';
		cr_expect(strstr(text, key + strlen("\\fB")), "the entry of --%s is silent about %s", r->name, w);
	}
}

/* Each option has an entry of its own, in the section of its group. */
Test(opts_help, man_page_entries)
{
	static const char *const titles[N_GROUPS] = { ".SS Targets", ".SS Recording", ".SS Heap", ".SS Reporting", ".SS Serving", ".SS Other" };
	_cleanup_free_ char *page = NULL;
	size_t len;

	cr_assert_eq(read_small_file("docs/malloctrace.1", &page, &len), 0, "run from the top of the source tree");
	for (size_t i = 0; i < n_opt_rows; i++) {
		const struct row *r = &opt_rows[i];
		_cleanup_free_ char *part = section(page, titles[r->group], ".S");
		const char *entry;

		cr_assert(part, "there is no %s", titles[r->group]);
		if (!*r->name || !r->help)
			continue;
		entry = entry_of(part, r);
		cr_expect(entry, "--%s has no entry below %s", r->name, titles[r->group]);
		if (entry)
			check_entry(entry, r);
	}
}

static char *completion(const char *shell)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	cr_assert(f);
	complete__print(f, shell);
	fclose(f);
	return text;
}

/* All options of this version, and none of another, as each shell's script writes a long one. */
Test(opts_help, completions)
{
	static const struct {
		const char *shell, *before, *after;
	} scripts[] = { { "bash", " --", " " }, { "zsh", " --", " " }, { "fish", " -l ", " " } };

	for (size_t s = 0; s < ARRAY_SIZE(scripts); s++) {
		_cleanup_free_ char *text = completion(scripts[s].shell);

		/* what ends a name there; the last one of a list has a quote after it */
		for (char *c = text; *c; c++)
			if (strchr("=['(){},\t", *c))
				*c = ' ';
		cr_expect_null(strstr(text, "@O"), "%s: a mark is left", scripts[s].shell);
		cr_expect_null(strstr(text, "@V"), "%s: a mark is left", scripts[s].shell);
		cr_expect_null(strstr(text, "@C"), "%s: a mark is left", scripts[s].shell);
		for (size_t i = 0; i < n_opt_rows; i++) {
			const struct row *r = &opt_rows[i];
			char key[80];

			snprintf(key, sizeof(key), "%s%s%s", scripts[s].before, r->name, scripts[s].after);
			if (*r->name)
				cr_expect_eq(!r->help, !strstr(text, key), "%s: --%s", scripts[s].shell, r->name);
		}
	}
}
