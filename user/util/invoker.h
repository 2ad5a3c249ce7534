/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Who ran malloctrace: below sudo that is not root, and what somebody else named is opened with that user's rights. */
#ifndef MT_INVOKER_H
#define MT_INVOKER_H

#include <stdbool.h>
#include <sys/types.h>

/* Who ran sudo; false: nobody, or we are not root. */
bool invoker__find(uid_t *ret_uid, gid_t *ret_gid);
/* open(2) with the rights that the invoking user has over files. A descriptor, or -errno. */
int invoker__open(const char *path, int flags, mode_t mode);
/*
 * For reading, and only a regular file: to open a device may be to use it. Capabilities that go beyond the user's own rights do
 * not count. -ENOENT: it is something else.
 */
int invoker__open_to_read(const char *path);

#endif
