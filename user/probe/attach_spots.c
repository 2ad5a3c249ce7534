// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Links in places that the user named. They are not an allocator's, and nothing takes them out before the end. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "malloctrace.skel.h"
#include "probe/attach_parts.h"
#include "probe/multi.h"
#include "target/writes.h"

static int attach_spots_multi(struct attachment *a, const struct bpf_program *prog, const struct object *obj, const struct spot_points *points)
{
	_cleanup_free_ uint64_t *words = calloc(points->n, 3 * sizeof(*words));
	uint64_t *offsets = words, *counters = words + points->n, *cookies = words + 2 * points->n;
	struct link *l = words ? vec_push(&a->links[OTHERS]) : NULL;
	bool counted = false;

	if (!l)
		return -ENOMEM;
	for (size_t i = 0; i < points->n; i++) {
		offsets[i] = points->v[i].offset;
		counters[i] = points->v[i].counter;
		cookies[i] = points->v[i].cookie;
		counted |= counters[i] != 0;
	}
	l->object = obj;
	l->fd = uprobe_multi__link_counted(bpf_program__fd(prog), obj->fd_path, offsets, counted ? counters : NULL,
					   cookies, points->n, a->pid);
	if (l->fd >= 0) {
		writes__add_link(a->kernel->writes, obj, l->fd);
		return 0;
	}
	a->links[OTHERS].n--;
	return -errno;
}

static int attach_spots_perf(struct attachment *a, const struct bpf_program *prog, const struct object *obj, const struct spot_points *points)
{
	for (size_t i = 0; i < points->n; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, opts, .ref_ctr_offset = points->v[i].counter, .bpf_cookie = points->v[i].cookie);
		struct link *l = vec_push(&a->links[OTHERS]);

		if (!l)
			return -ENOMEM;
		l->fd = -1;
		l->object = obj;
		l->perf = bpf_program__attach_uprobe_opts(prog, a->pid ? a->pid : -1, obj->fd_path,
							  points->v[i].offset, &opts);
		if (!l->perf) {
			a->links[OTHERS].n--;
			return -errno;
		}
	}
	return 0;
}

static int attach_points(struct attachment *a, const struct bpf_program *prog, const struct object *obj, const struct spot_points *points,
			 struct err *e)
{
	int err = 0;

	if (points->n && writes__watch(a->kernel->writes, (struct object *)obj))
		err = a->kernel->multi ? attach_spots_multi(a, prog, obj, points) : attach_spots_perf(a, prog, obj, points);
	return err ? attachment__explain(a, e, err, obj) : 0;
}

int attachment__add_spots(struct attachment *a, const struct object *obj, const struct spot_points *points, struct err *e)
{
	return attach_points(a, a->kernel->skel->progs.reach_spot, obj, points, e);
}

int attachment__add_loader(struct attachment *a, const struct object *obj, const struct spot_points *points, struct err *e)
{
	return attach_points(a, a->kernel->skel->progs.reach_loader, obj, points, e);
}

int attachment__add_refusals(struct attachment *a, const struct object *obj, const struct spot_points *points, struct err *e)
{
	return attach_points(a, a->kernel->skel->progs.reach_refusal, obj, points, e);
}

int attachment__add_within(struct attachment *a, const struct object *obj, const struct spot_points *points, struct err *e)
{
	return attach_points(a, a->kernel->skel->progs.reach_within, obj, points, e);
}
