// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Which frame of a stack says who wanted the memory. */
#include <criterion/criterion.h>
#include <string.h>

#include "present/telling.h"
#include "sample_snapshot.h"
#include "util/util.h"

static bool telling(const char *module, const char *function, const char *file)
{
	struct place p = { .offset = 0x1000 };
	struct line l = { .function = function, .file = file };
	struct frame f = { .place = &p, .module = module, .line = function || file ? &l : NULL };

	return frame__is_telling(&f);
}

Test(telling, passes_over_libraries_and_wrappers)
{
	static const struct {
		const char *module, *function, *file;
		bool want;
	} v[] = {
		{ "/usr/bin/redis-server", "trackingRememberKey", "src/tracking.c", true },
		{ "/usr/bin/redis-server", NULL, NULL, true },
		{ "/usr/bin/redis-server", "zmalloc", NULL, false },
		{ "/usr/bin/redis-server", "ztrymalloc_usable", NULL, false },
		{ "/usr/lib/x86_64-linux-gnu/libc.so.6", "__libc_start_call_main", NULL, false },
		{ "/usr/lib/x86_64-linux-gnu/libc.so.6", NULL, NULL, false },
		{ "/lib/ld-musl-aarch64.so.1", "realloc", NULL, false },
		{ "/usr/lib/libstdc++.so.6.0.30", "operator new(unsigned long)", NULL, false },
		{ "/usr/lib/libglib-2.0.so.0", "g_strsplit", NULL, false },
		{ "/usr/lib/libgtk-3.so.0", "gtk_widget_new", NULL, true },
		{ "/usr/bin/app", "g_malloc0", NULL, false },
		{ "/usr/bin/app", "xmalloc", NULL, false },
		{ "/usr/bin/app", "my_xstrdup", NULL, false },
		{ "/usr/bin/app", "strdup_all_rows", NULL, true },
		{ "/usr/bin/app", "operator new[](unsigned long, std::nothrow_t const&)", NULL, false },
		{ "/usr/bin/app", "std::vector<Row, std::allocator<Row> >::reserve(unsigned long)", NULL, false },
		{ "/usr/bin/app", "void std::vector<Row>::_M_realloc_insert<Row const&>(Row const&)", NULL, false },
		{ "/usr/bin/app", "void load<std::string>(std::string const&)", NULL, true },
		{ "/usr/bin/app", "std::string render(int)", NULL, true },
		/* where inlined calls are not known, the line is that of a header */
		{ "/usr/bin/app", "helper", "/usr/include/c++/12/bits/basic_string.h", true },
		{ "/usr/bin/app", "stdx::thing()", NULL, true },
		{ "/usr/bin/app", "(anonymous namespace)::load(int)", NULL, true },
		{ "/usr/bin/app", "app::Cache<std::string>::put(int, std::string)", NULL, true },
		{ "/usr/bin/app", "void app::take(std::vector<int>)", NULL, true },
		{ "/usr/bin/app", "std::vector<int> make<int>()", NULL, true },
		{ "/usr/bin/app", "core::Engine::load(int)", NULL, true },
		{ "/usr/bin/app", "fmt::v9::vformat(fmt::v9::string_view)", NULL, false },
		{ "/usr/bin/app", "std::__1::vector<Row>::reserve(unsigned long)", NULL, false },
		{ "/usr/bin/app", "app::load::h0123456789abcdef", NULL, true },
		{ "/usr/bin/app", "<alloc::vec::Vec<u8> as app::Encode>::encode", NULL, true },
		{ "/usr/bin/app", "<alloc::vec::Vec<T> as core::clone::Clone>::clone", NULL, false },
		{ "[vdso]", "__kernel_rt_sigreturn", NULL, false },
		{ NULL, NULL, NULL, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		cr_expect_eq(telling(v[i].module, v[i].function, v[i].file), v[i].want, "%s in %s", v[i].function, v[i].module);
}

Test(telling, takes_the_first_of_the_program_else_the_first)
{
	static const struct {
		size_t site;
		const char *function;
		size_t at;
	} want[] = {
		{ 0, "raxGenericInsert", 0 },
		{ 1, "_dictExpand", 0 },
		{ 6, "engine::Table::add(engine::Row const&, std::chrono::duration<long, std::ratio<1l, 1000l> >)", 2 },
	};
	struct snapshot *s = sample__new(0);

	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		const struct snap_site *site = &s->sites[want[i].site];

		cr_assert_str_eq(tellings__of(NULL, s, site).line->function, want[i].function);
		cr_assert_eq(tellings__number(NULL, s, site), want[i].at);
	}
	/* no stack at all */
	cr_assert_null(tellings__of(NULL, s, &s->sites[4]).place);
	snapshot__free(s);
}

Test(telling, without_names_goes_by_modules)
{
	struct snapshot *s = sample__new(SAMPLE_UNNAMED);
	struct frame f = tellings__of(NULL, s, &s->sites[0]);

	cr_assert_str_eq(f.module, "/usr/bin/redis-server");
	cr_assert_null(f.line);
	cr_assert_eq(tellings__number(NULL, s, &s->sites[0]), 0);
	snapshot__free(s);
}

/* From one snapshot of the same stacks to the next, names stay; unless code is called otherwise, as a JIT's may be. */
Test(telling, names_stay_until_they_change)
{
	static const struct line before = { .function = "before" }, after = { .function = "after" };
	struct snapshot *v[] = { sample__new(SAMPLE_SINGLE), sample__new(SAMPLE_SINGLE), sample__new(SAMPLE_SINGLE) };
	const char *const want[] = { "before", "before", "after" };
	struct tellings t = {};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct place *p = &v[i]->places[v[i]->sites[0].stack[0]];
		_cleanup_free_ char *name = NULL;

		/* looked up; not yet; looked up again */
		p->resolved = i != 1;
		p->n_lines = 1;
		p->lines = i ? &after : &before;
		tellings__begin(&t, v[i]);
		name = tellings__name(&t, v[i], &v[i]->sites[0]);
		cr_expect_str_eq(name, want[i], "snapshot %zu: %s", i, name);
	}
	tellings__done(&t);
	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		snapshot__free(v[i]);
}

/*
 * A compiler has hundreds of thousands of stacks through a few thousand places. That a frame is not judged again shows in a name
 * that is written over in its place, which nobody else does.
 */
Test(telling, judges_a_frame_once)
{
	char first[] = "read_input";
	const struct line lines[] = { { .function = first }, { .function = "main" } };
	struct snap_module module = { .path = "/usr/bin/app" };
	struct place places[] = { { .offset = 1, .resolved = true, .n_lines = 1, .lines = &lines[0] }, { .offset = 2, .resolved = true, .n_lines = 1, .lines = &lines[1] } };
	const uint32_t stack[] = { 0, 1 };
	struct snap_site sites[] = { { .function = "malloc", .stack = stack, .n_stack = 2 }, { .function = "calloc", .stack = stack, .n_stack = 2 } };
	struct snapshot s = { .modules = &module, .n_modules = 1, .places = places, .n_places = 2, .sites = sites, .n_sites = 2 };
	struct tellings t = {};

	tellings__begin(&t, &s);
	cr_expect_eq(tellings__number(&t, &s, &sites[0]), 0);
	strcpy(first, "xmalloc");
	cr_expect_eq(tellings__number(&t, &s, &sites[1]), 0);
	/* by what it is called now */
	cr_expect_eq(tellings__number(NULL, &s, &sites[1]), 1);
	tellings__done(&t);
}
