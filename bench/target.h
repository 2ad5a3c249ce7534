/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What the benchmarks and their targets say to each other, over the target's standard input and output. */
#ifndef MT_BENCH_TARGET_H
#define MT_BENCH_TARGET_H

#include <stdint.h>

#define TARGET_MAX_THREADS 8
#define TARGET_MAX_LIVE 4000000
/* the loop, the last of the recursion, the thread's function, and the C library's two below it */
#define TARGET_OWN_FRAMES 5
#define MANY_SITES 10000	/* of bench/many */

#define PROOF_PAIRS 100
#define PROOF_BYTES 100
#define PROOF_USABLE_BYTES 104	/* glibc, 64 bits */

enum order_kind {
	ORDER_FILL,	/* each thread allocates `live` blocks: untimed */
	ORDER_PAIRS,	/* each thread makes `pairs` pairs: timed */
	ORDER_DRAIN,	/* each thread frees the blocks of ORDER_FILL: untimed */
	ORDER_PROOF,	/* the first thread makes PROOF_PAIRS pairs of PROOF_BYTES in proof(): untimed */
};

struct order {
	uint32_t kind;
	uint32_t n_threads;
	uint32_t n_frames;	/* frames between the thread's own function and the loop */
	uint32_t n_live;	/* 0: free each block at once; else one of so many */
	uint32_t any;		/* of those: 0: the oldest; 1: any */
	uint32_t pad;
	uint64_t n_pairs;
};

struct answer {
	uint64_t cpu_ns;	/* of all threads together, inside their loops */
	uint64_t n_pairs;	/* of all threads together; 0 for what is not timed */
	uint64_t n_mallocs;	/* the ledger, since the target's start */
	uint64_t n_frees;
	uint64_t n_bytes;	/* asked for */
};

#endif
