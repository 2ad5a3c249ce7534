// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what bytes look like. A guess, and a coarse one on purpose: blocks are recycled, so that behind what a program
 * wrote there may be what it wrote before.
 */
#include <string.h>

#include "heap/kinds.h"
#include "util/text.h"

#define TEXT_MIN 4		/* characters; less may be a number */

static bool is_zero(const unsigned char *p, size_t n)
{
	return !n || (!p[0] && !memcmp(p, p + 1, n - 1));
}

/* How many bytes from the start are text: ASCII, or more of UTF-8. The end may cut a character. */
static size_t text_run(const unsigned char *p, size_t n, size_t *ret_chars)
{
	size_t at = 0, len;

	for (*ret_chars = 0; at < n; at += len, (*ret_chars)++) {
		unsigned int cols;
		uint32_t c;

		len = 1;
		if (p[at] < 0x80) {
			if ((p[at] < ' ' || p[at] == 0x7f) && p[at] != '\n' && p[at] != '\r' && p[at] != '\t')
				break;
			continue;
		}
		len = text_next((const char *)p + at, n - at, &c, &cols);
		if (len < 2)
			break;
	}
	return at;
}

static size_t count_set(const unsigned char *p, size_t n)
{
	size_t n_set = 0;

	for (size_t i = 0; i < n; i++)
		n_set += p[i] != 0;
	return n_set;
}

/*
 * Are n_wanted bytes of it text, in pieces that are long enough each? Strings one after the other, and those behind the
 * header of a string, as redis and many others have them.
 */
static bool has_text(const unsigned char *p, size_t n, size_t n_wanted)
{
	size_t in_text = 0, run, chars;

	for (size_t at = 0; at < n; at += run + 1) {
		run = text_run(p + at, n - at, &chars);
		if (chars >= TEXT_MIN)
			in_text += run;
	}
	return in_text && in_text >= n_wanted;
}

enum content content__of(const void *bytes, size_t n, bool (*is_pointer)(uint64_t word, void *arg), void *arg)
{
	unsigned char rest[CONTENT_HEAD_BYTES];	/* without pointers: their bytes may be letters, too */
	size_t n_words = 0, n_pointers = 0;
	uint64_t word;

	n = MIN(n, sizeof(rest));
	if (is_zero(bytes, n))
		return CONTENT_ZEROS;
	memcpy(rest, bytes, n);
	for (size_t at = 0; at + sizeof(word) <= n; at += sizeof(word)) {
		memcpy(&word, rest + at, sizeof(word));
		n_words += word != 0;
		if (!word || !is_pointer(word, arg))
			continue;
		n_pointers++;
		memset(rest + at, 0, sizeof(word));
	}
	if (has_text(rest, n, (count_set(bytes, n) + 1) / 2))
		return CONTENT_TEXT;
	/* with lengths, flags and counts beside them */
	return n_pointers && 4 * n_pointers >= n_words ? CONTENT_POINTERS : CONTENT_OTHER;
}
