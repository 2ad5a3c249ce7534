// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The live view of a program that malloctrace starts: neither writes over the other, and keys are the live view's. */
#include "screen.h"

#include <time.h>
#include <unistd.h>

/* A shell that prints on both, reads, and becomes the fixture, which prints, allocates and exits with 7. */
#define PROGRAM "sh -c 'echo COMPLAINED >&2; echo READ $(wc -c); exec \"$0\" --auto ledger exit 7' %s"

static void begin_cmd(struct test *t, struct screen *s, const char *options, const char *redirects)
{
	char line[2048], program[1024];

	snprintf(program, sizeof(program), PROGRAM, fixture("basic"));
	snprintf(line, sizeof(line), "cd %s; stty -a > before; LC_ALL=C.UTF-8 %s %s -- %s %s; status=$?; stty -a > after; echo EXIT $status; exec cat",
		 t->dir, lt_bin, options, program, redirects);
	begin_shell(t, s, "100", "90", line);
}

static char *text_of(struct test *t, const char *name)
{
	char *text = read_all(in_dir(t, name), NULL);

	must(t, text, "no %s", name);
	return text;
}

/* The second of two lives: what the shell became. */
static void want_fixture(struct test *t, json_t *root)
{
	struct ledger l;
	char *text = text_of(t, "ledger");

	must(t, ledger__parse(&l, text), "no ledger: %s", text);
	must(t, json_array_size(jget(root, "processes")) == 2, "processes, wanted 2, got %zu", json_array_size(jget(root, "processes")));
	want(t, !strcmp(jstr(root, "processes[1].comm"), "basic"), "comm '%s'", jstr(root, "processes[1].comm"));
	want_ledger(t, root, jget(root, "processes[1]"), &l, LED_TOTALS);
	free(text);
}

/* Its output goes to a file: a terminal has the live view, with the figures of the program's own ledger. */
TEST(top_cmd_output)
{
	struct screen s = {};
	char *printed;

	begin_cmd(t, &s, "-o prof.json --cmd-output printed", "");
	COMES("[1 live]", "has ended", "leak_here", "!hello-from-stdout", "!COMPLAINED");
	keys(t, &s, "q");
	COMES("EXIT 7", "!hello-from-stdout", "!COMPLAINED");
	printed = text_of(t, "printed");
	/* what it reads is not what is typed */
	want(t, strstr(printed, "COMPLAINED\n") && strstr(printed, "READ 0\n") && strstr(printed, "hello-from-stdout"), "what it printed: %s", printed);
	want(t, !strchr(printed, '\033'), "escape codes in what it printed: %s", printed);
	free(printed);
	want_fixture(t, load_json(t, in_dir(t, "prof.json")));
	end(t, &s);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* A trace is over when its programs are, and not when somebody has read the screen. */
TEST(top_cmd_ended)
{
	struct screen s = {};
	uint64_t began_ns = now_ns(), ended_ns;

	begin_cmd(t, &s, "-o prof.json --cmd-output printed", "");
	COMES("[1 live]", "has ended");
	ended_ns = now_ns();
	usleep(2000000);	/* somebody reads */
	keys(t, &s, "q");
	COMES("EXIT 7");
	want(t, ju64(t, load_json(t, in_dir(t, "prof.json")), "duration_ns") <= ended_ns - began_ns, "a trace as long as its program, wanted");
	end(t, &s);
}

/* Without a file for what it prints there is no live view, and what it prints is seen at once. */
TEST(top_cmd_plain)
{
	struct screen s = {};

	begin_cmd(t, &s, "--batch", "< /dev/null");
	COMES("EXIT 7", "COMPLAINED", "READ 0", "hello-from-stdout", "!q quit");
	end(t, &s);
}
