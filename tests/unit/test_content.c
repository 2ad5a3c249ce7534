// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What bytes look like. */
#include <criterion/criterion.h>
#include <string.h>

#include "heap/look.h"

#define POINTER 0x0000555544434241ull	/* "ABCDUU" */

static bool is_pointer(uint64_t word, void *arg)
{
	return word == POINTER || word == 0x0000aaaabbbb0000ull;
}

static enum content of(const void *bytes, size_t n)
{
	return content__of(bytes, n, is_pointer, NULL);
}

Test(content, zeros)
{
	static const char none[4096];

	cr_assert_eq(of(none, 1), CONTENT_ZEROS);
	cr_assert_eq(of(none, 24), CONTENT_ZEROS);
	cr_assert_eq(of(none, sizeof(none)), CONTENT_ZEROS);
	cr_assert_eq(of(none, 0), CONTENT_ZEROS);
}

Test(content, text)
{
	char block[256] = "/usr/share/zoneinfo";
	char words[24] = "one\0two and three";
	char header[24] = "\x05\x05\x01hello world";
	char tail[24] = "Grüße aus Köln, ";

	cr_assert_eq(of(block, sizeof(block)), CONTENT_TEXT);
	cr_assert_eq(of(words, sizeof(words)), CONTENT_TEXT);
	cr_assert_eq(of(header, sizeof(header)), CONTENT_TEXT, "behind the header of a string");
	cr_assert_eq(of(tail, sizeof(tail)), CONTENT_TEXT, "UTF-8");
	cr_assert_eq(of("{\"a\": 1,\n\t\"b\": 2}", 18), CONTENT_TEXT);
	/* the head of a block may end within a character */
	cr_assert_eq(of("käsekäsek\xc3", 12), CONTENT_TEXT);
}

Test(content, no_text)
{
	cr_assert_eq(of("abc\0\0\0\0\0", 8), CONTENT_OTHER, "three letters may be a number");
	cr_assert_eq(of("\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8", 8), CONTENT_OTHER);
	cr_assert_eq(of("abcd\x80\x81\x82\x83\x84\x85\x86\x87\x88\x89\x8a\x8b", 16), CONTENT_OTHER, "less than half");
}

Test(content, pointers)
{
	uint64_t node[3] = { POINTER, 0, 12 }, letters[2] = { POINTER, POINTER }, few[5] = { POINTER, 1, 2, 3, 4 };

	cr_assert_eq(of(node, sizeof(node)), CONTENT_POINTERS);
	cr_assert_eq(of(letters, sizeof(letters)), CONTENT_POINTERS, "although their bytes are letters");
	cr_assert_eq(of(few, sizeof(few)), CONTENT_OTHER, "one of five");
	cr_assert_eq(of(few, 4 * sizeof(*few)), CONTENT_POINTERS, "one of four");
}

Test(content, odd_lengths)
{
	uint64_t words[2] = { 0, POINTER };

	/* no whole word */
	cr_assert_eq(of("\1\2\3", 3), CONTENT_OTHER);
	cr_assert_eq(of(words, 15), CONTENT_TEXT, "half of a pointer is what its bytes are");
}
