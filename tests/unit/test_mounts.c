// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Which file systems may not answer. */
#include <criterion/criterion.h>
#include <string.h>

#include "process/mounts.h"

static const char table[] = "22 28 0:21 / /sys rw,nosuid shared:2 - sysfs sysfs rw\n"
			    "36 28 0:45 / /mnt\\040with rw,relatime shared:5 master:1 - fuse.sshfs them@there: rw\n"
			    "37 28 0:46 /a\\040-\\040b /mnt/2 rw - fuse  rw,user_id=0\n"	/* whose source is empty */
			    "38 28 0:4 / /mnt/3 rw - nfs4 server:/x rw\n"
			    "39 28 8:1 / / rw - ext4 /dev/sda1 rw";

static const char *type_of(const char *text, unsigned int major, unsigned int minor)
{
	static char type[MOUNT_TYPE_MAX];

	return mounts__find_type(text, major, minor, type) ? type : "none";
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
	static char type[MOUNT_TYPE_MAX];

	return mounts__find_type_at(table, path, type) ? type : "none";
}

Test(mounts, types_by_path)
{
	cr_expect_str_eq(type_at("/etc/passwd"), "ext4");
	cr_expect_str_eq(type_at("/mnt/2/x"), "fuse");
	cr_expect_str_eq(type_at("/mnt/2"), "fuse");
	cr_expect_str_eq(type_at("/mnt/22"), "ext4");
	cr_expect_str_eq(type_at("/sys/kernel"), "sysfs");
}

Test(mounts, those_that_may_not_answer)
{
	static const char *const may[] = { "fuse", "fuseblk", "fuse.sshfs", "nfs", "nfs4", "cifs", "9p", "virtiofs" },
				 *const may_not[] = { "ext4", "xfs", "btrfs", "overlay", "tmpfs", "fusectl", "nfsd", "" };

	for (size_t i = 0; i < sizeof(may) / sizeof(*may); i++)
		cr_expect(mount__may_hang(may[i]), "%s", may[i]);
	for (size_t i = 0; i < sizeof(may_not) / sizeof(*may_not); i++)
		cr_expect_not(mount__may_hang(may_not[i]), "%s", may_not[i]);
}
