/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The containers and pods that run here: by their cgroups, with the names that files of engines have for them. */
#ifndef MT_CONTAINERS_H
#define MT_CONTAINERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "util/util.h"

/* What the path of a cgroup says: which container, of which engine, of which pod; which service. */

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

/*
 * What engines leave in files about the names of containers and pods; no engine is asked. Whoever has a container has
 * written part of it: names that are no names are passed over, and everything has a bound.
 */

/* What stands before /var and /home: "", but for tests. Static. */
const char *engine_files__root(void);

/* Whom a name is of, and what it is. The strings hold during the call. */
struct engine_named {
	const char *id;		/* of a container or a pod */
	const char *name;	/* clean */
	const char *ns;		/* of a pod, of Kubernetes: its namespace; NULL: none */
	uid_t user;		/* who wrote it there: 0, or the user whose engine it is */
};
typedef void engine_named_fn(const struct engine_named *n, void *arg);

/* Pods, by the directories of their logs: /var/log/pods/NAMESPACE_NAME_UID. */
void engine_files__pods(const char *root, engine_named_fn *tell, void *arg);
/* Containers of Kubernetes: /var/log/containers/POD_NAMESPACE_NAME-ID.log. */
void engine_files__logs(const char *root, engine_named_fn *tell, void *arg);
/* Of podman and CRI-O: a list in each storage. home: a user's directory (O_PATH), or -1. */
void engine_files__storage(const char *root, int home, uid_t user, engine_named_fn *tell, void *arg);
/* Of docker: one file each. */
void engine_files__docker(const char *root, int home, uid_t user, const char *id, engine_named_fn *tell, void *arg);

/* For the tests: they cut up the text. */
bool pod_log__parse(char *entry, struct engine_named *ret);
bool container_log__parse(char *entry, struct engine_named *ret);
void docker_config__parse(const char *text, const char *id, uid_t user, engine_named_fn *tell, void *arg);
void storage_list__parse(const char *text, uid_t user, engine_named_fn *tell, void *arg);

/* What pods are called: by their uids. */

/* NAMESPACE/NAME, or a copy of the uid if nobody says so; the caller's. From any thread. */
char *pod_names__get(const char *uid);

/* ---- which there are */

struct container_words vec(char *);	/* owned, each of them too */

struct container {
	const char *engine;	/* static */
	char *id;		/* owned, clean: as in struct cgroup_place; of a pod: its uid */
	char *pod;		/* owned: the uid of the pod that it is in; NULL: none, or it is one */
	char *path;		/* owned, clean: as in /proc/PID/cgroup */
	struct container_words names;	/* clean; of a pod NAMESPACE/NAME, then NAME */
	struct container_words dirs;	/* its cgroups, where they are mounted: in each hierarchy that has it */
	uid_t user;		/* whose engine has made it: by user-UID.slice in its path; else 0 */
};

struct containers vec(struct container);

enum container_kind { CONTAINER_ITSELF, CONTAINER_POD };

/*
 * In the order of their ids. mounts is a text as /proc/self/mountinfo; root is what stands before the files of engines. What cannot be read is
 * not there.
 */
void containers__find(const char *mounts, const char *root, enum container_kind kind, struct containers *ret);
void containers__done(struct containers *c);

/*
 * Those that are meant by the first of these that any fits: the whole id; a name; the beginning of an id, of at least
 * CONTAINER_PREFIX_MIN digits. A pod's uid may have '_' for '-'. Pointers into c.
 */
#define CONTAINER_PREFIX_MIN 4
struct container_picks vec(const struct container *);
void containers__pick(const struct containers *c, const char *what, struct container_picks *ret);

#endif
