// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns perf events and their ring buffers, and the text of /proc/PID/maps while it reads it. What comes out is
 * sorted by address, every range is non-empty, and every path is a string of
 * its own. The paths are the target's choice: they are not cleaned here,
 * because they are also what is opened.
 */
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "process/maps.h"
#include "process/process.h"
#include "util/parse.h"
#include "util/rights.h"
#include "util/sorted.h"
#include "util/util.h"

#define COUNT_BYTES 65536

static bool take_char(const char **p, const char *end, char c)
{
	if (*p == end || **p != c)
		return false;
	(*p)++;
	return true;
}

/*
 * Of all characters the kernel escapes only the newline here, and it leaves
 * backslashes alone: \012 is undone, any other \ooo is part of the name.
 */
static char *unescape(const char *s, size_t len)
{
	char *path = xmalloc(len + 1), *out = path;
	size_t i = 0;

	while (i < len) {
		if (len - i >= 4 && !memcmp(s + i, "\\012", 4)) {
			*out++ = '\n';
			i += 4;
		} else {
			*out++ = s[i++];
		}
	}
	*out = 0;
	return path;
}

/* How much of it is the name. The first SysV segment of an IPC namespace has the inode 0. */
static size_t take_deleted(const char *name, size_t len, struct mapping *m)
{
	static const char gone[] = " (deleted)";

	m->deleted = len >= sizeof(gone) - 1 && *name == '/' && !memcmp(name + len - (sizeof(gone) - 1), gone, sizeof(gone) - 1);
	return m->deleted ? len - (sizeof(gone) - 1) : len;
}

/* A line, without its newline: all but deleted and path. *ret_name: where the name begins, escaped, up to end. False: there is no sense in it. */
static bool parse_line(const char *p, const char *end, struct mapping *m, const char **ret_name)
{
	uint64_t major, minor;

	if (!scan_number(&p, end, 16, &m->start) || !take_char(&p, end, '-') ||
	    !scan_number(&p, end, 16, &m->end) || !take_char(&p, end, ' ') || m->start >= m->end)
		return false;
	/* x86's [vsyscall] is the kernel's own page: no process maps it, PROCMAP_QUERY does not name it */
	if (m->start >> 63)
		return false;
	if (end - p < 5 || p[4] != ' ')
		return false;
	m->read = p[0] == 'r';
	m->write = p[1] == 'w';
	m->exec = p[2] == 'x';
	m->shared = p[3] == 's';
	p += 5;
	if (!scan_number(&p, end, 16, &m->file_off) || !take_char(&p, end, ' ') ||
	    !scan_number(&p, end, 16, &major) || !take_char(&p, end, ':') ||
	    !scan_number(&p, end, 16, &minor) || !take_char(&p, end, ' ') ||
	    !scan_number(&p, end, 10, &m->ino) || major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	m->dev_major = major;
	m->dev_minor = minor;
	if (p < end && *p != ' ')
		return false;
	while (p < end && *p == ' ')
		p++;
	*ret_name = p;
	return true;
}

COMPARATOR(by_start, struct mapping, ORDER(a->start, b->start))

void maps__parse(const char *text, size_t len, struct maps *ret)
{
	struct vec(struct mapping) all = { 0 };
	const char *end = text + len;
	bool sorted = true;

	while (text < end) {
		const char *nl = memchr(text, '\n', end - text);
		const char *stop = nl ? nl : end;
		struct mapping one = { 0 };
		const char *name;

		if (parse_line(text, stop, &one, &name)) {
			one.path = unescape(name, take_deleted(name, (size_t)(stop - name), &one));
			sorted = sorted && (!all.n || all.v[all.n - 1].start <= one.start);
			*vec_push(&all) = one;
		}
		text = stop + 1;
	}
	if (!sorted)
		vec_sort(&all, by_start);
	*ret = (struct maps){ all.v, all.n };
}

int maps__read(pid_t pid, struct maps *ret, struct err *e)
{
	_cleanup_free_ char *path = xasprintf("/proc/%d/maps", (int)pid), *text = NULL;
	size_t len;
	int r = read_small_file(path, &text, &len);

	if (r == -ENOENT || r == -ESRCH)
		return err_set(e, -ESRCH, "no process %d", (int)pid);
	if (r == -EACCES || r == -EPERM)
		return rights__refused(e, -EACCES, RIGHT_BIT(RIGHT_SYS_PTRACE),
				       "this user may not inspect process %d", (int)pid);
	if (r)
		return err_set(e, r, "%s: %s", path, strerror(-r));
	maps__parse(text, len, ret);
	return 0;
}

size_t maps__n_code(pid_t pid, size_t most)
{
	_cleanup_free_ char *buf = xmalloc(COUNT_BYTES);
	_cleanup_close_ int fd = process__open(pid, "maps", 0);
	size_t lines = 0, n = 0, column = 0;	/* the column counts from the first space on */
	ssize_t got;

	while (fd >= 0 && lines <= most && (got = read(fd, buf, COUNT_BYTES)) > 0)
		for (ssize_t i = 0; i < got; i++) {
			lines += buf[i] == '\n';
			n += column == 3 && buf[i] == 'x';
			column = buf[i] == '\n' ? 0 : column + (column || buf[i] == ' ');
		}
	return lines > most ? most : MIN(n, most);
}

/* ---- without text */

/* linux/fs.h, which may be older than that */
struct query {
	uint64_t size, flags, addr;
	uint64_t start, end, vma_flags, page_bytes, file_off, ino;
	uint32_t dev_major, dev_minor, name_bytes, build_id_bytes;
	uint64_t name, build_id;
};

#define QUERY _IOWR('f', 17, struct query)
#define QUERY_THIS_OR_NEXT 0x10
#define VMA_READ 1
#define VMA_WRITE 2
#define VMA_EXEC 4
#define VMA_SHARED 8

/* The first one that ends behind addr; name has PATH_MAX bytes. */
static int ask(int fd, uint64_t addr, struct query *q, char *name)
{
	int err;

	*name = 0;
	*q = (struct query){ .size = sizeof(*q), .flags = QUERY_THIS_OR_NEXT, .addr = addr, .name_bytes = PATH_MAX, .name = (uintptr_t)name };
	err = ioctl(fd, QUERY, q) ? -errno : 0;
	if (err != -ENAMETOOLONG)
		return err;
	*q = (struct query){ .size = sizeof(*q), .flags = QUERY_THIS_OR_NEXT, .addr = addr };
	return ioctl(fd, QUERY, q) ? -errno : 0;
}

int maps__query(int fd, size_t max_bytes, struct maps *ret)
{
	_cleanup_free_ char *name = xmalloc(PATH_MAX + 1);
	struct vec(struct mapping) all = { 0 };
	struct query q = {};
	size_t bytes = 0;
	int err;

	while (!(err = bytes > max_bytes ? -EFBIG : ask(fd, q.end, &q, name))) {
		struct mapping one = { .start = q.start, .end = q.end, .file_off = q.file_off, .dev_major = q.dev_major, .dev_minor = q.dev_minor,
				       .ino = q.ino, .read = q.vma_flags & VMA_READ, .write = q.vma_flags & VMA_WRITE,
				       .exec = q.vma_flags & VMA_EXEC, .shared = q.vma_flags & VMA_SHARED };

		name[PATH_MAX] = 0;
		one.path = xstrndup(name, take_deleted(name, strlen(name), &one));
		*vec_push(&all) = one;
		bytes += sizeof(one) + strlen(one.path);
	}
	/* behind the last one */
	if (err == -ENOENT) {
		*ret = (struct maps){ all.v, all.n };
		return 0;
	}
	maps__done(&(struct maps){ all.v, all.n });
	return err;
}

const struct mapping *maps__find(const struct maps *m, uint64_t addr)
{
	return sorted__range_of(m->v, m->n, addr);
}

bool mapping__is_same_file(const struct mapping *a, const struct mapping *b)
{
	return a->ino && a->ino == b->ino && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

bool mapping__is_file(const struct mapping *m, int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_ino == m->ino && st.st_dev == makedev(m->dev_major, m->dev_minor);
}

bool mapping__is_named(const struct mapping *m, int fd)
{
	static const char gone[] = " (deleted)";
	char link[64], path[PATH_MAX + sizeof(gone)];
	size_t name = strlen(m->path);
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	path[MAX(len, 0)] = 0;
	return len > 0 && !strncmp(path, m->path, name) &&
	       (!path[name] || !strcmp(path + name, gone));
}

bool mapping__is_memory(const struct mapping *m)
{
	static uint64_t known;	/* by __atomic builtins; 0: not yet */
	uint64_t dev = __atomic_load_n(&known, __ATOMIC_RELAXED);

	if (!dev) {
		_cleanup_close_ int fd = memfd_create("malloctrace", MFD_CLOEXEC);
		struct stat st;

		if (fd < 0 || fstat(fd, &st))
			return false;
		dev = st.st_dev;
		__atomic_store_n(&known, dev, __ATOMIC_RELAXED);
	}
	return dev == makedev(m->dev_major, m->dev_minor);
}

void maps__done(struct maps *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->v[i].path);
	free(m->v);
	*m = (struct maps){};
}

/* ---- as they are made */

/*
 * Records are handed on in the order of their times, whichever CPU they were made on: the ends of all rings are noted
 * before the first is read, so that nothing is reported before what a process did earlier on another CPU.
 */

/*
 * Without the header page; a power of two, also in pages, which have 4 to 64
 * KiB. Users may lock about half a MiB for each CPU, whatever their rights.
 */
#define RING_BYTES 65536u
/* where every process of the machine is watched; for users who may lock as much */
#define BIG_RING_BYTES (8 * RING_BYTES)
#define MAX_RECORD 8192u	/* a path has up to 4 KiB */

struct ring {
	int fd;
	struct perf_event_mmap_page *page;
	uint64_t head;		/* of the round at hand */
};

struct watch {
	struct vec(struct ring) rings;
	size_t page_size, ring_bytes;
	struct vec(struct watch_record) records;	/* of the round at hand */
};

static int open_on(struct watch *w, pid_t pid, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,	/* executable mappings only; */
		.mmap_data = pid != -1,	/* of malloctrace itself, all */
		.mmap2 = 1,
		.comm = 1,	/* of these, those that an exec makes: where the old mappings end */
		.comm_exec = 1,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	struct ring *r = vec_push(&w->rings);

	r->fd = syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (r->fd < 0) {
		w->rings.n--;
		return -errno;
	}
	r->page = mmap(NULL, w->page_size + w->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (r->page == MAP_FAILED) {
		r->page = NULL;
		return -errno;
	}
	return 0;
}

/* Debian and others have a value of it beyond the kernel's own, which stops also those with CAP_PERFMON. */
static int explain(struct err *e, int err)
{
	_cleanup_free_ char *text = NULL;
	uint64_t paranoid;

	if (err != -EACCES || read_small_file("/proc/sys/kernel/perf_event_paranoid", &text, NULL))
		return err_set(e, err, "%s", strerror(-err));
	text[strcspn(text, "\n")] = 0;
	if (parse_u64(text, 3, 9, &paranoid))
		return err_set(e, err, "%s", strerror(-err));
	return err_set(e, err,
		       "kernel.perf_event_paranoid is %s, which leaves perf events to root: sudo sysctl kernel.perf_event_paranoid=2",
		       text);
}

static void close_rings(struct watch *w)
{
	for (size_t i = 0; i < w->rings.n; i++) {
		if (w->rings.v[i].page)
			munmap(w->rings.v[i].page, w->page_size + w->ring_bytes);
		close(w->rings.v[i].fd);
	}
	vec_done(&w->rings);
}

static int open_rings(struct watch *w, size_t ring_bytes)
{
	long n_cpus = sysconf(_SC_NPROCESSORS_CONF);
	int err = 0;

	w->ring_bytes = ring_bytes;
	for (long cpu = 0; cpu < n_cpus && !err; cpu++) {
		err = open_on(w, -1, cpu);
		if (err == -ENODEV)	/* a CPU that is switched off */
			err = 0;
	}
	if (err)
		close_rings(w);
	return err;
}

int watch__open(bool all_processes, struct watch **ret, struct err *e)
{
	struct watch *w = xcalloc(1, sizeof(*w));
	int err;

	w->page_size = sysconf(_SC_PAGESIZE);
	err = open_rings(w, all_processes ? BIG_RING_BYTES : RING_BYTES);
	if (err && all_processes)
		err = open_rings(w, RING_BYTES);
	if (err) {
		free(w);
		return explain(e, err);
	}
	*ret = w;
	return 0;
}

static void forget_records(struct watch *w)
{
	for (size_t i = 0; i < w->records.n; i++)
		free(w->records.v[i].map.path);
	w->records.n = 0;
}

void watch__close(struct watch *w)
{
	if (!w)
		return;
	close_rings(w);
	forget_records(w);
	vec_done(&w->records);
	free(w);
}

size_t watch__n_fds(const struct watch *w)
{
	return w->rings.n;
}

int watch__fd(const struct watch *w, size_t i)
{
	return w->rings.v[i].fd;
}

/* A record may wrap around the end of the ring. */
static void copy_out(const struct watch *w, const struct ring *r, uint64_t at, void *to, size_t len)
{
	const unsigned char *data = (const unsigned char *)r->page + w->page_size;
	size_t from = at & (w->ring_bytes - 1), first = MIN(len, w->ring_bytes - from);

	memcpy(to, data + from, first);
	memcpy((unsigned char *)to + first, data, len - first);
}

struct mmap2 {			/* as perf_event_open(2) has it */
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, len, file_off;
	uint32_t dev_major, dev_minor;
	uint64_t ino, ino_generation;
	uint32_t prot, flags;
	char path[];
};

/* The kernel's names, as /proc/PID/maps would have them. */
static void take_path(const struct mmap2 *from, size_t room, struct mapping *m)
{
	size_t len = take_deleted(from->path, strnlen(from->path, room), m);

	/* "//anon", "//toolong" */
	m->path = from->path[0] == '/' && from->path[1] == '/' ? xstrdup("") : xstrndup(from->path, len);
}

static void take_record(struct watch *w, const struct perf_event_header *h)
{
	const size_t tail = sizeof(uint64_t);	/* the time, after all else */
	struct watch_record *r;
	uint64_t t_ns;
	uint32_t pid;

	if (h->type == PERF_RECORD_LOST) {
		vec_push(&w->records)->kind = WATCH_LOST;
		return;
	}
	if (h->type == PERF_RECORD_COMM && !(h->misc & PERF_RECORD_MISC_COMM_EXEC))
		return;
	if ((h->type != PERF_RECORD_COMM && h->type != PERF_RECORD_MMAP2) || h->size < sizeof(*h) + sizeof(pid) + tail)
		return;
	memcpy(&pid, h + 1, sizeof(pid));
	memcpy(&t_ns, (const char *)h + h->size - tail, sizeof(t_ns));
	r = vec_push(&w->records);
	r->pid = pid;
	r->t_ns = t_ns;
	r->kind = WATCH_EXEC;
	if (h->type == PERF_RECORD_MMAP2) {
		const struct mmap2 *m = (const void *)h;

		if (h->size < sizeof(*m) + tail || m->len > UINT64_MAX - m->addr || !m->len) {
			w->records.n--;
			return;
		}
		r->kind = WATCH_MAPPED;
		r->map = (struct mapping){ .start = m->addr, .end = m->addr + m->len, .file_off = m->file_off, .dev_major = m->dev_major,
					   .dev_minor = m->dev_minor, .ino = m->ino, .exec = m->prot & PROT_EXEC,
					   .write = m->prot & PROT_WRITE, .recorded = true };
		take_path(m, h->size - sizeof(*m) - tail, &r->map);
	}
}

static void read_ring(struct watch *w, struct ring *r)
{
	union {
		struct perf_event_header header;
		unsigned char bytes[MAX_RECORD];
	} record;
	uint64_t tail = r->page->data_tail;

	while (tail < r->head) {
		struct perf_event_header header;

		copy_out(w, r, tail, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > r->head - tail)
			break;
		if (header.size <= sizeof(record)) {
			copy_out(w, r, tail, &record, header.size);
			take_record(w, &record.header);
		}
		tail += header.size;
	}
	__atomic_store_n(&r->page->data_tail, r->head, __ATOMIC_RELEASE);
}

/* A record without a time reports a loss, which comes before all: what follows is handled differently. */
COMPARATOR(by_time, struct watch_record, ORDER(a->t_ns, b->t_ns) ?: ORDER(a->seq, b->seq))

void watch__read(struct watch *w, watch_fn fn, void *arg)
{
	for (size_t i = 0; i < w->rings.n; i++)
		w->rings.v[i].head = __atomic_load_n(&w->rings.v[i].page->data_head, __ATOMIC_ACQUIRE);
	for (size_t i = 0; i < w->rings.n; i++)
		read_ring(w, &w->rings.v[i]);
	for (size_t i = 0; i < w->records.n; i++)
		w->records.v[i].seq = i;
	vec_sort(&w->records, by_time);
	for (size_t i = 0; i < w->records.n; i++)
		fn(&w->records.v[i], arg);
	forget_records(w);
}

/* ---- which file is mapped */

struct check {
	const struct mapping *m;
	uint64_t at;		/* of a page of the same file, if it is the same */
	bool is_same;
};

static void check_record(const struct watch_record *r, void *arg)
{
	struct check *c = arg;

	c->is_same |= r->kind == WATCH_MAPPED && c->at - r->map.start < r->map.end - r->map.start &&
		      mapping__is_same_file(c->m, &r->map);
}

static int check_list(struct check *c)
{
	const struct mapping *own;
	struct maps maps;
	int err = maps__read(getpid(), &maps, NULL);

	if (err)
		return err;
	own = maps__find(&maps, c->at);
	c->is_same = own && mapping__is_same_file(c->m, own);
	maps__done(&maps);
	return 0;
}

int mapping__verify(const struct mapping *m, int fd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct watch w = { .page_size = page, .ring_bytes = MAX(page, (size_t)MAX_RECORD) };
	int err = m->recorded ? open_on(&w, 0, -1) : 0;
	/* nobody may touch it */
	void *p = err ? MAP_FAILED : mmap(NULL, page, PROT_NONE, MAP_PRIVATE, fd, 0);
	struct check c = { .m = m, .at = (uintptr_t)p };

	if (p == MAP_FAILED) {
		err = err ?: -errno;
	} else {
		if (m->recorded)
			watch__read(&w, check_record, &c);
		else
			err = check_list(&c);
		munmap(p, page);
	}
	close_rings(&w);
	vec_done(&w.records);
	return err ?: c.is_same ? 0 : -ESTALE;
}
