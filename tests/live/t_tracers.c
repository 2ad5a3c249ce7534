// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Others that trace the same processes, or the same files, at the same time. */
#include "group.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a second malloctrace */

static void copy_program(struct test *t, const char *to)
{
	copy_file(t, fixture("basic.static"), to);
	must(t, !chmod(to, 0755), "chmod");
}

static void start_tracer(struct test *t, struct mt *m, const char *comm)
{
	mt__start(t, m, "--comm", comm, "--json", "-v", NULL);
	mt__wait_attached(t, m);
}

/*
 * Two copies of a program, as two containers have one each: of one build, but two files. One tracer has both, the other one has
 * the second: breakpoints that are there already are not those of the first's.
 */
static void two_tracers(struct test *t, bool other_first)
{
	const char *one = in_dir(t, "mtfx-one"), *two = in_dir(t, "mtfx-two");
	struct spawn first = { .argv = { one, "leak", "100" } }, second = { .argv = { two, "leak", "200" } };
	struct fx a, b, c;
	struct mt both, other;
	json_t *root;

	copy_program(t, one);
	copy_program(t, two);
	fx__start_as(t, &a, &first);
	fx__start_as(t, &b, &second);
	if (other_first)
		start_tracer(t, &other, "mtfx-two");
	start_tracer(t, &both, "mtfx-*");
	if (!other_first)
		start_tracer(t, &other, "mtfx-two");
	fx__start_as(t, &c, &second);
	fx__go(t, &a);
	fx__go(t, &b);
	fx__go(t, &c);
	root = mt__stop_json(t, &both, SIGINT, 0);
	want_lossless(t, root);
	want_ledger(t, root, process_of(t, root, a.c.pid, 0), &a.led, LED_ALL & ~LED_ONLY);
	want_ledger(t, root, process_of(t, root, b.c.pid, 0), &b.led, LED_ALL & ~LED_ONLY);
	want_ledger(t, root, process_of(t, root, c.c.pid, 0), &c.led, LED_ALL & ~LED_ONLY);
	root = mt__stop_json(t, &other, SIGINT, 0);
	want_lossless(t, root);
	want_ledger(t, root, process_of(t, root, b.c.pid, 0), &b.led, LED_ALL & ~LED_ONLY);
	want_ledger(t, root, process_of(t, root, c.c.pid, 0), &c.led, LED_ALL & ~LED_ONLY);
	fx__quit(t, &a);
	fx__quit(t, &b);
	fx__quit(t, &c);
}

TEST_ALONE(tracers_two_copies)
{
	two_tracers(t, true);
}

TEST_ALONE(tracers_two_copies_after)
{
	two_tracers(t, false);
}

/* glibc's reallocarray jumps to realloc, and that to malloc: of these three, each tracer has uretprobes in others. */
static void two_modes(struct test *t, const char *first, const char *second)
{
	const char *const modes[] = { first, second };
	struct mt m[2];
	struct fx f;

	fx__start(t, &f, "basic", "--usable", "family", NULL);
	for (int i = 0; i < 2; i++) {
		mt__start(t, &m[i], "-p", pid_arg(f.c.pid), "--mode", modes[i], "--size", "usable", "--json", NULL);
		mt__wait_attached(t, &m[i]);
	}
	fx__go(t, &f);
	for (int i = 0; i < 2; i++) {
		json_t *root = mt__stop_json(t, &m[i], SIGINT, 0);

		about(t, "--mode %s", modes[i]);
		want_lossless(t, root);
		want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ONLY | LED_REALLOC);
		want_u64(t, root, "edges.abandoned", 0);
		want_u64(t, root, "edges.return_only", 0);
	}
	fx__quit(t, &f);
}

TEST(tracers_full_and_leak) { two_modes(t, "full", "leak"); }
TEST(tracers_leak_and_full) { two_modes(t, "leak", "full"); }

/* ---- a debugger on the same process */

#define MAX_PLACES 64

/* Attaches to the fixture, with breakpoints where malloctrace's are. */
static void start_debugger(struct test *t, struct fx *debugger, const struct fx *f, const uint64_t place[static MAX_PLACES])
{
	static char text[MAX_PLACES][24], pid[16];
	struct spawn s = { .argv = { fixture("debugger"), pid } };
	unsigned int n = 0;

	snprintf(pid, sizeof(pid), "%d", f->c.pid);
	for (; n < MAX_PLACES && place[n]; n++) {
		snprintf(text[n], sizeof(text[n]), "%" PRIx64, place[n]);
		s.argv[2 + n] = text[n];
	}
	must(t, n > 0, "no breakpoints of malloctrace's were found");
	fx__start_as(t, debugger, &s);
}

static void command(struct test *t, struct fx *debugger, char c, const char *answer)
{
	fx__send(t, debugger, c);
	fx__wait_line(t, debugger, answer);
}

/* It keeps our breakpoint for the program's code, and writes it back: we have to be there still. */
TEST_ALONE(debugger_leaves_last)
{
	uint64_t place[MAX_PLACES] = {};
	struct fx f, debugger;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "basic", "leak", "1000", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	changed_places(t, f.c.pid, "libc.so", place, MAX_PLACES);
	start_debugger(t, &debugger, &f, place);
	command(t, &debugger, 'i', "in");
	child__kill(t, &m.c, SIGINT);
	child__wait_err(t, &m.c, "malloctrace: debugger (", "Waiting until the debugger detaches", 20);
	command(t, &debugger, 'o', "out");
	command(t, &debugger, 'd', "gone");
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	fx__go(t, &f);
	want_eq(t, "allocations of the program after both have left", 1000, ledger__sum(&f.led, LED_ALLOC_CALLS));
	fx__quit(t, &debugger);
	fx__quit(t, &f);
}

/* One that was there first writes the program's own code over our breakpoints. */
TEST_ALONE(debugger_takes_probes_out)
{
	uint64_t place[MAX_PLACES] = {};
	struct fx f, debugger;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "basic", "leak", "1000", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	changed_places(t, f.c.pid, "libc.so", place, MAX_PLACES);
	json_decref(mt__stop_json(t, &m, SIGINT, 0));
	want_unprobed(t, f.c.pid);	/* what it keeps has to be the program's own code */
	start_debugger(t, &debugger, &f, place);
	command(t, &debugger, 'i', "in");
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	child__wait_err(t, &m.c, "malloctrace: ", "is debugged by debugger (", 20);
	command(t, &debugger, 'o', "out");
	fx__go(t, &f);
	child__wait_err(t, &m.c, "malloctrace: ", "the debugger removed them", 20);
	command(t, &debugger, 'd', "gone");
	root = mt__stop_json(t, &m, SIGINT, 3);
	want(t, ju64(t, root, "losses.unprobed_points") > 0, "losses.unprobed_points, wanted more than 0");
	want_u64(t, root, "totals.alloc_calls", 0);
	fx__quit(t, &debugger);
	fx__quit(t, &f);
}

/* ---- a first thread that has ended: the kernel knows by its memory whose the probes are */

/* Another tracer takes its probes out of the same file, and with them those whose owner the kernel does not know any more. */
static void trace_another(struct test *t)
{
	struct fx f;
	struct mt m;

	fx__start(t, &f, "basic", "leak", "10", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	json_decref(mt__stop_json(t, &m, SIGINT, 0));
	fx__quit(t, &f);
}

TEST(headless_right_or_told)
{
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "headless", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	trace_another(t);
	fx__go(t, &f);
	root = stop_group(t, &m, SIGINT);
	if (!ju64(t, root, "losses.unprobed_points"))
		want_u64(t, root, "totals.alloc_calls", ledger__sum(&f.led, LED_ALLOC_CALLS));
	else
		want(t, strstr(m.c.errs.s, "its first thread has ended"), "wanted the reason, got: %.500s", m.c.errs.s);
	fx__quit(t, &f);
}

/* The same while all of it dies: nothing more is called, and nothing is lost. One thread is held at its end. */
TEST(headless_dying)
{
	char path[64];
	struct dirent *d;
	int worker = 0, status;
	json_t *root;
	DIR *tasks;
	struct fx f;
	struct mt m;

	fx__start(t, &f, "headless", NULL);
	snprintf(path, sizeof(path), "/proc/%d/task", (int)f.c.pid);
	tasks = opendir(path);
	while (tasks && (d = readdir(tasks)))
		if (atoi(d->d_name) != f.c.pid)
			worker = atoi(d->d_name) ? atoi(d->d_name) : worker;
	must(t, tasks && worker, "no second thread");
	closedir(tasks);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	must(t, !ptrace(PTRACE_SEIZE, worker, 0, PTRACE_O_TRACEEXIT), "PTRACE_SEIZE: %s", strerror(errno));
	child__kill(t, &f.c, SIGKILL);
	must(t, waitpid(worker, &status, __WALL) == worker && status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8), "its end was not seen: %#x", status);
	trace_another(t);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	ptrace(PTRACE_DETACH, worker, 0, 0);
}

/* ---- code that was moved to memory of no file, where the kernel sets no breakpoints */

TEST(moved_before)
{
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "moved", "before", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	child__wait_err(t, &m.c, "malloctrace: moved (", "its code was moved to anonymous memory", 20);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 3);
	want(t, ju64(t, root, "losses.unprobed_points") > 0, "losses.unprobed_points, wanted more than 0");
	want_u64(t, root, "totals.alloc_calls", 0);
	fx__quit(t, &f);
}

/* Also where it ends within the second in which nobody looked, and where probes are shared (-f). */
static void moved_later(struct test *t, bool at_once, const char *how)
{
	struct ledger seen;
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "moved", "later", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", how, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	seen = f.led;
	fx__go(t, &f);
	if (!at_once)
		child__wait_err(t, &m.c, "malloctrace: moved (", "its code was moved to anonymous memory", 20);
	root = mt__stop_json(t, &m, SIGINT, 3);
	want(t, ju64(t, root, "losses.unprobed_points") > 0, "losses.unprobed_points, wanted more than 0");
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &seen, LED_ALL);
	fx__quit(t, &f);
}

TEST(moved_later)
{
	moved_later(t, false, NULL);
}

TEST(moved_at_the_end)
{
	moved_later(t, true, NULL);
}

TEST(moved_followed)
{
	moved_later(t, true, "-f");
}

/* The kernel sets no probe in a mapping that can be written: nobody removed one there. */
TEST(moved_nowhere)
{
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "moved", "again", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	child__wait_err(t, &m.c, "malloctrace: moved (", "in a mapping that it can write", 20);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	fx__quit(t, &f);
}

TEST(moved_whole)
{
	struct fx f;
	struct mt m;

	fx__start(t, &f, "moved", "whole", NULL);
	want_eq(t, "exit status", 1, (uint64_t)mt__run(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL));
	want(t, strstr(m.c.errs.s, "is in anonymous memory"), "the message, wanted a reason: %.600s", m.c.errs.s);
	fx__go(t, &f);
	fx__quit(t, &f);
}

/* ---- targets that may not make every system call */

TEST(sandboxed)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, "sandboxed", NULL);
	root = trace(t, &f, 0, NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	fx__quit(t, &f);
}

/* As on kernels whose uretprobes such a filter would see: none of them, exact where code can be followed, and told where not. */
static json_t *trace_without_uretprobes(struct test *t, struct fx *f)
{
	struct spawn s = { .argv = { lt_bin, "-p", pid_arg(f->c.pid), "--json", "-v" }, .env = { "MALLOCTRACE_RETURNS=insns" } };
	struct mt m;

	mt__start_v(t, &m, &s);
	mt__wait_attached(t, &m);
	fx__go(t, f);
	/* some function always hands over to where it cannot be followed; the losses tell if it was called */
	want(t, !strstr(m.c.errs.s, ", uretprobe"), "probes, wanted no uretprobe: %.2000s", m.c.errs.s);
	return stop_group(t, &m, SIGINT);
}

static void want_site(struct test *t, json_t *root, const struct fx *f, const char *name)
{
	const struct led_site *site = ledger__site(t, &f->led, name);

	want_eq(t, name, site->v[LED_ALLOC_BYTES], site_sum(t, root, process_of(t, root, f->c.pid, 0), name, "alloc_bytes"));
}

TEST(sandboxed_return_insns)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, "sandboxed", NULL);
	root = trace_without_uretprobes(t, &f);
	want_site(t, root, &f, "malloc_here");
	want_site(t, root, &f, "realloc_here");
	/* glibc's calloc on x86_64 goes on in memset */
	want_eq(t, "calls seen and missed", ledger__sum(&f.led, LED_ALLOC_CALLS),
		ju64(t, root, "totals.alloc_calls") + ju64(t, root, "losses.missed_return"));
	want_u64(t, root, "losses.total", ju64(t, root, "losses.missed_return"));
	fx__quit(t, &f);
}

TEST(basic_family_return_insns)
{
	static const char *const exact[] = { "site_malloc", "site_realloc", "site_aligned_alloc", "site_posix_memalign" };
	struct fx f;
	json_t *root;

	fx__start(t, &f, "basic", "family", NULL);
	root = trace_without_uretprobes(t, &f);
	for (unsigned int i = 0; i < sizeof(exact) / sizeof(*exact); i++)
		want_site(t, root, &f, exact[i]);
	/* reallocarray's own return is not seen; that of realloc, which it hands over to, may be */
	want(t, ju64(t, root, "losses.missed_return") > 0, "losses.missed_return, wanted more than 0");
	want(t, ju64(t, root, "totals.alloc_calls") + ju64(t, root, "losses.missed_return") >= ledger__sum(&f.led, LED_ALLOC_CALLS),
	     "calls that are neither seen nor missed");
	fx__quit(t, &f);
}
