/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* A paragraph of a report: a label, then items that are broken over lines between words only where they must. */
#ifndef MT_PARA_H
#define MT_PARA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct para {
	FILE *out;
	size_t indent, width, col;
	bool empty;
};

void para__begin(struct para *p, const char *label, size_t indent);
/* After a comma, unless it is the first. */
void para__item(struct para *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Sentences: a blank between them. */
void para__words(struct para *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void para__end(struct para *p);

#endif
