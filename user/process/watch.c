// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the events and their ring buffers. Records are handed on in the order of
 * their times, whichever CPU they were made on: the ends of all rings are noted
 * before the first is read, so that nothing is reported before what a process did
 * earlier on another CPU.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "process/watch.h"
#include "util/parse.h"
#include "util/util.h"

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

static int open_on(struct watch *w, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,	/* executable mappings only */
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

	r->fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
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
		err = open_on(w, cpu);
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
static char *path_of(const struct mmap2 *m, size_t room, bool *ret_deleted)
{
	static const char gone[] = " (deleted)";
	size_t len = strnlen(m->path, room), end = sizeof(gone) - 1;

	if (m->path[0] == '/' && len >= end && !memcmp(m->path + len - end, gone, end)) {
		*ret_deleted = true;
		len -= end;
	}
	/* "//anon", "//toolong" */
	return m->path[0] == '/' && m->path[1] == '/' ? xstrdup("") : xstrndup(m->path, len);
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
		r->map.path = path_of(m, h->size - sizeof(*m) - tail, &r->map.deleted);
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
	if (w->records.n)
		qsort(w->records.v, w->records.n, sizeof(*w->records.v), by_time);
	for (size_t i = 0; i < w->records.n; i++)
		fn(&w->records.v[i], arg);
	forget_records(w);
}
