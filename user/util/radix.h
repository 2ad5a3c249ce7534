/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Millions of records by address: in time that grows with their number alone. */
#ifndef MT_RADIX_H
#define MT_RADIX_H

#include <stddef.h>

/* n records of size bytes, each of which begins with a uint64_t: in that one's order. */
void radix__sort(void *v, size_t n, size_t size);

#endif
