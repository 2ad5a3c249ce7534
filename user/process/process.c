// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing but what it returns. All names leave here clean. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "process/containers.h"
#include "process/keeper.h"
#include "process/process.h"
#include "reader/reader.h"
#include "util/parse.h"
#include "util/rights.h"

int process__file(pid_t pid, const char *what, char **ret)
{
	_cleanup_close_ int fd = process__open(pid, what, 0);

	return fd < 0 ? fd : read_small_fd(fd, ret, NULL);
}

int process__open(pid_t pid, const char *what, int flags)
{
	char path[64];
	int fd;

	if (snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, flags | O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static struct pids open_pids(const char *path)
{
	DIR *dir = opendir(path);

	return (struct pids){ dir, dir ? 0 : -errno };
}

struct pids pids__of_all(void)
{
	return open_pids("/proc");
}

struct pids pids__of_threads(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	return open_pids(path);
}

pid_t pids__next(struct pids *p)
{
	struct dirent *d;
	uint64_t pid;

	while (p->dir && (errno = 0, d = readdir(p->dir)))
		if (!parse_u64(d->d_name, 1, INT32_MAX, &pid))
			return (pid_t)pid;
	if (p->dir)
		p->err = -errno;
	return 0;
}

pid_t pids__next_other(struct pids *p)
{
	pid_t pid;

	while ((pid = pids__next(p)) && (process__is_own(pid) || !process__has_memory(pid)))
		;
	return pid;
}

void pids__done(struct pids *p)
{
	if (p->dir)
		closedir(p->dir);
}

/* Fields of /proc/PID/stat after the name, which may hold spaces and parentheses itself. */
struct stat_fields {
	char state;
	pid_t ppid;
	uint64_t flags, utime, stime, start_ticks;
	uint64_t rss_pages;	/* as of a moment ago */
};

#define PF_EXITING 0x00000004
#define PF_KTHREAD 0x00200000

static int read_stat(pid_t pid, struct stat_fields *ret)
{
	_cleanup_free_ char *text = NULL;
	unsigned long long flags, utime, stime, start, rss;
	char *p, state;
	int ppid, err = process__file(pid, "stat", &text);

	if (err)
		return err;
	p = strrchr(text, ')');
	if (!p || sscanf(p + 1,
			 " %c %d %*d %*d %*d %*d %llu %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d %llu %*u %llu",
			 &state, &ppid, &flags, &utime, &stime, &start, &rss) != 7)
		return -EINVAL;
	*ret = (struct stat_fields){ state, ppid, flags, utime, stime, start, rss };
	return 0;
}

static bool has_ended(const struct stat_fields *s)
{
	return s->flags & PF_EXITING || s->state == 'Z' || s->state == 'X';
}

char process__state(pid_t tid)
{
	struct stat_fields s;

	return read_stat(tid, &s) ? 'X' : s.state;
}

pid_t process__runner(pid_t pid)
{
	_cleanup_pids_ struct pids threads = {};
	struct stat_fields s;
	pid_t tid;

	if (read_stat(pid, &s))
		return 0;
	if (!has_ended(&s))
		return pid;
	threads = pids__of_threads(pid);
	while ((tid = pids__next(&threads)) && (read_stat(tid, &s) || has_ended(&s)))
		;
	return tid;
}

static char *read_name(pid_t pid, const char *what)
{
	_cleanup_free_ char *text = NULL;

	if (process__file(pid, what, &text))
		return xstrdup("");
	text[strcspn(text, "\n")] = 0;
	clean_name(text);
	/* without the room that was read into: of thousands of processes it is kept */
	return xstrdup(text);
}

char *process__exe(pid_t pid)
{
	char path[64], exe[PATH_MAX + 1];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	len = readlink(path, exe, PATH_MAX);
	exe[len > 0 ? len : 0] = 0;
	clean_name(exe);
	return xstrdup(exe);
}

/*
 * In version 1 a task that is about to end is in "/", as far as the kernel shows:
 * whether it was so is checked afterwards.
 */
static int cgroups_of_task(pid_t tid, char **ret)
{
	_cleanup_free_ char *text = NULL;
	struct stat_fields s;
	int err = process__file(tid, "cgroup", &text);

	if (!err && (read_stat(tid, &s) || has_ended(&s)))
		err = -ESRCH;
	if (err)
		return err;
	*ret = text;
	text = NULL;
	return 0;
}

int process__cgroups(pid_t pid, char **ret)
{
	int err = cgroups_of_task(pid, ret);

	if (err == -ESRCH)
		pid = process__runner(pid);
	return err == -ESRCH && pid ? cgroups_of_task(pid, ret) : err;
}

/* The unified hierarchy's path, or the one that systemd or the memory controller uses. */
static char *read_cgroup(pid_t pid)
{
	_cleanup_free_ char *text = NULL;
	char *line, *save = NULL, *found = NULL;

	if (process__cgroups(pid, &text))
		return NULL;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
		bool unified = !strncmp(line, "0::", 3);

		if (!path || (!unified && !strstr(controllers, "name=systemd") && !strstr(controllers, "memory")))
			continue;
		/* on a machine with both, the one that says more than "/" */
		if (!found || !strcmp(found, "/")) {
			free(found);
			found = xstrdup(path + 1);
		}
	}
	if (found) {
		clean_name(found);
		cgroup__from_above(found);
	}
	return found;
}

/* What the path says, and who the pod is. */
static void recognise(struct process *p)
{
	struct cgroup_place place = {};

	if (p->cgroup)
		cgroup__recognise(p->cgroup, &place);
	free(p->container);
	free(p->pod);
	free(p->unit);
	p->container = place.container;
	p->pod = place.pod ? pod_names__get(place.pod) : NULL;
	p->unit = place.unit;
	free(place.pod);
}

static uint64_t age_of(const struct stat_fields *s)
{
	uint64_t hz = sysconf(_SC_CLK_TCK), start_ns = s->start_ticks * (SECOND_NS / hz), now = clock_ns(CLOCK_BOOTTIME);

	return now > start_ns ? now - start_ns : 0;
}

static int may_inspect(pid_t pid, const struct process *p, struct err *e)
{
	char path[64];

	/*
	 * of another user without the right, maps can be opened but not read: the link needs the
	 * same right and says so
	 */
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (readlink(path, (char[2]){}, 1) >= 0 || (errno != EACCES && errno != EPERM))
		return 0;
	if (p->uid == geteuid())
		return rights__refused(e, -EACCES, RIGHT_BIT(RIGHT_SYS_PTRACE),
				       "%s (%d) may not be inspected (its file is unreadable, or it changed its privileges)",
				       p->comm, (int)pid);
	return rights__refused(e, -EACCES, RIGHT_BIT(RIGHT_SYS_PTRACE),
			       "%s (%d) belongs to uid %u and this user may not inspect it", p->comm, (int)pid, p->uid);
}

/* By the text of status, which has one number for each namespace from ours on. 0: it is in ours */
static pid_t own_number(const char *status)
{
	const char *line = strstr(status, "\nNSpid:\t");
	int n = 0, first = 0;
	pid_t own;

	if (!line)
		return 0;
	line += strlen("\nNSpid:");
	for (; *line == '\t' && sscanf(line, "\t%d%n", &own, &n) == 1; line += n)
		first++;
	return first > 1 ? own : 0;
}

int process__ids(pid_t pid, uid_t *ret_uid, pid_t *ret_own_pid)
{
	_cleanup_free_ char *text = NULL;
	int err = process__file(pid, "status", &text);
	const char *line = err ? NULL : strstr(text, "\nUid:");
	unsigned int real, effective;

	if (!line || sscanf(line + 5, "%u %u", &real, &effective) != 2)
		return err ?: -EBADMSG;
	*ret_uid = effective;
	*ret_own_pid = own_number(text) ?: pid;
	return 0;
}

int process__own_tid(pid_t tid, pid_t *ret)
{
	_cleanup_free_ char *text = NULL;
	int err = process__file(tid, "status", &text);

	if (!err)
		*ret = own_number(text);
	return err;
}

int process__look(pid_t pid, struct process *ret, struct err *e)
{
	struct process p = { .pid = pid, .pidfd = -1 };
	struct stat_fields stat;
	int err = read_stat(pid, &stat);
	pid_t tid = pid, own_pid;

	if (err == -ENOENT && kill(pid, 0) && errno == EPERM)
		return rights__refused(e, -EACCES, RIGHT_BIT(RIGHT_SYS_PTRACE),
				       "process %d is hidden from this user (/proc is mounted with hidepid)", (int)pid);
	if (err == -ENOENT || err == -ESRCH)
		return err_set(e, -ESRCH, "no process %d", (int)pid);
	if (err)
		return err_set(e, err, "process %d: cannot read /proc/%d/stat: %s", (int)pid, (int)pid, strerror(-err));
	p.comm = read_name(pid, "comm");
	/* of a process that may not be inspected, /proc shows only that its files belong to root */
	if (!process__ids(pid, &p.uid, &own_pid) && own_pid != pid)
		p.ns_pid = own_pid;
	if (stat.flags & PF_KTHREAD) {
		err = err_set(e, -EINVAL, "'%s' (%d) is a kernel thread: it has no allocator", p.comm, (int)pid);
		goto fail;
	}
	if (has_ended(&stat)) {
		tid = process__runner(pid);
		p.is_headless = true;
	}
	if (!tid) {
		err = err_set(e, -ESRCH, "'%s' (%d) has ended and waits for its parent (a zombie)", p.comm, (int)pid);
		goto fail;
	}
	err = may_inspect(tid, &p, e);
	if (err)
		goto fail;
	p.exe = process__exe(tid);
	p.cgroup = read_cgroup(pid);
	recognise(&p);
	p.age_ns = age_of(&stat);
	p.start_ticks = stat.start_ticks;
	*ret = p;
	return 0;
fail:
	process__done(&p);
	return err;
}

int process__read(pid_t pid, struct process *ret, struct err *e)
{
	struct process p;
	int err = process__look(pid, &p, e);

	if (err)
		return err;
	p.pidfd = syscall(SYS_pidfd_open, pid, 0);
	if (p.pidfd < 0) {
		/* a thread: EINVAL, and from 6.16 on ENOENT */
		err = errno == EINVAL || errno == ENOENT ? err_set(e, -EINVAL, "%d is a thread, not a process: name its process", (int)pid) :
					err_set(e, -errno, "process %d: %s", (int)pid, strerror(errno));
		process__done(&p);
		return err;
	}
	*ret = p;
	return 0;
}

bool process__has_memory(pid_t pid)
{
	struct stat_fields s;

	return !read_stat(pid, &s) && !(s.flags & PF_KTHREAD) && (!has_ended(&s) || process__runner(pid));
}

bool process__is_own(pid_t pid)
{
	pid_t parent;

	return pid == getpid() || keeper__is_holder(pid) || readers__own(pid, &parent) || (parent && process__parent(pid) == parent);
}

uid_t process__owner(pid_t pid)
{
	struct stat st;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return stat(path, &st) ? (uid_t)-1 : st.st_uid;
}

pid_t process__parent(pid_t pid)
{
	struct stat_fields s;

	return read_stat(pid, &s) ? 0 : s.ppid;
}

#ifndef PF_FORKNOEXEC
#define PF_FORKNOEXEC 0x40
#endif
#define CLOCKS_NS SECOND_NS	/* file systems keep times of a tick, or of a second */

uint64_t process__program_began_ns(pid_t pid)
{
	uint64_t booted_ns = wall_ns() - clock_ns(CLOCK_BOOTTIME), since_ns;
	struct stat_fields s;

	if (read_stat(pid, &s))
		return 0;
	since_ns = s.flags & PF_FORKNOEXEC ? 0 : s.start_ticks * (SECOND_NS / (uint64_t)sysconf(_SC_CLK_TCK));
	return booted_ns + since_ns - CLOCKS_NS;
}

bool process__is(pid_t pid, uint64_t start_ticks)
{
	struct stat_fields s;

	return !read_stat(pid, &s) && s.start_ticks == start_ticks && (!has_ended(&s) || process__runner(pid));
}

static char *copy(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

void process__copy(const struct process *from, pid_t pid, struct process *ret)
{
	*ret = (struct process){
		.pid = pid,
		.comm = copy(from->comm),
		.exe = copy(from->exe),
		.cgroup = copy(from->cgroup),
		.container = copy(from->container),
		.pod = copy(from->pod),
		.unit = copy(from->unit),
		.uid = from->uid,
		.pidfd = -1,
	};
}

bool process__read_cgroup(struct process *p)
{
	char *path = read_cgroup(p->pid);

	/* one that has ended keeps what it had */
	if (!path || (p->cgroup && !strcmp(path, p->cgroup))) {
		free(path);
		return false;
	}
	free(p->cgroup);
	p->cgroup = path;
	recognise(p);
	return true;
}

void process__set_exe(struct process *p)
{
	free(p->exe);
	p->exe = process__exe(p->pid);
}

void process__done(struct process *p)
{
	free(p->comm);
	free(p->exe);
	free(p->cgroup);
	free(p->container);
	free(p->pod);
	free(p->unit);
	if (p->pidfd >= 0)
		close(p->pidfd);
	*p = (struct process){ .pidfd = -1 };
}

uint64_t process__rss_bytes(pid_t pid)
{
	_cleanup_free_ char *text = NULL, *again = NULL;
	unsigned long long pages;

	if (process__file(pid, "statm", &text) || sscanf(text, "%*u %llu", &pages) != 1)
		return 0;
	/* its first thread has no memory any more; others may */
	if (!pages) {
		pid = process__runner(pid);
		if (!pid || process__file(pid, "statm", &again) || sscanf(again, "%*u %llu", &pages) != 1)
			return 0;
	}
	return pages * sysconf(_SC_PAGESIZE);
}

bool process_use__parse(const char *text, struct process_use *ret)
{
	*ret = (struct process_use){ bytes_of_line(text, "VmRSS:"), bytes_of_line(text, "RssFile:"), bytes_of_line(text, "RssShmem:"),
				      bytes_of_line(text, "VmSwap:"), bytes_of_line(text, "HugetlbPages:"), bytes_of_line(text, "VmPTE:") };
	return ret->rss_bytes || ret->swap_bytes || ret->hugetlb_bytes;
}

static bool read_use(pid_t pid, struct process_use *ret)
{
	_cleanup_free_ char *text = NULL;

	return pid && !process__file(pid, "status", &text) && process_use__parse(text, ret);
}

struct process_use process__use(pid_t pid)
{
	struct process_use u = {};

	/* its first thread may have ended before the others */
	return read_use(pid, &u) || read_use(process__runner(pid), &u) ? u : (struct process_use){};
}

uint64_t process__most_rss_bytes(pid_t pid)
{
	_cleanup_free_ char *text = NULL;

	return process__file(pid, "status", &text) ? 0 : bytes_of_line(text, "VmHWM:");
}

/* Not of /proc/PID/stat, which has ticks: one that sleeps most of the time takes none for seconds. */
uint64_t process__cpu_ns(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	return clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t) ? 0 : timespec_ns(t);
}

bool machine__boot_id(char ret[static BOOT_ID_MAX])
{
	_cleanup_free_ char *text = NULL;

	*ret = 0;
	if (read_small_file("/proc/sys/kernel/random/boot_id", &text, NULL))
		return false;
	snprintf(ret, BOOT_ID_MAX, "%.*s", (int)strcspn(text, "\n"), text);
	return *ret;
}

uint64_t machine__cpu_ns(void)
{
	_cleanup_free_ char *text = NULL;
	unsigned long long user, nice, system;

	if (read_small_file("/proc/stat", &text, NULL) || sscanf(text, "cpu %llu %llu %llu", &user, &nice, &system) != 3)
		return 0;
	return (user + nice + system) * (SECOND_NS / (uint64_t)sysconf(_SC_CLK_TCK));
}

int process__pulse(pid_t pid, struct process_pulse *ret)
{
	struct stat_fields s;
	int err = read_stat(pid, &s);

	if (err)
		return err;
	if (has_ended(&s) || s.flags & PF_KTHREAD)
		return -ESRCH;
	*ret = (struct process_pulse){ s.ppid, s.start_ticks, age_of(&s), (s.utime + s.stime) * (SECOND_NS / (uint64_t)sysconf(_SC_CLK_TCK)), s.rss_pages * (uint64_t)sysconf(_SC_PAGESIZE) };
	return 0;
}

int process__thread_comm(pid_t pid, pid_t tid, char buf[static 32])
{
	_cleanup_free_ char *text = NULL;
	char what[32];
	int err;

	buf[0] = 0;
	snprintf(what, sizeof(what), "task/%d/comm", (int)tid);
	err = process__file(pid, what, &text);
	if (err)
		return err;
	text[strcspn(text, "\n")] = 0;
	snprintf(buf, 32, "%s", text);
	clean_name(buf);
	return 0;
}

/* ---- the machine's memory */

uint64_t bytes_of_line(const char *text, const char *name)
{
	size_t len = strlen(name);
	unsigned long long kib;

	for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (!strncmp(line, name, len))
			return sscanf(line + len, " %19llu kB", &kib) == 1 && kib <= UINT64_MAX >> 10 ? kib << 10 : 0;
	return 0;
}

void meminfo__parse(const char *text, struct meminfo *ret)
{
	*ret = (struct meminfo){
		.total_bytes = bytes_of_line(text, "MemTotal:"),
		.available_bytes = bytes_of_line(text, "MemAvailable:"),
		.free_bytes = bytes_of_line(text, "MemFree:"),
		.swap_bytes = bytes_of_line(text, "SwapTotal:"),
		.swap_free_bytes = bytes_of_line(text, "SwapFree:"),
	};
}

void meminfo__read(struct meminfo *ret)
{
	_cleanup_free_ char *text = NULL;

	if (read_small_file("/proc/meminfo", &text, NULL))
		text = NULL;
	meminfo__parse(text ? text : "", ret);
}
