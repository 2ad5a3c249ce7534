// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the line of the header that says that names are missing, and where they would come from:
 *
 *	names  72% of the program's frames have no name (nginx, libssl.so.3): install nginx-dbgsym libssl3-dbgsym, or try --debuginfod
 */
#include "present/missing_names.h"
#include "present/text/report_parts.h"
#include "util/util.h"

void report__names_line(struct report *r)
{
	_cleanup_free_ char *words = NULL;
	struct missing_names m;

	/* what is known of the machine was said with the options */
	if (!r->o->missing_names && missing_names__find(r->s, &m))
		words = missing_names__words(&m, NULL, false, false);
	if (!words && !r->o->missing_names)
		return;
	para__begin(&r->para, "names", LABEL_WIDTH);
	para__item(&r->para, "%s", words ? words : r->o->missing_names);
	para__end(&r->para);
}
