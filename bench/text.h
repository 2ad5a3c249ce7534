/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Numbers in what the tools write. The writers are the programs measured here: their shape is known. */
#ifndef MT_BENCH_TEXT_H
#define MT_BENCH_TEXT_H

#include <stdint.h>

#include "util/err.h"

/* The number behind `key`, which comes after `part`; -ENOENT. */
int text__number(const char *text, const char *part, const char *key, uint64_t *ret);
/* -EBADMSG with a sentence unless they are equal. */
int text__compare(const char *what, uint64_t got, uint64_t want, struct err *e);
/* How often `word` is in it. */
uint64_t text__count(const char *text, const char *word);

#endif
