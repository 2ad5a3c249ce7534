/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Shares and rates as a table shows them: never "0%" for something, never "100%" for less than all. */
#ifndef MT_FIGURES_H
#define MT_FIGURES_H

#include <stdint.h>

#include "model/snapshot.h"
#include "util/parse.h"

char *fmt_share(char buf[static FMT_MAX], uint64_t part, uint64_t whole);	/* "75.2%", "<0.1%": at most 5 */
char *fmt_percent(char buf[static FMT_MAX], uint64_t part, uint64_t whole);	/* "75%", ">99%": at most 4 */
char *fmt_error(char buf[static FMT_MAX], double error, uint64_t n);	/* relative to n: "12%", "<1%": at most 4 */
char *fmt_rate(char buf[static FMT_MAX], uint64_t n, uint64_t ns);		/* "70,000/s", "0.3/s": at most 8 */

#define FMT_OF_MAX (2 * FMT_MAX)
char *fmt_of(char buf[static FMT_OF_MAX], uint64_t n, uint64_t all);	/* "10 of 20,000" */

#define CELL_MAX 64
char *fmt_change(char buf[static CELL_MAX], double bytes);	/* "+182.0 KiB", "-3 B", "0 B": at most 10 */

/* The age of a site's oldest block: "14.0s", or "<14.0s" where all that is known is that none is older. */
char *fmt_oldest(char buf[static FMT_MAX], const struct snap_site *site);
/* The mean of so many lifetimes: "<4ms" where it is below what the clock of the trace can tell. */
char *fmt_lived(char buf[static FMT_MAX], const struct snapshot *s, uint64_t sum_ns, uint64_t n);

/* The same as arguments of a call: the text lasts as long as the block that it is written in. */
#define SHARE(part, whole) fmt_share((char[FMT_MAX]){}, part, whole)
#define PERCENT(part, whole) fmt_percent((char[FMT_MAX]){}, part, whole)
#define RATE(n, ns) fmt_rate((char[FMT_MAX]){}, n, ns)
#define OUT_OF(n, all) fmt_of((char[FMT_OF_MAX]){}, n, all)
#define CHANGE(bytes) fmt_change((char[CELL_MAX]){}, bytes)
#define OLDEST(site) fmt_oldest((char[FMT_MAX]){}, site)
#define LIVED(s, sum_ns, n) fmt_lived((char[FMT_MAX]){}, s, sum_ns, n)

static inline const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

#endif
