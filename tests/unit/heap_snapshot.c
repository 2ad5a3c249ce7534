// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what a look at a process's heap finds, for the sample's processes. What is a sum is added up here, so that the
 * sample keeps the promises of snap_heap.h: classes add up to what is in use, and with the arenas' blocks, too; free
 * bytes to those of the arenas; parts to the resident memory.
 */
#include "sample_snapshot.h"

#include <string.h>

#include "model/heaps.h"
#include "util/util.h"

#define KIB 1024ull
#define MIB (1024ull * KIB)
#define MS 1000000ull
#define S 1000000000ull

#define SHARES(...) (const struct snap_share[]){ __VA_ARGS__ }, sizeof((const struct snap_share[]){ __VA_ARGS__ }) / sizeof(struct snap_share)

/* bytes 0: as many as their sizes say. In order of sizes. */
static const struct snap_class classes[] = {
	{ 24, 0, 31044, 0, 0, 0, 2000, SHARES({ "text", 0.61, false }, { "pointers", 0.39, false }) },
	{ 40, 0, 120000, 0, 0, 0, 2000, SHARES({ "engine::Row", 1, true }) },
	{ 56, 0, 210433, 0, 0, 0, 2000, SHARES({ "app::Session", 0.98, true }, { "app::(anonymous namespace)::Page", 0.02, true }) },
	{ 120, 0, 8000, 0, 0, 0, 2000, SHARES({ "pointers", 0.9, false }, { "zeros", 0.1, false }) },
	{ 264, 0, 12000, 0, 8974, 0, 2000, SHARES({ "text", 0.97, false }, { "other", 0.03, false }) },
	{ 1032, 0, 31744, 0, 31700, 0, 2000, SHARES({ "std::map<std::string, std::vector<engine::Row> >", 0.5, true }, { "other", 0.5, false }) },
	{ 4096, 8192, 1204, 6906144, 0, 0, 1204, SHARES({ "evil?[31m\"name\"; \\ with é", 0.004, true }, { "zeros", 0.996, false }) },
	{ 65536, 131072, 12, 960000, 0, 0, 12, SHARES({ "データ収集", 0.5, true }, { "text", 0.5, false }) },
	{ 1 << 20, 2 << 20, 4, 5603328, 0, 0, 0, NULL, 0 },
};

static const struct snap_type types[] = {
	{ "other", 16232, 16474944, false, true },
	{ "std::map<std::string, std::vector<engine::Row> >", 15872, 16379904, true, true },
	{ "app::Session", 206224, 11548544, true, true },
	{ "zeros", 1999, 6974520, false, true },
	{ "engine::Row", 120000, 4800000, true, true },
	{ "text", 30583, 4007484, false, true },
	{ "pointers", 19307, 1154572, false, true },
	{ "app::(anonymous namespace)::Page", 4209, 235704, true, true },
	{ "データ収集", 6, 480000, true, false },
	{ "evil?[31m\"name\"; \\ with é", 5, 27625, true, false },
};

static const struct snap_arena arenas[] = {
	{ true, 300000, 40 * MIB, 0, 64 * KIB, 6 * MIB, 1 * MIB + 120 * KIB, 5 * MIB, 2 * MIB, 48 * MIB },
	{ false, 80000, 14 * MIB, 0, 32 * KIB, 4 * MIB, 200 * KIB, 3 * MIB + 512 * KIB, 1 * MIB, 19 * MIB },
	{ false, 34437, 0, 0, 16 * KIB, 2 * MIB, 90 * KIB, 2 * MIB, 512 * KIB, 8 * MIB },
	{ false, 0, 0, 0, 0, 7 * MIB, 132 * KIB, 7 * MIB, 7 * MIB, 7 * MIB + 132 * KIB },
};

static const struct snap_root roots[] = {
	{ ROOT_GLOBAL, "server", "/usr/bin/redis-server", 300400, 22 * MIB },
	{ ROOT_THREAD, "bio_lazy_free", NULL, 60000, 5 * MIB },
	{ ROOT_MAPPING, "/dev/shm/redis.queue", NULL, 1200, 900 * KIB },
	{ ROOT_STACK, "redis-server", NULL, 12, 3 * KIB },
};

static const struct snap_part parts[] = {
	{ PART_HEAP, "[heap]", NULL, 0, 48 * MIB, 47 * MIB, 0, 0, NULL, 0, 0 },
	{ PART_HEAP, "3 arenas", NULL, 0, 192 * MIB, 30 * MIB, 2 * MIB, 0, NULL, 0, 0 },
	{ PART_HEAP, "blocks with a mapping of their own", NULL, 0, 5 * MIB + 360 * KIB, 5 * MIB + 352 * KIB, 0, 0, NULL, 0, 0 },
	{ PART_STACK, "redis-server", NULL, 1432, 8 * MIB, 132 * KIB, 0, 148 * KIB, NULL, 0, 0 },
	{ PART_STACK, "bio_lazy_free", NULL, 1435, 8 * MIB, 16 * KIB, 0, 40 * KIB, NULL, 0, 0 },
	{ PART_GLOBAL, "server", "/usr/bin/redis-server", 0, 76 * KIB, 72 * KIB, 0, 0, NULL, 0, 0 },
	{ PART_GLOBAL, "(the rest)", "/usr/bin/redis-server", 0, 300 * KIB, 120 * KIB, 0, 0, NULL, 0, 0 },
	{ PART_TLS, "bio_lazy_free", NULL, 1435, 4 * KIB, 4 * KIB, 0, 0, NULL, 0, 0 },
	{ PART_CODE, "/usr/bin/redis-server", NULL, 0, 2 * MIB, 1 * MIB + 512 * KIB, 0, 0, NULL, 0, 0 },
	{ PART_CODE, "/usr/lib/aarch64-linux-gnu/libc.so.6", NULL, 0, 1 * MIB + 640 * KIB, 1 * MIB + 128 * KIB, 0, 0, NULL, 0, 0 },
	{ PART_FILE, "/var/lib/redis/evil?[31m\"name\".rdb", NULL, 0, 64 * MIB, 2 * MIB, 0, 0, NULL, 0, 0 },
	{ PART_SHARED, "/dev/shm/redis.queue", NULL, 0, 4 * MIB, 1 * MIB, 0, 0, NULL, 0, 0 },
	{ PART_ANON, "[anonymous]", NULL, 0, 32 * MIB, 7 * MIB + 160 * KIB, 0, 0, NULL, 0, 0 },
	{ PART_OTHER, "(the rest)", NULL, 0, 0, 0, 0, 0, NULL, 0, 0 },
};

/* Of each class so many of a hundred. */
static void fill_classes(struct snapshot *s, const struct snap_class **ret, size_t *ret_n, unsigned int percent, bool searched, bool unreached_alone)
{
	struct snap_class *v = snapshot__alloc(s, ARRAY_SIZE(classes), sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		struct snap_class c = classes[i];
		uint64_t each = c.bytes ? c.bytes / c.blocks : c.usable;

		if (unreached_alone)
			c.blocks = c.unreached_blocks;
		c.blocks = c.blocks * percent / 100;
		c.bytes = c.blocks * each;
		c.unreached_blocks = searched ? c.unreached_blocks * percent / 100 : 0;
		c.unreached_bytes = c.unreached_blocks * each;
		if (c.blocks)
			v[n++] = c;
	}
	*ret = v;
	*ret_n = n;
}

static void fill_arenas(struct snapshot *s, struct snap_heap *h)
{
	struct snap_arena *v = snapshot__alloc(s, ARRAY_SIZE(arenas), sizeof(*v));
	uint64_t blocks = 0, bytes = 0;

	memcpy(v, arenas, sizeof(arenas));
	for (size_t i = 0; i < ARRAY_SIZE(arenas); i++) {
		v[i].free_bytes = v[i].tcache_bytes + v[i].bins_bytes + v[i].top_bytes;
		blocks += v[i].blocks;
		bytes += v[i].bytes;
		h->tcache_bytes += v[i].tcache_bytes;
		h->bins_bytes += v[i].bins_bytes;
		h->top_bytes += v[i].top_bytes;
		h->trimmable_bytes += v[i].trimmable_bytes;
		h->free_bytes += v[i].free_bytes;
	}
	v[2].blocks += h->blocks - h->mapped_blocks - blocks;
	v[2].bytes = h->bytes - h->mapped_bytes - bytes;
	h->free_resident_bytes = h->free_bytes - MIB;
	h->arenas = v;
	h->n_arenas = ARRAY_SIZE(arenas);
}

static void fill_unreached(struct snapshot *s, struct snap_heap *h, bool quiet)
{
	static const struct snap_type lost[] = {
		{ "std::map<std::string, std::vector<engine::Row> >", 16000, 16512000, true, true },
		{ "other", 15969, 16202000, false, true },
		{ "text", 8705, 2298120, false, true },
	};
	struct snap_unreached *u = &h->unreached;

	*u = (struct snap_unreached){ .scans = 3, .root_bytes = 9 * MIB, .registers = "read" };
	if (quiet)
		return;
	fill_classes(s, &u->classes, &u->n_classes, 100, true, true);
	for (size_t i = 0; i < u->n_classes; i++) {
		u->blocks += u->classes[i].blocks;
		u->bytes += u->classes[i].bytes;
	}
	u->direct_blocks = u->blocks - 600;
	u->direct_bytes = u->bytes - 600 * 264;
	u->types = lost;
	u->n_types = ARRAY_SIZE(lost);
}

/* Most of what the leak lost, in the process that has it, and what its blocks are. */
static void fill_sites(struct snapshot *s, struct snap_heap *h, bool quiet)
{
	static const struct snap_share leaked[] = { { "std::map<std::string, std::vector<engine::Row> >", 0.5, true }, { "other", 0.5, false } };

	for (size_t i = 0; i < s->n_sites; i++) {
		struct snap_site *site = &s->sites[i];

		if (site->process != h->process)
			continue;
		site->looked_blocks = site->c.live_blocks;
		if (site->c.live_blocks == 31744 && !quiet) {
			site->unreached_blocks = 31700;
			site->unreached_bytes = 31700 * KIB;
			site->types = leaked;
			site->n_types = ARRAY_SIZE(leaked);
		} else if (site->c.live_blocks == 1204) {
			site->held = &roots[0];
		}
	}
}

static void fill_census(struct snapshot *s, struct snap_heap *h, unsigned int flags)
{
	fill_classes(s, &h->classes, &h->n_classes, 100, flags & HEAP_SEARCHED && !(flags & HEAP_QUIET), false);
	for (size_t i = 0; i < h->n_classes; i++) {
		h->blocks += h->classes[i].blocks;
		h->bytes += h->classes[i].bytes;
	}
	h->mapped_blocks = h->classes[h->n_classes - 1].blocks;
	h->mapped_bytes = h->classes[h->n_classes - 1].bytes;
	fill_arenas(s, h);
	h->types = types;
	h->n_types = ARRAY_SIZE(types);
	h->unsure_blocks = 2;
	h->swapped_bytes = 2 * MIB;
	h->broken_bytes = 4 * KIB;
	if (flags & HEAP_OLDER) {
		h->older_known = true;
		fill_classes(s, &h->older_classes, &h->n_older_classes, 60, false, false);
		for (size_t i = 0; i < h->n_older_classes; i++) {
			h->older_blocks += h->older_classes[i].blocks;
			h->older_bytes += h->older_classes[i].bytes;
		}
		h->older_types = types + 2;
		h->n_older_types = 3;
	}
	if (!(flags & HEAP_SEARCHED))
		return;
	fill_unreached(s, h, flags & HEAP_QUIET);
	fill_sites(s, h, flags & HEAP_QUIET);
	h->roots_known = true;
	h->roots = roots;
	h->n_roots = ARRAY_SIZE(roots);
	if (flags & HEAP_OLDER && !(flags & HEAP_QUIET)) {
		h->older_unreached_blocks = 8974;
		h->older_unreached_bytes = 8974 * 264;
	}
}

void sample__add_heap(struct snapshot *s, uint32_t process, unsigned int flags)
{
	struct snap_heap *v = snapshot__alloc(s, s->n_heaps + 1, sizeof(*v)), *h = &v[s->n_heaps];

	if (s->n_heaps)
		memcpy(v, s->heaps, s->n_heaps * sizeof(*v));
	*h = (struct snap_heap){ .process = process, .allocator = "glibc", .looked_ns = 312 * MS, .page_table_bytes = 340 * KIB, .swap_bytes = 2 * MIB };
	h->at_ns = s->duration_ns > 12 * S ? s->duration_ns - 12 * S : 0;
	h->parts = parts;
	h->n_parts = ARRAY_SIZE(parts);
	for (size_t i = 0; i < h->n_parts; i++)
		h->rss_bytes += h->parts[i].resident_bytes;
	if (flags & HEAP_REFUSED) {
		h->allocator = NULL;
		h->refused = "heap layout not recognised: no arena in libjemalloc.so.2";
	} else {
		fill_census(s, h, flags);
	}
	snapshot__set_heaps(s, v, s->n_heaps + 1);
}

struct snapshot *sample__heap_alone(unsigned int flags)
{
	struct snapshot *s = sample__new(SAMPLE_SINGLE), *alone = snapshot__new();
	struct snap_process *p = snapshot__alloc(alone, 1, sizeof(*p));

	*p = (struct snap_process){ .id = 1, .pid = 1432, .comm = "redis-server", .exe = "/usr/bin/redis-server", .age_at_attach_ns = 273600 * S };
	alone->version = s->version;
	alone->kernel = s->kernel;
	alone->arch = s->arch;
	alone->host = s->host;
	alone->recording = (struct recording)RECORDING_PRESET;
	alone->observed_share = 1;
	alone->wall_start_ns = alone->wall_now_ns = s->wall_now_ns;
	alone->ended = true;
	alone->processes = p;
	alone->n_processes = 1;
	sample__add_heap(alone, 0, flags);
	p->rss_bytes = alone->heaps[0].rss_bytes;
	snapshot__free(s);
	return alone;
}
