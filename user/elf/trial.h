/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Files whose file system may not answer: FUSE, NFS and their like. A call on one of them may wait for good, and no signal ends
 * it. So a process of its own opens and reads such a file first: if that one has to wait, nobody else does.
 */
#ifndef MT_TRIAL_H
#define MT_TRIAL_H

#include <stdint.h>
#include <sys/types.h>

#include "process/maps.h"
#include "process/mounts.h"
#include "util/util.h"

struct silence {		/* a device that did not answer, and who still waits for it */
	uint32_t dev_major, dev_minor;
	int pidfd;		/* owned */
};

struct trials {
	struct vec(struct silence) silent;
	uint64_t vain_ns;	/* that was waited in vain, in all */
	char *mounts;		/* owned; our own mountinfo */
	int mounts_fd;		/* owned; 0: not opened yet, -1: there is none */
	char type[MOUNT_TYPE_MAX];	/* of the last one that was tried */
};

enum trial {
	TRIAL_NOT_NEEDED,	/* a file system of this machine's own */
	TRIAL_PASSED,
	TRIAL_SILENT,
	TRIAL_CALLED_OFF,	/* an end is asked for */
};

/* Of the file that is mapped there; link: in /proc/PID/map_files. */
enum trial trials__of(struct trials *t, pid_t pid, const struct mapping *m, const char *link);
void trials__done(struct trials *t);

#endif
