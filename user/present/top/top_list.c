// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns cursor and scrolling, for every list of the live view. What always holds: after list__fit() the cursor is in sight. */
#include "present/top/top_parts.h"

void list__fit(struct top_place *p, size_t n, size_t page)
{
	if (p->cursor >= n)
		p->cursor = n ? n - 1 : 0;
	if (p->cursor < p->scroll)
		p->scroll = p->cursor;
	if (page && p->cursor >= p->scroll + page)
		p->scroll = p->cursor - page + 1;
	/* no empty space at the end while there is something above */
	if (p->scroll && p->scroll + page > n)
		p->scroll = n > page ? n - page : 0;
}

void list__move(struct top_place *p, size_t n, size_t page, int key)
{
	size_t step = page > 1 ? page - 1 : 1;

	switch (key) {
	case 'k':
	case TOP_KEY_UP:
		p->cursor -= p->cursor > 0;
		break;
	case 'j':
	case TOP_KEY_DOWN:
		p->cursor += p->cursor + 1 < n;
		break;
	case TOP_KEY_PAGE_UP:
		p->cursor -= MIN(p->cursor, step);
		break;
	case TOP_KEY_PAGE_DOWN:
		p->cursor = MIN(p->cursor + step, n ? n - 1 : 0);
		break;
	case TOP_KEY_HOME:
		p->cursor = 0;
		break;
	case TOP_KEY_END:
		p->cursor = n ? n - 1 : 0;
		break;
	}
	/* whoever goes home wants to see what is first, whatever that will be */
	p->touched = key != TOP_KEY_HOME;
	list__fit(p, n, page);
}
