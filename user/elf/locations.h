/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* CPython's table of locations (co_linetable, from 3.11 on): which line an instruction is of. */
#ifndef MT_LOCATIONS_H
#define MT_LOCATIONS_H

#include <stddef.h>
#include <stdint.h>

/* The line of the instruction with this number, each of 2 bytes; 0: it has none, or the table does not say. Any bytes are a table. */
uint32_t locations__line(const unsigned char *table, size_t len, uint32_t first_line, uint32_t unit);

#endif
