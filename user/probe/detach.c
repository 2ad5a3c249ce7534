// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the links on their way out: a struct closing has them from when they leave the lists of their steps until the
 * kernel has let go of them.
 */
#include <bpf/libbpf.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>

#include "probe/attach.h"
#include "probe/attach_parts.h"
#include "util/util.h"

#define MAX_HANDS 64

/*
 * Threads that take one piece of work after the other. Each is done once, however many can be
 * started; at worst by the one that waits.
 */
struct crew {
	void (*work)(void *arg, size_t i);
	void *arg;
	size_t n, next;
	pthread_t hands[MAX_HANDS];
	size_t n_hands;
};

static void *take_part(void *arg)
{
	struct crew *c = arg;
	size_t i;

	while ((i = __atomic_fetch_add(&c->next, 1, __ATOMIC_RELAXED)) < c->n)
		c->work(c->arg, i);
	return NULL;
}

/* spare: how many of the n the caller does itself, while others do the rest */
static void start_hands(struct crew *c, size_t spare, const pthread_attr_t *attr)
{
	while (c->n_hands + spare < c->n && c->n_hands < MAX_HANDS &&
	       !pthread_create(&c->hands[c->n_hands], attr, take_part, c))
		c->n_hands++;
}

/*
 * The same, before others on a busy machine: as long as some probes are in place
 * and others are not, a target pays for nothing. They hardly use the CPU.
 */
static void start_crew_first(struct crew *c)
{
	struct sched_param first = { .sched_priority = 1 };
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_RR);
	pthread_attr_setschedparam(&attr, &first);
	start_hands(c, 0, &attr);
	pthread_attr_destroy(&attr);
	/* without the right to it */
	start_hands(c, 0, NULL);
}

static void join_crew(struct crew *c)
{
	take_part(c);
	while (c->n_hands)
		pthread_join(c->hands[--c->n_hands], NULL);
}

struct closing {
	struct vec(struct link) links;
	struct crew crew;
	size_t n_closed;
	bool started;
	uint64_t started_ns, ended_ns;	/* CLOCK_MONOTONIC; 0: not yet */
	int event_fd;		/* not ours; -1: nothing waits for it */
	struct writes *writes;	/* not ours */
};

static void close_one(void *arg, size_t i)
{
	struct closing *c = arg;
	struct link *l = &c->links.v[i];

	if (l->perf) {
		bpf_link__destroy(l->perf);
	} else {
		writes__drop_link(c->writes, l->fd);
		close(l->fd);
	}
	if (__atomic_add_fetch(&c->n_closed, 1, __ATOMIC_ACQ_REL) != c->links.n)
		return;
	__atomic_store_n(&c->ended_ns, now_ns(), __ATOMIC_RELEASE);
	if (c->event_fd >= 0)
		eventfd_write(c->event_fd, 1);
}

/*
 * Entries first, as attach.h says. often: only those that the target meets most, or only the
 * others. obj: only those in it, NULL: in all.
 */
static void move_links(struct attachment *a, size_t first, size_t end, const struct object *obj, bool often,
		       struct closing *c)
{
	c->writes = a->kernel->writes;
	for (size_t step = end; step-- > first;) {
		size_t kept = 0;

		for (size_t i = 0; i < a->links[step].n; i++) {
			if (a->links[step].v[i].often != often || (obj && a->links[step].v[i].object != obj)) {
				a->links[step].v[kept++] = a->links[step].v[i];
				continue;
			}
			*vec_push(&c->links) = a->links[step].v[i];
		}
		a->links[step].n = kept;
	}
}

static void close_now(struct kernel *k, struct closing *c)
{
	if (!c->links.n)
		return;
	kernel__change_points(k, true);
	c->event_fd = -1;
	c->crew = (struct crew){ .work = close_one, .arg = c, .n = c->links.n };
	start_hands(&c->crew, 1, NULL);
	join_crew(&c->crew);
	vec_done(&c->links);
	kernel__change_points(k, false);
}

void attachments__free(struct attachment *const *v, size_t n)
{
	struct closing anchors = {};
	struct kernel *k = NULL;

	for (size_t i = 0; i < n && !k; i++)
		k = v[i] ? v[i]->kernel : NULL;

	/*
	 * All at once, because nothing is recorded any more when a trace ends. But the
	 * kernel closes perf events one after the other, whichever thread closes them (event_mutex,
	 * a tenth of a second each on 6.18): those that the target meets most go before the others
	 * begin to wait.
	 */
	for (int often = 1; often >= 0; often--) {
		struct closing c = {};

		for (size_t i = 0; i < n; i++)
			if (v[i])
				move_links(v[i], 0, ANCHORS, NULL, often, &c);
		close_now(k, &c);
	}
	for (size_t i = 0; i < n; i++)
		if (v[i])
			move_links(v[i], ANCHORS, ANCHORS + 1, NULL, false, &anchors);
	close_now(k, &anchors);
	for (size_t i = 0; i < n; i++) {
		for (size_t step = 0; v[i] && step < ARRAY_SIZE(v[i]->links); step++)
			vec_done(&v[i]->links[step]);
		if (v[i]) {
			vec_done(&v[i]->plans);
			vec_done(&v[i]->refusals);
		}
		free(v[i]);
	}
}

struct leaving {
	pthread_t thread;
	uint64_t ended_ns;
	size_t n;
	struct attachment *v[];
};

static void *leave(void *arg)
{
	struct leaving *l = arg;

	attachments__free(l->v, l->n);
	l->ended_ns = now_ns();
	return NULL;
}

struct leaving *attachments__leave(struct attachment *const *v, size_t n)
{
	struct leaving *l = xcalloc(1, sizeof(*l) + n * sizeof(l->v[0]));

	l->n = n;
	memcpy(l->v, v, n * sizeof(l->v[0]));
	if (!pthread_create(&l->thread, NULL, leave, l))
		return l;
	free(l);
	attachments__free(v, n);
	return NULL;
}

uint64_t leaving__wait(struct leaving *l)
{
	uint64_t ended_ns;

	if (!l)
		return now_ns();
	pthread_join(l->thread, NULL);
	ended_ns = l->ended_ns;
	free(l);
	return ended_ns;
}

void attachment__remove(struct attachment *a, const struct object *obj, bool at_once)
{
	struct closing anchors = {};

	for (int often = 1; often >= 0; often--) {
		struct closing c = {};

		move_links(a, 0, ANCHORS, obj, often, at_once ? &anchors : &c);
		if (!at_once)
			close_now(a->kernel, &c);
	}
	move_links(a, ANCHORS, ANCHORS + 1, obj, false, &anchors);
	close_now(a->kernel, &anchors);
	vec_keep(plan, &a->plans, (*plan)->object != obj);
	vec_keep(r, &a->refusals, r->object != obj);
}

void attachment__free(struct attachment *a)
{
	attachments__free(&a, 1);
}

struct closing *attachments__take(struct attachment *const *v, size_t n, bool parked, int event_fd)
{
	struct closing *c = xcalloc(1, sizeof(*c));

	c->event_fd = event_fd;
	for (size_t i = 0; i < n; i++) {
		if (!v[i])
			continue;
		v[i]->parked = parked;
		move_links(v[i], 0, OTHERS, NULL, true, c);
		move_links(v[i], 0, OTHERS, NULL, false, c);
	}
	return c;
}

void closing__start(struct closing *c)
{
	if (!c || __atomic_exchange_n(&c->started, true, __ATOMIC_ACQ_REL))
		return;
	__atomic_store_n(&c->started_ns, now_ns(), __ATOMIC_RELEASE);
	c->crew = (struct crew){ .work = close_one, .arg = c, .n = c->links.n };
	start_crew_first(&c->crew);
	if (!c->links.n)
		eventfd_write(c->event_fd, 1);
}

bool closing__done(const struct closing *c)
{
	return __atomic_load_n(&c->started, __ATOMIC_ACQUIRE) &&
	       __atomic_load_n(&c->n_closed, __ATOMIC_ACQUIRE) == c->links.n;
}

uint64_t closing__took_ns(const struct closing *c)
{
	uint64_t from = c ? __atomic_load_n(&c->started_ns, __ATOMIC_ACQUIRE) : 0;
	uint64_t to = c ? __atomic_load_n(&c->ended_ns, __ATOMIC_ACQUIRE) : 0;

	if (!from || !c->links.n)
		return 0;
	return (to ? to : now_ns()) - from;
}

void closing__wait(struct closing *c)
{
	if (!c)
		return;
	closing__start(c);
	join_crew(&c->crew);
	vec_done(&c->links);
	free(c);
}
