// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What an object's headers and symbols say, asked of a reader. Owns nothing beyond a call. */
#include <errno.h>
#include <string.h>

#include "elf/apart.h"
#include "elf/elffile.h"
#include "util/util.h"

#define NAME_BYTES_MAX (1u << 20)

/* ---- headers */

static void put_part(struct wire *w, const struct object_part *p)
{
	wire__u64(w, p->vaddr);
	wire__u64(w, p->file_off);
	wire__u64(w, p->file_size);
}

int object_apart__serve_headers(struct reader_request *q)
{
	struct object *obj = apart__object(q);

	if (!obj)
		return -ENOMEM;
	wire__u64(&q->out, obj->machine);
	wire__u64(&q->out, obj->is_elf);
	wire__u64(&q->out, obj->is_64);
	wire__u64(&q->out, obj->is_exec);
	wire__u64(&q->out, obj->entry);
	wire__u64(&q->out, obj->tls_bytes);
	wire__u64(&q->out, obj->build_id_off);
	wire__string(&q->out, obj->build_id);
	put_part(&q->out, &obj->dynamic);
	put_part(&q->out, &obj->eh_frame_hdr);
	wire__u64(&q->out, obj->n_segments);
	for (size_t i = 0; i < obj->n_segments; i++) {
		const struct object_segment *s = &obj->segments[i];

		wire__u64(&q->out, s->vaddr);
		wire__u64(&q->out, s->file_off);
		wire__u64(&q->out, s->file_size);
		wire__u64(&q->out, s->mem_size);
		wire__u64(&q->out, s->exec);
		wire__u64(&q->out, s->write);
	}
	object__put(obj);
	return 0;
}

static struct object_part get_part(struct wire_in *in)
{
	struct object_part p;

	p.vaddr = wire_in__u64(in);
	p.file_off = wire_in__upto(in, INT64_MAX);
	p.file_size = wire_in__u64(in);
	return p;
}

/* Nothing in it wraps around: what is added up later need not mind that. */
static void get_segment(struct wire_in *in, struct object_segment *s)
{
	s->vaddr = wire_in__u64(in);
	s->file_off = wire_in__u64(in);
	s->file_size = wire_in__u64(in);
	s->mem_size = wire_in__u64(in);
	s->exec = wire_in__bool(in);
	s->write = wire_in__bool(in);
	in->bad |= s->vaddr > UINT64_MAX - s->mem_size || s->vaddr > UINT64_MAX - s->file_size || s->file_off > UINT64_MAX - s->file_size;
}

static char *get_build_id(struct wire_in *in)
{
	const char *id = wire_in__string(in, 2 * OBJECT_MAX_BUILD_ID_BYTES);

	if (!id)
		return NULL;
	in->bad |= !*id || strlen(id) % 2 || strspn(id, "0123456789abcdef") != strlen(id);
	return strdup(id);
}

int object_apart__read_headers(struct object *obj)
{
	apart_cleanup struct apart a;
	struct object got = {};
	int err;

	apart__begin(&a, READ_HEADERS, obj);
	err = apart__ask(&a);
	/* one that there was no time for may be read later; all else is a file with nothing in it */
	if (err)
		return err == -ENOMEM || err == -EINTR ? err : 0;
	got.machine = wire_in__upto(&a.in, UINT16_MAX);
	got.is_elf = wire_in__bool(&a.in);
	got.is_64 = wire_in__bool(&a.in);
	got.is_exec = wire_in__bool(&a.in);
	got.entry = wire_in__u64(&a.in);
	got.tls_bytes = wire_in__u64(&a.in);
	got.build_id_off = wire_in__u64(&a.in);
	got.build_id = get_build_id(&a.in);
	got.dynamic = get_part(&a.in);
	got.eh_frame_hdr = get_part(&a.in);
	got.n_segments = wire_in__count(&a.in, 6 * sizeof(uint64_t));
	got.segments = got.n_segments ? calloc(got.n_segments, sizeof(*got.segments)) : NULL;
	if (got.n_segments && !got.segments) {
		free(got.build_id);
		return -ENOMEM;
	}
	for (size_t i = 0; i < got.n_segments; i++)
		get_segment(&a.in, &got.segments[i]);
	if (apart__settle(&a)) {
		free(got.build_id);
		free(got.segments);
		return 0;
	}
	obj->machine = got.machine;
	obj->is_elf = got.is_elf;
	obj->is_64 = got.is_64;
	obj->is_exec = got.is_exec;
	obj->entry = got.entry;
	obj->tls_bytes = got.tls_bytes;
	obj->build_id_off = got.build_id_off;
	obj->build_id = got.build_id;
	obj->dynamic = got.dynamic;
	obj->eh_frame_hdr = got.eh_frame_hdr;
	obj->segments = got.segments;
	obj->n_segments = got.n_segments;
	return 0;
}

bool object__is_lost(const struct object *obj)
{
	return readers__has_lost(obj->fd);
}

/* ---- functions */

static int put_function(const struct object_symbol *s, void *arg)
{
	struct wire *w = arg;

	wire__u64(w, s->value);
	wire__u64(w, s->size);
	wire__u64(w, s->ifunc);
	wire__u64(w, s->local);
	wire__string(w, s->name);
	return w->failed ? -ENOMEM : 0;
}

int object_apart__serve_functions(struct reader_request *q)
{
	struct object *obj = apart__object(q);
	int err = obj ? object__for_each_function(obj, put_function, &q->out, NULL) : -ENOMEM;

	object__put(obj);
	return err;
}

static bool get_function(struct wire_in *in, struct object_symbol *s)
{
	s->value = wire_in__u64(in);
	s->size = wire_in__u64(in);
	s->ifunc = wire_in__bool(in);
	s->local = wire_in__bool(in);
	s->name = wire_in__string(in, NAME_BYTES_MAX);
	return s->name && *s->name;
}

int object_apart__each_function(const struct object *obj, int (*fn)(const struct object_symbol *s, void *arg), void *arg)
{
	apart_cleanup struct apart a;
	struct object_symbol s;
	struct wire_in all;
	int err;

	apart__begin(&a, READ_FUNCTIONS, obj);
	err = apart__ask(&a);
	if (err)
		return err == -ENOMEM ? err : 0;
	all = a.in;
	while (a.in.at < a.in.end && get_function(&a.in, &s))
		;
	/* nothing is handed on of what is not all in order */
	if (apart__settle(&a))
		return 0;
	while (!err && all.at < all.end && get_function(&all, &s))
		err = object__is_code(obj, s.value) ? fn(&s, arg) : 0;
	return err;
}

/* ---- where functions begin */

int object_apart__serve_starts(struct reader_request *q)
{
	struct object *obj = apart__object(q);
	_cleanup_free_ uint64_t *starts = NULL;
	size_t n = 0;
	int err = obj ? object__function_starts(obj, &starts, &n) : -ENOMEM;

	wire__bytes(&q->out, starts, n * sizeof(*starts));
	object__put(obj);
	return err;
}

int object_apart__function_starts(const struct object *obj, uint64_t **ret, size_t *ret_n)
{
	apart_cleanup struct apart a;
	uint64_t *v;
	size_t n;
	int err;

	apart__begin(&a, READ_STARTS, obj);
	err = apart__ask(&a);
	if (err == -ENOMEM)
		return err;
	n = err ? 0 : a.answer.n / sizeof(*v);
	v = calloc(n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		v[i] = wire_in__u64(&a.in);
		a.in.bad |= i && v[i] < v[i - 1];
	}
	if (!err && apart__settle(&a))
		n = 0;
	*ret = v;
	*ret_n = n;
	return 0;
}

/* ---- sections */

int object_apart__serve_section(struct reader_request *q)
{
	const char *name = wire_in__string(&q->in, NAME_BYTES_MAX);

	wire__u64(&q->out, name && elffile__has_section(q->fd, name));
	return 0;
}

bool object_apart__has_section(int fd, const char *name)
{
	apart_cleanup struct apart a;
	bool has;

	apart__begin(&a, READ_SECTION, NULL);
	a.call.fd = fd;
	wire__string(&a.args, name);
	if (apart__ask(&a))
		return false;
	has = wire_in__bool(&a.in);
	return !apart__settle(&a) && has;
}
