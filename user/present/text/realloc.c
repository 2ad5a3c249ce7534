// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what a report tells of the growth of blocks, behind allocations:
 *
 *	REALLOC by moved bytes (1 of 1 site, 100% of bytes)
 *
 *	 1.    1000 calls   98% moved    7.9 MiB   100% grow by      16 B  realloc
 *	     1,000 calls grow by 16 B at a time, one block was reallocated 1,000 times in a row,
 *	     7.9 MiB copied, 505 times what was added: double it instead
 *	     append  buf.c:12
 *
 * Doubling copies no more than twice what a block grows by. What copies more, and
 * grows step by step, is told so. What always holds: figures are of calls that gave
 * a block for one that was known.
 */
#include "present/figures.h"
#include "present/text/report_parts.h"
#include "util/util.h"

#define FEW_CALLS 4	/* nothing can be said of less */

void report__realloc_words(struct report *r, const struct snap_site *site, size_t indent)
{
	const struct snap_moves *m = &site->moves;
	uint64_t steps = m->grown_calls - MIN(m->doubled_calls, m->grown_calls);
	bool by_steps = m->grown_calls >= FEW_CALLS && steps > m->grown_calls / 2;
	char a[FMT_MAX], b[FMT_MAX], c[FMT_MAX];

	para__begin(&r->para, "", indent);
	if (by_steps)
		para__item(&r->para, "%s calls grow by %s at a time", fmt_exact(a, m->grown_calls), fmt_bytes(b, m->grown_bytes / m->grown_calls));
	else if (m->grown_calls >= FEW_CALLS)
		para__item(&r->para, "%s of %s growths by half of the size or more", fmt_exact(a, m->doubled_calls), fmt_exact(b, m->grown_calls));
	if (m->shrunk_calls)
		para__item(&r->para, "%s shrink", fmt_exact(a, m->shrunk_calls));
	if (m->longest > 1)
		para__item(&r->para, "one block was reallocated %s%s times in a row", fmt_exact(c, m->longest), m->longest >= MOVES_LONGEST_MAX ? " or more" : "");
	if (!m->moved_calls)
		para__item(&r->para, "all in place");
	else if (by_steps && m->grown_bytes && m->moved_bytes > 2 * m->grown_bytes)
		para__item(&r->para, "%s copied, %s times what was added: consider growing geometrically", fmt_bytes(b, m->moved_bytes),
			   fmt_exact(c, m->moved_bytes / m->grown_bytes));
	else
		para__item(&r->para, "%s copied", fmt_bytes(b, m->moved_bytes));
	para__end(&r->para);
}
