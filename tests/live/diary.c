// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the comparison of a snapshot of --mode leak with what the program wrote down meanwhile. */
#include "diary.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../fixtures/diary.h"

#define MS_NS 1000000ull
/* A snapshot tells when it began to the millisecond below, by a clock that may be set right meanwhile. */
#define CLOCK_SLACK_NS (2 * MS_NS)
#define CUT_NS (2000 * MS_NS)	/* longer than any cut takes */

const struct diary *diary__map(struct test *t, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *p = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(struct diary), PROT_READ, MAP_SHARED, fd, 0);

	must(t, p != MAP_FAILED, "%s cannot be mapped", path);
	close(fd);
	return p;
}

static uint64_t wall_start_ns(struct test *t, json_t *root)
{
	struct tm tm = {};
	unsigned int ms = 0;
	const char *rest = strptime(jstr(root, "wall_start"), "%Y-%m-%dT%H:%M:%S", &tm);

	must(t, rest && sscanf(rest, ".%3uZ", &ms) == 1, "wall_start: '%s'", jstr(root, "wall_start"));
	return (uint64_t)timegm(&tm) * 1000000000ull + ms * MS_NS;
}

/* At any time from a to b. */
static void read_between(struct test *t, const struct diary *d, uint64_t a, uint64_t b, struct bound_seen *to)
{
	uint64_t n = __atomic_load_n(&d->n, __ATOMIC_ACQUIRE), first = n > DIARY_LINES / 2 ? n - DIARY_LINES / 2 : 0;
	bool any = false;

	must(t, n && d->line[first % DIARY_LINES].t_ns <= a, "the diary begins too late: a snapshot took longer than it goes back");
	to->least = UINT64_MAX;
	for (uint64_t i = first; i + 1 < n; i++) {
		const struct diary_line *l = &d->line[i % DIARY_LINES], *next = &d->line[(i + 1) % DIARY_LINES];
		uint64_t most = next->allocs_begun - l->frees_done, least = l->allocs_done - next->frees_begun;

		if (next->t_ns < a || l->t_ns > b)
			continue;
		any = true;
		to->most = most > to->most ? most : to->most;
		to->least = (int64_t)least < 0 ? 0 : least < to->least ? least : to->least;
	}
	must(t, any, "nothing in the diary of that time");
}

/* The figures are of an instant between the end of the reading and that of the cut. */
struct bound_seen want_bound(struct test *t, json_t *root, json_t *process, const struct diary *d)
{
	uint64_t start_ns = wall_start_ns(t, root), from_ns = start_ns + ju64(t, root, "heap_read_at_ns");
	uint64_t to_ns = start_ns + ju64(t, root, "duration_ns") + MS_NS;
	struct bound_seen seen = { .live = site_sum(t, root, process, "diary_here", "live_blocks"),
				   .unsure = jget(root, "live_unsure_blocks") ? ju64(t, root, "live_unsure_blocks") : 0 };
	struct timespec ms = { .tv_nsec = MS_NS };

	/* an older one was not made for it */
	from_ns = from_ns + CUT_NS < to_ns ? to_ns - CUT_NS : from_ns;
	/* until what came after it is there, too */
	for (int i = 0; i < 2000 && d->line[(d->n - 1) % DIARY_LINES].t_ns <= to_ns + CLOCK_SLACK_NS; i++)
		nanosleep(&ms, NULL);
	read_between(t, d, from_ns - CLOCK_SLACK_NS, to_ns + CLOCK_SLACK_NS, &seen);
	want(t, seen.live >= seen.least, "live blocks, wanted at least the %" PRIu64 " that are in use, got %" PRIu64 ": a live block is called freed", seen.least, seen.live);
	want(t, seen.live <= seen.most + seen.unsure,
	     "live blocks, wanted at most %" PRIu64 " that are in use and %" PRIu64 " that are unsure, got %" PRIu64 ": %" PRIu64 " too many", seen.most, seen.unsure,
	     seen.live, seen.live - seen.most);
	return seen;
}
