// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The child of a self-check: a fresh process that loads the target's allocator
 * and calls its functions when told to. The library is the target's, and the
 * target is not trusted: loading it runs its constructors. So before that
 *
 *   - malloctrace has become the user nobody, if it was root, and has closed all but three
 *     descriptors (check.c); it gives up all capabilities and can get none back;
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
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "probe/check.h"
#include "util/util.h"

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#else
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif

/* x86_64: what returns and entries by uprobes are made of in newer kernels; not in Debian 12's headers */
#define NR_URETPROBE 335
#define NR_UPROBE 336

static const int allowed[] = {
	__NR_read, __NR_write, __NR_close, __NR_fstat, __NR_newfstatat, __NR_lseek, __NR_pread64, __NR_mmap, __NR_mprotect,
	__NR_munmap, __NR_mremap, __NR_madvise, __NR_brk, __NR_futex, __NR_getrandom, __NR_rt_sigprocmask, __NR_rt_sigaction,
	__NR_rt_sigreturn, __NR_sched_getaffinity, __NR_sched_yield, __NR_getpid, __NR_gettid, __NR_getuid, __NR_geteuid, __NR_getgid,
	__NR_getegid, __NR_set_robust_list, __NR_rseq, __NR_clock_gettime, __NR_sysinfo, __NR_uname, __NR_readlinkat, __NR_faccessat,
	__NR_exit, __NR_exit_group,
#if defined(__x86_64__)
	__NR_readlink, __NR_access, NR_URETPROBE, NR_UPROBE,
#endif
};

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)
#define DENY (SECCOMP_RET_ERRNO | EPERM)

/* A system call that is not on the list fails with EPERM. */
static int shut_doors(void)
{
	struct sock_filter f[16 + 2 * ARRAY_SIZE(allowed)];
	struct sock_fprog prog = { .filter = f };
	size_t n = 0;

	f[n++] = (struct sock_filter)LOAD(arch);
	f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0);
	f[n++] = (struct sock_filter)RETURN(SECCOMP_RET_KILL_PROCESS);
	f[n++] = (struct sock_filter)LOAD(nr);
	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
		f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)allowed[i], 0, 1);
		f[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	}
	/* files for reading only */
	f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat, 1, 0);
	f[n++] = (struct sock_filter)RETURN(DENY);
	f[n++] = (struct sock_filter)LOAD(args[2]);
	f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY), 0, 1);
	f[n++] = (struct sock_filter)RETURN(DENY);
	f[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	prog.len = n;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) ? -errno : 0;
}

/*
 * Anybody can run malloctrace under the child's name, also one with capabilities
 * in its file, and with a library of theirs: it must be worth nothing to them.
 */
static int give_up_rights(void)
{
	cap_t none = cap_init();
	int err = !none || cap_set_proc(none) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;

	cap_free(none);
	return !err && (!getuid() || !geteuid()) ? -EPERM : err;
}

static int limit(void)
{
	static const struct {
		int what;
		rlim_t most;
	} limits[] = {
		{ RLIMIT_CPU, 2 },
		/* of address space, not of memory: mimalloc and tcmalloc reserve a lot */
		{ RLIMIT_AS, 16ull << 30 },
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_FSIZE, 0 },
		{ RLIMIT_NOFILE, 16 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct rlimit l = { limits[i].most, limits[i].most };

		if (setrlimit(limits[i].what, &l) && errno != EPERM)
			return -errno;
	}
	return 0;
}

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

	err = give_up_rights();
	if (!err)
		err = limit();
	if (!err)
		err = shut_doors();
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
