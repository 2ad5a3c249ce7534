// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing beyond a call. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probe/cover.h"
#include "util/util.h"

#define INSN_BYTES 4u	/* at least as many as a breakpoint has, on any architecture */

bool cover__is_probed(const struct plan *p)
{
	size_t page = sysconf(_SC_PAGESIZE), at, len;
	unsigned char in_file[INSN_BYTES];
	const unsigned char *map;
	bool differs;

	if (!p->n_points)
		return false;
	at = p->points[0].offset & (page - 1);
	len = MIN(INSN_BYTES, page - at);
	if (object__read_at(p->object, p->points[0].offset, in_file, len))
		return false;
	map = mmap(NULL, page, PROT_READ, MAP_PRIVATE, p->object->fd, p->points[0].offset - at);
	if (map == MAP_FAILED)
		return false;
	differs = memcmp(map + at, in_file, len);
	munmap((void *)map, page);
	return differs;
}
