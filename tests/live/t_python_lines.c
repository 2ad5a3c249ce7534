// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Lines of code that is larger than a frame has room for: right, or unknown, and never another one. */
#include "python_truth.h"

#include <string.h>

TEST(python_lines_far_away)
{
	static const struct {
		uint64_t size;
		const char *function, *file;
		json_int_t line;	/* 0: unknown */
	} wanted[] = {
		{ 3001, "long", "/srv/long.py", 3 },
		{ 3003, "long", "/srv/long.py", 0 },
		{ 3005, "far", "/srv/far.py", 2147483647 },
	};
	struct spawn s = { .argv = { python(t), fixture("python/beyond.py") } };
	json_t *root, *site, *frame = NULL;
	struct fx f;
	size_t i, k;

	fx__start_as(t, &f, &s);
	root = trace(t, &f, 0, NULL);
	for (size_t w = 0; w < sizeof(wanted) / sizeof(*wanted); w++) {
		uint64_t n = 0;

		json_array_foreach(jget(root, "sites"), i, site) {
			if (ju64(t, site, "max_size") != wanted[w].size)
				continue;
			n += ju64(t, site, "alloc_calls");
			json_array_foreach(jget(site, "stack"), k, frame)
				if (is_python(frame))
					break;
			want(t, !strcmp(jstr(frame, "function"), wanted[w].function) && !strcmp(jstr(frame, "file"), wanted[w].file) &&
				json_integer_value(jget(frame, "line")) == wanted[w].line,
			     "blocks of %lu: wanted %s %s:%ld, got %s %s:%ld", (unsigned long)wanted[w].size, wanted[w].function, wanted[w].file, (long)wanted[w].line,
			     jstr(frame, "function"), jstr(frame, "file"), (long)json_integer_value(jget(frame, "line")));
		}
		want_eq(t, "blocks", 10, n);
	}
	fx__quit(t, &f);
}
