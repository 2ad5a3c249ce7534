// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the thread that looks names up, its list of what is wanted, and what it
 * has found.
 *
 * What always holds: sym, and what depends on it, is used only by a thread that holds the
 * lock `sym_lock`: the thread during a lookup, or the caller between pause
 * and resume. Lists are touched under `lock`, for no longer than it takes to
 * change them, so the thread that draws the screen never waits for a lookup. Objects are
 * held from the wish to its end, and given back by the caller's thread, which
 * owns their table. A JIT's list is written by the caller's thread: it is looked
 * into there, too, when the thread is idle.
 */
#include "names/names.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>

#include "elf/object.h"
#include "reader/reader.h"
#include "util/hash.h"
#include "util/util.h"

#define NOTIFY_NS (100 * MS_NS)	/* the caller is woken at most this often, but at the end */

struct wish {
	struct object *obj;	/* held */
	uint64_t vaddr;
	bool vdso;
};

struct found {
	struct object *obj;
	uint64_t vaddr;
	const struct line *lines;	/* the pool's of sym */
	size_t n_lines;
};

struct names {
	struct sym *sym;
	pthread_t thread;
	pthread_mutex_t lock, sym_lock;
	pthread_cond_t more;
	int fd;
	/* under lock */
	struct vec(struct wish) wishes;
	size_t next;		/* the first that was not begun */
	struct vec(struct found) found;	/* since the caller last checked */
	struct vec(struct object *) done_with;	/* to be given back */
	struct object *at;	/* being looked up now */
	bool stop, paused;
	uint64_t notified_ns;
	/* the caller's */
	struct hash known;	/* of struct found */
};

/* ---- the thread */

static size_t resolve(struct sym *sym, const struct wish *w, const struct line **ret)
{
	size_t n = sym__resolve(sym, w->obj, w->vaddr, ret);

	/*
	 * signal handlers return to the first instruction of a function that no code called: no
	 * call stands before it
	 */
	if (w->vdso && !(*ret)[0].function)
		n = sym__resolve(sym, w->obj, w->vaddr + 1, ret);
	return n;
}

static void notify(struct names *n)
{
	uint64_t one = 1, now = now_ns();

	if (n->next < n->wishes.n && now - n->notified_ns < NOTIFY_NS)
		return;
	n->notified_ns = now;
	if (write(n->fd, &one, sizeof(one)) < 0) {
		/* it is readable already */
	}
}

static void *look_up(void *arg)
{
	struct names *n = arg;

	pthread_mutex_lock(&n->lock);
	while (!n->stop) {
		const struct line *lines;
		struct wish w;
		size_t n_lines;

		if (n->paused || n->next >= n->wishes.n) {
			pthread_cond_wait(&n->more, &n->lock);
			continue;
		}
		w = n->wishes.v[n->next++];
		n->at = w.obj;
		pthread_mutex_lock(&n->sym_lock);
		pthread_mutex_unlock(&n->lock);
		n_lines = resolve(n->sym, &w, &lines);
		pthread_mutex_unlock(&n->sym_lock);
		pthread_mutex_lock(&n->lock);
		n->at = NULL;
		*vec_push(&n->found) = (struct found){ w.obj, w.vaddr, lines, n_lines };
		*vec_push(&n->done_with) = w.obj;
		notify(n);
		pthread_cond_broadcast(&n->more);
	}
	pthread_mutex_unlock(&n->lock);
	return NULL;
}

struct names *names__new(struct sym *sym)
{
	struct names *n = xcalloc(1, sizeof(*n));
	sigset_t all, was;
	int err;

	n->sym = sym;
	n->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&n->lock, NULL);
	pthread_mutex_init(&n->sym_lock, NULL);
	pthread_cond_init(&n->more, NULL);
	/* signals are the other thread's */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	err = n->fd < 0 ? -errno : pthread_create(&n->thread, NULL, look_up, n);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	if (!err)
		return n;
	if (n->fd >= 0)
		close(n->fd);
	free(n);
	return NULL;
}

/* Under lock: nothing is wanted any more, and what is done with goes back to the table of objects. */
static void give_back(struct names *n)
{
	for (size_t i = n->next; i < n->wishes.n; i++)
		object__put(n->wishes.v[i].obj);
	n->wishes.n = n->next = 0;
	for (size_t i = 0; i < n->done_with.n; i++)
		object__put(n->done_with.v[i]);
	n->done_with.n = 0;
}

void names__free(struct names *n)
{
	if (!n)
		return;
	pthread_mutex_lock(&n->lock);
	n->stop = true;
	pthread_cond_broadcast(&n->more);
	pthread_mutex_unlock(&n->lock);
	readers__hurry(true);
	pthread_join(n->thread, NULL);
	readers__hurry(false);
	give_back(n);
	vec_done(&n->wishes);
	vec_done(&n->found);
	vec_done(&n->done_with);
	hash__free(&n->known);
	close(n->fd);
	pthread_mutex_destroy(&n->lock);
	pthread_mutex_destroy(&n->sym_lock);
	pthread_cond_destroy(&n->more);
	free(n);
}

int names__fd(const struct names *n)
{
	return n->fd;
}

void names__pause(struct names *n)
{
	if (!n)
		return;
	pthread_mutex_lock(&n->lock);
	n->paused = true;
	while (n->at)
		pthread_cond_wait(&n->more, &n->lock);
	pthread_mutex_unlock(&n->lock);
}

void names__resume(struct names *n)
{
	if (!n)
		return;
	pthread_mutex_lock(&n->lock);
	n->paused = false;
	pthread_cond_broadcast(&n->more);
	pthread_mutex_unlock(&n->lock);
}

/* ---- the caller */

static uint64_t key_of(const struct object *obj, uint64_t vaddr)
{
	return hash__mix((uintptr_t)obj, vaddr);
}

static const struct found *know(const struct names *n, const struct object *obj, uint64_t vaddr)
{
	const struct found *f = hash__get(&n->known, key_of(obj, vaddr));

	return f && f->obj == obj && f->vaddr == vaddr ? f : NULL;
}

static void learn(struct names *n, const struct found *found)
{
	struct found *f = hash__get(&n->known, key_of(found->obj, found->vaddr));

	if (f) {
		*f = *found;
		return;
	}
	f = xmalloc(sizeof(*f));
	*f = *found;
	hash__put(&n->known, key_of(f->obj, f->vaddr), f);
}

void names__heard(struct names *n)
{
	uint64_t ticks;

	if (read(n->fd, &ticks, sizeof(ticks)) < 0) {
		/* it was not reported yet */
	}
}

static void ask_jit(struct names *n, struct object *obj, uint64_t vaddr)
{
	struct found f = { .obj = obj, .vaddr = vaddr };

	if (pthread_mutex_trylock(&n->sym_lock))
		return;
	f.n_lines = sym__resolve(n->sym, obj, vaddr, &f.lines);
	pthread_mutex_unlock(&n->sym_lock);
	learn(n, &f);
}

static bool fill(struct names *n, struct snapshot *s, struct place *p)
{
	struct object *obj = p->module >= 0 ? (struct object *)s->modules[p->module].handle : NULL;
	const struct found *f;

	if (p->resolved)
		return false;
	if (!obj) {
		p->resolved = true;
		return true;
	}
	f = know(n, obj, p->offset);
	if (!f && object__has_names(obj)) {
		ask_jit(n, obj, p->offset);
		f = know(n, obj, p->offset);
	}
	if (f) {
		p->lines = f->lines;
		p->n_lines = f->n_lines;
		p->resolved = true;
		return true;
	}
	if (object__has_names(obj))
		return false;
	object__hold(obj);
	*vec_push(&n->wishes) = (struct wish){ obj, p->offset, !strcmp(s->modules[p->module].path, "[vdso]") };
	return false;
}

size_t names__want(struct names *n, struct snapshot *s, const uint32_t *places, size_t n_places)
{
	size_t named = 0;

	pthread_mutex_lock(&n->lock);
	names__heard(n);
	for (size_t i = 0; i < n->found.n; i++)
		learn(n, &n->found.v[i]);
	n->found.n = 0;
	give_back(n);
	for (size_t i = 0; i < n_places; i++)
		named += fill(n, s, &s->places[places[i]]);
	pthread_cond_broadcast(&n->more);
	pthread_mutex_unlock(&n->lock);
	return named;
}

size_t names__n_left(struct names *n, char *path, size_t size)
{
	size_t left;

	pthread_mutex_lock(&n->lock);
	left = n->wishes.n - n->next + !!n->at;
	snprintf(path, size, "%s", n->at ? path_basename(n->at->path) : n->next < n->wishes.n ? path_basename(n->wishes.v[n->next].obj->path) : "");
	pthread_mutex_unlock(&n->lock);
	return left;
}
