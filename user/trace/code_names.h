/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Whether functions of what a process maps have names, before anything was recorded. */
#ifndef MT_CODE_NAMES_H
#define MT_CODE_NAMES_H

#include <stdbool.h>

#include "space/space.h"

/*
 * What `doctor -p` says where half of the functions of the program and its own libraries have no name; local: its files are this machine's.
 * The caller's; NULL: they have.
 */
char *code_names__missing(const struct space *space, bool local);

#endif
