// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Two profiles compared: rows by stack, whatever the addresses are. */
#include <criterion/criterion.h>
#include <string.h>

#include "export/diff_files.h"
#include "golden.h"
#include "sample_snapshot.h"

/* The same program after it was built anew: other addresses, another pid; one stack grew, one shrank, one is new, one gone. */
static struct snapshot *later(void)
{
	struct snapshot *s = sample__new(0);

	for (size_t i = 0; i < s->n_places; i++)
		if (s->places[i].n_lines)
			s->places[i].offset += 0x1000;
	s->sites[0].c.live_bytes += 1 << 20;	/* trackingRememberKey */
	s->sites[1].c.live_bytes -= 1 << 20;	/* _dictExpand */
	s->sites[4].c.live_bytes = 0;		/* without a stack */
	s->sites[5].c.live_bytes = 77;		/* main, by posix_memalign */
	return s;
}

static void check(const char *format, const char *golden)
{
	struct snapshot *a = sample__new(0), *b = later();
	struct diff_opts o = { .before = "before.json", .after = "after.json", .top = 10, .width = 80 };
	char *text = NULL;
	struct diff d;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	cr_assert_eq(diff__init(&d, a, b, metric__find("live-bytes")), 0);
	cr_assert_eq(diff_format__find(format)->write(out, &d, &o), 0);
	fclose(out);
	golden__check(golden, text, len);
	free(text);
	diff__done(&d);
	snapshot__free(a);
	snapshot__free(b);
}

Test(diff, looks)
{
	check("text", "diff.txt");
	check("folded", "diff.folded");
	check("json", "diff.json");
	cr_assert_null(diff_format__find("pprof"));
}

Test(diff, every_kind_of_change)
{
	struct snapshot *a = sample__new(0), *b = later();
	uint64_t before = 0, after = 0;
	struct diff d;

	cr_assert_eq(diff__init(&d, a, b, metric__find("live-bytes")), 0);
	cr_assert_eq(d.n_of_kind[DIFF_GREW], 1);
	cr_assert_eq(d.n_of_kind[DIFF_SHRANK], 1);
	cr_assert_eq(d.n_of_kind[DIFF_NEW], 1);
	cr_assert_eq(d.n_of_kind[DIFF_GONE], 1);
	for (size_t i = 0; i < d.rows.n; i++) {
		before += d.rows.v[i].before;
		after += d.rows.v[i].after;
	}
	cr_assert(before == d.before && after == d.after);
	cr_assert_eq(d.before, a->totals.live_bytes);
	cr_assert_eq(d.after, a->totals.live_bytes - 1200 + 77);
	diff__done(&d);
	snapshot__free(a);
	snapshot__free(b);
}

Test(diff, with_itself_nothing_changed)
{
	struct snapshot *a = sample__new(0);

	for (size_t m = 0; m < n_metrics; m++) {
		struct diff d;

		cr_assert_eq(diff__init(&d, a, a, &metrics[m]), 0);
		cr_assert_eq(d.n_of_kind[DIFF_SAME], d.rows.n);
		diff__done(&d);
	}
	snapshot__free(a);
}
