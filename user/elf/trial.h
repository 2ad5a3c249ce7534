/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Files whose file system may not answer: FUSE, NFS and their like. A call on one of them may wait for good, and no signal ends
 * it. So a process of its own opens and reads such a file first: if that one has to wait, nobody else does.
 */
#ifndef MT_TRIAL_H
#define MT_TRIAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/maps.h"
#include "process/mounts.h"

#define TRIAL_ANSWER_NS (2 * SECOND_NS)	/* for one file, also when it is read later: a server at the other end of the world answers within that */

enum trial_verdict {
	TRIAL_NOT_NEEDED,	/* a file system of this machine's own */
	TRIAL_PASSED,
	TRIAL_SILENT,
	TRIAL_CALLED_OFF,	/* an end is asked for */
	TRIAL_NOT_TRIED,	/* too much was waited in vain, or there is no process for it */
};

struct trial {
	enum trial_verdict verdict;
	bool is_ours;		/* the file system is in our own table of mounts */
	char type[MOUNT_TYPE_MAX];	/* of the file system; holds unless no trial was needed */
};

/* Of the file that is mapped there; link: in /proc/PID/map_files. Any thread. */
void trial__of(pid_t pid, const struct mapping *m, const char *link, struct trial *ret);
/* A file of this device was not read in time: no other one is touched for a while. */
void trial__note_silence(uint64_t dev);

#endif
