/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What every export says in its own kind of comment: how it was recorded, and what was lost. */
#ifndef MT_NOTES_H
#define MT_NOTES_H

#include "model/snapshot.h"

struct export_notes {
	char **v;		/* owned; a line each, without an end */
	size_t n, room;
};

/* export_notes__done() afterwards */
void export_notes__init(struct export_notes *notes, const struct snapshot *s);
void export_notes__done(struct export_notes *notes);
/* Whose it is, and all notes, in one line: where a format has no more room. The caller's. */
char *export_notes__title(const struct snapshot *s);

#endif
