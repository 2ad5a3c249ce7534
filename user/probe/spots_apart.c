// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Functions that the user named, found by the sandbox. Owns nothing beyond a call. Each point that comes back is verified. */
#include <errno.h>
#include <string.h>

#include "probe/plan_apart.h"
#include "util/util.h"

#define TEXT_MAX (1u << 20)

struct request {
	bool within;			/* else where they are */
	struct spots spots;
	struct spot_points found;	/* within: what was found */
};

struct answer {
	struct spots spots;		/* how many there are of each */
	struct spot_points points;
	struct within within;
};

/* ---- tables */

static const struct wire_field spot_fields[] = {
	WIRE_ANY(struct spot, number),
	WIRE_ANY(struct spot, kind),
	WIRE_NAME(struct spot, option, TEXT_MAX),
	WIRE_NAME(struct spot, text, TEXT_MAX),
	WIRE_NAME(struct spot, path, TEXT_MAX),
	WIRE_NAME(struct spot, hint, TEXT_MAX),
	WIRE_ANY(struct spot, n_inlined_here),
	WIRE_NAME(struct spot, part[0], TEXT_MAX),
	WIRE_NAME(struct spot, part[1], TEXT_MAX),
	WIRE_NAME(struct spot, part[2], TEXT_MAX),
	WIRE_UPTO(struct spot, n_parts, 3),
};

static const struct wire_type spot_type = WIRE_TYPE(struct spot, spot_fields);

static const struct wire_field request_fields[] = {
	WIRE_BOOL(struct request, within),
	WIRE_VEC(struct request, spots, &spot_type),
	WIRE_PLAIN_VEC(struct request, found),
};

static const struct wire_type request_type = WIRE_TYPE(struct request, request_fields);

static const struct wire_field count_fields[] = {
	WIRE_UPTO(struct spot, n_points, UINT32_MAX),
	WIRE_UPTO(struct spot, n_inlined_here, UINT32_MAX),
};

static const struct wire_type count_type = WIRE_TYPE(struct spot, count_fields);

static const struct wire_field within_fields[] = {
	WIRE_BOOL(struct within, inlined),
	WIRE_RAW(struct within, ranges),
	WIRE_PLAIN_VEC(struct within, points),
};

static bool is_within(const void *record)
{
	const struct within *w = record;
	bool is = w->ranges.n <= MT_WITHIN_RANGES;

	for (size_t i = 0; is && i < w->ranges.n; i++)
		is = w->ranges.range[i].from < w->ranges.range[i].to;
	for (size_t i = 0; is && i < w->points.n; i++) {
		uint64_t c = w->points.v[i].cookie;

		is = c == MT_WITHIN_COOKIE(MT_WITHIN_KIND(c), 0, MT_WITHIN_VADDR(c));
	}
	return is;
}

static const struct wire_type within_type = WIRE_TYPE(struct within, within_fields, is_within);

static const struct wire_field answer_fields[] = {
	WIRE_VEC(struct answer, spots, &count_type),
	WIRE_UPTO(struct answer, spots.n_unsearched, 1),
	WIRE_PLAIN_VEC(struct answer, points),
	WIRE_PART(struct answer, within, &within_type),
};

static const struct wire_type answer_type = WIRE_TYPE(struct answer, answer_fields);

/* ---- in the sandbox */

static int serve(struct reader_request *q, const void *args, void *ret)
{
	struct request *of = (struct request *)args;
	struct object *obj = apart__object(q);
	struct answer *to = ret;
	int err = obj ? 0 : -EINVAL;

	if (obj && of->within)
		err = within__find(&of->spots, obj, &of->found, &to->within, &q->e);
	else if (obj)
		err = spots__find(&of->spots, obj, NULL, &to->points, &q->e);
	/* the answer has them from now on */
	to->spots = of->spots;
	of->spots = (struct spots){};
	object__put(obj);
	return err;
}

const struct reader_question spots_question = { READ_SPOTS, &request_type, &answer_type, serve };

/* ---- in malloctrace */

static bool are_verified(const struct object *obj, const struct spot_points *p)
{
	_cleanup_free_ struct verified_point *v = xcalloc(p->n, sizeof(*v));
	bool all = true;

	for (size_t i = 0; i < p->n; i++)
		v[i] = (struct verified_point){ .offset = p->v[i].offset, .counter = p->v[i].counter };
	verify__points(obj, v, p->n);
	for (size_t i = 0; i < p->n && all; i++)
		all = object__is_code_at(obj, p->v[i].offset) && spot_point__is_verified(&p->v[i], &v[i]);
	return all;
}

/* A cookie is made of the numbers of spots that there are. */
static bool are_numbers(size_t n_spots, const struct spot_points *points)
{
	for (size_t i = 0; i < points->n; i++)
		for (uint64_t c = points->v[i].cookie; c; c >>= 8)
			if (!(c & 0xff) || (c & 0xff) > n_spots || c >> 8 * MT_SPOTS_AT_ONCE)
				return false;
	return true;
}

/* READER_LOST: also where an end is asked for. */
static int ask(struct apart *a, struct object *obj, const struct request *of, struct answer *ret, struct err *e)
{
	int err = apart__ask(a, of, ret, e);

	if (err)
		return err == -EINTR ? READER_LOST : err;
	if (ret->spots.n == of->spots.n && are_numbers(of->spots.n, &ret->points) && are_verified(obj, &ret->points) &&
	    are_verified(obj, &ret->within.points))
		return 0;
	return apart__refuse(a, obj, ret);
}

int spots_apart__find(struct spots *s, struct object *obj, const char *debug_dir, struct spot_points *ret, struct err *e)
{
	apart_cleanup struct apart a = { .about = &spots_question, .obj = obj, .debug_dir = debug_dir, .for_probes = true };
	struct request of = { .spots = *s };
	struct answer got = {};
	int err = s->n ? ask(&a, obj, &of, &got, e) : READER_LOST;

	*ret = got.points;
	if (err)
		return err == READER_LOST ? 0 : err;
	for (size_t i = 0; i < s->n; i++) {
		s->v[i].n_points += got.spots.v[i].n_points;
		s->v[i].n_inlined_here = got.spots.v[i].n_inlined_here;
		s->v[i].n_inlined += got.spots.v[i].n_inlined_here;
	}
	s->n_unsearched += got.spots.n_unsearched;
	got.points = (struct spot_points){};
	wire_type__done(&answer_type, &got);
	return 0;
}

int spots_apart__within(const struct spots *spots, struct object *obj, const struct spot_points *found, struct within *ret, struct err *e)
{
	apart_cleanup struct apart a = { .about = &spots_question, .obj = obj, .for_probes = true };
	struct request of = { .within = true, .spots = *spots, .found = *found };
	struct answer got = {};
	int err = ask(&a, obj, &of, &got, e);

	*ret = got.within;
	got.within = (struct within){};
	wire_type__done(&answer_type, &got);
	return err == READER_LOST ? 0 : err;
}
