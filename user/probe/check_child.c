// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The child of a self-check: a fresh process that loads the target's allocator
 * and calls its functions when told to. The library is the target's, and the
 * target is not trusted: loading it runs its constructors. So before that
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
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "probe/check.h"
#include "reader/lockdown.h"
#include "util/util.h"

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
	if (fstat(CHECK_FD_FILE, &st))
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
