/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Text as a terminal shows it: how many columns UTF-8 takes. Chinese, Japanese
 * and Korean characters and emoji take two, combining marks none. The locale has
 * no say: what is printed is UTF-8 always.
 */
#ifndef MT_TEXT_H
#define MT_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* The bytes of the character at s, at least 1 and at most n; which one ('?' for what is no UTF-8), and its columns. */
size_t text_next(const char *s, size_t n, uint32_t *ret_char, unsigned int *ret_cols);
size_t text_width(const char *s);
size_t text_width_n(const char *s, size_t n_bytes);
/* The bytes from the start of s that fit into cols columns, with the marks that belong to the last character. */
size_t text_head(const char *s, size_t cols);
/* The byte from which on the rest of s fits into cols columns. */
size_t text_tail(const char *s, size_t cols);
/* s in at most width columns; "…" takes the place of its middle. The caller's. */
char *text_shorten(const char *s, size_t width);

/* The character at s, of zero-terminated text: how many bytes it has; 0: what stands there is none, such as an overlong form or the end. */
size_t utf8__decode(const void *s, uint32_t *ret);
/* The bytes that a character takes, which is one. */
size_t utf8__encode(char to[static 4], uint32_t c);

/* How near a word is to the one that may have been meant. */

/* How many letters a slip of a finger or two inserted, removed, replaced or swapped; SIZE_MAX: it was none. */
size_t typo_distance(const char *typed, const char *meant);

/* Names that differ in numbers alone: worker-1 and worker-2 are worker-*. */

/* The same for all names that differ in numbers alone, and for no others; the caller's. */
char *numbered__pattern(const char *name);

/*
 * sum begins as a copy of a name; names of the same pattern are added to it, and
 * then it is ended: numbers that differed are "*", so that three times "python3"
 * is "python3".
 */
void numbered__add(char *sum, const char *name);
void numbered__end(char *sum);

#endif
