// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Processes by their container or pod: cgroups that are called as engines call theirs, with files as engines write them below
 * a directory of the test's.
 */
#include "group.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define POD "0a1b2c3d-4e5f-6789-abcd-%012x"
#define POD_ "0a1b2c3d_4e5f_6789_abcd_%012x"

/* 64 digits that no other test's container has: the first eight are this test's. */
static const char *id_of(unsigned int n)
{
	static char ids[8][65];
	char *id = ids[n % 8];

	snprintf(id, 65, "%08x%08x%s", (unsigned int)getpid(), n, "0123456789abcdef0123456789abcdef0123456789abcdef");
	return id;
}

/* A cgroup below another one; never freed. */
static const char *make_below(struct test *t, const char *cgroup, const char *fmt, const char *id)
{
	char *path = NULL, name[256];

	snprintf(name, sizeof(name), fmt, id);
	must(t, asprintf(&path, "%s/%s/", cgroup, name) > 0, "no memory");
	make_dirs(t, path);
	path[strlen(path) - 1] = 0;
	return path;
}

static int remove_dir(const char *path, const struct stat *st, int kind, struct FTW *f)
{
	(void)st, (void)f;
	return kind == FTW_DP ? rmdir(path) : 0;
}

/* With all below it: their files go by themselves. */
static void remove_cgroups(struct test *t, const char *cgroup)
{
	want(t, !nftw(cgroup, remove_dir, 16, FTW_DEPTH | FTW_PHYS), "rmdir %s: %s", cgroup, strerror(errno));
}

static void write_file(struct test *t, const char *path, const char *text)
{
	FILE *f;

	make_dirs(t, path);
	f = fopen(path, "w");
	must(t, f && fputs(text, f) >= 0 && !fclose(f), "%s: %s", path, strerror(errno));
}

/* Where malloctrace looks for files of engines. */
static const char *engines(struct test *t)
{
	char *text = NULL;

	must(t, asprintf(&text, "MALLOCTRACE_ENGINES=%s", in_dir(t, "engines")) > 0, "no memory");
	return text;
}

static void start_in(struct test *t, struct fx *f, const char *dir, const char *cgroup)
{
	fx__start_as(t, f, &(struct spawn){ .argv = { fixture("group"), dir, "hold" }, .become = enter_cgroup, .become_arg = cgroup });
}

/* How engines call cgroups, and how the user calls the container. */
enum { DOCKER, CONTAINERD, CRIO, PODMAN, N_ENGINES };

static const struct {
	const char *cgroup;	/* with the id for %s */
	unsigned int digits;	/* of the id; 0: a name */
	const char *name;
	const char *file, *text;	/* which says the name */
} engine_rows[N_ENGINES] = {
	[DOCKER] = { "docker/%s", .name = "web", .file = "var/lib/docker/containers/%s/config.v2.json", .text = "{\"ID\":\"%s\",\"Name\":\"/web\"}" },
	[CONTAINERD] = { "k8s.io/%s", .digits = 64 },
	[CRIO] = { "kubepods/pod0a1b2c3d-4e5f-6789-abcd-ef0123456789/crio-%s", .digits = 16 },
	[PODMAN] = { "machine.slice/libpod-%s.scope/container", .name = "db",
		     .file = "var/lib/containers/storage/overlay-containers/containers.json", .text = "[{\"id\":\"%s\",\"names\":[\"db\"]}]" },
};

TEST_ALONE(container_engines)
{
	const char *dir = ledgers(t), *top = make_cgroup(t), *cgroups[N_ENGINES], *beside;
	struct spawn s = { .argv = { lt_bin, "--json", "-v" }, .env = { engines(t) } };
	struct fx now[N_ENGINES], later[N_ENGINES], other, outside;
	unsigned int n = 3;
	struct mt m;
	json_t *root;

	for (unsigned int i = 0; i < N_ENGINES; i++) {
		char *arg = NULL;

		cgroups[i] = make_below(t, top, engine_rows[i].cgroup, id_of(i));
		if (engine_rows[i].file) {
			char path[256], text[256];

			snprintf(path, sizeof(path), engine_rows[i].file, id_of(i));
			snprintf(text, sizeof(text), engine_rows[i].text, id_of(i));
			write_file(t, in_dir(t, "engines/%s", path), text);
		}
		must(t, asprintf(&arg, "%.*s", (int)engine_rows[i].digits, engine_rows[i].name ? "" : id_of(i)) >= 0, "no memory");
		s.argv[n++] = "--container";
		s.argv[n++] = engine_rows[i].name ? engine_rows[i].name : arg;
		start_in(t, &now[i], dir, cgroups[i]);
	}
	beside = make_below(t, top, "docker/%s", id_of(N_ENGINES));
	start_in(t, &other, dir, beside);
	fx__start(t, &outside, "group", dir, "hold", NULL);
	mt__start_v(t, &m, &s);
	mt__wait_attached(t, &m);
	for (unsigned int i = 0; i < N_ENGINES; i++) {
		start_in(t, &later[i], dir, cgroups[i]);
		fx__go(t, &now[i]);
		fx__go(t, &later[i]);
	}
	fx__go(t, &other);
	fx__go(t, &outside);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	for (unsigned int i = 0; i < N_ENGINES; i++) {
		json_t *p = process_of(t, root, now[i].c.pid, 0);

		want_ledger(t, root, p, &now[i].led, LED_ALL);
		want_ledger(t, root, last_life_of(t, root, later[i].c.pid), &later[i].led, LED_ALL);
		want(t, !strcmp(jstr(p, "container"), id_of(i)), "%u: container '%s', not %s", i, jstr(p, "container"), id_of(i));
		want(t, !strcmp(jstr(p, "pod"), i == CRIO ? "0a1b2c3d-4e5f-6789-abcd-ef0123456789" : ""), "%u: pod '%s'", i, jstr(p, "pod"));
		fx__quit(t, &now[i]);
		fx__quit(t, &later[i]);
	}
	want_eq(t, "lives in another container", 0, lives_of(t, root, other.c.pid));
	want_eq(t, "lives in none", 0, lives_of(t, root, outside.c.pid));
	fx__quit(t, &other);
	fx__quit(t, &outside);
	remove_cgroups(t, top);
}

/* Whichever hierarchy it is in, of version 1 or 2: what the others say does not matter. */
TEST_ALONE(container_hierarchies)
{
	static const char *const parents[] = { "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/freezer", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/memory",
					       "/sys/fs/cgroup/unified", "/sys/fs/cgroup" };
	const char *dir = ledgers(t);
	unsigned int n = 0;

	for (unsigned int i = 0; i < sizeof(parents) / sizeof(*parents); i++) {
		char top[128], procs[160], prefix[17];
		struct fx now, other;
		struct mt m;
		json_t *root;

		snprintf(top, sizeof(top), "%s/malloctrace-test-%d", parents[i], getpid());
		snprintf(procs, sizeof(procs), "%s/cgroup.procs", top);
		if (mkdir(top, 0755) || access(procs, W_OK)) {
			rmdir(top);
			continue;
		}
		n++;
		snprintf(prefix, sizeof(prefix), "%.16s", id_of(i));
		start_in(t, &now, dir, make_below(t, top, "system.slice/docker-%s.scope", id_of(i)));
		start_in(t, &other, dir, make_below(t, top, "system.slice/docker-%s.scope", id_of(i + 1)));
		mt__start(t, &m, "--container", prefix, "--json", NULL);
		mt__wait_attached(t, &m);
		fx__go(t, &now);
		fx__go(t, &other);
		root = mt__stop_json(t, &m, SIGINT, 0);
		want_lossless(t, root);
		want_eq(t, parents[i], 1, json_array_size(jget(root, "processes")));
		want_ledger(t, root, process_of(t, root, now.c.pid, 0), &now.led, LED_ALL);
		fx__quit(t, &now);
		fx__quit(t, &other);
		remove_cgroups(t, top);
	}
	if (!n)
		skip(t, "no cgroup can be made below /sys/fs/cgroup");
}

/* All containers of a pod, those that come later too: by its name and by the beginning of its uid. */
TEST_ALONE(pod_now_and_later)
{
	const char *dir = ledgers(t), *top = make_cgroup(t), *pod, *second, *another;
	struct spawn s = { .argv = { lt_bin, "--pod", NULL, "--json", "-v" }, .env = { engines(t) } };
	char uid[40], uid_[40], uid2_[40], name[64], slice[128];
	struct fx now, later, other;
	struct mt m;
	json_t *root;

	snprintf(uid, sizeof(uid), POD, (unsigned int)getpid());
	snprintf(uid_, sizeof(uid_), POD_, (unsigned int)getpid());
	snprintf(uid2_, sizeof(uid2_), POD_, (unsigned int)getpid() | 1u << 24);
	snprintf(name, sizeof(name), "test-%d/cart-0", getpid());
	make_dirs(t, in_dir(t, "engines/var/log/pods/test-%d_cart-0_%s/", getpid(), uid));
	snprintf(slice, sizeof(slice), "kubepods-burstable.slice/kubepods-burstable-pod%s.slice/cri-containerd-%%s.scope", uid_);
	pod = make_below(t, top, slice, id_of(0));
	snprintf(slice, sizeof(slice), "kubepods-burstable.slice/kubepods-burstable-pod%s.slice/cri-containerd-%%s.scope", uid2_);
	another = make_below(t, top, slice, id_of(1));
	for (unsigned int i = 0; i < 2; i++) {
		start_in(t, &now, dir, pod);
		start_in(t, &other, dir, another);
		s.argv[2] = i ? uid_ : name;
		mt__start_v(t, &m, &s);
		mt__wait_attached(t, &m);
		/* a container that the pod has from now on */
		snprintf(slice, sizeof(slice), "kubepods-burstable.slice/kubepods-burstable-pod%s.slice/crio-%%s.scope", uid_);
		second = make_below(t, top, slice, id_of(2 + i));
		start_in(t, &later, dir, second);
		fx__go(t, &now);
		fx__go(t, &later);
		fx__go(t, &other);
		root = mt__stop_json(t, &m, SIGINT, 0);
		want_lossless(t, root);
		want_ledger(t, root, process_of(t, root, now.c.pid, 0), &now.led, LED_ALL);
		want_ledger(t, root, last_life_of(t, root, later.c.pid), &later.led, LED_ALL);
		want_eq(t, "lives in another pod", 0, lives_of(t, root, other.c.pid));
		want(t, !strcmp(jstr(process_of(t, root, now.c.pid, 0), "pod"), name), "pod '%s'", jstr(process_of(t, root, now.c.pid, 0), "pod"));
		want(t, !strcmp(jstr(last_life_of(t, root, later.c.pid), "container"), id_of(2 + i)), "container '%s'",
		     jstr(last_life_of(t, root, later.c.pid), "container"));
		fx__quit(t, &now);
		fx__quit(t, &later);
		fx__quit(t, &other);
	}
	remove_cgroups(t, top);
}

static int run_with(struct test *t, struct mt *m, const char *command, const char *option, const char *value)
{
	struct spawn s = { .argv = { lt_bin, option, value, command }, .env = { engines(t) } };

	mt__start_v(t, m, &s);
	return child__wait(t, &m->c);
}

static void want_said(struct test *t, const struct mt *m, const char *text)
{
	want(t, strstr(m->c.errs.s, text) != NULL, "stderr lacks '%s': %s", text, m->c.errs.s);
}

/* What is not there, and what is there twice: it is said what was looked for, where, and what there is. */
TEST_ALONE(container_not_found)
{
	const char *top = make_cgroup(t);
	char prefix[9], row[128], uid[40], slice[64];
	struct mt m;

	snprintf(prefix, sizeof(prefix), "%.8s", id_of(0));
	make_below(t, top, "docker/%s", id_of(0));
	make_below(t, top, "machine.slice/libpod-%s.scope", id_of(1));
	snprintf(uid, sizeof(uid), POD, (unsigned int)getpid());
	snprintf(slice, sizeof(slice), "kubepods/pod%s/%%s", uid);
	make_below(t, top, slice, id_of(2));
	write_file(t, in_dir(t, "engines/var/lib/docker/containers/%s/config.v2.json", id_of(0)), "{\"Name\":\"/web\\u001b[2J\"}");
	make_dirs(t, in_dir(t, "engines/var/log/pods/shop_cart-0_%s/", uid));

	want_eq(t, "exit status", 1, (uint64_t)run_with(t, &m, NULL, "--container", "wbe"));
	want_said(t, &m, "malloctrace: --container wbe: no such container: want an id, the first 4 digits of one or more, or a name; looked for in cgroups "
			 "below /sys/fs/cgroup, names in /var/lib/docker, ");
	snprintf(row, sizeof(row), "\n  docker      %.12s  web?[2J\n", id_of(0));
	want_said(t, &m, row);
	snprintf(row, sizeof(row), "\n  podman      %.12s\n", id_of(1));
	want_said(t, &m, row);
	snprintf(row, sizeof(row), "\n  kubernetes  %.12s  in pod shop/cart-0", id_of(2));
	want_said(t, &m, row);

	/* three have these digits */
	want_eq(t, "exit status", 2, (uint64_t)run_with(t, &m, NULL, "--container", prefix));
	want_said(t, &m, ": 3 containers match; give more digits of the id, or the cgroup with --cgroup:\n  docker ");
	snprintf(row, sizeof(row), "/docker/%.44s", id_of(0));
	want_said(t, &m, row);
	want_eq(t, "exit status", 1, (uint64_t)run_with(t, &m, NULL, "--pod", "cart-1"));
	want_said(t, &m, "malloctrace: --pod cart-1: no such pod: want a uid, the first 4 digits of one or more, NAME or NAMESPACE/NAME; ");
	snprintf(row, sizeof(row), "\n  kubernetes  %s  shop/cart-0", uid);
	want_said(t, &m, row);

	want_eq(t, "exit status of doctor", 1, (uint64_t)run_with(t, &m, "doctor", "--pod", "cart-1"));
	want(t, strstr(m.c.outs.s, "no: --pod cart-1: no such pod") != NULL, "stdout: %s", m.c.outs.s);
	want_eq(t, "exit status of doctor", 0, (uint64_t)run_with(t, &m, "doctor", "--pod", "cart-0"));
	want(t, strstr(m.c.outs.s, "these processes") != NULL, "stdout: %s", m.c.outs.s);
	want_eq(t, "exit status of doctor", 0, (uint64_t)run_with(t, &m, "doctor", "--container", id_of(1)));
	remove_cgroups(t, top);
}
