/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Names of addresses, asked of a reader that keeps the files open from one question to the next. */
#ifndef MT_SYM_APART_H
#define MT_SYM_APART_H

#include "model/snapshot.h"
#include "names/sym.h"
#include "reader/reader.h"

struct sym_apart {
	struct reader *reader;	/* owned */
	const struct sym_opts *opts;
	const char *debug_dir;
};

/*
 * fn for each of n addresses of obj, in this order; what it gets is clean, and holds during the call. id is the object's for
 * as long as the reader is. False: an end is asked for, and fn was not called; a file that was lost has lines without names.
 */
bool sym_apart__ask(const struct sym_apart *a, uint64_t id, struct object *obj, const uint64_t *vaddrs, size_t n,
		    void (*fn)(uint64_t vaddr, const struct line *lines, size_t n, void *arg), void *arg);

reader_serve_fn sym_apart__serve;

#endif
