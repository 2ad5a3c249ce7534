/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Text into a page, small: gzip as base64. */
#ifndef MT_PACKED_H
#define MT_PACKED_H

#include <stdio.h>

/*
 * What is written to it is in out when it is closed (fclose), which out outlives. NULL: no memory. Errors of out
 * stay in out.
 */
FILE *packed__open(FILE *out);

#endif
