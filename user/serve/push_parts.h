/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What both sides of the process that pushes know. */
#ifndef MT_PUSH_PARTS_H
#define MT_PUSH_PARTS_H

enum { PUSH_CONTROL_FD, PUSH_NO_FD, PUSH_ERR_FD, PUSH_SETTINGS_FD };
#define PUSH_LIBRARY "libcurl.so.4"

#endif
