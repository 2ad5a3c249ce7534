// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the buffers that memory of a process is read into. They are small enough to stay in a processor's own cache. */
#include "heap/reach_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "heap/glibc_parts.h"
#include "process/mounts.h"
#include "process/process.h"

/* Of files and shared memory that the process does not map, as much is read in each scan: others may have filled gigabytes of it. */
#define FILE_BYTES_MAX (256ull << 20)
/* From this on it is first looked for pages that are there. */
#define LARGE_BYTES (1ull << 20)
/* What is less is read as zeros, because that is done sooner than another call of the kernel. */
#define HOLE_BYTES (16u * 1024)

void search__init(struct search *s, struct target *t)
{
	*s = (struct search){ .t = t, .files_left = FILE_BYTES_MAX, .began_ns = process__program_began_ns(t->pid) };
	s->words = aligned_alloc(64, SEARCH_WINDOW_BYTES) ?: (xmalloc__end_of(SEARCH_WINDOW_BYTES), NULL);
	s->found = xcalloc(SEARCH_WINDOW_BYTES / sizeof(uint64_t), sizeof(*s->found));
}

void search__done(struct search *s)
{
	free(s->words);
	free(s->found);
	free(s->mounts);
	free(s->own_mounts);
	mounts__let_go();
	*s = (struct search){};
}

void search__begin(struct search *s, const char *what, double part, double part_end, uint64_t of_bytes)
{
	snprintf(s->what, sizeof(s->what), "%s", what);
	s->part = part;
	s->part_end = part_end;
	s->bytes = 0;
	s->of_bytes = of_bytes;
	s->files_left = FILE_BYTES_MAX;
	page_runs__begin(s->t);
}

/* The same words once more, as pointers to headers. They are not needed any more after this. */
static size_t find_headers(struct search *s, const struct block_index *x, size_t n_words)
{
	size_t n, n_kept = 0;

	for (size_t i = 0; i < n_words; i++)
		s->words[i] = untagged(s->words[i]) + CHUNK_HEADER;
	n = block_index__pointers(x, s->words, n_words, s->found);
	for (size_t i = 0; i < n; i++)
		if (s->found[i].block != NO_BLOCK && x->blocks[s->found[i].block].addr == s->words[s->found[i].word])
			s->found[n_kept++] = s->found[i];
	return n_kept;
}

/* Calls fn if one of the words that were read from addr on, n bytes, points into a block of x. */
static void search__words(struct search *s, const struct block_index *x, uint64_t addr, size_t n, window_fn fn, void *arg)
{
	size_t n_found = block_index__pointers(x, s->words, n / sizeof(uint64_t), s->found);

	if (n_found)
		fn(addr, s->found, n_found, arg);
	if (s->headers && (n_found = find_headers(s, x, n / sizeof(uint64_t))))
		fn(addr, s->found, n_found, arg);
}

/* start and end are aligned to words */
static int search_densely(struct search *s, const struct block_index *x, uint64_t start, uint64_t end, window_fn fn, void *arg)
{
	while (start < end) {
		size_t n = MIN(end - start, SEARCH_WINDOW_BYTES);
		size_t n_there;

		s->bytes += n;
		if (target__go_on(s->t, s->what,
				  s->part + (s->part_end - s->part) * (s->of_bytes ? MIN(1.0, (double)s->bytes / s->of_bytes) : 0)))
			return -EINTR;
		n_there = memory__read_present(&s->t->memory, start, s->words, n);
		s->present_bytes += n_there;
		if (n_there)
			search__words(s, x, start, n, fn, arg);
		start += n;
	}
	return 0;
}

/* Runs of pages that are there, together with small holes. They are read soon after they were met: who runs touches others. */
static int search_sparsely(struct search *s, const struct block_index *x, uint64_t start, uint64_t end, window_fn fn, void *arg)
{
	struct page_runs runs = { .t = s->t, .at = start, .end = end };
	uint64_t from = start, until = start;	/* of those that were met and not read yet */
	struct page_run run;
	int found, err = 0;

	while (!err && (found = page_runs__next(&runs, &run)) > 0) {
		bool swapped = run.is == RUN_SWAPPED;

		if (!swapped && until > from && until - from < SEARCH_WINDOW_BYTES && run.start - until < HOLE_BYTES) {
			until = MIN(end, run.end);
			continue;
		}
		err = search_densely(s, x, from, until, fn, arg);
		s->t->memory.swapped_bytes += swapped ? run.end - run.start : 0;
		from = MAX(start, swapped ? run.end : run.start);
		until = swapped ? from : MIN(end, run.end);
	}
	if (err || found == -EINTR)
		return err ? err : found;
	return search_densely(s, x, from, until, fn, arg);
}

int search__range(struct search *s, const struct block_index *x, uint64_t start, uint64_t end, window_fn fn, void *arg)
{
	start = (start + 7) & ~7ull;
	end &= ~7ull;
	if (!x->n_blocks || start >= end)
		return 0;
	return (end - start < LARGE_BYTES ? search_densely : search_sparsely)(s, x, start, end, fn, arg);
}

/* ---- pages of files */

/*
 * Reads pages of mapped files that the process does not map at this moment: the kernel unmaps them
 * when memory is scarce, unless they are private and written to, and maps none before it is
 * touched. Their contents are in the file: a pointer there is as good as any other. A read through
 * the mapping would map them again, so they are read through the file, as far as its page cache
 * holds them.
 *
 * What always holds: no read waits for a disk or a server, nothing is read back from swap, and no device is opened. Each page that
 * was not read, and that may hold data, is counted.
 */

#define PAGES_MAX (SEARCH_WINDOW_BYTES / 4096)
#define OPEN_BYTES 65536	/* what it takes to open a file, as bytes that are read */

struct mapped_file {
	int fd;			/* -errno: not to be read */
	bool in_memory;		/* tmpfs, memfd, SysV, anonymous: a read waits for nothing but swap */
	uint64_t bytes;
};

/*
 * Memory of devices, and rings that the kernel shares with a process, are never unmapped; private
 * pages of /dev/zero are memory, or zeros.
 */
static bool is_pageable(const struct mapping *m)
{
	if (!strncmp(m->path, "/dev/", 5))
		return !strncmp(m->path, "/dev/shm/", 9) || (m->shared && !strcmp(m->path, "/dev/zero"));
	return m->path[0] == '/' && strcmp(m->path, "/[aio]") && strncmp(m->path, "/dmabuf", 7);
}

/* By its device, which asks no file system; whether that is so of what is opened, its mount says then. */
static bool may_be_opened(struct search *s, const struct mapping *m, bool *ret_in_memory)
{
	struct mount_line mount;

	*ret_in_memory = mapping__is_memory(m);
	if (*ret_in_memory)
		return true;
	if (!s->mounts)
		mounts__keep(s->t->runner);
	s->mounts = s->mounts ?: mounts__of(s->t->runner);
	if (!s->mounts)
		return false;
	if (!s->own_mounts && mounts__own(&s->own_mounts))
		return false;
	if (!mounts__find_dev(s->mounts, m->dev_major, m->dev_minor, &mount) || !mount__is_local(&mount, s->own_mounts))
		return false;
	*ret_in_memory = !strcmp(mount.type, "tmpfs");
	return true;
}

/* O_PATH; only of a file system that answers. */
static int open_place(struct search *s, const struct mapping *m, struct mapped_file *f, struct stat *st)
{
	_cleanup_close_ int at = -1;
	char path[96];
	bool local;
	int ret;

	s->files_left -= MIN(s->files_left, OPEN_BYTES);
	if (!may_be_opened(s, m, &f->in_memory))
		return -EACCES;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)s->t->runner, (unsigned long long)m->start, (unsigned long long)m->end);
	at = open(path, O_PATH | O_CLOEXEC);
	/* who may not use map_files finds the file by its name, unless it has none any more */
	if (at < 0)
		at = path_walk__file_of(s->t->runner, m, m->path);
	if (at < 0)
		return -EACCES;
	/* the process may have mapped another file there since its maps were read */
	local = mapping__is_memory(m) ? mounts__fd_is_memory(at) :
					mounts__fd_is_local(s->t->runner, at);
	if (!local || fstat(at, st) || !S_ISREG(st->st_mode) ||
	    (f->in_memory && !mapping__is_file(m, at)))
		return -EACCES;
	ret = at;
	at = -1;
	return ret;
}

/* A lease on the file does not delay it: O_NONBLOCK. */
static struct mapped_file open_file(struct search *s, const struct mapping *m)
{
	struct mapped_file f = { .fd = -EACCES };
	struct stat st;
	_cleanup_close_ int at = open_place(s, m, &f, &st);
	char path[64];

	if (at < 0)
		return f;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", at);
	f.fd = open(path, O_RDONLY | O_NONBLOCK | O_NOATIME | O_CLOEXEC);
	f.bytes = (uint64_t)st.st_size;
	return f;
}

/* By the time of its last change, which nobody can set back. */
bool file_pages__are_rewritten(struct search *s, const struct mapping *m, bool unknown)
{
	struct mapped_file f;
	struct stat st;
	int at;

	if (!is_pageable(m) || !strcmp(m->path, "/dev/zero"))
		return false;
	at = s->files_left >= OPEN_BYTES ? open_place(s, m, &f, &st) : -EACCES;
	if (at < 0)
		return unknown;
	close(at);
	return (uint64_t)st.st_ctim.tv_sec * SECOND_NS + (uint64_t)st.st_ctim.tv_nsec >= s->began_ns;
}

/* Which pages of n bytes at off are in memory? */
static bool find_cached(const struct mapped_file *f, uint64_t off, size_t n, uint8_t *cached)
{
	void *map = mmap(NULL, n, PROT_READ, MAP_SHARED, f->fd, (off_t)off);
	bool known = map != MAP_FAILED && !mincore(map, n, cached);

	if (map != MAP_FAILED)
		munmap(map, n);
	return known;
}

/* n bytes of the file at off, which the process has at addr. */
static void search_window(struct search *s, const struct mapped_file *f, const struct block_index *x, uint64_t addr, uint64_t off, size_t n,
			  window_fn fn, void *arg)
{
	uint64_t page = s->t->page_bytes;
	size_t n_pages = (n + page - 1) / page, n_read = 0;
	uint8_t cached[PAGES_MAX];

	s->files_left -= n;
	if (!find_cached(f, off, n, cached)) {
		s->unread_bytes += n;
		return;
	}
	memset(s->words, 0, SEARCH_WINDOW_BYTES);
	for (size_t i = 0, j; i < n_pages; i = j) {
		struct iovec to = { .iov_base = (char *)s->words + i * page };
		ssize_t got = 0;

		for (j = i + 1; j < n_pages && (cached[j] & 1) == (cached[i] & 1); j++)
			;
		to.iov_len = MIN(j * page, n) - i * page;
		if (cached[i] & 1)
			got = preadv2(f->fd, &to, 1, (off_t)(off + i * page), f->in_memory ? 0 : RWF_NOWAIT);
		n_read += got > 0 ? (size_t)got : 0;
		s->unread_bytes += to.iov_len - (got > 0 ? (size_t)got : 0);
	}
	s->present_bytes += n_read;
	if (n_read)
		search__words(s, x, addr, n, fn, arg);
}

/* [start, end) of a mapping, none of which is mapped: what the file has there, without its holes. */
static int search_gap(struct search *s, const struct mapped_file *f, const struct mapping *m, const struct block_index *x, uint64_t start,
		      uint64_t end, window_fn fn, void *arg)
{
	uint64_t page = s->t->page_bytes, at = m->file_off + (start - m->start), until = at + (end - start);

	if (f->fd < 0) {
		s->unread_bytes += end - start;
		return 0;
	}
	until = MIN(until, (f->bytes + page - 1) / page * page);
	while (at < until) {
		off_t data = lseek(f->fd, (off_t)at, SEEK_DATA), hole;
		uint64_t stop;

		if (data < 0 && errno == ENXIO)
			break;
		hole = data < 0 ? -1 : lseek(f->fd, data, SEEK_HOLE);
		at = data < 0 ? at : MAX((uint64_t)data / page * page, at);
		stop = MIN(hole < 0 ? until : ((uint64_t)hole + page - 1) / page * page, until);
		for (size_t n; at < stop; at += n) {
			if (target__is_over(s->t))
				return -EINTR;
			if (s->files_left < SEARCH_WINDOW_BYTES) {
				s->unread_bytes += until - at;
				return 0;
			}
			n = MIN(stop - at, SEARCH_WINDOW_BYTES);
			search_window(s, f, x, m->start + (at - m->file_off), at, n, fn, arg);
		}
	}
	return 0;
}

int file_pages__search(struct search *s, const struct mapping *m, const struct block_index *x, uint64_t start, uint64_t end, window_fn fn,
			 void *arg)
{
	struct page_runs runs = { .t = s->t, .at = start, .end = end };
	struct mapped_file f = { .fd = -ENOENT };
	struct page_run run = { start, start, RUN_RESIDENT };
	int found = 1, err = 0;

	if (!is_pageable(m) || m->file_off % s->t->page_bytes)
		return 0;
	for (uint64_t at = start; at < end && found > 0 && !err; at = run.end) {
		uint64_t until;

		found = page_runs__next(&runs, &run);
		until = found > 0 ? MIN(run.start, end) : end;
		if (found < 0 || at >= until)
			continue;
		if (f.fd == -ENOENT && s->files_left >= OPEN_BYTES)
			f = open_file(s, m);
		err = search_gap(s, &f, m, x, at, until, fn, arg);
	}
	if (f.fd >= 0)
		close(f.fd);
	return err ?: found == -EINTR ? found : 0;
}
