/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
#ifndef TEST_GRID_TEXT_H
#define TEST_GRID_TEXT_H

#include "present/top/grid.h"

/* As text: a line for each row, without blanks at its end. The caller's. */
char *grid__text(const struct grid *g);
char *grid__row_text(const struct grid *g, int row);
/* The first row whose halves of wide characters do not fit together, or that has a character which is none; -1: all is well. */
int grid__broken_row(const struct grid *g);

#endif
