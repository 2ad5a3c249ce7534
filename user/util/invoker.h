/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Who ran malloctrace, and what that user may do with files. There are two kinds of names:
 *
 *   - what the user named: opened with the user's own rights. Capabilities that malloctrace has, and the user has not, do
 *     not count. Below sudo the user has root's rights, which is what sudo is for;
 *   - what somebody else named, a target's debug information or a profile: opened with the rights of the user who ran
 *     sudo, too.
 */
#ifndef MT_INVOKER_H
#define MT_INVOKER_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/err.h"

/* Who ran sudo; false: nobody, or we are not root. */
bool invoker__find(uid_t *ret_uid, gid_t *ret_gid);

/* Becomes that user, for good; nothing if there is none. -errno */
int invoker__become(void);

/* What this thread had before. */
struct invoker_rights {
	bool has_caps;		/* that were put aside */
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
	bool other;		/* files were another user's business */
	uid_t was_uid;
	gid_t was_gid;
};

/*
 * From here to invoker__end() this thread goes by the user's own rights: for names of the user. There is no way for the
 * kernel to refuse that; should it, nothing that follows would be safe, and malloctrace ends there.
 */
struct invoker_rights invoker__begin(void);
/* The same by the rights of the user who ran sudo. */
struct invoker_rights invoker__begin_below_sudo(void);
void invoker__end(const struct invoker_rights *r);

/* realpath(3) of what the user named; the caller's, or NULL. */
char *invoker__real_path(const char *path);
/* What the user named, for reading. A descriptor, or -errno. */
int invoker__open_named(const char *path);

/* How many files may be open at a time. Each probed file and each table of the programs is one. */

/* The limit is raised as far as this user may. -EMFILE: that is too little. */
int descriptors__raise(struct err *e);
/* As it was: for CMD, which may go by it. */
void descriptors__restore(void);
/* Of a child: this one becomes descriptor 0, and all others are closed. What fails ends the child. */
void descriptors__keep_only(int fd);
/* How many files of targets may be held open; the rest is for what malloctrace itself needs. */
uint64_t descriptors__for_targets(void);

/*
 * Whose words the environment has. A malloctrace that got capabilities from its file (AT_SECURE) was started by somebody
 * who has none: what that user put into the environment must not steer libraries which then act with these capabilities.
 */

/* Has this process more rights than the user who started it? */
bool environment__is_of_another(void);
/* In that case all is gone from it but what has a row, and a value that can do no harm. Once, before anything reads it. */
void environment__clean(void);
/* What CMD is to have: the environment as it was. In the child that becomes CMD, which has no rights but the user's. */
void environment__restore(void);

/* A directory in which malloctrace makes a file: on the way to it, no link is followed that another user can have planted. */

/* A descriptor (O_PATH), or -errno; why is set where a link is not trusted. */
int trusted_dir__open(const char *dir, struct err *why);

/* *rest, which is allocated, is what is left of the way: the target of a link (O_PATH) comes before it. 0 or -errno. */
int link__put_target_before(int link_fd, char **rest);

#endif
