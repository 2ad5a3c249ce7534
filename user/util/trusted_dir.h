/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* A directory in which malloctrace makes a file: on the way to it, no link is followed that another user can have planted. */
#ifndef MT_TRUSTED_DIR_H
#define MT_TRUSTED_DIR_H

#include "util/err.h"

/* A descriptor (O_PATH), or -errno; why is set where a link is not trusted. */
int trusted_dir__open(const char *dir, struct err *why);

/* *rest, which is allocated, is what is left of the way: the target of a link (O_PATH) comes before it. 0 or -errno. */
int link__put_target_before(int link_fd, char **rest);

#endif
