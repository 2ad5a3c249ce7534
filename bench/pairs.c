// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * What a malloc and its free cost a program, bare and under each tool. Owns the
 * targets while they are measured.
 *
 * Always holds: every tool has its turn in every round, so that whatever else the
 * machine does falls on all of them. The order rotates from round to round, so
 * that no tool always follows the same other one. Slices are short (some ten
 * milliseconds) and many: one that was disturbed is then one odd sample, which a
 * median does not see. What clock is read: target.c.
 *
 * A round gives each tool a fresh target, attaches it, lets it run every load in a
 * few slices, detaches it and compares counts. With millions of live blocks that
 * would take minutes: there each tool fills one target, under its eyes, and all
 * stay attached while they take turns. Bare and the empty probes, which remember
 * nothing, share one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/results.h"
#include "bench/text.h"
#include "util/util.h"

#define N_SLICES 5
#define WARM_UP_PAIRS 2000
#define LONG_SLICE_PAIRS 40000000	/* a second or so where hardly anything is added */
#define LARGE_MEMORY_KB (10ULL << 20)

static bool runs(enum tool_id id, enum load_id load)
{
	if (tools[id].long_slices || id == TOOL_WITHOUT_PEAK)
		return load == LOAD_10 || load == LOAD_2_THREADS;
	return true;
}

static struct order order_of(enum load_id load, enum order_kind kind, uint64_t n_pairs)
{
	const struct load *l = &loads[load];

	return (struct order){
		.kind = kind,
		.n_threads = l->n_threads,
		.n_frames = l->n_frames - TARGET_OWN_FRAMES,
		.n_live = l->n_live,
		.any = l->any,
		.n_pairs = n_pairs,
	};
}

static int give(struct session *s, enum load_id load, enum order_kind kind, uint64_t n_pairs, struct answer *ret, struct err *e)
{
	struct order o = order_of(load, kind, n_pairs);

	return session__order(s, &o, ret, e);
}

static int slice(struct bench *b, struct session *s, enum tool_id id, enum load_id load, uint32_t round, struct answer *ledger,
		 struct err *e)
{
	uint64_t n_pairs = tools[id].long_slices ? LONG_SLICE_PAIRS : b->n_pairs;

	if (give(s, load, ORDER_PAIRS, WARM_UP_PAIRS, ledger, e) || give(s, load, ORDER_PAIRS, n_pairs, ledger, e))
		return e->code;
	return bench__add(b, id, load, round, (double)ledger->cpu_ns / ledger->n_pairs, e);
}

/* The loads take turns: what disturbs the machine for a tenth of a second is then one slice of each, not all of one. */
static int slices(struct bench *b, struct session *s, enum tool_id id, enum load_id first, enum load_id last, uint32_t round,
		  struct answer *ledger, struct err *e)
{
	int n = tools[id].long_slices ? 1 : N_SLICES;

	for (int i = 0; i < n; i++)
		for (enum load_id load = first; load <= last; load++)
			if (runs(id, load) && slice(b, s, id, load, round, ledger, e))
				return e->code;
	return 0;
}

static struct truth truth_of(const struct answer *ledger, bool proof)
{
	return (struct truth){ ledger->n_mallocs, ledger->n_frees, ledger->n_bytes, .proof = proof };
}

static int open_target(struct bench *b, struct session *s, enum tool_id id, const struct subject *subject, struct err *e)
{
	char *argv[] = { b->paths.target, b->cpus[0], b->cpus[1], NULL };

	return session__open(s, &b->paths, id, subject, argv, NULL, e);
}

/* ---- up to 100 thousand live blocks */

static int run_loads(struct bench *b, struct session *s, enum tool_id id, uint32_t round, struct answer *ledger, struct err *e)
{
	if (slices(b, s, id, LOAD_10, LOAD_2_THREADS, round, ledger, e))
		return e->code;
	if (!runs(id, LOAD_100K))
		return 0;
	if (give(s, LOAD_100K, ORDER_FILL, 0, ledger, e) || slices(b, s, id, LOAD_100K, LOAD_100K, round, ledger, e))
		return e->code;
	return give(s, LOAD_100K, ORDER_DRAIN, 0, ledger, e);
}

static int run_tool(struct bench *b, enum tool_id id, uint32_t round, struct err *e)
{
	static const struct subject subject = { .library = "libc.so.6", .max_live = 131072 };
	struct answer ledger = { 0 };
	struct truth truth;
	struct session s;
	int r = open_target(b, &s, id, &subject, e);

	if (!r)
		r = session__attach(&s, e);
	if (!r)
		r = give(&s, LOAD_10, ORDER_PROOF, 0, &ledger, e);
	if (!r)
		r = run_loads(b, &s, id, round, &ledger, e);
	if (!r) {
		truth = truth_of(&ledger, true);
		r = bench__note_wrong(b, id, "pairs", session__detach(&s, &truth, e), e);
	}
	session__close(&s);
	return r ? err_wrap(e, e->code ?: -EIO, "%s", tools[id].name) : 0;
}

int pairs__run(struct bench *b, struct err *e)
{
	for (uint32_t round = 0; round < b->n_rounds; round++) {
		bench__progress("pairs", round, b->n_rounds);
		for (size_t i = 0; i < N_TOOLS; i++) {
			enum tool_id id = (i + round) % N_TOOLS;

			if (bench__wants(b, id, "pairs") && run_tool(b, id, round, e))
				return e->code;
		}
	}
	return 0;
}

/* ---- 4 million live blocks */

/* The target that a tool is measured on: its own, or bare's. */
static const enum tool_id large_rows[] = {
	TOOL_BARE, TOOL_TWO_TRAPS, TOOL_THREE_TRAPS, TOOL_USUAL, TOOL_FULL, TOOL_USABLE, TOOL_COUNT,
	TOOL_BEFORE_FULL, TOOL_BEFORE_USABLE, TOOL_BEFORE_COUNT, TOOL_BPFTRACE, TOOL_HEAPTRACK,
};

static bool shares_target(enum tool_id id)
{
	return id <= TOOL_USUAL;
}

struct large {
	struct session sessions[ARRAY_SIZE(large_rows)];
	struct answer ledgers[ARRAY_SIZE(large_rows)];
	bool open[ARRAY_SIZE(large_rows)];
};

static bool enough_memory(void)
{
	_cleanup_free_ char *text = NULL;
	size_t len;
	uint64_t kb;

	return !read_small_file("/proc/meminfo", &text, &len) && !text__number(text, "MemAvailable:", ":", &kb) &&
	       kb >= LARGE_MEMORY_KB;
}

static int fill_large(struct bench *b, struct large *l, struct err *e)
{
	static const struct subject subject = { .library = "libc.so.6", .max_live = 4200000 };

	for (size_t i = 0; i < ARRAY_SIZE(large_rows); i++) {
		enum tool_id id = large_rows[i];

		if (!bench__wants(b, id, "large") || (id != TOOL_BARE && shares_target(id)))
			continue;
		l->open[i] = true;
		if (open_target(b, &l->sessions[i], id, &subject, e) || session__attach(&l->sessions[i], e) ||
		    give(&l->sessions[i], LOAD_4M, ORDER_FILL, 0, &l->ledgers[i], e))
			return err_wrap(e, e->code ?: -EIO, "%s", tools[id].name);
	}
	return 0;
}

static int take_turn(struct bench *b, struct large *l, size_t i, uint32_t round, struct err *e)
{
	enum tool_id id = large_rows[i];
	size_t on = shares_target(id) ? 0 : i;
	struct session *s = &l->sessions[on];
	int r = 0;

	if (on != i) {
		s->tool_id = id;
		r = session__attach(s, e);
	}
	if (!r)
		r = slices(b, s, id, LOAD_4M, LOAD_4M_ANY, round, &l->ledgers[on], e);
	if (on != i) {
		session__detach(s, NULL, e);
		s->tool_id = TOOL_BARE;
	}
	return r ? err_wrap(e, e->code ?: -EIO, "%s", tools[id].name) : 0;
}

static int run_large(struct bench *b, struct large *l, struct err *e)
{
	int r = fill_large(b, l, e);

	for (uint32_t round = 0; !r && round < b->n_rounds; round++) {
		bench__progress("4 million live", round, b->n_rounds);
		for (size_t k = 0; !r && k < ARRAY_SIZE(large_rows); k++) {
			size_t i = (k + round) % ARRAY_SIZE(large_rows);

			if (bench__wants(b, large_rows[i], "large"))
				r = take_turn(b, l, i, round, e);
		}
	}
	for (size_t i = 0; !r && i < ARRAY_SIZE(large_rows); i++) {
		struct truth truth = truth_of(&l->ledgers[i], false);

		if (l->open[i])
			r = bench__note_wrong(b, large_rows[i], "4 million live", session__detach(&l->sessions[i], &truth, e), e);
	}
	return r;
}

int pairs__run_large(struct bench *b, struct err *e)
{
	struct large l = { 0 };
	int r;

	if (!bench__wants_any(b, "large"))
		return 0;
	if (!enough_memory()) {
		b->left_out[LOAD_4M] = strdup("less than 10 GiB of memory are free");
		return 0;
	}
	r = run_large(b, &l, e);
	for (size_t i = 0; i < ARRAY_SIZE(large_rows); i++)
		if (l.open[i])
			session__close(&l.sessions[i]);
	return r;
}
