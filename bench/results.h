/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The samples of all tools under all loads, and what is made of them. */
#ifndef MT_BENCH_RESULTS_H
#define MT_BENCH_RESULTS_H

#include <stdbool.h>

#include "bench/tools.h"

#define MAX_ROUNDS 100

enum load_id {
	LOAD_10,
	LOAD_30,
	LOAD_40,
	LOAD_2_THREADS,
	LOAD_100K,
	LOAD_4M,
	LOAD_4M_ANY,
	LOAD_SQLITE,
	LOAD_GCC,
	LOAD_REDIS,
	N_LOADS
};

struct load {
	const char *name, *short_name;	/* the heading of its rows; of a column */
	const char *part;	/* what --only knows it by */
	const char *unit;
	/* malloc and free pairs, bench/pairs.c; else 0 */
	uint32_t n_threads, n_frames, n_live;
	bool any;
};

extern const struct load loads[N_LOADS];

struct sample {
	double value;
	uint32_t round;
};

struct cell {
	struct sample *v;
	size_t n, room;
};

struct bench {
	struct paths paths;
	uint32_t n_rounds;
	uint64_t n_pairs;
	bool quick, markdown;
	const char *only;	/* NULL: all */
	char cpu_text[2][16];
	char *cpus[3];
	char *missing[N_TOOLS];		/* owned; why it cannot be measured here */
	char *wrong[N_TOOLS];		/* owned; how its counts differ, first time, with the load */
	char *left_out[N_LOADS];	/* owned; why a load could not be had */
	struct cell cells[N_TOOLS][N_LOADS];
	double redis_rate[N_TOOLS];	/* requests a second, of its best round: the least disturbed */
};

/* Whether --only asks for it; bare is asked for with any other. wants: and it can be had. */
bool bench__asks(const struct bench *b, enum tool_id id, const char *part);
bool bench__wants(const struct bench *b, enum tool_id id, const char *part);
bool bench__wants_any(const struct bench *b, const char *part);
int bench__add(struct bench *b, enum tool_id id, enum load_id load, uint32_t round, double value, struct err *e);
/* What session__detach() said: wrong counts are kept for the end, all else is an error. */
int bench__note_wrong(struct bench *b, enum tool_id id, const char *part, int result, struct err *e);
void bench__progress(const char *part, uint32_t round, uint32_t n_rounds);

/* Each measures one part of the table. */
int pairs__run(struct bench *b, struct err *e);
int pairs__run_large(struct bench *b, struct err *e);
int programs__run_sqlite(struct bench *b, struct err *e);
int programs__run_gcc(struct bench *b, struct err *e);
int programs__run_redis(struct bench *b, struct err *e);

bool cell__has(const struct bench *b, enum tool_id id, enum load_id load);
/* share 0.5: the median; 0.25 and 0.75: the quartiles. */
double cell__quantile(const struct bench *b, enum tool_id id, enum load_id load, double share);
/* The median of one round's samples; NAN if there is none. */
double cell__of_round(const struct bench *b, enum tool_id id, enum load_id load, uint32_t round);

struct ratio {
	double median, low, high;	/* over rounds */
};

struct side {
	enum tool_id tool;
	enum load_id load;
};

/* What a adds over bare by what b adds; whole: all that a takes by all that b takes. False: not measured. */
bool ratio__make(const struct bench *b, struct side a, struct side by, bool whole, struct ratio *ret);

void table__print(const struct bench *b);
/* The same, a column for each load, for docs/PERFORMANCE.md. */
void table__print_markdown(const struct bench *b);
/* Prints the lines that must hold; false if one of them does not, or counts were wrong. */
bool promises__judge(const struct bench *b);

#endif
