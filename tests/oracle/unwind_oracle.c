// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Our stacks against libdw's: unwind_oracle [-n STACKS] [PROGRAM...]
 *
 * Each program is stopped at the entry of malloc many times, at calls picked at
 * random. At each stop the stack is walked twice: in the kernel by the very
 * code and tables that the product uses, and by libdw from the registers and
 * the memory of the stopped thread. Both must give the same addresses from
 * malloc's caller to the thread's first frame. The exit status is 1 if they
 * differ in one stack, or if a program gave too few.
 *
 * The thread is stopped by a signal that the BPF program sends, and which never
 * reaches it: we trace it, walk, and let it go on.
 *
 *   bash           2000 stacks (1141 distinct, 61.5 frames, longest 189; ...): same 2000
 */
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "malloctrace.skel.h"
#include "probe/features.h"
#include "probe/kernel.h"
#include "space/space.h"
#include "tests/oracle/dw.h"
#include "tests/oracle/oracle.h"
#include "tests/oracle/programs.h"
#include "unwind/tables.h"
#include "util/util.h"

#define DEFAULT_STACKS 2000
#define LIMIT_S 180
#define MAX_GAP 400		/* calls from one stop to the next, at most */
#define MAX_TOLD 5
#define N_SEEN (1u << 16)

enum outcome {
	SAME,
	CUT,		/* the same as far as --depth allows */
	DIFFER,
	SHORTER,
	LONGER,
	LIBDW_FAILED,	/* the same as far as libdw came before it gave up, with an error */
	N_OUTCOMES
};

static const char *const outcome_names[N_OUTCOMES] = {
	"same", "cut by the depth limit", "differ", "shorter", "longer", "libdw gave up earlier",
};

struct session {
	const struct program *program;
	struct running running;
	struct objects *objects;
	struct space space;
	struct kernel *kernel;
	struct unwind *unwind;
	struct ring_buffer *ring;
	struct dw *dw;
	uint32_t proc;
	uint64_t maps_hash;
	struct vec(int) links;
	struct oracle_event event;	/* the last one */
	bool has_event;
	struct dw_stack theirs;
	/* the result */
	uint64_t n[N_OUTCOMES], n_stacks, n_frames, n_distinct, n_remapped, n_fp_same, longest;
	uint64_t seen[N_SEEN];
};

static volatile sig_atomic_t too_late;

static void on_alarm(int sig)
{
	too_late = 1;
}

static uint64_t hash_bytes(const void *p, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ ((const uint8_t *)p)[i]) * 0x100000001b3u;
	return h;
}

static uint32_t random_below(uint32_t n)
{
	static uint64_t x = 88172645463325252u;	/* the same run each time */

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (uint32_t)(x >> 32) % n;
}

/* ---- the two walks */

static int on_event(void *arg, void *data, size_t size)
{
	struct session *t = arg;

	if (size >= sizeof(t->event)) {
		memcpy(&t->event, data, sizeof(t->event));
		t->has_event = true;
	}
	return 0;
}

static enum outcome compare(const __u64 *ours, size_t n, uint32_t end, const struct dw_stack *theirs, size_t *ret_at)
{
	/* its first frame is malloc */
	const uint64_t *want = theirs->ip + 1;
	size_t n_want = theirs->n ? theirs->n - 1 : 0, at = 0;

	while (at < n && at < n_want && ours[at] == want[at])
		at++;
	*ret_at = at;
	if (at == n && at == n_want)
		return SAME;
	if (at == n)
		return end == MT_END_DEPTH ? CUT : SHORTER;
	if (at == n_want)
		return theirs->why[0] ? LIBDW_FAILED : LONGER;
	return DIFFER;
}

static void tell(struct session *t, enum outcome o, size_t at)
{
	const struct oracle_event *ev = &t->event;

	printf("  %s: frame %zu (of %u, theirs %zu%s%s)\n", outcome_names[o], at, ev->n, t->theirs.n - 1, t->theirs.why[0] ? ": " : "",
	       t->theirs.why);
	for (size_t i = at > 1 ? at - 2 : 0; i < at + 2; i++)
		printf("    %3zu  ours %-60s theirs %s\n", i, i < ev->n ? dw__place(t->dw, ev->ip[i]) : "-",
		       i + 1 < t->theirs.n ? dw__place(t->dw, t->theirs.ip[i + 1]) : "-");
}

static void note_distinct(struct session *t)
{
	uint64_t h = hash_bytes(t->event.ip, t->event.n * sizeof(t->event.ip[0])) | 1;

	for (uint32_t i = 0; i < 64; i++) {
		uint64_t *slot = &t->seen[(h + i) % N_SEEN];

		if (*slot == h)
			return;
		if (!*slot) {
			*slot = h;
			t->n_distinct++;
			return;
		}
	}
}

/* Where calls push the return address, the kernel's trampoline for a uretprobe may stand in its place: libdw knows of none. */
static bool put_word(pid_t tid, uint64_t sp, uint64_t word, uint64_t *ret_was)
{
	struct iovec was = { ret_was, sizeof(*ret_was) }, is = { &word, sizeof(word) }, at = { (void *)(uintptr_t)sp, sizeof(word) };

	return process_vm_readv(tid, &was, 1, &at, 1, 0) == sizeof(word) && process_vm_writev(tid, &is, 1, &at, 1, 0) == sizeof(word);
}

static void judge(struct session *t, pid_t tid)
{
	uint64_t was, ignored;
	enum outcome o;
	bool put;
	size_t at;

	put = t->event.ra_at && t->event.n && put_word(tid, t->event.ra_at, t->event.ip[0], &was);
	dw__walk(t->dw, tid, &t->theirs);
	if (put)
		put_word(tid, t->event.ra_at, was, &ignored);
	o = compare(t->event.ip, t->event.n, t->event.end, &t->theirs, &at);
	t->n[o]++;
	t->n_stacks++;
	t->n_frames += t->event.n;
	t->longest = MAX(t->longest, t->event.n);
	note_distinct(t);
	if (o != SAME && o != CUT && t->n[o] <= MAX_TOLD)
		tell(t, o, at);
	o = compare(t->event.fp_ip, t->event.n_fp, t->event.fp_end, &t->theirs, &at);
	t->n_fp_same += o == SAME || o == CUT || o == LIBDW_FAILED;
}

/* ---- the program's mappings */

static uint64_t hash_of_maps(pid_t pid)
{
	_cleanup_free_ char *text = NULL;
	uint64_t h = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	if (read_small_file(path, &text, NULL))
		return 0;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (strstr(line, " r-xp ") || strstr(line, " rwxp "))
			h = h * 31 + hash_bytes(line, strlen(line));
	return h;
}

static int look_again(struct session *t, struct err *e)
{
	struct unwind_verdict v;
	size_t n_new;
	int err = space__refresh(&t->space, t->objects, t->running.pid, &n_new, e);

	if (!err)
		err = unwind__update(t->unwind, t->proc, &t->space, 0, &v, e);
	if (err)
		return err;
	dw__close(t->dw);
	t->dw = dw__open(t->running.pid);
	t->maps_hash = hash_of_maps(t->running.pid);
	return t->dw ? 0 : err_set(e, -EIO, "libdw cannot look at it");
}

/* ---- stopping */

struct probe_here {
	struct session *t;
	const struct object *obj;
	struct err *e;
	int err;
	unsigned int n;
};

static int probe_malloc(const struct object_symbol *s, void *arg)
{
	struct probe_here *p = arg;
	struct bpf_program *prog = p->t->kernel->skel->progs.oracle_stop;
	uint64_t off, cookie = 0;
	int *fd;

	if (strcmp(s->name, "malloc") || s->ifunc || !object__vaddr_to_offset(p->obj, s->value, &off))
		return 0;
	fd = vec_push(&p->t->links);
	*fd = uprobe_multi__link(bpf_program__fd(prog), p->obj->fd_path,
				 &(struct uprobe_points){ .offsets = &off, .cookies = &cookie, .n = 1 }, false, p->t->running.pid);
	if (*fd < 0)
		return p->err = err_set(p->e, -errno, "malloc in %s: %s", p->obj->path, strerror(errno));
	p->n++;
	return 1;	/* it may be in two symbol tables */
}

static int attach(struct session *t, struct err *e)
{
	struct probe_here p = { .t = t, .e = e };

	for (size_t i = 0; i < t->space.n; i++) {
		bool again = false;

		p.obj = t->space.v[i].object;
		for (size_t k = 0; k < i; k++)
			again |= t->space.v[k].object == p.obj;
		if (!p.obj || !p.obj->is_elf || !p.obj->ino || again)
			continue;
		object__for_each_function(p.obj, probe_malloc, &p);
		if (p.err)
			return -EIO;
	}
	return p.n ? 0 : err_set(e, -ENOENT, "it has no malloc");
}

static int seize(pid_t pid, struct err *e)
{
	struct dirent *d;
	char path[64];
	DIR *dir;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (d = readdir(dir)))
		if (d->d_name[0] != '.')
			n += !ptrace(PTRACE_SEIZE, atoi(d->d_name), NULL, (void *)(long)PTRACE_O_TRACECLONE);
	if (dir)
		closedir(dir);
	return n ? 0 : err_set(e, -errno, "ptrace: %s", strerror(errno));
}

static void arm(struct session *t)
{
	t->has_event = false;
	__atomic_store_n(&t->kernel->skel->bss->oracle_countdown, 1 + random_below(MAX_GAP), __ATOMIC_SEQ_CST);
}

/* A thread that has stopped: if it is where we wanted it, both walks are compared. */
static int on_stop(struct session *t, pid_t tid, int status, struct err *e)
{
	int sig = WSTOPSIG(status), err = 0;

	if (status >> 16) {
		sig = 0;
	} else if (sig == SIGSTOP) {
		sig = 0;
		ring_buffer__consume(t->ring);
		if (t->has_event && t->event.tid == (uint32_t)tid) {
			/* new code: its table comes with the next walk */
			if (hash_of_maps(t->running.pid) != t->maps_hash) {
				t->n_remapped++;
				err = look_again(t, e);
			} else {
				judge(t, tid);
			}
			arm(t);
		}
	}
	ptrace(PTRACE_CONT, tid, NULL, (void *)(long)sig);
	return err;
}

static int watch(struct session *t, uint64_t n_stacks, struct err *e)
{
	arm(t);
	while (t->n_stacks < n_stacks) {
		int status, err;
		pid_t tid = waitpid(-1, &status, __WALL);

		if (too_late)
			return err_set(e, -ETIMEDOUT, "only %llu stacks in %d s", (unsigned long long)t->n_stacks, LIMIT_S);
		if (tid < 0)
			return err_set(e, -errno, "waitpid: %s", strerror(errno));
		if (tid == t->running.pid && !WIFSTOPPED(status)) {
			t->running.pid = 0;
			return err_set(e, -ECHILD, "it ended early (status %#x)", status);
		}
		if (tid == t->running.load && !WIFSTOPPED(status)) {
			t->running.load = 0;
			return err_set(e, -ECHILD, "what loads it ended early (status %#x)", status);
		}
		if (!WIFSTOPPED(status))
			continue;
		err = on_stop(t, tid, status, e);
		if (err)
			return err;
	}
	return 0;
}

static int run(struct session *t, uint64_t n_stacks, struct err *e)
{
	const struct kernel_opts opts = { .recording = { .max_live = 1024, .max_stacks = 1024, .max_size = UINT64_MAX, .depth = MT_MAX_DEPTH } };
	int err = program__start(t->program, &t->running, e);

	if (!err)
		err = kernel__open(&opts, &t->kernel, e);
	if (!err)
		err = kernel__add_process(t->kernel, t->running.pid, &t->proc, e);
	if (err)
		return err;
	t->kernel->skel->bss->oracle_proc = t->proc;
	t->objects = objects__new();
	t->unwind = unwind__new(t->kernel, UNWIND_TABLE);
	t->ring = ring_buffer__new(bpf_map__fd(t->kernel->skel->maps.oracle_ring), on_event, t, NULL);
	if (!t->objects || !t->unwind || !t->ring)
		return err_set(e, -ENOMEM, "out of memory");
	err = look_again(t, e);
	if (!err)
		err = seize(t->running.pid, e);
	if (!err)
		err = attach(t, e);
	if (!err)
		err = program__go(t->program, &t->running, e);
	if (!err)
		err = watch(t, n_stacks, e);
	return err;
}

static void done(struct session *t)
{
	for (size_t i = 0; i < t->links.n; i++)
		if (t->links.v[i] >= 0)
			close(t->links.v[i]);
	vec_done(&t->links);
	program__end(&t->running);
	dw__close(t->dw);
	ring_buffer__free(t->ring);
	unwind__free(t->unwind);
	kernel__close(t->kernel);
	space__done(&t->space);
	objects__free(t->objects);
	free(t);
}

/* True if all is well. */
static bool try_program(const struct program *p, uint64_t n_stacks)
{
	struct session *t = calloc(1, sizeof(*t));
	_cleanup_err_ struct err e = {};
	bool ok;
	int err;

	if (!t)
		return false;
	t->program = p;
	t->running = RUNNING_NONE;
	too_late = 0;
	alarm(LIMIT_S);
	err = run(t, n_stacks, &e);
	alarm(0);
	if (err)
		printf("%-14s failed: %s\n", p->name, err_msg(&e));
	printf("%-14s %llu stacks (%llu distinct, %.1f frames, longest %llu; by frame pointers the same: %llu; new code seen %llu times):",
	       p->name, (unsigned long long)t->n_stacks, (unsigned long long)t->n_distinct,
	       t->n_stacks ? (double)t->n_frames / t->n_stacks : 0, (unsigned long long)t->longest,
	       (unsigned long long)t->n_fp_same, (unsigned long long)t->n_remapped);
	for (int o = 0; o < N_OUTCOMES; o++)
		if (t->n[o])
			printf(" %s %llu", outcome_names[o], (unsigned long long)t->n[o]);
	printf("\n");
	ok = !err && t->n_stacks >= n_stacks && t->n_distinct > 1 && !t->n[DIFFER] && !t->n[SHORTER] && !t->n[LONGER];
	done(t);
	return ok;
}

int main(int argc, char **argv)
{
	uint64_t n_stacks = DEFAULT_STACKS;
	struct sigaction act = { .sa_handler = on_alarm };	/* no SA_RESTART: waitpid must return */
	unsigned int n_tried = 0, n_bad = 0;
	int c;

	while ((c = getopt(argc, argv, "n:")) != -1) {
		if (c != 'n' || !(n_stacks = strtoull(optarg, NULL, 10))) {
			fprintf(stderr, "usage: unwind_oracle [-n STACKS] [PROGRAM...]\n");
			return 2;
		}
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	libbpf_words__keep();
	sigaction(SIGALRM, &act, NULL);
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < n_programs; i++) {
		bool wanted = optind == argc;

		for (int k = optind; k < argc; k++)
			wanted |= !strcmp(argv[k], programs[i].name);
		if (!wanted)
			continue;
		if (!program__installed(&programs[i])) {
			printf("%-14s not installed: skipped\n", programs[i].name);
			continue;
		}
		n_tried++;
		n_bad += !try_program(&programs[i], n_stacks);
	}
	printf("%u programs, %u with differences\n", n_tried, n_bad);
	return !n_tried || n_bad ? 1 : 0;
}
