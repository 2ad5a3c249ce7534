// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the table of options. To add an option is to add a row.
 */
#include "options/opts_table.h"

#include <stdlib.h>
#include <string.h>

#include "files/export.h"
#include "options/opts.h"
#include "present/views.h"
#include "util/log.h"
#include "util/util.h"

/* more than any machine's memory holds */
#define MAX_LIVE_MAX (1ULL << 32)
/* a site's number has 20 bits in a block's record */
#define MAX_STACKS_MAX 1000000
#define TOP_MAX 1000000
#define SAMPLE_MAX (1ULL << 40)
/* what is held is sampled once a second */
#define LEAK_AFTER_MIN SECOND_NS

#define FIELD(f) .field = offsetof(struct opts, f)

#define METRICS "live-bytes live-blocks alloc-bytes alloc-calls peak-bytes temp-calls unreached-bytes unreached-blocks"

const struct row opt_rows[] = {
	{ 'p', "pid", "PID[,PID...]", TARGETS, DOCTOR | HEAP | SERVE, take_pids, .fill = FILL_PIDS,
	  .help = "running processes, all their threads; or the name of one; repeatable",
	  .brief = "a running process, by its pid or name" },
	{ 'a', "all", NULL, TARGETS, DOCTOR | SERVE, take_flag, FIELD(all),
	  .help = "every process of the machine, including those that start later",
	  .brief = "every process of the machine" },
	{ 0, "comm", "GLOB", TARGETS, DOCTOR | SERVE, take_list, FIELD(comms), .fill = FILL_COMMS,
	  .help = "processes whose name matches, now and later; repeatable" },
	{ 0, "cgroup", "PATH", TARGETS, DOCTOR | SERVE, take_list, FIELD(cgroups), .fill = FILL_CGROUPS,
	  .help = "processes of this cgroup and those below it (a service, a container), now and later; a path "
		  "as in /proc/PID/cgroup, or below /sys/fs/cgroup; repeatable" },
	{ 0, "container", "ID", TARGETS, DOCTOR | SERVE, take_list, FIELD(containers), .fill = FILL_CONTAINERS,
	  .help = "processes of a container, now and later: its id, the first 4 digits of that or more, or its name (docker, podman, "
		  "containerd, CRI-O, LXC, nspawn); repeatable" },
	{ 0, "pod", "NAME", TARGETS, DOCTOR | SERVE, take_list, FIELD(pods), .fill = FILL_PODS,
	  .help = "processes of a pod of Kubernetes, now and later: NAME, NAMESPACE/NAME, or the first 4 digits of its uid or more; repeatable" },
	{ 'f', "follow", NULL, TARGETS, SERVE, take_flag, FIELD(follow),
	  .help = "also the children of the targets, across fork and exec",
	  .brief = "also the children of the targets" },
	{ 0, "", "CMD [ARG...]", TARGETS,
	  .help = "start CMD as the invoking user and trace it from its first allocation; "
		  "must be last",
	  .brief = "start CMD, and trace it from its first allocation" },
	{ 0, "as-root", NULL, TARGETS, 0, take_flag, FIELD(as_root),
	  .help = "start CMD as root, not as the user who ran sudo" },
	{ 0, "cmd-output", "FILE", TARGETS, 0, take_string, FIELD(cmd_output), .fill = FILL_FILES,
	  .help = "what CMD prints goes to FILE; a terminal has the live view then" },
	{ 'O', "object", "PATH", TARGETS, DOCTOR | SERVE, take_list, FIELD(objects), .fill = FILL_FILES,
	  .help = "probe this ELF file as an allocator, whatever its name; repeatable" },
	{ 0, "prefix", "STR", TARGETS, DOCTOR | SERVE, take_string, FIELD(prefix),
	  .help = "the allocator's symbols have this prefix (je_, _rjem_, mi_)" },
	{ 0, "sym", "ROLE=NAME", TARGETS, DOCTOR | SERVE, take_sym, FIELD(syms),
	  .help = "a custom allocator: --sym malloc=arena_alloc --sym free=arena_free" },

	{ 0, "mode", "MODE", RECORDING, SERVE, take_enum, FIELD(recording.mode), .of = &mode_choices,
	  .help = "what is recorded: every allocation and free (full); every allocation, and what is live is read from the heap now "
		  "and then (leak or census; half the cost); allocation calls and their bytes alone (count); or only page faults, brk and mmap, "
		  "where resident memory grows (growth)", .preset = "full" },
	{ 0, "size", "WHICH", RECORDING, SERVE, take_enum, FIELD(recording.size), .of = &size_choices,
	  .help = "which bytes of a block are counted: those requested, or those that the allocator set aside "
		  "(glibc; cheaper)", .preset = "requested" },
	{ 0, "sample", "BYTES", RECORDING, SERVE, take_room, FIELD(recording.sample_bytes), 1, SAMPLE_MAX,
	  .help = "record on average one allocation per BYTES allocated, and estimate; larger blocks are all recorded",
	  .preset = "off" },
	{ 0, "overhead", "PCT", RECORDING, SERVE, take_percent, FIELD(recording.overhead_pct),
	  .help = "take no more than PCT percent of the targets' CPU time, averaged over any second: probe part of "
		  "the time, estimate, and say so", .preset = "off",
	  .brief = "probe for at most PCT% of its CPU time, and estimate" },
	{ 0, "min-size", "SIZE", RECORDING, SERVE, take_size, FIELD(recording.min_size),
	  .help = "only blocks of at least SIZE bytes" },
	{ 0, "max-size", "SIZE", RECORDING, SERVE, take_size, FIELD(recording.max_size),
	  .help = "only blocks of at most SIZE bytes" },
	{ 0, "depth", "N", RECORDING, SERVE, take_number, FIELD(recording.depth), 1, 512,
	  .help = "frames kept per stack", .preset = "127" },
	{ 0, "max-live", "N", RECORDING, DOCTOR | SERVE, take_room, FIELD(recording.max_live), 1, MAX_LIVE_MAX,
	  .help = "room for at least N live blocks", .preset = "by the machine's memory" },
	{ 0, "max-stacks", "N", RECORDING, DOCTOR | SERVE, take_room, FIELD(recording.max_stacks), 1, MAX_STACKS_MAX,
	  .help = "room for at least N call stacks", .preset = "by the machine's memory" },
	{ 0, "tag", "FUNC", RECORDING, REPORT | SERVE, take_tag, FIELD(tags),
	  .help = "group allocations by the innermost of these functions on the stack (BINARY:FUNC, too); the word thread: "
		  "where there is none, by the thread's name; repeatable" },
	{ 0, "within", "FUNC", RECORDING, SERVE, take_function, FIELD(withins),
	  .help = "record only what FUNC, and what it calls, allocates (BINARY:FUNC, too); repeatable: inside of any of them" },
	{ 0, "free-stacks", NULL, RECORDING, 0, take_flag, FIELD(recording.free_stacks),
	  .help = "also record where blocks are freed, and by which threads: --view frees" },
	{ 0, "start-on", "FUNC", RECORDING, 0, take_list, FIELD(start_on),
	  .help = "nothing is recorded before FUNC is called; also BINARY:FUNC, and a USDT probe as PROVIDER:PROBE; repeatable" },
	{ 0, "stop-on", "FUNC", RECORDING, 0, take_list, FIELD(stop_on),
	  .help = "the trace ends, with its report, when FUNC is called; repeatable" },
	{ 0, "mark", "FUNC", RECORDING, 0, take_list, FIELD(marks),
	  .help = "take a snapshot of the instant at which FUNC is called, each time: all files of -o, numbered as at SIGUSR1, or a "
		  "report; repeatable" },
	{ 0, "mmap", NULL, RECORDING, SERVE, take_flag, FIELD(recording.mmap),
	  .help = "also blocks that the program maps itself: anonymous memory by mmap and mremap, and brk; not what its "
		  "allocator maps" },
	{ 0, "precise-times", NULL, RECORDING, SERVE, take_flag, FIELD(recording.precise_times),
	  .help = "lifetimes and ages in nanoseconds instead of clock ticks" },
	{ 0, "unwind", "HOW", RECORDING, DOCTOR | SERVE, take_enum, FIELD(recording.unwind), .of = &unwind_choices },
	{ 0, "points", "WHICH", RECORDING, DOCTOR | SERVE, take_enum, FIELD(recording.points), .of = &points_choices },
	{ 0, "python", "HOW", RECORDING, SERVE, take_enum, FIELD(recording.python), .of = &python_choices,
	  .help = "in a process that runs Python: its functions and lines in place of the interpreter's (auto), the interpreter's "
		  "own (off), or no frames but Python's (only)", .preset = "auto" },
	{ 0, "when", "COND", RECORDING, SERVE, take_when, FIELD(whens),
	  .help = "take a snapshot, as at SIGUSR1 or, without -o FILE, a report, when a process passes a limit: rss>2G, live>1G, "
		  "blocks>1M, growth>10M/min, rss-growth>1G/h, allocs>100K/s; when a signal ends it: killed; when the kernel "
		  "kills it for lack of memory: oom; repeatable" },
	{ 0, "pause", "AGE", RECORDING, SERVE, take_age, FIELD(pause_ns),
	  .help = "with --when: at least this long between two of its snapshots", .preset = "10s" },
	{ 0, "exact", NULL, RECORDING, 0, take_flag, FIELD(exact),
	  .help = "with --mode leak: stop the process while its heap is read, for some milliseconds; the report says for how long" },

	{ 0, "reachable", NULL, HEAPS, HEAP, take_flag, FIELD(reachable),
	  .help = "find blocks that nothing points to any more (leaked): with heap, or after a trace; without it, a trace of one process "
		  "searches where that decides and takes about a second",
	  .help_alone = "find blocks that nothing points to any more (leaked)",
	  .brief = "find live blocks that nothing points to: leaks" },
	{ 0, "no-reachable", NULL, HEAPS, 0, take_flag, FIELD(no_reachable),
	  .help = "do not search for pointers unasked after a trace" },
	{ 0, "roots", NULL, HEAPS, HEAP, take_flag, FIELD(roots),
	  .help = "as --reachable, and name the global variable, thread or stack that holds each of the other blocks" },
	{ 0, "pause", NULL, HEAPS, HEAP_ALONE, take_flag, FIELD(pause),
	  .help = "with heap: stop the process while its memory is read, for exact figures; the report says for how long",
	  .help_alone = "stop the process while its memory is read, for exact figures; the report says for how long" },

	{ 'd', "duration", "TIME", REPORTING, SERVE, take_duration, FIELD(duration_ns),
	  .help = "stop after TIME: 30, 30s, 10m", .preset = "at Ctrl-C, or when the targets end",
	  .brief = "stop after TIME: 30, 10m" },
	{ 'o', "output", "FILE", REPORTING, REPORT | DIFF | HEAP | SERVE, take_output, .fill = FILL_FILES,
	  .help = "write at the end, and at SIGUSR1; the suffix selects the format:" EXPORT_FORMATS(EXPORT_SUFFIX)
		  "; - is standard output; a name with %t (time), %p (pid) or %n (number) is written at each INTERVAL, too; "
		  "serve: written when a condition of --when holds, and at SIGUSR1; repeatable", .help_alone = "write it there, too: .txt, .json or .html; repeatable",
	  .brief = "write a file: .html, .json, .pb.gz, .folded, ..." },
	{ 0, "format", "FORMAT", REPORTING, REPORT | DIFF | HEAP, take_choice, FIELD(format),
	  .choices = EXPORT_NAMES,
	  .help = "write to standard output (-o -) in this format", .help_alone = "write to standard output in this format: text, json or html" },
	{ 0, "json", NULL, REPORTING, REPORT | DIFF | HEAP, take_flag, FIELD(json),
	  .help = "the same as --format json -o - --batch" },
	{ 0, "batch", NULL, REPORTING, DOCTOR | REPORT | HEAP, take_flag, FIELD(batch),
	  .help = "plain timestamped reports also on a terminal" },
	{ 'v', "verbose", NULL, REPORTING, DOCTOR | REPORT | DIFF | HEAP | SERVE, take_verbosity, .min = LOG_VERBOSE,
	  .help = "more messages on standard error" },
	{ 'q', "quiet", NULL, REPORTING, DOCTOR | REPORT | DIFF | HEAP | SERVE, take_verbosity, .min = LOG_QUIET,
	  .help = "fewer messages on standard error" },
	{ 0, "view", "VIEW[,VIEW...]", REPORTING, REPORT | HEAP, take_views,
	  .words = views__names,
	  .help = "what a report shows (leaks is another name of live); repeatable", .preset = "one screen; with --full processes, if there are several, live and allocs; with --tag, tags and live; with --free-stacks, frees",
	  .help_alone = "heap, or blocks: single blocks by their address",
	  .brief = "show one view: live, allocs, peak, tree, heap, ..." },
	{ 0, "full", NULL, REPORTING, REPORT | HEAP, take_flag, FIELD(full),
	  .help = "every stack of the views that are shown, not the first ones alone", .help_alone = "every row of the tables, not the first ones alone",
	  .brief = "every stack, not only the first ones" },
	{ 0, "events", NULL, REPORTING, 0, take_flag, FIELD(events),
	  .help = "print a line for each allocation and free as it happens; the report follows at the end, unless -q is given" },
	{ 0, "by", "WHAT", REPORTING, REPORT, take_choice, FIELD(by), .choices = "process thread comm cgroup none",
	  .help = "what rows are separated by; the same stack in all processes of one name or cgroup, or in all processes, is "
		  "one row", .preset = "process; with -a comm in reports, where what has ended is apart" },
	{ 0, "metric", "METRIC", REPORTING, REPORT | DIFF, take_choice, FIELD(metric), .choices = METRICS,
	  .help = "the weights in folded stacks, graphs and trees", .preset = "live-bytes; alloc-bytes with --mode count" },
	{ 0, "sort", "KEY", REPORTING, REPORT, take_choice, FIELD(sort), .words = rank__words,
	  .help = "order of the rows: the title of a column, or a metric", .preset = "by the view" },
	{ 'T', "top", "N", REPORTING, REPORT | DIFF | HEAP, take_number, FIELD(top), 1, TOP_MAX,
	  .help = "rows shown", .preset = "10" },
	{ 0, "older", "AGE", REPORTING, 0, take_age, FIELD(recording.older_ns),
	  .help = "in the view live: only blocks older than AGE", .preset = "0" },
	{ 0, "leak-after", "AGE", REPORTING, SERVE, take_age, FIELD(leak_after_ns), LEAK_AFTER_MIN,
	  .help = "growth must last for AGE before it is called a leak", .preset = "20s" },
	{ 0, "tree", "ORDER", REPORTING, REPORT, take_choice, FIELD(tree), .choices = "callers callees",
	  .help = "what --view tree begins with: a thread's first function, or the callers of the allocator", .preset = "callers" },
	{ 0, "threshold", "PCT", REPORTING, REPORT, take_threshold, FIELD(threshold_pct),
	  .help = "in graphs and trees, fold away what weighs less than PCT percent of the whole", .preset = "0.5" },
	{ 0, "filter", "REGEX", REPORTING, REPORT | DIFF | SERVE, take_regex, FIELD(filter),
	  .help = "only stacks in which a function, file or module matches; files of -o, too" },
	{ 0, "hide", "REGEX", REPORTING, REPORT | DIFF | SERVE, take_regex, FIELD(hide),
	  .help = "only stacks in which none matches" },
	{ 0, "suppressions", "FILE", REPORTING, REPORT | DIFF | SERVE, take_string, FIELD(suppressions), .fill = FILL_FILES,
	  .help = "hide stacks that LeakSanitizer's leak: lines in FILE match" },
	{ 0, "fail-over", "SIZE", REPORTING, DIFF | NO_TRACE, take_size, FIELD(fail_over),
	  .help = "diff: exit with 4 if live bytes grew by more than SIZE" },
	{ 0, "keep", "N|SIZE", REPORTING, SERVE, take_keep, FIELD(keep), 1, 1000000,
	  .help = "of files with %t or %n in their name, remove all that this run wrote but the last N, or the last ones that have SIZE "
		  "together (500M, 2G); serve: also those that earlier runs wrote", .preset = "all; serve: the last 100, and no more than 1G" },
	{ 0, "between", "AGE,AGE", REPORTING, REPORT | NO_TRACE, take_between,
	  .help = "report: sites by the change of their live bytes between two moments since the trace's start, or marks: mark:1,mark:2 "
		  "or FUNC#1,FUNC#2" },
	{ 0, "no-inlines", NULL, REPORTING, SERVE, take_flag, FIELD(no_inlines),
	  .help = "do not look for inlined functions" },
	{ 0, "no-source", NULL, REPORTING, SERVE, take_flag, FIELD(no_source),
	  .help = "names only, no files and lines" },
	{ 0, "embed-source", NULL, REPORTING, REPORT, take_flag, FIELD(embed_source),
	  .help = "put the source lines around each frame into HTML and JSON, to be there on another machine" },
	{ 0, "debuginfod", NULL, REPORTING, SERVE, take_flag, FIELD(debuginfod),
	  .help = "download missing debug files from the servers in DEBUGINFOD_URLS" },

	{ 0, "listen", "ADDR", SERVING, SERVE_ALONE, take_string, FIELD(serve.listen),
	  .help = "address of the HTTP server: ADDRESS:PORT, or unix:PATH; one that is not loopback needs --token-file or --tls-client-ca",
	  .preset = "127.0.0.1:9464" },
	{ 0, "config", "FILE", SERVING, SERVE_ALONE, take_string, FIELD(serve.config), .fill = FILL_FILES,
	  .help = "read options from FILE, a line each: overhead = 2; what the command line says comes after them; read again at SIGHUP" },
	{ 0, "token-file", "FILE", SERVING, SERVE_ALONE, take_string, FIELD(serve.token_file), .fill = FILL_FILES,
	  .help = "answer only requests with the token in FILE (Authorization: Bearer TOKEN)" },
	{ 0, "tls-cert", "FILE", SERVING, SERVE_ALONE, take_string, FIELD(serve.cert), .fill = FILL_FILES,
	  .help = "speak HTTPS, with this certificate (PEM)" },
	{ 0, "tls-key", "FILE", SERVING, SERVE_ALONE, take_string, FIELD(serve.key), .fill = FILL_FILES,
	  .help = "and this key (PEM)" },
	{ 0, "tls-client-ca", "FILE", SERVING, SERVE_ALONE, take_string, FIELD(serve.client_ca), .fill = FILL_FILES,
	  .help = "answer only clients whose certificate this authority has signed (PEM)" },

	{ 'h', "help", NULL, OTHER, DOCTOR | REPORT | DIFF | HEAP | SERVE, take_command, .min = CMD_HELP,
	  .help = "print the options that most people need; --help all: every option" },
	{ 'V', "version", NULL, OTHER, DOCTOR | REPORT | DIFF | HEAP | SERVE, take_command, .min = CMD_VERSION,
	  .help = "print the version" },
	{ 0, "completion", "SHELL", OTHER, 0, take_completion, FIELD(completion), .choices = COMPLETION_SHELLS,
	  .help = "print what makes this shell complete options and their values" },
};

const size_t n_opt_rows = ARRAY_SIZE(opt_rows);
_Static_assert(ARRAY_SIZE(opt_rows) <= OPT_ROWS_MAX, "the parser has a slot for each");

/* ---- words */

/* "a b c" → "a, b or c" */
static char *or_list(const char *words)
{
	const char *last = strrchr(words, ' ');
	size_t len = 0;
	char *s = xmalloc(strlen(words) * 2 + sizeof(" or "));

	for (; *words; words++) {
		if (*words != ' ')
			s[len++] = *words;
		else
			len = (size_t)(stpcpy(s + len, words == last ? " or " : ", ") - s);
	}
	s[len] = '\0';
	return s;
}

char *row__words(const struct row *r)
{
	const char *words = r->words ? r->words() : r->choices;

	return r->of ? choices__words(r->of) : words ? xstrdup(words) : NULL;
}

char *row__choices(const struct row *r)
{
	_cleanup_free_ char *words = row__words(r);

	return words ? or_list(words) : NULL;
}
