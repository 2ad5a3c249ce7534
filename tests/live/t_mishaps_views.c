// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Faults on purpose where each run is another one: `malloctrace heap` of a program at rest, and the live view. As in t_mishaps.c, what
 * is shown with status 0 is what there is, and all else is said in words.
 */
#include "mishap.h"
#include "screen.h"

#include <inttypes.h>
#include <signal.h>

#define SOME 6
#define HOURS 4 * 3600

static uint64_t step_of(uint64_t n_calls)
{
	const char *how = getenv("MISHAPS");

	return how && !strcmp(how, "all") ? 1 : n_calls / SOME + 1;
}

/* ---- the heap */

/* What a look found, without how long it took. */
static json_t *heap_of(const char *text)
{
	json_t *root = json_loads(text, 0, NULL), *heap = json_incref(jget(root, "heap[0]"));

	json_decref(root);
	if (heap) {
		json_object_del(heap, "paused_ns");
		json_object_del(heap, "looked_ns");
	}
	return heap;
}

static int look_once(struct test *t, struct mishap *m, enum mishap_kind kind, pid_t pid, uint64_t at, json_t **ret, char **ret_said)
{
	struct spawn how = { .argv = { lt_bin, "heap", "-p", pid_arg(pid), "--reachable", "--json" } };
	struct mt mt;
	int status;

	mishap__ask(m, at, false);
	mishap__prepare(t, m, kind, &how);
	mt__start_v(t, &mt, &how);
	mishap__begun();
	status = child__wait(t, &mt.c);
	*ret = heap_of(mt.c.outs.s);
	*ret_said = mt.c.errs.s;
	free(mt.c.outs.s);
	return status;
}

static void every_look(struct test *t, enum mishap_kind kind)
{
	struct mishap *m = mishap__new(t);
	json_t *wanted, *got;
	uint64_t step, last;
	struct fx f;
	char *said;

	fx__start(t, &f, "basic", "leak", "100", NULL);
	fx__go(t, &f);
	must(t, !look_once(t, m, kind, f.c.pid, 0, &wanted, &said) && wanted, "no look without a fault: %s", said);
	must(t, m->n_calls > 0, "no call was counted");
	step = step_of(m->n_calls);
	last = step == 1 ? UINT64_MAX : m->n_calls;
	for (uint64_t at = 1 + (uint64_t)time(NULL) % step; at <= last; at += step) {
		int status = look_once(t, m, kind, f.c.pid, at, &got, &said);

		if (!m->n_failed)
			break;
		want(t, status < 124 && (!status || strstr(said, "malloctrace: ")), "call %" PRIu64 ": status %d, stderr: %.300s; it was %.1500s", at, status, said, m->where);
		want(t, status || json_equal(got, wanted), "call %" PRIu64 ": status 0, and another heap: %.3000s, wanted %.3000s; it was %.1500s", at,
		     json_dumps(got, JSON_COMPACT) ?: "none", json_dumps(wanted, JSON_COMPACT), m->where);
		want_state(t, f.c.pid, 'S');
		json_decref(got);
		free(said);
	}
	fx__quit(t, &f);
}

TEST_LIMIT(mishaps_heap_memory, HOURS) { every_look(t, MISHAP_MEMORY); }
TEST_LIMIT(mishaps_heap_files, HOURS) { every_look(t, MISHAP_FILES); }
TEST_LIMIT(mishaps_heap_others, HOURS) { every_look(t, MISHAP_OTHERS); }

/* ---- the live view */

/* One of the two is on the screen; which, and all that is. */
static bool comes_first(struct test *t, struct screen *s, const char *a, const char *b, char **ret)
{
	for (uint64_t until = now_ms() + COME_S * 1000ull; now_ms() < until; poll(NULL, 0, LOOK_MS)) {
		char *seen = look(t, s);

		if (strstr(seen, a) || strstr(seen, b)) {
			*ret = seen;
			return !strstr(seen, b);
		}
		free(seen);
	}
	must(t, false, "neither %s nor %s came", a, b);
	return false;
}

static void view_once(struct test *t, struct mishap *m, uint64_t at)
{
	char line[8192], *seen;
	struct screen s = {};
	const char *status;

	mishap__ask(m, at, false);
	m->in_memory = true;
	fx__start(t, &s.fx, "basic", "family", NULL);
	unlink(in_dir(t, "live.json"));
	snprintf(line, sizeof(line), "cd %s; LD_PRELOAD=%s " MISHAP_ENV "=%s %s -p %d -o live.json; echo EXIT $?; exec cat", t->dir, fixture("libmishap.so"),
		 in_dir(t, "mishap"), lt_bin, (int)s.fx.c.pid);
	begin_shell(t, &s, "120", "40", line);
	if (comes_first(t, &s, "losses none", "EXIT", &seen)) {
		fx__go(t, &s.fx);
		keys(t, &s, "q");
		free(seen);
		comes_first(t, &s, "EXIT", "EXIT", &seen);
	}
	status = strstr(seen, "EXIT") + strlen("EXIT ");
	want(t, atoi(status) < 124 && (!atoi(status) || strstr(seen, "malloctrace: ") || strstr(seen, "no memory")), "call %" PRIu64 ": the screen is:\n%s\nit was %.1500s", at, seen,
	     m->where);
	if (!atoi(status)) {
		json_t *root = with_frames(load_json(t, in_dir(t, "live.json")));

		want_lossless(t, root);
		want_ledger(t, root, process_of(t, root, s.fx.c.pid, 0), &s.fx.led, LED_ALL);
		json_decref(root);
	}
	free(seen);
	tmux(t, &s, "kill-server", NULL);
	fx__quit(t, &s.fx);
}

TEST_LIMIT(mishaps_live_view, HOURS)
{
	struct mishap *m = mishap__new(t);
	uint64_t step, last;

	view_once(t, m, 0);
	must(t, m->n_calls > 0, "no call was counted");
	step = step_of(m->n_calls);
	last = step == 1 ? UINT64_MAX : m->n_calls;
	for (uint64_t at = 1 + (uint64_t)time(NULL) % step; at <= last; at += step) {
		view_once(t, m, at);
		if (!m->n_failed)
			break;
	}
}
