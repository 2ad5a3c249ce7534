/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What the path of a cgroup says: which container, of which engine, of which pod; which service. */
#ifndef MT_CGROUP_PATH_H
#define MT_CGROUP_PATH_H

#include <stdbool.h>
#include <stddef.h>

#define CONTAINER_ID_LEN 64	/* digits of an engine's own number */
#define CONTAINER_HEX "0123456789abcdef"

struct cgroup_place {
	const char *engine;	/* static; NULL: it is no container's */
	char *container;	/* owned, clean: 64 digits, or a name where the engine uses names; NULL: none */
	char *pod;		/* owned: a uid as Kubernetes writes it, or the 64 digits of podman's; NULL: none */
	char *unit;		/* owned: a service of systemd; NULL: none */
	/* the path's last part names it: the path is the container's, or the pod's, own and not one below */
	bool is_container, is_pod;
};

/* Of containers in containers, the innermost. Of a path that says nothing, all is NULL. */
void cgroup__recognise(const char *path, struct cgroup_place *ret);
/*
 * Who runs in a cgroup namespace, as in a pod, sees cgroups beside its own as "/../../kubepods.slice/…": the ways up go, as they say
 * nothing of the cgroup. "/.." alone is "/".
 */
void cgroup__from_above(char *path);
void cgroup_place__done(struct cgroup_place *p);

#endif
