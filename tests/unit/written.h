/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* A snapshot as a file, and as the snapshot that is read from it. A test that calls these fails where they cannot. */
#ifndef MT_WRITTEN_H
#define MT_WRITTEN_H

#include "files/export.h"

/* In a format, by its name; o NULL: as it was recorded; ret_len may be NULL. The text is the caller's. */
char *written__as(const struct snapshot *s, const char *format, const struct export_opts *o, size_t *ret_len);
/* As JSON and back. */
struct snapshot *written__read_back(const struct snapshot *s);
/* Two snapshots, of which the file is the same; what: which, for the message. */
void written__check_same(const struct snapshot *want, const struct snapshot *got, const char *format, const char *what);

#endif
