// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * What a process maps has names of its choice: any text must give mappings that make sense, or none. The first byte is the
 * length of the pieces that the text comes in; 0: it is read as a whole.
 */
#include "process/maps.h"
#include "process/memmap.h"
#include "fuzz.h"

static void whole(const uint8_t *data, size_t len)
{
	struct maps m = {};

	/* without an end of its own: what reads over the end is found */
	if (maps__parse((const char *)data, len, &m, NULL))
		return;
	for (size_t i = 0; i < m.n; i++) {
		if (m.v[i].start >= m.v[i].end || !m.v[i].path || strlen(m.v[i].path) > len)
			abort();
		maps__find(&m, m.v[i].start);
		maps__find(&m, m.v[i].end);
	}
	maps__done(&m);
}

static bool peek(uint64_t addr, void *to, size_t len, void *arg)
{
	memset(to, (int)(addr >> 12), len);
	return addr >> 30 & 1;
}

static void resident(uint64_t start, uint64_t end, struct memmap_resident *to, void *arg)
{
	if (start >= end)
		abort();
	to->bytes++;
}

static void in_pieces(const uint8_t *data, size_t len, size_t piece)
{
	struct memmap_parser p = { .peek = peek, .resident = resident };

	for (size_t i = 0; i < len; i += piece)
		memmap_parser__feed(&p, (const char *)data + i, MIN(piece, len - i));
	memmap_parser__end(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len && data[0])
		in_pieces(data + 1, len - 1, data[0]);
	else if (len)
		whole(data + 1, len - 1);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char text[] =
		"aaaac0000000-aaaac0010000 r-xp 00000000 103:01 1234                      /usr/bin/x y [heap]\n"
		"aaaad5a40000-aaaad5b40000 rw-p 00000000 00:00 0                          [heap]\n"
		"7f5c00000000-7f5c00021000 rw-p 00000000 00:00 0 \n"
		"7f5c00021000-7f5c04000000 ---p 00000000 00:00 0 \n"
		"7f5c10000000-7f5c10800000 rw-p 00000000 00:00 0                          [anon:stack of a worker]\n"
		"7f5c20000000-7f5c20100000 rw-s 00000000 00:01 99                         /a\\012b (deleted)\n"
		"7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]\n"
		"7ffc00030000-7ffc00032000 r-xp 00000000 00:00 0                          [vdso]\n";

	put_text_seed("whole", 0, text);
	put_text_seed("pieces", 7, text);
	return 0;
}
