/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Code of files that a process has written over in its memory, or may have: what was ever mapped
 * with the right to write and to execute, and what was found to differ. The file does not show what
 * is there, so its unwind table does not hold; names and offsets do, as the file is still what is
 * mapped.
 */
#ifndef MT_SPACE_WRITTEN_H
#define MT_SPACE_WRITTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPACE_MAX_WRITTEN 32

struct written_piece {
	uint64_t start, end;
	uint64_t since_ns;	/* CLOCK_MONOTONIC; 0: as long as anything is known */
};

struct space_written {
	struct written_piece v[SPACE_MAX_WRITTEN + 1];	/* by address; the last one is room to work in */
	size_t n;
};

/* True if it was not all among them. */
bool space_written__add(struct space_written *w, struct written_piece p);
/* Other code is there now. */
void space_written__cut(struct space_written *w, uint64_t start, uint64_t end);
bool space_written__has(const struct space_written *w, uint64_t addr, uint64_t t_ns);

#endif
