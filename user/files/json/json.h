/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The JSON profile as one value of a JSON stream: a file of its own (json__write), or a part of the HTML report. */
#ifndef MT_JSON_H
#define MT_JSON_H

#include "files/json/json_writer.h"
#include "model/snapshot.h"
#include "util/err.h"

/* 0 or -errno; output errors stay in the stream. */
int json__document(struct json *j, const struct snapshot *s, struct err *e);

#endif
