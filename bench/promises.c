// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the lines that must hold, and who they are measured against.
 *
 * bpftrace stands for its script that keeps, per stack, what malloctrace keeps
 * at least: calls and bytes allocated, calls and bytes freed. That is the same
 * work. The script that only counts calls is cheaper by a seventh; what a ratio
 * would be against that one is printed beside it.
 *
 * A line holds if the median of its ratio over the rounds does. What could not
 * be measured does not hold, unless it was left out by --only or --quick.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench/results.h"
#include "probe/features.h"
#include "util/util.h"

static const struct promise {
	const char *text;
	double limit;
	struct side a, by;
	bool whole;		/* not what is added over bare, but all */
	const char *other_text;	/* NULL, or another ratio to be shown, which is not judged */
	struct side other_a, other_by;
	bool other_whole;
} promises[] = {
	{ "full, requested sizes, 10 frames: of bpftrace's added cost", 0.55,
	  { TOOL_FULL, LOAD_10 }, { TOOL_BPFTRACE, LOAD_10 }, false,
	  "of bpftrace counting calls alone", { TOOL_FULL, LOAD_10 }, { TOOL_BPFTRACE_CALLS, LOAD_10 }, false },
	{ "full, requested sizes, 10 frames: x the three-trap floor", 1.55,
	  { TOOL_FULL, LOAD_10 }, { TOOL_THREE_TRAPS, LOAD_10 }, false,
	  "with 40 frames", { TOOL_FULL, LOAD_40 }, { TOOL_THREE_TRAPS, LOAD_40 }, false },
	{ "full, usable sizes, 10 frames: of bpftrace's", 0.47,
	  { TOOL_USABLE, LOAD_10 }, { TOOL_BPFTRACE, LOAD_10 }, false,
	  "of bpftrace counting calls alone", { TOOL_USABLE, LOAD_10 }, { TOOL_BPFTRACE_CALLS, LOAD_10 }, false },
	{ "leak, 10 frames: of bpftrace's", 0.25,
	  { TOOL_LEAK, LOAD_10 }, { TOOL_BPFTRACE, LOAD_10 }, false,
	  "of the one-trap floor", { TOOL_LEAK, LOAD_10 }, { TOOL_ONE_TRAP, LOAD_10 }, false },
	{ "leak, 10 frames: of heaptrack's added cost", 0.90,
	  { TOOL_LEAK, LOAD_10 }, { TOOL_HEAPTRACK, LOAD_10 }, false, NULL, {}, {}, false },
	{ "leak, 30 frames: of heaptrack's", 0.70,
	  { TOOL_LEAK, LOAD_30 }, { TOOL_HEAPTRACK, LOAD_30 }, false, NULL, {}, {}, false },
	{ "leak, 10 frames, 2 threads: of heaptrack's", 0.50,
	  { TOOL_LEAK, LOAD_2_THREADS }, { TOOL_HEAPTRACK, LOAD_2_THREADS }, false, NULL, {}, {}, false },
	{ "leak, 2 threads: x the cost of a pair with 1 thread", 1.15,
	  { TOOL_LEAK, LOAD_2_THREADS }, { TOOL_LEAK, LOAD_10 }, true, NULL, {}, {}, false },
	{ "count, 10 frames: of bpftrace's full work", 0.27,
	  { TOOL_COUNT, LOAD_10 }, { TOOL_BPFTRACE, LOAD_10 }, false,
	  "of bpftrace counting calls alone", { TOOL_COUNT, LOAD_10 }, { TOOL_BPFTRACE_CALLS, LOAD_10 }, false },
	{ "2 threads: x the cost of a pair with 1 thread, exact peak included", 1.15,
	  { TOOL_FULL, LOAD_2_THREADS }, { TOOL_FULL, LOAD_10 }, true,
	  "without the peak", { TOOL_WITHOUT_PEAK, LOAD_2_THREADS }, { TOOL_WITHOUT_PEAK, LOAD_10 }, true },
	{ "4 million live, any freed: x the three-trap floor with as many", 1.9,
	  { TOOL_FULL, LOAD_4M_ANY }, { TOOL_THREE_TRAPS, LOAD_4M_ANY }, true,
	  "of what is added", { TOOL_FULL, LOAD_4M_ANY }, { TOOL_THREE_TRAPS, LOAD_4M_ANY }, false },
	{ "4 million live, oldest freed: x the three-trap floor with as many", 1.9,
	  { TOOL_FULL, LOAD_4M }, { TOOL_THREE_TRAPS, LOAD_4M }, true,
	  "of what is added", { TOOL_FULL, LOAD_4M }, { TOOL_THREE_TRAPS, LOAD_4M }, false },
};

/* Promised where it was measured: other architectures and older kernels have other prices for a trap. */
static bool must_hold(void)
{
#ifdef __aarch64__
	return feature__has(FEATURE_UPROBE_MULTI);
#else
	return false;
#endif
}

/* NULL, or why there is no ratio; *ret_asked: it was asked for. */
static const char *why_not(const struct bench *b, const struct promise *p, bool *ret_asked)
{
	const struct side sides[] = { p->a, p->by };

	*ret_asked = true;
	for (size_t i = 0; i < ARRAY_SIZE(sides); i++) {
		if (cell__has(b, sides[i].tool, sides[i].load))
			continue;
		*ret_asked = bench__asks(b, sides[i].tool, loads[sides[i].load].part);
		if (!*ret_asked)
			break;
		if (b->missing[sides[i].tool])
			return b->missing[sides[i].tool];
		if (b->left_out[sides[i].load])
			return b->left_out[sides[i].load];
		*ret_asked = !b->quick;
		break;
	}
	return *ret_asked ? NULL : "not asked for";
}

/*
 *	at most 0.55  full, requested sizes, 10 frames: of bpftrace's added cost    0.441 (0.436-0.447)  ok; ...
 */
static bool judge(const struct bench *b, const struct promise *p)
{
	bool asked, holds;
	const char *why = why_not(b, p, &asked);
	struct ratio r;

	printf("at most %.2f  %-70s ", p->limit, p->text);
	if (why || !ratio__make(b, p->a, p->by, p->whole, &r)) {
		printf("%s%s\n", why ? why : "not measured", asked && must_hold() ? ": NOT SO" : "");
		return !asked || !must_hold();
	}
	holds = r.median <= p->limit;
	printf("%.3f (%.3f-%.3f)  %s", r.median, r.low, r.high, !must_hold() ? "not judged here" : holds ? "ok" : "NOT SO");
	if (p->other_text && ratio__make(b, p->other_a, p->other_by, p->other_whole, &r))
		printf("; %s: %.3f", p->other_text, r.median);
	printf("\n");
	return holds || !must_hold();
}

#define SLOWER_LIMIT 1.03	/* what two runs of one program differ by on a machine that is not idle */

/* Each line of an earlier program, by what it is now. */
static bool judge_before(const struct bench *b)
{
	bool good = true;

	for (enum tool_id id = 0; id < N_TOOLS; id++)
		for (enum load_id load = 0; tools[id].now && load < N_LOADS; load++) {
			struct ratio r;

			if (!cell__has(b, id, load) ||
			    !ratio__make(b, (struct side){ tools[id].now, load }, (struct side){ id, load }, true, &r))
				continue;
			printf("at most %.2f  x before: %s, %-*s %.3f (%.3f-%.3f)  %s\n", SLOWER_LIMIT, tools[tools[id].now].name,
			       (int)(58 - strlen(tools[tools[id].now].name)), loads[load].short_name, r.median, r.low, r.high,
			       r.median <= SLOWER_LIMIT ? "ok" : "NOT SO");
			good &= r.median <= SLOWER_LIMIT;
		}
	return good;
}

bool promises__judge(const struct bench *b)
{
	bool good = judge_before(b);

	printf("\nWhat must hold on arm64 with uprobe_multi%s:\n", must_hold() ? "" : ", which is not here");
	for (size_t i = 0; i < ARRAY_SIZE(promises); i++)
		good &= judge(b, &promises[i]);
	for (enum tool_id id = TOOL_FULL; id <= TOOL_GROWTH; id++) {
		if (!b->wrong[id])
			continue;
		printf("%s counted wrong (%s): NOT SO\n", tools[id].name, b->wrong[id]);
		good = false;
	}
	return good;
}
