// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Room in memory cgroups, by files as the kernel has them: here in a directory of the test's own. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/memcg.h"

static char top[] = "/tmp/memcg-XXXXXX";
static char mounts[1024];

static void put(const char *dir, const char *file, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/%s", top, dir, file);
	f = fopen(path, "w");
	cr_assert(f, "%s", path);
	fputs(text, f);
	fclose(f);
}

static void make(const char *dir)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", top, dir);
	cr_assert_eq(mkdir(path, 0700), 0, "%s", path);
}

static void v1(const char *dir, const char *limit, const char *usage, const char *stat)
{
	put(dir, "memory.limit_in_bytes", limit);
	put(dir, "memory.usage_in_bytes", usage);
	put(dir, "memory.stat", stat);
}

static void v2(const char *dir, const char *limit, const char *usage, const char *stat)
{
	put(dir, "memory.max", limit);
	put(dir, "memory.current", usage);
	put(dir, "memory.stat", stat);
}

static void setup(void)
{
	cr_assert(mkdtemp(top));
}

static void teardown(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", top);
	cr_assert_eq(system(command), 0);
}

static void mount_v1(const char *root)
{
	snprintf(mounts, sizeof(mounts),
		 "33 25 0:30 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
		 "34 33 0:31 / %s/other rw,relatime - cgroup cgroup rw,cpu\n"
		 "37 33 0:34 %s %s rw,relatime shared:5 - cgroup cgroup rw,memory,hugetlb\n"
		 "43 33 0:40 / %s/unified rw,relatime - cgroup2 cgroup2 rw\n",
		 top, root, top, top);
}

static void mount_v2(const char *root)
{
	snprintf(mounts, sizeof(mounts), "30 23 0:26 %s %s rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n", root, top);
}

static void want(const char *cgroups, const char *dir, uint64_t limit, uint64_t used, uint64_t room)
{
	char path[512];
	struct memcg m;

	memcg__look(mounts, cgroups, &m);
	snprintf(path, sizeof(path), "%s%s", top, dir ? dir : "");
	cr_expect_eq(m.room_bytes, room, "room %llu", (unsigned long long)m.room_bytes);
	if (dir) {
		cr_assert(m.dir);
		cr_expect_str_eq(m.dir, path);
		cr_expect_eq(m.limit_bytes, limit);
		cr_expect_eq(m.used_bytes, used);
	} else {
		cr_expect_null(m.dir);
	}
	memcg__done(&m);
}

#define V1_NONE "9223372036854771712\n"

Test(memcg, version_1, .init = setup, .fini = teardown)
{
	const char *cgroups = "5:memory,hugetlb:/a/b\n4:cpu:/other\n0::/\n";

	mount_v1("/");
	make("a");
	make("a/b");
	v1(".", V1_NONE, "900000000\n", "cache 1\n");
	v1("a", V1_NONE, "5000000\n", "cache 1\n");
	v1("a/b", "1000000\n", "990000\n", "cache 7\nactive_file 1\ninactive_file 1\ntotal_active_file 100000\ntotal_inactive_file 200000\n");
	want(cgroups, "/a/b", 1000000, 690000, 310000);
	/* one above is tighter */
	v1("a", "2000000\n", "1999000\n", "total_inactive_file 1000\n");
	want(cgroups, "/a", 2000000, 1998000, 2000);
	/* beyond its limit, as just after it was lowered */
	v1("a", "2000000\n", "2999000\n", "");
	want(cgroups, "/a", 2000000, 2999000, 0);
	v1("a", V1_NONE, "5000000\n", "");
	v1("a/b", V1_NONE, "990000\n", "");
	want(cgroups, NULL, 0, 0, UINT64_MAX);
}

Test(memcg, version_2, .init = setup, .fini = teardown)
{
	mount_v2("/");
	make("a");
	make("a/b");
	v2("a", "max\n", "5000000\n", "anon 1\nactive_file 5\n");
	v2("a/b", "1000000\n", "1000000\n", "anon 1\nactive_file 50000\ninactive_file 30000\nslab_reclaimable 20000\nfile 123\n");
	want("0::/a/b\n", "/a/b", 1000000, 900000, 100000);
	/* the memory controller is not there everywhere */
	make("a/b/c");
	want("0::/a/b/c\n", "/a/b", 1000000, 900000, 100000);
	want("0::/a\n", NULL, 0, 0, UINT64_MAX);
	/* gone meanwhile */
	want("0::/a/x\n", NULL, 0, 0, UINT64_MAX);
	want("", NULL, 0, 0, UINT64_MAX);
	want("0::\n0\n:\n::", NULL, 0, 0, UINT64_MAX);
}

/* In a container what is mounted is its own part. */
Test(memcg, part_of_a_hierarchy, .init = setup, .fini = teardown)
{
	v1(".", "1000000\n", "400000\n", "");
	mount_v1("/docker/1234");
	want("5:memory,hugetlb:/docker/1234\n", "", 1000000, 400000, 600000);
	want("5:memory,hugetlb:/docker/12345\n", NULL, 0, 0, UINT64_MAX);
	want("5:memory,hugetlb:/docker/1234/../5678\n", NULL, 0, 0, UINT64_MAX);
	v2(".", "1000000\n", "300000\n", "");
	mount_v2("/");
	want("0::/\n", "", 1000000, 300000, 700000);
	want("0::/../other\n", NULL, 0, 0, UINT64_MAX);
}

Test(memcg, hostile_files, .init = setup, .fini = teardown)
{
	mount_v2("/");
	make("a");
	v2("a", "-1\n", "5\n", "");
	want("0::/a\n", NULL, 0, 0, UINT64_MAX);
	v2("a", "99999999999999999999999999\n", "5\n", "");
	want("0::/a\n", NULL, 0, 0, UINT64_MAX);
	v2("a", "100\n", "x\n", "");
	want("0::/a\n", NULL, 0, 0, UINT64_MAX);
	/* more that can be given up than there is */
	v2("a", "100\n", "50\n", "active_file 60\ninactive_file\nslab_reclaimable z\n\n");
	want("0::/a\n", "/a", 100, 0, 100);
}

Test(memcg, needs)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	cr_expect_eq(memcg__need_bytes(0), 256 << 10);
	cr_expect_eq(memcg__need_bytes(10), 10 * page + (256 << 10));
}
