// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* How old live blocks are, and where resident memory is. */
#include "lt.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define S 1000000000ull

struct older {
	uint64_t blocks, bytes;
};

/* Of all sites: the blocks of classes from this age on. */
static struct older from_age(struct test *t, json_t *root, uint64_t from_ns)
{
	struct older sum = {};
	json_t *site, *age;
	size_t i, k;

	json_array_foreach(jget(root, "sites"), i, site)
		json_array_foreach(jget(site, "ages"), k, age)
			if (ju64(t, age, "from_ns") >= from_ns) {
				sum.blocks += ju64(t, age, "blocks");
				sum.bytes += ju64(t, age, "bytes");
			}
	return sum;
}

static uint64_t sum_of(struct test *t, json_t *root, const char *key)
{
	uint64_t sum = 0;
	json_t *site;
	size_t i;

	json_array_foreach(jget(root, "sites"), i, site)
		sum += ju64(t, site, key);
	return sum;
}

static void want_text(struct test *t, const struct mt *m, const char *wanted)
{
	want(t, strstr(m->c.outs.s, wanted), "wanted '%s' in\n%s", wanted, m->c.outs.s);
}

/*
 * What --older counted while it was recorded, and what the classes say: of an age
 * that is a border of classes both must be the same, however fast or slow all this is.
 */
TEST(ages_are_in_the_file)
{
	const char *file = in_dir(t, "x.json");
	struct older older;
	json_t *root;
	struct mt m;
	struct fx f;

	fx__start(t, &f, "memory", "ages", "2100", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--older", "2s", "-o", file, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	fx__quit(t, &f);
	root = load_json(t, file);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	older = from_age(t, root, 0);
	want_u64(t, root, "totals.live_blocks", older.blocks);
	want_u64(t, root, "totals.live_bytes", older.bytes);
	older = from_age(t, root, 2 * S);
	want_eq(t, "older blocks", sum_of(t, root, "older_blocks"), older.blocks);
	want_eq(t, "older bytes", sum_of(t, root, "older_bytes"), older.bytes);
	/* 15 of the 100 were freed; what was made first is old enough, whatever became of the rest */
	want(t, older.blocks >= 85, "85 blocks are 2 s old, got %" PRIu64, older.blocks);
	json_decref(root);
}

/* Weights instead of ones: what the classes hold is what is live, within rounding. */
TEST(ages_of_a_sample_add_up)
{
	const char *file = in_dir(t, "x.json");
	uint64_t live, n_sites;
	json_t *root;
	struct mt m;
	struct fx f;
	struct older all;

	fx__start(t, &f, "memory", "ages", "1", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--sample", "64", "-o", file, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	fx__quit(t, &f);
	root = load_json(t, file);
	all = from_age(t, root, 0);
	live = ju64(t, root, "totals.live_blocks");
	n_sites = json_array_size(jget(root, "sites"));
	/* each class of each site is rounded: half a block, of a hundred classes at most */
	want(t, all.blocks + 50 * n_sites >= live && all.blocks <= live + 50 * n_sites, "%" PRIu64 " blocks by age, %" PRIu64 " live", all.blocks,
	     live);
	json_decref(root);
}

/* ---- resident memory */

#define MIB (1024 * 1024ull)

struct seen {
	struct fx f;
	struct mt m;
	json_t *root, *process, *memory;
};

/* The fixture does one thing, and what malloctrace says of its memory afterwards. */
static void look_by(struct test *t, struct seen *s, const char *how, const char *what, const char *mib)
{
	const char *file = in_dir(t, "%s.json", what);

	fx__start(t, &s->f, "memory", what, mib, NULL);
	if (how && !strcmp(how, "--no-reachable"))
		mt__start(t, &s->m, "-p", pid_arg(s->f.c.pid), how, "-o", file, NULL);
	else if (how)
		mt__start(t, &s->m, how, !strcmp(how, "-f") ? "-p" : "memory", !strcmp(how, "-f") ? pid_arg(s->f.c.pid) : "--view=leaks", "--full", "-o", file, NULL);
	else
		mt__start(t, &s->m, "-p", pid_arg(s->f.c.pid), "--view", "leaks", "-o", file, NULL);
	mt__wait_attached(t, &s->m);
	fx__go(t, &s->f);
	mt__stop(t, &s->m, SIGINT, 0);
	fx__quit(t, &s->f);
	s->root = load_json(t, file);
	s->process = process_of(t, s->root, s->f.c.pid, 0);
	s->memory = jget(s->process, "memory");
	must(t, json_is_object(s->memory), "memory, wanted an object");
}

static void look(struct test *t, struct seen *s, const char *what, const char *mib)
{
	look_by(t, s, NULL, what, mib);
}

static int64_t ji64(struct test *t, json_t *j, const char *path)
{
	json_t *v = jget(j, path);

	want(t, json_is_integer(v), "%s, wanted a number", path);
	return json_integer_value(v);
}

/* What is no anonymous memory is the program and libc: not much. RSS is counted late, up to 64 pages a CPU and kind. */
static void want_rss(struct test *t, const struct seen *s)
{
	uint64_t rss = ju64(t, s->process, "rss_bytes"), slack = 4 * MIB, files = 8 * MIB;
	uint64_t anon = ju64(t, s->memory, "heap_resident_bytes") + ju64(t, s->memory, "other_resident_bytes") +
			ju64(t, s->memory, "stack_resident_bytes");

	want(t, anon <= rss + slack && anon + files >= rss, "parts of %" PRIu64 " bytes, RSS %" PRIu64, anon, rss);
	want(t, ju64(t, s->memory, "file_resident_bytes") <= files, "%" PRIu64 " bytes of files", ju64(t, s->memory, "file_resident_bytes"));
}

/* Every header was read: exact, to the byte. */
static void want_sizes(struct test *t, const struct seen *s)
{
	want_bool(t, s->memory, "sized_all", true);
	want_u64(t, s->memory, "sized_blocks", ju64(t, s->process, "totals.live_blocks"));
	want_u64(t, s->memory, "sized_requested_bytes", ju64(t, s->process, "totals.live_bytes"));
	want_u64(t, s->memory, "sized_set_aside_bytes", ledger__note(t, &s->f.led, "set_aside"));
	want_u64(t, s->memory, "sized_apart_bytes", ledger__note(t, &s->f.led, "apart"));
}

/* RSS stays, half of it is free: the heap is full of holes. */
TEST(memory_fragments)
{
	uint64_t heap, set_aside, freed;
	struct seen s;

	look(t, &s, "fragments", "16");
	want_rss(t, &s);
	want_sizes(t, &s);
	heap = ju64(t, s.memory, "heap_resident_bytes");
	set_aside = ju64(t, s.memory, "sized_set_aside_bytes");
	freed = ledger__note(t, &s.f.led, "free_bytes");
	/* all pages that malloc has were touched, but for the rest behind the last block: 128 KiB at most, and the ends of pages */
	want(t, heap >= ledger__note(t, &s.f.led, "arena_bytes") - 256 * 1024, "%" PRIu64 " bytes of the heap are resident", heap);
	want(t, heap - set_aside + 256 * 1024 >= freed, "%" PRIu64 " bytes free, wanted %" PRIu64, heap - set_aside, freed);
	/* a look at the heap tells the two apart */
	want_text(t, &s.m, "older than the trace 0 B in 0 blocks");
	want(t, ji64(t, s.memory, "heap_grown_bytes") >= (int64_t)(12 * MIB), "the heap grew");
	json_decref(s.root);
}

/* Whose the probes are makes no difference: its own, or shared. */
TEST_ALONE(memory_heap_by_name_and_followed)
{
	static const char *const how[] = { "-f", "--comm" };

	for (size_t i = 0; i < sizeof(how) / sizeof(*how); i++) {
		struct seen s;

		look_by(t, &s, how[i], "fragments", "16");
		want_sizes(t, &s);
		want_text(t, &s.m, "free or older than the trace");
		json_decref(s.root);
	}
}

/* Growth that is no malloc's. */
TEST(memory_mapped)
{
	struct seen s;

	look(t, &s, "map", "24");
	want_rss(t, &s);
	want_u64(t, s.process, "totals.live_bytes", 0);
	want(t, ji64(t, s.memory, "other_grown_bytes") >= (int64_t)(24 * MIB), "24 MiB more beside the heap");
	want(t, ji64(t, s.memory, "heap_grown_bytes") < (int64_t)MIB, "nothing in the heap");
	want_text(t, &s.m, "0% of its growth explained by live blocks");
	want_text(t, &s.m, "anonymous +24");
	json_decref(s.root);
}

TEST(memory_leak)
{
	uint64_t live, grown;
	struct seen s;

	look(t, &s, "leak", "24");
	want_rss(t, &s);
	want_sizes(t, &s);
	live = ju64(t, s.process, "totals.live_bytes");
	grown = ju64(t, s.process, "rss_bytes") - ju64(t, s.process, "rss_at_attach_bytes");
	want(t, live > 20 * MIB && live * 100 >= grown * 90, "%" PRIu64 " live bytes explain %" PRIu64, live, grown);
	want(t, ji64(t, s.memory, "heap_grown_bytes") >= (int64_t)live, "the heap grew by what is live");
	want_u64(t, s.memory, "arenas", 0);
	json_decref(s.root);
}

/* Large blocks have a mapping each: they are not in the heap. */
TEST(memory_large_blocks)
{
	struct seen s;

	look(t, &s, "large", "24");
	want_rss(t, &s);
	want_sizes(t, &s);
	want(t, ledger__note(t, &s.f.led, "apart") > 20 * MIB, "the fixture's blocks have mappings of their own");
	want(t, ju64(t, s.memory, "other_resident_bytes") >= ledger__note(t, &s.f.led, "apart"), "they are resident beside the heap");
	want_text(t, &s.m, "in mappings of their own");
	json_decref(s.root);
}

/* A thread's arena, more than one piece of it. */
TEST(memory_arena)
{
	struct seen s;

	look(t, &s, "arena", "80");
	want_rss(t, &s);
	want_u64(t, s.memory, "arenas", 1);
	want(t, ju64(t, s.memory, "heap_resident_bytes") >= ledger__note(t, &s.f.led, "set_aside"), "the arena is part of the heap");
	want(t, ju64(t, s.memory, "other_resident_bytes") < 8 * MIB, "and nothing of it is taken for something else");
	/* 80 thousand blocks: more than are looked at one by one */
	want_bool(t, s.memory, "sized_all", false);
	want(t, ju64(t, s.memory, "sized_blocks") > 20000, "a sample was looked at");
	want_text(t, &s.m, "1 arena beside it");
	json_decref(s.root);
}

/* What was only read is the kernel's zeros, which no RSS has. */
TEST(memory_only_read)
{
	struct seen s;

	look(t, &s, "read", "64");
	want_rss(t, &s);
	want(t, ju64(t, s.process, "totals.live_bytes") >= 64 * MIB, "the block lives");
	want(t, ju64(t, s.memory, "other_mapped_bytes") >= 64 * MIB, "it is mapped");
	want(t, ju64(t, s.memory, "other_resident_bytes") < 8 * MIB, "%" PRIu64 " bytes are resident", ju64(t, s.memory, "other_resident_bytes"));
	json_decref(s.root);
}

/*
 * It goes on while probes are taken out, and frees nothing: nothing of that may be taken for free memory. Calls are still recorded
 * while blocks are listed; where that was so, the figures are a sample.
 */
TEST(memory_at_the_end)
{
	static const char *const how[] = { "--no-reachable", NULL };

	for (unsigned int i = 0; i < 2; i++) {
		uint64_t heap, set_aside, live, sized;
		struct seen s;

		look_by(t, &s, how[i], "go_on", "512");
		live = ju64(t, s.process, "totals.live_blocks");
		sized = ju64(t, s.memory, "sized_blocks");
		want_bool(t, s.memory, "sized_all", sized == live);
		heap = ju64(t, s.memory, "heap_resident_bytes");
		set_aside = ju64(t, s.memory, "sized_set_aside_bytes");
		want(t, heap <= set_aside + MIB, "%" PRIu64 " bytes of the heap are resident, of which blocks have %" PRIu64, heap, set_aside);
		json_decref(s.root);
	}
}

/* Pages that the target promised to bring in itself, and does not: nobody is to wait for them. */
TEST(memory_missing_pages)
{
	struct seen s;

	look(t, &s, "missing", "16");
	if (!ledger__note(t, &s.f.led, "registered"))
		skip(t, "userfaultfd is not permitted");
	want_rss(t, &s);
	want_sizes(t, &s);
	want(t, ju64(t, s.memory, "other_mapped_bytes") >= 16 * MIB, "they are mapped");
	want(t, ju64(t, s.memory, "other_resident_bytes") < 8 * MIB, "none of them is there");
	json_decref(s.root);
}

/* "malloctrace: memory of 1 process read: 3.1 ms, 26 slices of at most 32,768 pages"; of the line that was read last */
static void slices(struct test *t, const struct mt *m, uint64_t *ret_n, uint64_t *ret_most)
{
	const char *line = m->c.errs.s, *next;
	double ms;

	while ((next = strstr(line + 1, "malloctrace: memory of ")))
		line = next;
	must(t, sscanf(line, "malloctrace: memory of 1 process read: %lf ms, %" SCNu64 " slice%*[s] of at most %" SCNu64 " pages", &ms, ret_n,
		       ret_most) == 3 ||
		sscanf(line, "malloctrace: memory of 1 process read: %lf ms, %" SCNu64 " slice of at most %" SCNu64 " pages", &ms, ret_n,
		       ret_most) == 3, "no look is told of: %.400s", m->c.errs.s);
}

/* Of 8 GiB some pages stand for all, which is told everywhere. And no look is longer than a slice of it. */
TEST(memory_huge_mapping)
{
	const char *json = in_dir(t, "x.json"), *html = in_dir(t, "x.html"), *from;
	uint64_t n, most, pages, touched, there;
	json_t *root, *memory;
	struct fx f;
	struct mt m;
	char *page;

	fx__start(t, &f, "memory", "sparse", "8192", NULL);
	fx__go(t, &f);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-v", "-o", json, "-o", html, "--view", "leaks", NULL);
	mt__wait_attached(t, &m);
	mt__stop(t, &m, SIGINT, 0);
	root = load_json(t, json);
	memory = jget(process_of(t, root, f.c.pid, 0), "memory");
	must(t, json_is_object(memory), "memory, wanted an object");
	want_bool(t, memory, "other_estimated", true);
	want_bool(t, memory, "heap_estimated", false);
	want(t, ju64(t, memory, "other_mapped_bytes") >= ledger__note(t, &f.led, "mapped"), "what is mapped");
	/* one in 512 is there, wherever it is looked */
	touched = ledger__note(t, &f.led, "touched");
	there = ju64(t, memory, "other_resident_bytes");
	want(t, there + MIB >= touched && there <= touched + 4 * MIB, "%" PRIu64 " bytes resident, of which %" PRIu64 " were touched", there, touched);
	want_text(t, &m, "anonymous ~");
	want_text(t, &m, "files ~");
	page = read_all(html, NULL);
	want(t, page && strstr(page, "\"other_estimated\":true") && !strstr(page, "\"heap_estimated\":true"), "HTML, wanted that it is estimated");
	/* at most 2^20 pages of it, each once: by half at least, so in so many slices */
	slices(t, &m, &n, &most);
	pages = ledger__note(t, &f.led, "mapped") / (uint64_t)sysconf(_SC_PAGESIZE);
	pages = pages > 1 << 20 ? 1 << 19 : pages;
	want(t, n * most >= pages && most <= 32768 + 4096, "%" PRIu64 " slices of at most %" PRIu64 " pages, wanted more of them for %" PRIu64, n, most, pages);
	from = strstr(m.c.outs.s, "heap ~");
	want(t, !from, "the heap is none of it, got: %.40s", from ? from : "");
	fx__quit(t, &f);
	json_decref(root);
	free(page);
}

/* Snapshots with many slices while threads end: what the programs tell meanwhile is kept, and nothing of it is forgotten. */
TEST(memory_slices_and_messages)
{
	uint64_t n = scaled(300), allocs = 0, n_ended = 0, n_slices, most;
	const char *out = in_dir(t, "x.json");
	json_t *root, *p, *thread;
	char count[24];
	struct fx f;
	struct mt m;
	size_t i;

	snprintf(count, sizeof(count), "%" PRIu64, n);
	fx__start(t, &f, "memory", "threads", count, NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-v", "-o", out, NULL);
	mt__wait_attached(t, &m);
	fx__send(t, &f, 'g');
	for (i = 1; i <= 5; i++) {
		child__kill(t, &m.c, SIGUSR1);
		child__wait_err(t, &m.c, "malloctrace: snapshot", "written", patience_s(30));
	}
	fx__read_ledger(t, &f);
	/* one more, of all that it has mapped: many slices */
	child__kill(t, &m.c, SIGUSR1);
	child__wait_err(t, &m.c, "malloctrace: snapshot", "6 written", patience_s(30));
	slices(t, &m, &n_slices, &most);
	want(t, n_slices >= 3000 * MIB / (uint64_t)sysconf(_SC_PAGESIZE) / most, "%" PRIu64 " slices of at most %" PRIu64 " pages", n_slices, most);
	mt__stop(t, &m, SIGINT, 0);
	root = load_json(t, out);
	p = process_of(t, root, f.c.pid, 0);
	want_lossless(t, root);
	want_eq(t, "blocks of brief threads", ledger__note(t, &f.led, "threads"), site_sum(t, root, p, "new_here", "alloc_calls"));
	json_array_foreach(jget(p, "threads"), i, thread) {
		allocs += ju64(t, thread, "totals.alloc_calls");
		n_ended += (pid_t)ju64(t, thread, "tid") != f.c.pid;
	}
	want_eq(t, "what threads allocated", ju64(t, p, "totals.alloc_calls"), allocs);
	want_eq(t, "threads that were told of", n, n_ended);
	fx__quit(t, &f);
	json_decref(root);
}

/* Of a process that has ended: what was there when it was last looked at, though no report was asked for by then. */
TEST(memory_last_seen)
{
	const char *out = in_dir(t, "x.json");
	json_t *root, *p, *memory;
	struct fx f;
	struct mt m;

	fx__start(t, &f, "memory", "leak", "24", NULL);
	fx__go(t, &f);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-v", "--full", "-o", out, NULL);
	mt__wait_attached(t, &m);
	child__wait_err(t, &m.c, "malloctrace: memory of 1 process read", NULL, patience_s(20));
	fx__quit(t, &f);
	want_eq(t, "exit status", 0, (uint64_t)child__wait(t, &m.c));
	root = load_json(t, out);
	p = process_of(t, root, f.c.pid, 0);
	want_bool(t, p, "ended", true);
	memory = jget(p, "memory");
	must(t, json_is_object(memory), "memory of one that has ended, wanted an object");
	/* moments of the programs' clock are within a tick */
	want(t, ju64(t, memory, "seen_ns") > 0 && ju64(t, memory, "seen_ns") <= ju64(t, root, "duration_ns") + S / 100, "seen at %" PRIu64 " of %" PRIu64,
	     ju64(t, memory, "seen_ns"), ju64(t, root, "duration_ns"));
	want(t, ju64(t, memory, "heap_resident_bytes") >= ledger__note(t, &f.led, "set_aside"), "the heap, as it was");
	/* the rest are files; more than RSS it can be, which is counted late */
	want(t, ju64(t, memory, "heap_resident_bytes") + ju64(t, memory, "other_resident_bytes") + ju64(t, memory, "file_resident_bytes") +
	     ju64(t, memory, "stack_resident_bytes") >= ju64(t, memory, "rss_bytes"), "parts of RSS, wanted all of it");
	want_text(t, &m, "\nRSS    last seen at ");
	/* and read back it is the same */
	want_eq(t, "report", 0, (uint64_t)mt__run(t, &m, "report", out, "--json", NULL));
	want(t, json_equal(memory, jget(with_frames(json_loads(m.c.outs.s, 0, NULL)), "processes[0].memory")), "memory, wanted the same again");
	json_decref(root);
}

/* A program that is over before anybody looks at its memory: what it had at its first instruction is not what it had. */
TEST(memory_of_a_short_program)
{
	struct mt m;
	uint64_t live, peak;
	json_t *root;

	mt__start(t, &m, "--json", "--", fixture("memory"), "--auto", in_dir(t, "ledger"), "leak", "48", NULL);
	root = mt__stop_json(t, &m, 0, 0);
	if (!json_is_null(jget(root, "processes[0].rss_bytes")))
		want(t, ju64(t, root, "processes[0].rss_bytes") > 1 << 20, "rss_bytes, of its beginning: %llu",
		     (unsigned long long)ju64(t, root, "processes[0].rss_bytes"));
	live = ju64(t, root, "processes[0].totals.live_bytes");
	peak = ju64(t, root, "processes[0].peak_rss_bytes");
	want(t, live > 40u << 20 && peak >= live && peak < live + (12u << 20), "peak_rss_bytes, wanted what is live and a little more, %llu, got %llu",
	     (unsigned long long)live, (unsigned long long)peak);
}
