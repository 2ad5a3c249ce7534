// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing beyond a call. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probe/cover.h"
#include "util/util.h"

#define INSN_BYTES 4u	/* at least as many as a breakpoint has, on any architecture */

bool cover__is_probed_at(const struct object *obj, uint64_t offset)
{
	size_t page = sysconf(_SC_PAGESIZE), at = offset & (page - 1), len = MIN(INSN_BYTES, page - at);
	unsigned char in_file[INSN_BYTES];
	const unsigned char *map;
	bool differs;

	if (object__read_at(obj, offset, in_file, len))
		return false;
	map = mmap(NULL, page, PROT_READ, MAP_PRIVATE, obj->fd, offset - at);
	if (map == MAP_FAILED)
		return false;
	differs = memcmp(map + at, in_file, len);
	munmap((void *)map, page);
	return differs;
}

bool cover__is_probed(const struct plan *p)
{
	return p->n_points && cover__is_probed_at(p->object, p->points[0].offset);
}
