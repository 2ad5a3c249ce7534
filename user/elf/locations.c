// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns nothing. A table is a row of entries, in the order of the instructions; only the first byte of an entry has its highest bit
 * set, so that columns, which nobody here wants, need no reading:
 *
 *	1 kind:4 n_units-1:3	0xxxxxxx ...
 *
 * Kinds 0 to 9 are on the line of the entry before, 10 to 12 this many lines below 10, 13 and 14 begin with a signed number
 * of lines, and 15 has no line. The first entry counts from the code's first line. It is the interpreter's own reading
 * (PyCode_Addr2Line): an instruction without a line has none in a traceback either.
 */
#include "elf/locations.h"

#include <stdbool.h>

enum { KIND_ONE_LINE = 10, KIND_NO_COLUMNS = 13, KIND_LONG = 14, KIND_NONE = 15 };

/* A signed number: 6 bits a byte, lowest first; bit 6 says that there is more, bit 0 of it all is the sign. */
static bool read_signed(const unsigned char *p, const unsigned char *end, int64_t *ret)
{
	uint64_t v = 0;

	/* no line has more than 32 bits; what is cut off in the middle is not known */
	for (unsigned int shift = 0; p < end && !(*p & 0x80) && shift < 36; shift += 6) {
		v |= (uint64_t)(*p & 0x3f) << shift;
		if (!(*p++ & 0x40)) {
			*ret = v & 1 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
			return true;
		}
	}
	return false;
}

static bool line_delta(unsigned int kind, const unsigned char *rest, const unsigned char *end, int64_t *ret)
{
	if (kind == KIND_NO_COLUMNS || kind == KIND_LONG)
		return read_signed(rest, end, ret);
	*ret = kind >= KIND_ONE_LINE && kind < KIND_NO_COLUMNS ? (int)kind - KIND_ONE_LINE : 0;
	return true;
}

uint32_t locations__line(const unsigned char *table, size_t len, uint32_t first_line, uint32_t unit)
{
	const unsigned char *p = table, *end = table + len;
	int64_t line = first_line, delta;
	uint32_t n_before = 0;

	while (p < end && *p & 0x80) {
		unsigned int kind = *p >> 3 & 0xf, n_units = (*p & 7) + 1;

		if (!line_delta(kind, p + 1, end, &delta))
			return 0;
		line += delta;	/* at most 2^36 each time, and 2^20 times */
		if (unit - n_before < n_units)
			return kind != KIND_NONE && line > 0 && line <= INT32_MAX ? line : 0;
		n_before += n_units;
		do
			p++;
		while (p < end && !(*p & 0x80));
	}
	return 0;
}
