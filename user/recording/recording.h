/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What is recorded, and how: as it was requested. The options fill it, once; the
 * programs in the kernel are set up by it, the plans of files are made for it, and
 * each snapshot carries it. docs/ARCHITECTURE.md, "An option that changes what is
 * recorded", says what a new one needs.
 */
#ifndef MT_RECORDING_H
#define MT_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

/* An enum whose values have names: options take them, files and messages have them. */

struct choices {
	const char *const *names;	/* by value, from 0 on */
	unsigned int n;
	const char *also;	/* another name, which is taken and not written; NULL: there is none */
	unsigned int also_is;	/* its value */
};

/* "?" for what is no value. */
const char *choices__name(const struct choices *c, unsigned int value);
/* False: no value has this name; *ret untouched then. */
bool choices__find(const struct choices *c, const char *name, unsigned int *ret);
/* "full count growth", to be freed */
char *choices__words(const struct choices *c);

enum recording_size { SIZE_REQUESTED, SIZE_USABLE };
enum unwind_choice { UNWIND_AUTO, UNWIND_FP, UNWIND_TABLE };
enum python_choice { PYTHON_AUTO, PYTHON_OFF, PYTHON_ONLY };
enum recording_points { POINTS_AUTO, POINTS_PLAIN };

/* A profile that was read has what is in files; the rest is 0 then. */
struct recording {
	enum mt_mode mode;
	enum recording_size size;	/* of blocks; of a snapshot: what they are, as allocators may have no other */
	uint64_t sample_bytes;		/* --sample; 0: every allocation */
	uint64_t seed;			/* of the sampler: by chance, or MALLOCTRACE_SEED in the environment; not 0 */
	double overhead_pct;		/* --overhead; 0: no budget */
	uint64_t min_size, max_size;	/* max_size UINT64_MAX: none */
	/* --within: only what these functions, and what they call, allocated; NULL: everything */
	const char *within;
	uint64_t older_ns;		/* --older; 0: not given */
	uint64_t max_live, max_stacks;	/* 0: by the machine's memory */
	unsigned int depth;		/* 1..512 */
	enum unwind_choice unwind;
	enum python_choice python;	/* frames of Python, where there are any */
	enum recording_points points;	/* plain: first instructions and uretprobes, whatever the code looks like */
	bool precise_times;
	bool by_thread;			/* sites of their own for each thread */
	bool free_stacks;		/* where blocks are freed, too */
	bool mmap;			/* what the program maps is blocks, too */
	bool arenas;			/* of what it maps, arenas of Python's small objects alone */
};

/* Where no option was given. */
#define RECORDING_PRESET { .max_size = UINT64_MAX, .depth = 127 }

extern const struct choices mode_choices, size_choices, unwind_choices, points_choices, python_choices;

const char *mode__name(enum mt_mode mode);
const char *size__name(enum recording_size size);

/*
 * Options without a value that change which blocks there are: reports say so, and
 * profiles with and without one do not go together.
 */
struct recording_flag {
	size_t offset;			/* of a bool of struct recording */
	const char *option;		/* "--mmap" */
	const char *of_one, *of_all;	/* what it means, of a process and of programs */
};

extern const struct recording_flag recording_flags[];
extern const size_t n_recording_flags;

static inline bool recording__has(const struct recording *r, const struct recording_flag *f)
{
	return *(const bool *)((const char *)r + f->offset);
}

static inline bool recording__is_growth(const struct recording *r)
{
	return r->mode == MT_MODE_GROWTH;
}

/* What is live is read from heaps, now and then; frees are not seen. */
static inline bool recording__is_leak(const struct recording *r)
{
	return r->mode == MT_MODE_LEAK;
}

/* There is a table of live blocks. */
static inline bool recording__keeps_blocks(const struct recording *r)
{
	return r->mode == MT_MODE_FULL || r->mode == MT_MODE_LEAK;
}

static inline bool recording__has_budget(const struct recording *r)
{
	return r->overhead_pct > 0;
}

static inline bool recording__has_mappings(const struct recording *r)
{
	return r->mmap || r->arenas;
}

/* Part of the allocations stands for all of them. */
static inline bool recording__is_estimated(const struct recording *r)
{
	return r->sample_bytes || recording__has_budget(r);
}

/* --min-size, --max-size */
static inline bool recording__has_size_range(const struct recording *r)
{
	return r->min_size > 0 || r->max_size != UINT64_MAX;
}

/* Other blocks may be live, and are not in it. */
static inline bool recording__is_partial(const struct recording *r)
{
	return recording__has_size_range(r) || r->within;
}

/* A budget needs to know how long blocks live. */
static inline bool recording__is_precise(const struct recording *r)
{
	return r->precise_times || recording__has_budget(r);
}

#endif
