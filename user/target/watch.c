// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the events and their ring buffers. */
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "target/watch.h"
#include "util/parse.h"
#include "util/util.h"

/*
 * Without the header page; a power of two, also in pages, which have 4 to 64
 * KiB. Users may lock about half a MiB for each CPU, whatever their rights.
 */
#define RING_BYTES 65536u

struct ring {
	int fd;
	struct perf_event_mmap_page *page;
};

struct watch {
	struct vec(struct ring) rings;
	size_t page_size;
};

static int open_on(struct watch *w, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,	/* executable mappings only */
		.mmap2 = 1,
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	struct ring *r = vec_push(&w->rings);

	if (!r)
		return -ENOMEM;
	r->fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (r->fd < 0) {
		w->rings.n--;
		return -errno;
	}
	r->page = mmap(NULL, w->page_size + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
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
	return err_set(e, err, "kernel.perf_event_paranoid is %s, which leaves perf events to root: sudo sysctl kernel.perf_event_paranoid=2",
		       text);
}

int watch__open(struct watch **ret, struct err *e)
{
	struct watch *w = calloc(1, sizeof(*w));
	long n_cpus = sysconf(_SC_NPROCESSORS_CONF);

	if (!w)
		return err_set(e, -ENOMEM, "out of memory");
	w->page_size = sysconf(_SC_PAGESIZE);
	for (long cpu = 0; cpu < n_cpus; cpu++) {
		int err = open_on(w, cpu);

		if (err && err != -ENODEV) {	/* a CPU that is switched off */
			watch__close(w);
			return explain(e, err);
		}
	}
	*ret = w;
	return 0;
}

void watch__close(struct watch *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->rings.n; i++) {
		if (w->rings.v[i].page)
			munmap(w->rings.v[i].page, w->page_size + RING_BYTES);
		close(w->rings.v[i].fd);
	}
	vec_done(&w->rings);
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

/* A record may wrap around the end of the ring: only its first 16 bytes are needed. */
static void copy_out(const struct watch *w, const struct ring *r, uint64_t at, void *to, size_t len)
{
	const unsigned char *data = (const unsigned char *)r->page + w->page_size;
	size_t size = RING_BYTES;

	for (size_t i = 0; i < len; i++)
		((unsigned char *)to)[i] = data[(at + i) & (size - 1)];
}

static void read_ring(struct watch *w, struct ring *r, void (*fn)(pid_t pid, void *arg), void *arg)
{
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE), tail = r->page->data_tail;

	while (tail < head) {
		struct {
			struct perf_event_header header;
			uint32_t pid, tid;
		} record;

		copy_out(w, r, tail, &record, sizeof(record));
		if (record.header.size < sizeof(record.header))
			break;
		if (record.header.type == PERF_RECORD_MMAP2 || record.header.type == PERF_RECORD_MMAP)
			fn(record.pid, arg);
		else if (record.header.type == PERF_RECORD_LOST)
			fn(0, arg);
		tail += record.header.size;
	}
	__atomic_store_n(&r->page->data_tail, head, __ATOMIC_RELEASE);
}

void watch__read(struct watch *w, void (*fn)(pid_t pid, void *arg), void *arg)
{
	for (size_t i = 0; i < w->rings.n; i++)
		read_ring(w, &w->rings.v[i], fn, arg);
}
