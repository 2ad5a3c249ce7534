/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What the benchmarks and their targets say to each other, over the target's standard input and output. */
#ifndef MT_BENCH_TARGET_H
#define MT_BENCH_TARGET_H

#include <stdint.h>

#define TARGET_MAX_THREADS 8
#define TARGET_MAX_LIVE 1000000
#define MANY_SITES 10000	/* of bench/many */

enum order_kind {
	ORDER_FILL,	/* each thread allocates `live` blocks: untimed */
	ORDER_PAIRS,	/* each thread makes `pairs` pairs: timed */
	ORDER_DRAIN,	/* each thread frees the blocks of ORDER_FILL: untimed */
};

struct order {
	uint32_t kind;
	uint32_t n_threads;
	uint32_t n_frames;	/* frames between the thread's own function and the loop */
	uint32_t n_live;	/* 0: free each block at once; else free the oldest of so many */
	uint64_t n_pairs;
};

struct answer {
	uint64_t cpu_ns;	/* of all threads together, inside their loops */
	uint64_t n_pairs;	/* of all threads together; 0 for what is not timed */
	uint64_t n_mallocs;	/* the ledger, since the target's start */
	uint64_t n_frees;
};

#endif
