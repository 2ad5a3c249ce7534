// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the userfaultfd, the holders (keeper.h says what they are and why), and what was opened of the processes that they hold.
 *
 * What always holds: what mem, pagemap and maps show is one address space, that of one program; a page that is missing is never filled
 * in: who lets go kills the holder.
 */
#include "process/keeper.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "process/memory.h"
#include "process/process.h"
#include "util/rights.h"
#include "util/util.h"

#define STACK_BYTES (16u << 10)	/* of a holder, at least: a page may be larger */
#define BEGIN_MS 1000		/* until a holder waits: it takes a fraction of one */
#define END_MS 2000		/* for a killed holder: it gives back some 20 GiB in that time */
#define VAIN_MS 10000		/* spent on those that did not begin, or end: then none begins any more */
#define TRIES 8			/* of a process that gives back what was to be read */
#define CIRCLES_NS 10000000	/* of a CPU: more than any holder needs that waits */

struct keeper {
	int uffd;
	size_t page_bytes, stack_bytes;	/* a holder's, in whole pages */
	uint64_t vain_ms;	/* waited for holders that had not begun, or ended, by then */
};

/* Shared with the holder, who reads it alone. */
struct holder {
	pid_t pid, parent;
	int pidfd;
	int mem;
	uint64_t addr;		/* that it reads */
	char *page;		/* into which; before it is its stack */
};

/* Which program it is, by what the kernel gave it at its exec. */
struct program {
	uint64_t start_ticks;
	char *auxv;		/* owned; where things are, by chance */
	size_t auxv_bytes;
	uint64_t random_at;	/* a word of AT_RANDOM */
};

struct keeping {
	struct keeper *k;
	pid_t pid;
	struct memory memory;
	int maps;
	struct program program;
	struct holder holder, successor;	/* the second: while the first is replaced */
	char *maps_text;	/* owned; where the kernel cannot be asked by its memory: as told last */
	size_t maps_len;
	struct keeping *next;	/* of all */
};

static struct keeping *all;
static struct vec(struct holder) dying;	/* killed, and had not ended after END_MS */
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;	/* of both */

bool keeper__is_holder(pid_t pid)
{
	bool is = false;

	pthread_mutex_lock(&all_lock);
	for (const struct keeping *p = all; p && !is; p = p->next)
		is = p->holder.pid == pid || p->successor.pid == pid;
	for (size_t i = 0; i < dying.n && !is; i++)
		is = dying.v[i].pid == pid;
	pthread_mutex_unlock(&all_lock);
	return is;
}

static void list(struct keeping *p, bool in)
{
	struct keeping **at = &all;

	pthread_mutex_lock(&all_lock);
	while (*at && *at != p)
		at = &(*at)->next;
	if (in) {
		p->next = NULL;
		*at = p;
	} else if (*at) {
		*at = p->next;
	}
	pthread_mutex_unlock(&all_lock);
}

static int say_ended(pid_t pid, struct err *e)
{
	return err_set(e, -ESRCH, "process %d has ended", (int)pid);
}

/* ---- the means */

int keeper__new(struct keeper **ret, struct err *e)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct keeper *k = xcalloc(1, sizeof(*k));
	int err;

	k->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	k->stack_bytes = MAX(STACK_BYTES, k->page_bytes);
	k->uffd = (int)syscall(__NR_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	err = k->uffd < 0 || ioctl(k->uffd, UFFDIO_API, &api) ? -errno : 0;
	if (!err) {
		*ret = k;
		return 0;
	}
	keeper__free(k);
	if (err == -ENOSYS)
		return err_set(e, err, "memory cannot be kept past the end of its process: this kernel has no userfaultfd (CONFIG_USERFAULTFD)");
	if (err == -EPERM) {
		rights__refused(e, err, RIGHT_BIT(RIGHT_SYS_PTRACE), "memory cannot be kept past the end of its process");
		if (!right__held(RIGHT_SYS_PTRACE))
			err_hint(e, "with vm.unprivileged_userfaultfd=1 (sysctl) it can be");
		return err;
	}
	return err_set(e, err, "memory cannot be kept past the end of its process: userfaultfd: %s", strerror(-err));
}

void keeper__free(struct keeper *k)
{
	if (!k)
		return;
	if (k->uffd >= 0)
		close(k->uffd);
	free(k);
}

/* ---- the holder */

/*
 * It shares our memory, the calling thread's errno with it: what libc writes would be written there. So it makes its
 * calls by itself.
 */
static inline long call(long number, long a, long b, long c, long d)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	long ret = number;

	__asm__ volatile("syscall" : "+a"(ret) : "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
	return ret;
#else
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x1), "r"(x2), "r"(x3), "r"(x8) : "memory");
	return x0;
#endif
}

/* Its status is an errno, if the read returns. Other descriptors would outlive us for a moment, the userfaultfd's too. */
__attribute__((noinline, no_sanitize("address", "undefined"))) static int hold(void *arg)
{
	const struct holder *h = arg;
	long got;

	call(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0);
	if (call(__NR_getppid, 0, 0, 0, 0) != h->parent)
		return ESRCH;
	call(__NR_setsid, 0, 0, 0, 0);
	if (h->mem)
		call(__NR_close_range, 0, h->mem - 1, 0, 0);
	call(__NR_close_range, h->mem + 1, ~0u, 0, 0);
	got = call(__NR_pread64, h->mem, (long)h->page, sizeof(uint64_t), (long)h->addr);
	return got < 0 ? (int)-got : EIO;
}

/* Of one that has ended, or never began. */
static void clear_away(const struct keeper *k, struct holder *h)
{
	if (h->pid > 0) {
		waitpid(h->pid, NULL, WNOHANG | __WALL);
		close(h->pidfd);
	}
	if (h->page)
		munmap(h->page - k->stack_bytes, k->stack_bytes + k->page_bytes);
	*h = (struct holder){};
}

/* For poll(). */
static int ms_until(uint64_t until_ns)
{
	uint64_t now = now_ns();

	return until_ns > now ? (int)((until_ns - now + MS_NS - 1) / MS_NS) : 0;
}

static bool has_ended(const struct holder *h, uint64_t wait_ms)
{
	uint64_t until_ns = now_ns() + wait_ms * MS_NS;
	struct pollfd p = { .fd = h->pidfd, .events = POLLIN };
	int n;

	if (h->pid <= 0)
		return true;
	do
		n = poll(&p, 1, ms_until(until_ns));
	while (n < 0 && errno == EINTR && now_ns() < until_ns);
	return n > 0;
}

static void reap_dying(const struct keeper *k)
{
	pthread_mutex_lock(&all_lock);
	for (size_t i = dying.n; i-- > 0;)
		if (has_ended(&dying.v[i], 0)) {
			clear_away(k, &dying.v[i]);
			dying.v[i] = dying.v[--dying.n];
		}
	pthread_mutex_unlock(&all_lock);
}

/*
 * No signal ends a holder that waits for a FUSE server: to read a page, if the process has mapped
 * such a file in the place that was chosen; or to write back what the process wrote to such a file.
 * Until the holder has ended the kernel may write to its page, which stays mapped.
 */
static void end_holder(struct keeper *k, struct holder *h)
{
	uint64_t wait_ms = MIN((uint64_t)END_MS, VAIN_MS - k->vain_ms);

	reap_dying(k);
	if (h->pid > 0)
		kill(h->pid, SIGKILL);
	if (has_ended(h, wait_ms)) {
		clear_away(k, h);
		return;
	}
	k->vain_ms += wait_ms;
	pthread_mutex_lock(&all_lock);
	*vec_push(&dying) = *h;
	pthread_mutex_unlock(&all_lock);
	*h = (struct holder){};
}

/* 0: it waits. What others say that go round in circles is passed over. */
static int await_holder(struct keeper *k, const struct holder *h)
{
	struct pollfd fds[] = { { .fd = k->uffd, .events = POLLIN }, { .fd = h->pidfd, .events = POLLIN } };
	uint64_t wait_ms = MIN((uint64_t)BEGIN_MS, VAIN_MS - k->vain_ms);
	uint64_t until_ns = now_ns() + wait_ms * MS_NS;

	while (now_ns() < until_ns) {
		struct uffd_msg msg;
		siginfo_t info = {};

		if (poll(fds, ARRAY_SIZE(fds), ms_until(until_ns)) < 0 && errno != EINTR)
			return -errno;
		if (read(k->uffd, &msg, sizeof(msg)) == sizeof(msg) && msg.event == UFFD_EVENT_PAGEFAULT &&
		    msg.arg.pagefault.address - (uintptr_t)h->page < k->page_bytes)
			return 0;
		if (!waitid(P_PID, (id_t)h->pid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) && info.si_pid)
			return info.si_code == CLD_EXITED ? -info.si_status : -ECANCELED;
	}
	k->vain_ms += wait_ms;
	return -ETIMEDOUT;
}

static int begin_holder(struct keeper *k, int mem, uint64_t addr, struct holder *ret)
{
	struct uffdio_register missing = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct holder *h = ret;
	sigset_t every, before;
	char *at;
	int err;

	at = mmap(NULL, k->stack_bytes + k->page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return -errno;
	*h = (struct holder){ .pid = -1, .parent = getpid(), .pidfd = -1, .mem = mem, .addr = addr, .page = at + k->stack_bytes };
	missing.range = (struct uffdio_range){ (uintptr_t)h->page, k->page_bytes };
	if (ioctl(k->uffd, UFFDIO_REGISTER, &missing)) {
		err = -errno;
	} else {
		sigfillset(&every);
		pthread_sigmask(SIG_SETMASK, &every, &before);
		/* no signal at its end: who waits for any child does not meet it */
		h->pid = clone(hold, h->page, CLONE_VM | CLONE_PIDFD, h, &h->pidfd);
		err = h->pid < 0 ? -errno : 0;
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	if (!err)
		err = await_holder(k, h);
	if (err)
		end_holder(k, h);
	return err;
}

/* ---- which process, and which program of it */

static void program__done(struct program *p)
{
	free(p->auxv);
	*p = (struct program){};
}

static int program__read(pid_t pid, pid_t runner, struct program *ret)
{
	struct process_pulse pulse;
	struct program p = {};
	char path[64];
	int err = process__pulse(pid, &pulse);

	if (err)
		return err;
	p.start_ticks = pulse.start_ticks;
	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)runner);
	err = read_small_file(path, &p.auxv, &p.auxv_bytes);
	if (err)
		return err;
	for (size_t at = 0; at + 2 * sizeof(uint64_t) <= p.auxv_bytes; at += 2 * sizeof(uint64_t)) {
		uint64_t pair[2];

		memcpy(pair, p.auxv + at, sizeof(pair));
		/* of its 16 bytes, eight that are aligned */
		if (pair[0] == AT_RANDOM)
			p.random_at = (pair[1] + 7) / 8 * 8;
	}
	*ret = p;
	return 0;
}

static bool has_word(struct memory *m, uint64_t addr, uint64_t *ret)
{
	return memory__read(m, addr, ret, sizeof(*ret)) == sizeof(*ret);
}

/* Where places are not by chance (personality(2)), this one word still is. Where it is in no page, places alone decide. */
static bool has_same_random(struct keeping *p, pid_t runner)
{
	_cleanup_memory_ struct memory now = {};
	uint64_t here, there;

	if (memory__open(&now, runner))
		return false;
	return !has_word(&p->memory, p->program.random_at, &here) || !has_word(&now, p->program.random_at, &there) || there == here;
}

pid_t keeping__runner(struct keeping *p)
{
	pid_t runner = process__runner(p->pid);
	struct program now = {};
	bool is_same;

	if (!runner || program__read(p->pid, runner, &now))
		return 0;
	is_same = now.start_ticks == p->program.start_ticks && now.auxv_bytes == p->program.auxv_bytes &&
		  !memcmp(now.auxv, p->program.auxv, now.auxv_bytes) && has_same_random(p, runner);
	program__done(&now);
	return is_same ? runner : 0;
}

/* ---- what is kept */

static int open_all(struct keeping *p, struct err *e)
{
	pid_t runner = process__runner(p->pid);
	int err = runner ? program__read(p->pid, runner, &p->program) : -ESRCH;

	if (!err)
		err = memory__open(&p->memory, runner);
	if (!err)
		err = p->maps = process__open(runner, "maps", 0);
	if (err == -EACCES || err == -EPERM)
		return rights__refused(e, err, RIGHT_BIT(RIGHT_SYS_PTRACE),
				       "this user may not read the memory of process %d", (int)p->pid);
	if (err == -ENOENT || err == -ESRCH)
		return say_ended(p->pid, e);
	if (err < 0)
		return err_set(e, err, "process %d cannot be kept: %s", (int)p->pid, strerror(-err));
	/* each of them was opened by its number */
	return keeping__runner(p) ? 0 : err_set(e, -EAGAIN, "process %d has ended, or become another program, when it was to be kept", (int)p->pid);
}

/*
 * A place that can be read without a wait. What is there later does not matter. At the first instruction of a program nothing is there yet
 * but its stack, where the kernel has put its random bytes.
 */
static uint64_t find_place(struct keeping *p, const struct maps *maps)
{
	uint64_t word;

	for (size_t i = 0; i < maps->n; i++)
		if (maps->v[i].read && has_word(&p->memory, maps->v[i].start, &word))
			return maps->v[i].start;
	return p->program.random_at && has_word(&p->memory, p->program.random_at, &word) ? p->program.random_at : 0;
}

static int begin(struct keeping *p, struct holder *ret, struct err *e)
{
	int err = -EIO;

	if (p->k->vain_ms >= VAIN_MS)
		return err_set(e, -ETIMEDOUT,
			       "process %d cannot be kept: memory that does not answer has taken all the time that there is for it",
			       (int)p->pid);
	for (int i = 0; i < TRIES && (err == -EIO || err == -EFAULT); i++) {
		struct maps maps;
		uint64_t at;
		int r = keeping__maps(p, &maps, e);

		if (r)
			return r;
		at = find_place(p, &maps);
		maps__done(&maps);
		if (!at)
			return err_set(e, -ENODATA, "process %d cannot be kept: nothing of it is in memory", (int)p->pid);
		err = begin_holder(p->k, p->memory.mem, at, ret);
	}
	return err ? err_set(e, err, "process %d cannot be kept: %s", (int)p->pid, strerror(-err)) : 0;
}

int keeper__keep(struct keeper *k, pid_t pid, struct keeping **ret, struct err *e)
{
	struct keeping *p = xcalloc(1, sizeof(*p));
	int err;

	*p = (struct keeping){ .k = k, .pid = pid, .maps = -1 };
	list(p, true);
	err = open_all(p, e);
	if (!err)
		err = begin(p, &p->holder, e);
	if (err) {
		keeping__free(p);
		return err;
	}
	*ret = p;
	return 0;
}

void keeping__free(struct keeping *p)
{
	if (!p)
		return;
	end_holder(p->k, &p->holder);
	list(p, false);
	memory__close(&p->memory);
	cleanup_close(&p->maps);
	free(p->maps_text);
	program__done(&p->program);
	free(p);
}

static bool goes_in_circles(const struct holder *h)
{
	struct timespec spent;
	clockid_t clock;

	return !clock_getcpuclockid(h->pid, &clock) && !clock_gettime(clock, &spent) && (spent.tv_sec || spent.tv_nsec > CIRCLES_NS);
}

int keeping__tend(struct keeping *p, struct err *e)
{
	struct pollfd ended = { .fd = p->holder.pidfd, .events = POLLIN };
	struct holder was = p->holder;
	int err;

	if (poll(&ended, 1, 0) <= 0 && !goes_in_circles(&was))
		return 0;
	err = begin(p, &p->successor, e);
	if (err)
		return err;
	p->holder = p->successor;
	p->successor = (struct holder){};
	end_holder(p->k, &was);
	return 0;
}

pid_t keeping__pid(const struct keeping *p)
{
	return p->pid;
}

const struct memory *keeping__memory(const struct keeping *p)
{
	return &p->memory;
}

/* Of one that was waited for there is none: then the last one holds. */
static int read_text(struct keeping *p)
{
	char *text;
	size_t len;
	int err = lseek(p->maps, 0, SEEK_SET) ? -errno : read_small_fd(p->maps, &text, &len);

	if (err)
		return err == -ESRCH && p->maps_text ? 0 : err;
	free(p->maps_text);
	p->maps_text = text;
	p->maps_len = len;
	return 0;
}

int keeping__maps(struct keeping *p, struct maps *ret, struct err *e)
{
	/* for the tests: as kernels before 6.11 */
	bool has_text_alone = !strcmp(getenv("MALLOCTRACE_MAPPINGS") ?: "", "text");
	int err = has_text_alone ? -ENOTTY : maps__query(p->maps, SMALL_FILE_MAX, ret);

	if (err == -ENOTTY) {
		err = read_text(p);
		if (!err) {
			maps__parse(p->maps_text, p->maps_len, ret);
			return 0;
		}
	}
	if (err == -ESRCH)
		return say_ended(p->pid, e);
	return err ? err_set(e, err, "maps of process %d: %s", (int)p->pid, strerror(-err)) : 0;
}
