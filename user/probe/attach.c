// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the links. A link exists in the list of its step, or not at all; those on
 * their way out are detach.c's.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "malloctrace.skel.h"
#include "probe/attach.h"
#include "probe/attach_parts.h"
#include "probe/features.h"
#include "probe/kernel.h"
#include "util/rights.h"
#include "util/util.h"

enum side { ENTER, LEAVE };

/* One step: the points of one role and side, with one program, in one kind of probe. */
struct step {
	enum role role;
	enum side side;
	enum how how;
};

/* The order matters: see attach.h. */
static const struct step steps[N_STEPS] = {
	{ ROLE_FREE, ENTER, ON_ENTRY },
	{ ROLE_REALLOC, LEAVE, ON_RETURN },
	{ ROLE_REALLOC, LEAVE, ON_RET_INSN },
	{ ROLE_REALLOC, ENTER, ON_ENTRY },
	{ ROLE_ALLOC, LEAVE, ON_RETURN },
	{ ROLE_ALLOC, LEAVE, ON_RET_INSN },
	{ ROLE_ALLOC, ENTER, ON_ENTRY },
	{ ROLE_UNMAP, LEAVE, ON_RETURN },
	{ ROLE_UNMAP, LEAVE, ON_RET_INSN },
	{ ROLE_UNMAP, ENTER, ON_ENTRY },
	{ ROLE_MAP, LEAVE, ON_RETURN },
	{ ROLE_MAP, LEAVE, ON_RET_INSN },
	{ ROLE_MAP, ENTER, ON_ENTRY },
};

static struct bpf_program *program_of(struct kernel *k, const struct step *s)
{
	bool growth = recording__is_growth(&k->recording);
	struct bpf_program *const of[N_ROLES][2] = {
		[ROLE_ALLOC] = { k->skel->progs.reach_call, k->skel->progs.reach_call },
		[ROLE_REALLOC] = { k->skel->progs.reach_call, k->skel->progs.reach_call },
		[ROLE_FREE] = { k->skel->progs.reach_call, NULL },
		[ROLE_UNMAP] = { k->skel->progs.enter_mapping, k->skel->progs.leave_mapping },
		[ROLE_MAP] = { growth ? k->skel->progs.enter_map : k->skel->progs.enter_mapping,
			       growth ? k->skel->progs.leave_map : k->skel->progs.leave_mapping },
	};

	return of[s->role][s->side];
}

struct attachment *attachment__new(struct kernel *k, pid_t pid, bool parked)
{
	struct attachment *a = xcalloc(1, sizeof(*a));

	a->kernel = k;
	a->pid = pid;
	a->parked = parked;
	return a;
}

/* Points of a file that one program gets. */
struct chosen {
	const struct alloc_funcs *funcs;	/* NULL: no allocator's */
	struct vec(uint64_t) offsets, cookies;
	struct vec(uint64_t) counters;	/* where their tracers are counted; empty: nowhere */
};

static void chosen_done(struct chosen *c)
{
	vec_done(&c->offsets);
	vec_done(&c->cookies);
	vec_done(&c->counters);
}

static const struct planned_func *planned(const struct plan *p, uint32_t func)
{
	return array_first(one, p->funcs, p->n_funcs, one->func == func);
}

/* What an entry must know of how its call will be seen to return. */
static uint64_t return_flags(const struct plan *p, uint32_t func)
{
	if (p->want.recording.mode == MT_MODE_COUNT)
		return 0;
	if (planned(p, func) && planned(p, func)->no_return)
		return MT_COOKIE_NO_RETURN;
	if (array_first(pt, p->points, p->n_points, pt->func == func && pt->how == ON_RETURN))
		return 0;
	/* return instructions, its own or shared with another function */
	return MT_COOKIE_AT_RET;
}

/* What is known of the code around a point that reports a call: one on a return reports only its end. */
static uint64_t code_number(struct kernel *k, const struct plan *p, const struct point *pt)
{
	if (pt->how == ON_RETURN || (pt->how == ON_RET_INSN && !pt->return_only))
		return 0;
	for (size_t i = 0; i < p->n_funcs; i++) {
		const struct planned_func *f = &p->funcs[i];
		uint64_t start;

		if (f->func == pt->func && object__vaddr_to_offset(p->object, f->vaddr, &start) &&
		    pt->offset >= start && pt->offset - start < MAX(f->size, 1ull))
			return codes__number(k, &f->code, (int32_t)(pt->offset - start));
	}
	return 0;
}

/* What its point is to a call: programs of other roles do not ask. */
static uint64_t at_of(const struct step *s)
{
	static const enum mt_at at[N_ROLES][2] = {
		[ROLE_ALLOC] = { MT_AT_ENTRY, MT_AT_RETURN },
		[ROLE_REALLOC] = { MT_AT_REALLOC, MT_AT_RETURN },
		[ROLE_FREE] = { MT_AT_FREE, MT_AT_FREE },
	};

	return at[s->role][s->side];
}

static uint64_t cookie_of(struct kernel *k, const struct plan *p, const struct alloc_funcs *funcs,
			  const struct point *pt, const struct step *s)
{
	const struct planned_func *f = planned(p, pt->func);
	const struct alloc_func *row = &funcs->v[pt->func];
	uint64_t cookie = pt->no_args ? MT_COOKIE(pt->func, MT_NO_ARG, MT_NO_ARG, MT_NO_ARG, MT_NO_ARG, row->result) :
					alloc_funcs__cookie(funcs, pt->func);

	cookie |= at_of(s) << MT_COOKIE_AT_SHIFT | (uint64_t)pt->sp_delta << MT_COOKIE_SP_SHIFT |
		  code_number(k, p, pt) << MT_COOKIE_CODE_SHIFT;
	if (pt->how == ON_RET_INSN)
		cookie |= MT_COOKIE_AT_RET;
	if (s->side == ENTER && s->role != ROLE_FREE)
		cookie |= return_flags(p, pt->func);
	if (pt->return_only)
		cookie |= MT_COOKIE_RETURN_ONLY;
	if (pt->own_return)
		cookie |= MT_COOKIE_OWN_RET;
	if (f && (f->usable || f->unseen))
		cookie |= MT_COOKIE_USABLE;
	if (f && f->frees_at_0 && p->want.recording.mode == MT_MODE_COUNT)
		cookie |= MT_COOKIE_FREES_AT_0;
	return cookie;
}

static void choose(struct kernel *k, const struct plan *p, const struct alloc_funcs *funcs,
		   const struct step *s, struct chosen *ret)
{
	for (size_t i = 0; i < p->n_points; i++) {
		const struct point *pt = &p->points[i];

		if (funcs->v[pt->func].role != s->role || pt->how != s->how)
			continue;
		*vec_push(&ret->offsets) = pt->offset;
		*vec_push(&ret->cookies) = cookie_of(k, p, funcs, pt, s);
	}
}

/* Sets the error of a link that could not be made. */
static int explain(const struct attachment *a, struct err *e, int err, const struct object *obj)
{
	switch (-err) {
	case ESRCH:
		return err_set(e, err, "process %d has ended", (int)a->pid);
	case EPERM:
	case EACCES:
		return rights__refused(e, err, RIGHT_BIT(a->kernel->multi ? RIGHT_PERFMON : RIGHT_SYS_ADMIN),
				       "this user may not probe %s", obj->path);
	default:
		return err_set(e, err, "cannot probe %s: %s", obj->path, strerror(-err));
	}
}

/* The last link of a step is taken out if its file is written to. */
static void watch_last(struct attachment *a, size_t step)
{
	struct link *l = &a->links[step].v[a->links[step].n - 1];

	writes__add_link(a->kernel->writes, l->object, l->fd, step == ANCHORS);
}

static bool at_return(size_t step)
{
	return step < N_STEPS && steps[step].how == ON_RETURN;
}

static int attach_multi(struct attachment *a, size_t step, struct bpf_program *prog, const struct object *obj,
			const struct chosen *c)
{
	const struct uprobe_points at = {
		.offsets = c->offsets.v,
		.cookies = c->cookies.v,
		.counters = c->counters.v,
		.n = c->offsets.n,
	};
	struct link *l = vec_push(&a->links[step]);

	l->object = obj;
	l->fd = uprobe_multi__link(bpf_program__fd(prog), obj->fd_path, &at, at_return(step), a->pid);
	if (l->fd < 0) {
		a->links[step].n--;
		return -errno;
	}
	/* an anchor gets another number first */
	if (step != ANCHORS)
		watch_last(a, step);
	return 0;
}

static int attach_perf(struct attachment *a, size_t step, struct bpf_program *prog, const struct object *obj,
		       const struct chosen *c)
{
	for (size_t i = 0; i < c->offsets.n; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, opts, .retprobe = at_return(step), .bpf_cookie = c->cookies.v[i],
			    .ref_ctr_offset = c->counters.n ? c->counters.v[i] : 0);
		struct link *l = vec_push(&a->links[step]);

		l->fd = -1;
		l->object = obj;
		l->perf = bpf_program__attach_uprobe_opts(prog, a->pid ? a->pid : -1, obj->fd_path,
							  c->offsets.v[i], &opts);
		if (!l->perf) {
			a->links[step].n--;
			return -errno;
		}
		l->often = c->funcs && c->funcs->v[MT_COOKIE_FUNC(c->cookies.v[i])].flags & FUNC_OFTEN;
	}
	return 0;
}

static int attach(struct attachment *a, size_t step, struct bpf_program *prog, const struct object *obj,
		  const struct chosen *c)
{
	int err;

	if (!object__may_be_probed(obj))
		return 0;
	err = writes__watch(a->kernel->writes, (struct object *)obj);
	/* the plan is of another version: that is reported, and it goes */
	if (err)
		return err == -ESTALE ? 0 : err;
	return a->kernel->multi ? attach_multi(a, step, prog, obj, c) : attach_perf(a, step, prog, obj, c);
}

/*
 * The kernel gives the files of a process that was killed back from the highest number to the
 * lowest, and one with two numbers at the higher one: an anchor has one alone, below those of all
 * other links as long as there are such, else below those that are made next. So it is with perf
 * events, whose numbers are libbpf's.
 */
static void lower(struct kernel *k, struct link *l)
{
	int low = l->perf ? 0 : kernel__take_low_fd(k);

	if (low <= 0)
		return;
	if (dup3(l->fd, low, O_CLOEXEC) == low) {
		close(l->fd);
		l->fd = low;
	} else {
		close(low);
	}
}

/*
 * In a function that is hardly called, the anchor: see attach.h. A second link in a place that has
 * a probe costs nothing. Where all are called often there is none: it stays while the others are
 * parked.
 */
static int attach_anchor(struct attachment *a, const struct alloc_funcs *funcs, const struct plan *p)
{
	const struct point *cold = NULL;
	struct chosen c = { .cookies = { &(uint64_t){ 0 }, 1, 1 } };
	uint64_t offset;
	int err;

	for (size_t i = 0; i < p->n_points; i++)
		if (p->points[i].how == ON_ENTRY && !(funcs->v[p->points[i].func].flags & FUNC_OFTEN))
			cold = &p->points[i];
	if (!cold)
		return 0;
	offset = cold->offset;
	c.offsets.v = &offset;
	c.offsets.n = c.offsets.room = 1;
	err = attach(a, ANCHORS, a->kernel->skel->progs.stay, p->object, &c);
	if (!err && a->links[ANCHORS].n && a->links[ANCHORS].v[a->links[ANCHORS].n - 1].object == p->object) {
		struct link *l = &a->links[ANCHORS].v[a->links[ANCHORS].n - 1];

		lower(a->kernel, l);
		if (!l->perf)
			watch_last(a, ANCHORS);
	}
	return err;
}

static int attach_steps(struct attachment *a, const struct alloc_funcs *funcs,
			const struct plan *const *plans, size_t n, struct err *e)
{
	for (size_t step = 0; step < N_STEPS; step++) {
		struct bpf_program *prog = program_of(a->kernel, &steps[step]);

		for (size_t i = 0; i < n; i++) {
			__attribute__((cleanup(chosen_done))) struct chosen c = { .funcs = funcs };
			int err;

			choose(a->kernel, plans[i], funcs, &steps[step], &c);
			err = c.offsets.n ? attach(a, step, prog, plans[i]->object, &c) : 0;
			if (err)
				return explain(a, e, err, plans[i]->object);
		}
	}
	return 0;
}

int attachment__add(struct attachment *a, const struct alloc_funcs *funcs, const struct plan *const *plans, size_t n,
		    struct err *e)
{
	int err = 0;

	a->funcs = funcs;
	for (size_t i = 0; i < n; i++)
		*vec_push(&a->plans) = plans[i];
	for (size_t i = 0; i < n; i++) {
		err = attach_anchor(a, funcs, plans[i]);
		if (err)
			return explain(a, e, err, plans[i]->object);
	}
	if (a->parked)
		return 0;
	kernel__change_points(a->kernel, true);
	err = attach_steps(a, funcs, plans, n, e);
	kernel__change_points(a->kernel, false);
	return err;
}

int attachment__renew(const struct attachment *old, struct attachment **ret, struct err *e)
{
	struct attachment *new = attachment__new(old->kernel, old->pid, old->parked);
	int err = 0;

	if (old->plans.n)
		err = attachment__add(new, old->funcs, old->plans.v, old->plans.n, e);
	if (err)
		attachment__free(new);
	else
		*ret = new;
	return err;
}

/*
 * ---- places that no allocator's plan has
 *
 * Those that the user named, where libraries are loaded, and where calls fail unseen. They stay
 * until the end, or until their file is written to; those of the last kind are parked with the
 * allocators'.
 */

static int attach_spots(struct attachment *a, size_t step, struct bpf_program *prog, const struct object *obj,
			const struct spot_points *points, struct err *e)
{
	__attribute__((cleanup(chosen_done))) struct chosen c = {};
	bool counted = vec_first(p, points, p->counter);
	int err;

	for (size_t i = 0; i < points->n; i++) {
		*vec_push(&c.offsets) = points->v[i].offset;
		*vec_push(&c.cookies) = points->v[i].cookie;
		if (counted)
			*vec_push(&c.counters) = points->v[i].counter;
	}
	err = points->n ? attach(a, step, prog, obj, &c) : 0;
	return err ? explain(a, e, err, obj) : 0;
}

int attachment__add_spots(struct attachment *a, enum spots_for what, const struct object *obj,
			  const struct spot_points *points, struct err *e)
{
	struct bpf_program *const programs[] = {
		[FOR_USER] = a->kernel->skel->progs.reach_spot,
		[FOR_WITHIN] = a->kernel->skel->progs.reach_within,
		[FOR_LOADER] = a->kernel->skel->progs.reach_loader,
		[FOR_PYTHON] = a->kernel->skel->progs.reach_code_freed,
		[FOR_ENTRY] = a->kernel->skel->progs.reach_entry,
		[FOR_MARK] = a->kernel->skel->progs.stay,
	};

	return attach_spots(a, OTHERS, programs[what], obj, points, e);
}

int attachment__add_spot(struct attachment *a, enum spots_for what, const struct object *obj, uint64_t offset,
			 struct err *e)
{
	struct spot_point point = { .offset = offset };

	return attachment__add_spots(a, what, obj, &(struct spot_points){ &point, 1, 1 }, e);
}

static int attach_refusals(struct attachment *a, const struct refusing *r, struct err *e)
{
	return attach_spots(a, REFUSALS, a->kernel->skel->progs.reach_call, r->object, r->points, e);
}

int attachment__add_refusals(struct attachment *a, const struct object *obj, const struct spot_points *points,
			     struct err *e)
{
	struct refusing r = { obj, points };

	if (!points->n)
		return 0;
	*vec_push(&a->refusals) = r;
	return a->parked ? 0 : attach_refusals(a, &r, e);
}

/* ---- and in again */

/* The refusals that were added. */
static int put_in_refusals(struct attachment *a, struct err *e)
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

/* Watched first, like any other: a file that came while all were parked, and has no anchor, is not yet. */
static int put_in(struct attachment *a, const struct plan *plan, size_t step)
{
	struct bpf_program *prog = program_of(a->kernel, &steps[step]);
	__attribute__((cleanup(chosen_done))) struct chosen chosen = {};

	choose(a->kernel, plan, a->funcs, &steps[step], &chosen);
	return chosen.offsets.n ? attach(a, step, prog, plan->object, &chosen) : 0;
}

/*
 * One after the other: the first link waits for the kernel's readers (8 to 15 ms, 6.18), those that follow at once take
 * a tenth of a millisecond each. As long as some are in place a target pays for nothing, so those
 * that it meets often come last.
 */
int attachments__unpark(struct attachment *const *v, size_t n, uint64_t *ret_hot_ns, struct err *e)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++)
		if (v[i])
			err = put_in_refusals(v[i], e);
	for (int hot = 0; hot <= 1; hot++) {
		*ret_hot_ns = now_ns();
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; v[i] && k < v[i]->plans.n; k++)
				for (size_t step = 0; step < N_STEPS && !err; step++) {
					/* those that the target meets with each call, or the others */
					if ((steps[step].role == ROLE_ALLOC || steps[step].role == ROLE_FREE) != hot)
						continue;
					err = put_in(v[i], v[i]->plans.v[k], step);
					/* a target that has ended is no failure: its end is reported elsewhere */
					if (err == -ESRCH)
						err = 0;
					else if (err)
						err = explain(v[i], e, err, v[i]->plans.v[k]->object);
				}
	}
	*ret_hot_ns = now_ns() - *ret_hot_ns;
	for (size_t i = 0; i < n; i++)
		if (v[i])
			v[i]->parked = false;
	return err;
}
