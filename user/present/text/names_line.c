// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the line of the header that says that names are missing, and where they would come from:
 *
 *	names  72% of the program's frames have no name (nginx, libssl.so.3): install nginx-dbgsym libssl3-dbgsym, or try --debuginfod
 *	names  12 of 5,794 stacks have frames of Python without a name: it could not be read when its code ran, or not be kept
 */
#include "present/missing_names.h"
#include "present/text/report_parts.h"
#include "util/util.h"

static void names_para(struct report *r, const char *words)
{
	if (!words)
		return;
	para__begin(&r->para, "names", LABEL_WIDTH);
	para__item(&r->para, "%s", words);
	para__end(&r->para);
}

void report__names_line(struct report *r)
{
	_cleanup_free_ char *words = NULL, *python = missing_names__of_python(r->s);
	struct missing_names m;

	/* what is known of the machine was said with the options */
	if (!r->o->missing_names && missing_names__find(r->s, &m))
		words = missing_names__words(&m, NULL, false, false);
	names_para(r, words ? words : r->o->missing_names);
	names_para(r, python);
}
