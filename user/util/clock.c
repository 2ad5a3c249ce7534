// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns a stint for each thread, and the sum of what those took that were cut short. */
#include "util/clock.h"

#include "util/signals.h"

#define LONG_NS (5 * SECOND_NS)		/* of CPU time: a gigabyte of symbols takes less */
#define SHORT_NS (SECOND_NS / 4)
#define WASTED_MAX_NS (10 * SECOND_NS)	/* of all that were cut short: from then on a stint is a short one */
#define GRACE_NS (SECOND_NS / 4)	/* what is done by then is whole, whoever asks for the end meanwhile */
#define ASKED_EACH 64u			/* a look at the clock is a system call */

static __thread struct {
	bool is_on, is_over;
	uint64_t most_ns;	/* 0: as long as all stints have */
	unsigned int n_asked;
	uint64_t began_ns, cpu_began_ns;
} now;

static uint64_t wasted_ns;

struct stint stint__begin(void)
{
	return stint__begin_for(0);
}

struct stint stint__begin_for(uint64_t most_ns)
{
	struct stint s = { .is_outer = !now.is_on };

	if (s.is_outer) {
		now.is_on = true;
		now.is_over = false;
		now.most_ns = most_ns;
		now.n_asked = 0;
		now.began_ns = now_ns();
		now.cpu_began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	}
	return s;
}

void stint__end(struct stint *s)
{
	if (!s->is_outer)
		return;
	if (now.is_over && !now.most_ns)
		__atomic_fetch_add(&wasted_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID) - now.cpu_began_ns, __ATOMIC_RELAXED);
	now.is_on = false;
}

bool stint__is_over(void)
{
	uint64_t most_ns, cpu_ns;

	if (!now.is_on || now.is_over || ++now.n_asked % ASKED_EACH)
		return now.is_on && now.is_over;
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - now.cpu_began_ns;
	most_ns = now.most_ns ? now.most_ns : __atomic_load_n(&wasted_ns, __ATOMIC_RELAXED) < WASTED_MAX_NS ? LONG_NS : SHORT_NS;
	now.is_over = cpu_ns > most_ns || (now_ns() - now.began_ns > GRACE_NS && signal_asks_for_end());
	return now.is_over;
}
