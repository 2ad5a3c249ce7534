// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Paths that lead to a file system which does not answer: whoever looks a name up there waits until its server is gone. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elf/trial.h"
#include "process/containers.h"
#include "process/mounts.h"
#include "process/translator.h"

#define PATIENCE_MS 5000

static char dir[] = "/tmp/walk-XXXXXX";
static int fuse = -1;

/* dir/local has a file, dir/silent answers nothing, dir/link leads there. source: what it is called; user: who serves it. */
static void set_up_as(const char *source, const char *user)
{
	char opts[128];

	fuse = geteuid() ? -1 : open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fuse < 0)
		cr_skip_test("skipped: a file system by FUSE, which takes root and /dev/fuse");
	snprintf(opts, sizeof(opts), "fd=%d,rootmode=40000,user_id=%s,group_id=0,allow_other", fuse, user);
	cr_assert(mkdtemp(dir) && !chdir(dir) && !mkdir("local", 0755) && !mkdir("silent", 0755) && !symlink("../silent", "local/link") &&
		  !symlink("local", "own") && !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	close(open("local/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0755));
	cr_assert_eq(mount(source, "silent", "fuse", 0, opts), 0);
}

static void set_up(const char *user)
{
	set_up_as("silent", user);
}

static void tear_down(void)
{
	char rm[64];

	if (fuse < 0)
		return;
	close(fuse);
	umount2("silent", MNT_DETACH);
	snprintf(rm, sizeof(rm), "rm -r %s", dir);
	cr_expect(!chdir("/") && !system(rm));
}

/* What a call in a child returns; -ETIMEDOUT: it waits. */
static int result_of(int (*call)(const char *path), const char *name)
{
	int fds[2], ret = -ETIMEDOUT;
	char path[256];
	pid_t pid;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		close(fuse);
		ret = call(path);
		_exit(write(fds[1], &ret, sizeof(ret)) != sizeof(ret));
	}
	close(fds[1]);
	if (poll(&(struct pollfd){ .fd = fds[0], .events = POLLIN }, 1, PATIENCE_MS) != 1 || read(fds[0], &ret, sizeof(ret)) != sizeof(ret)) {
		/* its server goes, and all who wait are answered */
		close(fuse);
		fuse = open("/dev/null", O_RDONLY | O_CLOEXEC);
	}
	close(fds[0]);
	waitpid(pid, NULL, 0);
	return ret;
}

static int done(int fd)
{
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int own(const char *path)
{
	return done(path_walk__own(path));
}

static int served(const char *path)
{
	return done(path_walk__served(path));
}

static int mapped(const char *path)
{
	int root = open("/", O_PATH | O_CLOEXEC), ret = done(path_walk__mapped(getpid(), root, path));

	close(root);
	return ret;
}

static int is_installed(const char *path)
{
	return translator__is_installed(path, 1);
}

static void note_named(const struct engine_named *n, void *arg)
{
	(void)n;
	(void)arg;
}

#define CONTAINER "libpod-aaaa111122223333444455556666777788889999aaaabbbbccccddddeeeeffff"

/* The path is that of the machine's root; by the table all is local still. */
static int find_containers(const char *path)
{
	struct containers found = {};
	char mounts[256];

	snprintf(mounts, sizeof(mounts), "25 1 8:1 / / rw - ext4 /dev/sda rw\n33 25 0:30 / %s/local rw - cgroup2 cgroup2 rw\n", dir);
	containers__find(mounts, path, CONTAINER_ITSELF, &found);
	return (int)found.n;
}

static int read_home(const char *path)
{
	int home = open(path, O_PATH | O_CLOEXEC);

	engine_files__storage("", home, 0, note_named, NULL);
	return done(home);
}

static int find_list(const char *path)
{
	struct trial_list l = { .pid = getpid(), .root = open("/", O_PATH | O_CLOEXEC), .path = path };
	int fd = -1;

	return trial__find_list(&l, &fd) ? done(fd) : 1;
}

Test(path_walk, is_not_led_to_a_silent_file_system, .fini = tear_down, .timeout = 120)
{
	set_up("65533");
	cr_expect_eq(result_of(own, "local/file"), 0);
	cr_expect_eq(result_of(own, "own/file"), 0);
	cr_expect_eq(result_of(own, "own/../own//./file"), 0);
	cr_expect_eq(result_of(own, "local/none"), -ENOENT);
	cr_expect_eq(own("local/file"), 0, "relative");
	cr_expect_eq(own("local/link/file"), -EXDEV, "relative");
	cr_expect_eq(result_of(own, "silent/file"), -EXDEV);
	cr_expect_eq(result_of(own, "silent"), -EXDEV);
	cr_expect_eq(result_of(own, "local/link/file"), -EXDEV);
	cr_expect_eq(result_of(own, "own/link"), -EXDEV);
	cr_expect_eq(result_of(served, "own/file"), 0);
	cr_expect_eq(result_of(served, "local/link/file"), -EXDEV);
	cr_expect_eq(result_of(mapped, "local/file"), 0);
	cr_expect_eq(result_of(mapped, "silent/file"), -EXDEV);
	cr_expect_eq(result_of(mapped, "local/link/file"), -ELOOP);
	cr_expect_eq(result_of(mapped, "own/file"), -ELOOP);
	cr_expect_eq(result_of(is_installed, "local/link/file"), 0);
	cr_expect_eq(result_of(find_list, "local/link/file"), 1, "to be copied");
	cr_assert(!mkdir("home", 0755) && !symlink("../silent", "home/.local"));
	cr_expect_eq(result_of(read_home, "home"), 0);
	cr_expect_eq(result_of(find_list, "local/file"), 0);
	cr_assert(!mkdir("local/" CONTAINER, 0755) && !mkdir("a", 0755) && !symlink("..", "a/home") && !mkdir("b", 0755) && !symlink("../silent", "b/home"));
	cr_expect_eq(result_of(find_containers, "a"), 1, "a home");
	cr_expect_eq(result_of(find_containers, "b"), 1, "all homes");
}

/* fusermount takes any name for it (-o fsname=). */
Test(path_walk, is_not_told_by_the_server_whom_to_trust, .fini = tear_down, .timeout = 120)
{
	set_up_as("user_id=0,user_id=0", "65533");
	cr_expect_eq(result_of(served, "silent/file"), -EXDEV);
	cr_expect_eq(result_of(served, "own/file"), 0);
}

/* Whom the user trusts is asked, and waited for. */
Test(path_walk, asks_those_who_are_trusted, .fini = tear_down, .timeout = 120)
{
	set_up("0");
	cr_expect_eq(result_of(own, "local/link"), -EXDEV);
	cr_expect_eq(result_of(served, "local/link"), -ETIMEDOUT);
}

/* Each time a way leads from one mount onto another, tables are read that may have thousands of lines. */
Test(path_walk, ways_are_short)
{
	char path[PATH_MAX + 16] = "";

	for (int i = 0; i < 20; i++)
		strcat(path, "/proc/..");
	cr_expect_eq(own(path), 0);
	for (int i = 0; i < 40; i++)
		strcat(path, "/proc/..");
	cr_expect_eq(own(path), -ELOOP);
	*path = 0;
	while (strlen(path) < PATH_MAX)
		strcat(path, "/.");
	cr_expect_eq(own(path), -ENAMETOOLONG);
}

Test(path_walk, links_in_a_circle)
{
	char made[] = "/tmp/circle-XXXXXX", path[64];

	cr_assert(mkdtemp(made));
	snprintf(path, sizeof(path), "%s/a", made);
	cr_assert_eq(symlink(path, path), 0);
	cr_expect_eq(own(path), -ELOOP);
	cr_expect(!unlink(path) && !rmdir(made));
}
