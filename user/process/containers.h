/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The containers and pods that run here: by their cgroups, with the names that files of engines have for them. */
#ifndef MT_CONTAINERS_H
#define MT_CONTAINERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "util/util.h"

struct container_words vec(char *);	/* owned, each of them too */

struct container {
	const char *engine;	/* static */
	char *id;		/* owned, clean: as in cgroup_path.h; of a pod: its uid */
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
