// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The heap of a child of ours, which stands still. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heap/glibc_parts.h"
#include "util/util.h"

#define SWAPPED_PAGES 3

static struct err e;

/*
 * Data of a file, mapped privately, of which some pages look as if they were on the disk: the kernel has marks in
 * their place.
 */
static void map_data(bool swapped)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = 16 * page;
	int fd = memfd_create("data", MFD_CLOEXEC);
	int uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_WP_HUGETLBFS_SHMEM };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_WP };
	struct uffdio_writeprotect wp = { .mode = UFFDIO_WRITEPROTECT_MODE_WP };
	char *p;

	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		_exit(1);
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		_exit(1);
	*p = 1;
	reg.range = (struct uffdio_range){ (uintptr_t)p, bytes };
	wp.range = (struct uffdio_range){ (uintptr_t)p + 4 * page, SWAPPED_PAGES * page };
	if (swapped && (ioctl(uffd, UFFDIO_API, &api) || ioctl(uffd, UFFDIO_REGISTER, &reg) ||
			ioctl(uffd, UFFDIO_WRITEPROTECT, &wp)))
		_exit(77);
}

static pid_t begin(bool swapped, struct target *ret)
{
	int told[2], status;
	char byte;
	pid_t pid;

	cr_assert(!pipe2(told, O_CLOEXEC));
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		map_data(swapped);
		if (!malloc(100) || write(told[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(told[1]);
	if (read(told[0], &byte, 1) != 1) {
		waitpid(pid, &status, 0);
		cr_assert_eq(WEXITSTATUS(status), 77);
		cr_skip_test("skipped: this kernel marks no pages that are not there");
	}
	close(told[0]);
	cr_assert_eq(target__open(pid, NULL, ret, &e), 0, "%s", err_msg(&e));
	return pid;
}

/* err: what came of it. */
static void end(pid_t pid, struct target *t, struct glibc *g, int err)
{
	target__done(t);
	glibc__done(g);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* a sanitizer's */
	if (err == -ENOENT)
		cr_skip_test("skipped: this program has another allocator");
}

/* Another C library may have its arenas in data of a file that cannot be read. */
Test(census, data_that_is_on_the_disk)
{
	for (int swapped = 0; swapped < 2; swapped++) {
		struct target t = {};
		struct glibc g = {};
		struct census c = {};
		pid_t pid = begin(swapped, &t);
		int err = census__take(&t, &g, &c, &e);

		end(pid, &t, &g, err);
		cr_assert_eq(err, 0, "%s", err_msg(&e));
		cr_expect_eq(c.swapped_bytes, swapped ? SWAPPED_PAGES * (uint64_t)sysconf(_SC_PAGESIZE) : 0);
		cr_expect_gt(c.blocks.n, 0);
		census__done(&c);
	}
}

static void rename_mapping(struct mapping *m, const char *path)
{
	free(m->path);
	m->path = xstrdup(path);
}

/* The process's own is called so: an arena that is in another file is another one's. */
Test(census, data_of_libc_that_is_on_the_disk)
{
	for (int swapped = 0; swapped < 2; swapped++) {
		struct target t = {};
		struct glibc g = { .layout = xcalloc(1, sizeof(*g.layout)) };
		pid_t pid = begin(swapped, &t);
		int err;

		for (size_t i = 0; i < t.maps.n; i++)
			if (!strcmp(path_basename(t.maps.v[i].path), "libc.so.6"))
				rename_mapping(&t.maps.v[i], "/lib/copy.so");
			else if (!strcmp(t.maps.v[i].path, "/memfd:data"))
				rename_mapping(&t.maps.v[i], "/lib/libc.so.6");
		err = glibc__find(&t, &g, &e);
		end(pid, &t, &g, err);
		cr_expect_eq(err, swapped ? -EPROTO : 0, "%s", err_msg(&e));
		cr_expect(!swapped || strstr(err_msg(&e), "swapped out"), "%s", err_msg(&e));
	}
}
