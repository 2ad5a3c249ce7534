// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Command lines that are refused, and in which words. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "model/snapshot.h"
#include "opts_line.h"
#include "util/log.h"
#include "util/util.h"

#define SUFFIXES ".txt .json .folded .pb.gz .speedscope.json .dhat.json .massif .callgrind .dot .html"

Test(opts, refusals_say_what_and_why)
{
	static const struct {
		const char *line, *want;
	} t[] = {
		{ "-p 1 --older 5parsecs", "--older 5parsecs: want a number with ns, us, ms, s, m or h" },
		{ "report a.json --older 5s", "report: takes no --older" },
		{ "-p 1 --older=5parsecs", "--older 5parsecs: want a number with ns, us, ms, s, m or h" },
		{ "-p 0", "-p 0: want process ids, or names of processes, separated by commas" },
		{ "-p 1,", "-p 1,: want process ids, or names of processes, separated by commas" },
		{ "-p 4294967297", "-p 4294967297: want process ids, or names of processes, separated by commas" },
		{ "-p", "-p: wants a value: PID[,PID...]" },
		{ "-f", "-f: want targets whose children to follow: -p, --comm, --cgroup, --container, --pod or -- CMD" },
		{ "-f 0.5", "-f: want targets whose children to follow: -p, --comm, --cgroup, --container, --pod or -- CMD" },
		{ "-a -p 1", "-a and -p 1 cannot be combined: -a selects every process" },
		{ "--all -f", "--all and -f cannot be combined: -a selects every process, children too" },
		{ "-a --comm x", "-a and --comm x cannot be combined: -a selects every process" },
		{ "-a --cgroup /x", "-a and --cgroup /x cannot be combined: -a selects every process" },
		{ "-a --container x", "-a and --container x cannot be combined: -a selects every process" },
		{ "-a --pod x", "-a and --pod x cannot be combined: -a selects every process" },
		{ "-p 1 --container x", "-p 1 and --container x cannot be combined: a process is named by its number or by its container" },
		{ "-p 1 --pod x", "-p 1 and --pod x cannot be combined: a process is named by its number or by its pod" },
		{ "--pod x -- true", "--pod and -- CMD cannot be combined" },
		{ "heap --container x", "heap: takes no --container" },
		{ "--container", "--container: wants a value: ID" },
		{ "-a -- ls", "-a and -- CMD cannot be combined" },
		{ "--comm x -- ls", "--comm and -- CMD cannot be combined" },
		{ "-p 1 --comm x", "-p 1 and --comm x cannot be combined: a process is named by its number or by its name" },
		{ "-p 1 --mmap --mode count", "--mmap and --mode count cannot be combined: that mode does not see what is given back" },
		{ "-p 1 --mmap --mode growth", "--mmap and --mode growth cannot be combined: that mode records mappings already" },
		{ "-p 1 --sample 1M --mmap", "--mmap and --sample 1M cannot be combined: mappings are given back in parts, which cannot be weighed" },
		{ "-p 1 --overhead 5 --mmap", "--mmap and --overhead 5 cannot be combined: what is unmapped while there are no probes would seem to be mapped still" },
		{ "-p 1 --events --mode growth", "--events and --mode growth cannot be combined: that mode sees no allocations" },
		{ "-p 1 --events --overhead 5", "--events and --overhead 5 cannot be combined: probes are in place part of the time only" },
		{ "-p 1 --events --mmap", "--events and --mmap cannot be combined: mappings are given back in parts, which have no lines" },
		{ "-p 1 --events -o -", "--events and -o - cannot be combined: both write to standard output; write the report to a file with -o FILE" },
		{ "-p 1 --events -o - -o x.json", "--events and -o - cannot be combined: both write to standard output; write the report to a file with -o FILE" },
		{ "-p 1 --events --json", "--events and --json cannot be combined: both write to standard output; write the report to a file with -o FILE" },
		{ "-p 1 --events --format json", "--events and --format cannot be combined: both write to standard output; write the report to a file with -o FILE" },
		{ "-p 1 --events=10", "--events: takes no value" },
		{ "-p -- ls", "-p: wants a value: PID[,PID...]" },
		{ "-p1 --depth 0", "--depth 0: want a number from 1 to 512" },
		{ "-p1 --depth 513", "--depth 513: want a number from 1 to 512" },
		{ "-p1 --max-live 0", "--max-live 0: want a number from 1 to 4294967296, also with K, M or G" },
		{ "-p1 --max-stacks 5G", "--max-stacks 5G: want a number from 1 to 1000000, also with K, M or G" },
		{ "-p1 --overhead 0", "--overhead 0: want percent from 0.1 to 50, such as 5 or 0.5" },
		{ "-p1 --overhead 50.1", "--overhead 50.1: want percent from 0.1 to 50, such as 5 or 0.5" },
		{ "-p1 --overhead 5%", "--overhead 5%: want percent from 0.1 to 50, such as 5 or 0.5" },
		{ "-p1 -T 0", "-T 0: want a number from 1 to 1000000" },
		{ "-p1 --min-size x", "--min-size x: want a number of bytes, also with K, M or G" },
		{ "-p1 --min-size 5K --max-size 4K", "--min-size 5K: is more than --max-size 4K" },
		{ "-p1 -d 0", "-d 0: want a time above 0: seconds (30, 0.5), or a number with ms, s, m or h (10m)" },
		{ "-p1 -d -5", "-d -5: want a time above 0: seconds (30, 0.5), or a number with ms, s, m or h (10m)" },
		{ "-p1 0", "interval 0: want seconds, at least 0.01" },
		{ "-p1 5 0", "count 0: want a whole number of reports, at least 1" },
		{ "-p1 5 1.5", "count 1.5: want a whole number of reports, at least 1" },
		{ "-p1 5 1 7", "7: only an interval and a count are taken" },
		{ "./prog", "./prog: a program to start comes after --, as in: malloctrace -- ./prog" },
		{ "-p1 -", "-: want an interval in seconds, 'report', 'diff', 'doctor', or -- before a program to start" },
		{ "-p1 --batch=yes", "--batch: takes no value" },
		{ "-p1 --oler 5s", "--oler: no such option; did you mean --older?" },
		{ "-p1 --unwnd fp", "--unwnd: no such option; malloctrace --help all lists them" },
		{ "-p1 --pionts plain", "--pionts: no such option; malloctrace --help all lists them" },
		{ "-p1 --zzz", "--zzz: no such option; malloctrace --help all lists them" },
		{ "-p1 --=x", "--: no such option; malloctrace --help all lists them" },
		{ "-p1 --old 5s", "--old: no such option; malloctrace --help all lists them" },
		{ "-p1 -x", "-x: no such option; malloctrace --help all lists them" },
		{ "-p1 --mode counts", "--mode counts: want full, count, growth, leak or census; did you mean count?" },
		{ "-p1 --format jsno", "--format jsno: want text, json, folded, pprof, speedscope, dhat, massif, callgrind, dot or html; did you mean json?" },
		{ "-p1 --view leeks", "--view leeks: want live, leaks, allocs, peak, temporary, sizes, lifetimes, frees, functions, files, modules, processes, threads, tags, tree, "
		  "heap, blocks or source; did you mean leaks?" },
		{ "-p1 --sort growht", "--sort growht: want live, growth, blocks, freed, oldest, calls, bytes, peak, temp, unreached, age, size, live-bytes, live-blocks, "
		  "alloc-bytes, alloc-calls, peak-bytes, temp-calls, unreached-bytes or unreached-blocks; did you mean growth?" },
		{ "-p1 --format foldde", "--format foldde: want text, json, folded, pprof, speedscope, dhat, massif, callgrind, dot or html; did you mean folded?" },
		{ "-p1 --size big", "--size big: want requested or usable" },
		{ "-p1 --sample 0", "--sample 0: want a number from 1 to 1099511627776, also with K, M or G" },
		{ "-p1 --sample 1025G", "--sample 1025G: want a number from 1 to 1099511627776, also with K, M or G" },
		{ "-p1 --sample x", "--sample x: want a number from 1 to 1099511627776, also with K, M or G" },
		{ "-p1 --sort sizes", "--sort sizes: want live, growth, blocks, freed, oldest, calls, bytes, peak, temp, unreached, age, size, live-bytes, live-blocks, "
		  "alloc-bytes, alloc-calls, peak-bytes, temp-calls, unreached-bytes or unreached-blocks; did you mean size?" },
		{ "heap", "heap: no target: name a running process\nusage: malloctrace heap -p PID[,PID...]|NAME [--reachable] [--roots] [--pause]\n"
		  "                        [--view VIEW] [--full] [--top N] [--json] [-o FILE] [-q]" },
		{ "heap --reachable --json", "heap: no target: name a running process\nusage: malloctrace heap -p PID[,PID...]|NAME [--reachable] [--roots] [--pause]\n"
		  "                        [--view VIEW] [--full] [--top N] [--json] [-o FILE] [-q]" },
		{ "heap -p 1 --pause 5s", "heap: --pause takes no value, and '5s' is no process" },
		{ "heap -p 1 --reachable 3x", "heap: --reachable takes no value, and '3x' is no process" },
		{ "heap 1 --depth 3", "heap: takes no --depth" },
		{ "heap 1 -a", "heap: takes no -a" },
		{ "heap 1 --sort size", "heap: takes no --sort" },
		{ "heap -p1 -- ls", "heap: takes no -- CMD" },
		{ "heap 1 --view live", "--view live: of a heap there are the views heap and blocks" },
		{ "heap 1 -o x.folded", "-o x.folded: heap writes text, json and html" },
		{ "heap 1 --pause=5s", "--pause: takes no value" },
		{ "-p1 --reachable --mode count", "--reachable and --mode count cannot be combined: that mode does not see where blocks are" },
		{ "-p1 --roots --mode growth", "--roots and --mode growth cannot be combined: that mode sees no allocations" },
		{ "-p1 --roots --sample 1K", "--roots and --sample 1K cannot be combined: that skips most blocks" },
		{ "-p1 --view live,heap --mode count", "--view live,heap and --mode count cannot be combined: that mode does not see where blocks are" },
		{ "-p1 --metric unreached-bytes", "--metric unreached-bytes: goes with --reachable" },
		{ "-p1 --sort unreached", "--sort unreached: goes with --reachable" },
		{ "report x.json --reachable", "report: takes no --reachable" },
		{ "report x.json --pause 5s", "report: takes no --pause" },
		{ "diff a.json b.json --roots", "diff: takes no --roots" },
		{ "-p1 --mode count --sort growth", "--sort growth and --mode count cannot be combined: that mode does not record this" },
		{ "-p1 --cmd-output x", "--cmd-output: goes with -- CMD only" },
		{ "--cmd-output - -- ls", "--cmd-output -: want a file; without --cmd-output CMD prints where malloctrace does" },
		{ "--cmd-output x.txt -o y.json -o x.txt -- ls", "--cmd-output x.txt and -o x.txt cannot be combined: one would write over the other" },
		{ "-p1 --view live,source --no-source", "--view source and --no-source cannot be combined: without source lines there is nothing to show" },
		{ "-p1 --embed-source --no-source -o x.html", "--embed-source and --no-source cannot be combined: without source lines there is nothing to embed" },
		{ "-p1 --embed-source --batch", "--embed-source: goes with -o FILE.html, -o FILE.json or --json" },
		{ "-p1 --embed-source --batch -o x.txt", "--embed-source: goes with -o FILE.html, -o FILE.json or --json" },
		{ "-p1 --overhead 5 --sort peak", "--sort peak and --overhead 5 cannot be combined: a peak can fall into the time without probes" },
		{ "-p1 --overhead 5 --sort peak-bytes", "--sort peak-bytes and --overhead 5 cannot be combined: a peak can fall into the time without probes" },
		{ "-p1 --mode census --reachable",
		  "--reachable and --mode census cannot be combined: use the command heap for that: malloctrace heap --reachable PID" },
		{ "-a --mode census", "-a and --mode census cannot be combined: the heap of every process would have to be read; choose with -p" },
		{ "-p1 --mode count --view leaks",
		  "--view leaks and --mode count cannot be combined: that mode does not record this" },
		{ "-p1 --view=allocs,leaks --mode count",
		  "--view allocs,leaks and --mode count cannot be combined: that mode does not record this" },
		{ "-p1 --mode count --metric live-bytes",
		  "--metric live-bytes and --mode count cannot be combined: that mode does not record this" },
		{ "-p1 --mode count --metric temp-calls",
		  "--metric temp-calls and --mode count cannot be combined: that mode does not record this" },
		{ "-p1 --mode count --sort oldest",
		  "--sort oldest and --mode count cannot be combined: that mode does not record this" },
		{ "-p1 --leak-after 999ms", "--leak-after 999ms: want a second at least" },
		{ "-p1 --leak-after soon", "--leak-after soon: want a number with ns, us, ms, s, m or h" },
		{ "-p1 --mode count --leak-after 5s",
		  "--leak-after 5s and --mode count cannot be combined: that mode does not record this" },
		{ "-p1 --mode count --older 5s", "--older 5s and --mode count cannot be combined: that mode does not record this" },
		{ "-p1 --mode count --size usable",
		  "--size usable and --mode count cannot be combined: that mode does not see where blocks are" },
		{ "-p1 --mode count --max-live 5",
		  "--max-live 5 and --mode count cannot be combined: that mode keeps no table of blocks" },
		{ "-p1 --prefix ''", "--prefix '': want a name" },
		{ "-p1 -O ''", "-O '': want a name" },
		{ "-p1 --sym malloc", "--sym malloc: want ROLE=NAME, such as malloc=arena_alloc" },
		{ "-p1 --sym =x", "--sym =x: want ROLE=NAME, such as malloc=arena_alloc" },
		{ "-p1 --sym x=", "--sym x=: want ROLE=NAME, such as malloc=arena_alloc" },
		{ "-p1 --view leaks,x", "--view leaks,x: want live, leaks, allocs, peak, temporary, sizes, lifetimes, frees, functions, files, modules, processes, threads, tags, tree, heap, blocks or source" },
		{ "-p1 --view peak --mode count", "--view peak and --mode count cannot be combined: that mode does not record this" },
		{ "-p1 --view sizes --mode growth", "--view sizes and --mode growth cannot be combined: that mode does not record this" },
		{ "-p1 --view leaks,", "--view leaks,: want live, leaks, allocs, peak, temporary, sizes, lifetimes, frees, functions, files, modules, processes, threads, tags, tree, heap, blocks or source" },
		{ "-p1 --between 1s,2s", "--between: goes with report only" },
		{ "report x.json --between mark:1,mark:x",
		  "--between mark:1,mark:x: want two ages since the start of the trace, the earlier one first, such as 10s,25s, or marks, such as mark:1,mark:2" },
		{ "-p1 --mark f --overhead 5", "--mark f and --overhead 5 cannot be combined: probes are in place part of the time only" },
		{ "-p1 --start-on f --overhead 5", "--start-on f and --overhead 5 cannot be combined: probes are in place part of the time only" },
		{ "-p1 --stop-on f --overhead 5", "--stop-on f and --overhead 5 cannot be combined: probes are in place part of the time only" },
		{ "report x.json --between 2s,1s",
		  "--between 2s,1s: want two ages since the start of the trace, the earlier one first, such as 10s,25s, or marks, such as mark:1,mark:2" },
		{ "report x.json --between 2s",
		  "--between 2s: want two ages since the start of the trace, the earlier one first, such as 10s,25s, or marks, such as mark:1,mark:2" },
		{ "-p1 --view leaks,tags", "--view tags: goes with --tag FUNC or --mark FUNC" },
		{ "-p1 --within :f", "--within :f: want a function, as FUNC or BINARY:FUNC" },
		{ "-p1 --within f --mode growth", "--within f and --mode growth cannot be combined: that mode sees no allocations" },
		{ "-p1 --within f --overhead 5",
		  "--within f and --overhead 5 cannot be combined: the cost of probes in other functions is not measured" },
		{ "report x.json --within f", "report: takes no --within" },
		{ "-p1 --tag x:", "--tag x:: want a function, as FUNC or BINARY:FUNC, or the word thread" },
		{ "-p1 --tag thread --by comm", "--tag thread and --by comm cannot be combined: --tag thread needs --by thread" },
		{ "-p1 --format xml", "--format xml: want text, json, folded, pprof, speedscope, dhat, massif, callgrind, dot or html" },
		{ "-p1 -o x.c", "-o x.c: want a file name that ends in one of " SUFFIXES ", or - for standard output" },
		{ "-p1 -o x.htm", "-o x.htm: want a file name that ends in one of " SUFFIXES ", or - for standard output; did you mean .html?" },
		{ "-p1 -o .json", "-o .json: want a file name that ends in one of " SUFFIXES ", or - for standard output" },
		{ "-p1 -o a.json -o a.json", "-o a.json: given twice" },
		{ "-p1 -o - --output -", "--output -: given twice" },
		{ "-p1 -o a-%x.json", "-o a-%x.json: want %t (time), %p (pid), %n (number) or %% after a %" },
		{ "-p1 --json --format text -o -", "--json and --format text cannot be combined" },
		{ "-p1 -q --verbose", "-q and --verbose cannot be combined" },
		{ "-p1 -- ls", "-p and -- CMD cannot be combined" },
		{ "-p1 --mode growth --min-size 1K", "--min-size 1K and --mode growth cannot be combined: that mode sees no allocations" },
		{ "-p1 --mode growth --view leaks", "--view leaks and --mode growth cannot be combined: that mode does not record this" },
		{ "-p1 --mode count -o x.massif",
		  "-o x.massif and --mode count cannot be combined: that mode does not record what massif shows" },
		{ "-p1 --mode count --format massif",
		  "-o - and --mode count cannot be combined: that mode does not record what massif shows" },
		{ "-p1 --mode growth -O x.so", "-O x.so and --mode growth cannot be combined: that mode probes no allocator" },
		{ "-p1 --as-root", "--as-root: goes with -- CMD only" },
		{ "--", "--: want a program to start after it" },
		{ "-p1 --", "--: want a program to start after it" },
		{ "doctor -o x.json", "doctor: takes no -o" },
		{ "doctor --json", "doctor: takes no --json" },
		{ "doctor 5", "doctor: '5' is one argument too many" },
		{ "doctor -- ls", "doctor: takes no -- CMD" },
		{ "report", "report: want files to show, as -o FILE.json writes them" },
		{ "report x.json -p 1", "report: takes no -p" },
		{ "report x.json --mode count", "report: takes no --mode" },
		{ "report x.json -- ls", "report: takes no -- CMD" },
		{ "report x.json --fail-over 1M", "report: takes no --fail-over" },
		{ "diff x.json", "diff: want two files to compare, as -o FILE.json writes them" },
		{ "diff a b c", "diff: 'c' is one argument too many" },
		{ "-p1 --view frees", "--view frees: goes with --free-stacks" },
		{ "-p1 --free-stacks --mode count", "--free-stacks and --mode count cannot be combined: that mode sees no frees" },
		{ "-p1 --free-stacks --mode growth", "--free-stacks and --mode growth cannot be combined: that mode sees no frees" },
		{ "-p1 --free-stacks --sample 1M", "--free-stacks and --sample 1M cannot be combined: that skips most blocks, and so their frees" },
		{ "-p1 --free-stacks --overhead 5", "--free-stacks and --overhead 5 cannot be combined: that skips most frees" },
		{ "-p1 --fail-over 1M", "--fail-over: goes with diff only" },
		{ "-p1 --threshold 101", "--threshold 101: want percent from 0 to 100, such as 1 or 0.5" },
		{ "-p1 --python all", "--python all: want auto, off or only" },
		{ "-p1 --keep 3", "--keep: goes with -o and a name that has %t or %n in it" },
		{ "-p1 --keep 3 -o x.json", "--keep: goes with -o and a name that has %t or %n in it" },
		{ "-p1 --keep 0 -o %n.json", "--keep 0: want a number from 1 to 1000000, or a size with K, M or G" },
		{ "-p1 --threshold x", "--threshold x: want percent from 0 to 100, such as 1 or 0.5" },
		{ "-p1 --filter (", "--filter (: want a POSIX extended regular expression: Unmatched ( or \\(" },
		{ "-p1 --when rss", "--when rss: want a size, such as rss>2G" },
		{ "-p1 --when size>1",
		  "--when size>1: want rss, live, blocks, growth, rss-growth or allocs with > and a limit, killed, or oom" },
		{ "-p1 --when growth>10M", "--when growth>10M: want a size by s, min or h, such as growth>10M/min" },
		{ "-p1 --when live>1G --mode count",
		  "--when live>1G and --mode count cannot be combined: that mode does not record this" },
		{ "-p1 --when rss>1G --when allocs>1/s --mode growth",
		  "--when allocs>1/s and --mode growth cannot be combined: that mode does not record this" },
		{ "-p1 --when growth>1G/h --overhead 5", "--when growth>1G/h and --overhead 5 cannot be combined: an estimate from "
		  "part of the calls is too rough for one moment" },
		{ "-p1 --pause 5s", "--pause: goes with --when only" },
		{ "-p1 --when oom --pause 5", "--pause 5: want a number with ns, us, ms, s, m or h" },
		{ "report x.json --when oom", "report: takes no --when" },
		{ "-p1 --suppressions ''", "--suppressions '': want a name" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		_cleanup_err_ struct err e = {};
		struct opts o;

		cr_expect_eq(opts__parse(&o, split(t[i].line), words, &e), -EINVAL, "%s", t[i].line);
		cr_expect_str_eq(err_msg(&e), t[i].want, "%s: '%s', want '%s'", t[i].line, err_msg(&e), t[i].want);
	}
}

Test(opts, words_that_are_no_options)
{
	static const struct {
		const char *line;
		pid_t pid;
		const char *name;
		uint64_t interval_ns, count, duration_ns;
	} t[] = {
		{ "1432", .pid = 1432 },
		{ "1432 5 3", .pid = 1432, .interval_ns = 5000000000, .count = 3 },
		{ "5 3 -p 1432", .pid = 1432, .interval_ns = 5000000000, .count = 3 },
		{ "nginx 1m", .name = "nginx", .interval_ns = 60000000000 },
		{ "-p nginx -d 10m", .name = "nginx", .duration_ns = 600000000000 },
		{ "-p 7z -d 500ms", .name = NULL, .pid = -1 },
		{ "-d 2h 1432", .pid = 1432, .duration_ns = 7200000000000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		_cleanup_err_ struct err e = {};
		struct opts o;
		int err = opts__parse(&o, split(t[i].line), words, &e);

		if (t[i].pid < 0) {
			cr_expect_eq(err, -EINVAL, "%s", t[i].line);
			continue;
		}
		cr_assert_eq(err, 0, "%s: %s", t[i].line, err_msg(&e));
		cr_expect_eq(o.pids.n, t[i].pid ? 1 : 0, "%s", t[i].line);
		cr_expect(!t[i].pid || (o.pids.n && o.pids.v[0] == t[i].pid), "%s", t[i].line);
		cr_expect(t[i].name ? o.names.n == 1 && !strcmp(o.names.v[0], t[i].name) : !o.names.n, "%s", t[i].line);
		cr_expect_eq(o.interval_ns, t[i].interval_ns, "%s", t[i].line);
		cr_expect_eq(o.count, t[i].count, "%s", t[i].line);
		cr_expect_eq(o.duration_ns, t[i].duration_ns, "%s", t[i].line);
		opts__done(&o);
	}
}

Test(opts, the_command_help)
{
	_cleanup_err_ struct err e = {};
	struct opts o;

	cr_expect_eq(opts__parse(&o, split("help"), words, &e), 0);
	cr_expect_eq(o.command, CMD_HELP);
	opts__done(&o);
}

Test(opts, without_a_target_the_usage)
{
	static const char *const lines[] = { "", "0.5 3", "--json" };

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		_cleanup_err_ struct err e = {};
		struct opts o;

		cr_expect_eq(opts__parse(&o, split(lines[i]), words, &e), -EINVAL);
		cr_expect(strstr(err_msg(&e), "usage: malloctrace -p PID"), "%s: %s", lines[i], err_msg(&e));
	}
}
