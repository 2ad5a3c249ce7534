// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing beyond a call. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "elf/elffile.h"
#include "probe/cover.h"
#include "util/util.h"

#define INSN_BYTES 4u	/* at least as many as a breakpoint has, on any architecture */

bool cover__is_probed_at(const struct object *obj, uint64_t offset)
{
	size_t page = sysconf(_SC_PAGESIZE), at = offset & (page - 1), len = MIN(INSN_BYTES, page - at);
	unsigned char in_file[INSN_BYTES], mapped[INSN_BYTES];

	/* its pages may never come */
	return !obj->remote && !object__read_at(obj, offset, in_file, len) && !elffile__read_mapped(obj->fd, offset, mapped, len) &&
	       memcmp(mapped, in_file, len);
}

/*
 * In the bytes of e_ident that mean nothing, which are zero: an instruction that the kernel takes
 * on every architecture.
 */
#define MARK_OFFSET 12

int cover__mark(struct kernel *k, const struct object *obj, struct attachment **ret)
{
	struct attachment *a;
	int err;

	/* another tracer's, for every process */
	if (cover__is_marked(obj))
		return -EBUSY;
	a = attachment__new(k, getpid());
	err = attachment__add_mark(a, obj, MARK_OFFSET, NULL);
	if (!err && !cover__is_marked(obj))
		err = -ENOENT;	/* it cannot be seen, say through a mount without exec */
	if (err)
		attachment__free(a);
	else
		*ret = a;
	return err;
}

bool cover__is_marked(const struct object *obj)
{
	return cover__is_probed_at(obj, MARK_OFFSET);
}
