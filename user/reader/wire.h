/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Structs as bytes, for the way between malloctrace and the sandbox: one table per struct writes it, reads it and frees what was
 * read. What comes back from the sandbox is untrusted: every number, length and count is checked against the table and against
 * the bytes that are there, and one mistake makes all that follows empty.
 */
#ifndef MT_WIRE_H
#define MT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire {			/* to be sent; all zero: empty */
	unsigned char *v;	/* owned */
	size_t n, room;
};

void wire__u64(struct wire *w, uint64_t v);
void wire__bytes(struct wire *w, const void *bytes, size_t n);	/* without its length */
void wire__string(struct wire *w, const char *s);		/* NULL stays NULL */
void wire__done(struct wire *w);

struct wire_in {		/* received; points into the caller's bytes */
	unsigned char *at, *end;
	bool bad;		/* not as expected; all that is read from now on is 0 or NULL */
};

static inline struct wire_in wire__in(const struct wire *w)
{
	return (struct wire_in){ .at = w->v, .end = w->v + w->n };
}

uint64_t wire_in__u64(struct wire_in *in);
/* Ends in a NUL and has none inside; longer than most is bad. NULL also if NULL was sent. */
char *wire_in__string(struct wire_in *in, size_t most);
/* All was as expected, and nothing is left. */
bool wire_in__is_over(const struct wire_in *in);

#define wire_cleanup __attribute__((cleanup(wire__done)))

/* ---- tables */

enum wire_kind {
	WIRE_NUMBER,	/* of 1, 2, 4 or 8 bytes; more than .most is bad */
	WIRE_BYTES,	/* as they lie in memory */
	WIRE_TEXT,	/* char *: points into what was received; longer than .most is bad */
	WIRE_COPY,	/* char *: the same, and owned by the struct */
	WIRE_CHARS,	/* char[] */
	WIRE_STRUCT,	/* another struct */
	WIRE_ROWS,	/* a pointer to structs, which it owns, and their number */
	WIRE_ARRAY,	/* the same, as they lie in memory */
};

struct wire_field {
	enum wire_kind kind;
	bool clean;			/* of text: control characters are removed when it is read */
	uint16_t at, size;		/* of the member; of rows, of one of them */
	uint16_t n_at, room_at;		/* where the number of rows is; and how many there is room for, or 0 */
	uint64_t most;
	const struct wire_type *of;
};

struct wire_type {
	size_t size;
	const struct wire_field *v;
	size_t n;
	bool (*is_sane)(const void *record);	/* after it was read; NULL: always */
};

#define WIRE_MEMBER(type, member) .at = offsetof(type, member), .size = sizeof(((type *)NULL)->member)
#define WIRE_UPTO(type, member, greatest) { .kind = WIRE_NUMBER, WIRE_MEMBER(type, member), .most = greatest }
#define WIRE_ANY(type, member) WIRE_UPTO(type, member, UINT64_MAX)
#define WIRE_BOOL(type, member) WIRE_UPTO(type, member, 1)
#define WIRE_RAW(type, member) { .kind = WIRE_BYTES, WIRE_MEMBER(type, member) }
#define WIRE_NAME(type, member, longest) { .kind = WIRE_TEXT, WIRE_MEMBER(type, member), .most = longest }
#define WIRE_CLEAN(type, member, longest) { .kind = WIRE_TEXT, .clean = true, WIRE_MEMBER(type, member), .most = longest }
#define WIRE_OWN(type, member, longest) { .kind = WIRE_COPY, .clean = true, WIRE_MEMBER(type, member), .most = longest }
#define WIRE_WORDS(type, member) { .kind = WIRE_CHARS, .clean = true, WIRE_MEMBER(type, member) }
#define WIRE_PART(type, member, its) { .kind = WIRE_STRUCT, WIRE_MEMBER(type, member), .of = its }
#define WIRE_MANY(how, type, pointer, number) \
	.kind = how, .at = offsetof(type, pointer), .size = sizeof(*((type *)NULL)->pointer), .n_at = offsetof(type, number)
#define WIRE_LIST(type, pointer, number, its) { WIRE_MANY(WIRE_ROWS, type, pointer, number), .of = its }
#define WIRE_PLAIN(type, pointer, number) { WIRE_MANY(WIRE_ARRAY, type, pointer, number) }
/* of a struct vec() */
#define WIRE_VEC(type, member, its) { WIRE_MANY(WIRE_ROWS, type, member.v, member.n), .room_at = offsetof(type, member.room), .of = its }
#define WIRE_PLAIN_VEC(type, member) { WIRE_MANY(WIRE_ARRAY, type, member.v, member.n), .room_at = offsetof(type, member.room) }
#define WIRE_TYPE(type, fields, ...) { .size = sizeof(type), .v = fields, .n = sizeof(fields) / sizeof(fields[0]), __VA_ARGS__ }

void wire__put(struct wire *w, const struct wire_type *type, const void *record);
/* Sets the members that the table has, and no others; false: it is bad, and nothing is owned. */
bool wire_in__get(struct wire_in *in, const struct wire_type *type, void *ret);
/* Sets the members that the table has to 0: nothing is owned then. */
void wire_type__clear(const struct wire_type *type, void *record);
/* Frees what is owned by a struct that was read. */
void wire_type__done(const struct wire_type *type, void *record);

#endif
