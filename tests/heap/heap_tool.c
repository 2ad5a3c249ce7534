// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * What the modules of user/heap find in a process, one by one, for live tests:
 *
 *	heap-tool kinds PID FILE	of its lines "ADDRESS USABLE ...", "ADDRESS KIND" each; "?" where it is not known
 *	heap-tool parts PID [census]	"rss BYTES", "tables BYTES", "swap BYTES", then a line for each part
 *	heap-tool roots PID ADDRESS...	whose these are
 *	heap-tool look PID [interrupted|kept]	the sums of a look of a trace that has recorded nothing yet; interrupted, as soon as pointers are searched for;
 *					kept: of its memory, which is kept when it says "ready", after a byte on standard input
 *	heap-tool twice PID		"ready" after a census that must hold; after a byte what another one
 *					finds: "blocks N", or why it refuses
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "heap/heap.h"
#include "heap/look.h"
#include "heap/parts.h"
#include "process/keeper.h"
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
	k = kinds__new(&target, objects);
	began = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (kinds__look(k, by, blocks.n, to, &e))
		return fail(&e);
	spent = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began;
	for (size_t i = 0; i < blocks.n; i++)
		printf("%lx %s\n", (unsigned long)blocks.v[i].addr, to[i] ? to[i]->name : "?");
	fprintf(stderr, "%zu blocks, %.1f ms\n", blocks.n, spent / 1e6);
	kinds__free(k);
	free(by);
	free(to);
	vec_done(&blocks);
	return 0;
}

static const char *const part_kinds[N_PART_KINDS] = {
	[PART_HEAP] = "heap", [PART_STACK] = "stack", [PART_GLOBAL] = "global", [PART_TLS] = "tls", [PART_CODE] = "code",
	[PART_FILE] = "file", [PART_SHARED] = "shared", [PART_ANON] = "anonymous", [PART_OTHER] = "other",
};

static const char *const root_kinds[N_ROOT_KINDS] = {
	[ROOT_GLOBAL] = "global", [ROOT_STACK] = "stack", [ROOT_THREAD] = "thread", [ROOT_MAPPING] = "mapping",
};

/* KIND TID MAPPED RESIDENT SWAPPED DEEPEST NAME [MODULE], with tabs between them */
static int cmd_parts(int argc, char **argv)
{
	struct snapshot *s = snapshot__new();
	_cleanup_err_ struct err e = {};
	struct snap_heap h = {};
	struct parts *p = NULL;
	struct census c = {};
	struct glibc g = {};
	bool has_heap = argc && !strcmp(argv[0], "census");
	uint64_t began, spent;

	if (has_heap && census__take(&target, &g, &c, &e))
		return fail(&e);
	began = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (parts__new(&target, objects, &p, &e) || parts__fill(p, has_heap ? &c : NULL, s, &h, &e))
		return fail(&e);
	spent = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began;
	printf("rss %lu\ntables %lu\nswap %lu\n", (unsigned long)h.rss_bytes, (unsigned long)h.page_table_bytes, (unsigned long)h.swap_bytes);
	for (size_t i = 0; i < h.n_parts; i++) {
		const struct snap_part *part = &h.parts[i];

		printf("%s\t%d\t%lu\t%lu\t%lu\t%lu\t%s\t%s\n", part_kinds[part->kind], part->tid, (unsigned long)part->mapped_bytes,
		       (unsigned long)part->resident_bytes, (unsigned long)part->swapped_bytes, (unsigned long)part->deepest_bytes,
		       part->name, part->module ? part->module : "");
	}
	fprintf(stderr, "%zu mappings, %zu parts, %.1f ms\n", target.maps.n, h.n_parts, spent / 1e6);
	parts__free(p);
	census__done(&c);
	glibc__done(&g);
	snapshot__free(s);
	return 0;
}

/* KIND NAME MODULE */
static int cmd_roots(int argc, char **argv)
{
	_cleanup_err_ struct err e = {};
	struct parts *p = NULL;

	if (parts__new(&target, objects, &p, &e))
		return fail(&e);
	for (int i = 0; i < argc; i++) {
		struct snap_root r;
		char *end;
		uint64_t addr = strtoull(argv[i], &end, 16);

		/* ADDRESS, or 0:TID */
		parts__name_root(p, addr, *end == ':' ? atoi(end + 1) : 0, &r);
		printf("%s\t%s\t%s\n", root_kinds[r.kind], r.name, r.module ? r.module : "");
	}
	parts__free(p);
	return 0;
}

static bool interrupts, interrupted;

static void on_progress(const char *what, double part, void *arg)
{
	interrupted |= interrupts && strstr(what, "searching for pointers");
}

static bool is_over(void *arg)
{
	return interrupted;
}

static void no_blocks(void *arg, struct traced_blocks *to, uint64_t *ret_now_ns)
{
}

static int cmd_look(int argc, char **argv)
{
	const struct target_calls calls = { .is_over = is_over, .progress = on_progress };
	struct heap_opts o = { .reachable = true, .parts = true, .keeps_census = true, .calls = &calls, .objects = objects,
			       .traced = no_blocks, .traced_all = true };
	struct snapshot *s = snapshot__new();
	_cleanup_err_ struct err e = {};
	struct keeper *keeper = NULL;
	struct snap_heap h = {};
	char c;

	interrupts = argc && !strcmp(argv[0], "interrupted");
	if (argc && !strcmp(argv[0], "kept") &&
	    (keeper__new(&keeper, &e) || keeper__keep(keeper, target.pid, &o.kept, &e) || write(1, "ready\n", 6) != 6 || read(0, &c, 1) != 1))
		return fail(&e);
	if (heap__look(target.pid, &o, s, &h, &e))
		return fail(&e);
	keeping__free(o.kept);
	keeper__free(keeper);
	printf("blocks %lu\nbytes %lu\nolder %lu\nclasses %zu\nscans %u\ninterrupted %d\n", (unsigned long)h.blocks, (unsigned long)h.bytes,
	       (unsigned long)(h.older_known ? h.older_blocks : 0), h.n_classes, h.unreached.scans, h.search_interrupted);
	printf("unreached %lu\nregisters %s\n", (unsigned long)h.unreached.blocks, h.unreached.registers ?: "");
	for (size_t i = 0; i < h.n_parts; i++)
		printf("%s %lu %s\n", part_kinds[h.parts[i].kind], (unsigned long)h.parts[i].resident_bytes, h.parts[i].name);
	snapshot__free(s);
	return 0;
}

static int cmd_twice(int argc, char **argv)
{
	_cleanup_err_ struct err e = {};
	struct census first = {}, second = {};
	struct glibc g = {};
	char c;

	if (census__take(&target, &g, &first, &e) || write(1, "ready\n", 6) != 6 ||
	    read(0, &c, 1) != 1)
		return fail(&e);
	if (census__take(&target, &g, &second, &e))
		printf("%s\n", err_msg(&e));
	else
		printf("blocks %zu\n", second.blocks.n);
	census__done(&first);
	census__done(&second);
	glibc__done(&g);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "kinds", cmd_kinds },
	{ "parts", cmd_parts },
	{ "roots", cmd_roots },
	{ "look", cmd_look },
	{ "twice", cmd_twice },
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
