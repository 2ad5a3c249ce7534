// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Who is traced: names, cgroups, children. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "options/opts.h"
#include "tracee/tracee.h"

static const char mounts[] =
	"33 25 0:30 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
	"34 33 0:31 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
	"37 33 0:34 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory,clone_children\n"
	"42 33 0:39 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,release_agent=/x,name=systemd\n"
	"43 33 0:40 /box /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n"
	"44 33 0:41 / /somewhere/else rw - ext4 /dev/sda rw\n"
	"nonsense\n45 33\n46 33 0:1 / - cgroup\n";

static void check(const char *arg, const char *hierarchy, const char *path)
{
	struct selection_cgroup c;

	selection__parse_cgroup(arg, mounts, &c);
	if (hierarchy)
		cr_expect_str_eq(c.hierarchy, hierarchy, "%s", arg);
	else
		cr_expect_null(c.hierarchy, "%s", arg);
	cr_expect_str_eq(c.path, path, "%s", arg);
	free(c.hierarchy);
	free(c.path);
}

Test(selection, cgroup_paths)
{
	check("/sys/fs/cgroup/memory/docker/ab/", "memory", "/docker/ab");
	check("/sys/fs/cgroup/memory", "memory", "");
	check("/sys/fs/cgroup/memoryless", NULL, "/sys/fs/cgroup/memoryless");
	check("/sys/fs/cgroup/cpu,cpuacct/a", "cpu,cpuacct", "/a");
	check("/sys/fs/cgroup/systemd/system.slice", "name=systemd", "/system.slice");
	check("/sys/fs/cgroup/unified/a.service", "", "/box/a.service");
	check("/system.slice/a.service", NULL, "/system.slice/a.service");
	check("system.slice/a.service//", NULL, "/system.slice/a.service");
	check("///system.slice//a.service", NULL, "/system.slice/a.service");
	check("./system.slice/./a.service/.", NULL, "/system.slice/a.service");
	check("/", NULL, "");
}

static bool wants(const char *line, const char *comm, const char *cgroups)
{
	char text[256], *argv[16] = { "malloctrace" }, *save = NULL;
	struct selection g;
	struct opts o;
	int n = 1;
	bool is;

	snprintf(text, sizeof(text), "%s", line);
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[n++] = w;
	cr_assert_eq(opts__parse(&o, n, argv, NULL), 0, "%s", line);
	selection__init(&g, o.all, o.follow, &o.comms, &o.cgroups);
	is = selection__wants(&g, comm, cgroups);
	selection__done(&g);
	opts__done(&o);
	return is;
}

Test(selection, selects)
{
	static const char here[] = "9:name=systemd:/\n4:memory:/docker/abc\n0::/system.slice/a.service\n";

	cr_expect(wants("--comm nginx", "nginx", NULL));
	cr_expect(!wants("--comm nginx", "nginx2", NULL));
	cr_expect(wants("--comm nginx*", "nginx2", NULL));
	cr_expect(wants("--comm a --comm b[0-9]", "b7", NULL));
	cr_expect(!wants("--comm a --comm b[0-9]", "bx", NULL));
	/* the kernel keeps 15 letters */
	cr_expect(wants("--comm a-name-of-20-letters", "a-name-of-20-le", NULL));
	cr_expect(!wants("--comm a-name-of-20-letters", "a-name-of-20", NULL));
	cr_expect(wants("--cgroup /docker/abc", "x", here));
	cr_expect(wants("--cgroup /docker", "x", here));
	cr_expect(wants("--cgroup docker", "x", here));
	cr_expect(!wants("--cgroup /docker/ab", "x", here));
	cr_expect(!wants("--cgroup /docker/abc/d", "x", here));
	cr_expect(wants("--cgroup /system.slice/a.service", "x", here));
	cr_expect(wants("--cgroup /nowhere --cgroup /system.slice", "x", here));
	cr_expect(!wants("--cgroup /docker", "x", NULL));
	/* both must hold */
	cr_expect(wants("--comm x --cgroup /docker", "x", here));
	cr_expect(!wants("--comm y --cgroup /docker", "x", here));
	cr_expect(!wants("--comm x --cgroup /podman", "x", here));
}

Test(selection, adopts)
{
	struct selection g;
	struct opts o;

	static const struct {
		char *argv[5];
		int n;
		enum mt_adopt adopt;
		bool selects;
	} t[] = {
		{ { "malloctrace", "-p", "1" }, 3, MT_ADOPT_NONE, false },
		{ { "malloctrace", "-p", "1", "-f" }, 4, MT_ADOPT_CHILDREN, false },
		{ { "malloctrace", "-a" }, 2, MT_ADOPT_ALL, false },
		{ { "malloctrace", "--comm", "x", "-f" }, 4, MT_ADOPT_ALL, true },
		{ { "malloctrace", "--cgroup", "x" }, 3, MT_ADOPT_ALL, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		char *argv[6];

		memcpy(argv, t[i].argv, sizeof(t[i].argv));
		cr_assert_eq(opts__parse(&o, t[i].n, argv, NULL), 0);
		selection__init(&g, o.all, o.follow, &o.comms, &o.cgroups);
		cr_expect_eq(g.adopt, t[i].adopt, "%zu", i);
		cr_expect_eq(selection__selects(&g), t[i].selects, "%zu", i);
		selection__done(&g);
		opts__done(&o);
	}
}
