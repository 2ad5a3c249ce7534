/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
#ifndef TEST_GRID_TEXT_H
#define TEST_GRID_TEXT_H

#include "present/top/grid.h"

/* As text: a line for each row, without blanks at its end. The caller's. */
char *grid__text(const struct grid *g);
char *grid__row_text(const struct grid *g, int row);

#endif
