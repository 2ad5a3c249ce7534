// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What is recorded: names of choices, and the rules that follow from it. */
#include <criterion/criterion.h>

#include "recording/recording.h"
#include "util/util.h"

Test(recording, names_of_choices)
{
	static const struct {
		const struct choices *of;
		const char *name;
		unsigned int value;
	} t[] = {
		{ &mode_choices, "full", MT_MODE_FULL },	 { &mode_choices, "count", MT_MODE_COUNT },
		{ &mode_choices, "growth", MT_MODE_GROWTH },	 { &mode_choices, "leak", MT_MODE_LEAK },
		{ &size_choices, "requested", SIZE_REQUESTED },
		{ &size_choices, "usable", SIZE_USABLE },	 { &unwind_choices, "auto", UNWIND_AUTO },
		{ &unwind_choices, "fp", UNWIND_FP },		 { &unwind_choices, "table", UNWIND_TABLE },
		{ &points_choices, "auto", POINTS_AUTO },	 { &points_choices, "plain", POINTS_PLAIN },
	};
	_cleanup_free_ char *words = choices__words(&mode_choices);
	unsigned int value;

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		value = 99;
		cr_expect(choices__find(t[i].of, t[i].name, &value), "%s", t[i].name);
		cr_expect_eq(value, t[i].value, "%s", t[i].name);
		cr_expect_str_eq(choices__name(t[i].of, t[i].value), t[i].name);
	}
	value = 99;
	cr_expect_not(choices__find(&mode_choices, "ful", &value));
	cr_expect_not(choices__find(&mode_choices, "", &value));
	cr_expect_eq(value, 99, "untouched");
	cr_expect_str_eq(choices__name(&mode_choices, 4), "?");
	/* a second name is taken, and offered, and not written */
	cr_expect(choices__find(&mode_choices, "census", &value) && value == MT_MODE_LEAK);
	cr_expect_str_eq(words, "full count growth leak census");
}

Test(recording, rules)
{
	struct recording r = RECORDING_PRESET;

	cr_expect_not(recording__is_growth(&r) || recording__is_estimated(&r) || recording__is_partial(&r) || recording__is_precise(&r));
	r.min_size = 1;
	cr_expect(recording__has_size_range(&r) && recording__is_partial(&r));
	r = (struct recording)RECORDING_PRESET;
	r.max_size = 4096;
	cr_expect(recording__has_size_range(&r) && recording__is_partial(&r));
	r = (struct recording)RECORDING_PRESET;
	r.within = "f";
	cr_expect(!recording__has_size_range(&r) && recording__is_partial(&r));
	r = (struct recording)RECORDING_PRESET;
	r.sample_bytes = 1;
	cr_expect(recording__is_estimated(&r) && !recording__is_precise(&r));
	r = (struct recording)RECORDING_PRESET;
	r.overhead_pct = 0.1;
	cr_expect(recording__is_estimated(&r) && recording__is_precise(&r), "a budget needs exact lifetimes");
}
