// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the child of a self-check, its pipes and its links, for the time of one
 * call. The child loads the same file, is probed at the points of the plan, and
 * calls one function after the other. Then what was seen must be this and
 * nothing else: the function's entry once, with the arguments that were given;
 * its return once, with the result that came back; both at the call's own
 * stack pointer and return address. Calls within the call may be seen too: the
 * kernel side distinguishes them by their stack pointers, so they do not disturb.
 *
 * The calls are seen by a program of their own (bpf/check.bpf.h), not by those
 * that count: the figures of the trace cannot be touched, and each hit is there
 * to be checked, not only a sum.
 *
 * Not everything can be tried so. A program cannot be loaded as a library, nor
 * can another C library than our own; and with perf events (kernels before 6.6)
 * each of the 36 points of glibc takes a tenth of a second to be given back. Then
 * the plan is kept: what could not be proven by reading the code is plain
 * already, and a uretprobe on everything is the larger intrusion.
 */
#include <bpf/libbpf.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "malloctrace.skel.h"
#include "probe/attach.h"
#include "probe/features.h"
#include "reader/lockdown.h"
#include "util/signals.h"
#include "util/util.h"

#define RUN_MS 2000		/* that a child has for all that it is asked: a hundred times what it takes */
#define VAIN_MS 4000		/* that children which did not answer have had in all: no more are tried then */
#define SLICE_MS 100		/* a user who asks for the end does not wait longer */
#define SOME_BYTES 64		/* of blocks, and what alignments and flags are set to: harmless as either */

/* ---- between the two processes */

#define FD_FILE 3		/* the library; 0 and 1 are the requests and the answers */

struct check_request {
	uint64_t vaddr;		/* of the function */
	uint64_t arg[MT_N_ARGS];
	uint64_t out_arg;	/* this one is replaced by the address of a word; MT_NO_ARG: none */
};

struct check_answer {
	uint64_t sp, ra;	/* of the call, after it returned */
	uint64_t result;
	uint64_t out;		/* the word */
};

struct check_hello {		/* the child's first words */
	uint32_t ready;
	char why_not[124];	/* hostile */
};

/* ---- the child, seen from here */

struct check {
	struct kernel *kernel;
	const struct alloc_funcs *funcs;
	const struct plan *plan;
	struct check_result *result;
	pid_t pid;
	int to, from;		/* pipes */
	int links[2];
	struct mt_hit *hits;	/* mapped */
	uint64_t until_ns;	/* when its time is over */
};

static uint64_t vain_ns;	/* over all checks: what each library may do once, a hundred of them may not do each */

bool plan__is_plain(const struct plan *p)
{
	for (size_t i = 0; i < p->n_points; i++) {
		bool is_first = false;
		uint64_t first;

		for (size_t k = 0; k < p->n_funcs; k++)
			is_first |= object__vaddr_to_offset(p->object, p->funcs[k].vaddr, &first) &&
				    first == p->points[i].offset;
		if (!is_first || p->points[i].how == ON_RET_INSN)
			return false;
	}
	return true;
}

static int verdict(struct check *c, enum check_verdict v, const char *what, const char *detail)
{
	c->result->verdict = v;
	snprintf(c->result->why, sizeof(c->result->why), "%s%s%s", what, detail ? ": " : "", detail ? detail : "");
	clean_name(c->result->why);
	return -1;
}

static int start(struct check *c)
{
	bool is_libc = !strcmp(c->plan->family, "glibc") || !strcmp(c->plan->family, "musl");
	char *const argv[] = { CHECK_CHILD_NAME, is_libc ? "libc" : "", NULL };
	/* allocators keep thread-local data that glibc has room for at start only, unless it is set */
	char *const envp[] = { "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=65536", NULL };
	int in[2] = { -1, -1 }, out[2] = { -1, -1 };

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		c->pid = -errno;
	else
		c->pid = lockdown__spawn(&(struct lockdown_start){ .fds = { in[0], out[1], -1, [FD_FILE] = c->plan->object->fd },
								   .n_fds = FD_FILE + 1, .argv = argv, .envp = envp });
	if (c->pid < 0)
		verdict(c, CHECK_CANNOT, "no child process", strerror(-c->pid));
	if (in[0] >= 0)
		close(in[0]);
	if (out[1] >= 0)
		close(out[1]);
	c->to = in[1];
	c->from = out[0];
	return c->pid > 0 ? 0 : -1;
}

static void stop(struct check *c)
{
	if (c->to >= 0)
		close(c->to);
	if (c->from >= 0)
		close(c->from);
	if (c->pid > 0)
		lockdown__end(c->pid);
	c->to = c->from = c->pid = -1;
}

/* All of it, in time; else -1. */
static int receive(struct check *c, void *buf, size_t len)
{
	size_t got = 0;

	while (got < len) {
		struct pollfd p = { .fd = c->from, .events = POLLIN };
		uint64_t now = now_ns();
		ssize_t n;

		if (now >= c->until_ns || signal_asks_for_end() ||
		    poll(&p, 1, (int)MIN((c->until_ns - now) / MS_NS + 1, (uint64_t)SLICE_MS)) < 0)
			return -1;
		if (!p.revents)
			continue;
		n = read(c->from, (char *)buf + got, len - got);
		if (n <= 0)
			return -1;
		got += n;
	}
	return 0;
}

static int call(struct check *c, const struct check_request *r, struct check_answer *ret)
{
	if (write(c->to, r, sizeof(*r)) != sizeof(*r))
		return -1;
	return receive(c, ret, sizeof(*ret));
}

/* ---- the links: one for uretprobes, one for all else */

static int attach(struct check *c)
{
	const struct plan *p = c->plan;
	struct vec(uint64_t) offsets[2] = {}, cookies[2] = {};
	struct uprobe_points at;
	int err = 0;

	for (size_t i = 0; i < p->n_points; i++) {
		bool is_return = p->points[i].how == ON_RETURN;

		*vec_push(&offsets[is_return]) = p->points[i].offset;
		*vec_push(&cookies[is_return]) = i | (uint64_t)p->points[i].sp_delta << MT_COOKIE_SP_SHIFT |
						 (is_return ? MT_HIT_RETURNED : 0);
	}
	for (int k = 0; k < 2 && !err; k++) {
		if (!offsets[k].n)
			continue;
		at = (struct uprobe_points){ .offsets = offsets[k].v, .cookies = cookies[k].v, .n = offsets[k].n };
		c->links[k] = uprobe_multi__link(bpf_program__fd(c->kernel->skel->progs.check_point),
						 p->object->fd_path, &at, k, c->pid);
		if (c->links[k] < 0)
			err = -errno;
	}
	for (int k = 0; k < 2; k++) {
		vec_done(&offsets[k]);
		vec_done(&cookies[k]);
	}
	return err ? verdict(c, CHECK_CANNOT, "no probes", strerror(-err)) : 0;
}

/* The child is gone: nothing needs to wait for it. */
static void detach(struct check *c)
{
	for (int k = 0; k < 2; k++) {
		uprobe_multi__close(c->links[k]);
		c->links[k] = -1;
	}
}

/* ---- what was seen */

struct seen {
	unsigned int n_entries, n_returns;	/* of the call itself */
	unsigned int n_untold;	/* returns that would count although they are of another call */
	bool args_ok, result_ok;
};

static bool has_point(const struct plan *p, uint32_t func, enum how how, bool return_only)
{
	return array_first(one, p->points, p->n_points, one->func == func && one->how == how &&
			one->return_only == return_only);
}

static void read_hits(const struct check *c, uint32_t func, const struct check_request *r,
		      const struct check_answer *a, struct seen *s)
{
	size_t n = __atomic_load_n(&c->kernel->skel->bss->mt_n_hits, __ATOMIC_SEQ_CST);

	*s = (struct seen){ .args_ok = true, .result_ok = true, .n_untold = n > MT_MAX_HITS };
	for (size_t i = 0; i < MIN(n, (size_t)MT_MAX_HITS); i++) {
		const struct mt_hit *h = &c->hits[i];
		const struct point *pt = &c->plan->points[h->point % c->plan->n_points];
		bool is_this = h->sp == a->sp && h->ra == a->ra;

		switch (pt->how) {
		case ON_ENTRY:
			if (!is_this || pt->func != func)
				break;
			s->n_entries++;
			for (unsigned int k = 0; k < MT_N_ARGS && !pt->no_args; k++)
				s->args_ok &= h->arg[k] == r->arg[k] || k == r->out_arg;
			break;
		case ON_RETURN:
			if (!is_this || pt->func != func)
				break;
			s->n_returns++;
			s->result_ok &= h->result == a->result;
			break;
		case ON_RET_INSN:
			/* the kernel side goes by the stack pointer alone; one with a uretprobe waits for that */
			if (h->sp == a->sp && !has_point(c->plan, func, ON_RETURN, false) &&
			    !has_point(c->plan, func, ON_RETURN, true)) {
				s->n_returns++;
				s->result_ok &= h->result == a->result;
			}
			break;
		}
		s->n_untold += pt->return_only && !is_this;
	}
}

static const char *judge(const struct check *c, const struct planned_func *f, const struct seen *s)
{
	bool entry_only = c->funcs->v[f->func].role == ROLE_FREE ||
			  c->plan->want.recording.mode == MT_MODE_COUNT || f->no_return;
	bool wants_entry = !has_point(c->plan, f->func, ON_RETURN, true) &&
			   !has_point(c->plan, f->func, ON_RET_INSN, true);

	if (s->n_entries != 1 && (wants_entry || s->n_entries))
		return s->n_entries ? "its entry is seen more than once" : "its entry is not seen";
	if (!s->args_ok)
		return "its arguments are reported wrong";
	if (entry_only)
		return NULL;
	if (s->n_returns != 1)
		return s->n_returns ? "its return is seen more than once" : "its return is not seen";
	if (!s->result_ok)
		return "its result is reported wrong";
	if (!wants_entry && s->n_untold)
		return "returns of calls inside it are taken for its own";
	return NULL;
}

/* ---- the calls */

static void set_arg(struct check_request *r, uint8_t at, uint64_t v)
{
	if (at < MT_N_ARGS)
		r->arg[at] = v;
}

static struct check_request request_of(const struct check *c, const struct planned_func *f, uint64_t block,
				       uint64_t size)
{
	const struct alloc_func *row = &c->funcs->v[f->func];
	struct check_request r = { .vaddr = f->vaddr, .out_arg = row->out };

	for (unsigned int i = 0; i < MT_N_ARGS; i++)
		r.arg[i] = SOME_BYTES;
	set_arg(&r, row->size, size);
	set_arg(&r, row->count, 1);
	if (row->role != ROLE_ALLOC)
		set_arg(&r, row->old, block);
	return r;
}

/* A block for free and realloc: from the first function that gives one for a size. */
static int get_block(struct check *c, uint64_t *ret)
{
	for (size_t i = 0; i < c->plan->n_funcs; i++) {
		const struct alloc_func *row = &c->funcs->v[c->plan->funcs[i].func];
		struct check_request r = request_of(c, &c->plan->funcs[i], 0, SOME_BYTES);
		struct check_answer a;

		if (row->role != ROLE_ALLOC || row->size || row->count != MT_NO_ARG || row->flags & FUNC_NOT_ALONE)
			continue;
		if (call(c, &r, &a))
			return -1;
		*ret = a.result;
		return 0;
	}
	*ret = 0;
	return 0;
}

/* 0; -1: the child died. A wrong answer is noted in the result. */
static int try_function(struct check *c, const struct planned_func *f, uint64_t size)
{
	const struct alloc_func *row = &c->funcs->v[f->func];
	struct check_request r;
	struct check_answer a;
	const char *wrong;
	uint64_t block = 0;
	struct seen s;

	if (row->flags & FUNC_NOT_ALONE)
		return 0;
	if (row->role != ROLE_ALLOC && get_block(c, &block))
		return -1;
	if (row->role != ROLE_ALLOC && !block)
		return 0;
	r = request_of(c, f, block, size);
	__atomic_store_n(&c->kernel->skel->bss->mt_n_hits, 0, __ATOMIC_SEQ_CST);
	if (call(c, &r, &a))
		return -1;
	c->result->n_called++;
	if (c->links[0] < 0)
		return 0;
	read_hits(c, f->func, &r, &a, &s);
	wrong = judge(c, f, &s);
	if (wrong && c->result->verdict == CHECK_RIGHT)
		verdict(c, CHECK_WRONG, row->name, wrong);
	return 0;
}

enum run { RAN, DIED, NOT_RUN };

static enum run run(struct check *c, bool probed, const char **ret_died)
{
	struct check_hello hello;

	c->until_ns = now_ns() + RUN_MS * MS_NS;
	if (start(c))
		return NOT_RUN;
	if (receive(c, &hello, sizeof(hello))) {
		verdict(c, CHECK_CANNOT, "it cannot be loaded", NULL);
		return NOT_RUN;
	}
	if (hello.ready != 1) {
		hello.why_not[sizeof(hello.why_not) - 1] = 0;
		verdict(c, CHECK_CANNOT, hello.why_not, NULL);
		return NOT_RUN;
	}
	if (probed && attach(c))
		return NOT_RUN;
	for (size_t i = 0; i < c->plan->n_funcs; i++) {
		/* each call requests another size, and one that is a multiple of the alignment */
		if (try_function(c, &c->plan->funcs[i], SOME_BYTES * (i + 2))) {
			*ret_died = c->funcs->v[c->plan->funcs[i].func].name;
			return DIED;
		}
		if (c->result->verdict != CHECK_RIGHT)
			break;
	}
	return RAN;
}

static enum run run_in_time(struct check *c, bool probed, const char **ret_died)
{
	uint64_t began_ns = now_ns();
	enum run r = run(c, probed, ret_died);

	if (now_ns() >= c->until_ns)
		vain_ns += now_ns() - began_ns;
	stop(c);
	if (signal_asks_for_end() && r != RAN) {
		verdict(c, CHECK_CANNOT, "the end of the trace was asked for", NULL);
		return NOT_RUN;
	}
	return r;
}

static void run_twice(struct check *c)
{
	const char *died = NULL, *died_again = NULL;
	enum run r = run_in_time(c, true, &died);

	detach(c);
	if (r == RAN && !c->result->n_called)
		verdict(c, CHECK_CANNOT, "none of its functions can be called alone", NULL);
	if (r != DIED)
		return;
	/* was it the probes, or does it not like to be called so? */
	r = run_in_time(c, false, &died_again);
	if (r == DIED && died_again == died)
		verdict(c, CHECK_CANNOT, died, "it does not return when it is called alone");
	else if (r != NOT_RUN)
		verdict(c, CHECK_WRONG, died, "it does not return with its probes");
}

void check__plan(struct kernel *k, const struct alloc_funcs *funcs, const struct plan *p, struct check_result *ret)
{
	struct check c = { .kernel = k, .funcs = funcs, .plan = p, .result = ret, .pid = -1, .to = -1, .from = -1, .links = { -1, -1 } };

	*ret = (struct check_result){ .verdict = CHECK_RIGHT };
	if (!k->multi) {
		verdict(&c, CHECK_CANNOT, "detaching perf events takes too long", NULL);
	} else if (p->object->is_exec) {
		verdict(&c, CHECK_CANNOT, "a program cannot be loaded as a library", NULL);
	} else if (p->object->remote) {
		verdict(&c, CHECK_CANNOT, "its file system may not answer", NULL);
	} else if (vain_ns >= VAIN_MS * MS_NS) {
		verdict(&c, CHECK_CANNOT, "too much time was spent on libraries that do not answer", NULL);
	} else if (p->n_points > 0xffff) {
		verdict(&c, CHECK_CANNOT, "it has too many points", NULL);
	} else if (kernel__map_table(k->skel->maps.check_hits, PROT_READ, (void **)&c.hits, NULL)) {
		verdict(&c, CHECK_CANNOT, "no table", NULL);
	} else {
		run_twice(&c);
		kernel__unmap_table(k->skel->maps.check_hits, c.hits);
	}
}

/*
 * ---- the child
 *
 * A fresh process that loads the target's allocator and calls its functions when told to. The
 * library is the target's, and the target is not trusted: loading it runs its constructors. So
 * before that
 *
 *   - malloctrace has become a user that nobody else is, if it was root, and has closed all descriptors
 *     but those it was given (lockdown.c); it gives up all capabilities and can get none back;
 *   - what is in memory is a fresh malloctrace that has read nothing;
 *   - the system calls that are left (below) read files that all may read, and
 *     manage memory. Nothing can be written, started, signalled or connected to.
 *   - time and memory are limited.
 *
 * What it writes to its parent is taken for what it is: a claim.
 */

#define CALL LOCKDOWN_CALL

static const struct lockdown_call allowed[] = {
	CALL(read), CALL(write), CALL(close), CALL(fstat), CALL(newfstatat), CALL(lseek), CALL(pread64), CALL(mmap),
	CALL(mprotect), CALL(munmap), CALL(mremap), CALL(madvise), CALL(brk), CALL(futex), CALL(getrandom),
	CALL(rt_sigprocmask), CALL(rt_sigaction), CALL(rt_sigreturn), CALL(sched_getaffinity), CALL(sched_yield),
	CALL(getpid), CALL(gettid), CALL(getuid), CALL(geteuid), CALL(getgid), CALL(getegid), CALL(set_robust_list),
	CALL(rseq), CALL(clock_gettime), CALL(sysinfo), CALL(uname), CALL(readlinkat), CALL(faccessat), CALL(exit),
	CALL(exit_group),
	/* files for reading only */
	{ .number = __NR_openat, .arg = 2, .none_of = O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY) },
#if defined(__x86_64__)
	CALL(readlink), CALL(access), { .number = NR_URETPROBE }, { .number = NR_UPROBE },
#endif
};

static const struct lockdown_limit limits[] = {
	{ RLIMIT_CPU, 2 },
	/* of address space, not of memory: mimalloc and tcmalloc reserve a lot */
	{ RLIMIT_AS, 16ull << 30 },
	{ RLIMIT_CORE, 0 },
	{ RLIMIT_FSIZE, 0 },
	{ RLIMIT_NOFILE, 16 },
};

/* Is the file loaded here already, as our own C library is? */
static int is_loaded(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct stat *want = arg;
	struct stat st;

	return info->dlpi_name[0] && !stat(info->dlpi_name, &st) && st.st_dev == want->st_dev &&
	       st.st_ino == want->st_ino;
}

/*
 * fn(arg...), and where the call was made from: the stack pointer and the
 * return address, to be compared with what the probes saw.
 */
void check_child_call(uint64_t fn, const uint64_t *arg, struct check_answer *ret);
#if defined(__x86_64__)
__asm__(".text\n.globl check_child_call\n.type check_child_call, @function\ncheck_child_call:\n"
	"push %rbx\n mov %rdx, %rbx\n mov %rdi, %r11\n mov %rsi, %r10\n"
	"mov (%r10), %rdi\n mov 8(%r10), %rsi\n mov 16(%r10), %rdx\n mov 24(%r10), %rcx\n mov 32(%r10), %r8\n mov 40(%r10), %r9\n"
	"mov %rsp, (%rbx)\n lea 1f(%rip), %rax\n mov %rax, 8(%rbx)\n xor %eax, %eax\n call *%r11\n"
	"1: mov %rax, 16(%rbx)\n pop %rbx\n ret\n.size check_child_call, . - check_child_call\n");
#else
__asm__(".text\n.globl check_child_call\n.type check_child_call, %function\ncheck_child_call:\n"
	"stp x29, x30, [sp, #-32]!\n mov x29, sp\n str x19, [sp, #16]\n mov x19, x2\n mov x9, x0\n mov x10, x1\n"
	"ldp x0, x1, [x10]\n ldp x2, x3, [x10, #16]\n ldp x4, x5, [x10, #32]\n"
	"mov x11, sp\n adr x12, 1f\n stp x11, x12, [x19]\n blr x9\n"
	"1: str x0, [x19, #16]\n ldr x19, [sp, #16]\n ldp x29, x30, [sp], #32\n ret\n"
	".size check_child_call, . - check_child_call\n");
#endif

/* The alignment of thread-local data is settled when a program starts: tcmalloc's is that of a cache line. */
static __thread volatile char tls_alignment[64] __attribute__((aligned(64)));

static int refuse(const char *fmt, const char *what)
{
	struct check_hello hello = { 0 };

	snprintf(hello.why_not, sizeof(hello.why_not), fmt, what);
	return write(1, &hello, sizeof(hello)) < 0;
}

static int serve(uint64_t base)
{
	struct check_hello hello = { .ready = 1 };
	struct check_request r;
	struct check_answer a;

	if (write(1, &hello, sizeof(hello)) != sizeof(hello))
		return 1;
	while (read(0, &r, sizeof(r)) == sizeof(r)) {
		a = (struct check_answer){ 0 };
		if (r.out_arg < MT_N_ARGS)
			r.arg[r.out_arg] = (uintptr_t)&a.out;
		check_child_call(base + r.vaddr, r.arg, &a);
		if (write(1, &a, sizeof(a)) != sizeof(a))
			return 1;
	}
	return 0;
}

int check_child__main(int argc, char **argv)
{
	bool is_libc = argc > 1 && !strcmp(argv[1], "libc");
	struct link_map *map;
	struct stat st;
	void *lib;
	int err;

	err = lockdown__give_up_rights(ROOT_REFUSED)	      ?:
	      lockdown__limit(limits, ARRAY_SIZE(limits)) ?:
							    lockdown__allow(allowed, ARRAY_SIZE(allowed));
	if (err)
		return refuse("the child process cannot be confined: %s", strerror(-err));
	if (fstat(FD_FILE, &st))
		return refuse("%s", strerror(errno));
	/* two C libraries in one process do not go together */
	if (is_libc && !dl_iterate_phdr(is_loaded, &st))
		return refuse("%s", "it is not the C library that malloctrace uses");
	tls_alignment[0] = 1;
	/* in the target it comes first in the search order; here it must at least find itself before our libc */
	lib = dlopen("/proc/self/fd/3", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	if (!lib)
		return refuse("it cannot be loaded: %s", dlerror());
	if (dlinfo(lib, RTLD_DI_LINKMAP, &map))
		return refuse("%s", "its load address is not known");
	return serve(map->l_addr);
}
