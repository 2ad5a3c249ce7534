// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * What the documentation tells to type can be typed: every command in the tables of
 * docs/COMING-FROM.md is run by a shell, in order, in a directory that has what they speak of.
 */
#include "lt.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct word {
	const char *in_text;
	const char *here;
};

/* A file of the source tree, if the program under test lies in it. */
static char *read_doc(const char *name)
{
	char path[4096], *bin = realpath(lt_bin, NULL), *slash;
	char *text = NULL;

	for (int i = 0; bin && i < 2; i++)
		if ((slash = strrchr(bin, '/')))
			*slash = '\0';
	if (bin && snprintf(path, sizeof(path), "%s/docs/%s", bin, name) < (int)sizeof(path))
		text = read_all(path, NULL);
	free(bin);
	return text;
}

static char *replace_all(char *text, const struct word *w)
{
	struct text out = {};
	FILE *f = open_memstream(&out.s, &out.n);
	const char *from = text;

	for (const char *at; (at = strstr(from, w->in_text)); from = at + strlen(w->in_text))
		fprintf(f, "%.*s%s", (int)(at - from), from, w->here);
	fputs(from, f);
	fclose(f);
	free(text);
	return out.s;
}

static const char *libc_of(struct test *t, pid_t pid)
{
	static char path[512];
	char maps[64], line[1024];
	FILE *f;

	snprintf(maps, sizeof(maps), "/proc/%d/maps", pid);
	f = fopen(maps, "re");
	must(t, f, "%s: %s", maps, strerror(errno));
	path[0] = '\0';
	while (!path[0] && fgets(line, sizeof(line), f))
		if (strstr(line, "/libc.so") || strstr(line, "/libc-2"))
			sscanf(strchr(line, '/'), "%511s", path);
	fclose(f);
	must(t, path[0], "%d has no libc", pid);
	return path;
}

static void write_text(struct test *t, const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	must(t, f && fputs(text, f) >= 0 && !fclose(f), "%s: %s", path, strerror(errno));
}

/* To its end; what attaches to a process, until it has. */
static void run(struct test *t, const char *as_written, const char *command)
{
	struct spawn how = { .argv = { "/bin/sh", "-c", command } };
	struct mt m;
	int status;

	child__start(t, &m.c, &how);
	if (strstr(as_written, "-p PID")) {
		mt__wait_attached(t, &m);
		child__kill(t, &m.c, SIGINT);
	}
	status = child__wait_for(t, &m.c, patience_s(60));
	want(t, !status, "`%s`: exit status %d: %s", as_written, status, m.c.errs.s);
}

/* The next `malloctrace ...` in text: its length; 0: there is none. */
static size_t next_command(const char **text)
{
	const char *at = strstr(*text, "`malloctrace "), *end;

	if (!at)
		return 0;
	*text = at + 1;
	end = strchr(*text, '`');
	return end ? (size_t)(end - *text) : 0;
}

static bool has(char *const *list, unsigned int n, const char *s)
{
	for (unsigned int i = 0; i < n; i++)
		if (!strcmp(list[i], s))
			return true;
	return false;
}

#define MAX_COMMANDS 256

TEST(coming_from)
{
	char *text = read_doc("COMING-FROM.md"), *rest = text, *line, pid[3][16], bin[4096], begin[8192], library[4200];
	bool python = !access("/usr/bin/python3", X_OK);
	struct fx target, prefixed, own;
	char *seen[MAX_COMMANDS];
	const char *libc;
	unsigned int n = 0;

	if (!text)
		skip(t, "the documentation is not here");
	chmod(t->dir, 0777);
	copy_file(t, fixture("courses"), in_dir(t, "prog"));
	chmod(in_dir(t, "prog"), 0755);
	write_text(t, in_dir(t, "prog.py"), "kept = [bytes(600) for i in range(1000)]\n");
	write_text(t, in_dir(t, "leaks.supp"), "leak:start_here\n");
	fx__start(t, &target, "courses", "leaks", "1000000", NULL);
	fx__send(t, &target, 'g');
	fx__start(t, &prefixed, "prefix", NULL);
	fx__start(t, &own, "custom", "nested", "10", NULL);
	libc = libc_of(t, target.c.pid);
	snprintf(pid[0], sizeof(pid[0]), "%d", target.c.pid);
	snprintf(pid[1], sizeof(pid[1]), "%d", prefixed.c.pid);
	snprintf(pid[2], sizeof(pid[2]), "%d", own.c.pid);
	must(t, realpath(fixture("liballoc.so"), bin), "liballoc.so: %s", strerror(errno));
	snprintf(library, sizeof(library), "-O %s", bin);
	must(t, realpath(lt_bin, bin), "%s: %s", lt_bin, strerror(errno));
	snprintf(begin, sizeof(begin), "cd %s && exec %s ", t->dir, bin);

	run(t, "", replace_all(strdup("malloctrace -o prof.json -o older.json -o prof.1.json -o prof.2.json -- ./prog --auto ledger leaks 20"),
			       &(struct word){ "malloctrace ", begin }));
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		const char *at = line;
		size_t len;

		if (line[0] != '|')
			continue;
		for (; (len = next_command(&at)); at += len + 1) {
			char *written = strndup(at, len), *command = strdup(written);
			const struct word words[] = {
				{ "PID", strstr(written, "je_") ? pid[1] : strstr(written, "arena") ? pid[2] : pid[0] },
				{ "-O ./prog", library },
				{ "./prog", "./prog --auto ledger leaks 20" },
				{ "python3 prog.py", python ? "/usr/bin/python3 prog.py" : "./prog --auto ledger leaks 20" },
				{ "/path/lib.so", libc },
				{ "je_", "pre_" },
				{ "arena_", "my_" },
				{ "parse_request", "leak_here" },
				{ "render", "forget_here" },
				{ "malloctrace ", begin },
			};

			for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
				command = replace_all(command, &words[i]);
			/* many tools have the same answer: once is enough */
			if (!has(seen, n, written))
				run(t, written, command);
			must(t, n < MAX_COMMANDS, "more than %u commands", MAX_COMMANDS);
			seen[n++] = written;
			free(command);
		}
	}
	want(t, n > 80, "commands in the tables, wanted more than 80, got %u", n);
	free(text);
}
