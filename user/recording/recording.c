// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the names of what can be chosen, and the words for it: of options, in files, and for a person. */
#include "recording/recording.h"

#include "util/util.h"

#define CHOICES(which) const struct choices which##_choices = { which##_names, ARRAY_SIZE(which##_names) }

static const char *const
	mode_names[] = { [MT_MODE_FULL] = "full", [MT_MODE_COUNT] = "count", [MT_MODE_GROWTH] = "growth", [MT_MODE_LEAK] = "leak" };
CHOICES(mode);

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
