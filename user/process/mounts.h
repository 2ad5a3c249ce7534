/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What is mounted, of which type: hierarchies of cgroups, and file systems whose calls may never return. */
#ifndef MT_MOUNTS_H
#define MT_MOUNTS_H

#include <stdbool.h>
#include <sys/types.h>

struct mapping;

struct mount {
	const char *root, *point, *type, *options;	/* in a line that was cut up */
};

/* A line of /proc/PID/mountinfo, which it cuts up: false if it is no hierarchy of cgroups. */
bool mount__parse(char *line, struct mount *ret);
#define MOUNT_TYPE_MAX 32

/* A line of a mountinfo, whatever its type. */
struct mount_line {
	unsigned int id, dev_major, dev_minor;
	char type[MOUNT_TYPE_MAX];
	const char *options;	/* of the file system, up to the end of the line; in the text */
};

/* The mount with this id; what is mounted from this device; what a path is on, as far as no link on the way leads elsewhere. By the text of a mountinfo. */
bool mounts__find_id(const char *text, unsigned int id, struct mount_line *ret);
bool mounts__find_dev(const char *text, unsigned int dev_major, unsigned int dev_minor, struct mount_line *ret);
bool mounts__find_at(const char *text, const char *path, struct mount_line *ret);
/*
 * Do its calls return, whatever other processes and machines do? True only for file systems that are known to: of disks and memory, and an
 * overlay all of whose layers are. own: malloctrace's own mountinfo, where layers are looked up; what its root is on counts as local.
 */
bool mount__is_local(const struct mount_line *m, const char *own);
/* The user who serves it: only FUSE has one, and all else is root's. */
uid_t mount__server(const struct mount_line *m);
/* Are those who serve it trusted, of an overlay each layer's? A layer that cannot be found in own is that of whoever mounted the overlay. */
bool mount__has_trusted_servers(const struct mount_line *m, const char *own, bool (*is_trusted)(uid_t server));
/* malloctrace's own mountinfo, the caller's. 0 or -errno */
int mounts__own(char **ret);
/* The same of a process; NULL: it cannot be read, or is too long to be searched for each file: who may mount chooses how long. */
char *mounts__of(pid_t pid);
/* Until the thread lets go, mounts__of() reads it once, and again if it changes: a process may have thousands of files and of mounts. */
void mounts__keep(pid_t pid);
void mounts__let_go(void);
/* Since it was last asked of this open mountinfo. A mount's number is no other one's as long as it is mounted: one that has not changed holds. */
bool mounts__have_changed(int fd);
/* The mount that a descriptor is on; false: unknown. No file system is asked. */
bool mounts__id_of(int fd, unsigned int *ret);
/* Is it on the kernel's own mount (memfd_create(2), shared memory)? Asks no file system. */
bool mounts__fd_is_memory(int fd);
/* Is the descriptor's mount local, by the tables of this process and malloctrace's own? No file system is asked. */
bool mounts__fd_is_local(pid_t pid, int fd);
/* Or do root or the user who runs malloctrace serve it? */
bool mounts__fd_is_served_by_trusted(pid_t pid, int fd);
/* Is this one of these two? */
bool mounts__is_trusted_server(uid_t uid);
/* Have only users who may mount here mounted what this process sees? Not if its mounts are those of a user namespace of its own. */
bool mounts__are_trusted(pid_t pid);
/* The part of a cgroup's path that is below what is mounted, NULL: it cannot be seen through this mount. */
const char *mount__below(const struct mount *m, const char *path);
/* path is dir, or in it. */
bool path__is_below(const char *path, const char *dir);

/* ---- paths that a target or a profile names */

/*
 * Whoever looks a name up in a file system that does not answer waits for good: so each name is looked up in a directory whose mount is
 * known by then, and a link is read before it is followed.
 */

/* All return a descriptor (O_PATH), or -errno; -EXDEV: the path leads to a file system that may not answer. */

int path_walk__root_of(pid_t pid);	/* the root of a process */
/* Below the root of a process, as the kernel names what is mapped: -ELOOP where a link has been put meanwhile. */
int path_walk__mapped(pid_t pid, int root, const char *path);
/* The same of a mapping's file: -ESTALE where another one has this path now. */
int path_walk__file_of(pid_t pid, const struct mapping *m, const char *path);
/* Below the root of this process; one that is relative, from its working directory. */
int path_walk__own(const char *path);
/* The same, also on file systems that root or the user who runs malloctrace serves: NFS, their own FUSE. */
int path_walk__served(const char *path);

#endif
