// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The live view in a terminal, over a process that runs. */
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "screen.h"

TEST(top_keys)
{
	struct screen s = {};
	char *seen;
	json_t *j;

	begin(t, &s, "120", "40", "LC_ALL=C.UTF-8", "");
	COMES("[1 live]", "screen (", "losses none", "no live blocks from this trace");
	fx__go(t, &s.fx);
	/* 100 x 1,000 and 10 x 5,000 bytes; the wrapper is not what is told */
	COMES("97.7 KiB", " 100 ", "!Δ", "leak_here", "48.8 KiB", "漢字の山", "screen.c:", "!xmalloc", "!churn");
	seen = tmux(t, &s, "capture-pane", "-pe", NULL);
	want(t, strstr(seen, "38;5;"), "256 colours: %s", seen);
	free(seen);
	keys(t, &s, "2");
	COMES("[2 allocs]", "CALLS/s", "churn", "100%");
	keys(t, &s, "3");
	COMES("[3 peak]", "AT PEAK", "leak_here");
	keys(t, &s, "4");
	COMES("[4 processes]", "146.5 KiB");
	keys(t, &s, "5");
	COMES("[5 threads]", "THREAD");
	keys(t, &s, "6");
	COMES("[6 sizes]", "FREED AFTER", "below");
	keys(t, &s, "Tab");
	COMES("[f functions]", "TOTAL", "97.7 KiB", "leak_here", "churn");
	keys(t, &s, "Tab");
	keys(t, &s, "Tab");
	keys(t, &s, "Tab");
	COMES("[H heap]");
	keys(t, &s, "Tab");
	COMES("[1 live]");
	keys(t, &s, "s");
	COMES("by GROWTH/s ↓");
	keys(t, &s, "S");
	keys(t, &s, "r");
	COMES("by LIVE ↑");
	keys(t, &s, "r");
	keys(t, &s, "Enter");
	COMES("xmalloc", "leak_here", "serve", "main", "each of 1000 B", "by malloc");
	keys(t, &s, "n");
	COMES("each of 4.9 KiB");
	keys(t, &s, "Escape");
	COMES("SITE");
	keys(t, &s, "t");
	COMES("[tree]", "▾ main", "callers first");
	keys(t, &s, "c");
	COMES("callees first");
	keys(t, &s, "m");
	COMES("live-blocks");
	keys(t, &s, "t");
	keys(t, &s, "/");
	type(t, &s, "漢");
	COMES("filter: 漢", "漢字の山", "!leak_here");
	keys(t, &s, "Enter");
	COMES("/漢", "!filter:");
	keys(t, &s, "Escape");
	COMES("leak_here");
	keys(t, &s, "?");
	COMES("KEYS", "the next view", "1-33 of ", ", ↓ more");
	keys(t, &s, "End");
	COMES("COLUMNS of live", "VERDICTS", ", ↑ more");
	keys(t, &s, "?");
	keys(t, &s, "+");
	COMES("An update every 2.0s.");
	keys(t, &s, "-");
	COMES("An update every 1.0s.");
	keys(t, &s, "b");
	COMES("ago ─", " 0 B");
	fx__go(t, &s.fx);
	/* Δ counts from the baseline, live bytes from the start */
	COMES("195.3 KiB", "+97.7 KiB");
	type(t, &s, " ");
	COMES("FROZEN");
	fx__go(t, &s.fx);
	COMES("195.3 KiB", "FROZEN");
	type(t, &s, " ");
	COMES("293.0 KiB", "!FROZEN");
	keys(t, &s, "o");
	COMES("write to: screen-");
	keys(t, &s, "C-u");
	type(t, &s, "x.json");
	keys(t, &s, "Enter");
	COMES("x.json is written.");
	j = load_json(t, in_dir(t, "x.json"));
	want_invariants(t, j);
	want_ledger(t, j, process_of(t, j, s.fx.c.pid, 0), &s.fx.led, LED_TOTALS);
	json_decref(j);
	keys(t, &s, "o");
	COMES("write to: ");
	keys(t, &s, "C-u");
	type(t, &s, "x.nosuchformat");
	keys(t, &s, "Enter");
	/* it stays, with the reason, until it is mended or given up */
	COMES("write to: x.nosuchformat", "want a name that ends in");
	keys(t, &s, "BSpace");
	COMES("write to: x.nosuchforma", "!want a name");
	keys(t, &s, "Escape");
	COMES("!write to:");
	keys(t, &s, "q");
	/* the final report, on the normal screen, and what was said meanwhile */
	COMES("\nnext: ", "EXIT 0", "!q quit");
	end(t, &s);
	fx__quit(t, &s.fx);
}

/* The heap as it is, when it is asked for: what is there, then also what nobody points to. */
TEST(top_heap)
{
	struct screen s = {};

	begin(t, &s, "120", "40", "LC_ALL=C.UTF-8", "");
	fx__go(t, &s.fx);
	COMES("97.7 KiB", "leak_here", "!UNREACHABLE");
	keys(t, &s, "H");
	/* the first look may have been made by itself already */
	COMES("[H heap]");
	keys(t, &s, "h");
	COMES("in use ", "% of the heap), not a leak: malloc_trim returns ", "not searched for unreachable blocks: press u", "USABLE", "1,000      100   97.7 KiB", "!UNREACHED", "!was not scanned");
	keys(t, &s, "g");
	COMES("[H types]", "KNOWN BY");
	keys(t, &s, "g");
	COMES("[H arenas]", "TRIMMABLE", "main");
	keys(t, &s, "g");
	COMES("[H RSS]", "WHOSE", "page tables", "libc.so.6");
	keys(t, &s, "1");
	keys(t, &s, "u");
	COMES("[1 live]", "UNREACHABLE", "searched ", " ago, u: again", "leak_here");
	keys(t, &s, "Enter");
	COMES("no pointer found to 100 of 100 blocks, 97.7 KiB", "searched ", "leak_here");
	keys(t, &s, "Escape");
	keys(t, &s, "H");
	COMES("probably leaked, no pointer found in ", " direct)", "UNREACHED", "!press u");
	keys(t, &s, "q");
	COMES("EXIT 0");
	end(t, &s);
	fx__quit(t, &s.fx);
}

/*
 * A search takes its time: that the key was seen is said at once, in whatever view. It may be over before anybody
 * looks at the screen: whatever was drawn is written down.
 */
TEST(top_heap_answers_at_once)
{
	const char *drawn = in_dir(t, "drawn");
	struct screen s = {};
	char line[1024], *text;
	size_t n;

	begin(t, &s, "120", "40", "LC_ALL=C.UTF-8", "--reachable");
	fx__go(t, &s.fx);
	COMES("97.7 KiB", "leak_here");
	snprintf(line, sizeof(line), "cat > %s", drawn);
	tmux(t, &s, "pipe-pane", line, NULL);
	keys(t, &s, "u");
	COMES("UNREACHABLE", "!Searching the memory");
	keys(t, &s, "q");
	COMES("EXIT 0");
	text = read_all(drawn, &n);
	want(t, text && strstr(text, "Searching the memory for pointers to blocks ..."), "was not said");
	free(text);
	end(t, &s);
	fx__quit(t, &s.fx);
}

/* The final report is as wide as the terminal has become. */
TEST(top_resize_and_leave)
{
	struct screen s = {};

	begin(t, &s, "120", "40", "LC_ALL=C.UTF-8", "");
	fx__go(t, &s.fx);
	COMES("97.7 KiB", "leak_here");
	tmux(t, &s, "resize-window", "-x", "80", "-y", "40", NULL);
	COMES("─[1 live]─", "!H heap ─");
	keys(t, &s, "q");
	COMES("EXIT 0", "\nnext: ", "-o leak.html for a flame graph");
	end(t, &s);
	fx__quit(t, &s.fx);
}

/* What a row is: sums of all that was allocated, by the program's own source. */
TEST(top_groups)
{
	struct screen s = {};

	begin(t, &s, "120", "40", "LC_ALL=C.UTF-8", "");
	fx__go(t, &s.fx);
	COMES("97.7 KiB", "leak_here");
	keys(t, &s, "g");
	/* its own, and what goes through it */
	COMES("[f functions]", "97.7 KiB   97.7 KiB", "48.8 KiB   48.8 KiB", "      0 B        0 B", "churn");
	keys(t, &s, "g");
	/* 100 x 1,000 and 10 x 5,000 bytes: all of it is in one file, and in one program */
	COMES("[F files]", "146.5 KiB  146.5 KiB", "screen.c", " 1 by LIVE");
	keys(t, &s, "g");
	COMES("[M modules]", "146.5 KiB  146.5 KiB", " 1 by LIVE");
	keys(t, &s, "Enter");
	COMES("[1 live]", "in screen", "sum of 2 of 2 sites: 146.5 KiB live (100%) in 110 blocks (100%), 110 calls (9.9%)");
	keys(t, &s, "Escape");
	COMES("[M modules]");
	keys(t, &s, "g");
	COMES("[1 live]", "leak_here");
	keys(t, &s, "/");
	type(t, &s, "leak(");
	COMES("filter: leak(", "bad regex: ", "sum of 1 of 2 sites: 97.7 KiB live (66.7%)");
	keys(t, &s, "Enter");
	COMES("filter: leak(", "bad regex: ");
	keys(t, &s, "BSpace");
	keys(t, &s, "Enter");
	COMES("/leak", "!filter:", "!bad regex", "sum of 1 of 2 sites: 97.7 KiB live (66.7%) in 100 blocks (90.9%)");
	keys(t, &s, "Escape");
	COMES("!sum of");
	keys(t, &s, "G");
	COMES("by GROWTH/s ↓");
	keys(t, &s, "q");
	COMES("EXIT 0");
	end(t, &s);
	fx__quit(t, &s.fx);
}

/* What is there only where it was asked for: each with the figures of the program's own source. */
TEST(top_asked)
{
	struct screen s = {};

	begin(t, &s, "120", "40", "LC_ALL=C.UTF-8",
	      "--tag leak_here --tag churn --tag thread --mark serve --free-stacks --when 'live>100K' --when 'rss>900G'");
	COMES("[1 live]", "7 tags", "8 marks", "9 frees", "0 when");
	keys(t, &s, "0");
	COMES("[0 when]", "live>100K", "rss>900G", "not met yet", "!holds");
	keys(t, &s, "8");
	COMES("[8 marks]", "0 marks", "no marked function was called while traced");
	fx__go(t, &s.fx);
	COMES("1 mark: serve 1, the last ");
	keys(t, &s, "7");
	/* calls, allocations, none of late, bytes and what is kept, and each of them for a call; what no function owns is the thread's */
	COMES("    100      100      1.0         0   97.7 KiB     1000 B   97.7 KiB     1000 B", "leak_here",
	      "  1,000    1,000      1.0         0   62.5 KiB       64 B        0 B        0 B", "churn",
	      "      -       10        -         0   48.8 KiB          -   48.8 KiB          -", "!(none)");
	keys(t, &s, "0");
	COMES("live>100K", " holds ", "not met yet");
	keys(t, &s, "8");
	fx__go(t, &s.fx);
	/* from the first call to the second: what one round does */
	COMES("2 marks: serve 2, the last ", "  1,110  209.0 KiB  +146.5 KiB");
	keys(t, &s, "9");
	COMES("[9 frees]", "FREED AT", "  2,000   100%  125.0 KiB", "!leak_here");
	keys(t, &s, "Enter");
	COMES("freed by free: 100%, 2,000 calls, 125.0 KiB, after ", "churn");
	keys(t, &s, "Escape");
	keys(t, &s, "7");
	COMES("195.3 KiB     1000 B  195.3 KiB     1000 B");
	/* a tag has tables of its own */
	keys(t, &s, "Enter");
	COMES("[1 live]", "tag leak_here", " 200 ", "!漢字の山");
	keys(t, &s, "Escape");
	COMES("[7 tags]", "!tag leak_here");
	keys(t, &s, "q");
	COMES("EXIT 0");
	end(t, &s);
	fx__quit(t, &s.fx);
}

/* --view tags is where the screen begins; a tab that was not asked for is not there, and its key says what it goes with. */
TEST(top_begins_with_tags)
{
	struct screen s = {};

	begin(t, &s, "80", "24", "LC_ALL=C.UTF-8", "--tag leak_here --view tags");
	COMES("[7 tags]", "!8 ─");
	fx__go(t, &s.fx);
	COMES("    100     100     1.0  97.7 KiB    1000 B  97.7 KiB    1000 B leak_here", "-   1,010       - 111.3 KiB         -  48.8 KiB         - (none)");
	keys(t, &s, "9");
	COMES("[7 tags]", "That view goes with --free-stacks.");
	keys(t, &s, "q");
	COMES("EXIT 0");
	end(t, &s);
	fx__quit(t, &s.fx);
}

/* Who looks at a small or a large window sees whole rows; sizes change while figures do. */
TEST(top_resize)
{
	static const char *const sizes[][2] = { { "60", "10" }, { "300", "100" }, { "61", "11" }, { "80", "24" }, { "200", "50" }, { "97", "13" }, { "60", "10" } };
	struct screen s = {};

	begin(t, &s, "100", "30", "LC_ALL=C.UTF-8", "");
	fx__go(t, &s.fx);
	COMES("leak_here");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		char *seen;
		size_t lines = 0;

		tmux(t, &s, "resize-window", "-x", sizes[i][0], "-y", sizes[i][1], NULL);
		fx__go(t, &s.fx);
		COMES("leak_here", "q quit", "losses none", "screen (");
		seen = look(t, &s);
		for (const char *p = seen; *p; p++)
			lines += *p == '\n';
		want_eq(t, "lines", strtoull(sizes[i][1], NULL, 10), lines);
		free(seen);
	}
	keys(t, &s, "q");
	COMES("EXIT 0");
	end(t, &s);
	fx__quit(t, &s.fx);
}

TEST(top_target_ends)
{
	struct screen s = {};

	begin(t, &s, "120", "40", "LC_ALL=C.UTF-8", "");
	fx__go(t, &s.fx);
	COMES("97.7 KiB", "leak_here");
	fx__quit(t, &s.fx);
	/* the tables stay, and can be walked through */
	COMES("has ended", "97.7 KiB", "leak_here");
	keys(t, &s, "Enter");
	COMES("xmalloc", "serve");
	keys(t, &s, "q");
	COMES("EXIT 0", "\nnext: ");
	end(t, &s);
}

/* Behind a gate, so that whatever is typed or watched is there before malloctrace is. */
static void begin_behind(struct test *t, struct screen *s, const char *fixture, const char *more)
{
	char line[2048];

	fx__start(t, &s->fx, fixture, NULL);
	snprintf(line, sizeof(line), "cd %s; mkfifo gate; stty -a > before; echo READY; cat gate; LC_ALL=C.UTF-8 %s -p %d %s; status=$?; stty -a > after; "
		 "echo EXIT $status; exec cat", t->dir, lt_bin, (int)s->fx.c.pid, more);
	begin_shell(t, s, "120", "40", line);
	comes(t, s, "READY", NULL);
}

static void open_gate(struct test *t)
{
	FILE *f = fopen(in_dir(t, "gate"), "w");

	must(t, f && !fclose(f), "gate: %s", strerror(errno));
}

/* A file that somebody is writing, once it has this. */
static char *read_until(struct test *t, const char *path, const char *text)
{
	uint64_t until = now_ms() + COME_S * 1000ull;

	for (;;) {
		char *s = read_all(path, NULL);

		if (s && strstr(s, text))
			return s;
		must(t, now_ms() < until, "%s has no '%s': %s", path, text, s ? s : "it is not there");
		free(s);
		poll(NULL, 0, LOOK_MS);
	}
}

/* All that was sent to the terminal, in its order: the first screen is not that of the tables. */
TEST(top_start)
{
	struct screen s = {};
	char command[512], *seen, *first, *tables;

	begin_behind(t, &s, "screen", "");
	snprintf(command, sizeof(command), "cat > %s", in_dir(t, "sent"));
	tmux(t, &s, "pipe-pane", command, NULL);
	open_gate(t);
	COMES("losses none", "attached to screen (", "!not traced yet");
	keys(t, &s, "q");
	COMES("EXIT 0", "attached to screen (");
	/* what writes it may be behind the screen */
	seen = read_until(t, in_dir(t, "sent"), "EXIT 0");
	first = strstr(seen, "not traced yet");
	tables = strstr(seen, "losses none");
	want(t, first && tables && first < tables, "the process and what goes on come before the tables: %s", seen);
	want(t, strstr(seen, "Loading programs") && strstr(seen, "Loading programs") < tables, "what goes on: %s", seen);
	free(seen);
	end(t, &s);
	fx__quit(t, &s.fx);
}

/* A limit that is passed, and a death: a line, and a file, while the screen stays. */
TEST(top_when)
{
	struct screen s = {};
	json_t *root;

	begin_behind(t, &s, "when", "-o heap.json --when 'blocks>999' --when killed --pause 0");
	open_gate(t);
	COMES("losses none", "attached to when (");
	fx__send(t, &s.fx, 's');
	fx__read_ledger(t, &s.fx);
	COMES("blocks>999: when (", ") holds 1,000 blocks: snapshot 1 written");
	fx__send(t, &s.fx, 'S');
	child__wait(t, &s.fx.c);
	COMES(")  ended by SIGSEGV", "killed: when (", "snapshot 2 written");
	keys(t, &s, "q");
	COMES("EXIT 0", "\nnext: ");
	root = load_json(t, in_dir(t, "heap.2.json"));
	want(t, !strncmp(jstr(root, "trigger"), "killed: when (", 14), "trigger '%s'", jstr(root, "trigger"));
	want_u64(t, root, "totals.live_blocks", 1100);
	want(t, json_is_null(jget(load_json(t, in_dir(t, "heap.json")), "trigger")), "the last report has a trigger");
	end(t, &s);
}

/* A key that is there before the trace begins is answered, and so is Ctrl-C. */
TEST(top_start_quit)
{
	struct screen s = {};

	begin_behind(t, &s, "screen", "");
	type(t, &s, "q");
	open_gate(t);
	COMES("quit before the trace began: nothing was recorded", "EXIT 1", "!not traced yet");
	end(t, &s);
	fx__quit(t, &s.fx);
}

/* An error behind the first screen is told on the normal one. */
TEST(top_start_fails)
{
	struct screen s = {};
	char *other;

	begin_behind(t, &s, "nolibc", "");
	open_gate(t);
	COMES("maps no allocator that malloctrace knows", "EXIT 1", "!not traced yet");
	other = tmux(t, &s, "display-message", "-p", "#{alternate_on}#{mouse_any_flag}#{cursor_flag}", NULL);
	want(t, !strcmp(other, "001\n"), "another screen, mouse, cursor: %s", other);
	free(other);
	end(t, &s);
	fx__quit(t, &s.fx);
}

/* --view and --sort choose the first screen; threads of one name are a row until it is opened. */
TEST(top_view_and_sort)
{
	struct screen s = {};
	char line[1024];

	fx__start(t, &s.fx, "threads", "cross", "20000", "4", NULL);
	snprintf(line, sizeof(line), "cd %s; stty -a > before; LC_ALL=C.UTF-8 %s -p %d --view threads --sort alloc-bytes; status=$?; stty -a > after; "
		 "echo EXIT $status; exec cat", t->dir, lt_bin, (int)s.fx.c.pid);
	begin_shell(t, &s, "120", "40", line);
	COMES("losses none", "[5 threads]", "by BYTES ↓");
	fx__go(t, &s.fx);
	/* threads that were told to work, of the same name as the first one, which did not */
	COMES("THREADS", "  4 ", "▸ threads", "!    threads");
	keys(t, &s, "Enter");
	COMES("▾ threads", "    threads");
	keys(t, &s, "Enter");
	COMES("▸ threads", "!    threads");
	keys(t, &s, "q");
	COMES("EXIT 0", "THREADS by calls");
	end(t, &s);
	fx__quit(t, &s.fx);
}

/* The process that the shell of the terminal waits for. */
static pid_t malloctrace_in(struct test *t, struct screen *s)
{
	char *pane = tmux(t, s, "display-message", "-p", "#{pane_pid}", NULL), *path, *list;
	pid_t pid;
	size_t n;

	must(t, asprintf(&path, "/proc/%d/task/%d/children", atoi(pane), atoi(pane)) > 0, "no memory");
	list = read_all(path, &n);
	must(t, list && atoi(list) > 0, "no process below that of the terminal: %s", path);
	pid = atoi(list);
	free(list);
	free(path);
	free(pane);
	return pid;
}

/* Whatever ends malloctrace, the terminal is as before. */
TEST(top_killed)
{
	static const struct {
		int sig;
		const char *status;
	} ways[] = { { SIGSEGV, "EXIT 139" }, { SIGABRT, "EXIT 134" }, { SIGQUIT, "EXIT 131" }, { SIGTERM, "EXIT 0" }, { SIGINT, "EXIT 0" }, { SIGHUP, "EXIT 0" } };

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct screen s = {};
		char *other;

		begin(t, &s, "120", "40", "LC_ALL=C.UTF-8", "");
		fx__go(t, &s.fx);
		COMES("leak_here");
		must(t, !kill(malloctrace_in(t, &s), ways[i].sig), "kill: %s", strerror(errno));
		COMES(ways[i].status, "!q quit");
		other = tmux(t, &s, "display-message", "-p", "#{alternate_on}#{mouse_any_flag}#{cursor_flag}", NULL);
		want(t, !strcmp(other, "001\n"), "after signal %d: another screen, mouse, cursor: %s", ways[i].sig, other);
		free(other);
		end(t, &s);
		fx__quit(t, &s.fx);
	}
}

/*
 * A shell whose prompt says that it controls jobs ($- has an m). Where bash could not take the terminal, what it starts is in
 * an orphaned process group, in which the kernel ignores SIGTSTP.
 */
static void begin_job_control(struct test *t, struct screen *s)
{
	for (int i = 0; i < 5; i++) {
		char *seen, *flags;
		bool controls;

		begin_shell(t, s, "120", "40", "env PS1='flags=$- prompt> ' bash --norc --noprofile");
		comes(t, s, "prompt>", NULL);
		seen = look(t, s);
		flags = strstr(seen, "flags=");
		controls = flags && memchr(flags, 'm', strcspn(flags, " "));
		free(seen);
		if (controls)
			return;
		tmux(t, s, "kill-server", NULL);
	}
	must(t, false, "bash never controls jobs here");
}

TEST(top_stopped)
{
	struct screen s = {};
	char line[512], *other;

	fx__start(t, &s.fx, "screen", NULL);
	begin_job_control(t, &s);
	snprintf(line, sizeof(line), "LC_ALL=C.UTF-8 %s -p %d", lt_bin, (int)s.fx.c.pid);
	type(t, &s, line);
	keys(t, &s, "Enter");
	COMES("[1 live]", "losses none");
	fx__go(t, &s.fx);
	COMES("leak_here");
	keys(t, &s, "C-z");
	COMES("Stopped", "prompt>", "!q quit");
	other = tmux(t, &s, "display-message", "-p", "#{alternate_on}", NULL);
	want(t, !strcmp(other, "0\n"), "another screen: %s", other);
	free(other);
	/* counted while it stood still */
	fx__go(t, &s.fx);
	type(t, &s, "fg");
	keys(t, &s, "Enter");
	COMES("[1 live]", "195.3 KiB", "q quit");
	keys(t, &s, "q");
	COMES("\nnext: ", "prompt>");
	tmux(t, &s, "kill-server", NULL);
	fx__quit(t, &s.fx);
}

/* Terminals that can do less, and what a person asks for. */
TEST(top_plain)
{
	struct screen s = {}, c = {}, d = {};
	char *seen;

	begin(t, &s, "100", "30", "NO_COLOR=1 LC_ALL=C.UTF-8", "");
	fx__go(t, &s.fx);
	COMES("leak_here");
	seen = tmux(t, &s, "capture-pane", "-pe", NULL);
	for (const char *p = seen; (p = strstr(p, "\033[3")); p++)
		want(t, p[3] == '9', "no colours with NO_COLOR: %s", seen);
	free(seen);
	keys(t, &s, "q");
	COMES("EXIT 0");
	end(t, &s);
	fx__quit(t, &s.fx);

	begin(t, &c, "100", "30", "LC_ALL=C", "");
	fx__go(t, &c.fx);
	comes(t, &c, "leak_here", "-[1 live]-", NULL);
	seen = look(t, &c);
	for (const char *p = seen; *p; p++)
		if (!isascii((unsigned char)*p)) {
			want(t, false, "more than ASCII: %s", seen);
			break;
		}
	free(seen);
	keys(t, &c, "q");
	comes(t, &c, "EXIT 0", NULL);
	end(t, &c);
	fx__quit(t, &c.fx);

	begin(t, &d, "100", "30", "TERM=dumb", "");
	comes(t, &d, "the report comes at the end", NULL);
	fx__go(t, &d.fx);
	keys(t, &d, "C-c");
	comes(t, &d, "leak_here", "EXIT 0", NULL);
	end(t, &d);
	fx__quit(t, &d.fx);
}
