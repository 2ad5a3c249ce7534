// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What the path of a cgroup tells of containers, pods and services. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "process/containers.h"
#include "util/util.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2 "feedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeedfeed"
#define UID "0a1b2c3d-4e5f-6789-abcd-ef0123456789"
#define UID_ "0a1b2c3d_4e5f_6789_abcd_ef0123456789"
#define HASH "3f2a9d8c7b6e5f4a3b2c1d0e9f8a7b6c"

enum whose { BELOW = 0, CONTAINER = 1, POD = 2 };

static const struct {
	const char *path, *engine, *container, *pod, *unit;
	unsigned int own;	/* enum whose: the last part names it */
} rows[] = {
	{ .path = "" },
	{ .path = "/" },
	{ .path = "///" },
	{ .path = "relative" },
	/* docker: by systemd, by itself, by systemd without root, below a parent of the user's */
	{ .path = "/system.slice/docker-" ID ".scope", "docker", ID, .own = CONTAINER },
	{ .path = "/docker/" ID, "docker", ID, .own = CONTAINER },
	{ .path = "/docker/" ID "/", "docker", ID, .own = CONTAINER },
	{ .path = "/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID ".scope", "docker", ID, NULL, "user@1000.service", CONTAINER },
	{ .path = "/actions_job/" ID, "unknown", ID, .own = CONTAINER },
	{ .path = "/system.slice:docker:" ID, "docker", ID, .own = CONTAINER },
	/* containerd: nerdctl, ctr, the plug-in of Kubernetes */
	{ .path = "/system.slice/nerdctl-" ID ".scope", "containerd", ID, .own = CONTAINER },
	{ .path = "/default/" ID, "containerd", ID, .own = CONTAINER },
	{ .path = "/default/redis", "containerd", "redis", .own = CONTAINER },
	{ .path = "/default/redis/worker", "containerd", "redis" },
	{ .path = "/k8s.io/" ID, "containerd", ID, .own = CONTAINER },
	{ .path = "/system.slice/default/redis" },
	/* podman: by systemd, by itself, without root, of a unit; crun has one below */
	{ .path = "/machine.slice/libpod-" ID ".scope", "podman", ID, .own = CONTAINER },
	{ .path = "/machine.slice/libpod-" ID ".scope/container", "podman", ID },
	{ .path = "/libpod_parent/libpod-" ID, "podman", ID, .own = CONTAINER },
	{ .path = "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope", "podman", ID, NULL, "user@1000.service", CONTAINER },
	{ .path = "/system.slice/web.service/libpod-payload-" ID, "podman", ID, NULL, "web.service", CONTAINER },
	{ .path = "/machine.slice/libpod-conmon-" ID ".scope" },
	{ .path = "/libpod_parent/conmon" },
	/* pods of podman */
	{ .path = "/machine.slice/machine-libpod_pod_" ID2 ".slice", NULL, NULL, ID2, .own = POD },
	{ .path = "/machine.slice/machine-libpod_pod_" ID2 ".slice/libpod-" ID ".scope", "podman", ID, ID2, .own = CONTAINER },
	{ .path = "/user.slice/user-1000.slice/user@1000.service/user.slice/user-libpod_pod_" ID2 ".slice/libpod-" ID ".scope/container", "podman", ID, ID2,
	  "user@1000.service" },
	{ .path = "/libpod_parent/" ID2, NULL, NULL, ID2, .own = POD },
	{ .path = "/libpod_parent/" ID2 "/libpod-" ID, "podman", ID, ID2, .own = CONTAINER },
	/* what podman starts to ask after a container's health */
	{ .path = "/system.slice/" ID ".service", NULL, NULL, NULL, ID ".service" },
	{ .path = "/system.slice/" ID "-2f.service", NULL, NULL, NULL, ID "-2f.service" },
	/* Kubernetes by systemd: of each quality of service, of a file, in a container of its own (kind) */
	{ .path = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice", NULL, NULL, UID, .own = POD },
	{ .path = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice/cri-containerd-" ID ".scope", "containerd", ID, UID, .own = CONTAINER },
	{ .path = "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_ ".slice/docker-" ID ".scope", "docker", ID, UID, .own = CONTAINER },
	{ .path = "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope", "cri-o", ID, UID, .own = CONTAINER },
	{ .path = "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope/container", "cri-o", ID, UID },
	{ .path = "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-conmon-" ID ".scope", NULL, NULL, UID },
	{ .path = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" HASH ".slice/cri-containerd-" ID ".scope", "containerd", ID, HASH, .own = CONTAINER },
	{ .path = "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_ ".slice/cri-containerd-" ID ".scope", "containerd", ID, UID, .own = CONTAINER },
	{ .path = "/docker/" ID2 "/kubelet/kubepods/besteffort/pod" UID "/" ID, "kubernetes", ID, UID, .own = CONTAINER },
	/* ... where containerd was not told so */
	{ .path = "/system.slice/containerd.service/kubepods-burstable-pod" UID_ ".slice:cri-containerd:" ID, "containerd", ID, UID, "containerd.service",
	  CONTAINER | POD },
	/* ... and by itself */
	{ .path = "/kubepods/besteffort/pod" UID, NULL, NULL, UID, .own = POD },
	{ .path = "/kubepods/besteffort/pod" UID "/" ID, "kubernetes", ID, UID, .own = CONTAINER },
	{ .path = "/kubepods/burstable/pod" UID "/crio-" ID, "cri-o", ID, UID, .own = CONTAINER },
	{ .path = "/kubepods/pod" HASH "/" ID, "kubernetes", ID, HASH, .own = CONTAINER },
	{ .path = "/kubepods.slice/pod" UID "/" ID, "kubernetes", ID, UID, .own = CONTAINER },
	{ .path = "/crio-" ID, "cri-o", ID, .own = CONTAINER },
	/* LXC, LXD: today and before; who watches over it is outside */
	{ .path = "/lxc.payload.web", "lxc", "web", .own = CONTAINER },
	{ .path = "/lxc.payload.web/system.slice/nginx.service", "lxc", "web", NULL, "nginx.service" },
	{ .path = "/lxc.payload/web-2", "lxc", "web-2", .own = CONTAINER },
	{ .path = "/lxc/101", "lxc", "101", .own = CONTAINER },
	{ .path = "/lxc/101/ns", "lxc", "101" },
	{ .path = "/lxc.monitor.web" },
	{ .path = "/lxc" },
	{ .path = "/lxc.payload." },
	/* systemd's own, and what libvirt registers there */
	{ .path = "/machine.slice/machine-web.scope", "machined", "web", .own = CONTAINER },
	{ .path = "/machine.slice/machine-web\\x2d1.scope/payload/init.scope", "machined", "web-1" },
	{ .path = "/machine.slice/machine-web\\x1b[2J\\x0a.scope", "machined", "web?[2J?", .own = CONTAINER },
	{ .path = "/machine.slice/systemd-nspawn@web.service", "nspawn", "web", NULL, "systemd-nspawn@web.service", CONTAINER },
	{ .path = "/machine.slice/machine-qemu\\x2d1\\x2dvm.scope" },
	{ .path = "/machine.slice/machine-..\\x2f..\\x2fetc.scope", "machined", "..\\x2f..\\x2fetc", .own = CONTAINER },
	{ .path = "/machine.slice/machine-\\x00.scope", "machined", "\\x00", .own = CONTAINER },
	{ .path = "/machine.slice/machine-web\\x0.scope", "machined", "web\\x0", .own = CONTAINER },
	/* a container in a container: the innermost */
	{ .path = "/docker/" ID "/docker/" ID2, "docker", ID2, .own = CONTAINER },
	{ .path = "/docker/" ID "/system.slice/nginx.service", "docker", ID, NULL, "nginx.service" },
	/* services */
	{ .path = "/system.slice/nginx.service", .unit = "nginx.service" },
	{ .path = "/system.slice/system-getty.slice/getty@tty1.service", .unit = "getty@tty1.service" },
	{ .path = "/system.slice/nginx.service/worker", .unit = "nginx.service" },
	{ .path = "/user.slice/user-1000.slice/user@1000.service/app.slice/app-editor.service", .unit = "app-editor.service" },
	{ .path = "/user.slice/user-1000.slice/session-3.scope" },
	{ .path = "/system.slice" },
	/* nearly */
	{ .path = "/system.slice/.service" },
	{ .path = "/system.slice/nginx.services" },
	{ .path = "/system.slice/nginx.socket" },
	{ .path = "/system.slice/var-lib-docker-overlay2-" ID "-merged.mount" },
	{ .path = "/docker/0123456789abcdef" },
	{ .path = "/docker/0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF" },
	{ .path = "/docker/x" ID },
	{ .path = "/docker/" ID "0" },
	{ .path = "/docker/0123456789abcdef0123456789abcdef/0123456789abcdef0123456789abcdef" },
	{ .path = "/docker/----------------------------------------------------------------" },
	{ .path = "/docker/../../" ID ".service", .unit = ID ".service" },
	{ .path = "/kubepods/pod1" },
	{ .path = "/kubepods/pod" UID "0" },
	{ .path = "/kubepods/pod" HASH "00" },
	{ .path = "/kubepods/pod0a1b2c3d-4e5f-6789-abcd-ef012345678-" },
	{ .path = "/kubepods/pod------------------------------------" },
	{ .path = "/kubepods/tripod" UID },
	{ .path = "/kubepods.slice/kubepods-pod" UID_ ".slices" },
	{ .path = "/kubepods.slice/kubepods-burstable-pod0a1b2c3d_4e5f.slice/cri-containerd-" ID ".scope", "containerd", ID, .own = CONTAINER },
};

static void check(const char *path, const char *what, const char *got, const char *wanted)
{
	cr_expect(got && wanted ? !strcmp(got, wanted) : !got && !wanted, "%s: %s is %s, not %s", path, what, got, wanted);
}

Test(cgroup, paths)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cgroup_place p;

		cgroup__recognise(rows[i].path, &p);
		check(rows[i].path, "engine", p.engine, rows[i].engine);
		check(rows[i].path, "container", p.container, rows[i].container);
		check(rows[i].path, "pod", p.pod, rows[i].pod);
		check(rows[i].path, "unit", p.unit, rows[i].unit);
		cr_expect_eq((p.is_container ? CONTAINER : 0) | (p.is_pod ? POD : 0), rows[i].own, "%s: its last part", rows[i].path);
		cgroup_place__done(&p);
	}
}

Test(cgroup, long_path)
{
	size_t len = 1 << 20;
	_cleanup_free_ char *path = malloc(len + 1);
	struct cgroup_place p;

	cr_assert_not_null(path);
	memset(path, '-', len);
	path[len] = 0;
	cgroup__recognise(path, &p);
	cr_expect_null(p.container);
	cr_expect_null(p.unit);
	cr_expect_null(p.pod);
	memcpy(path + len - 64, ID, 64);
	cgroup__recognise(path, &p);
	cr_assert_not_null(p.container);
	cr_expect_str_eq(p.container, ID);
	cgroup_place__done(&p);
}

Test(cgroup, seen_from_a_namespace)
{
	static const char *const rows[][2] = {
		{ "/../../kubepods.slice/a", "/kubepods.slice/a" }, { "/..", "/" }, { "/../..", "/" }, { "/", "/" }, { "/a/../b", "/a/../b" },
		{ "/..a/b", "/..a/b" }, { "", "" }, { "/../b", "/b" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char path[100];

		strcpy(path, rows[i][0]);
		cgroup__from_above(path);
		cr_expect_str_eq(path, rows[i][1]);
	}
}
