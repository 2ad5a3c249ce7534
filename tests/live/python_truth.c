// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the comparison of a report with what a program of Python knows of itself. */
#include "python_truth.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVAL "_PyEval_EvalFrameDefault"

/* ---- Python */

const char *python_of(struct test *t, const char *command)
{
	struct spawn s = { .argv = { command, "-c", "import sys; print(sys.executable if sys.version_info >= (3, 11) else '')" } };
	struct child c;
	int status;

	child__start(t, &c, &s);
	status = child__wait(t, &c);
	if (status == 127)
		skip(t, "no %s", command);
	must(t, !status, "%s does not run: %.500s", command, c.errs.s);
	c.outs.s[strcspn(c.outs.s, "\n")] = 0;
	if (!*c.outs.s)
		skip(t, "%s is older than 3.11", command);
	return c.outs.s;
}

const char *python(struct test *t)
{
	return python_of(t, getenv("LIVE_TESTS_PYTHON") ?: "python3");
}

void start_python(struct test *t, struct fx *f, const char *python, const char *program, ...)
{
	struct spawn s = { .argv = { python, fixture(program), t->dir } };
	unsigned int n = 3;
	va_list ap;

	va_start(ap, program);
	while ((s.argv[n] = va_arg(ap, const char *)))
		n++;
	va_end(ap);
	fx__start_as(t, f, &s);
}

/* ---- what the program wrote down */

struct truth read_truth(struct test *t, pid_t pid)
{
	struct truth tr = { .pid = pid };
	json_error_t e;
	json_t *site;
	size_t i;

	tr.root = json_load_file(in_dir(t, "truth.%d.json", (int)pid), JSON_REJECT_DUPLICATES, &e);
	must(t, tr.root, "process %d left no truth behind: line %d: %s", (int)pid, e.line, e.text);
	tr.sites = jget(tr.root, "sites");
	tr.first = ju64(t, tr.root, "first");
	tr.step = ju64(t, tr.root, "step");
	tr.n_seen = calloc(json_array_size(tr.sites) + 1, sizeof(*tr.n_seen));
	must(t, json_array_size(tr.sites) && tr.n_seen && tr.step, "process %d: a truth that makes no sense", (int)pid);
	json_array_foreach(tr.sites, i, site)
		must(t, ju64(t, site, "size") == tr.first + i * tr.step, "process %d: site %zu has a size that is not its own", (int)pid, i);
	/* a block that never was: shows that the checks can fail */
	if (getenv("LIVE_TESTS_WRONG"))
		tr.n_seen[0]++;
	return tr;
}

static json_t *true_frame(json_t *truth, size_t i)
{
	return json_array_get(jget(truth, "frames"), i);
}

bool has_true_frame(json_t *truth, const char *function)
{
	json_t *frame;
	size_t i;

	json_array_foreach(jget(truth, "frames"), i, frame)
		if (!strcmp(jstr(frame, "[0]"), function))
			return true;
	return false;
}

/* ---- what the report says */

bool is_python(json_t *frame)
{
	return !strcmp(jstr(frame, "module"), "[python]");
}

bool is_eval(json_t *frame)
{
	return !is_python(frame) && !strncmp(jstr(frame, "function"), EVAL, strlen(EVAL));
}

size_t count_frames(json_t *site, bool (*which)(json_t *frame))
{
	json_t *frame;
	size_t i, n = 0;

	json_array_foreach(jget(site, "stack"), i, frame)
		n += which(frame);
	return n;
}

bool has_python_frame(json_t *site, const char *function)
{
	json_t *frame;
	size_t i;

	json_array_foreach(jget(site, "stack"), i, frame)
		if (is_python(frame) && !strcmp(jstr(frame, "function"), function))
			return true;
	return false;
}

json_t *truth_of(struct test *t, struct truth *tr, json_t *site, size_t *ret_i)
{
	uint64_t low = ju64(t, site, "min_size"), high = ju64(t, site, "max_size"), i = (high - tr->first) / tr->step;

	if (ju64(t, site, "pid") != (uint64_t)tr->pid || high < tr->first)
		return NULL;
	want(t, low == high, "sizes %lu to %lu, wanted one size, as these stacks differ: (%s) %.300s", (unsigned long)low, (unsigned long)high,
	     jstr(json_array_get(tr->sites, i), "case"), chain__draw(jget(site, "stack")));
	if (low != high)
		return NULL;
	want(t, (high - tr->first) % tr->step == 0 && i < json_array_size(tr->sites), "a block of %lu bytes, wanted none of this size: %.300s", (unsigned long)high,
	     chain__draw(jget(site, "stack")));
	*ret_i = i;
	return json_array_get(tr->sites, i);
}

/* wanted null: it cannot be shown as it is */
static bool is_text(json_t *wanted, const char *got)
{
	return json_is_null(wanted) || !strcmp(json_string_value(wanted), got);
}

static bool want_frame(struct test *t, json_t *truth, size_t k, json_t *frame, json_t *site)
{
	json_t *wanted = true_frame(truth, k), *function = jget(wanted, "[0]"), *file = jget(wanted, "[1]");
	long line = (long)json_integer_value(jget(wanted, "[2]")), got = (long)json_integer_value(jget(frame, "line"));
	bool ok = is_text(function, jstr(frame, "function")) && is_text(file, jstr(frame, "file")) && line == got;

	/* it takes long to draw one, and there are many */
	return want(t, ok, "case %s, Python frame %zu of %zu: wanted %s (%s:%ld), got %s (%s:%ld); %.400s", jstr(truth, "case"), k,
		    json_array_size(jget(truth, "frames")), json_string_value(function), json_string_value(file), line,
		    jstr(frame, "function"), jstr(frame, "file"), got, ok ? "" : chain__draw(jget(site, "stack")));
}

/* Tells of the first difference. */
static bool want_frames(struct test *t, json_t *truth, json_t *site, enum how how)
{
	size_t n_true = json_array_size(jget(truth, "frames")), n = count_frames(site, is_python), n_stack = json_array_size(jget(site, "stack"));
	const char *name = jstr(truth, "case"), *wanted_end = how == CUT ? "depth" : "whole", *end = jstr(site, "end");
	json_t *frame;
	size_t i, k = 0;

	json_array_foreach(jget(site, "stack"), i, frame)
		if (is_python(frame) && k < n_true && !want_frame(t, truth, k++, frame, site))
			return false;
	return want(t, how == CUT ? n < n_true : n == n_true, "case %s: %zu Python frames, wanted %zu, first %s (line %ld); %.500s", name, n, n_true,
		    jstr(true_frame(truth, 0), "[0]"), (long)json_integer_value(jget(true_frame(truth, 0), "[2]")), chain__draw(jget(site, "stack"))) &&
	       want(t, !strcmp(end, wanted_end) || (how == LATE && !strcmp(end, "unsure")), "case %s: a stack that is '%s', wanted '%s'; %.400s", name, end,
		    wanted_end, chain__draw(jget(site, "stack"))) &&
	       want(t, how != ONLY || !n_true || n_stack == n_true, "case %s: %zu frames, wanted the %zu of Python and no other; %.400s", name, n_stack,
		    n_true, chain__draw(jget(site, "stack")));
}

/* Whoever has Python frames has them wherever Python runs. */
static void want_none_left(struct test *t, json_t *root)
{
	json_t *site;
	size_t i;

	json_array_foreach(jget(root, "sites"), i, site)
		want(t, !count_frames(site, is_python) || !count_frames(site, is_eval), "site %zu: %s beside Python frames: %.500s", i, EVAL, chain__draw(jget(site, "stack")));
}

uint64_t want_truth(struct test *t, json_t *root, pid_t pid, enum how how)
{
	struct truth tr = read_truth(t, pid);
	const char *told = "";		/* a case of which it was told already: others shall have a say */
	json_t *site, *truth;
	uint64_t n_calls = 0;
	size_t i, k;

	json_array_foreach(jget(root, "sites"), i, site) {
		truth = truth_of(t, &tr, site, &k);
		if (!truth)
			continue;
		tr.n_seen[k] += ju64(t, site, "alloc_calls");
		if (strcmp(jstr(truth, "case"), told) && !want_frames(t, truth, site, how))
			told = jstr(truth, "case");
	}
	json_array_foreach(tr.sites, i, truth) {
		want(t, tr.n_seen[i] == ju64(t, truth, "calls"), "case %s: %lu blocks of %s (line %ld), wanted %lu", jstr(truth, "case"), (unsigned long)tr.n_seen[i],
		     jstr(true_frame(truth, 0), "[0]"), (long)json_integer_value(jget(true_frame(truth, 0), "[2]")), (unsigned long)ju64(t, truth, "calls"));
		n_calls += ju64(t, truth, "calls");
	}
	want_none_left(t, root);
	free(tr.n_seen);
	json_decref(tr.root);
	return n_calls;
}
