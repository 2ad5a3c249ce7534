// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* A leak in a web service, found as docs/PYTHON.md does it. */
#include "python_truth.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VISITORS "120"

/* Asks until it has answered; how many sessions there are then. */
static uint64_t visit(struct test *t, const char *port, const char *n)
{
	struct child c;

	child__start(t, &c, &(struct spawn){ .argv = { python(t), fixture("python/visitors.py"), port, n } });
	must(t, !child__wait(t, &c), "the visitors did not get through: %.500s", c.errs.s);
	return strtoull(c.outs.s, NULL, 10);
}

/* keep: its fix, NULL: without. Returns the report; how many sessions it opened while it was traced. */
static json_t *traced(struct test *t, const char *keep, uint64_t *ret_opened)
{
	struct spawn s = { .argv = { python(t), fixture("python/shop.py"), "0" } };
	struct child service;
	char port[16] = "";
	uint64_t before;
	json_t *root;
	struct mt m;
	FILE *out;

	if (keep) {
		s.argv[2] = "--keep";
		s.argv[3] = keep;
		s.argv[4] = "0";
	}
	child__start(t, &service, &s);
	out = fdopen(dup(service.out), "r");
	must(t, out && fgets(port, sizeof(port), out), "the service does not say its port");
	port[strcspn(port, "\n")] = 0;
	before = visit(t, port, "50");	/* it runs already */
	mt__start(t, &m, "-p", pid_arg(service.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	*ret_opened = visit(t, port, VISITORS) - before;
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	fclose(out);
	child__kill(t, &service, SIGKILL);
	return root;
}

static json_t *top_site(struct test *t, json_t *root)
{
	json_t *site, *top = NULL;
	size_t i;

	json_array_foreach(jget(root, "sites"), i, site)
		if (!top || ju64(t, site, "live_bytes") > ju64(t, top, "live_bytes"))
			top = site;
	must(t, top, "no sites");
	return top;
}

/* The site that holds the most is the line that opens sessions: a block for each of them, and none is freed. */
TEST(python_service)
{
	uint64_t n_opened;
	json_t *root = traced(t, NULL, &n_opened), *top = top_site(t, root), *frame = NULL;
	size_t i;

	want_eq(t, "sessions", 120, n_opened);
	json_array_foreach(jget(top, "stack"), i, frame)
		if (is_python(frame))
			break;
	want(t, !strcmp(jstr(frame, "function"), "Sessions.open") && strstr(jstr(frame, "file"), "shop.py") && json_integer_value(jget(frame, "line")) == 24,
	     "the top site, wanted Sessions.open shop.py:24: %.500s", chain__draw(jget(top, "stack")));
	want_u64(t, top, "live_blocks", n_opened);
	want_u64(t, top, "live_bytes", n_opened * 6001);
	want_u64(t, top, "free_calls", 0);
}

/* And with the fix as many are freed as are opened. */
TEST(python_service_that_is_mended)
{
	uint64_t n_opened, n_live = 0, n_calls = 0;
	json_t *root = traced(t, "50", &n_opened), *site;
	size_t i;

	want_eq(t, "sessions more than before", 0, n_opened);
	json_array_foreach(jget(root, "sites"), i, site)
		if (ju64(t, site, "max_size") == 6001) {
			n_live += ju64(t, site, "live_blocks");
			n_calls += ju64(t, site, "alloc_calls");
		}
	want_eq(t, "baskets", 120, n_calls);
	want_eq(t, "live ones", 50, n_live);
}
