// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* How processes begin and end while they are traced, and how malloctrace does. */
#include "group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What is live when the target ends is what it leaked. */
TEST(target_exits)
{
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "basic", "leak", "1000", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	fx__quit(t, &f);
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	want_bool(t, root, "processes[0].ended", true);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	want_u64(t, root, "totals.live_blocks", 1000);
}

/* It ends right after its last allocation, before anyone could look. */
/* Its terminal was closed: it reports like at Ctrl-C. */
TEST(hangup_reports)
{
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "basic", "family", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGHUP, 0);
	want_lossless(t, root);
	want_u64(t, root, "totals.alloc_calls", ledger__sum(&f.led, LED_ALLOC_CALLS));
	fx__quit(t, &f);
}

TEST(target_exits_at_once)
{
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "basic", "leak", "1000", "7", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__send(t, &f, 'g');
	want_eq(t, "the fixture's exit status", 7, (uint64_t)child__wait(t, &f.c));
	root = mt__stop_json(t, &m, 0, 0);
	want_bool(t, root, "processes[0].ended", true);
	want_u64(t, root, "totals.live_blocks", 1000);
	want_eq(t, "leak_here live_bytes", 64000, site_sum(t, root, process_of(t, root, f.c.pid, 0), "leak_here", "live_bytes"));
}

TEST(target_killed)
{
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "basic", "hold", "500", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	child__kill(t, &f.c, SIGKILL);
	child__wait(t, &f.c);
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	want_bool(t, root, "processes[0].ended", true);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
}

TEST(target_forks)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, "life", "fork", NULL);
	root = trace(t, &f, 0, NULL);
	want_eq(t, "processes", 1, json_array_size(jget(root, "processes")));
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	fx__quit(t, &f);
}

/* A program that ended before malloctrace could look at it: its own name, not its predecessor's. */
TEST(exec_seen_late)
{
	struct fx f;
	struct mt m;
	json_t *root, *new;

	fx__start(t, &f, "life", "exec", fixture("basic"), "leak", "300", "0", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	child__kill(t, &m.c, SIGSTOP);
	fx__send(t, &f, 'g');
	fx__wait_ready(t, &f);
	fx__send(t, &f, 'g');
	want_eq(t, "the fixture's exit status", 0, (uint64_t)child__wait(t, &f.c));
	child__kill(t, &m.c, SIGCONT);
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	new = process_of(t, root, f.c.pid, 1);
	want_u64(t, new, "totals.live_blocks", 300);
	want(t, !strcmp(jstr(new, "comm"), "basic"), "comm, wanted basic, got '%s'", jstr(new, "comm"));
	want(t, !strstr(jstr(new, "exe"), "life"), "exe, wanted none of the program before, got '%s'", jstr(new, "exe"));
}

TEST(target_execs)
{
	struct ledger first;
	struct fx f;
	struct mt m;
	json_t *root, *old, *new;

	fx__start(t, &f, "life", "exec", fixture("basic"), "leak", "300", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	first = f.led;
	fx__send(t, &f, 'g');
	fx__wait_ready(t, &f);		/* it is another program now */
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	old = process_of(t, root, f.c.pid, 0);
	new = process_of(t, root, f.c.pid, 1);
	if (ju64(t, old, "id") > ju64(t, new, "id")) {
		json_t *swap = old;

		old = new;
		new = swap;
	}
	want(t, ju64(t, old, "id") != ju64(t, new, "id"), "ids, wanted two, got %" PRIu64 " twice", ju64(t, old, "id"));
	want_bool(t, old, "ended", true);
	want_bool(t, new, "ended", false);
	want_ledger(t, root, old, &first, LED_ALL);
	want_ledger(t, root, new, &f.led, LED_ALL);
	fx__quit(t, &f);
}

/* ---- exec by another than the first thread: the kernel knows a process's probes by its first one, which is gone then */

static struct ledger ledger_in(struct test *t, const char *path)
{
	char *text = read_all(path, NULL);
	struct ledger l;

	must(t, text && ledger__parse(&l, text), "the program left no ledger in %s", path);
	free(text);
	return l;
}

TEST(exec_by_thread)
{
	struct ledger first;
	struct fx f;
	struct mt m;
	json_t *root, *new;

	fx__start(t, &f, "life", "exec-by-thread", fixture("basic"), "leak", "250", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	first = f.led;
	fx__send(t, &f, 'g');
	fx__wait_ready(t, &f);
	/* nobody stops it: what it did until it was probed again is not known, and told */
	child__wait_err(t, &m.c, "malloctrace: ", "they were attached again", 10);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	new = process_of(t, root, f.c.pid, 1);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &first, LED_ALL & ~LED_ONLY);
	want_ledger(t, root, new, &f.led, LED_ALL);
	want(t, ju64(t, new, "unseen_ns") > 0, "unseen_ns of the new program, wanted more than 0");
	fx__quit(t, &f);
}

static void command_exec_by_thread(struct test *t, const char *follow)
{
	const char *first = in_dir(t, "first"), *second = in_dir(t, "second");
	struct ledger a, b;
	struct mt m;
	json_t *root;

	mt__start(t, &m, "--json", follow, "--", fixture("life"), "--auto", first, "exec-by-thread", fixture("ctor"), "--auto", second, NULL);
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	a = ledger_in(t, first);
	b = ledger_in(t, second);
	must(t, json_array_size(jget(root, "processes")) == 2, "processes, wanted 2, got %zu", json_array_size(jget(root, "processes")));
	want_ledger(t, root, jget(root, "processes[0]"), &a, LED_ALL & ~LED_ONLY);
	want_ledger(t, root, jget(root, "processes[1]"), &b, LED_ONLY | LED_REALLOC);
	want(t, !strcmp(jstr(root, "processes[1].comm"), "ctor"), "comm, wanted ctor, got '%s'", jstr(root, "processes[1].comm"));
}

/* From its first allocation on, which constructors make. */
TEST(command_exec_by_thread)
{
	command_exec_by_thread(t, "--no-source");
}

TEST(follow_exec_by_thread)
{
	command_exec_by_thread(t, "-f");
}

/* ---- is a process probed? Its code differs from the file's where breakpoints are. */

#if defined(__aarch64__)
#define INSN_BYTES 4
#else
#define INSN_BYTES 1
#endif

uint64_t changed_bytes(struct test *t, pid_t pid, const char *library)
{
	return changed_places(t, pid, library, NULL, 0);
}

uint64_t changed_places(struct test *t, pid_t pid, const char *library, uint64_t *ret, size_t room)
{
	char path[64], line[4400], file[4096], perms[8];
	uint64_t start, end, off, n = 0, seen = 0, last = 0;
	FILE *maps;
	int mem;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	mem = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	if (mem < 0 || !maps) {
		int err = errno, status = 0;
		pid_t got = waitpid(pid, &status, WNOHANG);

		must(t, false, "no look into process %d: %s; it %s (waitpid: %d, %#x)", pid, strerror(err),
		     got != pid ? "lives" : WIFSIGNALED(status) ? "was killed" : "ended", (int)got, (unsigned int)status);
	}
	while (fgets(line, sizeof(line), maps)) {
		char *code, *orig;
		int fd;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %4095s", &start, &end, perms, &off, file) != 5 ||
		    perms[2] != 'x' || !strstr(file, library))
			continue;
		code = malloc(end - start);
		orig = calloc(1, end - start);
		fd = open(file, O_RDONLY | O_CLOEXEC);
		must(t, code && orig && fd >= 0 && pread(mem, code, end - start, (off_t)start) == (ssize_t)(end - start) &&
		     pread(fd, orig, end - start, (off_t)off) > 0, "no code of %s", file);
		for (uint64_t i = 0; i < end - start; i++) {
			uint64_t at = (start + i) / INSN_BYTES * INSN_BYTES;

			if (code[i] == orig[i])
				continue;
			n++;
			if (room && at != last) {
				*ret++ = last = at;
				room--;
			}
		}
		seen += end - start;
		close(fd);
		free(code);
		free(orig);
	}
	fclose(maps);
	close(mem);
	must(t, seen > 0, "process %d has no code of %s", pid, library);
	return n;
}

/* The kernel lifts the probes of a dead tracer in its own time, but soon. */
void want_unprobed(struct test *t, pid_t pid)
{
	struct timespec ms = { 0, 10000000 };
	uint64_t n = 1;

	for (unsigned int i = 0; i < patience_s(5) * 100 && (n = changed_bytes(t, pid, "libc.so")); i++)
		nanosleep(&ms, NULL);
	want_eq(t, "bytes of libc's code that differ from the file seconds after the trace", 0, n);
}

TEST_ALONE(tracer_killed)
{
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "threads", "busy", "1", "2", NULL);
	want_eq(t, "bytes of libc's code that differ before the trace", 0, changed_bytes(t, f.c.pid, "libc.so"));
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	want(t, changed_bytes(t, f.c.pid, "libc.so") > 0, "breakpoints in libc's code, wanted some, got none");
	fx__go(t, &f);
	child__kill(t, &m.c, SIGKILL);
	want_eq(t, "malloctrace's exit status", 128 + SIGKILL, (uint64_t)child__wait(t, &m.c));
	want_unprobed(t, f.c.pid);
	fx__go(t, &f);
	want_eq(t, "blocks that the program found damaged", 0, ledger__note(t, &f.led, "wrong"));
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);	/* and it can be traced again */
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	for (uint64_t ops = ledger__note(t, &f.led, "ops"); ledger__note(t, &f.led, "ops") < ops + 1000;)
		fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGTERM, 0);
	want_lossless(t, root);
	want(t, ju64(t, root, "totals.alloc_calls") > 0, "totals.alloc_calls, wanted more than 0");
	want_eq(t, "bytes of libc's code that differ after a detach", 0, changed_bytes(t, f.c.pid, "libc.so"));
	fx__send(t, &f, 's');
	fx__read_ledger(t, &f);
	fx__quit(t, &f);
}

/* ---- the last probe to go is one that nobody meets: see user/probe/attach.h */

/* The name of the program whose uprobes a file of a process holds; false: it holds none. */
static bool probes_in(pid_t pid, const char *fd, char name[BPF_OBJ_NAME_LEN])
{
	struct bpf_prog_info info = {};
	union bpf_attr attr = {};
	char path[300], kind[32] = "";
	char *text, *type, *id;
	int prog = -1;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", pid, fd);
	text = read_all(path, NULL);
	type = text ? strstr(text, "link_type:") : NULL;
	id = text ? strstr(text, "prog_id:") : NULL;
	/* other links are raw tracepoints */
	if (type && id && sscanf(type, "link_type: %31s", kind) == 1 && (!strcmp(kind, "uprobe_multi") || !strcmp(kind, "perf"))) {
		attr.prog_id = (uint32_t)atoi(id + strlen("prog_id:"));
		prog = (int)syscall(SYS_bpf, BPF_PROG_GET_FD_BY_ID, &attr, sizeof(attr));
	}
	free(text);
	if (prog < 0)
		return false;
	attr = (union bpf_attr){ .info = { .bpf_fd = (uint32_t)prog, .info_len = sizeof(info), .info = (uint64_t)(uintptr_t)&info } };
	syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr));
	close(prog);
	memcpy(name, info.name, BPF_OBJ_NAME_LEN);
	return true;
}

/* Files of a process that is killed are given back from the highest number to the lowest. */
static void want_anchored(struct test *t, pid_t pid)
{
	char path[64], name[BPF_OBJ_NAME_LEN], low_name[BPF_OBJ_NAME_LEN] = "";
	unsigned int n = 0, n_anchors = 0;
	int low = 1 << 30, high_anchor = -1;
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	d = opendir(path);
	must(t, d != NULL, "%s: %s", path, strerror(errno));
	while ((e = readdir(d))) {
		int fd = atoi(e->d_name);

		if (e->d_name[0] == '.' || !probes_in(pid, e->d_name, name))
			continue;
		n++;
		if (!strcmp(name, "stay")) {
			n_anchors++;
			high_anchor = fd > high_anchor ? fd : high_anchor;
		}
		if (fd < low) {
			low = fd;
			memcpy(low_name, name, sizeof(name));
		}
	}
	closedir(d);
	want(t, n > 4, "%u files hold uprobes, wanted more than 4", n);
	want_eq(t, "anchors", 1, n_anchors);
	want(t, !strcmp(low_name, "stay") && low == high_anchor, "the last probe to go is of '%s', the anchor's number is %d", low_name, high_anchor);
}

static void anchored(struct test *t, const char *links)
{
	struct spawn s = { .argv = { lt_bin, "-p", NULL, "--json" }, .env = { links } };
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "basic", "leak", "100", NULL);
	s.argv[2] = pid_arg(f.c.pid);
	mt__start_v(t, &m, &s);
	mt__wait_attached(t, &m);
	want_anchored(t, m.c.pid);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	want_eq(t, "bytes of libc's code that differ after a detach", 0, changed_bytes(t, f.c.pid, "libc.so"));
	fx__quit(t, &f);
}

TEST_ALONE(last_probe_out)
{
	anchored(t, NULL);
}

TEST_ALONE(last_probe_out_perf)
{
	anchored(t, "MALLOCTRACE_LINKS=perf");
}

/* The same where probes are shared. */
TEST_ALONE(all_tracer_killed)
{
	struct fx f;
	struct mt m;

	fx__start(t, &f, "threads", "busy", "1", "2", NULL);
	mt__start(t, &m, "-a", NULL);
	mt__wait_attached(t, &m);
	want(t, changed_bytes(t, f.c.pid, "libc.so") > 0, "breakpoints in libc's code, wanted some, got none");
	fx__go(t, &f);
	child__kill(t, &m.c, SIGKILL);
	want_eq(t, "malloctrace's exit status", 128 + SIGKILL, (uint64_t)child__wait(t, &m.c));
	want_unprobed(t, f.c.pid);
	fx__go(t, &f);
	want_eq(t, "blocks that the program found damaged", 0, ledger__note(t, &f.led, "wrong"));
	fx__send(t, &f, 's');
	fx__read_ledger(t, &f);
	fx__quit(t, &f);
}

/* ---- -- CMD */

static void want_auto_ledger(struct test *t, json_t *root, const char *path, unsigned int checks)
{
	struct ledger l;
	char *text = read_all(path, NULL);

	must(t, text && ledger__parse(&l, text), "the program left no ledger in %s", path);
	must(t, json_array_size(jget(root, "processes")) == 1, "processes, wanted 1, got %zu", json_array_size(jget(root, "processes")));
	want_ledger(t, root, jget(root, "processes[0]"), &l, checks);
	want_bool(t, root, "processes[0].ended", true);
	free(text);
}

TEST(command_from_first_allocation)
{
	const char *ledger = in_dir(t, "ledger");
	struct mt m;
	json_t *root;

	mt__start(t, &m, "--json", "--", fixture("ctor"), "--auto", ledger, NULL);
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	want_auto_ledger(t, root, ledger, LED_ONLY | LED_REALLOC);
}

TEST(command_static)
{
	const char *ledger = in_dir(t, "ledger");
	struct mt m;
	json_t *root;

	mt__start(t, &m, "--json", "--", fixture("basic.static"), "--auto", ledger, "family", NULL);
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	want_auto_ledger(t, root, ledger, LED_ALL & ~LED_ONLY);
}

/* Once it has begun nobody traces CMD, also after an exec, and yet that is seen from its first instruction on. */
TEST(command_runs_free)
{
	struct mt m;

	want_eq(t, "exit status", 0, (uint64_t)mt__run(t, &m, "-q", "-o", in_dir(t, "free.json"), "--", "/bin/sh", "-c",
						       "sed -n s/^TracerPid:.//p /proc/$$/status && exec sed -n s/^TracerPid:.//p /proc/self/status", NULL));
	want(t, !strcmp(m.c.outs.s, "0\n0\n"), "TracerPid of sh and of sed, wanted 0 twice, got %s", m.c.outs.s);
	want_eq(t, "processes", 2, json_array_size(jget(load_json(t, in_dir(t, "free.json")), "processes")));
}

/* A trace that fails leaves CMD as it is: its next exec holds nobody. */
TEST(command_execs_after_a_failure)
{
	struct spawn s = { .argv = { "/bin/sh", "-c", "exec \"$0\" 1 -- /bin/sh -c 'sleep 3; exec /bin/sh -c \"exit 7\"' > /dev/full", lt_bin } };
	struct mt m;

	mt__start_v(t, &m, &s);
	want_eq(t, "exit status of a trace that cannot write", 125, (uint64_t)child__wait(t, &m.c));
	want(t, strstr(m.c.errs.s, "No space left on device"), "why, wanted, got %s", m.c.errs.s);
}

/* The state of a process, 0: there is none; whose child it is, and what it is called. */
static char state_of(pid_t pid, pid_t *ret_parent, char comm[static 32])
{
	char path[64], line[512] = "", *end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (f && !fgets(line, sizeof(line), f))
		line[0] = 0;
	if (f)
		fclose(f);
	end = strrchr(line, ')');
	if (!end)
		return 0;
	*ret_parent = atoi(end + 3);
	*end = 0;
	snprintf(comm, 32, "%.31s", strchr(line, '(') + 1);
	return end[2];
}

/* malloctrace's CMD, once it is that and no copy of malloctrace; 0: not yet. */
static pid_t child_called(pid_t parent, const char *name)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	char comm[32];
	pid_t pid, of;

	while ((e = readdir(d))) {
		pid = atoi(e->d_name);
		if (pid && state_of(pid, &of, comm) && of == parent && !strcmp(comm, name))
			break;
	}
	closedir(d);
	return e ? pid : 0;
}

/* malloctrace stops CMD at an exec: were it killed then, CMD goes on. */
TEST(command_goes_on_without_us)
{
	pid_t pid, of;
	struct mt m;
	char comm[32];

	mt__start(t, &m, "-q", "-o", in_dir(t, "gone.json"), "--", "/bin/sleep", "600", NULL);
	while (!(pid = child_called(m.c.pid, "sleep")) || state_of(pid, &of, comm) != 'S')
		poll(NULL, 0, 5);
	kill(pid, SIGSTOP);
	while (state_of(pid, &of, comm) != 'T')
		poll(NULL, 0, 5);
	child__kill(t, &m.c, SIGKILL);
	while (state_of(m.c.pid, &of, comm) != 'Z')
		poll(NULL, 0, 5);
	/* the kernel has told it by then */
	for (int i = 0; i < 400 && state_of(pid, &of, comm) != 'S'; i++)
		poll(NULL, 0, 5);
	want(t, state_of(pid, &of, comm) == 'S', "the state of CMD, wanted S, got %c", state_of(pid, &of, comm));
	/* it has malloctrace's output */
	kill(pid, SIGKILL);
	want_eq(t, "malloctrace's exit status", 128 + SIGKILL, (uint64_t)child__wait(t, &m.c));
}

/* Of those whose parent has died, the first, 0: there is none. What a test leaves behind is its keeper's. */
static pid_t orphan(bool stopped, char comm[static 32])
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	pid_t pid = 0, of;
	char state = 0;

	while ((e = readdir(d))) {
		pid = atoi(e->d_name);
		state = pid && pid != getpid() ? state_of(pid, &of, comm) : 0;
		if (state && of == getppid() && (stopped ? state == 'T' || state == 't' : state != 'Z'))
			break;
	}
	closedir(d);
	return e ? pid : 0;
}

/* Whenever malloctrace is killed, from its start or from that of CMD on: neither CMD nor the copy of malloctrace that was to become it stands still for good. */
static void kill_at_any_moment(struct test *t, const char *const *cmd, bool begun, unsigned int within_us)
{
	struct spawn s = { .argv = { lt_bin, "-q", "-o", in_dir(t, "killed.json"), "--" } };
	char comm[32];

	for (size_t i = 0; cmd[i]; i++)
		s.argv[5 + i] = cmd[i];
	srand((unsigned int)getpid());
	for (unsigned int i = 0; i < 40; i++) {
		unsigned int us = (unsigned int)rand() % within_us;
		int status;
		struct mt m;
		pid_t pid;

		mt__start_v(t, &m, &s);
		while (begun && !child_called(m.c.pid, strrchr(cmd[0], '/') + 1))
			poll(NULL, 0, 5);
		usleep(us);
		child__kill(t, &m.c, SIGKILL);
		/* CMD has its output, too, and may go on */
		must(t, waitpid(m.c.pid, &status, 0) == m.c.pid, "waitpid: %s", strerror(errno));
		/* the kernel has sent its signals by now; to go on takes an instant */
		for (unsigned int k = 0; k < 400 && (pid = orphan(true, comm)); k++)
			poll(NULL, 0, 5);
		want(t, !pid, "%d (%s) is stopped, after a kill at %u us", (int)pid, comm, us);
		while ((pid = orphan(false, comm)))
			kill(pid, SIGKILL);
		close(m.c.out);
		close(m.c.err);
	}
}

TEST(command_killed_at_any_moment)
{
	kill_at_any_moment(t, (const char *const[]){ "/bin/sleep", "2", NULL }, false, 1000000);
}

/* One that is at an exec at most moments. */
TEST(command_killed_at_any_exec)
{
	const char *again = "exec \"$0\" -c \"$1\" \"$0\" \"$1\"";

	kill_at_any_moment(t, (const char *const[]){ "/bin/sh", "-c", again, "/bin/sh", again, NULL }, true, 100000);
}

TEST(command_exit_status)
{
	static const struct {
		const char *arg;
		int status;
	} ways[] = { { "0", 0 }, { "7", 7 }, { "143", 143 }, { "137", 137 } };

	for (unsigned int i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		const char *ledger = in_dir(t, "ledger%u", i);
		struct mt m;
		json_t *root;

		mt__start(t, &m, "--json", "--", fixture("basic"), "--auto", ledger, "exit", ways[i].arg, NULL);
		root = mt__stop_json(t, &m, 0, ways[i].status);
		want_auto_ledger(t, root, ledger, LED_ALL);
		want(t, strstr(m.c.errs.s, "hello-from-stdout") != NULL, "the program's standard output, wanted on stderr: %.300s", m.c.errs.s);
	}
}

TEST(command_cannot_run)
{
	const char *plain = in_dir(t, "plain");
	struct mt m;
	int fd = open(plain, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	close(fd);
	want_eq(t, "exit status for a file that is no program", 126, (uint64_t)mt__run(t, &m, "--json", "--", plain, NULL));
	want(t, strstr(m.c.errs.s, plain) != NULL, "the message, wanted to name %s: %.300s", plain, m.c.errs.s);
	want_eq(t, "exit status for no file", 127, (uint64_t)mt__run(t, &m, "--json", "--", in_dir(t, "nothing"), NULL));
	want_eq(t, "exit status for no command in PATH", 127, (uint64_t)mt__run(t, &m, "--json", "--", "no-such-command-here", NULL));
	want(t, strstr(m.c.errs.s, "no-such-command-here") != NULL, "the message, wanted to name it: %.300s", m.c.errs.s);
}

/* As the user who called sudo, not as root. */
TEST(command_as_invoking_user)
{
	/* a copy: the checkout may lie where that user cannot go */
	const char *ledger = in_dir(t, "ledger"), *program = in_dir(t, "basic");
	struct spawn s = { .argv = { lt_bin, "--json", "--", program, "--auto", ledger, "uid" },
			   .env = { "SUDO_UID=65534", "SUDO_GID=65534" } };
	struct mt m;
	json_t *root;
	char *text;
	struct ledger l;

	copy_file(t, fixture("basic"), program);
	must(t, !chown(t->dir, 65534, 65534), "chown");
	mt__start_v(t, &m, &s);
	root = mt__stop_json(t, &m, 0, 0);
	text = read_all(ledger, NULL);
	must(t, text && ledger__parse(&l, text), "no ledger");
	want_eq(t, "the program's uid", 65534, ledger__note(t, &l, "uid"));
	want_eq(t, "the program's gid", 65534, ledger__note(t, &l, "gid"));
	json_decref(root);
	unlink(ledger);
	s.argv[1] = "--as-root";
	s.argv[2] = "--json";
	s.argv[3] = "--";
	s.argv[4] = fixture("basic");
	s.argv[5] = "--auto";
	s.argv[6] = ledger;
	s.argv[7] = "uid";
	mt__start_v(t, &m, &s);
	mt__stop_json(t, &m, 0, 0);
	text = read_all(ledger, NULL);
	must(t, text && ledger__parse(&l, text), "no ledger");
	want_eq(t, "the program's uid with --as-root", 0, ledger__note(t, &l, "uid"));
}
