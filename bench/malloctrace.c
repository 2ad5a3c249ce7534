// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * malloctrace as a user would attach it. Owns what is asked of its JSON: a run
 * whose figures are not the target's own is an error, however fast it was.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/text.h"
#include "bench/tools.h"
#include "util/util.h"

#define ATTACH_TIMEOUT_MS 60000
#define FINISH_TIMEOUT_MS 60000
#define PARSE_TIMEOUT_MS 10000
#define MAX_STANDARD_ERRORS 6	/* by chance once in 500 million runs */
#define BUDGET_STANDARD_ERRORS 4

static char *program_of(const struct paths *paths, const struct tool *t)
{
	return t->now ? paths->before : t - tools == TOOL_WITHOUT_PEAK ? paths->without_peak : paths->malloctrace;
}

/* Without the options it asks for a process that there cannot be: what is wrong with an option is told first. */
char *malloctrace__missing(const struct paths *paths, const struct tool *t)
{
	char *argv[ARRAY_SIZE(t->args) + 4] = { program_of(paths, t), "-p", "4194305" };
	_cleanup_child_ struct child c = CHILD_NONE;
	_cleanup_free_ char *text = NULL;
	_cleanup_err_ struct err e = { 0 };

	if (!argv[0])
		return strdup(t->now ? "" : "not built: make bench builds it");
	for (size_t i = 0; i < ARRAY_SIZE(t->args) && t->args[i]; i++)
		argv[i + 3] = t->args[i];
	if (child__start_tool(argv, NULL, NULL, &c, &e) || child__finish(&c, 0, PARSE_TIMEOUT_MS, &text, &e) < 0)
		return strdup(err_msg(&e));
	return strstr(text, "not in this version") ? strdup("not in this version") : NULL;
}

int malloctrace__attach(struct session *s, struct err *e)
{
	const struct tool *t = &tools[s->tool_id];
	char pid[16], max_live[24];
	char *argv[ARRAY_SIZE(t->args) + 8] = {
		program_of(s->paths, t), "-p", pid, "--json",
	};
	size_t n = 4;

	snprintf(pid, sizeof(pid), "%d", (int)s->target.pid);
	snprintf(max_live, sizeof(max_live), "%" PRIu64, s->subject->max_live);
	for (size_t i = 0; i < ARRAY_SIZE(t->args) && t->args[i]; i++)
		argv[n++] = t->args[i];
	/* other modes keep no table of all blocks */
	if (t->check == CHECK_FULL || t->check == CHECK_USABLE) {
		argv[n++] = "--max-live";
		argv[n++] = max_live;
	}
	if (child__start_tool(argv, NULL, NULL, &s->tool, e) ||
	    child__wait_for_text(&s->tool, "malloctrace: attached", ATTACH_TIMEOUT_MS, e))
		return err_wrap(e, e->code ?: -EIO, "malloctrace");
	return 0;
}

/* ---- its counts */

static int total(const char *json, const char *key, uint64_t *ret, struct err *e)
{
	char quoted[48];

	snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	return text__number(json, "\"totals\":", quoted, ret) ? err_set(e, -EBADMSG, "no %s in its JSON", key) : 0;
}

static int check_total(const char *json, const char *key, uint64_t want, bool at_least, struct err *e)
{
	uint64_t got;

	if (total(json, key, &got, e))
		return e->code;
	if (at_least && got >= want)
		return 0;
	return text__compare(key, got, want, e);
}

/* Where a site names the frame of that function: stacks are numbers of frames, whose list comes last; an earlier version has the frames in its stacks. */
static const char *in_stack(const char *json, const char *function)
{
	const char *frames = strstr(json, "\"frames\": ["), *at = strstr(json, function), *stack = json;
	unsigned long number = 0;

	if (!frames || !at || at < frames)
		return at;
	for (const char *p = frames; (p = strstr(p + 1, "\n    {")) && p < at;)
		number++;
	/* the function itself calls malloc: it is the first */
	while ((stack = strstr(stack + 1, "\"stack\": [")))
		if (strtoul(stack + strlen("\"stack\": ["), NULL, 10) + 1 == number)
			return stack;
	return NULL;
}

/* The figures of a site come before its stack. */
static int check_proof(const char *json, uint64_t want, struct err *e)
{
	const char *at = in_stack(json, "\"function\": \"proof\""), *found = NULL;
	uint64_t got;

	for (const char *p = json; at && (p = strstr(p, "\"alloc_bytes\":")) && p < at; p++)
		found = p;
	if (!found || text__number(found, "\"alloc_bytes\":", ":", &got))
		return err_set(e, -EBADMSG, "no site in proof()");
	return text__compare("bytes of 100 malloc(100)", got, want, e);
}

/* One sample per `sample_bytes` on average: the sum of what blocks below that size stand for has this variance. */
static int check_estimate(const char *json, const struct truth *truth, struct err *e)
{
	uint64_t got, sample_bytes;
	double error;

	if (total(json, "alloc_bytes", &got, e) || text__number(json, "\"sample_bytes\":", ":", &sample_bytes))
		return err_set(e, -EBADMSG, "no sample_bytes in its JSON");
	error = sqrt((double)truth->n_bytes * sample_bytes);
	if (!truth->n_bytes || fabs((double)got - truth->n_bytes) <= MAX_STANDARD_ERRORS * error)
		return 0;
	return err_set(e, -EBADMSG, "alloc_bytes ~%" PRIu64 ", more than %d standard errors (%.0f) from %" PRIu64, got,
		       MAX_STANDARD_ERRORS, error, truth->n_bytes);
}

static int check_budget(const char *json, const struct truth *truth, struct err *e)
{
	const char *totals = strstr(json, "\"totals\":");
	uint64_t got, error;

	if (total(json, "alloc_calls", &got, e))
		return e->code;
	if (!totals || text__number(totals, "\"standard_error\":", "\"alloc_calls\":", &error))
		return err_set(e, -EBADMSG, "no standard_error in its JSON");
	if (got + BUDGET_STANDARD_ERRORS * error >= truth->n_allocs && (truth->at_least || got <= truth->n_allocs + BUDGET_STANDARD_ERRORS * error))
		return 0;
	return err_set(e, -EBADMSG, "alloc_calls ~%" PRIu64 ", more than %d standard errors (%" PRIu64 ") from %" PRIu64, got,
		       BUDGET_STANDARD_ERRORS, error, truth->n_allocs);
}

static int check(enum check how, const char *json, const struct truth *truth, struct err *e)
{
	uint64_t losses;

	if (text__number(json, "\"losses\":", "\"total\":", &losses))
		return err_set(e, -EBADMSG, "no losses in its JSON");
	if (text__compare("losses", losses, 0, e))
		return e->code;
	switch (how) {
	case CHECK_FULL:
	case CHECK_USABLE:
		if (check_total(json, "free_calls", truth->n_frees, truth->at_least, e))
			return e->code;
		/* fall through */
	case CHECK_COUNT:
		if (check_total(json, "alloc_calls", truth->n_allocs, truth->at_least, e) ||
		    check_total(json, "alloc_bytes", truth->n_bytes, truth->at_least || !truth->n_bytes || how == CHECK_USABLE, e))
			return e->code;
		return truth->proof ? check_proof(json, how == CHECK_USABLE ? PROOF_PAIRS * PROOF_USABLE_BYTES : PROOF_PAIRS * PROOF_BYTES,
						  e) : 0;
	case CHECK_ESTIMATE:
		return check_estimate(json, truth, e);
	case CHECK_BUDGET:
		return check_budget(json, truth, e);
	case CHECK_NONE:
	case CHECK_ALIVE:
		break;
	}
	return 0;
}

int malloctrace__detach(struct session *s, const struct truth *truth, struct err *e)
{
	_cleanup_free_ char *text = NULL;
	int status = child__finish(&s->tool, SIGINT, FINISH_TIMEOUT_MS, &text, e);

	if (status < 0)
		return err_wrap(e, e->code ?: -EIO, "malloctrace");
	if (status)
		return err_set(e, -EBADMSG, "exit status %d", status);
	return check(tools[s->tool_id].check, text, truth, e);
}
