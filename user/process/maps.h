/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The address space of a process, as /proc/PID/maps shows it, and new mappings of all processes, as the kernel reports them. */
#ifndef MT_MAPS_H
#define MT_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/err.h"

struct mapping {
	uint64_t start, end;
	uint64_t file_off;
	uint32_t dev_major, dev_minor;
	uint64_t ino;		/* 0: no file, or the first SysV segment of its namespace */
	bool read, write, exec;	/* none: PROT_NONE */
	bool shared;
	bool deleted;
	bool rewritten;		/* its file changed while the program ran, or may have; only set by heap/roots.c */
	/* reported by the kernel as it was made (struct watch): device and inode may be those below an overlay */
	bool recorded;
	char *path;		/* owned; unescaped, " (deleted)" removed; "" or "[vdso]" and the like without a file */
};

struct maps {
	struct mapping *v;
	size_t n;
};

/* text need not end in a newline; a line that makes no sense is skipped. */
void maps__parse(const char *text, size_t len, struct maps *ret);
int maps__read(pid_t pid, struct maps *ret, struct err *e);
/* How many of them have code; of a process that has more than `most` in all: most. */
size_t maps__n_code(pid_t pid, size_t most);
/*
 * The same as maps__read() by a descriptor of /proc/PID/maps, from Linux 6.11 on: asked of the memory that it was opened with, also when the process is no more
 * or is another program. -ENOTTY: this kernel has only text; -ESRCH: that memory is gone; -EFBIG: it would take more than max_bytes.
 */
int maps__query(int fd, size_t max_bytes, struct maps *ret);
const struct mapping *maps__find(const struct maps *m, uint64_t addr);
void maps__done(struct maps *m);
bool mapping__is_same_file(const struct mapping *a, const struct mapping *b);	/* no, of those without one */
/* Is this its file? Asks the file system: call it only if that is known to answer (mounts.h). */
bool mapping__is_file(const struct mapping *m, int fd);
/*
 * The same where fstat reports other numbers than maps and records (overlay, btrfs): maps the open
 * file, and compares the numbers that the kernel reports of that mapping. 0; -ESTALE: it is another
 * file; or why it is not known.
 */
int mapping__verify(const struct mapping *m, int fd);
/*
 * Has the file its path? That proves nothing: whoever mounts or moves files chooses which one has
 * it. Asks no file system.
 */
bool mapping__is_named(const struct mapping *m, int fd);
/* Memory of the kernel's own, which is mounted nowhere and no layer of an overlay: memfd_create(2), shared memory. */
bool mapping__is_memory(const struct mapping *m);

/*
 * Which processes map new code: a program that is started, dlopen in one that runs. A perf
 * event that counts nothing, one per CPU, carries the kernel's notes about
 * executable mappings; nothing is paid per system call or per page.
 */

struct watch;

enum watch_kind {
	WATCH_MAPPED,		/* pid has mapped code */
	/* pid begins another program: what it had mapped is gone, what it maps is reported next */
	WATCH_EXEC,
	WATCH_LOST,		/* some were lost: of which process is not known */
};

struct watch_record {
	enum watch_kind kind;
	pid_t pid;		/* in malloctrace's pid namespace */
	uint64_t t_ns;		/* CLOCK_MONOTONIC; 0 of WATCH_LOST */
	size_t seq;		/* by which those of the same time are ordered */
	struct mapping map;	/* of WATCH_MAPPED */
};

typedef void (*watch_fn)(const struct watch_record *r, void *arg);

/* all_processes: room for the records of the whole machine. */
int watch__open(bool all_processes, struct watch **ret, struct err *e);
void watch__close(struct watch *w);	/* takes NULL */
size_t watch__n_fds(const struct watch *w);
int watch__fd(const struct watch *w, size_t i);
/* Calls fn for each record since, in order; the record is gone afterwards. */
void watch__read(struct watch *w, watch_fn fn, void *arg);

#endif
