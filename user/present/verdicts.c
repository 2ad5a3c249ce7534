// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns what is said about each verdict in a sentence; docs/VERDICTS.md has the rules. */
#include "present/verdicts.h"

#include <string.h>

#include "util/util.h"

const struct verdict_word verdict_words[] = {
	{ "leak", TONE_BAD, "it has grown all the time and what it allocates is not freed, or no pointer leads to its blocks" },
	{ "suspect", TONE_WARN, "the same, but not for long enough yet, or not evenly, or the process frees blocks from before the trace" },
	{ "growing", TONE_WARN, "it grows, but its blocks are freed later, or pointers to them were found: a cache, a queue" },
	{ "new", TONE_DIM, "its first allocation was moments ago" },
	{ "steady", TONE_GOOD, "it does not grow, or not any more, or it was as high before" },
	{ "draining", TONE_GOOD, "what it holds becomes less" },
};
const size_t n_verdict_words = ARRAY_SIZE(verdict_words);

const struct verdict_word *verdict__find(const char *name)
{
	for (size_t i = 0; name && i < n_verdict_words; i++)
		if (!strcmp(verdict_words[i].name, name))
			return &verdict_words[i];
	return NULL;
}
