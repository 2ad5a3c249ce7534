/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A JSON profile back into the snapshot that it was written from. Where it comes
 * from is not known: it is checked like everything else that others wrote.
 */
#ifndef MT_JSON_READ_H
#define MT_JSON_READ_H

#include <stddef.h>

#include "model/snapshot.h"
#include "util/err.h"

/* "-" is standard input. *ret is the caller's. A file that is no profile, or of a later schema: -EINVAL. */
int json_read__file(const char *path, struct snapshot **ret, struct err *e);
int json_read__text(const char *text, size_t len, struct snapshot **ret, struct err *e);

#endif
