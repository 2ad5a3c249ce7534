/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What the files behind parts.h share. */
#ifndef MT_PARTS_INNER_H
#define MT_PARTS_INNER_H

#include "elf/symtab.h"
#include "heap/modules.h"
#include "heap/parts.h"
#include "heap/target.h"
#include "util/hash.h"

/* The threads of a process, and where their stacks are. */

struct thread_stack {
	int tid;		/* 0: a thread's that has ended; libc keeps it for the next one */
	char name[32];		/* clean */
	uint64_t sp;		/* 0: not known */
	uint64_t start, end;	/* without the guard; both 0: not found */
	uint64_t guard_bytes;	/* below that, which libc knows of; it may look as any other memory in /proc */
	/* libc's descriptor of the thread, and its thread-local variables: from here to the end; 0: not known */
	uint64_t tls;
};

struct thread_stacks {		/* all zero: none */
	struct vec(struct thread_stack) all;
	/* the first thread's descriptor and thread-local variables, which the loader put elsewhere; 0: not found */
	uint64_t first_tls_start, first_tls_end;
	bool first_tls_in_heap;	/* in pages that the heap begins with */
};

/* tls_bytes: of thread-local variables, for each thread. -EINTR */
int thread_stacks__init(struct thread_stacks *s, struct target *t, uint64_t tls_bytes);
void thread_stacks__done(struct thread_stacks *s);
const struct thread_stack *thread_stacks__by_tid(const struct thread_stacks *s, int tid);	/* NULL: none */

/* ---- memory that is something else than its mapping says */

enum span_is { SPAN_HEAP, SPAN_DATA, SPAN_STACK, SPAN_GUARD, SPAN_TLS };

struct part_span {
	uint64_t start, end;	/* whole pages */
	enum span_is is;
	size_t of;		/* the module's number, or the stack's */
};

struct part_spans vec(struct part_span);

struct parts {
	struct target *t;	/* not owned */
	struct modules modules;
	struct thread_stacks stacks;
	struct part_spans spans;	/* by address, disjoint; without the heap */
	struct pool pool;	/* names */
};

void part_spans__add(struct part_spans *to, const struct target *t, uint64_t start, uint64_t end, enum span_is is, size_t of);
/* Sorts them; where two overlap, the one that begins later loses what both have. */
void part_spans__settle(struct part_spans *s);
const struct part_span *part_spans__find(const struct part_spans *s, uint64_t addr);

/* ---- rows, and what is left of them (part_rows.c) */

#define PART_ROWS_MAX 64	/* of each kind */
#define PART_REST "(the rest)"
extern const char PART_RESERVED[];	/* one pointer, as names of rows are */

struct part_rows {
	struct vec(struct snap_part) all;	/* names live elsewhere; NULL: it is called by its address */
	struct hash by_key;			/* kind, name and module → number + 1 */
	struct snap_part rest[N_PART_KINDS];	/* that have no row of their own */
};

/* The row of these, which is there or is made; a number, because the rows move. Equal names are one pointer. */
size_t part_rows__get(struct part_rows *r, enum part_kind kind, const char *name, const char *module);
/* One that nobody else is to be added to. */
size_t part_rows__add(struct part_rows *r, enum part_kind kind, const char *name, const char *module);
void part_rows__done(struct part_rows *r);
uint64_t part_rows__resident(const struct part_rows *r);	/* of all */
/* The largest of each kind, and the rest, into h. */
void part_rows__put(struct part_rows *r, struct snapshot *s, struct snap_heap *h);

/* ---- variables of modules */

struct part_globals {		/* of one module */
	uint64_t *resident, *swapped;	/* owned; of each variable */
	uint64_t mapped_bytes, resident_bytes, swapped_bytes;	/* of all of its data */
};

/* What is there of [start, end) of a module's data. */
void part_globals__count(struct part_globals *g, struct parts *p, struct module *m, uint64_t start, uint64_t end, bool swapped);
/* A row for each of the largest. */
void part_globals__put(struct part_globals *g, struct parts *p, struct module *m, struct part_rows *to);
void part_globals__done(struct part_globals *g);

/* ---- what a mapping is */

struct part_name {
	enum part_kind kind;
	const char *name;	/* NULL: it is called by its address */
	const char *module;
	bool is_nothing;	/* no memory of anybody's */
};

void part_mappings__name(struct parts *p, const struct mapping *m, struct part_name *ret);

#endif
