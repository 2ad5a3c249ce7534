/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Files whose file system may never answer: FUSE, NFS, an overlay above one of them, whatever is not known to be local. A call on one of
 * them may wait for good, and no signal ends it. So a process of its own opens such a file and copies it, and the copy is all that
 * malloctrace reads: a server that answers that process and nobody else gains nothing. A process that has to wait is given up. A file
 * that this process finds on a disk, of mounts that nobody but root makes (an image's layers below a container's overlay), is not copied.
 */
#ifndef MT_TRIAL_H
#define MT_TRIAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "process/maps.h"
#include "process/mounts.h"

enum trial_verdict {
	TRIAL_NOT_NEEDED,	/* a file system of this machine's own */
	TRIAL_LOCAL,		/* the file is on a disk of this machine */
	TRIAL_COPIED,
	TRIAL_SILENT,
	TRIAL_CALLED_OFF,	/* an end is asked for */
	TRIAL_NOT_TRIED,	/* too much was waited in vain, or there is no process for it */
	TRIAL_TOO_LARGE,
	TRIAL_NO_ROOM,		/* copies of files of this user, or of all users, take all that they may */
	TRIAL_FAILED,		/* it answered, with an error */
};

/* Memory that a copy takes. Whoever closes the copy sets it to 0. */
struct trial_charge {
	uid_t user;		/* of the process that has the file */
	uint64_t bytes;
};
void trial_charge__set(struct trial_charge *c, uint64_t bytes);

struct trial {
	enum trial_verdict verdict;
	int err;		/* of TRIAL_FAILED */
	bool is_ours;		/* the file system is in our own table of mounts */
	char type[MOUNT_TYPE_MAX];	/* of the file system; holds unless no trial was needed */
	/* of TRIAL_COPIED and TRIAL_LOCAL */
	struct stat st;		/* of the file */
	int copy;		/* the caller's: its bytes, in memory; none of a file that is not ELF; -1: it is local */
	struct trial_charge charge;	/* the caller's, with copy */
	bool by_name;		/* of TRIAL_COPIED: the mapping has its name and other numbers */
	/*
	 * the caller's: the file itself. TRIAL_NOT_NEEDED: what is mapped there now (O_PATH), on a
	 * mount that is known to answer, or -errno. TRIAL_COPIED: it must not be read; negative:
	 * another user serves it, and may make any call on it wait
	 */
	int file;
};

/* Of the file that is mapped there; link: in /proc/PID/map_files. Any thread. */
void trial__of(pid_t pid, const struct mapping *m, const char *link, struct trial *ret);

/* A path below the root of a process. Links on the way stay below that; the file itself may be none. */
struct trial_list {
	pid_t pid;
	int root;		/* not owned; the process's */
	const char *path;
	uid_t user;		/* a regular file with one name, of this user */
	uint64_t max;		/* bytes that are copied */
	struct trial_charge charge;	/* of the copy */
};
/*
 * Adds to copy what the file has beyond it; of a file that is shorter all of it. 0 or -errno. Of a list that is too large what fits is
 * copied; that the rest is missing is reported, once.
 */
int trial__copy_list(struct trial_list *l, int copy);
/* Are all file systems on the way to the list local? Then *ret is a descriptor of it (O_PATH), which is the caller's, or -errno. */
bool trial__find_list(const struct trial_list *l, int *ret);

#endif
