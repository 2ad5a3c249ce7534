// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the links. A link exists in the list of its step, or not at all. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "malloctrace.skel.h"
#include "probe/attach.h"
#include "probe/multi.h"
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
static const struct step steps[] = {
	{ ROLE_FREE, ENTER, ON_ENTRY },
	{ ROLE_REALLOC, LEAVE, ON_RETURN },
	{ ROLE_REALLOC, LEAVE, ON_RET_INSN },
	{ ROLE_REALLOC, ENTER, ON_ENTRY },
	{ ROLE_ALLOC, LEAVE, ON_RETURN },
	{ ROLE_ALLOC, LEAVE, ON_RET_INSN },
	{ ROLE_ALLOC, ENTER, ON_ENTRY },
	{ ROLE_MAP, LEAVE, ON_RETURN },
	{ ROLE_MAP, LEAVE, ON_RET_INSN },
	{ ROLE_MAP, ENTER, ON_ENTRY },
};

struct link {
	int fd;			/* uprobe_multi */
	struct bpf_link *perf;	/* else */
	bool often;		/* hit more than others */
};

struct attachment {
	struct kernel *kernel;
	pid_t pid;
	struct vec(struct link) links[ARRAY_SIZE(steps)];
};

static struct bpf_program *program_of(struct kernel *k, const struct step *s)
{
	struct bpf_program *const of[N_ROLES][2] = {
		[ROLE_ALLOC] = { k->skel->progs.enter_alloc, k->skel->progs.leave },
		[ROLE_REALLOC] = { k->skel->progs.enter_realloc, k->skel->progs.leave },
		[ROLE_FREE] = { k->skel->progs.enter_free, NULL },
		[ROLE_MAP] = { k->skel->progs.enter_map, k->skel->progs.leave_map },
	};

	return of[s->role][s->side];
}

int attachment__new(struct kernel *k, pid_t pid, struct attachment **ret, struct err *e)
{
	struct attachment *a = calloc(1, sizeof(*a));

	if (!a)
		return err_set(e, -ENOMEM, "out of memory");
	a->kernel = k;
	a->pid = pid;
	*ret = a;
	return 0;
}

struct chosen {
	const struct alloc_funcs *funcs;
	struct vec(uint64_t) offsets;
	struct vec(uint64_t) cookies;
};

static void chosen_done(struct chosen *c)
{
	vec_done(&c->offsets);
	vec_done(&c->cookies);
}

static const struct planned_func *planned(const struct plan *p, uint32_t func)
{
	for (size_t i = 0; i < p->n_funcs; i++)
		if (p->funcs[i].func == func)
			return &p->funcs[i];
	return NULL;
}

/* What an entry must know of how its call will be seen to return. */
static uint64_t return_flags(const struct plan *p, uint32_t func)
{
	if (p->want.mode == MT_MODE_COUNT)
		return 0;
	if (planned(p, func) && planned(p, func)->no_return)
		return MT_COOKIE_NO_RETURN;
	for (size_t i = 0; i < p->n_points; i++)
		if (p->points[i].func == func && p->points[i].how == ON_RETURN)
			return 0;
	/* return instructions, its own or shared with another function */
	return MT_COOKIE_AT_RET;
}

static uint64_t cookie_of(const struct plan *p, const struct alloc_funcs *funcs, const struct point *pt, const struct step *s)
{
	const struct planned_func *f = planned(p, pt->func);
	const struct alloc_func *row = &funcs->v[pt->func];
	uint64_t cookie = pt->no_args ? MT_COOKIE(pt->func, MT_NO_ARG, MT_NO_ARG, MT_NO_ARG, MT_NO_ARG, row->result) :
					alloc_funcs__cookie(funcs, pt->func);

	cookie |= (uint64_t)pt->sp_delta << MT_COOKIE_SP_SHIFT;
	if (pt->how == ON_RET_INSN)
		cookie |= MT_COOKIE_AT_RET;
	if (s->side == ENTER && s->role != ROLE_FREE)
		cookie |= return_flags(p, pt->func);
	if (pt->return_only)
		cookie |= MT_COOKIE_RETURN_ONLY;
	if (f && f->usable)
		cookie |= MT_COOKIE_USABLE;
	return cookie;
}

static int choose(const struct plan *p, const struct alloc_funcs *funcs, const struct step *s, struct chosen *ret)
{
	for (size_t i = 0; i < p->n_points; i++) {
		const struct point *pt = &p->points[i];
		uint64_t *offset, *cookie;

		if (funcs->v[pt->func].role != s->role || pt->how != s->how)
			continue;
		offset = vec_push(&ret->offsets);
		cookie = vec_push(&ret->cookies);
		if (!offset || !cookie)
			return -ENOMEM;
		*offset = pt->offset;
		*cookie = cookie_of(p, funcs, pt, s);
	}
	return 0;
}

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

static int attach_multi(struct attachment *a, size_t step, struct bpf_program *prog, const struct object *obj,
			const struct chosen *c)
{
	struct link *l = vec_push(&a->links[step]);

	if (!l)
		return -ENOMEM;
	l->fd = uprobe_multi__link(bpf_program__fd(prog), obj->fd_path, c->offsets.v, c->cookies.v, c->offsets.n,
				   steps[step].how == ON_RETURN, a->pid);
	if (l->fd < 0) {
		a->links[step].n--;
		return -errno;
	}
	return 0;
}

static int attach_perf(struct attachment *a, size_t step, struct bpf_program *prog, const struct object *obj,
		       const struct chosen *c)
{
	for (size_t i = 0; i < c->offsets.n; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, opts, .retprobe = steps[step].how == ON_RETURN, .bpf_cookie = c->cookies.v[i]);
		struct link *l = vec_push(&a->links[step]);

		if (!l)
			return -ENOMEM;
		l->fd = -1;
		l->perf = bpf_program__attach_uprobe_opts(prog, a->pid, obj->fd_path, c->offsets.v[i], &opts);
		if (!l->perf) {
			a->links[step].n--;
			return -errno;
		}
		l->often = c->funcs && c->funcs->v[MT_COOKIE_FUNC(c->cookies.v[i])].flags & FUNC_OFTEN;
	}
	return 0;
}

int attachment__add(struct attachment *a, const struct alloc_funcs *funcs, const struct plan *const *plans, size_t n,
		    struct err *e)
{
	for (size_t step = 0; step < ARRAY_SIZE(steps); step++) {
		struct bpf_program *prog = program_of(a->kernel, &steps[step]);

		for (size_t i = 0; i < n; i++) {
			__attribute__((cleanup(chosen_done))) struct chosen c = { .funcs = funcs };
			int err = choose(plans[i], funcs, &steps[step], &c);

			if (!err && c.offsets.n)
				err = a->kernel->multi ? attach_multi(a, step, prog, plans[i]->object, &c) :
							 attach_perf(a, step, prog, plans[i]->object, &c);
			if (err)
				return explain(a, e, err, plans[i]->object);
		}
	}
	return 0;
}

int attachment__add_entry(struct attachment *a, const struct object *exe, uint64_t offset, struct err *e)
{
	struct chosen c = { .offsets = { &offset, 1, 1 }, .cookies = { &(uint64_t){ 0 }, 1, 1 } };
	size_t step = ARRAY_SIZE(steps) - 1;	/* an entry like any other */
	struct bpf_program *prog = a->kernel->skel->progs.reach_entry;
	int err = a->kernel->multi ? attach_multi(a, step, prog, exe, &c) : attach_perf(a, step, prog, exe, &c);

	return err ? explain(a, e, err, exe) : 0;
}

#define CLOSERS 64

/* Links that are to go, taken by whoever is free: most of the time of closing one is spent waiting for others. */
struct closing {
	struct vec(struct link) links;
	size_t next;
};

static void *close_links(void *arg)
{
	struct closing *c = arg;
	size_t i;

	while ((i = __atomic_fetch_add(&c->next, 1, __ATOMIC_RELAXED)) < c->links.n) {
		if (c->links.v[i].perf)
			bpf_link__destroy(c->links.v[i].perf);
		else
			close(c->links.v[i].fd);
	}
	return NULL;
}

static void close_all(struct closing *c)
{
	pthread_t threads[CLOSERS];
	size_t n = 0;

	while (n + 1 < c->links.n && n < CLOSERS && !pthread_create(&threads[n], NULL, close_links, c))
		n++;
	close_links(c);
	while (n)
		pthread_join(threads[--n], NULL);
	vec_done(&c->links);
}

static void take_links(struct attachment *a, size_t step, bool often, struct closing *c)
{
	for (size_t i = 0; i < a->links[step].n; i++) {
		struct link *l;

		if (a->links[step].v[i].often != often)
			continue;
		l = vec_push(&c->links);
		if (l) {
			*l = a->links[step].v[i];
		} else {
			/* without memory: one by one */
			struct closing one = { .links = { &a->links[step].v[i], 1, 1 } };

			close_links(&one);
		}
	}
}

void attachments__free(struct attachment *const *v, size_t n)
{
	/*
	 * Entries first, as attach.h says; all at once, because nothing is recorded any more when a trace ends. The
	 * kernel closes perf events one after the other whoever asks (event_mutex, a tenth of a second each on 6.18):
	 * those that the target meets most go before the others begin to wait.
	 */
	for (int often = 1; often >= 0; often--) {
		struct closing c = {};

		for (size_t step = ARRAY_SIZE(steps); step-- > 0;)
			for (size_t i = 0; i < n; i++)
				if (v[i])
					take_links(v[i], step, often, &c);
		close_all(&c);
	}
	for (size_t i = 0; i < n; i++) {
		for (size_t step = 0; v[i] && step < ARRAY_SIZE(steps); step++)
			vec_done(&v[i]->links[step]);
		free(v[i]);
	}
}

void attachment__free(struct attachment *a)
{
	attachments__free(&a, 1);
}
