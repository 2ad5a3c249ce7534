// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns callgrind's files, as callgrind_annotate and KCachegrind read them: what
 * each line of each function allocates itself, and what it allocates through
 * each call. The events are the metrics, the one that was requested first.
 *
 *	ob=(1) /usr/bin/redis-server
 *	fl=(1) src/server.c
 *	fn=(1) call
 *	cob=(1)
 *	cfi=(2) src/dict.c
 *	cfn=(2) _dictExpand
 *	calls=61204 0
 *	3560 6291456 1204 325058560 61204 6291456 0
 *
 * What always holds: the functions' own costs add up to the sites' weights. A
 * call that a stack makes twice (recursion) is counted once for it.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "files/export.h"
#include "files/export_parts.h"
#include "files/json/json_writer.h"
#include "util/ids.h"
#include "util/util.h"

#define NO_CALLEE UINT32_MAX

struct cost {
	uint64_t v[WEIGHTS_MAX];
	uint64_t calls;
	uint32_t last_site;	/* + 1: the last one that was added */
};

struct callgrind {
	FILE *out;
	const struct snapshot *s;
	struct functions functions;
	const struct metric *metrics[WEIGHTS_MAX];
	size_t n_metrics;
	struct key_ids keys;	/* (function, line, callee) */
	struct vec(struct cost) costs;
	struct string_ids names[3];	/* of objects, files, functions: written once, then by number */
	uint32_t (*ids)[3];	/* by function: those numbers + 1, 0: not requested yet */
	size_t n_written[3];
};

enum { OBJECTS, FILES, FUNCTIONS };

static void add(struct callgrind *c, uint32_t site, const struct stack_frame *at, uint32_t callee)
{
	const struct snap_site *from = &c->s->sites[site];
	struct cost *cost;
	uint32_t id;
	bool is_new;

	key_ids__get(&c->keys, (struct key){ at->function, at->line, callee }, &id, &is_new);
	if (is_new)
		vec_push(&c->costs);
	cost = &c->costs.v[id];
	if (cost->last_site == site + 1)
		return;
	cost->last_site = site + 1;
	for (size_t i = 0; i < c->n_metrics; i++)
		cost->v[i] += metric__of(c->metrics[i], from);
	cost->calls += from->c.alloc_calls;
}

static void collect(struct callgrind *c)
{
	_cleanup_free_ struct stack_frame *stack = xcalloc(c->functions.max_frames + 1, sizeof(*stack));

	for (size_t i = 0; i < c->s->n_sites; i++) {
		size_t n = functions__stack(&c->functions, &c->s->sites[i], stack);

		for (size_t k = 0; k + 1 < n; k++)
			add(c, (uint32_t)i, &stack[k], stack[k + 1].function);
		add(c, (uint32_t)i, &stack[n - 1], NO_CALLEE);
	}
}

/* "(7) name" the first time, "(7)" from then on. *id: its number + 1, or 0. */
static void put_name(struct callgrind *c, const char *key, int kind, const char *name, uint32_t *id)
{
	if (!*id) {
		string_ids__get(&c->names[kind], name && *name ? name : "???", id);
		(*id)++;
	}
	fputs(key, c->out);
	fputs("=(", c->out);
	digits__put(c->out, *id);
	fputc(')', c->out);
	if (*id > c->n_written[kind]) {
		fputc(' ', c->out);
		fputs(c->names[kind].v[*id - 1], c->out);
		c->n_written[kind]++;
	}
	fputc('\n', c->out);
}

/* names of one function are distinguished by file and object, which are always given */
static void put_function(struct callgrind *c, uint32_t function, const char *const keys[3])
{
	const struct function *f = &c->functions.v[function];
	uint32_t *ids = c->ids[function];

	put_name(c, keys[OBJECTS], OBJECTS, f->module, &ids[OBJECTS]);
	put_name(c, keys[FILES], FILES, f->file, &ids[FILES]);
	put_name(c, keys[FUNCTIONS], FUNCTIONS, f->name, &ids[FUNCTIONS]);
}

static int by_key(const void *pa, const void *pb, void *arg)
{
	const struct callgrind *c = arg;
	const struct key *a = &c->keys.v[*(const uint32_t *)pa], *b = &c->keys.v[*(const uint32_t *)pb];

	/* a function's own costs before its calls */
	return ORDER(a->a, b->a) ?: ORDER(a->c != NO_CALLEE, b->c != NO_CALLEE) ?: ORDER(a->b, b->b) ?: ORDER(a->c, b->c);
}

static void put_body(struct callgrind *c)
{
	static const char *const own[3] = { "ob", "fl", "fn" }, *const callee[3] = { "cob", "cfi", "cfn" };
	_cleanup_free_ uint32_t *order = xcalloc(c->keys.n + 1, sizeof(*order));
	uint64_t function = UINT64_MAX;

	c->ids = xcalloc(c->functions.n + 1, sizeof(*c->ids));
	for (uint32_t i = 0; i < c->keys.n; i++)
		order[i] = i;
	qsort_r(order, c->keys.n, sizeof(*order), by_key, c);
	for (size_t i = 0; i < c->keys.n; i++) {
		const struct key *k = &c->keys.v[order[i]];
		const struct cost *cost = &c->costs.v[order[i]];

		if (k->a != function) {
			fputc('\n', c->out);
			put_function(c, (uint32_t)k->a, own);
			function = k->a;
		}
		if (k->c != NO_CALLEE) {
			put_function(c, (uint32_t)k->c, callee);
			fputs("calls=", c->out);
			digits__put(c->out, MAX(cost->calls, 1u));
			fputs(" 0\n", c->out);
		}
		digits__put(c->out, k->b);
		for (size_t m = 0; m < c->n_metrics; m++) {
			fputc(' ', c->out);
			digits__put(c->out, cost->v[m]);
		}
		fputc('\n', c->out);
	}
}

static void put_header(struct callgrind *c)
{
	const struct snapshot *s = c->s;
	struct export_notes notes;

	export_notes__init(&notes, s);
	fprintf(c->out, "# callgrind format\nversion: 1\ncreator: malloctrace %s\n", s->version);
	if (s->n_processes == 1 && s->processes->pid > 0)
		fprintf(c->out, "pid: %d\n", s->processes->pid);
	fputs("cmd: ", c->out);
	for (size_t i = 0; i < s->n_processes; i++)
		fprintf(c->out, "%s%s", i ? ", " : "",
			s->processes[i].exe && *s->processes[i].exe ? s->processes[i].exe : s->processes[i].comm);
	fputs("\npart: 1\n", c->out);
	for (size_t i = 0; i < notes.n; i++)
		fprintf(c->out, "desc: %s\n", notes.v[i]);
	export_notes__done(&notes);
	fputs("positions: line\n", c->out);
	fputs("events:", c->out);
	for (size_t i = 0; i < c->n_metrics; i++)
		fprintf(c->out, " %s", c->metrics[i]->name);
	fputs("\nsummary:", c->out);
	for (size_t i = 0; i < c->n_metrics; i++)
		fprintf(c->out, " %" PRIu64, weights__sum(s, c->metrics[i]));
	fputc('\n', c->out);
}

int callgrind__write(FILE *out, const struct snapshot *s, const struct export_opts *o, struct err *e)
{
	struct callgrind c = { .out = out, .s = s };

	functions__init(&c.functions, s);
	c.n_metrics = weights__of(s, o ? o->metric : NULL, c.metrics);
	collect(&c);
	put_header(&c);
	put_body(&c);
	functions__done(&c.functions);
	key_ids__done(&c.keys);
	vec_done(&c.costs);
	free(c.ids);
	for (size_t i = 0; i < ARRAY_SIZE(c.names); i++)
		string_ids__done(&c.names[i]);
	return ferror(out) ? err_set(e, -EIO, "cannot write the callgrind profile: %s", strerror(EIO)) : 0;
}
