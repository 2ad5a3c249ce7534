// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * What a process maps has names of its choice: any text must give mappings that make sense, or none.
 */
#include "fuzz.h"
#include "process/maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct maps m = {};

	/* without an end of its own: what reads over the end is found */
	maps__parse((const char *)data, len, &m);
	for (size_t i = 0; i < m.n; i++) {
		if (m.v[i].start >= m.v[i].end || !m.v[i].path || strlen(m.v[i].path) > len)
			abort();
		maps__find(&m, m.v[i].start);
		maps__find(&m, m.v[i].end);
	}
	maps__done(&m);
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

	put_text_seed("text", -1, text);
	return 0;
}
