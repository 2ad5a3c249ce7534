// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how elements of "processes" and "sites" are read. What always holds: a
 * site's process is there.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "bpf/abi.h"
#include "export/json_fields.h"
#include "export/json_memory.h"
#include "export/json_tags.h"
#include "util/util.h"

/* Far beyond what malloctrace writes: a process keeps a few thousand points. */
#define ROWS_MAX 1000000

#define PROCESS(key, type, field) { key, type, offsetof(struct snap_process, field) }
#define SITE(key, type, field) { key, type, offsetof(struct snap_site, field) }
#define POINT(name) { #name, FIELD_U64, offsetof(struct snap_point, name) }
#define TREND(base) \
	{ "since_baseline_bytes", FIELD_I64, offsetof(base, since_baseline_bytes) }, \
	{ "verdict", FIELD_STR, offsetof(base, trend.verdict) }, { "why", FIELD_STR, offsetof(base, trend.why) }, \
	{ "growth_bytes_per_s", FIELD_DOUBLE, offsetof(base, trend.growth_bytes_per_s) }

static const struct field process_fields[] = {
	PROCESS("id", FIELD_U32, id),
	PROCESS("pid", FIELD_INT, pid),
	PROCESS("comm", FIELD_STR, comm),
	PROCESS("exe", FIELD_STR, exe),
	PROCESS("age_at_attach_ns", FIELD_U64, age_at_attach_ns),
	PROCESS("ended", FIELD_BOOL, ended),
	PROCESS("exit_signal", FIELD_INT, exit_signal),
	PROCESS("oom_killed", FIELD_BOOL, oom_killed),
	PROCESS("cgroup", FIELD_STR, cgroup),
	PROCESS("container", FIELD_STR, container),
	PROCESS("unit", FIELD_STR, unit),
	PROCESS("rss_bytes", FIELD_U64, rss_bytes),
	PROCESS("peak_rss_bytes", FIELD_U64, most_rss_bytes),
	PROCESS("rss_at_attach_bytes", FIELD_U64, rss_at_attach_bytes),
	PROCESS("probe_hits", FIELD_U64, probe_hits),
	PROCESS("peak_at_ns", FIELD_U64, peak_at_ns),
	PROCESS("members", FIELD_U32, n_members),
	PROCESS("ended_members", FIELD_U32, n_ended),
	PROCESS("container_pid", FIELD_INT, container_pid),
	PROCESS("parent", FIELD_U32, parent),
	PROCESS("unseen_ns", FIELD_U64, unseen_ns),
	PROCESS("lost_blocks", FIELD_U64, lost_blocks),
	PROCESS("lost_stacks", FIELD_U64, lost_stacks),
	PROCESS("missed_frees", FIELD_U64, missed_frees),
	TREND(struct snap_process),
};

static const struct field thread_fields[] = {
	{ "tid", FIELD_INT, offsetof(struct snap_thread, tid) },
	{ "comm", FIELD_STR, offsetof(struct snap_thread, comm) },
	{ "ended", FIELD_BOOL, offsetof(struct snap_thread, ended) },
	{ "stands_for", FIELD_U64, offsetof(struct snap_thread, stands_for) },
};

static const struct field point_fields[] = { POINT(t_ns), POINT(live_bytes), POINT(live_blocks), POINT(alloc_calls), POINT(rss_bytes) };

static const struct field size_fields[] = {
	{ "below", FIELD_U64, offsetof(struct snap_size, below) },
	{ "alloc_calls", FIELD_U64, offsetof(struct snap_size, alloc_calls) },
	{ "live_blocks", FIELD_U64, offsetof(struct snap_size, live_blocks) },
};

static const struct field lifetime_fields[] = {
	{ "below_ns", FIELD_U64, offsetof(struct snap_lifetime, below_ns) },
	{ "blocks", FIELD_U64, offsetof(struct snap_lifetime, blocks) },
};

/* ---- processes */

static bool is_number(json_t *from, const char *key)
{
	return json_is_number(json_object_get(from, key));
}

static int read_threads(struct reader *r, json_t *from, struct snap_process *to)
{
	struct snap_thread *v;
	json_t *array;
	size_t n;
	int err = reader__array(r, from, "threads", ROWS_MAX, &array, &n);

	v = err ? NULL : snapshot__alloc(r->s, n + 1, sizeof(*v));
	for (size_t i = 0; i < n && !err; i++) {
		json_t *t = json_array_get(array, i), *totals = json_object_get(t, "totals");

		v[i].comm = "";
		err = reader__fields(r, t, &v[i], thread_fields, ARRAY_SIZE(thread_fields), "a thread");
		if (!err && totals)
			err = reader__counters(r, totals, &v[i].c, NULL, "a thread's totals");
	}
	to->threads = v;
	to->n_threads = n;
	return err;
}

static int read_points(struct reader *r, json_t *from, const char *key, const struct snap_point **ret, size_t *ret_n)
{
	struct snap_point *v;
	json_t *array;
	size_t n;
	int err = reader__array(r, from, key, ROWS_MAX, &array, &n);

	v = err ? NULL : snapshot__alloc(r->s, n + 1, sizeof(*v));
	for (size_t i = 0; i < n && !err; i++)
		err = reader__fields(r, json_array_get(array, i), &v[i], point_fields, ARRAY_SIZE(point_fields), key);
	*ret = v;
	*ret_n = n;
	return err;
}

static int read_histograms(struct reader *r, json_t *from, struct snap_process *to)
{
	struct snap_lifetime *lives = NULL;
	struct snap_size *sizes = NULL;
	size_t n_sizes, n_lives = 0;
	json_t *array, *array2 = NULL;
	int err = reader__array(r, from, "sizes", ROWS_MAX, &array, &n_sizes);

	if (!err)
		err = reader__array(r, from, "lifetimes", ROWS_MAX, &array2, &n_lives);
	if (err)
		return err;
	sizes = snapshot__alloc(r->s, n_sizes + 1, sizeof(*sizes));
	lives = snapshot__alloc(r->s, n_lives + 1, sizeof(*lives));
	for (size_t i = 0; i < n_sizes && !err; i++) {
		sizes[i].below = UINT64_MAX;
		err = reader__fields(r, json_array_get(array, i), &sizes[i], size_fields, ARRAY_SIZE(size_fields), "sizes");
	}
	for (size_t i = 0; i < n_lives && !err; i++) {
		lives[i].below_ns = UINT64_MAX;
		err = reader__fields(r, json_array_get(array2, i), &lives[i], lifetime_fields, ARRAY_SIZE(lifetime_fields), "lifetimes");
	}
	to->sizes = sizes;
	to->n_sizes = n_sizes;
	to->lifetimes = lives;
	to->n_lifetimes = n_lives;
	return err;
}

static int read_growth(struct reader *r, json_t *from, struct growth *to)
{
	json_t *growth = json_object_get(from, "growth");
	int err = 0;

	for (enum growth_kind k = GROWTH_FAULT; growth && k < GROWTH_N_KINDS && !err; k++) {
		char calls[32], bytes[32];
		const struct field fields[] = {
			{ calls, FIELD_U64, offsetof(struct growth, calls) + k * sizeof(uint64_t) },
			{ bytes, FIELD_U64, offsetof(struct growth, bytes) + k * sizeof(uint64_t) },
		};

		snprintf(calls, sizeof(calls), "%s_calls", growth__name(k));
		snprintf(bytes, sizeof(bytes), "%s_bytes", growth__name(k));
		err = reader__fields(r, growth, to, fields, ARRAY_SIZE(fields), "growth");
	}
	return err;
}

int reader__process(struct reader *r, json_t *from, struct snap_process *to)
{
	json_t *totals;
	uint32_t index;
	bool is_new;
	int err;

	to->comm = "";
	err = reader__fields(r, from, to, process_fields, ARRAY_SIZE(process_fields), "a process");
	if (err)
		return err;
	to->trend.known = is_number(from, "growth_bytes_per_s");
	err = reader__time(r, json_object_get(from, "started"), "started", &to->wall_started_ns);
	totals = json_object_get(from, "totals");
	if (totals && !err)
		err = reader__counters(r, totals, &to->c, NULL, "a process's totals") ?: reader__std_error(r, totals, &to->error, "a process's totals");
	if (!err)
		err = key_ids__get(&r->process_ids, (struct key){ .a = to->id }, &index, &is_new);
	if (!err && !is_new)
		err = err_set(r->e, -EINVAL, "two processes have the id %" PRIu32, to->id);
	return err ?: reader__memory(r, from, &to->memory) ?: reader__blind(r, from, &to->blind) ?: read_growth(r, from, &to->growth) ?: read_threads(r, from, to) ?:
	       read_points(r, from, "timeline", &to->timeline, &to->n_timeline) ?: read_histograms(r, from, to);
}

/* ---- sites */

static const struct field site_fields[] = {
	SITE("function", FIELD_STR, function),
	SITE("tid", FIELD_INT, tid),
	SITE("thread", FIELD_STR, thread),
	SITE("at_peak_bytes", FIELD_U64, at_peak_bytes),
	SITE("min_size", FIELD_U64, min_size),
	SITE("max_size", FIELD_U64, max_size),
	SITE("oldest_ns", FIELD_U64, oldest_ns),
	SITE("first_ns", FIELD_U64, first_ns),
	SITE("last_ns", FIELD_U64, last_ns),
	SITE("lifetime_mean_ns", FIELD_U64, lifetime_sum_ns),
	SITE("older_blocks", FIELD_U64, older_blocks),
	SITE("older_bytes", FIELD_U64, older_bytes),
	SITE("cross_frees", FIELD_U64, cross_frees),
	SITE("guessed_calls", FIELD_U64, guessed_calls),
	TREND(struct snap_site),
};

int reader__older_unsure(struct reader *r, json_t *from)
{
	static const struct field fields[] = {
		{ "blocks", FIELD_U64, offsetof(struct older_unsure, blocks) }, { "bytes", FIELD_U64, offsetof(struct older_unsure, bytes) },
		{ "from_ns", FIELD_U64, offsetof(struct older_unsure, from_ns) },
		{ "below_ns", FIELD_U64, offsetof(struct older_unsure, below_ns) },
	};

	r->s->older_unsure.below_ns = UINT64_MAX;
	return reader__fields(r, from, &r->s->older_unsure, fields, ARRAY_SIZE(fields), "older_unsure");
}

#define AGE(name) { #name, FIELD_U64, offsetof(struct snap_age, name) }

static int read_ages(struct reader *r, json_t *from, struct snap_site *to)
{
	static const struct field fields[] = { AGE(from_ns), AGE(below_ns), AGE(blocks), AGE(bytes) };
	struct snap_age *v;
	json_t *array;
	size_t n;
	int err = reader__array(r, from, "ages", ROWS_MAX, &array, &n);

	v = err ? NULL : snapshot__alloc(r->s, n + 1, sizeof(*v));
	for (size_t i = 0; i < n && !err; i++) {
		v[i].below_ns = UINT64_MAX;
		err = reader__fields(r, json_array_get(array, i), &v[i], fields, ARRAY_SIZE(fields), "ages");
		if (!err && v[i].from_ns >= v[i].below_ns)
			err = err_set(r->e, -EINVAL, "ages: want from_ns below below_ns");
	}
	to->ages = v;
	to->n_ages = n;
	return err;
}

#define MOVES(name) { #name, FIELD_U64, offsetof(struct snap_moves, name) }

static int read_moves(struct reader *r, json_t *from, struct snap_moves *to)
{
	static const struct field fields[] = {
		MOVES(calls), MOVES(moved_calls), MOVES(moved_bytes), MOVES(grown_calls), MOVES(grown_bytes), MOVES(shrunk_calls),
		MOVES(doubled_calls), MOVES(longest),
	};
	json_t *v = json_object_get(from, "moves");

	return v && !json_is_null(v) ? reader__fields(r, v, to, fields, ARRAY_SIZE(fields), "moves") : 0;
}

/* What found no room is of no kind. */
static enum growth_kind growth_of(const char *function)
{
	enum growth_kind kind = GROWTH_FAULT;

	while (kind < GROWTH_N_KINDS && strcmp(function, growth__name(kind)))
		kind++;
	return kind < GROWTH_N_KINDS ? kind : GROWTH_NONE;
}

int reader__end(struct reader *r, json_t *from, uint8_t *ret)
{
	const char *name = json_string_value(json_object_get(from, "end"));

	for (unsigned int i = 0; name && i < SNAPSHOT_N_ENDS; i++)
		if (!strcmp(name, stack_end__name(i))) {
			*ret = (uint8_t)i;
			return 0;
		}
	return name ? err_set(r->e, -EINVAL, "a site: end: want a way in which stacks end") : 0;
}

int reader__process_of(struct reader *r, json_t *from, uint32_t *ret)
{
	size_t n_processes = r->process_ids.n;
	json_t *process = json_object_get(from, "process");
	int err;

	if (!json_is_integer(process) || json_integer_value(process) < 0)
		return err_set(r->e, -EINVAL, "a site: process: want the id of a process");
	err = key_ids__get(&r->process_ids, (struct key){ .a = (uint64_t)json_integer_value(process) }, ret, NULL);
	if (!err && r->process_ids.n > n_processes)
		return err_set(r->e, -EINVAL, "a site: process: there is none with the id %lld", (long long)json_integer_value(process));
	return err;
}

static int read_site(struct reader *r, json_t *from, void *v)
{
	struct snap_site *to = v;
	int err;

	to->function = "";
	err = reader__fields(r, from, to, site_fields, ARRAY_SIZE(site_fields), "a site");
	if (!err)
		err = reader__process_of(r, from, &to->process);
	if (err)
		return err;
	to->trend.known = is_number(from, "growth_bytes_per_s");
	to->growth = r->s->growth ? growth_of(to->function) : GROWTH_NONE;
	err = err ?: reader__counters(r, from, &to->c, NULL, "a site") ?: reader__std_error(r, from, &to->error, "a site") ?:
	      read_moves(r, from, &to->moves) ?: reader__end(r, from, &to->end) ?: reader__tag_of_site(r, from, to) ?: read_ages(r, from, to) ?:
	      read_points(r, from, "history", &to->history, &to->n_history) ?: reader__stack(r, from, to);
	/* its sum is not told; the mean is what all ask for */
	if (__builtin_mul_overflow(to->lifetime_sum_ns, to->c.free_calls, &to->lifetime_sum_ns))
		to->lifetime_sum_ns = UINT64_MAX;
	return err;
}

int reader__site(struct reader *r, const struct span *piece, void *to)
{
	return reader__stack_text(r, piece, to, read_site, to);
}
