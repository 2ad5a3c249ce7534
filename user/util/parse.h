/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Numbers as users write them, and as users read them. */
#ifndef MT_PARSE_H
#define MT_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The digits at *p, up to end, which *p is moved behind; false: there are none, or too many. base: 10 or 16. */
bool scan_number(const char **p, const char *end, unsigned int base, uint64_t *ret);

/* All return 0 or -EINVAL (no number, something after it) or -ERANGE; *ret untouched then. */
int parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret);
int parse_size(const char *s, uint64_t *ret);		/* 100, 4K, 2M, 1G (powers of 1024; KiB and KB too) */
int parse_age(const char *s, uint64_t *ret_ns);		/* 500ms, 10s, 5m, 2h; a unit is needed, except for 0 */
int parse_seconds(const char *s, uint64_t *ret_ns);	/* 5, 0.5: plain seconds */
int parse_duration(const char *s, uint64_t *ret_ns);	/* either of the two */

/*
 * Fixed-width forms for columns. Each writes into buf and returns it.
 *   bytes:    "31.0 MiB", "512 B"         at most 9 characters
 *   count:    "31,744", "5.47M"           at most 7 characters, exact below 100,000
 *   duration: "2m14s", "3d04h", "29.9s", "4ms"  at most 6 characters
 *   exact:    "1,234,567"
 */
#define FMT_MAX 32
char *fmt_bytes(char buf[static FMT_MAX], uint64_t bytes);
char *fmt_count(char buf[static FMT_MAX], uint64_t n);
char *fmt_duration(char buf[static FMT_MAX], uint64_t ns);
char *fmt_exact(char buf[static FMT_MAX], uint64_t n);
/* As arguments of a call: the text lives as long as the block that it is in. */
#define BYTES(n) fmt_bytes((char[FMT_MAX]){}, n)
#define COUNT(n) fmt_count((char[FMT_MAX]){}, n)
#define EXACT(n) fmt_exact((char[FMT_MAX]){}, n)
#define DURATION(ns) fmt_duration((char[FMT_MAX]){}, ns)

#endif
