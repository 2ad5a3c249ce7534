// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing: a text file is the plain report. */
#include "files/export.h"

int text__write(FILE *out, const struct snapshot *s, const struct export_opts *o, struct err *e)
{
	int err = report__write(out, s, &o->report);

	return err ? err_set(e, err, "cannot write the text report: %s", strerror(-err)) : 0;
}
