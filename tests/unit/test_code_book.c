// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Reports of code objects: the lines of tables that Python made, texts of each kind, addresses that are used again, and garbage. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "bpf/abi.h"
#include "locations_made.h"
#include "elf/code_book.h"
#include "util/util.h"

#define ADDR 0x7f0000001000ull

/* A report of a code at ADDR, seen at 100. */
static struct mt_python_code report(const char *name, const char *file, uint32_t first_line)
{
	struct mt_python_code c = {
		.addr = ADDR, .seen_ns = 100, .first_line = first_line,
		.name = { .n = strlen(name), .kind = 1, .ascii = 1 }, .file = { .n = strlen(file), .kind = 1, .ascii = 1 },
	};

	memcpy(c.name_bytes, name, strlen(name));
	memcpy(c.file_bytes, file, strlen(file));
	return c;
}

static void put_lines(struct mt_python_code *c, const unsigned char *table, size_t n)
{
	c->n_lines = n;
	memcpy(c->lines, table, MIN(n, sizeof(c->lines)));
}

/* Its bytes end where its lines do, and nothing behind them may be read. */
static int add(struct code_book *b, const struct mt_python_code *c)
{
	size_t len = MT_PYTHON_CODE_HEADER + MIN(c->n_lines, sizeof(c->lines));
	void *record = malloc(len);
	int err;

	memcpy(record, c, len);
	err = code_book__add(b, record, len);
	free(record);
	return err;
}

static uint32_t id_at(const struct code_book *b, uint64_t t_ns, bool sole)
{
	uint32_t id = UINT32_MAX;
	bool got_sole = !sole;

	cr_assert(code_book__find(b, ADDR, t_ns, &id, &got_sole), "at %llu", (unsigned long long)t_ns);
	cr_expect_eq(got_sole, sole);
	return id;
}

static bool line_of(const struct code_book *b, uint32_t id, uint32_t unit, struct code_line *ret)
{
	return code_book__line(b, code_book__place(b, id, unit), ret);
}

static void expect_name_at(const struct code_book *b, uint64_t t_ns, const char *name, bool sole)
{
	struct code_line l;

	cr_assert(line_of(b, id_at(b, t_ns, sole), 0, &l));
	cr_expect_str_eq(l.function, name, "at %llu", (unsigned long long)t_ns);
}

/* ---- lines */

Test(code_book, lines_as_python_reads_them)
{
	for (const struct made_locations *m = made_locations; m < made_locations + ARRAY_SIZE(made_locations); m++) {
		struct mt_python_code c = report(m->name, "/srv/made.py", m->first_line);
		struct code_book *b = code_book__new();
		struct code_line l;
		uint32_t id;

		put_lines(&c, m->table, m->n_table);
		cr_assert_eq(add(b, &c), 0);
		id = id_at(b, 100, true);
		for (size_t i = 0; i < m->n_lines; i++) {
			cr_assert(line_of(b, id, i, &l));
			cr_expect_eq(l.line, m->lines[i], "%s: instruction %zu is on line %u, not %u", m->name, i, m->lines[i], l.line);
			cr_expect_str_eq(l.function, m->name);
			cr_expect_str_eq(l.file, "/srv/made.py");
		}
		cr_assert(line_of(b, id, m->n_lines, &l));
		cr_expect_eq(l.line, 0, "there are no more of them");
		code_book__free(b);
	}
}

/* Those that the made tables must have, so that the test above means something. */
Test(code_book, kinds_of_entries_that_are_met)
{
	unsigned int met = 0;

	for (const struct made_locations *m = made_locations; m < made_locations + ARRAY_SIZE(made_locations); m++)
		for (size_t i = 0; i < m->n_table; i++)
			if (m->table[i] & 0x80)
				met |= 1u << (m->table[i] >> 3 & 0xf);
	cr_expect_eq(met & 0xfc0f, 0xfc0f, "0x%x", met);
}

Test(code_book, lines_by_hand)
{
	static const struct {
		unsigned char table[12];
		size_t n;
		uint32_t unit, want;
	} made[] = {
		{ { 0x80, 0 }, 2, 0, 10 },			/* same line, one instruction */
		{ { 0x80, 0 }, 2, 1, 0 },			/* and no more */
		{ { 0x87, 0 }, 2, 7, 10 },			/* eight of them */
		{ { 0xd8, 0, 0 }, 3, 0, 11 },			/* one below */
		{ { 0xe0, 0, 0, 0xe0, 0, 0 }, 6, 1, 14 },	/* two below, twice */
		{ { 0xe8, 0x03 }, 2, 0, 9 },			/* without columns: one above */
		{ { 0xe8, 0x42, 0x01 }, 3, 0, 43 },		/* 33 below, in two bytes */
		{ { 0xf0, 0x13, 0, 1, 1 }, 5, 0, 1 },		/* nine above */
		{ { 0xe8, 0x15 }, 2, 0, 0 },			/* ten above: there is no line 0 */
		{ { 0xe8, 0x17 }, 2, 0, 0 },			/* nor one before it */
		{ { 0xe8, 0x15, 0xe8, 0x18 }, 4, 1, 12 },	/* but the next one counts from there */
		{ { 0xf8, 0xd8, 0, 0 }, 4, 0, 0 },		/* none */
		{ { 0xf8, 0xd8, 0, 0 }, 4, 1, 11 },
		{ { 0x00, 0x80, 0 }, 3, 0, 0 },			/* what does not begin with an entry is no table */
		{ { 0xe8 }, 1, 0, 0 },				/* cut off before the number */
		{ { 0xe8, 0x42 }, 2, 0, 0 },			/* and in the midst of it */
		{ { 0xe8, 0x42, 0x80 }, 3, 0, 0 },
		{ { 0xe8, 0x7e, 0x7f, 0x7f, 0x7f, 0x7f, 0x3f }, 7, 0, 0 },	/* no line is that large */
		{ { 0xe8, 0x7e, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 1 }, 8, 0, 0 },
		{ { 0xe8, 0x6a, 0x7f, 0x7f, 0x7f, 0x7f, 0x03 }, 7, 0, INT32_MAX },
		{ { 0xe8, 0x6c, 0x7f, 0x7f, 0x7f, 0x7f, 0x03 }, 7, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(made); i++) {
		uint32_t got = locations__line(made[i].table, made[i].n, 10, made[i].unit);

		cr_expect_eq(got, made[i].want, "row %zu: %u", i, got);
	}
	cr_expect_eq(locations__line(made[0].table, 0, 10, 0), 0);
	cr_expect_eq(locations__line(made[0].table, 2, UINT32_MAX, 0), 0);
	cr_expect_eq(locations__line(made[0].table, 2, 10, UINT32_MAX), 0);
}

/* A table that is longer than a report: what it begins with is known. */
Test(code_book, lines_that_were_cut)
{
	struct mt_python_code c = report("long", "long.py", 1);
	struct code_book *b = code_book__new();
	struct code_line l;
	uint32_t id;

	c.n_lines = 1000000;
	for (size_t i = 0; i < sizeof(c.lines); i += 2) {
		c.lines[i] = 0xe8;
		c.lines[i + 1] = 2;
	}
	cr_assert_eq(add(b, &c), 0);
	id = id_at(b, 100, true);
	cr_assert(line_of(b, id, sizeof(c.lines) / 2 - 1, &l));
	cr_expect_eq(l.line, 1 + sizeof(c.lines) / 2);
	cr_assert(line_of(b, id, sizeof(c.lines) / 2, &l));
	cr_expect_eq(l.line, 0);
	/* so many, or more: which one it is nobody knows */
	cr_assert(line_of(b, id, MT_PYTHON_UNITS, &l));
	cr_expect_eq(l.line, 0);
	cr_expect_str_eq(l.function, "long");
	code_book__free(b);
}

/* ---- texts */

static void expect_text(uint8_t kind, uint32_t n, const void *bytes, size_t n_bytes, const char *want)
{
	struct mt_python_code c = report("", "f.py", 1);
	struct code_book *b = code_book__new();
	struct code_line l;

	c.name = (struct mt_python_text){ .n = n, .kind = kind };
	memcpy(c.name_bytes, bytes, n_bytes);
	cr_assert_eq(add(b, &c), 0);
	cr_assert(line_of(b, id_at(b, 100, true), 0, &l));
	if (want)
		cr_expect_str_eq(l.function, want);
	else
		cr_expect_null(l.function);
	cr_expect_str_eq(l.file, "f.py");
	code_book__free(b);
}

Test(code_book, texts_of_each_kind)
{
	static const uint16_t two[] = { 'a', 0x20ac, 0x4e2d, 0xe9 };
	static const uint32_t four[] = { 'a', 0x1f600, 0x20ac, 0x10fffd };

	expect_text(1, 3, "abc", 3, "abc");
	expect_text(1, 4, "na\xefv", 4, "na\xc3\xafv");
	expect_text(2, 4, two, sizeof(two), "a\xe2\x82\xac\xe4\xb8\xad\xc3\xa9");
	expect_text(4, 4, four, sizeof(four), "a\xf0\x9f\x98\x80\xe2\x82\xac\xf4\x8f\xbf\xbd");
	expect_text(1, 0, "", 0, "");
	expect_text(0, 3, "abc", 3, NULL);
	expect_text(3, 1, "abc", 3, NULL);
	expect_text(255, 1, "abc", 3, NULL);
}

Test(code_book, texts_that_are_not_clean)
{
	static const uint16_t surrogates[] = { 'a', 0xdc80, 0xd83d, 0xde00, 'b', 0x202e };
	static const uint32_t beyond[] = { 'a', 0x110000, 0xffffffff, 0xd800, 0, 'b' };

	expect_text(1, 8, "a\0b\033[2Jc", 8, "a?b?[2Jc");
	expect_text(1, 3, "\x7f\x80\x9f", 3, "?????");	/* of two bytes each, but for the first */
	expect_text(2, 6, surrogates, sizeof(surrogates), "a???b???");
	expect_text(4, 6, beyond, sizeof(beyond), "a????b");
}

/* Of what did not fit half of the room has the beginning, and half the end. */
Test(code_book, texts_that_were_cut)
{
	char all[MT_PYTHON_NAME_BYTES], want[2 * MT_PYTHON_NAME_BYTES + 4];
	uint32_t wide[MT_PYTHON_NAME_BYTES / 4];
	char *to = want;

	memset(all, 'x', 256);
	memset(all + 256, 'y', 256);
	memcpy(want, all, 512);
	want[512] = '\0';
	expect_text(1, 512, all, sizeof(all), want);
	memcpy(want + 256, "...", 3);
	memcpy(want + 259, all + 256, 256);
	want[515] = '\0';
	expect_text(1, 513, all, sizeof(all), want);
	expect_text(1, UINT32_MAX, all, sizeof(all), want);
	for (size_t i = 0; i < 128; i++) {
		wide[i] = 0x1f600;
		if (i == 64)
			to = stpcpy(to, "...");
		to = stpcpy(to, "\xf0\x9f\x98\x80");
	}
	expect_text(4, UINT32_MAX, wide, sizeof(wide), want);
	expect_text(4, 129, wide, sizeof(wide), want);
	/* what grows most: each becomes two */
	memset(all, 0xe9, sizeof(all));
	to = want;
	for (size_t i = 0; i < 512; i++) {
		if (i == 256)
			to = stpcpy(to, "...");
		to = stpcpy(to, "\xc3\xa9");
	}
	expect_text(1, 600, all, sizeof(all), want);
}

Test(code_book, files_that_were_cut)
{
	struct mt_python_code c = report("f", "", 1);
	struct code_book *b = code_book__new();
	char want[2 * MT_PYTHON_FILE_BYTES + 4], *to = want;
	struct code_line l;

	c.file.n = MT_PYTHON_FILE_BYTES + 1;
	memset(c.file_bytes, 0xe9, sizeof(c.file_bytes));
	for (size_t i = 0; i < MT_PYTHON_FILE_BYTES; i++) {
		if (i == MT_PYTHON_FILE_BYTES / 2)
			to = stpcpy(to, "...");
		to = stpcpy(to, "\xc3\xa9");
	}
	cr_assert_eq(add(b, &c), 0);
	cr_assert(line_of(b, id_at(b, 100, true), 0, &l));
	cr_expect_str_eq(l.file, want);
	code_book__free(b);
}

Test(code_book, texts_are_shared)
{
	struct code_book *b = code_book__new();
	struct code_line first, second;
	uint32_t id;
	bool sole;

	for (int i = 0; i < 2; i++) {
		struct mt_python_code c = report("<lambda>", "/srv/app.py", 10 + i);

		c.addr += 256 * i;
		cr_assert_eq(add(b, &c), 0);
	}
	cr_assert(code_book__find(b, ADDR, 100, &id, &sole) && line_of(b, id, 0, &first));
	cr_assert(code_book__find(b, ADDR + 256, 100, &id, &sole) && line_of(b, id, 0, &second));
	cr_expect_eq(first.function, second.function);
	cr_expect_eq(first.file, second.file);
	code_book__free(b);
}

/* ---- addresses over time */

static void see(struct code_book *b, const char *name, uint64_t seen_ns)
{
	struct mt_python_code c = report(name, "f.py", 1);

	c.seen_ns = seen_ns;
	cr_assert_eq(add(b, &c), 0);
}

Test(code_book, address_that_is_used_again)
{
	struct code_book *b = code_book__new();
	uint32_t id = 5;
	bool sole = true;

	see(b, "first", 100);
	expect_name_at(b, 100, "first", true);
	see(b, "second", 200);
	see(b, "third", 300);
	cr_expect_not(code_book__find(b, ADDR, 99, &id, &sole), "it was not seen yet");
	cr_expect_not(code_book__find(b, ADDR + 16, 400, &id, &sole), "nor was another address");
	cr_expect(id == 5 && sole);
	expect_name_at(b, 100, "first", false);
	expect_name_at(b, 199, "first", false);
	expect_name_at(b, 200, "second", false);
	expect_name_at(b, 299, "second", false);
	expect_name_at(b, UINT64_MAX, "third", false);
	cr_expect_eq(code_book__n_lost(b), 0);
	code_book__free(b);
}

Test(code_book, reports_that_come_late)
{
	struct code_book *b = code_book__new();

	see(b, "third", 300);
	see(b, "first", 100);
	see(b, "second", 200);
	expect_name_at(b, 150, "first", false);
	expect_name_at(b, 250, "second", false);
	expect_name_at(b, 350, "third", false);
	code_book__free(b);
}

Test(code_book, one_that_is_reported_again)
{
	struct code_book *b = code_book__new();
	uint32_t id;

	see(b, "same", 200);
	id = id_at(b, 200, true);
	see(b, "same", 300);
	cr_expect_eq(id_at(b, 300, true), id);
	/* and earlier, but later reported */
	see(b, "same", 100);
	cr_expect_eq(id_at(b, 100, true), id);
	/* another one in between, and the first one again */
	see(b, "other", 400);
	see(b, "same", 500);
	expect_name_at(b, 399, "same", false);
	expect_name_at(b, 400, "other", false);
	expect_name_at(b, 500, "same", false);
	code_book__free(b);
}

/* Wherever it lies, in this process or in another one: it is the same place, and of other code no instruction is. */
Test(code_book, places_mean_the_same_everywhere)
{
	struct code_book *b[2] = { code_book__new(), code_book__new() };
	uint64_t place[2][3];
	struct code_line l;

	for (int i = 0; i < 2; i++) {
		/* at an address where the other process has another one, as its first or its second one */
		see(b[i], i ? "beta" : "alpha", 100);
		see(b[i], "shared", 200);
		see(b[i], i ? "alpha" : "beta", 300);
		for (int k = 0; k < 3; k++)
			place[i][k] = code_book__place(b[i], id_at(b[i], 100 * (k + 1), false), 0);
	}
	cr_expect_eq(place[0][0], place[1][2]);
	cr_expect_eq(place[0][1], place[1][1]);
	cr_expect_eq(place[0][2], place[1][0]);
	cr_expect(place[0][0] != place[0][1] && place[0][0] != place[0][2] && place[0][1] != place[0][2]);
	cr_expect(code_book__line(b[1], place[0][0], &l) && !strcmp(l.function, "alpha"));
	cr_expect_neq(code_book__place(b[0], id_at(b[0], 100, false), 1), place[0][0], "nor is another instruction of it");
	for (int i = 0; i < 2; i++)
		code_book__free(b[i]);
}

Test(code_book, the_same_code_at_several_addresses)
{
	struct code_book *b = code_book__new();
	struct mt_python_code c = report("f", "f.py", 1);
	uint32_t first, second;
	bool sole;

	cr_assert_eq(add(b, &c), 0);
	c.addr += 256;
	cr_assert_eq(add(b, &c), 0);
	cr_assert(code_book__find(b, ADDR, 100, &first, &sole) && code_book__find(b, ADDR + 256, 100, &second, &sole));
	cr_expect_eq(first, second);
	code_book__free(b);
}

/* What differs in anything is another one. */
Test(code_book, what_is_another_one)
{
	static const unsigned char table[] = { 0x80, 0, 0xd8, 0, 0 };
	struct mt_python_code made[8];

	for (size_t i = 0; i < ARRAY_SIZE(made); i++) {
		made[i] = report(i == 1 ? "g" : "f", i == 2 ? "b.py" : "a.py", i == 3 ? 2 : 1);
		put_lines(&made[i], table, i == 4 ? 2 : sizeof(table));
		made[i].seen_ns = 100 + i;
	}
	made[5].lines[2] = 0xe0;
	/* of which only the start is here, and they have more or less behind it */
	made[6].n_lines = 5000;
	made[7].n_lines = 5001;
	for (size_t i = 1; i < ARRAY_SIZE(made); i++) {
		struct code_book *b = code_book__new();

		cr_assert_eq(add(b, &made[i == 7 ? 6 : 0]), 0);
		cr_assert_eq(add(b, &made[i]), 0);
		cr_expect_neq(id_at(b, 200, false), id_at(b, made[i].seen_ns - 1, false), "row %zu", i);
		code_book__free(b);
	}
}

/* ---- what is no report, or one too many */

/* Of a record of that length: entries of two bytes each, all of line 7. */
static bool is_right_at(struct code_book *b, struct mt_python_code *c, size_t len)
{
	uint32_t n_units = len < MT_PYTHON_CODE_HEADER ? 0 : (MIN(len, sizeof(*c)) - MT_PYTHON_CODE_HEADER + 1) / 2, id;
	char *record = calloc(1, len + 1);	/* not aligned, either */
	struct code_line l;
	bool sole;
	int err;

	c->addr = ADDR + 16 * len;
	memcpy(record + 1, c, MIN(len, sizeof(*c)));
	err = code_book__add(b, record + 1, len);
	free(record);
	if (len < MT_PYTHON_CODE_HEADER)
		return err == -EINVAL && !code_book__find(b, c->addr, 100, &id, &sole);
	return !err && code_book__find(b, c->addr, 100, &id, &sole) && sole &&
	       (!n_units || (line_of(b, id, n_units - 1, &l) && l.line == 7)) &&
	       line_of(b, id, n_units, &l) && l.line == 0;
}

Test(code_book, records_of_every_length)
{
	struct mt_python_code c = report("f", "f.py", 7);
	struct code_book *b = code_book__new();

	c.n_lines = UINT32_MAX;
	for (size_t i = 0; i < sizeof(c.lines); i++)
		c.lines[i] = i & 1 ? 0 : 0x80;
	for (size_t len = 0; len <= sizeof(c) + 16; len++)
		cr_expect(is_right_at(b, &c, len), "of %zu bytes", len);
	cr_expect_eq(code_book__n_lost(b), MT_PYTHON_CODE_HEADER, "those that are shorter");
	code_book__free(b);
}

/* What a record has behind its lines is not of them. */
Test(code_book, record_that_is_too_long)
{
	static const unsigned char table[] = { 0x80, 0, 0xd8, 0, 0 };
	struct mt_python_code c = report("f", "f.py", 7);
	struct code_book *b = code_book__new();
	struct code_line l;

	put_lines(&c, table, sizeof(table));
	c.n_lines = 2;
	cr_assert_eq(code_book__add(b, &c, sizeof(c)), 0);
	cr_assert(line_of(b, id_at(b, 100, true), 0, &l));
	cr_expect_eq(l.line, 7);
	cr_assert(line_of(b, id_at(b, 100, true), 1, &l));
	cr_expect_eq(l.line, 0);
	code_book__free(b);
}

Test(code_book, code_that_is_not_there)
{
	struct code_book *b = code_book__new();
	struct code_line l = { .line = 3 };

	cr_expect_not(code_book__line(b, 0, &l));
	cr_expect_not(code_book__line(b, ADDR, &l));
	cr_expect_not(code_book__line(b, UINT64_MAX, &l));
	cr_expect_eq(l.line, 3);
	code_book__free(b);
	code_book__free(NULL);
}

/* Tables of 4 KiB each: the bytes run out first. From when one was lost nothing is said to be at its address; what was there before is not all. */
Test(code_book, book_that_is_full_of_text, .timeout = 60)
{
	struct mt_python_code c = report("f", "f.py", 1);
	struct code_book *b = code_book__new();
	uint32_t id;
	bool sole;
	size_t n;

	c.n_lines = sizeof(c.lines);
	memset(c.lines, 0x80, sizeof(c.lines));
	for (n = 0; !code_book__add(b, &c, sizeof(c)); n++)
		c.addr += 16, c.first_line++;
	cr_expect_eq(code_book__add(b, &c, sizeof(c)), -ENOSPC);
	cr_expect_eq(code_book__n_lost(b), 2);
	cr_expect(n > (256 << 20) / 4200 && n <= (256 << 20) / 4096, "%zu", n);
	cr_expect_not(code_book__find(b, c.addr, 200, &id, &sole));
	cr_assert(code_book__find(b, ADDR, 200, &id, &sole) && sole);
	c.addr = ADDR;
	c.seen_ns = 150;
	cr_expect_eq(code_book__add(b, &c, sizeof(c)), -ENOSPC);
	cr_expect_not(code_book__find(b, ADDR, 200, &id, &sole));
	cr_expect_not(code_book__find(b, ADDR, 150, &id, &sole));
	cr_assert(code_book__find(b, ADDR, 149, &id, &sole) && !sole);
	code_book__free(b);
}

Test(code_book, book_that_is_full_of_codes, .timeout = 60)
{
	struct mt_python_code c = report("f", "f.py", 1);
	struct code_book *b = code_book__new();
	size_t n;

	for (n = 0; !code_book__add(b, &c, MT_PYTHON_CODE_HEADER); n++)
		c.addr += 16;
	cr_expect_eq(n, 1 << 20);
	cr_expect_eq(code_book__add(b, &c, MT_PYTHON_CODE_HEADER), -ENOSPC);
	cr_expect_eq(code_book__n_lost(b), 2);
	/* what is known already needs no room */
	c.addr = ADDR;
	c.seen_ns = 200;
	cr_expect_eq(code_book__add(b, &c, MT_PYTHON_CODE_HEADER), 0);
	code_book__free(b);
}
