/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The verdicts (model/judge.c) as a reader meets them: how much each asks for attention, and what it means. */
#ifndef MT_VERDICTS_H
#define MT_VERDICTS_H

#include "present/columns.h"

struct verdict_word {
	const char *name;
	enum tone tone;
	const char *says;
};

/* The worst first. */
extern const struct verdict_word verdict_words[];
extern const size_t n_verdict_words;

const struct verdict_word *verdict__find(const char *name);	/* NULL: none of them, or NULL */

#endif
