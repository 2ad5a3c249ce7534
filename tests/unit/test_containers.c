// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Containers and pods by directories that stand for hierarchies of cgroups, with files as engines write them. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/containers.h"
#include "util/util.h"

#define A "aaaa111122223333444455556666777788889999aaaabbbbccccddddeeeeffff"
#define A2 "aaaa222222223333444455556666777788889999aaaabbbbccccddddeeeeffff"
#define B "bbbb111122223333444455556666777788889999aaaabbbbccccddddeeeeffff"
#define C "cccc111122223333444455556666777788889999aaaabbbbccccddddeeeeffff"
#define D "dddd111122223333444455556666777788889999aaaabbbbccccddddeeeeffff"
#define POD "0a1b2c3d-4e5f-6789-abcd-ef0123456789"
#define POD_ "0a1b2c3d_4e5f_6789_abcd_ef0123456789"
#define POD2 "0a1bffff-4e5f-6789-abcd-ef0123456789"
#define USER 4711

static char top[64];

static void setup(void)
{
	snprintf(top, sizeof(top), "/tmp/mt-containers-XXXXXX");
	cr_assert_not_null(mkdtemp(top));
}

static void teardown(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", top);
	cr_assert_eq(system(command), 0);
}

/* All directories of a path below the top; with text, its last part is a file. */
static void make(const char *below, const char *text)
{
	char path[1024];
	FILE *f;

	snprintf(path, sizeof(path), "%s%s", top, below);
	for (char *s = path + strlen(top) + 1; (s = strchr(s, '/')); s++) {
		*s = 0;
		mkdir(path, 0755);
		*s = '/';
	}
	if (!text) {
		mkdir(path, 0755);
		return;
	}
	f = fopen(path, "w");
	cr_assert(f && fputs(text, f) >= 0 && !fclose(f), "%s", path);
}

/* One hierarchy of version 2, and two of version 1, one of which begins below its root. */
static void find(enum container_kind kind, struct containers *ret)
{
	_cleanup_free_ char *mounts = NULL;

	cr_assert_gt(asprintf(&mounts,
			      "25 1 8:1 / / rw - ext4 /dev/sda rw\n"
			      "33 25 0:30 / %s/unified rw - cgroup2 cgroup2 rw\n"
			      "34 25 0:31 / %s/pids rw - cgroup cgroup rw,pids\n"
			      "35 25 0:32 /box %s/memory rw - cgroup cgroup rw,memory\n"
			      "36 25 0:33 / %s/other rw - ext4 /dev/sda rw\n", top, top, top, top), 0);
	containers__find(mounts, top, kind, ret);
}

static const struct container *only(const struct containers *c, const char *what)
{
	struct container_picks picks = {};
	const struct container *one;

	containers__pick(c, what, &picks);
	cr_expect_eq(picks.n, 1, "%s: %zu", what, picks.n);
	one = picks.n == 1 ? picks.v[0] : NULL;
	vec_done(&picks);
	return one;
}

static size_t n_of(const struct containers *c, const char *what)
{
	struct container_picks picks = {};
	size_t n;

	containers__pick(c, what, &picks);
	n = picks.n;
	vec_done(&picks);
	return n;
}

static void want_id(const struct containers *c, const char *what, const char *id)
{
	const struct container *one = only(c, what);

	cr_expect(one && !strcmp(one->id, id), "%s is %s", what, one ? one->id : "none");
}

Test(containers, in_hierarchies, .init = setup, .fini = teardown)
{
	struct containers c = {};
	const struct container *one;

	make("/unified/system.slice/docker-" A ".scope/init.scope", NULL);
	make("/pids/system.slice/docker-" A ".scope", NULL);
	make("/memory/docker/" B, NULL);
	make("/pids/lxc/web", NULL);
	make("/other/docker/" C, NULL);
	find(CONTAINER_ITSELF, &c);
	cr_expect_eq(c.n, 3);
	one = only(&c, A);
	cr_assert(one);
	cr_expect_str_eq(one->engine, "docker");
	cr_expect_str_eq(one->path, "/system.slice/docker-" A ".scope");
	cr_expect_eq(one->dirs.n, 2, "one for each hierarchy");
	one = only(&c, B);
	cr_assert(one);
	cr_expect_str_eq(one->path, "/box/docker/" B);
	cr_assert_eq(one->dirs.n, 1);
	cr_expect(!strncmp(one->dirs.v[0], top, strlen(top)) && !strcmp(one->dirs.v[0] + strlen(top), "/memory/docker/" B), "%s", one->dirs.v[0]);
	want_id(&c, "web", "web");
	cr_expect_eq(n_of(&c, "we"), 0);
	cr_expect_eq(n_of(&c, C), 0);
	containers__done(&c);
}

Test(containers, prefixes, .init = setup, .fini = teardown)
{
	struct containers c = {};

	make("/unified/docker/" A, NULL);
	make("/unified/docker/" A2, NULL);
	make("/unified/lxc.payload.aaaab", NULL);
	find(CONTAINER_ITSELF, &c);
	cr_assert_eq(c.n, 3);
	cr_expect_eq(n_of(&c, "aaaa"), 2);
	cr_expect_eq(n_of(&c, "aaa"), 0, "too short");
	cr_expect_eq(n_of(&c, "aaaa0"), 0);
	cr_expect_eq(n_of(&c, A "0"), 0);
	want_id(&c, "aaaa1", A);
	want_id(&c, "AAAA1111", A);
	want_id(&c, A2, A2);
	want_id(&c, "aaaab", "aaaab");
	containers__done(&c);
}

/* Somebody calls a cgroup like another's container: there are two then. What is below a container is in it. */
Test(containers, two_places, .init = setup, .fini = teardown)
{
	struct containers c = {};

	make("/unified/docker/" A "/docker/" A, NULL);
	make("/unified/docker/" B, NULL);
	make("/unified/user.slice/user-4711.slice/docker-" B ".scope", NULL);
	find(CONTAINER_ITSELF, &c);
	cr_expect_eq(c.n, 3);
	cr_expect_eq(n_of(&c, A), 1);
	cr_expect_eq(n_of(&c, B), 2);
	containers__done(&c);
}

Test(containers, names, .init = setup, .fini = teardown)
{
	struct containers c = {};

	make("/unified/docker/" A, NULL);
	make("/unified/machine.slice/libpod-" B ".scope/container", NULL);
	make("/unified/kubepods/pod" POD "/" C, NULL);
	make("/var/lib/docker/containers/" A "/config.v2.json", "{\"ID\":\"" A "\",\"Name\":\"/web\",\"State\":{}}");
	make("/var/lib/containers/storage/overlay-containers/containers.json",
	     "[{\"id\":\"" D "\",\"names\":[\"old\"]},{\"id\":\"" B "\",\"names\":[\"db\",\"db\\u001b[2J\"]}]");
	make("/var/log/containers/cart-0_shop_app-" C ".log", "");
	find(CONTAINER_ITSELF, &c);
	cr_assert_eq(c.n, 3);
	want_id(&c, "web", A);
	want_id(&c, "db", B);
	want_id(&c, "db?[2J", B);
	want_id(&c, "app", C);
	cr_expect_eq(n_of(&c, "old"), 0, "it does not run");
	cr_expect_str_eq(only(&c, C)->pod, POD);
	containers__done(&c);
}

/* Those that go with their end are in a list of their own; a name is before the beginning of another one's id. */
Test(containers, volatile_and_order, .init = setup, .fini = teardown)
{
	struct containers c = {};

	make("/pids/libpod_parent/libpod-" A, NULL);
	make("/pids/libpod_parent/libpod-" B, NULL);
	make("/var/lib/containers/storage/vfs-containers/volatile-containers.json", "[{\"id\":\"" B "\",\"names\":[\"aaaa\"]}]");
	find(CONTAINER_ITSELF, &c);
	cr_assert_eq(c.n, 2);
	want_id(&c, "aaaa", B);
	want_id(&c, "aaaa1", A);
	containers__done(&c);
}

/* What a user has written at home names that user's containers, and no others. */
Test(containers, homes, .init = setup, .fini = teardown)
{
	static const char list[] = "[{\"id\":\"" A "\",\"names\":[\"mine\"]},{\"id\":\"" B "\",\"names\":[\"yours\"]}]";
	static const char *const file = "/home/u/.local/share/containers/storage/overlay-containers/containers.json";
	struct containers c = {};
	char path[256];

	if (geteuid())
		cr_skip_test("only root may give files away");
	make("/unified/user.slice/user-4711.slice/user@4711.service/user.slice/libpod-" A ".scope", NULL);
	make("/unified/machine.slice/libpod-" B ".scope", NULL);
	make(file, list);
	snprintf(path, sizeof(path), "%s/home/u", top);
	cr_assert_eq(chown(path, USER, USER), 0);
	/* a file that is not the user's is not read */
	find(CONTAINER_ITSELF, &c);
	cr_expect_eq(n_of(&c, "mine"), 0);
	containers__done(&c);
	snprintf(path, sizeof(path), "%s%s", top, file);
	cr_assert_eq(chown(path, USER, USER), 0);
	find(CONTAINER_ITSELF, &c);
	cr_assert_eq(c.n, 2);
	want_id(&c, "mine", A);
	cr_expect_eq(n_of(&c, "yours"), 0);
	containers__done(&c);
}

/* Whoever may make cgroups may call thousands of them as one container is called, and give that one thousands of names. */
Test(containers, thousands_of_one_id, .init = setup, .fini = teardown)
{
	static const char *const file = "/var/lib/containers/storage/overlay-containers/containers.json";
	struct containers c = {};
	_cleanup_free_ char *list = NULL;
	uint64_t began_ns;
	char path[128];
	size_t len;
	FILE *out = text_stream__open(&list, &len);

	for (int i = 0; i < 60000; i++)
		fprintf(out, "%s{\"id\":\"" A "\",\"names\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\"]}", i ? "," : "[");
	fputc(']', out);
	text_stream__close(out);
	make(file, list);
	for (int i = 0; i < 4000; i++) {
		snprintf(path, sizeof(path), "/unified/%d/libpod-" A ".scope", i);
		make(path, NULL);
	}
	began_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	find(CONTAINER_ITSELF, &c);
	cr_expect_lt(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began_ns, 8 * SECOND_NS);
	cr_expect_eq(c.n, 64);
	cr_expect_eq(n_of(&c, "1"), geteuid() ? 0 : 64);
	containers__done(&c);
}

Test(containers, pods, .init = setup, .fini = teardown)
{
	struct containers c = {};
	const struct container *one;

	make("/unified/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_ ".slice/cri-containerd-" A ".scope", NULL);
	/* where containerd was not told of systemd, its containers are beside each other */
	make("/pids/system.slice/containerd.service/kubepods-pod" POD2 ".slice:cri-containerd:" B, NULL);
	make("/pids/system.slice/containerd.service/kubepods-pod" POD2 ".slice:cri-containerd:" C, NULL);
	make("/pids/libpod_parent/" D, NULL);
	make("/var/log/pods/shop_cart-0_" POD "/app", NULL);
	make("/var/log/pods/test_cart-0_" POD2, NULL);
	make("/var/log/pods/test_cart-1_0a1b0000-4e5f-6789-abcd-ef0123456789", NULL);
	make("/var/log/pods/test_cart\x1b[2J_" POD2, NULL);
	find(CONTAINER_POD, &c);
	cr_assert_eq(c.n, 3);
	want_id(&c, POD, POD);
	want_id(&c, POD_, POD);
	want_id(&c, "0a1b2", POD);
	want_id(&c, "0a1bffff_4e5f", POD2);
	want_id(&c, "shop/cart-0", POD);
	want_id(&c, "test/cart-0", POD2);
	want_id(&c, "dddd", D);
	cr_expect_eq(n_of(&c, "cart-0"), 2);
	cr_expect_eq(n_of(&c, "0a1b"), 2);
	cr_expect_eq(n_of(&c, "cart-1"), 0, "it does not run");
	one = only(&c, POD2);
	cr_assert(one);
	cr_expect_eq(one->dirs.n, 2);
	cr_expect_eq(one->names.n, 2, "no name has control characters");
	containers__done(&c);
}

/* ---- what is in files */

static char told[1024];

static void note(const struct engine_named *n, void *arg)
{
	(void)arg;
	snprintf(told + strlen(told), sizeof(told) - strlen(told), "%s%s:%s=%.8s", *told ? " " : "", n->ns ? n->ns : "", n->name, n->id);
}

Test(engine_files, entries)
{
	static const struct {
		bool (*parse)(char *, struct engine_named *);
		const char *entry, *wanted;	/* NULL: it is none */
	} t[] = {
		{ pod_log__parse, "kube-system_etcd-n1_3f2a9d8c7b6e5f4a3b2c1d0e9f8a7b6c", "kube-system:etcd-n1=3f2a9d8c" },
		{ pod_log__parse, "a_b_" POD, "a:b=0a1b2c3d" },
		{ pod_log__parse, "a_b", NULL },
		{ pod_log__parse, "_b_" POD, NULL },
		{ pod_log__parse, "a_b_c_" POD, NULL },
		{ pod_log__parse, "a_b/../c_" POD, NULL },
		{ pod_log__parse, "a_b_xyz", NULL },
		{ pod_log__parse, ".", NULL },
		{ container_log__parse, "cart-0_shop_app-" A ".log", ":app=aaaa1111" },
		{ container_log__parse, "cart-0_shop_app-" A, NULL },
		{ container_log__parse, "cart-0_shop_-" A ".log", NULL },
		{ container_log__parse, "cart-0_shop_app-1.log", NULL },
		{ container_log__parse, ".log", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		_cleanup_free_ char *entry = strdup(t[i].entry);
		struct engine_named n;

		told[0] = 0;
		if (t[i].parse(entry, &n))
			note(&n, NULL);
		cr_expect_str_eq(told, t[i].wanted ? t[i].wanted : "", "%s", t[i].entry);
	}
}

Test(engine_files, json)
{
	static const char *const nonsense[] = { "", "[", "{}", "[]", "null", "{\"Name\":7}", "{\"Name\":null}", "{\"Name\":\"\"}", "{\"Name\":\"/\"}", "[[]]",
						"[{\"id\":7,\"names\":[\"x\"]}]", "[{\"id\":\"a\",\"names\":\"x\"}]", "[{\"id\":\"a\",\"names\":[7,{},\"\"]}]", "\xff\xfe" };
	char long_name[400];

	for (size_t i = 0; i < ARRAY_SIZE(nonsense); i++) {
		told[0] = 0;
		docker_config__parse(nonsense[i], A, 0, note, NULL);
		storage_list__parse(nonsense[i], 0, note, NULL);
		cr_expect_str_eq(told, "", "%s", nonsense[i]);
	}
	told[0] = 0;
	docker_config__parse("{\"Name\":\"/a\\nb\\u001b\"}", A, 0, note, NULL);
	storage_list__parse("[{\"id\":\"" B "\",\"names\":[\"x\",\"y\"]},7,{\"names\":[\"z\"]}]", 0, note, NULL);
	cr_expect_str_eq(told, ":a?b?=aaaa1111 :x=bbbb1111 :y=bbbb1111");
	snprintf(long_name, sizeof(long_name), "{\"Name\":\"%0300d\"}", 1);
	told[0] = 0;
	docker_config__parse(long_name, A, 0, note, NULL);
	cr_expect_str_eq(told, "");
}

/* Whoever holds a lease on a file may have those who open it wait for 45 seconds. */
Test(engine_files, leased, .init = setup, .fini = teardown)
{
	static const char *const file = "/var/lib/docker/containers/" A "/config.v2.json";
	uint64_t from_ns = now_ns();
	char path[256];
	int fd;

	make(file, "{\"Name\":\"web\"}");
	snprintf(path, sizeof(path), "%s%s", top, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	signal(SIGIO, SIG_IGN);
	if (fcntl(fd, F_SETLEASE, F_WRLCK))
		cr_skip_test("no leases on this file system");
	told[0] = 0;
	engine_files__docker(top, -1, geteuid(), A, note, NULL);
	cr_expect_str_eq(told, "");
	cr_expect_lt(now_ns() - from_ns, 5 * SECOND_NS);
	close(fd);
}

/* Neither a link nor a FIFO nor more than the bound is read. */
Test(engine_files, no_regular_file, .init = setup, .fini = teardown)
{
	static const char *const file = "/var/lib/docker/containers/" A "/config.v2.json";
	char path[256], real[128];
	FILE *f;

	make(file, "{\"Name\":\"web\"}");
	snprintf(path, sizeof(path), "%s%s", top, file);
	snprintf(real, sizeof(real), "%s/real", top);
	told[0] = 0;
	engine_files__docker(top, -1, geteuid(), A, note, NULL);
	cr_expect_str_eq(told, ":web=aaaa1111");
	told[0] = 0;
	engine_files__docker(top, -1, geteuid() + 1, A, note, NULL);
	cr_expect_str_eq(told, "", "of another user");
	cr_assert(!rename(path, real) && !symlink(real, path));
	engine_files__docker(top, -1, geteuid(), A, note, NULL);
	cr_expect_str_eq(told, "", "a link");
	cr_assert(!unlink(path) && !mkfifo(path, 0600));
	engine_files__docker(top, -1, geteuid(), A, note, NULL);
	cr_expect_str_eq(told, "", "a FIFO");
	cr_assert(!unlink(path) && !rename(real, path));
	f = fopen(path, "a");
	cr_assert(f);
	cr_assert_geq(fprintf(f, "%*s", 1 << 20, ""), 0);
	cr_assert_eq(fclose(f), 0);
	engine_files__docker(top, -1, geteuid(), A, note, NULL);
	cr_expect_str_eq(told, "", "more than the bound");
}
