// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the table of what a reader can be asked for. */
#include "cli/commands.h"

#include "elf/apart.h"
#include "names/sym.h"
#include "probe/plan.h"
#include "probe/spots.h"

const struct reader_question *const reader_questions[N_READER_KINDS] = {
	[READ_FILE] = &file_question,
	[READ_NAMES] = &names_question,
	[READ_JIT_LIST] = &jitmap_question,
	[READ_PLAN] = &plan_question,
	[READ_SPOTS] = &spots_question,
};
