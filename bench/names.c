// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * What names cost: resolves N addresses spread over a file's code.
 *
 *	names FILE [N] [print]
 *
 * With "print", each address and its lines as addr2line -f -i -C would have them
 * ("?" for what is not known) instead of the time, for a comparison.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "elf/object.h"
#include "names/sym.h"
#include "util/util.h"

static uint64_t code_bytes(const struct object *obj)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < obj->n_segments; i++)
		sum += obj->segments[i].exec ? obj->segments[i].file_size : 0;
	return sum;
}

static uint64_t nth_byte(const struct object *obj, uint64_t at)
{
	for (size_t i = 0; i < obj->n_segments; i++) {
		const struct object_segment *s = &obj->segments[i];

		if (!s->exec)
			continue;
		if (at < s->file_size)
			return s->vaddr + at;
		at -= s->file_size;
	}
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 10000, begin_ns, first_ns = 0, total;
	bool print = argc > 3 && !strcmp(argv[3], "print");
	struct objects *objects = objects__new();
	struct sym *s = sym__new(NULL);
	size_t named = 0, with_line = 0, inlined = 0;
	struct object *obj;
	struct err e = { 0 };
	struct rusage usage;

	if (argc < 2 || !n) {
		fprintf(stderr, "usage: names FILE [N] [print]\n");
		return 2;
	}
	if (!objects || !s || objects__get_path(objects, argv[1], &obj, &e)) {
		fprintf(stderr, "names: %s\n", err_msg(&e));
		return 1;
	}
	total = code_bytes(obj);
	begin_ns = now_ns();
	for (uint64_t i = 0; i < n; i++) {
		uint64_t vaddr = nth_byte(obj, (total / n * i) & ~3ull) + 4;
		const struct line *l;
		size_t n_lines = sym__resolve(s, obj, vaddr, &l);

		named += l[n_lines - 1].function != NULL;
		with_line += l[0].line != 0;
		inlined += n_lines > 1;
		if (!i)
			first_ns = now_ns() - begin_ns;
		if (!print)
			continue;
		printf("0x%llx\n", (unsigned long long)vaddr - 1);
		for (size_t k = 0; k < n_lines; k++) {
			const char *slash = l[k].file ? strrchr(l[k].file, '/') : NULL;

			printf("%s\n%s:%u\n", l[k].function ?: "??", slash ? slash + 1 : l[k].file ?: "??", l[k].line);
		}
	}
	if (!print) {
		getrusage(RUSAGE_SELF, &usage);
		printf("%s: %llu addresses in %.2f s (the first %.2f s), %zu named, %zu with a line, %zu inlined, %ld MiB\n",
		       argv[1], (unsigned long long)n, (now_ns() - begin_ns) / 1e9, first_ns / 1e9, named, with_line,
		       inlined, usage.ru_maxrss / 1024);
	}
	object__put(obj);
	sym__free(s);
	objects__free(objects);
	return 0;
}
