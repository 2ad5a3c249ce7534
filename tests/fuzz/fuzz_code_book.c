// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Reports of code objects, whose every member a process can have chosen. The first byte says what the rest is:
 *
 *   0   reports in short: the members, then a few bytes each of the name, the file and the lines
 *   1   one report as it is
 */
#include "bpf/abi.h"
#include "elf/code_book.h"
#include "fuzz.h"

struct in_short {
	uint8_t addr, seen_ns;
	uint8_t name_kind, file_kind;
	uint32_t first_line, n_lines, name_n, file_n;
	uint8_t n_name_bytes, n_file_bytes, n_lines_bytes, n_left_out;
};

/* At most n bytes of what is left. */
static size_t take(const uint8_t **data, size_t *len, void *to, size_t n)
{
	n = MIN(n, *len);
	memcpy(to, *data, n);
	*data += n;
	*len -= n;
	return n;
}

/* Ends where its bytes end, so that what reads over them is found. */
static void add(struct code_book *b, const void *record, size_t len)
{
	uint64_t n_lost = code_book__n_lost(b);
	char *copy = malloc(len);
	bool is_lost;

	if (!copy)
		abort();
	memcpy(copy, record, len);
	is_lost = code_book__add(b, copy, len);
	free(copy);
	if (is_lost != (len < MT_PYTHON_CODE_HEADER) || code_book__n_lost(b) != n_lost + is_lost)
		abort();
}

static void add_in_short(struct code_book *b, const uint8_t **data, size_t *len)
{
	struct mt_python_code c = { 0 };
	struct in_short s = { 0 };
	size_t n_lines;

	take(data, len, &s, sizeof(s));
	c.addr = s.addr & 3;
	c.seen_ns = s.seen_ns & 15;
	c.first_line = s.first_line;
	c.n_lines = s.n_lines;
	c.name = (struct mt_python_text){ .n = s.name_n, .kind = s.name_kind };
	c.file = (struct mt_python_text){ .n = s.file_n, .kind = s.file_kind };
	take(data, len, c.name_bytes, s.n_name_bytes);
	take(data, len, c.file_bytes, s.n_file_bytes);
	n_lines = take(data, len, c.lines, s.n_lines_bytes);
	add(b, &c, MT_PYTHON_CODE_HEADER + n_lines - MIN(s.n_left_out, n_lines));
}

static void ask(const struct code_book *b, uint64_t addr, uint64_t t_ns)
{
	struct code_line l;
	uint32_t id;
	bool sole;

	if (!code_book__find(b, addr, t_ns, &id, &sole))
		return;
	for (uint32_t unit = 0; unit <= MT_PYTHON_UNITS; unit = unit < 16 ? unit + 1 : 2 * unit + 1)
		if (!code_book__line(b, code_book__place(b, id, unit), &l) || l.line > INT32_MAX)
			abort();
	check_clean(l.function);
	check_clean(l.file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct mt_python_code whole = { 0 };
	struct code_book *b;
	uint8_t how;

	if (!take(&data, &len, &how, 1))
		return 0;
	b = code_book__new();
	if (!b)
		abort();
	if (how & 1) {
		size_t n = take(&data, &len, &whole, sizeof(whole));

		add(b, &whole, n);
		ask(b, whole.addr, whole.seen_ns);
	} else {
		while (len)
			add_in_short(b, &data, &len);
	}
	for (uint64_t addr = 0; addr < 4; addr++)
		for (uint64_t t_ns = 0; t_ns < 17; t_ns += 4)
			ask(b, addr, t_ns);
	code_book__free(b);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const unsigned char lines[] = { 0x80, 0, 0xd8, 4, 5, 0xe8, 0x42, 1, 0xf0, 0x13, 0, 1, 1, 0xf9 };
	struct {
		struct in_short s;
		char bytes[4 + 4 + sizeof(lines)];
	} __attribute__((packed)) two[2] = { 0 };
	struct mt_python_code whole = {
		.addr = 1, .seen_ns = 3, .first_line = 10, .n_lines = sizeof(lines),
		.name = { .n = 4, .kind = 1, .ascii = 1 }, .file = { .n = 2, .kind = 2 },
		.name_bytes = "main", .file_bytes = "\xac\x20m",
	};

	memcpy(whole.lines, lines, sizeof(lines));
	put_seed("whole", 1, &whole, MT_PYTHON_CODE_HEADER + sizeof(lines));
	for (int i = 0; i < 2; i++) {
		two[i].s = (struct in_short){ 1, 3 + i, 1, 4, 10, sizeof(lines), 4, 1, 4, 4, sizeof(lines), 0 };
		memcpy(two[i].bytes, i ? "main\x00\xf6\x01" : "init\x00\xf6\x01", 8);
		memcpy(two[i].bytes + 8, lines, sizeof(lines));
	}
	put_seed("two", 0, two, sizeof(two));
	return 0;
}
