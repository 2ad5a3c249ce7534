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
#include <sys/types.h>

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
void invoker__end(const struct invoker_rights *r);

/* realpath(3) of what the user named; the caller's, or NULL. */
char *invoker__real_path(const char *path);
/* open(2) of what the user named. A descriptor, or -errno. */
int invoker__open_named(const char *path, int flags, mode_t mode);
/* The same with the rights of the user who ran sudo. */
int invoker__open(const char *path, int flags, mode_t mode);
/*
 * The same for reading, and only a regular file: to open a device may be to use it. -ENOENT: it is something else.
 */
int invoker__open_to_read(const char *path);

#endif
