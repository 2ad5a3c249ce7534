// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Links in places that no allocator's plan has: those that the user named, where libraries are
 * loaded, and where calls fail unseen. They stay until the end, or until their file is written to;
 * those of the last kind are parked with the allocators'.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "malloctrace.skel.h"
#include "probe/attach_parts.h"
#include "probe/multi.h"
#include "space/writes.h"

static int attach_spots_multi(struct attachment *a, size_t step, const struct bpf_program *prog,
			      const struct object *obj, const struct spot_points *points)
{
	_cleanup_free_ uint64_t *words = xcalloc(points->n, 3 * sizeof(*words));
	uint64_t *offsets = words, *counters = words + points->n, *cookies = words + 2 * points->n;
	struct link *l = vec_push(&a->links[step]);
	bool counted = false;

	for (size_t i = 0; i < points->n; i++) {
		offsets[i] = points->v[i].offset;
		counters[i] = points->v[i].counter;
		cookies[i] = points->v[i].cookie;
		counted |= counters[i] != 0;
	}
	l->object = obj;
	l->fd = uprobe_multi__link_counted(bpf_program__fd(prog), obj->fd_path, offsets, counted ? counters : NULL,
					   cookies, points->n, a->pid);
	if (l->fd < 0) {
		a->links[step].n--;
		return -errno;
	}
	attachment__watch_last(a, step);
	return 0;
}

static int attach_spots_perf(struct attachment *a, size_t step, const struct bpf_program *prog,
			     const struct object *obj, const struct spot_points *points)
{
	for (size_t i = 0; i < points->n; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, opts, .ref_ctr_offset = points->v[i].counter,
			    .bpf_cookie = points->v[i].cookie);
		struct link *l = vec_push(&a->links[step]);

		l->fd = -1;
		l->object = obj;
		l->perf = bpf_program__attach_uprobe_opts(prog, a->pid ? a->pid : -1, obj->fd_path,
							  points->v[i].offset, &opts);
		if (!l->perf) {
			a->links[step].n--;
			return -errno;
		}
	}
	return 0;
}

static int attach_points(struct attachment *a, size_t step, const struct bpf_program *prog, const struct object *obj,
			 const struct spot_points *points, struct err *e)
{
	int err;

	if (!points->n || !object__may_be_probed(obj))
		return 0;
	err = writes__watch(a->kernel->writes, (struct object *)obj);
	/* of another version: that is reported */
	if (err == -ESTALE)
		return 0;
	if (!err)
		err = a->kernel->multi ? attach_spots_multi(a, step, prog, obj, points) :
					 attach_spots_perf(a, step, prog, obj, points);
	return err ? attachment__explain(a, e, err, obj) : 0;
}

int attachment__add_spots(struct attachment *a, const struct object *obj, const struct spot_points *points,
			  struct err *e)
{
	return attach_points(a, OTHERS, a->kernel->skel->progs.reach_spot, obj, points, e);
}

int attachment__add_loader(struct attachment *a, const struct object *obj, const struct spot_points *points,
			   struct err *e)
{
	return attach_points(a, OTHERS, a->kernel->skel->progs.reach_loader, obj, points, e);
}

int attachment__add_python(struct attachment *a, const struct object *obj, const struct spot_points *points, struct err *e)
{
	return attach_points(a, OTHERS, a->kernel->skel->progs.reach_code_freed, obj, points, e);
}

static int attach_refusals(struct attachment *a, const struct refusing *r, struct err *e)
{
	return attach_points(a, REFUSALS, a->kernel->skel->progs.reach_call, r->object, r->points, e);
}

int attachment__add_refusals(struct attachment *a, const struct object *obj, const struct spot_points *points,
			     struct err *e)
{
	struct refusing *slot;

	if (!points->n)
		return 0;
	slot = vec_push(&a->refusals);
	*slot = (struct refusing){ obj, points };
	return a->parked ? 0 : attach_refusals(a, slot, e);
}

int attachment__put_in_refusals(struct attachment *a, struct err *e)
{
	for (size_t i = 0; i < a->refusals.n; i++) {
		_cleanup_err_ struct err why = {};

		/*
		 * what the kernel refuses for another reason was reported when it was added; that a target has ended
		 * is reported elsewhere
		 */
		if (attach_refusals(a, &a->refusals.v[i], &why) == -ENOMEM)
			return err_set(e, -ENOMEM, "%s", err_msg(&why));
	}
	return 0;
}

int attachment__add_within(struct attachment *a, const struct object *obj, const struct spot_points *points,
			   struct err *e)
{
	return attach_points(a, OTHERS, a->kernel->skel->progs.reach_within, obj, points, e);
}
