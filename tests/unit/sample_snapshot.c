// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the sample: two processes, one of them ended; inlined functions, C++
 * names, a name wider than any terminal, names that were hostile before they
 * were cleaned; frames without a name, without a module, without a source;
 * stacks that are empty, deep, or end early. With SAMPLE_MANY nine processes:
 * workers that share code under two paths, a container, a family, wide names,
 * threads with numbers, trends and their history. Totals are added up from the
 * sites, so that the sample keeps the promises a real snapshot keeps.
 */
#include "sample_snapshot.h"

#include <math.h>
#include <string.h>

#include "bpf/abi.h"
#include "model/ages.h"
#include "util/util.h"

#define S 1000000000ull
#define MS 1000000ull
#define KIB 1024ull
#define MIB (1024ull * KIB)
#define WALL_START_NS (1794700712ll * 1000000000 + 125999999)

static const struct snap_module modules[] = {
	{ .path = "/usr/bin/redis-server", .build_id = "4f3c2b1a00112233445566778899aabbccddeeff" },
	{ .path = "/usr/lib/aarch64-linux-gnu/libc.so.6", .build_id = "0102030405060708090a0b0c0d0e0f1011121314" },
	{ .path = "/opt/app/lib/libtable-engine.so.2.14.0" },
	{ .path = "[vdso]" },
	/* one file, seen under two paths; another file at the second one's path */
	{ .path = "/usr/sbin/nginx", .build_id = "aaaa0000bbbb1111cccc2222dddd3333eeee4444" },
	{ .path = "/srv/images/web/usr/sbin/nginx", .build_id = "aaaa0000bbbb1111cccc2222dddd3333eeee4444" },
};

enum { REDIS, LIBC, ENGINE, VDSO, N_MODULES, NGINX = N_MODULES, NGINX_AGAIN, NOWHERE = -1 };

#define LINES(...) \
	(const struct line[]){ __VA_ARGS__ }, sizeof((const struct line[]){ __VA_ARGS__ }) / sizeof(struct line)

struct sample_place {
	int module;
	uint64_t offset;
	const struct line *lines;
	size_t n_lines;
};

enum {
	P_TRACKING, P_CALL, P_PROCESS, P_LOOP, P_MAIN, P_LIBC_START, P_START, P_SDS, P_DICT,
	P_NEW, P_INSERT, P_LONG, P_LAMBDA, P_HOSTILE, P_UNNAMED, P_NOWHERE, P_RECURSE, P_VDSO, P_THREAD, P_PATH,
	N_PLACES, P_POOL = N_PLACES, P_POOL_AGAIN, P_CYCLE, P_CYCLE_AGAIN,
};

static const struct sample_place places[] = {
	[P_TRACKING] = { REDIS, 0x8a4f0, LINES({ "raxGenericInsert", "./src/rax.c", 494, true, NULL, false },
					       { "raxTryInsert", "./src/rax.c", 924, true, NULL, false },
					       { "trackingRememberKey", "/build/redis-7.0.15/src/tracking.c", 212, false, NULL, false }) },
	[P_CALL] = { REDIS, 0x51210, LINES({ "call", "/build/redis-7.0.15/src/server.c", 3560, false, NULL, false }) },
	[P_PROCESS] = { REDIS, 0x52b38, LINES({ "processCommand", "/build/redis-7.0.15/src/server.c", 4203, false, NULL, false }) },
	[P_LOOP] = { REDIS, 0x4a1c4, LINES({ "aeProcessEvents", "ae.c", 436, true, NULL, false }, { "aeMain", "ae.c", 496, false, NULL, false }) },
	[P_MAIN] = { REDIS, 0x44e80, LINES({ "main", "/build/redis-7.0.15/src/server.c", 7280, false, NULL, false }) },
	[P_LIBC_START] = { LIBC, 0x27740, LINES({ "__libc_start_call_main", NULL, 0, false, NULL, false }) },
	[P_START] = { REDIS, 0x45130, LINES({ "_start", NULL, 0, false, NULL, false }) },
	[P_SDS] = { REDIS, 0x60a18, LINES({ "textbuild", "/build/redis-7.0.15/src/sds.c", 114, false, NULL, false }) },
	[P_DICT] = { REDIS, 0x4cc04, LINES({ "_dictExpand", "/build/redis-7.0.15/src/dict.c", 180, false, NULL, false }) },
	[P_NEW] = { ENGINE, 0x11f8, LINES({ "operator new(unsigned long)", NULL, 0, false, NULL, false }) },
	[P_INSERT] = { ENGINE, 0x24bc,
		       LINES({ "std::vector<engine::Row, std::allocator<engine::Row> >::_M_realloc_insert<engine::Row const&>"
			       "(__gnu_cxx::__normal_iterator<engine::Row*, std::vector<engine::Row, std::allocator<engine::Row> > >,"
			       " engine::Row const&)", "/usr/include/c++/12/bits/vector.tcc", 459, true, NULL, false },
			     { "engine::Table::add(engine::Row const&, std::chrono::duration<long, std::ratio<1l, 1000l> >)",
			       "/src/engine/table.cc", 88, false, NULL, false }) },
	[P_LONG] = { ENGINE, 0x3f00,
		     LINES({ "a_function_generated_by_some_tool_that_believes_in_names_which_say_everything_about_what_they_do"
			     "_and_then_some_more_to_be_on_the_safe_side", "/src/engine/generated/handlers_of_everything.c",
			     120411, false, NULL, false }) },
	[P_LAMBDA] = { ENGINE, 0x4abc,
		       LINES({ "engine::(anonymous namespace)::Loader::run()::{lambda(int)#1}::operator()(int) const",
			       "/src/engine/loader.cc", 31, false, NULL, false }) },
	[P_HOSTILE] = { ENGINE, 0x5000, LINES({ "evil?[31m\"name\"; \\ with é", "a b;c.c", 1, false, NULL, false }) },
	[P_UNNAMED] = { ENGINE, 0x6120, NULL, 0 },
	[P_NOWHERE] = { NOWHERE, 0xffff8a001234, NULL, 0 },
	[P_RECURSE] = { ENGINE, 0x7008, LINES({ "engine::Node::visit(engine::Visitor&)", "/src/engine/node.cc", 77, false, NULL, false }) },
	[P_VDSO] = { VDSO, 0x7a0, NULL, 0 },
	[P_THREAD] = { LIBC, 0x85030, LINES({ "start_thread", "./nptl/pthread_create.c", 442, false, NULL, false }) },
	[P_PATH] = { ENGINE, 0x8110, LINES({ "reload", NULL, 0, false, NULL, false }) },
	[P_POOL] = { NGINX, 0x21c40, LINES({ "ngx_create_pool", "src/core/ngx_palloc.c", 23, false, NULL, false }) },
	[P_POOL_AGAIN] = { NGINX_AGAIN, 0x21c40, LINES({ "ngx_create_pool", "src/core/ngx_palloc.c", 23, false, NULL, false }) },
	[P_CYCLE] = { NGINX, 0x3e118, LINES({ "ngx_worker_process_cycle", "src/os/unix/ngx_process_cycle.c", 721, false, NULL, false }) },
	[P_CYCLE_AGAIN] = { NGINX_AGAIN, 0x3e118, LINES({ "ngx_worker_process_cycle", "src/os/unix/ngx_process_cycle.c", 721, false, NULL, false }) },
};

struct sample_site {
	uint32_t process;
	const char *function;
	uint64_t calls, bytes, frees, free_bytes, reallocs, temp, failed;
	uint64_t at_peak, min, max, first_ns, last_ns, oldest_ns, lifetime_sum_ns, older_blocks, older_bytes;
	uint8_t end;
	uint32_t n_stack;
	uint32_t stack[32];
};

static const struct sample_site sites[] = {
	{ 0, "malloc", 31744, 31 * MIB, 0, 0, 0, 0, 0, 31 * MIB, 1024, 1024, 100 * MS, 29900 * MS, 29900 * MS, 0, 21000,
	  21000 * KIB, MT_END_WHOLE, 7, { P_TRACKING, P_CALL, P_PROCESS, P_LOOP, P_MAIN, P_LIBC_START, P_START } },
	{ 0, "calloc", 61204, 310 * MIB, 60000, 304 * MIB, 0, 0, 0, 6 * MIB, 512, 65536, 2 * S, 29 * S, 28000 * MS,
	  60000 * 40 * MS, 4, 2 * MIB, MT_END_WHOLE, 4, { P_DICT, P_CALL, P_MAIN, P_LIBC_START } },
	{ 0, "malloc", 2100000, 2100000 * 48ull, 2099999, 2099999 * 48ull, 0, 2099000, 0, 48, 48, 48, 5 * MS,
	  29999 * MS, 2 * MS, 2099999 * 4 * MS, 0, 0, MT_END_WHOLE, 6,
	  { P_SDS, P_CALL, P_PROCESS, P_LOOP, P_MAIN, P_LIBC_START } },
	{ 0, "realloc", 940, 4 * MIB, 936, 3 * MIB, 940, 0, 3, 900 * KIB, 16, 1 * MIB, 1 * S, 20 * S, 9 * S,
	  936 * 100 * MS, 0, 0, MT_END_NO_RULE, 2, { P_UNNAMED, P_VDSO } },
	{ 0, "malloc", 12, 1200, 0, 0, 0, 0, 0, 1200, 100, 100, 3 * S, 4 * S, 27 * S, 0, 12, 1200, MT_END_WHOLE, 0, {} },
	{ 0, "posix_memalign", 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 3 * S, 4 * S, 0, 0, 0, 0, MT_END_WHOLE, 1, { P_MAIN } },
	{ 1, "operator new", 512, 2 * MIB, 200, 800 * KIB, 0, 0, 0, 1248 * KIB, 4096, 4096, 12 * S, 19 * S, 17500 * MS,
	  200 * 1 * S, 312, 1248 * KIB, MT_END_WHOLE, 5, { P_NEW, P_INSERT, P_LONG, P_LAMBDA, P_THREAD } },
	{ 1, "operator new[]", 1, 80, 0, 0, 0, 0, 0, 80, 80, 80, 13 * S, 13 * S, 17 * S, 0, 1, 80, MT_END_DEPTH, 30,
	  { P_HOSTILE, P_PATH, P_RECURSE, P_RECURSE, P_RECURSE, P_RECURSE, P_RECURSE, P_RECURSE, P_RECURSE, P_RECURSE,
	    P_RECURSE, P_RECURSE, P_RECURSE, P_RECURSE, P_RECURSE, P_RECURSE, P_RECURSE, P_RECURSE, P_RECURSE, P_RECURSE,
	    P_RECURSE, P_RECURSE, P_RECURSE, P_RECURSE, P_RECURSE, P_RECURSE, P_LAMBDA, P_NEW, P_LONG, P_THREAD } },
	{ 1, "malloc", 30, 30, 0, 0, 0, 0, 0, 30, 1, 1, 14 * S, 14 * S, 16 * S, 0, 30, 30, MT_END_UNREADABLE, 2,
	  { P_HOSTILE, P_NOWHERE } },
	/* the same stack through another function: one line in folded files */
	{ 1, "calloc", 30, 30, 0, 0, 0, 0, 0, 30, 1, 1, 14 * S, 14 * S, 16 * S, 0, 30, 30, MT_END_UNREADABLE, 2,
	  { P_HOSTILE, P_NOWHERE } },
	/* SAMPLE_MANY, processes of that sample alone; 2 to 4 are workers, 4 runs in a container */
	{ 2, "malloc", 5000, 5000 * KIB, 4900, 4900 * KIB, 0, 4000, 0, 180 * KIB, 1024, 1024, 1 * S, 29 * S, 20 * S, 4900 * 9 * MS, 40,
	  40 * KIB, MT_END_WHOLE, 3, { P_POOL, P_CYCLE, P_LIBC_START } },
	{ 3, "malloc", 7000, 7000 * KIB, 6000, 6000 * KIB, 0, 5000, 1, 1000 * KIB, 512, 2048, 500 * MS, 28 * S, 28500 * MS, 6000 * 5 * MS, 900,
	  900 * KIB, MT_END_WHOLE, 3, { P_POOL, P_CYCLE, P_LIBC_START } },
	{ 4, "malloc", 3000, 3000 * KIB, 2999, 2999 * KIB, 0, 2990, 0, 2 * KIB, 1024, 4096, 11 * S, 29500 * MS, 2 * S, 2999 * 2 * MS, 0, 0,
	  MT_END_NO_RULE, 3, { P_POOL_AGAIN, P_CYCLE_AGAIN, P_LIBC_START } },
	{ 4, "calloc", 10, 640, 0, 0, 0, 0, 0, 640, 64, 64, 11 * S, 12 * S, 18 * S, 0, 10, 640, MT_END_WHOLE, 1, { P_CYCLE_AGAIN } },
	{ 5, "malloc", 900000, 900000 * 100ull, 100000, 100000 * 100ull, 0, 0, 0, 800000 * 100ull, 100, 100, 2 * S, 30 * S, 28 * S,
	  100000 * 1 * S, 500000, 500000 * 100ull, MT_END_WHOLE, 1, { P_SDS } },
	{ 6, "malloc", 4, 64 * KIB, 3, 48 * KIB, 0, 3, 0, 16 * KIB, 16 * KIB, 16 * KIB, 15 * S, 15 * S, 15 * S, 3 * MS, 0, 0, MT_END_WHOLE, 0, {} },
	{ 7, "malloc", 100, 6400, 100, 6400, 0, 100, 0, 0, 64, 64, 15 * S, 15010 * MS, 0, 100 * 1 * MS, 0, 0, MT_END_WHOLE, 1, { P_MAIN } },
};

static const char *const libc_functions[] = { "malloc", "calloc", "realloc", "free", "posix_memalign" };
static const char *const cxx_functions[] = { "operator new", "operator new[]" };

static const struct snap_probe probes[] = {
	{ "/usr/lib/aarch64-linux-gnu/libc.so.6", "0102030405060708090a0b0c0d0e0f1011121314", libc_functions,
	  ARRAY_SIZE(libc_functions), SIZE_REQUESTED, false },
	{ "/usr/lib/aarch64-linux-gnu/libstdc++.so.6", NULL, cxx_functions, ARRAY_SIZE(cxx_functions), SIZE_REQUESTED, false },
};

static const struct snap_thread redis_threads[] = {
	{ 1432, "redis-server", false, { .alloc_calls = 2193888, .alloc_bytes = 434438 * KIB, .free_calls = 2160935,
					 .free_bytes = 400000 * KIB, .temp_calls = 2099000, .unknown_frees = 118 }, 0 },
	{ 1435, "bio_lazy_free", true, { .alloc_calls = 12, .alloc_bytes = 1200 }, 0 },
};

static const struct snap_point redis_timeline[] = {
	{ 0, 0, 0, 0, 64 * MIB },
	{ 10 * S, 13 * MIB, 11000, 700000, 76 * MIB },
	{ 20 * S, 27 * MIB, 22000, 1500000, 88 * MIB },
	{ 30 * S, 38 * MIB, 32965, 2193900, 96 * MIB },
};

static const struct snap_size redis_sizes[] = {
	{ 64, 2100000, 1 }, { 1024, 12, 12 }, { 2048, 31744, 31744 }, { UINT64_MAX, 62144, 1208 },
};

static const struct snap_lifetime redis_lifetimes[] = {
	{ 4 * MS, 1500000 }, { 8 * MS, 599999 }, { UINT64_MAX, 60936 },
};

static const struct snap_thread pool_threads[] = {
	{ 2101, "ingest", false, { .alloc_calls = 20, .alloc_bytes = 2000, .free_calls = 99000, .free_bytes = 99000 * 100 }, 0 },
	{ 2102, "worker-1", false, { .alloc_calls = 300000, .alloc_bytes = 30000000, .free_calls = 300, .free_bytes = 30000 }, 0 },
	{ 2103, "worker-2", false, { .alloc_calls = 250000, .alloc_bytes = 25000000, .free_calls = 300, .free_bytes = 30000 }, 0 },
	{ 2104, "worker-13", true, { .alloc_calls = 349980, .alloc_bytes = 34998000, .free_calls = 400, .free_bytes = 40000 }, 0 },
	{ 2105, "日本語", false, { .alloc_calls = 0 }, 0 },
};

static const struct snap_point worker_timeline[] = { { 10 * S, 10 * KIB, 10, 1000, 3 * MIB }, { 30 * S, 100 * KIB, 100, 5000, 4 * MIB } };
static const struct snap_point other_timeline[] = { { 10 * S, 400 * KIB, 400, 2000, 3 * MIB }, { 20 * S, 700 * KIB, 700, 4000, 4 * MIB },
						    { 30 * S, 1000 * KIB, 1000, 7000, 5 * MIB } };
static const struct snap_point pool_history[] = { { .t_ns = 10 * S, .live_bytes = 10 * KIB }, { .t_ns = 30 * S, .live_bytes = 100 * KIB } };
static const struct snap_size worker_sizes[] = { { 2048, 5000, 100 } };
static const struct snap_size other_sizes[] = { { 1024, 10, 10 }, { 2048, 3000, 1 } };

#define STARTED(after_ns) (WALL_START_NS + (int64_t)(after_ns))

/* What SAMPLE_MANY has beside the two. */
#define MANY                                                                                                                     \
	{ .id = 3, .pid = 2001, .comm = "nginx", .exe = "/usr/sbin/nginx", .cgroup = "/system.slice/nginx.service",              \
	  .unit = "nginx.service", .age_at_attach_ns = 3600 * S, .c = { .peak_bytes = 180 * KIB, .unknown_frees = 4 },           \
	  .rss_bytes = 4 * MIB, .rss_at_attach_bytes = 3 * MIB, .peak_at_ns = 12 * S, .timeline = worker_timeline,               \
	  .n_timeline = 2, .sizes = worker_sizes, .n_sizes = 1,                                                                  \
	  .trend = { "steady", "no growth to speak of in 20.0s", 300, true, false } },                                           \
	{ .id = 4, .pid = 2002, .comm = "nginx", .exe = "/usr/sbin/nginx", .cgroup = "/system.slice/nginx.service",              \
	  .unit = "nginx.service", .age_at_attach_ns = 3500 * S, .c = { .peak_bytes = 1000 * KIB }, .rss_bytes = 5 * MIB,        \
	  .rss_at_attach_bytes = 3 * MIB, .peak_at_ns = 28 * S, .timeline = other_timeline, .n_timeline = 3,                     \
	  .trend = { "leak", "+30.0 KiB/s for 20.0s, oldest 28.5s", 30720, true, false } },                                      \
	{ .id = 5, .pid = 2003, .comm = "nginx", .exe = "/usr/sbin/nginx",                                                       \
	  .cgroup = "/docker/4f3c2b1a0011223344556677", .container = "4f3c2b1a0011223344556677", .container_pid = 7,             \
	  .wall_started_ns = STARTED(10 * S), .unseen_ns = 240 * MS, .c = { .peak_bytes = 3 * KIB }, .rss_bytes = 3 * MIB,       \
	  .sizes = other_sizes, .n_sizes = 2, .lost_stacks = 7 },                                                                \
	{ .id = 6, .pid = 2100, .comm = "stress", .exe = "/usr/bin/stress", .cgroup = "/user.slice/user-1000.slice",             \
	  .age_at_attach_ns = 60 * S, .c = { .peak_bytes = 800000 * 100ull }, .rss_bytes = 120 * MIB,                            \
	  .rss_at_attach_bytes = 2 * MIB, .threads = pool_threads, .n_threads = ARRAY_SIZE(pool_threads),                        \
	  .lost_blocks = 1204, .trend = { "suspect", "+2.5 MiB/s, half of it younger than 10.0s", 2.5 * MIB, true, false } },    \
	{ .id = 7, .pid = 2201, .comm = "データ収集", .exe = "/opt/データ/収集", .ended = true, .parent = 6,                     \
	  .exit_signal = 9, .oom_killed = true,                                                                                  \
	  .wall_started_ns = STARTED(15 * S), .c = { .peak_bytes = 16 * KIB } },                                                 \
	{ .id = 8, .pid = 2202, .comm = "sh", .exe = "/bin/sh", .ended = true, .parent = 7, .exit_signal = 11,                   \
	  .wall_started_ns = STARTED(15 * S), .c = { .peak_bytes = 128 } },                                                      \
	{ .id = 9, .pid = 0, .comm = "(12 others that ended)", .ended = true, .n_members = 12 }

static const struct snap_process processes[] = {
	{ .id = 1, .pid = 1432, .comm = "redis-server", .exe = "/usr/bin/redis-server",
	  .cgroup = "/system.slice/redis-server.service", .unit = "redis-server.service",
	  .age_at_attach_ns = (3 * 24 + 4) * 3600 * S, .c = { .peak_bytes = 39 * MIB, .unknown_frees = 118 },
	  .rss_bytes = 96 * MIB, .rss_at_attach_bytes = 64 * MIB, .peak_at_ns = 21300 * MS,
	  .threads = redis_threads, .n_threads = ARRAY_SIZE(redis_threads),
	  .timeline = redis_timeline, .n_timeline = ARRAY_SIZE(redis_timeline),
	  .sizes = redis_sizes, .n_sizes = ARRAY_SIZE(redis_sizes),
	  .lifetimes = redis_lifetimes, .n_lifetimes = ARRAY_SIZE(redis_lifetimes) },
	{ .id = 2, .pid = 1501, .comm = "table?worker;1", .exe = "/opt/app/bin/worker", .ended = true,
	  .c = { .peak_bytes = 1300 * KIB, .unknown_frees = 1 }, .rss_bytes = 9 * MIB, .peak_at_ns = 19 * S },
	MANY,
};
#define N_PROCESSES 2

static const struct snap_counter losses[] = {
	{ "live_full", "blocks are in no figure: block table full (--max-live N for more)", 1204 },
	{ "stack_full", "calls have no stack: stack table full (--max-stacks N for more)", 7 },
	{ "ring_full", "messages about threads and processes were lost: malloctrace was too slow", 0 },
};

static const struct snap_counter edges[] = {
	{ "return_only", "returns whose call began before the trace", 2 },
	{ "abandoned", "calls left without a return (longjmp, an exception, the end of the trace)", 1 },
	{ "died_inside", "threads ended inside a call", 0 },
};

static void add(struct counters *to, const struct counters *c)
{
	to->alloc_calls += c->alloc_calls;
	to->alloc_bytes += c->alloc_bytes;
	to->free_calls += c->free_calls;
	to->free_bytes += c->free_bytes;
	to->live_blocks += c->live_blocks;
	to->live_bytes += c->live_bytes;
	to->realloc_calls += c->realloc_calls;
	to->temp_calls += c->temp_calls;
	to->failed_calls += c->failed_calls;
}

/* The largest sites are known best: from 100% down. */
static struct std_error site_error(const struct counters *c)
{
	double share = 1 / sqrt(1 + c->alloc_bytes / (512.0 * KIB));

	return (struct std_error){ c->alloc_calls * share, c->alloc_bytes * share, c->live_blocks * share, c->live_bytes * share,
				   c->peak_bytes * share };
}

static void add_error(struct std_error *to, const struct std_error *e)
{
	to->alloc_calls = hypot(to->alloc_calls, e->alloc_calls);
	to->alloc_bytes = hypot(to->alloc_bytes, e->alloc_bytes);
	to->live_blocks = hypot(to->live_blocks, e->live_blocks);
	to->live_bytes = hypot(to->live_bytes, e->live_bytes);
	to->peak_bytes = hypot(to->peak_bytes, e->peak_bytes);
}

static void fill_site(struct snap_site *to, const struct sample_site *from, bool older)
{
	*to = (struct snap_site){
		.process = from->process,
		.function = from->function,
		.c = {
			.alloc_calls = from->calls, .alloc_bytes = from->bytes,
			.free_calls = from->frees, .free_bytes = from->free_bytes,
			.live_blocks = from->calls - from->frees, .live_bytes = from->bytes - from->free_bytes,
			.peak_bytes = MAX(from->at_peak, from->bytes - from->free_bytes),
			.realloc_calls = from->reallocs, .temp_calls = from->temp, .failed_calls = from->failed,
		},
		.cross_frees = from->frees / 4,
		.at_peak_bytes = from->at_peak,
		.min_size = from->min,
		.max_size = from->max,
		.first_ns = from->first_ns,
		.last_ns = from->last_ns,
		.oldest_ns = from->oldest_ns,
		.lifetime_sum_ns = from->lifetime_sum_ns,
		.older_blocks = older ? from->older_blocks : 0,
		.older_bytes = older ? from->older_bytes : 0,
		.n_stack = from->n_stack,
		.stack = from->stack,
		.end = from->end,
	};
}

/* A third of the blocks is as old as the oldest, one is new, and the rest is of classes that nobody else has. */
static void fill_ages(struct snapshot *s, struct snap_site *site)
{
	uint64_t third = site->c.live_blocks / 3, rest = site->c.live_blocks - third, bytes = site->c.live_bytes / 3;
	uint8_t oldest = age__class(site->oldest_ns);
	struct cut_age v[] = {
		{ &v[1], third, bytes, oldest, oldest },
		{ &v[2], 1, site->min_size, 0, 0 },
		{ NULL, rest - 1, site->c.live_bytes - bytes - site->min_size, 30, 31 },
	};

	s->scanned = true;
	s->scan_blocks += site->c.live_blocks;
	s->scan_bytes += site->c.live_bytes;
	if (site->c.live_blocks > 5)
		ages__build(s, v, UINT64_MAX, UINT64_MAX, site);
	else if (site->c.live_blocks)
		ages__build_range(s, site->oldest_ns, site->oldest_ns, site->c.live_blocks, site->c.live_bytes, site);
}

/* The second one's allocator is not glibc's, and one of its mappings is huge. Of those that ended it is history. */
static void fill_memory(struct snap_process *p)
{
	if (p->ended) {
		p->memory = (struct snap_memory){ .known = true, .seen_ns = 1500000000, .rss_bytes = 5 * MIB, .heap_mapped = 4 * MIB,
						  .heap_resident = 3 * MIB, .file_resident = 2 * MIB };
		return;
	}
	p->memory = (struct snap_memory){
		.known = true, .seen_ns = 12000000000, .rss_bytes = 96 * MIB + 8 * KIB, .heap_mapped = 90 * MIB, .heap_resident = 79 * MIB, .large_mapped = 16 * MIB, .large_resident = 10 * MIB,
		.file_resident = 6 * MIB + 900 * KIB, .stack_resident = 132 * KIB, .n_arenas = 3,
		.grown_known = true, .heap_grown = 30 * (int64_t)MIB, .large_grown = 3 * (int64_t)MIB, .file_grown = -(int64_t)MIB,
		.sized_blocks = p->c.live_blocks, .sized_requested = p->c.live_bytes,
		.sized_usable = p->c.live_bytes + p->c.live_blocks * 20, .sized_apart = 1 * MIB, .sized_all = p->id == 1,
	};
	if (p->id == 2)
		p->memory = (struct snap_memory){ .known = true, .seen_ns = 12000000000, .rss_bytes = 3 * MIB, .large_mapped = 5ull << 30,
						  .large_resident = 2 * MIB, .large_estimated = true, .file_resident = MIB };
}

/* What a site tells of time and threads. */
static void fill_more(struct snap_site *site)
{
	if (site->process == 2) {
		site->history = pool_history;
		site->n_history = ARRAY_SIZE(pool_history);
		site->cross_frees = 588;
		site->trend = (struct trend){ "steady", "98% freed", 300, true, false };
	} else if (site->process == 3) {
		site->history = other_timeline;
		site->n_history = ARRAY_SIZE(other_timeline);
		site->trend = (struct trend){ "leak", "1,000 of 7,000 blocks not freed, +30.0 KiB/s for 20.0s, oldest 28.5s", 30720, true, false };
	} else if (site->process == 5) {
		site->cross_frees = 99000;
	}
}

struct snapshot *sample__new(unsigned int flags)
{
	struct snapshot *s = snapshot__new();
	bool many = flags & SAMPLE_MANY && !(flags & (SAMPLE_SINGLE | SAMPLE_EMPTY));
	struct snap_process *procs;

	s->version = "0.1.0";
	s->kernel = "6.18.44";
	s->arch = "aarch64";
	s->recording = (struct recording)RECORDING_PRESET;
	s->observed_share = 1;
	s->known = HAS_ALL;
	if (flags & SAMPLE_COUNT) {
		s->recording.mode = MT_MODE_COUNT;
		s->known = HAS_ALLOC_CALLS | HAS_ALLOC_BYTES | HAS_REALLOC_CALLS;
	}
	if (flags & SAMPLE_GROWTH) {
		s->recording.mode = MT_MODE_GROWTH;
		s->known = HAS_ALLOC_CALLS | HAS_ALLOC_BYTES;
	}
	if (flags & SAMPLE_ESTIMATED) {
		s->estimated = true;
		s->recording.sample_bytes = 512 * KIB;
	}
	if (flags & (SAMPLE_PARTIAL | SAMPLE_ESTIMATED))
		s->known &= ~HAS_UNKNOWN_FREES;
	s->duration_ns = 30 * S;
	s->wall_start_ns = WALL_START_NS;
	s->wall_now_ns = s->wall_start_ns + (int64_t)s->duration_ns;
	s->ended = true;
	s->recording.min_size = flags & SAMPLE_PARTIAL ? 64 : 0;
	s->recording.older_ns = flags & SAMPLE_OLDER ? 10 * S : 0;

	s->modules = modules;
	s->n_modules = many ? ARRAY_SIZE(modules) : N_MODULES;
	s->probes = probes;
	s->n_probes = ARRAY_SIZE(probes);
	s->n_places = many ? ARRAY_SIZE(places) : N_PLACES;
	s->places = snapshot__alloc(s, s->n_places, sizeof(*s->places));
	for (size_t i = 0; i < s->n_places; i++)
		s->places[i] = (struct place){
			.module = places[i].module,
			.offset = places[i].offset,
			.resolved = !(flags & SAMPLE_UNNAMED),
			.n_lines = (uint16_t)places[i].n_lines,
			.lines = places[i].lines,
		};

	s->n_processes = flags & (SAMPLE_SINGLE | SAMPLE_EMPTY) ? 1 : many ? ARRAY_SIZE(processes) : N_PROCESSES;
	procs = snapshot__alloc(s, s->n_processes, sizeof(*procs));
	memcpy(procs, processes, s->n_processes * sizeof(*procs));
	s->processes = procs;
	s->sites = snapshot__alloc(s, ARRAY_SIZE(sites), sizeof(*s->sites));
	if (flags & SAMPLE_EMPTY)
		procs[0] = (struct snap_process){ .id = 1, .pid = 77, .comm = "idle", .exe = "/bin/idle" };
	else
		s->stacks_by_end[MT_END_WHOLE] = 2;
	for (size_t i = 0; !(flags & SAMPLE_EMPTY) && i < ARRAY_SIZE(sites); i++) {
		struct snap_site *site = &s->sites[s->n_sites];

		if (sites[i].process >= s->n_processes)
			continue;
		fill_site(site, &sites[i], flags & SAMPLE_OLDER);
		if (many)
			fill_more(site);
		if (flags & SAMPLE_HEAP)
			fill_ages(s, site);
		if (flags & SAMPLE_GROWTH) {
			site->growth = GROWTH_FAULT + i % 3;
			site->function = growth__name(site->growth);
			site->cross_frees = 0;
			site->guessed_calls = i ? 0 : 3;
			procs[site->process].growth.calls[site->growth] += site->c.alloc_calls;
			procs[site->process].growth.bytes[site->growth] += site->c.alloc_bytes;
		}
		add(&procs[site->process].c, &site->c);
		add(&s->totals, &site->c);
		if (flags & SAMPLE_ESTIMATED) {
			site->error = site_error(&site->c);
			add_error(&procs[site->process].error, &site->error);
			add_error(&s->error, &site->error);
		}
		s->stacks_by_end[site->end]++;
		s->n_sites++;
	}
	if (flags & SAMPLE_HEAP)
		for (size_t i = 0; i < s->n_processes; i++)
			fill_memory(&procs[i]);
	for (size_t i = 0; i < s->n_processes; i++) {
		s->totals.peak_bytes += procs[i].c.peak_bytes;
		s->totals.unknown_frees += procs[i].c.unknown_frees;
	}

	s->losses = snapshot__alloc(s, ARRAY_SIZE(losses), sizeof(*losses));
	memcpy((void *)s->losses, losses, sizeof(losses));
	s->n_losses = ARRAY_SIZE(losses);
	for (size_t i = 0; i < s->n_losses; i++) {
		if (!(flags & SAMPLE_LOSSES))
			((struct snap_counter *)s->losses)[i].n = 0;
		s->losses_total += s->losses[i].n;
	}
	s->edges = edges;
	s->n_edges = flags & (SAMPLE_SINGLE | SAMPLE_EMPTY) ? 0 : ARRAY_SIZE(edges);
	if (many) {
		s->host = "buildhost";
		s->trigger = "rss>100M: stress (2100) has 120.0 MiB resident";
		s->n_folded_processes = 12;
		s->n_folded_sites = 34;
	}
	s->probe_hits = 8000123;
	s->target_cpu_ns = 12 * S;
	s->tool_cpu_ns = 140 * MS;
	return s;
}

struct snapshot *sample__machine(void)
{
	struct snapshot *s = sample__new(SAMPLE_MANY);

	s->machine = (struct snap_machine){
		.known = true, .total_bytes = 16ull << 30, .available_bytes = 3ull << 29, .free_bytes = 410 << 20, .swap_bytes = 2ull << 30,
		.swap_free_bytes = 1ull << 30, .rss_bytes = 228 << 20,
	};
	return s;
}
