/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Numbers and strings as bytes, for the way between malloctrace and a reader. What comes back from a reader is a claim: every
 * length and count is checked against what is there, and one mistake makes all that follows empty.
 */
#ifndef MT_WIRE_H
#define MT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire {			/* to be sent; all zero: empty */
	unsigned char *v;	/* owned */
	size_t n, room;
	bool failed;		/* for lack of memory: what is in it is not whole */
};

void wire__u64(struct wire *w, uint64_t v);
void wire__bytes(struct wire *w, const void *bytes, size_t n);	/* without its length */
void wire__string(struct wire *w, const char *s);		/* NULL stays NULL */
void wire__done(struct wire *w);

struct wire_in {		/* what came; points into somebody's bytes */
	const unsigned char *at, *end;
	bool bad;		/* it is not what was expected; all that is read from now on is 0 or NULL */
};

static inline struct wire_in wire__in(const struct wire *w)
{
	return (struct wire_in){ w->v, w->v + w->n, false };
}

uint64_t wire_in__u64(struct wire_in *in);
uint64_t wire_in__upto(struct wire_in *in, uint64_t most);	/* one that is greater is bad */
bool wire_in__bool(struct wire_in *in);
/* How many things follow that take at least so many bytes each. */
size_t wire_in__count(struct wire_in *in, size_t bytes_each);
const void *wire_in__bytes(struct wire_in *in, size_t n);
/* Ends in a NUL and has none inside; longer than most is bad. NULL also if NULL was sent. */
const char *wire_in__string(struct wire_in *in, size_t most);
/* All was as expected, and nothing is left. */
bool wire_in__is_over(const struct wire_in *in);

#define wire_cleanup __attribute__((cleanup(wire__done)))

#endif
