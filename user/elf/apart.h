/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Questions about objects that the sandbox answers (reader/reader.h). Functions that parse a file are called as ever: where files
 * are read apart they ask, and what they return has been checked. A file that was lost is like one that has nothing in it.
 */
#ifndef MT_APART_H
#define MT_APART_H

#include <stdbool.h>

#include "elf/cfi.h"
#include "elf/object.h"
#include "elf/symtab.h"
#include "reader/reader.h"

struct debuginfod;

struct apart {			/* a question */
	const struct reader_question *about;
	const struct object *obj;	/* NULL: it is about no object, and perhaps about another file: */
	int fd;
	const char *path;		/* NULL: there is none */
	const char *debug_dir;		/* NULL: /usr/lib/debug */
	struct debuginfod *debuginfod;	/* NULL: no server is asked */
	struct reader *reader;		/* NULL: any */
	bool for_probes;		/* without an answer the file has none, or not all */
	/* set by apart__ask() */
	struct reader_call call;
	struct wire answer;		/* owned; texts of the answer are in it */
};

void apart__done(struct apart *a);
#define apart_cleanup __attribute__((cleanup(apart__done)))

/*
 * args and ret are by the tables of the question; what ret owns then is the caller's (wire_type__done()). READER_LOST and -EINTR as
 * of reader__ask(), or what the sandbox said, with its sentence. On failure ret owns nothing.
 */
int apart__ask(struct apart *a, const void *args, void *ret, struct err *e);
/* The answer makes no sense: ret is freed, the file is lost. READER_LOST */
int apart__distrust(struct apart *a, void *ret);
/*
 * The answer does not fit the file. One that was written to meanwhile fits neither the old code nor
 * the new, and is told as that; else the answer makes no sense. READER_LOST
 */
int apart__refuse(struct apart *a, struct object *obj, void *ret);

/* ---- in the sandbox */

/* The object of a request, which the caller owns; NULL: the request has no file. */
struct object *apart__object(struct reader_request *q);

/* ---- the questions */

extern const struct reader_question file_question, jitmap_question;

struct file_request {
	enum file_part {
		FILE_HEADERS, FILE_FUNCTIONS, FILE_STARTS, FILE_CFI, FILE_VARIABLES, FILE_ADDRESS, FILE_INLINED, FILE_DEMANGLED,
		N_FILE_PARTS
	} part;
	bool calls_only;	/* of unwind rows */
	const char *name;	/* of a function */
	uint64_t vaddr;		/* of a variable */
};

struct file_function {
	uint64_t value, size;
	size_t name;		/* in names */
	uint8_t ifunc, local;
};

struct file_answer {		/* what was not asked for is all zero */
	int err;		/* as of apart__ask() */
	struct object headers;
	struct vec(struct file_function) functions;
	struct vec(char) names;
	struct vec(uint64_t) starts;
	struct cfi cfi;
	struct variables variables;
	bool has;		/* an address; perhaps the function */
	uint64_t address;
	char *name;		/* owned; demangled */
};

/* False: files are parsed in this process. Else ret has what the sandbox said. What is taken from ret has to be set to 0 there. */
bool file__asks(struct apart about, struct file_request what, struct file_answer *ret, struct err *e);
void file_answer__done(struct file_answer *got);
#define file_answer_cleanup __attribute__((cleanup(file_answer__done)))

#endif
