/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The views of --view. */
#ifndef MT_VIEWS_H
#define MT_VIEWS_H

/* Of a trace with --mode growth, VIEW_ALLOCS is the last two. */
enum view_bit { VIEW_LEAKS = 1, VIEW_ALLOCS = 2, VIEW_RESIDENT = 4, VIEW_MAPPED = 8 };

/* The views for which there are figures; known: enum counter_bit. */
unsigned int views__of(unsigned int known);

#endif
