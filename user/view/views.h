/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The views of --view. */
#ifndef MT_VIEWS_H
#define MT_VIEWS_H

enum view_bit { VIEW_LEAKS = 1, VIEW_ALLOCS = 2 };

#endif
