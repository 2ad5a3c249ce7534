// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* How processes begin and end while they are traced, and how malloctrace does. */
#include "lt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/bpf.h>
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

/* The kernel lifts the probes of a dead tracer in its own time; one of another test, which follows children, has its own for as long as it runs. */
void want_unprobed(struct test *t, pid_t pid)
{
	struct timespec ms = { 0, 10000000 };
	uint64_t n = 1;

	for (unsigned int i = 0; i < patience_s(30) * 100 && (n = changed_bytes(t, pid, "libc.so")); i++)
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
