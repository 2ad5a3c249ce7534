/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A FUSE file system that finds and opens any file at once, and never answers a read or a question
 * for attributes: no signal ends a call that its server has taken up. Of the file "written" it
 * answers all but writes.
 */
#ifndef MT_FUSE_MADE_H
#define MT_FUSE_MADE_H

#include <criterion/criterion.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define WRITTEN_NODE 3

struct fuse_made {
	char dir[32], file[40];
	pid_t server;
	int waits;		/* has a byte for each call that is not answered */
};

static inline void fuse_made__serve(int dev, int waits)
{
	static char buf[1 << 20] __attribute__((aligned(8)));
	const struct fuse_in_header *h = (const void *)buf;

	while (read(dev, buf, sizeof(buf)) > 0) {
		struct fuse_attr attr = { .ino = h->nodeid, .mode = h->nodeid == 1 ? S_IFDIR | 0755 : S_IFREG | 0755, .nlink = 1, .size = 4096 };
		union {
			struct fuse_init_out init;
			struct fuse_entry_out entry;
			struct fuse_attr_out attr;
			struct fuse_open_out open;
			char page[4096];
		} out = {};
		struct fuse_out_header head = { .unique = h->unique };
		size_t len = 0;

		switch (h->opcode) {
		case FUSE_INIT:
			out.init = (struct fuse_init_out){ .major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096 };
			len = sizeof(out.init);
			break;
		case FUSE_LOOKUP:
			attr.ino = strcmp((const char *)(h + 1), "written") ? 2 : WRITTEN_NODE;
			attr.mode = S_IFREG | 0755;
			out.entry.nodeid = attr.ino;
			out.entry.entry_valid = 10000;
			out.entry.attr = attr;
			len = sizeof(out.entry);
			break;
		case FUSE_GETATTR:
			if (h->nodeid == 2) {
				(void)!write(waits, "", 1);
				continue;
			}
			out.attr = (struct fuse_attr_out){ .attr_valid = 10000, .attr = attr };
			len = sizeof(out.attr);
			break;
		case FUSE_OPEN:
			len = sizeof(out.open);
			break;
		case FUSE_READ:
			len = sizeof(out.page);
			if (h->nodeid == WRITTEN_NODE)
				break;
			/* fall through */
		case FUSE_WRITE:
			(void)!write(waits, "", 1);
			continue;
		case FUSE_FORGET:
		case FUSE_BATCH_FORGET:
		case FUSE_INTERRUPT:
			continue;
		}
		head.len = (uint32_t)(sizeof(head) + len);
		(void)!writev(dev, (struct iovec[]){ { &head, sizeof(head) }, { &out, len } }, 2);
	}
}

/* As root, with /dev/fuse; else the test is skipped. */
static inline void fuse_made__begin(struct fuse_made *f)
{
	int dev = geteuid() ? -1 : open("/dev/fuse", O_RDWR | O_CLOEXEC), waits[2];
	char opts[128];

	if (dev < 0)
		cr_skip_test("skipped: a file system by FUSE, which takes root and /dev/fuse");
	snprintf(opts, sizeof(opts), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", dev);
	strcpy(f->dir, "/tmp/mt-fuse-XXXXXX");
	cr_assert(mkdtemp(f->dir) && !pipe(waits) && !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	cr_assert_eq(mount("held", f->dir, "fuse", 0, opts), 0);
	snprintf(f->file, sizeof(f->file), "%s/file", f->dir);
	f->waits = waits[0];
	f->server = fork();
	if (!f->server) {
		/* so that nobody waits for good where the test ends early */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fuse_made__serve(dev, waits[1]);
		_exit(0);
	}
	close(dev);
	close(waits[1]);
}

/* All who wait are answered. */
static inline void fuse_made__end(struct fuse_made *f)
{
	kill(f->server, SIGKILL);
	waitpid(f->server, NULL, 0);
	umount2(f->dir, MNT_DETACH);
	rmdir(f->dir);
	close(f->waits);
}

/* Expects that the child exits with 0 and does not wait for the file system. Ends both. */
static inline void fuse_made__end_after(struct fuse_made *f, pid_t pid)
{
	struct pollfd p[] = { { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN },
			      { .fd = f->waits, .events = POLLIN } };
	int status;

	cr_expect_gt(poll(p, 2, 20000), 0, "it neither ends nor asks the file system");
	cr_expect_not(p[1].revents & POLLIN, "it waits for the file system");
	fuse_made__end(f);
	kill(pid, p[0].revents ? 0 : SIGKILL);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(status, 0, "%#x", status);
	close(p[0].fd);
}

#endif
