// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Reports and ledgers, and what must hold between them. Sites of a report are
 * matched with a ledger's by the innermost frame that is a site of the ledger:
 * stack[0] for C, the frame behind `operator new` for C++.
 */
#include "lt.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON */

json_t *jget(json_t *j, const char *path)
{
	char key[64];

	while (j && *path) {
		size_t n = strcspn(path, ".[");

		if (n >= sizeof(key))
			return NULL;
		memcpy(key, path, n);
		key[n] = 0;
		path += n;
		if (n)
			j = json_object_get(j, key);
		if (*path == '[') {
			j = json_array_get(j, strtoul(path + 1, NULL, 10));
			path += strcspn(path, "]");
			path += *path == ']';
		}
		path += *path == '.';
	}
	return j;
}

uint64_t ju64(struct test *t, json_t *j, const char *path)
{
	json_t *v = jget(j, path);

	want(t, json_is_integer(v), "%s, wanted a whole number, got %s", path, !v ? "nothing" : json_is_null(v) ? "null" : "another type");
	return json_is_integer(v) ? (uint64_t)json_integer_value(v) : 0;
}

const char *jstr(json_t *j, const char *path)
{
	const char *s = json_string_value(jget(j, path));

	return s ? s : "";
}

bool want_u64(struct test *t, json_t *j, const char *path, uint64_t wanted)
{
	return want_eq(t, path, wanted, ju64(t, j, path));
}

bool want_bool(struct test *t, json_t *j, const char *path, bool wanted)
{
	json_t *v = jget(j, path);

	return want(t, json_is_boolean(v) && json_is_true(v) == wanted, "%s, wanted %s, got %s", path, wanted ? "true" : "false",
		    !v ? "nothing" : json_is_true(v) ? "true" : json_is_false(v) ? "false" : "another type");
}

static void put_frames(json_t *rows, json_t *frames)
{
	json_t *row, *number;
	size_t i, k;

	json_array_foreach(rows, i, row) {
		json_t *stack = json_object_get(row, "stack");

		/* a number of no frame stays a number, which nobody takes for one */
		json_array_foreach(stack, k, number)
			if (json_is_integer(number) && json_array_get(frames, (size_t)json_integer_value(number)))
				json_array_set(stack, k, json_array_get(frames, (size_t)json_integer_value(number)));
	}
}

/* In a profile of more than ten thousand sites, these have no key that is 0. */
static void put_zeros(json_t *root)
{
	static const char *const others[] = { "cross_frees", "at_peak_bytes", "min_size", "max_size", "oldest_ns", "first_ns", "last_ns", "older_blocks", "older_bytes" };
	json_t *site, *total, *totals = json_object_get(root, "totals");
	const char *key;
	size_t i;

	json_array_foreach(json_object_get(root, "sites"), i, site) {
		json_object_foreach(totals, key, total)
			if (!json_object_get(site, key))
				json_object_set_new(site, key, json_is_integer(total) ? json_integer(0) : json_null());
		for (size_t k = 0; k < sizeof(others) / sizeof(*others); k++)
			if (!json_object_get(site, others[k]))
				json_object_set_new(site, others[k], json_integer(0));
	}
}

json_t *with_frames(json_t *root)
{
	json_t *frames = json_object_get(root, "frames");

	if (json_array_size(json_object_get(root, "sites")) > 10000)
		put_zeros(root);
	put_frames(json_object_get(root, "sites"), frames);
	put_frames(json_object_get(root, "free_sites"), frames);
	return root;
}

json_t *load_json(struct test *t, const char *path)
{
	json_error_t e;
	json_t *root = with_frames(json_load_file(path, JSON_REJECT_DUPLICATES, &e));

	must(t, root != NULL, "%s is no JSON: line %d: %s", path, e.line, e.text);
	return root;
}

/* ---- what holds in every report */

static const char *const six[] = { "alloc_calls", "alloc_bytes", "free_calls", "free_bytes", "live_blocks", "live_bytes" };

/* How many of the six a report has; the others are null in it. */
static int n_recorded(json_t *root)
{
	return !strcmp(jstr(root, "mode"), "full") || !strcmp(jstr(root, "mode"), "leak") ? 6 : 2;
}

static void want_balance(struct test *t, json_t *c, int n, const char *where)
{
	uint64_t v[6];

	for (int i = 0; i < n; i++)
		v[i] = ju64(t, c, six[i]);
	for (int i = n; i < 6; i++)
		want(t, json_is_null(jget(c, six[i])), "%s: %s, wanted null in this mode", where, six[i]);
	if (n < 6)
		return;
	want(t, v[0] - v[2] == v[4], "%s: alloc_calls - free_calls, wanted %" PRIu64 " - %" PRIu64 " = live_blocks, got %" PRIu64, where,
	     v[0], v[2], v[4]);
	want(t, v[1] - v[3] == v[5], "%s: alloc_bytes - free_bytes, wanted %" PRIu64 " - %" PRIu64 " = live_bytes, got %" PRIu64, where,
	     v[1], v[3], v[5]);
}

/* What the sites of each process add up to, by its id; those of ids that no process has are in [0]. */
struct six_sums {
	uint64_t v[6], n_sites;
};

static struct six_sums *sum_sites(struct test *t, json_t *sites, uint64_t max_id, int n)
{
	struct six_sums *sums = calloc(max_id + 1, sizeof(*sums));
	char where[64];
	size_t k;
	json_t *s;

	must(t, sums, "out of memory");
	json_array_foreach(sites, k, s) {
		uint64_t id = ju64(t, s, "process");
		struct six_sums *sum = &sums[id <= max_id ? id : 0];

		snprintf(where, sizeof(where), "site %zu", k);
		want_balance(t, s, n, where);
		sum->n_sites++;
		for (int c = 0; c < n; c++)
			sum->v[c] += ju64(t, s, six[c]);
	}
	return sums;
}

/* --free-stacks: over the rows of a site, frees add up to its own; what found no room is of any site. */
static void want_frees_add_up(struct test *t, json_t *root)
{
	json_t *rows = jget(root, "frees"), *sites = jget(root, "sites"), *row;
	uint64_t full = ju64(t, root, "losses.frees_full"), n_sites = json_array_size(sites), *calls, *bytes;
	size_t i;

	calls = calloc(n_sites + 1, sizeof(*calls));
	bytes = calloc(n_sites + 1, sizeof(*bytes));
	must(t, calls && bytes, "out of memory");
	json_array_foreach(rows, i, row) {
		uint64_t site = ju64(t, row, "site");

		must(t, site < n_sites && ju64(t, row, "where") < json_array_size(jget(root, "free_sites")), "row %zu of frees names nothing", i);
		calls[site] += ju64(t, row, "calls");
		bytes[site] += ju64(t, row, "bytes");
		want(t, ju64(t, row, "cross_calls") <= ju64(t, row, "calls"), "row %zu of frees: cross_calls, wanted no more than calls", i);
	}
	json_array_foreach(sites, i, row) {
		uint64_t own = ju64(t, row, "free_calls"), own_bytes = ju64(t, row, "free_bytes");

		want(t, calls[i] <= own && own - calls[i] <= full && (full || bytes[i] == own_bytes),
		     "site %zu: frees in rows, wanted %" PRIu64 " (%" PRIu64 " bytes), got %" PRIu64 " (%" PRIu64 ")", i, own, own_bytes, calls[i], bytes[i]);
	}
	free(calls);
	free(bytes);
}

#define OTHER_CLOCK_NS 60000000000ull	/* clocks that are mixed up differ by more; a report under load is read in less */

/* Times of sites lie within the trace. */
static void want_times(struct test *t, json_t *root)
{
	uint64_t limit_ns = ju64(t, root, "duration_ns") + OTHER_CLOCK_NS;
	static const char *const keys[] = { "first_ns", "last_ns", "oldest_ns" };
	json_t *s;
	size_t i;

	json_array_foreach(jget(root, "sites"), i, s)
		for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++)
			want(t, (uint64_t)json_integer_value(jget(s, keys[k])) < limit_ns, "site %zu: %s %" PRIu64 " in a trace of %" PRIu64 " ns", i,
			     keys[k], (uint64_t)json_integer_value(jget(s, keys[k])), (uint64_t)(limit_ns - OTHER_CLOCK_NS));
}

/* Moments follow each other, and none is after the end. */
static void want_moments(struct test *t, json_t *list, uint64_t end_ns, const char *what)
{
	uint64_t before_ns = 0;
	json_t *point;
	size_t i;

	json_array_foreach(list, i, point) {
		uint64_t t_ns = ju64(t, point, "t_ns");

		want(t, t_ns >= before_ns && t_ns <= end_ns, "%s %zu: at %" PRIu64 " ns, after one at %" PRIu64 ", of a trace of %" PRIu64, what, i,
		     t_ns, before_ns, end_ns);
		before_ns = t_ns;
	}
}

static uint64_t or_none(json_t *j, const char *key)
{
	return (uint64_t)json_integer_value(jget(j, key));
}

/* --mode leak: what is not known of all is what is not known of each; calls that came after the end are of any of them. */
static void want_unsure(struct test *t, json_t *root)
{
	uint64_t n_unread = 0, unsure = 0, all = or_none(root, "live_unsure_blocks");
	bool others = false;
	json_t *p;
	size_t i;

	json_array_foreach(jget(root, "probes"), i, p)
		others |= json_is_true(jget(p, "frees_probed"));
	json_array_foreach(jget(root, "processes"), i, p) {
		uint64_t live = or_none(p, "totals.live_blocks"), own = or_none(p, "live_unsure_blocks");

		/* all that it has, but for what other allocators have, which is known all the same */
		want(t, own <= live && (own == live || (own && others) || !jget(p, "heaps_not_read")), "process %zu: of %" PRIu64 " live blocks %" PRIu64 " are unsure, its heap was%s read", i,
		     live, own, jget(p, "heaps_not_read") ? " not" : "");
		unsure += own;
		n_unread += or_none(p, "heaps_not_read");
	}
	want_eq(t, "heaps_not_read, the sum of all processes", n_unread, or_none(root, "heaps_not_read"));
	want(t, all >= unsure && all <= or_none(root, "totals.live_blocks"), "live_unsure_blocks, wanted at least the sum of all processes %" PRIu64 ", got %" PRIu64, unsure, all);
}

void want_invariants(struct test *t, json_t *root)
{
	json_t *processes = jget(root, "processes"), *sites = jget(root, "sites"), *p;
	uint64_t total[6] = { 0 }, max_id = 0;
	struct six_sums *sums;
	size_t i, n_owned = 0;
	int n = n_recorded(root);
	char where[64];

	want(t, !strcmp(jstr(root, "schema"), "malloctrace/2"), "schema, wanted malloctrace/2, got '%s'", jstr(root, "schema"));
	must(t, json_is_array(processes) && json_is_array(sites), "processes and sites, wanted arrays");
	want_balance(t, jget(root, "totals"), n, "totals");
	json_array_foreach(processes, i, p) {
		uint64_t id = ju64(t, p, "id");

		must(t, id && id < 10000000, "process %zu: its id is %" PRIu64, i, id);
		max_id = id > max_id ? id : max_id;
	}
	sums = sum_sites(t, sites, max_id, n);
	want_times(t, root);
	want_unsure(t, root);
	want_moments(t, jget(root, "snapshots"), ju64(t, root, "duration_ns"), "snapshots");
	json_array_foreach(processes, i, p) {
		uint64_t id = ju64(t, p, "id");

		snprintf(where, sizeof(where), "process %" PRIu64, id);
		want_balance(t, jget(p, "totals"), n, where);
		want_moments(t, jget(p, "timeline"), ju64(t, root, "duration_ns"), "a process's timeline");
		n_owned += sums[id].n_sites;
		for (int c = 0; c < n; c++) {
			uint64_t own = ju64(t, jget(p, "totals"), six[c]);

			want(t, own == sums[id].v[c], "process %" PRIu64 " %s, wanted the sum of its sites %" PRIu64 ", got %" PRIu64, id,
			     six[c], sums[id].v[c], own);
			total[c] += own;
		}
		sums[id].n_sites = 0;	/* an id is given once */
	}
	free(sums);
	want_eq(t, "sites that belong to a process", json_array_size(sites), n_owned);
	for (int c = 0; c < n; c++) {
		uint64_t got = ju64(t, jget(root, "totals"), six[c]);

		want(t, got == total[c], "totals.%s, wanted the sum of the processes %" PRIu64 ", got %" PRIu64, six[c], total[c], got);
	}
	if (jget(root, "frees"))
		want_frees_add_up(t, root);
}

void want_lossless(struct test *t, json_t *root)
{
	const char *key;
	json_t *v;

	want_u64(t, root, "losses.total", 0);
	json_object_foreach(jget(root, "losses"), key, v)
		if (strcmp(key, "total") && json_integer_value(v))
			want(t, false, "losses.%s, wanted 0, got %" PRIi64, key, (int64_t)json_integer_value(v));
}

void want_scan(struct test *t, json_t *root)
{
	json_t *site, *age;
	size_t i, k;

	if (n_recorded(root) < 6) {
		want(t, !jget(root, "scan"), "scan, wanted none where no blocks are kept");
		return;
	}
	want_u64(t, root, "scan.live_blocks", ju64(t, root, "totals.live_blocks"));
	want_u64(t, root, "scan.live_bytes", ju64(t, root, "totals.live_bytes"));
	/* and each of them has its age */
	json_array_foreach(jget(root, "sites"), i, site) {
		uint64_t blocks = 0, bytes = 0;

		json_array_foreach(jget(site, "ages"), k, age) {
			blocks += ju64(t, age, "blocks");
			bytes += ju64(t, age, "bytes");
		}
		want_u64(t, site, "live_blocks", blocks);
		want_u64(t, site, "live_bytes", bytes);
	}
}

json_t *process_of(struct test *t, json_t *root, pid_t pid, unsigned int nth)
{
	unsigned int seen = 0;
	json_t *p;
	size_t i;

	json_array_foreach(jget(root, "processes"), i, p)
		if (ju64(t, p, "pid") == (uint64_t)pid && seen++ == nth)
			return p;
	must(t, false, "process %d (life %u), wanted in the report, got %zu processes", pid, nth + 1, json_array_size(jget(root, "processes")));
	return NULL;
}

/* ---- ledgers */

static const char *const led_names[LED_N] = {
	[LED_ALLOC_CALLS] = "alloc_calls", [LED_ALLOC_BYTES] = "alloc_bytes", [LED_FREE_CALLS] = "free_calls",
	[LED_FREE_BYTES] = "free_bytes", [LED_REALLOC_CALLS] = "realloc_calls", [LED_TEMP_CALLS] = "temp_calls",
	[LED_FAILED_CALLS] = "failed_calls", [LED_PEAK_BYTES] = "peak_bytes", [LED_AT_PEAK_BYTES] = "at_peak_bytes",
	[LED_MIN_SIZE] = "min_size", [LED_MAX_SIZE] = "max_size",
};

bool ledger__parse(struct ledger *l, const char *text)
{
	int one = 0;

	memset(l, 0, sizeof(*l));
	for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		if (!strncmp(line, "site ", 5)) {
			struct led_site *s = &l->site[l->n++];
			int at = 0;

			if (l->n == LED_MAX_SITES || sscanf(line, "site %63s %63s%n", s->name, s->func, &at) != 2)
				return false;
			line += at;
			for (int i = 0; i < LED_N; i++) {
				char *end;

				s->v[i] = strtoull(line, &end, 10);
				if (end == line)
					return false;
				line = end;
			}
		} else if (!strncmp(line, "note ", 5)) {
			if (l->n_notes == sizeof(l->note) / sizeof(l->note[0]) ||
			    sscanf(line, "note %31s %" SCNu64, l->note[l->n_notes].key, &l->note[l->n_notes].v) != 2)
				return false;
			l->n_notes++;
		} else if (!strncmp(line, "proc ", 5)) {
			if (sscanf(line, "proc %" SCNu64 " %" SCNu64 " %d", &l->peak_bytes, &l->unknown_frees, &one) != 3)
				return false;
			l->one_thread = one;
		} else if (!strncmp(line, "end", 3)) {
			return true;
		} else {
			return false;
		}
	}
	return false;
}

uint64_t ledger__note(struct test *t, const struct ledger *l, const char *key)
{
	for (unsigned int i = 0; i < l->n_notes; i++)
		if (!strcmp(l->note[i].key, key))
			return l->note[i].v;
	must(t, false, "no '%s' in the fixture's ledger", key);
	return 0;
}

uint64_t ledger__sum(const struct ledger *l, enum led_count which)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < l->n; i++)
		sum += l->site[i].v[which];
	return sum;
}

const struct led_site *ledger__site(struct test *t, const struct ledger *l, const char *name)
{
	for (unsigned int i = 0; i < l->n; i++)
		if (!strcmp(l->site[i].name, name))
			return &l->site[i];
	must(t, false, "no site '%s' in the fixture's ledger", name);
	return NULL;
}

/* "a|b" names either */
static bool one_of(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = list; n && (p = strstr(p, name)); p += n)
		if ((p == list || p[-1] == '|') && (!p[n] || p[n] == '|'))
			return true;
	return false;
}

static int frame_of(json_t *site, const char *function)
{
	json_t *stack = jget(site, "stack"), *frame;
	size_t i;

	json_array_foreach(stack, i, frame)
		if (!strcmp(jstr(frame, "function"), function))
			return (int)i;
	return -1;
}

/* Which site of the ledger a site of the report is; its frame's number in *ret_frame. */
static const struct led_site *match(json_t *site, const struct ledger *l, int *ret_frame)
{
	const struct led_site *best = NULL;

	for (unsigned int i = 0; i < l->n; i++) {
		int frame = frame_of(site, l->site[i].name);

		if (frame >= 0 && (!best || frame < *ret_frame)) {
			best = &l->site[i];
			*ret_frame = frame;
		}
	}
	return best;
}

static bool checked(unsigned int checks, const struct ledger *l, enum led_count i)
{
	if (checks & LED_COUNT)
		return i == LED_ALLOC_CALLS || i == LED_ALLOC_BYTES || i == LED_REALLOC_CALLS ||
		       (l->one_thread && (i == LED_MIN_SIZE || i == LED_MAX_SIZE));
	switch (i) {
	case LED_REALLOC_CALLS:
	case LED_FAILED_CALLS: return checks & LED_REALLOC;
	case LED_TEMP_CALLS: return checks & LED_TEMP;
	case LED_PEAK_BYTES:
	case LED_AT_PEAK_BYTES:
	case LED_MIN_SIZE:
	case LED_MAX_SIZE: return (checks & LED_PEAK) && l->one_thread;
	default: return true;
	}
}

/* Peaks and extremes of sites that share a function do not add up. */
static bool adds_up(enum led_count i)
{
	return i != LED_PEAK_BYTES && i != LED_MIN_SIZE && i != LED_MAX_SIZE;
}

/*
 * A row of several sites of one stack, one of before its unwind tables were there and one of after, say, has the sum of their peaks, and
 * says so. No part of it held more than it allocated; and had the sum been held at the process's peak, or were it held now, it would be exact.
 */
static void want_bound(struct test *t, const struct led_site *ls, uint64_t got)
{
	uint64_t live = ls->v[LED_ALLOC_BYTES] - ls->v[LED_FREE_BYTES];

	want(t, got >= ls->v[LED_PEAK_BYTES] && got <= ls->v[LED_ALLOC_BYTES] && got > ls->v[LED_AT_PEAK_BYTES] && got > live,
	     "site %s peak_bytes, at most, wanted %llu to %llu and more than %llu and %llu, got %llu", ls->name,
	     (unsigned long long)ls->v[LED_PEAK_BYTES], (unsigned long long)ls->v[LED_ALLOC_BYTES],
	     (unsigned long long)ls->v[LED_AT_PEAK_BYTES], (unsigned long long)live, (unsigned long long)got);
}

static void want_site(struct test *t, json_t *root, uint64_t id, const struct ledger *l, const struct led_site *ls, unsigned int checks)
{
	uint64_t sum[LED_N] = { 0 };
	bool at_most = false;
	unsigned int n = 0;
	char what[160];
	json_t *s;
	size_t k;

	json_array_foreach(jget(root, "sites"), k, s) {
		int frame = -1;

		if (ju64(t, s, "process") != id || match(s, l, &frame) != ls)
			continue;
		n++;
		at_most |= json_is_true(jget(s, "peak_at_most"));
		for (int i = 0; i < LED_N; i++)
			if (checked(checks, l, (enum led_count)i))
				sum[i] += ju64(t, s, led_names[i]);
		if (!(checks & LED_STACKS))
			continue;
		want(t, frame == 0, "%s: its frame in the stack, wanted 0, got %d", ls->name, frame);
		want(t, frame_of(s, "main") > frame || frame_of(s, "thread_main") > frame, "%s: main in the chain, wanted, not found", ls->name);
		want(t, one_of(ls->func, jstr(s, "function")), "%s: function, wanted %s, got '%s'", ls->name, ls->func, jstr(s, "function"));
	}
	for (int i = 0; i < LED_N; i++) {
		if (!checked(checks, l, (enum led_count)i) || (n != 1 && !adds_up((enum led_count)i)))
			continue;
		if (i == LED_PEAK_BYTES && at_most) {
			want_bound(t, ls, sum[i]);
			continue;
		}
		snprintf(what, sizeof(what), "site %s %s", ls->name, led_names[i]);
		want_eq(t, what, ls->v[i], sum[i]);
	}
}

void want_ledger(struct test *t, json_t *root, json_t *process, const struct ledger *l, unsigned int checks)
{
	json_t *totals = jget(process, "totals");
	uint64_t id = ju64(t, process, "id");

	if (!(checks & LED_TOTALS))
		for (unsigned int i = 0; i < l->n; i++)
			want_site(t, root, id, l, &l->site[i], checks);
	if (!(checks & (LED_ONLY | LED_TOTALS)))
		return;
	for (int i = 0; i <= LED_FAILED_CALLS; i++)
		if (checked(checks, l, (enum led_count)i))
			want_u64(t, totals, led_names[i], ledger__sum(l, (enum led_count)i));
	if (checks & LED_COUNT)
		return;
	want_u64(t, totals, "live_blocks", ledger__sum(l, LED_ALLOC_CALLS) - ledger__sum(l, LED_FREE_CALLS));
	want_u64(t, totals, "live_bytes", ledger__sum(l, LED_ALLOC_BYTES) - ledger__sum(l, LED_FREE_BYTES));
	/* whose block that was cannot be told where some are left out, nor where frees are not seen */
	if (!jget(root, "within") && !strcmp(jstr(root, "mode"), "full"))
		want_u64(t, totals, "unknown_frees", l->unknown_frees);
	if ((checks & LED_PEAK) && l->one_thread)
		want_u64(t, totals, "peak_bytes", l->peak_bytes);
}

uint64_t site_sum(struct test *t, json_t *root, json_t *process, const char *function, const char *counter)
{
	uint64_t id = ju64(t, process, "id"), sum = 0;
	json_t *s;
	size_t k;

	json_array_foreach(jget(root, "sites"), k, s)
		if (ju64(t, s, "process") == id && frame_of(s, function) >= 0)
			sum += ju64(t, s, counter);
	return sum;
}
