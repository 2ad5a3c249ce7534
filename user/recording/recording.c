// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the names of what can be chosen, and the words for it: of options, in files, and for a person. */
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>

#include "util/util.h"

#define CHOICES(which) const struct choices which##_choices = { .names = which##_names, .n = ARRAY_SIZE(which##_names) }

static const char *const
	mode_names[] = { [MT_MODE_FULL] = "full", [MT_MODE_COUNT] = "count", [MT_MODE_GROWTH] = "growth", [MT_MODE_LEAK] = "leak" };
/* What it does has a name of its own; the first one is what files have. */
const struct choices mode_choices = { .names = mode_names, .n = ARRAY_SIZE(mode_names), .also = "census", .also_is = MT_MODE_LEAK };

static const char *const size_names[] = { [SIZE_REQUESTED] = "requested", [SIZE_USABLE] = "usable" };
CHOICES(size);

static const char *const unwind_names[] = { [UNWIND_AUTO] = "auto", [UNWIND_FP] = "fp", [UNWIND_TABLE] = "table" };
CHOICES(unwind);
static const char *const python_names[] = { [PYTHON_AUTO] = "auto", [PYTHON_OFF] = "off", [PYTHON_ONLY] = "only" };
CHOICES(python);

static const char *const points_names[] = { [POINTS_AUTO] = "auto", [POINTS_PLAIN] = "plain" };
CHOICES(points);

const struct recording_flag recording_flags[] = {
	{ offsetof(struct recording, mmap), "--mmap", "with what it maps itself", "with what programs map themselves" },
};
const size_t n_recording_flags = ARRAY_SIZE(recording_flags);

const char *mode__name(enum mt_mode mode)
{
	return choices__name(&mode_choices, mode);
}

const char *size__name(enum recording_size size)
{
	return choices__name(&size_choices, size);
}

/* ---- names in tables */

/* Owns nothing: looks names up in tables of others. */

const char *choices__name(const struct choices *c, unsigned int value)
{
	return value < c->n ? c->names[value] : "?";
}

bool choices__find(const struct choices *c, const char *name, unsigned int *ret)
{
	for (unsigned int i = 0; i < c->n; i++) {
		if (strcmp(c->names[i], name))
			continue;
		*ret = i;
		return true;
	}
	if (!c->also || strcmp(c->also, name))
		return false;
	*ret = c->also_is;
	return true;
}

char *choices__words(const struct choices *c)
{
	size_t len = 2 + (c->also ? strlen(c->also) : 0);
	char *words, *to;

	for (unsigned int i = 0; i < c->n; i++)
		len += strlen(c->names[i]) + 1;
	words = to = xmalloc(len);
	*to = '\0';
	for (unsigned int i = 0; i < c->n; i++)
		to = stpcpy(stpcpy(to, i ? " " : ""), c->names[i]);
	if (c->also)
		stpcpy(stpcpy(to, " "), c->also);
	return words;
}
