// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how elements of "processes" and "sites" are read. What always holds: a
 * site's process is there.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "bpf/abi.h"
#include "files/json/json_fields.h"
#include "files/json/json_tags.h"
#include "util/util.h"

/* Far beyond what malloctrace writes: a process keeps a few thousand points. */
#define ROWS_MAX 1000000

static bool is_number(json_t *from, const char *key)
{
	return json_is_number(json_object_get(from, key));
}

int reader__rows(struct reader *r, json_t *from, const char *key, const struct fields *fields, size_t size, const void **ret, size_t *ret_n)
{
	json_t *array;
	char *v;
	size_t n;
	int err = reader__array(r, from, key, ROWS_MAX, &array, &n);

	if (err)
		return err;
	v = snapshot__alloc(r->s, n + 1, size);
	for (size_t i = 0; i < n && !err; i++)
		err = reader__row(r, json_array_get(array, i), v + i * size, fields, key);
	*ret = v;
	*ret_n = n;
	return err;
}

/* ---- processes */

static int read_threads(struct reader *r, json_t *from, struct snap_process *to)
{
	int err = READ_ROWS(r, from, "threads", &thread_fields, &to->threads, &to->n_threads);
	struct snap_thread *v = (struct snap_thread *)to->threads;
	json_t *array = json_object_get(from, "threads");

	for (size_t i = 0; !err && i < to->n_threads; i++) {
		json_t *totals = json_object_get(json_array_get(array, i), "totals");

		v[i].comm = v[i].comm ? v[i].comm : "";
		if (totals)
			err = reader__counters(r, totals, &v[i].c, NULL, "a thread's totals");
	}
	return err;
}

static int read_growth(struct reader *r, json_t *from, struct growth *to)
{
	json_t *growth = json_object_get(from, "growth");
	int err = 0;

	for (enum growth_kind k = GROWTH_FAULT; growth && k < GROWTH_N_KINDS && !err; k++) {
		char calls[32], bytes[32];
		const struct field fields[] = {
			ROW(calls, FIELD_U64, AT(growth, calls) + k * sizeof(uint64_t)),
			ROW(bytes, FIELD_U64, AT(growth, bytes) + k * sizeof(uint64_t)),
		};

		snprintf(calls, sizeof(calls), "%s_calls", growth__name(k));
		snprintf(bytes, sizeof(bytes), "%s_bytes", growth__name(k));
		err = reader__row(r, growth, to, &(struct fields){ fields, ARRAY_SIZE(fields) }, "growth");
	}
	return err;
}

static int read_parts(struct reader *r, json_t *from, struct snap_process *to)
{
	json_t *totals = json_object_get(from, "totals"), *memory = json_object_get(from, "memory"),
	       *blind = json_object_get(from, "blind");
	int err = 0;

	if (totals)
		err = reader__counters(r, totals, &to->c, NULL, "a process's totals") ?:
			      reader__std_error(r, totals, &to->error, "a process's totals");
	to->memory.known = memory && !json_is_null(memory);
	to->memory.grown_known = to->memory.known && is_number(memory, "heap_grown_bytes");
	if (!err && to->memory.known)
		err = reader__row(r, memory, &to->memory, &memory_fields, "memory");
	to->blind.is = blind && !json_is_null(blind);
	if (!err && to->blind.is)
		err = reader__row(r, blind, &to->blind, &blind_fields, "blind");
	return err;
}

int reader__process(struct reader *r, json_t *from, void *row)
{
	static const struct field ended = ROW("ended_members", FIELD_U32, AT(snap_process, n_ended));
	struct snap_process *to = row;
	uint32_t index;
	bool is_new;
	int err;

	to->comm = "";
	err = reader__row(r, from, to, &process_fields, "a process") ?:
		      reader__row(r, from, to, &(struct fields){ &ended, 1 }, "a process");
	if (err)
		return err;
	to->trend.known = is_number(from, "growth_bytes_per_s");
	err = read_parts(r, from, to) ?: key_ids__get(&r->process_ids, (struct key){ .a = to->id }, &index, &is_new);
	if (!err && !is_new)
		err = err_set(r->e, -EINVAL, "two processes have the id %" PRIu32, to->id);
	return err ?: read_growth(r, from, &to->growth) ?: read_threads(r, from, to) ?:
	       READ_ROWS(r, from, "timeline", &point_fields, &to->timeline, &to->n_timeline) ?:
	       READ_ROWS(r, from, "sizes", &size_fields, &to->sizes, &to->n_sizes) ?:
	       READ_ROWS(r, from, "lifetimes", &lifetime_fields, &to->lifetimes, &to->n_lifetimes);
}

/* ---- sites */

static int read_ages(struct reader *r, json_t *from, struct snap_site *to)
{
	int err = READ_ROWS(r, from, "ages", &age_fields, &to->ages, &to->n_ages);

	for (size_t i = 0; i < to->n_ages && !err; i++)
		if (to->ages[i].from_ns >= to->ages[i].below_ns)
			err = err_set(r->e, -EINVAL, "ages: want from_ns below below_ns");
	return err;
}

static int read_moves(struct reader *r, json_t *from, struct snap_moves *to)
{
	json_t *v = json_object_get(from, "moves");

	return v && !json_is_null(v) ? reader__row(r, v, to, &move_fields, "moves") : 0;
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
		return err_set(r->e, -EINVAL, "a site: process: no process has the id %lld",
			       (long long)json_integer_value(process));
	return err;
}

int reader__mean(struct reader *r, json_t *from, uint64_t calls, uint64_t *ret_sum_ns)
{
	static const struct field mean = ROW("lifetime_mean_ns", FIELD_U64, 0);
	int err = reader__row(r, from, ret_sum_ns, &(struct fields){ &mean, 1 }, "a site");

	if (__builtin_mul_overflow(*ret_sum_ns, calls, ret_sum_ns))
		*ret_sum_ns = UINT64_MAX;
	return err;
}

int reader__site(struct reader *r, json_t *from, void *row)
{
	struct snap_site *to = row;
	int err;

	to->function = "";
	err = reader__row(r, from, to, &site_names, "a site") ?: reader__row(r, from, to, &site_fields, "a site") ?:
	      reader__process_of(r, from, &to->process);
	if (err)
		return err;
	to->trend.known = is_number(from, "growth_bytes_per_s");
	to->growth = recording__is_growth(&r->s->recording) ? growth__of(to->function) : GROWTH_NONE;
	return reader__counters(r, from, &to->c, NULL, "a site") ?: reader__std_error(r, from, &to->error, "a site") ?:
	       reader__mean(r, from, to->c.free_calls, &to->lifetime_sum_ns) ?: read_moves(r, from, &to->moves) ?: reader__end(r, from, &to->end) ?:
	       reader__tag_of_site(r, from, to) ?: reader__site_blocks(r, from, to) ?: read_ages(r, from, to) ?:
	       READ_ROWS(r, from, "history", &history_fields, &to->history, &to->n_history) ?: reader__stack(r, from, &to->n_stack, &to->stack);
}
