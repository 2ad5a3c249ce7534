// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns reports of code objects. They were filled in from memory that the process may have had any content in: lengths, kinds of
 * characters and tables are checked here, and what the book hands out is clean. What an address had is kept in the order of time.
 * Reports that say the same are of one code, wherever it lies: programs compile the same lines again and again.
 */
#include "elf/code_book.h"

#include <errno.h>
#include <string.h>

#include "bpf/abi.h"
#include "elf/symtab.h"
#include "util/hash.h"
#include "util/sorted.h"
#include "util/text.h"
#include "util/util.h"

/* ---- lines */

/*
 * A table of lines is a row of entries, in the order of the instructions; only the first byte of an entry has its highest bit
 * set, so that columns, which nobody here wants, need no reading:
 *
 *	1 kind:4 n_units-1:3	0xxxxxxx ...
 *
 * Kinds 0 to 9 are on the line of the entry before, 10 to 12 this many lines below 10, 13 and 14 begin with a signed number
 * of lines, and 15 has no line. The first entry counts from the code's first line. It is the interpreter's own reading
 * (PyCode_Addr2Line): an instruction without a line has none in a traceback either.
 */
enum { KIND_ONE_LINE = 10, KIND_NO_COLUMNS = 13, KIND_LONG = 14, KIND_NONE = 15 };

/* A signed number: 6 bits a byte, lowest first; bit 6 says that there is more, bit 0 of it all is the sign. */
static bool read_signed(const unsigned char *p, const unsigned char *end, int64_t *ret)
{
	uint64_t v = 0;

	/* no line has more than 32 bits; what is cut off in the middle is not known */
	for (unsigned int shift = 0; p < end && !(*p & 0x80) && shift < 36; shift += 6) {
		v |= (uint64_t)(*p & 0x3f) << shift;
		if (!(*p++ & 0x40)) {
			*ret = v & 1 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
			return true;
		}
	}
	return false;
}

static bool line_delta(unsigned int kind, const unsigned char *rest, const unsigned char *end, int64_t *ret)
{
	if (kind == KIND_NO_COLUMNS || kind == KIND_LONG)
		return read_signed(rest, end, ret);
	*ret = kind >= KIND_ONE_LINE && kind < KIND_NO_COLUMNS ? (int)kind - KIND_ONE_LINE : 0;
	return true;
}

uint32_t locations__line(const unsigned char *table, size_t len, uint32_t first_line, uint32_t unit)
{
	const unsigned char *p = table, *end = table + len;
	int64_t line = first_line, delta;
	uint32_t n_before = 0;

	while (p < end && *p & 0x80) {
		unsigned int kind = *p >> 3 & 0xf, n_units = (*p & 7) + 1;

		if (!line_delta(kind, p + 1, end, &delta))
			return 0;
		line += delta;	/* at most 2^36 each time, and 2^20 times */
		if (unit - n_before < n_units)
			return kind != KIND_NONE && line > 0 && line <= INT32_MAX ? line : 0;
		n_before += n_units;
		do
			p++;
		while (p < end && !(*p & 0x80));
	}
	return 0;
}

/* Of a place, from above: that it is one, which no address is; the print of its code; the instruction. */
#define UNIT_BITS 16
#define CODE_PRINTS ((1ull << 47) - 1)
#define IS_PLACE (1ull << 63)

_Static_assert(MT_PYTHON_UNITS < 1u << UNIT_BITS, "places");

struct code {
	const char *name, *file;	/* of the pool, so equal ones are the same; NULL: could not be read */
	const unsigned char *lines;	/* n_lines bytes of the pool */
	uint32_t n_lines, n_lines_all;	/* what is here, and what the code has */
	uint32_t first_line;
	uint64_t print;			/* of all of that: another one for each code of a book */
};

struct sighting {
	uint64_t seen_ns;
	uint32_t id;
};

struct address {		/* of the pool: there are as many as codes, and most have one */
	struct sighting *seen;	/* owned; by time; no two neighbours are the same code */
	uint32_t n_seen;	/* and room for the next power of two */
	uint64_t lost_ns;	/* one that was seen here then, the first, found no room; 0: none */
};

struct code_book {
	struct vec(struct code) codes;	/* the index is the id */
	struct hash addresses;		/* by key_of() each */
	struct hash by_print;		/* ids, and 1 */
	struct pool pool;
	size_t n_seen;		/* of all addresses */
	uint64_t n_bytes;	/* of the pool: names, files, lines */
	uint64_t n_lost, n_changes;
};

struct code_book *code_book__new(void)
{
	struct code_book *b = xcalloc(1, sizeof(*b));

	pool__init(&b->pool);
	return b;
}

void code_book__free(struct code_book *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->addresses.room; i++)
		if (b->addresses.slots[i].value)
			free(((struct address *)b->addresses.slots[i].value)->seen);
	vec_done(&b->codes);
	hash__done(&b->addresses);
	hash__done(&b->by_print);
	pool__done(&b->pool);
	free(b);
}

uint64_t code_book__n_changes(const struct code_book *b)
{
	return b->n_changes;
}

uint64_t code_book__n_lost(const struct code_book *b)
{
	return b->n_lost;
}

/* ---- texts */

#define CUT "..."
/* A byte of the report becomes at most two: Latin-1 is what grows most. */
#define TEXT_ROOM(bytes) (2 * (bytes) + sizeof(CUT))

/* The bytes that c takes as UTF-8. What has none, or would end the text, is a '?': clean_name() does not see characters. */
static size_t put_utf8(char *to, uint32_t c)
{
	if (!c || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
		c = '?';
	return utf8__encode(to, c);
}

static size_t put_text(char *to, const char *bytes, size_t n, uint8_t kind)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t c = 0;

		memcpy(&c, bytes + i * kind, kind);	/* both machines that this is for are little-endian */
		len += put_utf8(to + len, c);
	}
	to[len] = '\0';
	clean_name(to);
	return len;
}

/* The text of a report, ended, into room for TEXT_ROOM(n_bytes). False: it was not read. */
static bool decode(const struct mt_python_text *t, const char *bytes, size_t n_bytes, char *to)
{
	size_t half = n_bytes / 2;

	if (t->kind != 1 && t->kind != 2 && t->kind != 4)
		return false;
	if (t->n <= n_bytes / t->kind) {
		put_text(to, bytes, t->n, t->kind);
		return true;
	}
	to += put_text(to, bytes, half / t->kind, t->kind);
	to = stpcpy(to, CUT);
	put_text(to, bytes + half, half / t->kind, t->kind);
	return true;
}

/* The pool's copy; its bytes count when they are new. */
static const char *keep(struct code_book *b, const char *text)
{
	size_t n_before = b->pool.strings.n;
	const char *kept = pool__string(&b->pool, text);

	if (b->pool.strings.n > n_before)
		b->n_bytes += strlen(kept) + 1;
	return kept;
}

/* ---- reports */

static bool same_code(const struct code *a, const struct code *b)
{
	return a->name == b->name && a->file == b->file && a->first_line == b->first_line && a->n_lines_all == b->n_lines_all &&
	       a->n_lines == b->n_lines && (!a->n_lines || !memcmp(a->lines, b->lines, a->n_lines));
}

/* No seed is in it: in other processes, and in other traces, the same code has the same. */
static uint64_t add_print(uint64_t print, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		print = hash__mix(print, ((const unsigned char *)bytes)[i]);
	return hash__mix(print, n);
}

static uint64_t print_of(const struct code *c)
{
	uint64_t print = hash__mix(c->first_line, c->n_lines_all);

	print = add_print(print, c->name ?: "", c->name ? strlen(c->name) + 1 : 0);
	print = add_print(print, c->file ?: "", c->file ? strlen(c->file) + 1 : 0);
	return add_print(print, c->lines, c->n_lines) & CODE_PRINTS;
}

/* By its print, which becomes another one if it is that of other code. */
static bool find_code(const struct code_book *b, struct code *c, uint32_t *ret)
{
	for (c->print = print_of(c);; c->print = (c->print + 1) & CODE_PRINTS) {
		uintptr_t found = (uintptr_t)hash__get(&b->by_print, c->print);

		if (!found)
			return false;
		*ret = found - 1;
		if (same_code(&b->codes.v[*ret], c))
			return true;
	}
}

/* Its lines stay those of the report for now. */
static int read_code(struct code_book *b, const struct mt_python_code *c, const void *lines, size_t n_lines, struct code *ret)
{
	char name[TEXT_ROOM(sizeof(c->name_bytes))], file[TEXT_ROOM(sizeof(c->file_bytes))];
	bool has_name = decode(&c->name, c->name_bytes, sizeof(c->name_bytes), name);
	bool has_file = decode(&c->file, c->file_bytes, sizeof(c->file_bytes), file);

	/* as much as it can take, so that the bound holds; where texts are shared it is less */
	if (b->n_bytes + sizeof(name) + sizeof(file) + n_lines > CODE_BOOK_BYTES)
		return -ENOSPC;
	*ret = (struct code){
		.name = has_name ? keep(b, name) : NULL,
		.file = has_file ? keep(b, file) : NULL,
		.lines = lines,
		.n_lines = MIN(n_lines, c->n_lines),
		.n_lines_all = c->n_lines,
		.first_line = c->first_line,
	};
	return 0;
}

static uint32_t new_code(struct code_book *b, struct code c)
{
	unsigned char *lines = pool__alloc(&b->pool, c.n_lines);

	memcpy(lines, c.lines, c.n_lines);
	c.lines = lines;
	b->n_bytes += c.n_lines;
	*vec_push(&b->codes) = c;
	hash__put(&b->by_print, c.print, (void *)(uintptr_t)b->codes.n);
	return b->codes.n - 1;
}

/* A process chooses where its code is, and must not know which addresses collide. */
static uint64_t key_of(uint64_t addr)
{
	return addr ^ hash__seed();
}

/* No more addresses than codes: one whose code found no room counts, too. */
static int address_get(struct code_book *b, uint64_t addr, struct address **ret)
{
	struct address *a = hash__get(&b->addresses, key_of(addr));

	if (!a) {
		if (b->addresses.n == CODE_BOOK_CODES)
			return -ENOSPC;
		a = pool__alloc(&b->pool, sizeof(*a));
		*a = (struct address){ 0 };
		hash__put(&b->addresses, key_of(addr), a);
	}
	*ret = a;
	return 0;
}

/* Reports come about in the order of time, those of several processors not quite. */
static int add_sighting(struct code_book *b, struct address *a, uint64_t seen_ns, struct code *c)
{
	size_t at = sorted__count(s, a->seen, a->n_seen, s->seen_ns <= seen_ns);
	uint32_t id;
	bool known = find_code(b, c, &id);

	if (known && at && a->seen[at - 1].id == id)
		return 0;
	if (known && at < a->n_seen && a->seen[at].id == id) {
		a->seen[at].seen_ns = seen_ns;
		return 0;
	}
	if (b->n_seen == CODE_BOOK_CODES)
		return -ENOSPC;
	if (!known)
		id = new_code(b, *c);
	if (!(a->n_seen & (a->n_seen - 1)))
		a->seen = xreallocarray(a->seen, a->n_seen ? 2 * (size_t)a->n_seen : 1, sizeof(*a->seen));
	b->n_changes += a->n_seen > 0;
	memmove(a->seen + at + 1, a->seen + at, (a->n_seen - at) * sizeof(*a->seen));
	a->seen[at] = (struct sighting){ seen_ns, id };
	a->n_seen++;
	b->n_seen++;
	return 0;
}

/* What was at that address before may still be found, but what is there from then on is not known. */
static void count_loss(struct code_book *b, uint64_t addr, uint64_t seen_ns)
{
	struct address *a = hash__get(&b->addresses, key_of(addr));

	b->n_lost++;
	b->n_changes++;
	if (a && (!a->lost_ns || seen_ns < a->lost_ns))
		a->lost_ns = MAX(seen_ns, 1);
}

int code_book__add(struct code_book *b, const void *record, size_t len)
{
	struct mt_python_code c;
	struct address *a;
	struct code code;
	int err;

	if (len < MT_PYTHON_CODE_HEADER) {
		b->n_lost++;
		return -EINVAL;
	}
	len = MIN(len, MT_PYTHON_CODE_HEADER + CODE_BOOK_LINES);
	memcpy(&c, record, MT_PYTHON_CODE_HEADER);	/* which may lie anywhere */
	err = read_code(b, &c, (const char *)record + MT_PYTHON_CODE_HEADER, len - MT_PYTHON_CODE_HEADER, &code);
	if (!err)
		err = address_get(b, c.addr, &a);
	if (!err)
		err = add_sighting(b, a, c.seen_ns, &code);
	if (err)
		count_loss(b, c.addr, c.seen_ns);
	return err;
}

/* ---- questions */

bool code_book__find(const struct code_book *b, uint64_t addr, uint64_t t_ns, uint32_t *ret_id, bool *ret_sole)
{
	const struct address *a = hash__get(&b->addresses, key_of(addr));
	size_t n = a ? sorted__count(s, a->seen, a->n_seen, s->seen_ns <= t_ns) : 0;

	if (!n || (a->lost_ns && a->lost_ns <= t_ns))
		return false;
	*ret_id = a->seen[n - 1].id;
	*ret_sole = a->n_seen == 1 && !a->lost_ns;
	return true;
}

uint64_t code_book__place(const struct code_book *b, uint32_t id, uint32_t unit)
{
	return IS_PLACE | b->codes.v[id].print << UNIT_BITS | (unit & MT_PYTHON_UNITS);
}

bool code_book__line(const struct code_book *b, uint64_t place, struct code_line *ret)
{
	uint32_t unit = place & MT_PYTHON_UNITS;
	uintptr_t found = (uintptr_t)hash__get(&b->by_print, place >> UNIT_BITS & CODE_PRINTS);
	const struct code *c;

	if (!found || !(place & IS_PLACE))
		return false;
	c = &b->codes.v[found - 1];
	*ret = (struct code_line){
		.function = c->name,
		.file = c->file,
		.line = unit < MT_PYTHON_UNBEGUN ? locations__line(c->lines, c->n_lines, c->first_line, unit) : 0,
	};
	return true;
}
