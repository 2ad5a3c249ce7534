/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The rest of resident memory: what a process has beside its heap, so that RSS adds up. Also whose an address
 * outside of the heap is: the variable, the thread, the mapping.
 */
#ifndef MT_PARTS_H
#define MT_PARTS_H

#include <stdbool.h>

#include "elf/object.h"
#include "elf/symtab.h"
#include "heap/census.h"
#include "model/snapshot.h"
#include "util/hash.h"

/* ---- the programs and libraries that a process has mapped: where they are, and their variables */

struct module {
	uint64_t start, end;	/* from its first mapping to the end of its last, and of what is zeroed after it (.bss) */
	char *path;		/* owned, clean */
	struct mapping code;	/* a copy without a path: the file is found by it */
	/* by module__open(): */
	bool opened;
	struct object *obj;	/* holds a reference; NULL: it cannot be read, or is no ELF file */
	uint64_t bias;		/* address - ELF virtual address */
	bool has_variables;	/* by module__variables() */
	struct variables variables;
};

struct modules {		/* all zero: none */
	struct target *t;	/* not owned, as the next */
	struct objects *objects;
	struct vec(struct module) all;	/* by address */
};

/* Of the mappings that t has now. objects NULL: no file is read. */
void modules__init(struct modules *m, struct target *t, struct objects *objects);
void modules__done(struct modules *m);
struct module *modules__find(const struct modules *m, uint64_t addr);	/* NULL: in none */
/* Reads what its file says, the first time. False: nothing is known of it. */
bool module__open(struct modules *all, struct module *m);
const struct variables *module__variables(struct modules *all, struct module *m);

/*
 * n bytes of a module's memory. Pages that are not there are as in the file, which is read instead: a process that
 * never looked at a page does not get it because of us.
 */
bool modules__read(struct modules *m, uint64_t addr, void *to, size_t n);

/* ---- its threads, and where their stacks are */

struct thread_stack {
	int tid;		/* 0: a thread's that has ended; libc keeps it for the next one */
	int own_tid;		/* its number in its own pid namespace, which libc knows */
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

/* ---- all of them */

int parts__new(struct target *t, struct objects *objects, struct parts **ret, struct err *e);
void parts__free(struct parts *p);
/*
 * Into h: parts, page_table_bytes, swap_bytes, rss_bytes. c: what is the heap; NULL: not known, and anonymous memory is
 * shown as such. Their resident bytes add up to h->rss_bytes as far as the process did not change meanwhile: what is left over or too much is PART_OTHER.
 */
int parts__fill(struct parts *p, const struct census *c, struct snapshot *s, struct snap_heap *h, struct err *e);
/* Where thread-local variables lie, of threads that are known; by address, disjoint. ret is empty, and the caller's. */
void parts__thread_locals(const struct parts *p, struct heap_ranges *ret);
/*
 * Whose is the memory at addr? addr and tid are those of struct reach_root. Of a variable, its name and module; of a stack or thread-local storage, the thread's name.
 * blocks and bytes of ret are 0. Strings live as long as p.
 */
void parts__name_root(struct parts *p, uint64_t addr, int tid, struct snap_root *ret);

#endif
