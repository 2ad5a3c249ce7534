/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Work that comes back by itself and takes as long as there is data rests afterwards for as long as it took: it has half of the
 * time and no more, so whatever else there is to do is done, too. Pure arithmetic on times that the caller reads.
 */
#ifndef MT_RESPITE_H
#define MT_RESPITE_H

#include <stdbool.h>
#include <stdint.h>

struct respite {		/* all zero: nothing was done yet */
	uint64_t until_ns;
	bool put_off;		/* work came meanwhile that is not to wait for its next turn */
};

static inline bool respite__is_over(const struct respite *r, uint64_t now_ns)
{
	return now_ns >= r->until_ns;
}

/* May it be done now? If not it is put off, and whoever comes first after the respite does it. */
static inline bool respite__allows(struct respite *r, uint64_t now_ns)
{
	r->put_off = !respite__is_over(r, now_ns);
	return !r->put_off;
}

/* Work has gone on from began_ns until now; the next does not begin within least_ns of that beginning either. */
static inline void respite__begin(struct respite *r, uint64_t began_ns, uint64_t now_ns, uint64_t least_ns)
{
	uint64_t least = began_ns + least_ns, rested = now_ns + (now_ns - began_ns);

	r->until_ns = least > rested ? least : rested;
}

#endif
