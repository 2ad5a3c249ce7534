// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how a JSON profile is read. Jansson knows JSON, but makes a tree of what
 * it reads, twenty times as large as the text; so the text is cut into the
 * values of the outermost object and the elements of "processes" and "sites"
 * first, and each of these pieces is a tree for as long as it is read. A
 * piece is all that the cutting knows: where strings and brackets end.
 *
 * What always holds: every piece is checked by Jansson, and no file, however
 * made, needs more memory than some twenty times its size.
 */
#include "files/json/json_read.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "files/json/json_cut.h"
#include "files/json/json_fields.h"
#include "files/json/json_probes.h"
#include "files/json/json_sources.h"
#include "files/json/json_tags.h"
#include "util/nomem.h"
#include "util/util.h"

#define FILE_MAX_BYTES (1ull << 30)
#define SITES_MAX 2000000
#define PROCESSES_MAX 500000
#define SCHEMA "malloctrace/2"

/* ---- the outermost object */

enum { KEY_PROCESSES, KEY_SITES, KEY_FREE_SITES, KEY_FREES, KEY_FRAMES, KEY_SCHEMA, KEY_HEAP };

static const struct {
	const char *key;
	int (*read)(struct reader *r, json_t *v);	/* NULL: read in its turn */
} top_keys[] = {
	[KEY_PROCESSES] = { "processes", NULL },
	[KEY_SITES] = { "sites", NULL },
	[KEY_FREE_SITES] = { "free_sites", NULL },
	[KEY_FREES] = { "frees", NULL },
	[KEY_FRAMES] = { "frames", NULL },
	[KEY_SCHEMA] = { "schema", NULL },
	[KEY_HEAP] = { "heap", NULL },
	{ "tool", reader__tool },
	{ "host", reader__host },
	{ "machine", reader__machine },
	{ "cgroups", reader__cgroups },
	{ "probes", reader__probes },
	{ "totals", reader__totals },
	{ "losses", reader__losses },
	{ "scan", reader__scan },
	{ "older_unsure", reader__older_unsure },
	{ "edges", reader__edges },
	{ "folded", reader__folded },
	{ "hidden", reader__hidden },
	{ "marks", reader__marks },
	{ "stacks", reader__stacks },
	{ "overhead", reader__overhead },
	{ "modules", reader__modules },
	{ "snapshots", reader__taken },
	{ "tags", reader__tags },
	{ "sources", reader__sources },
};

static bool is_key(const struct span *key, const char *name)
{
	return (size_t)(key->end - key->at) == strlen(name) + 2 && !memcmp(key->at + 1, name, strlen(name));
}

static int cut_up(struct reader *r, struct span all, struct span pieces[static ARRAY_SIZE(top_keys)],
		  struct span singles[static RECORDING_FIELDS_MAX])
{
	bool first = true;

	if (!span__take(&all, '{'))
		return err_set(r->e, -EINVAL, "this is not a JSON object");
	while (!span__take(&all, '}')) {
		struct span key, value, *to = NULL;

		if ((!first && !span__take(&all, ',')) || !span__value(&all, &key) || *key.at != '"' ||
		    !span__take(&all, ':') || !span__value(&all, &value))
			return err_set(r->e, -EINVAL, "the JSON object is incomplete or malformed");
		first = false;
		for (size_t i = 0; i < ARRAY_SIZE(top_keys); i++)
			if (is_key(&key, top_keys[i].key))
				to = &pieces[i];
		for (size_t i = 0; i < recording_fields.n; i++)
			if (is_key(&key, recording_fields.v[i].key))
				to = &singles[i];
		if (to && to->at)
			return err_set(r->e, -EINVAL, "the key %.*s appears twice", (int)(key.end - key.at), key.at);
		if (to)
			*to = value;
	}
	span__skip_space(&all);
	return all.at == all.end ? 0 : err_set(r->e, -EINVAL, "something follows the JSON object");
}

/* Values of the outermost object that are no objects and no arrays. */
static int read_singles(struct reader *r, const struct span *singles)
{
	int err = 0;

	for (size_t i = 0; i < recording_fields.n && !err; i++) {
		const struct field *f = &recording_fields.v[i];
		json_t *v = singles[i].at ? reader__parse(r, &singles[i], f->key) : NULL;
		json_t *object;

		if (!singles[i].at)
			continue;
		if (!v)
			return -EINVAL;
		object = json_object();
		err = !object || json_object_set(object, f->key, v) ? err_set(r->e, -ENOMEM, "out of memory") :
		      reader__row(r, object, r->s, &(struct fields){ f, 1 }, "profile");
		json_decref(object);
		json_decref(v);
	}
	return err;
}

static int read_schema(struct reader *r, const struct span *piece)
{
	json_t *v = piece->at ? reader__parse(r, piece, "schema") : NULL;
	const char *schema = json_string_value(v);
	int err = 0;

	if (!schema)
		err = err_set(r->e, -EINVAL, "not a malloctrace profile: \"schema\": \"" SCHEMA "\" is missing");
	else if (strcmp(schema, SCHEMA) && strcmp(schema, "malloctrace/1"))
		err = err_set(r->e, -EINVAL,
			      "this version reads the schemas \"malloctrace/1\" and \"" SCHEMA
			      "\", and the profile has another one");
	json_decref(v);
	return err;
}

/* ---- elements */

static int read_rows(struct reader *r, const struct span *pieces)
{
	struct snapshot *s = r->s;
	struct snap_process *processes;
	int err;

	err = reader__count(r, pieces[KEY_PROCESSES], "processes", PROCESSES_MAX, &s->n_processes) ?:
	      reader__count(r, pieces[KEY_SITES], "sites", SITES_MAX, &s->n_sites);
	if (err)
		return err;
	processes = snapshot__alloc(s, s->n_processes + 1, sizeof(*processes));
	s->processes = processes;
	s->sites = snapshot__alloc(s, s->n_sites + 1, sizeof(*s->sites));
	return reader__elements(r, pieces[KEY_PROCESSES], "processes", reader__process, processes, sizeof(*processes)) ?:
	       reader__elements(r, pieces[KEY_SITES], "sites", reader__site, s->sites, sizeof(*s->sites)) ?:
	       reader__frees(r, &pieces[KEY_FREE_SITES], &pieces[KEY_FREES]) ?: reader__heaps(r, &pieces[KEY_HEAP]);
}

static void *kept(struct snapshot *s, const void *v, size_t n, size_t size)
{
	void *to = snapshot__alloc(s, n + 1, size);

	return n ? memcpy(to, v, n * size) : to;
}

static int read_all(struct reader *r, struct span all)
{
	struct span pieces[ARRAY_SIZE(top_keys)] = {}, singles[RECORDING_FIELDS_MAX] = {};
	struct snapshot *s = r->s;
	int err = cut_up(r, all, pieces, singles) ?: read_schema(r, &pieces[KEY_SCHEMA]) ?: read_singles(r, singles);

	for (size_t i = 0; i < ARRAY_SIZE(top_keys) && !err; i++) {
		json_t *v = pieces[i].at && top_keys[i].read ? reader__parse(r, &pieces[i], top_keys[i].key) : NULL;

		if (!pieces[i].at || !top_keys[i].read)
			continue;
		err = v ? top_keys[i].read(r, v) : -EINVAL;
		json_decref(v);
	}
	if (err)
		return err;
	s->baseline = s->baseline_ns != UINT64_MAX;
	if (!s->baseline)
		s->baseline_ns = 0;
	err = reader__frames(r, &pieces[KEY_FRAMES]) ?: read_rows(r, pieces);
	if (err)
		return err;
	reader__settle_marks(r);
	s->places = kept(s, r->place_list.v, r->place_list.n, sizeof(*s->places));
	s->n_places = r->place_list.n;
	s->modules = kept(s, r->modules.v, r->modules.n, sizeof(*s->modules));
	s->n_modules = r->modules.n;
	return 0;
}

/* Jansson goes on with what it has when it gets no memory: names lose letters, and worse. */
static void *get_or_end(size_t n)
{
	void *p = malloc(n);

	if (!p)
		nomem__end();
	return p;
}

int json_read__text(const char *text, size_t len, struct snapshot **ret, struct err *e)
{
	uint64_t n_refused = nomem__n();
	struct reader r = { .s = snapshot__new(), .e = e };
	int err;

	if (!r.s)
		return err_set(e, -ENOMEM, "out of memory");
	json_set_alloc_funcs(get_or_end, free);
	r.s->version = r.s->kernel = r.s->arch = "";
	r.s->recording = (struct recording){ .max_size = UINT64_MAX };
	r.s->observed_share = 1;
	r.s->baseline_ns = UINT64_MAX;
	err = read_all(&r, (struct span){ text, text + len });
	if (!err && nomem__n() != n_refused)
		err = err_set(e, -ENOMEM, "out of memory");
	string_ids__done(&r.strings);
	key_ids__done(&r.process_ids);
	key_ids__done(&r.lines);
	key_ids__done(&r.places);
	key_ids__done(&r.module_ids);
	vec_done(&r.place_list);
	vec_done(&r.modules);
	vec_done(&r.module_of_id);
	key_ids__done(&r.tag_ids);
	vec_done(&r.tag_of_id);
	free(r.frames);
	vec_done(&r.stack);
	if (err) {
		snapshot__free(r.s);
		return err;
	}
	*ret = r.s;
	return 0;
}

/* ---- files */

static int read_text(int fd, char **ret, size_t *ret_len, struct err *e)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0, room = 0;
	ssize_t n;

	do {
		if (len == room) {
			char *more = realloc(text, room = room ? room * 2 : 1 << 16);

			if (!more)
				return err_set(e, -ENOMEM, "out of memory");
			text = more;
		}
		n = read(fd, text + len, room - len);
		if (n < 0 && errno != EINTR)
			return err_set(e, -errno, "%s", strerror(errno));
		len += n > 0 ? (size_t)n : 0;
		if (len > FILE_MAX_BYTES)
			return err_set(e, -EFBIG, "is larger than anything that malloctrace writes");
	} while (n);
	*ret = text;
	*ret_len = len;
	text = NULL;
	return 0;
}

int json_read__file(const char *path, struct snapshot **ret, struct err *e)
{
	bool is_stdin = !strcmp(path, "-");
	_cleanup_close_ int fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) :
					    open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	int err;

	if (fd < 0) {
		err = -errno;
		return err_set(e, err, "%s: %s", path, strerror(-err));
	}
	err = read_text(fd, &text, &len, e) ?: json_read__text(text, len, ret, e);
	return err ? err_wrap(e, err, "%s", is_stdin ? "standard input" : path) : 0;
}
