/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Names that processes keep of code that is in no file: what code of Python they have run, and a
 * JIT's list of its functions.
 */
#ifndef MT_CODE_BOOK_H
#define MT_CODE_BOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * ---- the code objects of a process
 *
 * As the programs in the kernel reported them when they met each for the first time: which one was
 * at an address at a time, its name, its file, the line of each instruction.
 */

/* What an instruction belongs to. */
struct code_line {
	const char *function, *file;	/* NULL: could not be read */
	uint32_t line;			/* 0: unknown */
};

struct code_book;	/* its texts, and what code_book__line gave, live as long as it does */

/* How much of what a process chooses is kept. */
#define CODE_BOOK_CODES (1u << 20)
#define CODE_BOOK_BYTES (256ull << 20)
#define CODE_BOOK_LINES (1u << 20)	/* bytes of one table of lines */

struct code_book *code_book__new(void);
void code_book__free(struct code_book *b);

/*
 * A struct mt_python_code of len bytes, which may end within its lines, or have more of them than a report has room for. -EINVAL: it is none; -ENOSPC: the book is full.
 * Each of these is counted. One that was reported before, and is still at its address, is not added again.
 */
int code_book__add(struct code_book *b, const void *record, size_t len);
uint64_t code_book__n_lost(const struct code_book *b);
/* How often what code_book__find() has said of an address may be wrong from then on: other code came there, or its report was lost. */
uint64_t code_book__n_changes(const struct code_book *b);

/*
 * The last one that was seen at the address until then. ret_sole: no other one was ever there, as far as is known. False: none
 * was seen, or its report was lost.
 */
bool code_book__find(const struct code_book *b, uint64_t addr, uint64_t t_ns, uint32_t *ret_id, bool *ret_sole);

/*
 * An instruction of a code that was found; unit as of MT_PYTHON_UNIT. A number that is the same wherever that code is found, in this
 * process, in others, in other traces, and is no other code's, as far as 47 bits of a hash can tell.
 */
uint64_t code_book__place(const struct code_book *b, uint32_t id, uint32_t unit);

/*
 * What it belongs to. Name or file are NULL where they could not be read; the line is 0 where the code has none for that
 * instruction, or its table was cut before it. False: there is no such code.
 */
bool code_book__line(const struct code_book *b, uint64_t place, struct code_line *ret);

/*
 * Of CPython's table of locations (co_linetable, from 3.11 on): the line of the instruction with this number, each of 2 bytes; 0: it
 * has none, or the table does not say. Any bytes are a table.
 */
uint32_t locations__line(const unsigned char *table, size_t len, uint32_t first_line, uint32_t unit);

/*
 * ---- /tmp/perf-PID.map (jitmap.c)
 *
 * The list that runtimes with a just-in-time compiler (node --perf-basic-prof, java, python -X
 * perf) keep of the functions they made.
 */

struct jitmap;
struct object;

/*
 * Opens the list of a process, found under its own root by the pid it has
 * itself, as an object whose path is the list's as the process names it. It is
 * taken only if it is a regular file (no link) of the process's user or of
 * root. Held open, it can be read when the process is gone. -ENOENT if there
 * is none, -EPERM if it is another's.
 */
int jitmap__open(pid_t pid, struct object **ret);
/* The same over an open file: takes fd. path is copied and cleaned. */
struct object *jitmap__over(int fd, const char *path);
/* Reads what was appended since the last time. */
void jitmap__refresh(struct object *obj);
/* The function at an address: as the list has it, not cleaned of mangling but of control characters. NULL: none. */
const char *jitmap__find(const struct jitmap *j, uint64_t addr);
void jitmap__free(struct jitmap *j);

#endif
