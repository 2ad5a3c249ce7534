// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Processes of Python in one row, with the same code and with code that differs in its names alone: what is one place, and what is not. A
 * block's size tells whose it is.
 */
#include "python_truth.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERVICE "python/service.py"

static const struct service {
	const char *name, *size, *calls;
} alpha = { "alpha", "5000001", "40" }, beta = { "beta", "5000003", "50" };

static void start_service(struct test *t, struct fx *f, const struct service *s)
{
	start_python(t, f, python(t), SERVICE, s->name, s->size, s->calls, NULL);
}

static bool is_frame_of(json_t *frame, const struct service *s, const char *part, long line)
{
	char function[64], file[64];

	snprintf(function, sizeof(function), "%s_%s", s->name, part);
	snprintf(file, sizeof(file), "/srv/%s.py", s->name);
	return is_python(frame) && !strcmp(jstr(frame, "function"), function) && !strcmp(jstr(frame, "file"), file) &&
	       (long)json_integer_value(jget(frame, "line")) == line;
}

/* The innermost three of Python. */
static bool is_stack_of(json_t *site, const struct service *s)
{
	static const struct {
		const char *part;
		long line;
	} wanted[] = { { "leaf", 3 }, { "mid", 5 }, { "top", 8 } };
	json_t *frame;
	size_t i, n = 0;

	json_array_foreach(jget(site, "stack"), i, frame)
		if (is_python(frame) && n < 3 && !is_frame_of(frame, s, wanted[n].part, wanted[n].line))
			return false;
		else
			n += is_python(frame);
	return n >= 3;
}

/* So many of them did the same: all their blocks, under their own names, in so many rows. */
static void want_service(struct test *t, json_t *root, const struct service *s, uint64_t n_processes, size_t n_rows)
{
	uint64_t size = strtoull(s->size, NULL, 10), calls = 0;
	json_t *site;
	size_t i, n = 0;

	json_array_foreach(jget(root, "sites"), i, site) {
		if (ju64(t, site, "max_size") < size || ju64(t, site, "min_size") > size)
			continue;
		want(t, ju64(t, site, "min_size") == ju64(t, site, "max_size"), "%s: blocks of %lu to %lu bytes, wanted apart: %.400s", s->name,
		     (unsigned long)ju64(t, site, "min_size"), (unsigned long)ju64(t, site, "max_size"), chain__draw(jget(site, "stack")));
		want(t, is_stack_of(site, s), "blocks of %s, wanted under its names: %.500s", s->name, chain__draw(jget(site, "stack")));
		calls += ju64(t, site, "alloc_calls");
		n++;
	}
	want_eq(t, s->name, n_processes * strtoull(s->calls, NULL, 10), calls);
	want_eq(t, "its rows", n_rows, n);
}

/* One of alpha, and two of beta, at the same time. */
static void at_once(struct test *t, const char *by)
{
	char pids[64];
	struct fx f[3];
	json_t *root;
	struct mt m;

	for (int i = 0; i < 3; i++)
		start_service(t, &f[i], i ? &beta : &alpha);
	snprintf(pids, sizeof(pids), "%d,%d,%d", (int)f[0].c.pid, (int)f[1].c.pid, (int)f[2].c.pid);
	mt__start(t, &m, "-p", pids, "--json", "--by", by, NULL);
	mt__wait_attached(t, &m);
	for (int i = 0; i < 3; i++)
		fx__go(t, &f[i]);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_service(t, root, &alpha, 1, 1);
	want_service(t, root, &beta, 2, 1);
	for (int i = 0; i < 3; i++)
		fx__quit(t, &f[i]);
}

TEST(python_group_by_comm) { at_once(t, "comm"); }
TEST(python_group_none) { at_once(t, "none"); }

/* Everything, as it comes without an option: by comm. */
TEST_ALONE(python_group_machine)
{
	const char *saved = in_dir(t, "x.json"), *grouped = in_dir(t, "by.json");
	struct fx f[2];
	json_t *root;
	struct mt m;

	for (int i = 0; i < 2; i++)
		start_service(t, &f[i], i ? &beta : &alpha);
	mt__start(t, &m, "-a", "-o", saved, "--by", "comm", NULL);
	mt__wait_attached(t, &m);
	for (int i = 0; i < 2; i++)
		fx__go(t, &f[i]);
	mt__stop(t, &m, SIGINT, 0);
	root = load_json(t, saved);
	want_service(t, root, &alpha, 1, 1);
	want_service(t, root, &beta, 1, 1);
	want_eq(t, "exit", 0, (uint64_t)mt__run(t, &m, "report", saved, "--by", "none", "-o", grouped, "-q", NULL));
	root = load_json(t, grouped);
	want_service(t, root, &alpha, 1, 1);
	want_service(t, root, &beta, 1, 1);
	for (int i = 0; i < 2; i++)
		fx__quit(t, &f[i]);
}

/* One after the other: the first ones have ended, and are kept elsewhere. */
TEST(python_group_of_lives_that_ended)
{
	const char *saved = in_dir(t, "x.json"), *grouped = in_dir(t, "by.json"), *py = python(t);
	char script[1024];
	struct mt m;
	json_t *root;

	snprintf(script, sizeof(script), "for i in 1 2 3; do %s %s --auto . %s %s %s; %s %s --auto . %s %s %s; done", py, fixture(SERVICE), alpha.name,
		 alpha.size, alpha.calls, py, fixture(SERVICE), beta.name, beta.size, beta.calls);
	mt__start(t, &m, "-f", "--by", "none", "-o", saved, "--", "sh", "-c", script, NULL);
	mt__stop(t, &m, 0, 0);
	root = load_json(t, saved);
	want_service(t, root, &alpha, 3, 1);
	want_service(t, root, &beta, 3, 1);
	want_eq(t, "exit", 0, (uint64_t)mt__run(t, &m, "report", saved, "--by", "comm", "-o", grouped, "-q", NULL));
	want_service(t, load_json(t, grouped), &alpha, 3, 1);
}

/* Of several files. */
static void of_files(struct test *t, const char *by)
{
	const char *saved[] = { in_dir(t, "1.json"), in_dir(t, "2.json"), in_dir(t, "3.json") }, *joined = in_dir(t, "joined.json");
	struct mt m;
	json_t *root;

	for (int i = 0; i < 3; i++) {
		struct fx f;

		start_service(t, &f, i ? &beta : &alpha);
		mt__start(t, &m, "-p", pid_arg(f.c.pid), "-o", saved[i], NULL);
		mt__wait_attached(t, &m);
		fx__go(t, &f);
		mt__stop(t, &m, SIGINT, 0);
		fx__quit(t, &f);
	}
	want_eq(t, "exit", 0, (uint64_t)mt__run(t, &m, "report", saved[0], saved[1], saved[2], "--by", by, "-o", joined, "-q", NULL));
	root = load_json(t, joined);
	want_service(t, root, &alpha, 1, 1);
	want_service(t, root, &beta, 2, 1);
}

TEST(python_group_of_files) { of_files(t, "none"); }
TEST(python_group_of_files_by_comm) { of_files(t, "comm"); }

/* ---- children */

/* What their code is may be reported before it is heard that they began: all the same they have their names. */
TEST(python_children)
{
	static const struct service gamma = { "gamma", "5000005", "3" };
	json_t *root;
	struct mt m;

	mt__start(t, &m, "-f", "--json", "--", python(t), fixture(SERVICE), "--auto", ".", gamma.name, gamma.size, gamma.calls, "200", NULL);
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	want_service(t, root, &gamma, 200, 200);
}
