/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What engines leave in files about the names of containers and pods; no engine is asked. Whoever has a container has
 * written part of it: names that are no names are passed over, and everything has a bound.
 */
#ifndef MT_ENGINE_FILES_H
#define MT_ENGINE_FILES_H

#include <stdbool.h>
#include <sys/types.h>

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

#endif
