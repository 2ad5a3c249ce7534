// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What is taken, and as what; what is refused: test_opts_refused.c. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "model/snapshot.h"
#include "opts_line.h"
#include "util/log.h"
#include "util/util.h"

Test(opts, defaults)
{
	struct opts o;

	parse(&o, "-p 1");
	cr_expect_eq(o.command, CMD_TRACE);
	cr_expect_eq(o.pids.n, 1);
	cr_expect_eq(o.pids.v[0], 1);
	cr_expect_null(o.cmd);
	cr_expect_eq(o.recording.min_size, 0);
	cr_expect_eq(o.recording.max_size, UINT64_MAX);
	cr_expect_eq(o.recording.depth, 127);
	cr_expect_eq(o.recording.max_live, 0);
	cr_expect_eq(o.recording.max_stacks, 0);
	cr_expect_str_eq(o.format, "text");
	cr_expect_str_eq(o.metric, "live-bytes");
	cr_expect_null(o.sort);
	cr_expect_eq(o.top, 0);
	cr_expect_eq(o.views, 0);
	cr_expect_null(o.by);
	cr_expect_eq(o.verbosity, LOG_NORMAL);
	cr_expect_eq(o.outputs.n, 0);
	cr_expect_not(o.batch || o.json || o.as_root || o.recording.precise_times || o.no_inlines || o.no_source || o.debuginfod);
	opts__done(&o);
}

Test(opts, all_ways_to_write_a_value)
{
	static const char *const lines[] = { "-p7", "-p 7", "--pid 7", "--pid=7", "-vp7", "-vp 7", "-p 7,7 -p 7" };

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct opts o;

		parse(&o, lines[i]);
		cr_expect_eq(o.pids.n, 1, "%s", lines[i]);
		cr_expect_eq(o.pids.v[0], 7, "%s", lines[i]);
		opts__done(&o);
	}
}

Test(opts, everything_at_once)
{
	struct opts o;

	parse(&o, "-p 3,1 5 --pid 2,3 3 -O /a.so --object=b.so --prefix je_ --sym malloc=m --sym free=f "
		  "--mode full --size requested --unwind fp --min-size 1K --max-size=2M --depth 5 --max-live 3 "
		  "--max-stacks 4 --precise-times -d 0.5 -o x.json -o y.folded -o z.txt --batch -q --view allocs "
		  "--metric temp-calls --sort oldest -T 20 --older 5m --leak-after 2m --no-inlines --no-source --debuginfod");
	cr_expect_eq(o.pids.n, 3);
	cr_expect(o.pids.v[0] == 3 && o.pids.v[1] == 1 && o.pids.v[2] == 2);
	cr_expect_eq(o.interval_ns, 5000000000);
	cr_expect_eq(o.count, 3);
	cr_expect_eq(o.objects.n, 2);
	cr_expect_str_eq(o.objects.v[1], "b.so");
	cr_expect_str_eq(o.prefix, "je_");
	cr_expect_eq(o.syms.n, 2);
	cr_expect_str_eq(o.syms.v[0], "malloc=m");
	cr_expect_eq(o.recording.min_size, 1024);
	cr_expect_eq(o.recording.max_size, 2 << 20);
	cr_expect_eq(o.recording.depth, 5);
	cr_expect_eq(o.recording.max_live, 3);
	cr_expect_eq(o.recording.max_stacks, 4);
	cr_expect(o.recording.precise_times && o.batch && o.no_inlines && o.no_source && o.debuginfod);
	cr_expect_eq(o.duration_ns, 500000000);
	cr_expect_eq(o.outputs.n, 3);
	cr_expect_str_eq(opts__output_format(&o, o.outputs.v[0]), "json");
	cr_expect_str_eq(opts__output_format(&o, o.outputs.v[1]), "folded");
	cr_expect_str_eq(opts__output_format(&o, o.outputs.v[2]), "text");
	cr_expect_eq(o.verbosity, LOG_QUIET);
	cr_expect_eq(o.views, VIEW_ALLOCS);
	cr_expect_str_eq(o.metric, "temp-calls");
	cr_expect_str_eq(o.sort, "oldest");
	cr_expect_eq(o.top, 20);
	cr_expect_eq(o.recording.older_ns, 300000000000);
	cr_expect_eq(o.leak_after_ns, 120000000000);
	opts__done(&o);
}

Test(opts, command_behind_two_dashes)
{
	struct opts o;

	parse(&o, "-v --as-root 5 -- ./prog -p 1 --json -- x");
	cr_expect_str_eq(o.cmd[0], "./prog");
	cr_expect_str_eq(o.cmd[4], "--");
	cr_expect_str_eq(o.cmd[5], "x");
	cr_expect_null(o.cmd[6]);
	cr_expect_eq(o.pids.n, 0);
	cr_expect_not(o.json);
	cr_expect(o.as_root);
	cr_expect_eq(o.interval_ns, 5000000000);
	opts__done(&o);
}

Test(opts, json_is_three_options)
{
	static const char *const lines[] = { "-p1 --json", "-p1 --format json -o - --batch", "-p1 --json -o -",
					     "-p1 -o - --json --format json" };

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct opts o;

		parse(&o, lines[i]);
		cr_expect_eq(o.outputs.n, 1, "%s", lines[i]);
		cr_expect_str_eq(o.outputs.v[0], "-");
		cr_expect_str_eq(opts__output_format(&o, "-"), "json", "%s", lines[i]);
		cr_expect(o.batch, "%s", lines[i]);
		opts__done(&o);
	}
}

Test(opts, views_add_up)
{
	struct opts o;

	parse(&o, "-p1 --sort growth");
	cr_expect_str_eq(o.sort, "growth");
	parse(&o, "-p1 --view files,modules");
	cr_expect_eq(o.views, VIEW_FILES | VIEW_MODULES);
	parse(&o, "--cmd-output x -- true");
	cr_expect(o.cmd && !strcmp(o.cmd_output, "x"));
	parse(&o, "-p1 --view live");
	cr_expect_eq(o.views, VIEW_LIVE);
	/* its name of before */
	parse(&o, "-p1 --view leaks");
	cr_expect_eq(o.views, VIEW_LIVE);
	opts__done(&o);
	parse(&o, "-p1 --view allocs,leaks");
	cr_expect_eq(o.views, VIEW_LIVE | VIEW_ALLOCS);
	opts__done(&o);
	parse(&o, "-p1 --view allocs --view leaks");
	cr_expect_eq(o.views, VIEW_LIVE | VIEW_ALLOCS);
	opts__done(&o);
	parse(&o, "-p1 --view peak,temporary --view sizes,lifetimes");
	cr_expect_eq(o.views, VIEW_PEAK | VIEW_TEMPORARY | VIEW_SIZES | VIEW_LIFETIMES);
	opts__done(&o);
	parse(&o, "-p1 --view processes,threads --by cgroup --mode count");
	cr_expect_eq(o.views, VIEW_PROCESSES | VIEW_THREADS);
	cr_expect_str_eq(o.by, "cgroup");
	opts__done(&o);
}

Test(opts, two_moments)
{
	struct opts o;

	parse(&o, "report x.json --between f(int,char)#1,mark:12");
	cr_expect_eq(o.between_to_ns, 0);
	cr_expect_str_eq(o.between + o.between_comma + 1, "mark:12");
	opts__done(&o);
	parse(&o, "report x.json --between 0,1500ms");
	cr_expect_eq(o.between_from_ns, 0);
	cr_expect_eq(o.between_to_ns, 1500000000);
	opts__done(&o);
}

Test(opts, recording)
{
	static const char *const any_targets[] = { "-a --mode growth", "--comm x --mode growth", "--cgroup /x --mode growth", "-f -p1 --mode growth" };
	struct opts o;

	parse(&o, "-p1 --size usable --sample 512K");
	cr_expect_eq(o.recording.size, SIZE_USABLE);
	cr_expect_eq(o.recording.sample_bytes, 512 * 1024);
	cr_expect_str_eq(o.metric, "live-bytes");
	opts__done(&o);
	parse(&o, "-p1 --mode count --sample 1024G --size requested");
	cr_expect_eq(o.recording.mode, MT_MODE_COUNT);
	cr_expect_eq(o.recording.sample_bytes, 1ull << 40);
	cr_expect_str_eq(o.metric, "alloc-bytes");
	opts__done(&o);
	parse(&o, "-p1 --mode count --metric alloc-calls --sort alloc-bytes --view allocs");
	cr_expect_str_eq(o.metric, "alloc-calls");
	opts__done(&o);
	parse(&o, "-p1");
	cr_expect(!o.recording.within && !o.recording.by_thread && !o.recording.mmap && !o.recording.free_stacks);
	cr_expect(o.recording.unwind == UNWIND_AUTO && o.recording.points == POINTS_AUTO && o.recording.python == PYTHON_AUTO);
	opts__done(&o);
	parse(&o, "-p1 --within f --within lib.so:g --tag thread --unwind table --points plain --python only --mmap");
	cr_expect_str_eq(o.recording.within, "f, lib.so:g");
	cr_expect(o.recording.by_thread, "--tag thread brings it along");
	cr_expect_eq(o.recording.unwind, UNWIND_TABLE);
	cr_expect_eq(o.recording.points, POINTS_PLAIN);
	cr_expect_eq(o.recording.python, PYTHON_ONLY);
	cr_expect(o.recording.mmap);
	opts__done(&o);
	for (size_t i = 0; i < ARRAY_SIZE(any_targets); i++) {
		parse(&o, any_targets[i]);
		cr_expect_eq(o.recording.mode, MT_MODE_GROWTH);
		opts__done(&o);
	}
}

Test(opts, seed)
{
	static const char *const bad[] = { "", "0", "x", "18446744073709551616" };
	uint64_t first;
	struct opts o;

	unsetenv("MALLOCTRACE_SEED");
	parse(&o, "-p1");
	first = o.recording.seed;
	cr_expect_neq(first, 0);
	opts__done(&o);
	parse(&o, "-p1");
	cr_expect_neq(o.recording.seed, first);
	opts__done(&o);
	setenv("MALLOCTRACE_SEED", "12345", 1);
	parse(&o, "-p1");
	cr_expect_eq(o.recording.seed, 12345);
	opts__done(&o);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_err_ struct err e = {};

		setenv("MALLOCTRACE_SEED", bad[i], 1);
		cr_expect_eq(opts__parse(&o, split("-p1"), words, &e), -EINVAL);
		cr_expect(strstr(err_msg(&e), "MALLOCTRACE_SEED="), "%s", err_msg(&e));
	}
}

Test(opts, commands)
{
	struct opts o;

	parse(&o, "doctor");
	cr_expect_eq(o.command, CMD_DOCTOR);
	parse(&o, "doctor -p 5 -v --max-live 1M");
	cr_expect_eq(o.command, CMD_DOCTOR);
	cr_expect_eq(o.pids.n, 1);
	cr_expect_eq(o.recording.max_live, 1 << 20);
	opts__done(&o);
	parse(&o, "--help --bogus");
	cr_expect_eq(o.command, CMD_HELP);
	parse(&o, "-vh");
	cr_expect_eq(o.command, CMD_HELP);
	parse(&o, "-V");
	cr_expect_eq(o.command, CMD_VERSION);
}

Test(opts, groups)
{
	struct opts o;

	parse(&o, "-a");
	cr_expect(o.all && !o.follow && !o.cmd);
	opts__done(&o);
	parse(&o, "--comm nginx* --comm redis --cgroup /system.slice -f 5 2");
	cr_assert_eq(o.comms.n, 2);
	cr_expect_str_eq(o.comms.v[0], "nginx*");
	cr_expect_str_eq(o.comms.v[1], "redis");
	cr_assert_eq(o.cgroups.n, 1);
	cr_expect_str_eq(o.cgroups.v[0], "/system.slice");
	cr_expect(o.follow && !o.all && o.count == 2);
	opts__done(&o);
	parse(&o, "-f -- ls");
	cr_expect(o.follow && o.cmd);
	opts__done(&o);
	parse(&o, "-fp 1 --sample 64K");
	cr_expect(o.follow && o.pids.n == 1);
	opts__done(&o);
}

Test(opts, report_takes_files_and_how_to_look_at_them)
{
	struct opts o;

	parse(&o, "report a.json --view leaks b.json -T 3 --filter x|y --hide z --threshold 2.5 -o c.dot -");
	cr_expect_eq(o.command, CMD_REPORT);
	cr_expect_eq(o.files.n, 3);
	cr_expect_str_eq(o.files.v[1], "b.json");
	cr_expect_str_eq(o.files.v[2], "-");
	cr_expect_str_eq(o.filter, "x|y");
	cr_expect_str_eq(o.hide, "z");
	cr_expect_float_eq(o.threshold_pct, 2.5, 0);
	cr_expect_null(o.metric);
	opts__done(&o);
	parse(&o, "-p 1");
	cr_expect_float_eq(o.threshold_pct, 0.5, 0);
	opts__done(&o);
}

Test(opts, when)
{
	struct opts o;

	parse(&o, "-p 1");
	cr_expect_eq(o.whens.n, 0);
	cr_expect_eq(o.pause_ns, 10000000000);
	opts__done(&o);
	parse(&o, "-p 1 --when rss>2G --when oom --pause 0");
	cr_expect_eq(o.whens.n, 2);
	cr_expect_str_eq(o.whens.v[0], "rss>2G");
	cr_expect_str_eq(o.whens.v[1], "oom");
	cr_expect_eq(o.pause_ns, 0);
	opts__done(&o);
	/* what a mode, or a budget, does not see is not all there is */
	parse(&o, "-p 1 --mode growth --when rss>2G --when killed");
	opts__done(&o);
	parse(&o, "-p 1 --mode count --when allocs>1K/s");
	opts__done(&o);
	parse(&o, "-p 1 --overhead 5 --when rss-growth>1G/h");
	opts__done(&o);
}

/* Every name of a later version, as an option, a value, a suffix or a command. */
Test(opts, heap)
{
	struct opts o;

	parse(&o, "heap 1234");
	cr_expect_eq(o.command, CMD_HEAP);
	cr_assert_eq(o.pids.n, 1);
	cr_expect_eq(o.pids.v[0], 1234);
	cr_expect_not(o.reachable || o.roots || o.pause);
	cr_expect_eq(opts__n_blocks(&o), 0);
	opts__done(&o);
	parse(&o, "heap nginx 12 -p 13,14 --roots --pause --view blocks,heap -T 7 --json -o x.html");
	cr_assert_eq(o.names.n, 1);
	cr_expect_str_eq(o.names.v[0], "nginx");
	cr_expect_eq(o.pids.n, 3);
	cr_expect(o.reachable && o.roots && o.pause);
	cr_expect_eq(o.views, VIEW_HEAP | VIEW_BLOCKS);
	cr_expect_eq(opts__n_blocks(&o), 7);
	cr_expect_not(opts__oldest_blocks(&o));
	cr_expect_eq(o.outputs.n, 2);
	opts__done(&o);
	/* the same word is another option in a trace */
	parse(&o, "-p 1 --reachable --when oom --pause 3s");
	cr_expect(o.reachable && !o.roots && !o.pause);
	cr_expect_eq(o.pause_ns, 3000000000);
	opts__done(&o);
	parse(&o, "-p 1 --view blocks --filter f");
	cr_expect_eq(opts__n_blocks(&o), OPTS_MAX_BLOCKS);
	cr_expect(opts__oldest_blocks(&o));
	opts__done(&o);
	parse(&o, "-p 1 --view blocks --sort size");
	cr_expect_eq(opts__n_blocks(&o), 10);
	cr_expect_not(opts__oldest_blocks(&o));
	opts__done(&o);
}

Test(opts, metrics_are_the_model_s)
{
	for (size_t i = 0; i < n_metrics; i++) {
		char line[96];
		struct opts o;

		snprintf(line, sizeof(line), "-p1 --reachable --metric %s --sort %s", metrics[i].name, metrics[i].name);
		parse(&o, line);
		cr_expect_str_eq(o.metric, metrics[i].name);
		opts__done(&o);
	}
}
