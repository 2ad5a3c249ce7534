/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Memory for what files have in them, bounded in one place: for each file and for all of them together. A file of a few
 * kilobytes may claim to have gigabytes, as a hole, twenty times over, or compressed.
 */
#ifndef MT_HOLDING_H
#define MT_HOLDING_H

#include <stdbool.h>
#include <stdint.h>

struct holding {		/* of one file; all zero: nothing */
	uint64_t bytes;
};

/* Before so many bytes more are read, inflated or made of it; false: that would be too much, and nothing was taken. */
bool holding__take(struct holding *h, uint64_t bytes);
void holding__give_back(struct holding *h);
uint64_t holding__file_max(void);	/* bytes */

#endif
