// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * What the modules of user/heap find in a process, one by one, for live tests:
 *
 *	heap-tool kinds PID FILE	of its lines "ADDRESS USABLE ...", "ADDRESS KIND" each; "?" where it is not known
 *	heap-tool parts PID		"rss BYTES", "tables BYTES", "swap BYTES", then a line for each part
 *	heap-tool roots PID ADDRESS...	whose these are
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "heap/kinds.h"
#include "heap/parts.h"
#include "util/util.h"

static struct target target;
static struct objects *objects;

static int fail(const struct err *e)
{
	fprintf(stderr, "heap-tool: %s\n", err_msg(e));
	return 1;
}

static int cmd_kinds(int argc, char **argv)
{
	struct vec(struct heap_block) blocks = {};
	const struct heap_block **by = NULL;
	const struct kind **to = NULL;
	_cleanup_err_ struct err e = {};
	struct kinds *k = NULL;
	uint64_t began, spent;
	_cleanup_fclose_ FILE *f = argc ? fopen(argv[0], "r") : NULL;
	char *line = NULL;
	size_t room = 0;

	while (f && getline(&line, &room, f) > 0) {
		unsigned long addr, usable;
		struct heap_block *b;

		if (sscanf(line, "%lx %lu", &addr, &usable) != 2 || !(b = vec_push(&blocks)))
			return 1;
		*b = (struct heap_block){ .addr = addr, .usable = usable };
	}
	free(line);
	by = calloc(blocks.n + 1, sizeof(*by));
	to = calloc(blocks.n + 1, sizeof(*to));
	for (size_t i = 0; i < blocks.n; i++)
		by[i] = &blocks.v[i];
	if (kinds__new(&target, objects, &k, &e))
		return fail(&e);
	began = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (kinds__look(k, by, blocks.n, to, &e))
		return fail(&e);
	spent = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began;
	for (size_t i = 0; i < blocks.n; i++)
		printf("%lx %s\n", (unsigned long)blocks.v[i].addr, to[i] ? to[i]->name : "?");
	fprintf(stderr, "%zu blocks, %.1f ms, %llu not looked up\n", blocks.n, spent / 1e6,
		(unsigned long long)kinds__n_unresolved(k));
	kinds__free(k);
	free(by);
	free(to);
	vec_done(&blocks);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "kinds", cmd_kinds },
};

int main(int argc, char **argv)
{
	_cleanup_err_ struct err e = {};
	int status = 2;

	for (size_t i = 0; argc > 2 && i < ARRAY_SIZE(commands); i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		objects = objects__new();
		if (target__open(atoi(argv[2]), NULL, &target, &e))
			return fail(&e);
		status = commands[i].run(argc - 3, argv + 3);
		target__done(&target);
		objects__free(objects);
	}
	return status;
}
