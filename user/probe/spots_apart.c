// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Functions that the user named, found by a reader. Owns nothing beyond a call. */
#include <errno.h>
#include <string.h>

#include "probe/plan_apart.h"
#include "util/util.h"

#define TEXT_MAX (1u << 20)
#define NAME_MAX_BYTES 4096

/* ---- what the user named, on its way to a reader, which can trust it */

static void put_spot(struct wire *w, const struct spot *s)
{
	wire__u64(w, s->number);
	wire__u64(w, s->kind);
	wire__string(w, s->option);
	wire__string(w, s->text);
	wire__string(w, s->path);
	wire__string(w, s->hint);
	wire__u64(w, s->n_parts);
	for (size_t i = 0; i < s->n_parts; i++)
		wire__string(w, s->part[i]);
}

static void put_spots(struct wire *w, const struct spots *s)
{
	wire__u64(w, s->n);
	for (size_t i = 0; i < s->n; i++)
		put_spot(w, &s->v[i]);
}

/* Texts are those of the request. */
static void get_spot(struct wire_in *in, struct spot *s)
{
	*s = (struct spot){ .number = wire_in__u64(in), .kind = wire_in__u64(in) };
	s->option = wire_in__string(in, TEXT_MAX);
	s->text = (char *)wire_in__string(in, TEXT_MAX);
	s->path = (char *)wire_in__string(in, TEXT_MAX);
	s->hint = (char *)wire_in__string(in, TEXT_MAX);
	s->n_parts = wire_in__upto(in, ARRAY_SIZE(s->part));
	for (size_t i = 0; i < s->n_parts; i++)
		s->part[i] = (char *)wire_in__string(in, TEXT_MAX);
}

static int get_spots(struct wire_in *in, struct spots *ret)
{
	size_t n = wire_in__count(in, sizeof(uint64_t));

	*ret = (struct spots){ calloc(n + 1, sizeof(*ret->v)), n, n + 1 };
	if (!ret->v)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		get_spot(in, &ret->v[i]);
	return in->bad ? -EINVAL : 0;
}

/* The sentence that goes with an error. */
static int said_error(struct apart *a, int err, struct err *e)
{
	char words[512];
	const char *said = wire_in__string(&a->in, sizeof(words) - 1);

	snprintf(words, sizeof(words), "%s", said ? said : strerror(-err));
	clean_name(words);
	return err_set(e, err, "%s", words);
}

/* ---- where they are */

int spots_apart__serve(struct reader_request *q)
{
	struct object *obj = apart__object(q);
	struct spot_points points = {};
	struct spots spots = {};
	struct err e = {};
	int err = obj ? get_spots(&q->in, &spots) : -ENOMEM;

	if (!err)
		err = spots__find(&spots, obj, NULL, &points, &e);
	if (err) {
		wire__string(&q->out, err_msg(&e));
	} else {
		for (size_t i = 0; i < spots.n; i++)
			wire__u64(&q->out, spots.v[i].n_points);
		spot_points__put(&q->out, &points);
	}
	err_done(&e);
	vec_done(&points);
	free(spots.v);
	object__put(obj);
	return err;
}

/* A cookie is made of the numbers of spots that there are. */
static bool are_numbers(const struct spots *s, const struct spot_points *points)
{
	for (size_t i = 0; i < points->n; i++)
		for (uint64_t c = points->v[i].cookie; c; c >>= 8)
			if (!(c & 0xff) || (c & 0xff) > s->n || c >> 8 * MT_SPOTS_AT_ONCE)
				return false;
	return true;
}

int spots_apart__find(struct spots *s, struct object *obj, const char *debug_dir, struct spot_points *ret, struct err *e)
{
	_cleanup_free_ size_t *n_points = calloc(s->n + 1, sizeof(*n_points));
	apart_cleanup struct apart a;
	struct spot_points got = {};
	int err;

	*ret = got;
	apart__begin(&a, READ_SPOTS, obj);
	if (!s->n)
		return 0;
	a.debug_dir = debug_dir;
	put_spots(&a.args, s);
	err = n_points ? apart__ask(&a) : -ENOMEM;
	if (err == READER_LOST || err == -EINTR)
		return 0;
	if (err)
		return said_error(&a, err, e);
	for (size_t i = 0; i < s->n; i++)
		n_points[i] = wire_in__upto(&a.in, UINT32_MAX);
	err = spot_points__get(&a.in, obj, &got);
	a.in.bad |= !are_numbers(s, &got);
	if (err || apart__settle(&a)) {
		vec_done(&got);
		return err ? err_set(e, err, "out of memory") : 0;
	}
	for (size_t i = 0; i < s->n; i++)
		s->v[i].n_points += n_points[i];
	*ret = got;
	return 0;
}

/* ---- --within */

int within_apart__serve(struct reader_request *q)
{
	struct object *obj = apart__object(q);
	struct spot_points found = {};
	struct spots spots = {};
	struct within w = {};
	struct err e = {};
	int err = obj ? get_spots(&q->in, &spots) : -ENOMEM;

	if (!err)
		err = spot_points__get(&q->in, obj, &found);
	if (!err)
		err = within__find(&spots, obj, &found, &w, &e);
	if (err) {
		wire__string(&q->out, err_msg(&e));
	} else {
		wire__u64(&q->out, w.ranges.n);
		for (size_t i = 0; i < w.ranges.n; i++) {
			wire__u64(&q->out, w.ranges.range[i].from);
			wire__u64(&q->out, w.ranges.range[i].to);
		}
		spot_points__put(&q->out, &w.points);
	}
	err_done(&e);
	within__done(&w);
	vec_done(&found);
	free(spots.v);
	object__put(obj);
	return err;
}

int within_apart__find(const struct spots *spots, struct object *obj, const struct spot_points *found, struct within *ret, struct err *e)
{
	apart_cleanup struct apart a;
	struct within w = {};
	int err;

	*ret = w;
	apart__begin(&a, READ_WITHIN, obj);
	put_spots(&a.args, spots);
	spot_points__put(&a.args, found);
	err = apart__ask(&a);
	if (err == READER_LOST || err == -EINTR)
		return 0;
	if (err)
		return said_error(&a, err, e);
	w.ranges.n = wire_in__upto(&a.in, MT_WITHIN_RANGES);
	for (size_t i = 0; i < w.ranges.n; i++) {
		w.ranges.range[i].from = wire_in__u64(&a.in);
		w.ranges.range[i].to = wire_in__u64(&a.in);
		a.in.bad |= w.ranges.range[i].from >= w.ranges.range[i].to;
	}
	err = spot_points__get(&a.in, obj, &w.points);
	for (size_t i = 0; i < w.points.n; i++)
		a.in.bad |= w.points.v[i].cookie != MT_WITHIN_COOKIE(MT_WITHIN_KIND(w.points.v[i].cookie), 0, MT_WITHIN_VADDR(w.points.v[i].cookie));
	if (err || apart__settle(&a)) {
		within__done(&w);
		return err ? err_set(e, err, "out of memory") : 0;
	}
	*ret = w;
	return 0;
}

/* ---- what looks like one */

static void put_closest(struct wire *w, const struct closest *c)
{
	wire__u64(w, c->n);
	for (size_t i = 0; i < c->n; i++) {
		wire__string(w, c->name[i]);
		wire__u64(w, c->distance[i]);
	}
}

/* -ENOMEM */
static int get_closest(struct wire_in *in, struct closest *c)
{
	size_t n = wire_in__upto(in, CLOSEST_MAX);

	for (size_t i = 0; i < n; i++) {
		const char *name = wire_in__string(in, NAME_MAX_BYTES);

		in->bad |= !name;
		c->name[i] = strdup(name ? name : "");
		if (!c->name[i])
			return -ENOMEM;
		clean_name(c->name[i]);
		c->distance[i] = wire_in__u64(in);
		c->n = i + 1;
	}
	return 0;
}

int closest_apart__serve(struct reader_request *q)
{
	struct object *obj = apart__object(q);
	struct closest c = {};
	struct spot s;
	int err;

	get_spot(&q->in, &s);
	err = obj ? get_closest(&q->in, &c) : -ENOMEM;
	if (!err)
		closest__look(&c, &s, obj);
	put_closest(&q->out, &c);
	closest__done(&c);
	object__put(obj);
	return err;
}

void closest_apart__look(struct closest *c, const struct spot *s, struct object *obj)
{
	apart_cleanup struct apart a;
	struct closest got = {};

	apart__begin(&a, READ_CLOSEST, obj);
	put_spot(&a.args, s);
	put_closest(&a.args, c);
	if (apart__ask(&a))
		return;
	if (get_closest(&a.in, &got) || apart__settle(&a)) {
		closest__done(&got);
		return;
	}
	closest__done(c);
	*c = got;
}
