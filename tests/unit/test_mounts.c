// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Which file systems are known to answer. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/mounts.h"
#include "util/util.h"

static const char table[] = "22 28 0:21 / /sys rw,nosuid shared:2 - sysfs sysfs rw\n"
			    "36 28 0:45 / /mnt\\040with rw,relatime shared:5 master:1 - fuse.sshfs them@there: rw,user_id=1000\n"
			    "37 28 0:46 /a\\040-\\040b /mnt/2 rw - fuse  rw,user_id=0\n"	/* whose source is empty */
			    "38 28 0:4 / /mnt/3 rw - nfs4 server:/x rw\n"
			    "39 28 8:1 / / rw - ext4 /dev/sda1 rw\n"
			    "40 28 0:50 / /o/local rw - overlay overlay rw,lowerdir=/a/l1:/a/l2,upperdir=/b/u,workdir=/b/w\n"
			    "41 28 0:51 / /o/fuse rw - overlay overlay rw,lowerdir=/a/l1:/mnt/2/l2,upperdir=/b/u,workdir=/b/w\n"
			    "42 28 0:52 / /o/upper rw - overlay overlay rw,lowerdir=/a/l1,upperdir=/mnt/3/u,workdir=/mnt/3/w\n"
			    "43 28 0:53 / /o/above rw - overlay overlay rw,lowerdir=/o/fuse/x:/a\n"
			    "44 28 0:54 / /o/above2 rw - overlay overlay rw,lowerdir=/o/local/x:/a\n"
			    "45 28 0:55 / /o/relative rw - overlay overlay rw,lowerdir=l1:l2\n"
			    "46 28 0:56 / /o/escaped rw - overlay overlay rw,lowerdir=/mnt\\040with/x:/a\n"
			    "47 28 0:57 / /o/added rw - overlay overlay rw,lowerdir+=/a,lowerdir+=/mnt/2/b\n"
			    "48 28 0:58 / /o/none rw - overlay overlay rw\n"
			    "49 28 0:59 / /o/self rw - overlay overlay rw,lowerdir=/o/self/x\n"
			    "51 28 0:61 / /u rw - fuse.sshfs them@there: rw,user_id=1000\n"
			    "52 28 0:62 / /o/user rw - overlay overlay rw,lowerdir=/a:/u/x\n"
			    "53 28 0:63 / /o/user2 rw - overlay overlay rw,lowerdir=/a,upperdir=/o/user/x\n"
			    "50 28 0:60 / /z rw - zfs zfs rw";

static const char *type_of(const char *text, unsigned int major, unsigned int minor)
{
	static struct mount_line m;

	return mounts__find_dev(text, major, minor, &m) ? m.type : "none";
}

Test(mounts, types_by_device)
{
	cr_expect_str_eq(type_of(table, 0, 21), "sysfs");
	cr_expect_str_eq(type_of(table, 0, 45), "fuse.sshfs");
	cr_expect_str_eq(type_of(table, 0, 46), "fuse");
	cr_expect_str_eq(type_of(table, 0, 4), "nfs4");
	cr_expect_str_eq(type_of(table, 8, 1), "ext4");
	cr_expect_str_eq(type_of(table, 8, 0), "none");
	cr_expect_str_eq(type_of("", 8, 1), "none");
	cr_expect_str_eq(type_of("39 28 8:1 / / rw", 8, 1), "none");
	cr_expect_str_eq(type_of("39 28 8:1 / / rw - ", 8, 1), "none");
	cr_expect_str_eq(type_of("39 28 8:1 / / rw - 0123456789012345678901234567890123456789 x y\n", 8, 1), "0123456789012345678901234567890");
}

static const char *type_at(const char *path)
{
	static struct mount_line m;

	return mounts__find_at(table, path, &m) ? m.type : "none";
}

Test(mounts, types_by_path)
{
	cr_expect_str_eq(type_at("/etc/passwd"), "ext4");
	cr_expect_str_eq(type_at("/mnt/2/x"), "fuse");
	cr_expect_str_eq(type_at("/mnt/2"), "fuse");
	cr_expect_str_eq(type_at("/mnt/22"), "ext4");
	cr_expect_str_eq(type_at("/sys/kernel"), "sysfs");
}

static bool is_local(unsigned int id, const char *own)
{
	struct mount_line m;

	cr_assert(mounts__find_id(table, id, &m));
	return mount__is_local(&m, own);
}

Test(mounts, those_that_answer)
{
	static const struct {
		unsigned int id;
		bool local;
	} rows[] = {
		{ 22, true }, { 36, false }, { 37, false }, { 38, false }, { 39, true }, { 40, true }, { 41, false }, { 42, false },
		{ 43, false }, { 44, true }, { 45, false }, { 46, false }, { 47, false }, { 48, false }, { 49, false }, { 50, true },
	};
	static const char *const unknown[] = { "fuseblk", "nfs", "cifs", "9p", "virtiofs", "fusectl2", "a-new-one", "" };

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		cr_expect_eq(is_local(rows[i].id, table), rows[i].local, "%u", rows[i].id);
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++) {
		struct mount_line m = { .options = "" };

		strcpy(m.type, unknown[i]);
		cr_expect_not(mount__is_local(&m, table), "%s", unknown[i]);
	}
}

/* In a container: its layers are another mount namespace's, and it is what malloctrace itself runs from. */
Test(mounts, own_root_is_local)
{
	static const char own[] = "41 28 0:51 / / rw - overlay overlay rw,lowerdir=/not/here:/nor/here\n";

	cr_expect(is_local(41, own));
	cr_expect_not(is_local(42, own));
	cr_expect_not(is_local(41, ""));
}

/* Its layers would be local here, but they are paths of who mounted it. */
Test(mounts, layers_of_another_namespace)
{
	cr_expect_not(is_local(40, "39 28 8:1 / / rw - ext4 /dev/sda1 rw\n"));
}

Test(mounts, who_serves)
{
	struct mount_line m;

	cr_assert(mounts__find_id(table, 36, &m));
	cr_expect_eq(mount__server(&m), 1000);
	cr_assert(mounts__find_id(table, 37, &m));
	cr_expect_eq(mount__server(&m), 0);
	cr_assert(mounts__find_id(table, 38, &m));
	cr_expect_eq(mount__server(&m), 0);
}

/* fusermount -o fsname=... */
Test(mounts, source_is_no_option)
{
	static const char overlay[] = "36 28 0:45 / /mnt rw - overlay lowerdir=/usr rw\n39 28 8:1 / / rw - ext4 /dev/sda1 rw\n";
	struct mount_line m;

	cr_assert(mounts__find_id("36 28 0:45 / /mnt rw - fuse.x user_id=0 rw,user_id=1000,group_id=0\n", 36, &m));
	cr_expect_eq(mount__server(&m), 1000);
	cr_assert(mounts__find_id("36 28 0:45 / /mnt rw - fuse.x ,user_id=0 rw,user_id=1000,group_id=0\n", 36, &m));
	cr_expect_eq(mount__server(&m), 1000);
	cr_assert(mounts__find_id(overlay, 36, &m));
	cr_expect_not(mount__is_local(&m, overlay));
}

/* A process in a user namespace of its own may mount as much. */
Test(mounts, as_many_as_may_be, .timeout = 20)
{
	struct mount_line m;
	char *text;
	size_t len;
	FILE *out = text_stream__open(&text, &len);

	for (int i = 1; i <= 100000; i++)
		fprintf(out, "%d 28 0:%d / /home/user/mounts/%0100d rw,relatime - tmpfs none rw,size=4k\n", i, i, i);
	text_stream__close(out);
	cr_assert(mounts__find_id(text, 100000, &m));
	cr_expect_eq(m.dev_minor, 100000);
	cr_expect_str_eq(m.type, "tmpfs");
	cr_expect_not(mounts__find_dev(text, 8, 1, &m));
	free(text);
}

#define FILES 2000

/* It maps as many files as it likes as well: for each of them a table is searched, and not read each time. */
Test(mounts, as_many_files_as_may_be, .timeout = 120)
{
	char dir[] = "/tmp/mt-mounts-XXXXXX", path[64];
	uint64_t began_ns;
	struct mount_line m;
	char *text;

	if (geteuid() || unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		cr_skip_test("skipped: mounts take root");
	cr_assert(mkdtemp(dir) && !mount("many", dir, "tmpfs", 0, NULL));
	mounts__keep(getpid());
	for (int i = 0; i < 5000; i++) {
		snprintf(path, sizeof(path), "%s/%d", dir, i);
		cr_assert(!mkdir(path, 0755) && !mount("many", path, "tmpfs", 0, NULL));
	}
	began_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (int i = 0; i < FILES; i++) {
		text = mounts__of(getpid());
		cr_assert_not_null(text);
		cr_expect_not(mounts__find_id(text, UINT32_MAX, &m));
		cr_expect_not(mounts__find_dev(text, 8, UINT32_MAX, &m));
		free(text);
	}
	cr_expect_lt(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began_ns, 15 * SECOND_NS);
	/* what changes is read again, but not each time */
	for (int i = 0; i < 100; i++) {
		cr_assert_eq(umount2(path, MNT_DETACH), 0);
		text = mounts__of(getpid());
		if (i < 10)
			cr_expect(text && !strstr(text, path));
		free(text);
		cr_assert_eq(mount("many", path, "tmpfs", 0, NULL), 0);
	}
	cr_expect_null(mounts__of(getpid()));
	mounts__let_go();
	text = mounts__of(getpid());
	cr_expect(text && strstr(text, path));
	free(text);
	umount2(dir, MNT_DETACH);
	rmdir(dir);
}

static bool is_root(uid_t uid)
{
	return !uid;
}

static bool is_trusted(unsigned int id, const char *own)
{
	struct mount_line m;

	cr_assert(mounts__find_id(table, id, &m));
	return mount__has_trusted_servers(&m, own, is_root);
}

/* An overlay is not more trusted than its layers; those that are not in our table are root's as the overlay itself is. */
Test(mounts, who_is_trusted)
{
	static const char container[] = "60 1 0:70 / / rw - overlay overlay rw,lowerdir=/not/here\n"
					"52 28 0:62 / /o/user rw - overlay overlay rw,lowerdir=/a:/u/x\n";

	cr_expect_not(is_trusted(36, table));
	cr_expect(is_trusted(38, table));
	cr_expect(is_trusted(40, table));
	cr_expect(is_trusted(41, table), "FUSE of root's");
	cr_expect(is_trusted(45, table), "layers that are relative");
	cr_expect_not(is_trusted(52, table));
	cr_expect_not(is_trusted(53, table));
	cr_expect_not(is_trusted(49, table), "layers of itself without an end");
	cr_expect(is_trusted(40, container));
	cr_expect(is_trusted(52, container), "its layers are paths of the host");
}

Test(mounts, of_this_process)
{
	int fd = open("/proc/self", O_PATH | O_CLOEXEC);

	cr_assert_geq(fd, 0);
	cr_expect(mounts__fd_is_local(getpid(), fd));
	cr_expect(mounts__are_trusted(getpid()));
	cr_expect(mounts__fd_is_served_by_trusted(getpid(), fd));
	close(fd);
}
