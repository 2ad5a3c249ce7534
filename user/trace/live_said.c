// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns messages while the screen is up. What always holds: none of them gets to the terminal meanwhile, and each is said
 * again on the normal screen, because a line that was overwritten is lost; a file gets them at once.
 */
#include "trace/live_said.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "util/log.h"

#define SAID_MAX 200			/* messages kept for the end */

static void wake(struct said *s)
{
	uint64_t one = 1;

	if (write(s->fd, &one, sizeof(one)) < 0) {
		/* it is readable already */
	}
}

static void on_say(const char *text, void *arg)
{
	struct said *s = arg;
	char **slot;

	/* a file gets them at once, as always */
	if (!isatty(STDERR_FILENO))
		dprintf(STDERR_FILENO, "malloctrace: %s\n", text);
	pthread_mutex_lock(&s->lock);
	if (s->all.n == SAID_MAX) {
		free(s->all.v[0]);
		memmove(s->all.v, s->all.v + 1, --s->all.n * sizeof(*s->all.v));
		s->n_shown -= s->n_shown > 0;
	}
	slot = vec_push(&s->all);
	if (slot)
		*slot = strdup(text);
	pthread_mutex_unlock(&s->lock);
	wake(s);
}

static void on_progress(const char *text, void *arg)
{
	struct said *s = arg;

	pthread_mutex_lock(&s->lock);
	free(s->progress);
	s->progress = text ? strdup(text) : NULL;
	pthread_mutex_unlock(&s->lock);
	wake(s);
}

static void on_step(const char *text, void *arg)
{
	struct said *s = arg;

	if (s->starts)
		on_progress(text, arg);
}

int said__open(struct said *s)
{
	s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->fd < 0)
		return -errno;
	pthread_mutex_init(&s->lock, NULL);
	return 0;
}

void said__listen(struct said *s)
{
	s->starts = true;
	log__redirect(&(struct log_sink){ on_say, on_progress, on_step, s });
}

void said__begun(struct said *s)
{
	s->starts = false;
	on_progress(NULL, s);
}

bool said__is_new(struct said *s)
{
	uint64_t n;

	return read(s->fd, &n, sizeof(n)) == sizeof(n);
}

void said__show(struct said *s, struct top *t)
{
	pthread_mutex_lock(&s->lock);
	for (; s->n_shown < s->all.n; s->n_shown++)
		if (s->all.v[s->n_shown])
			top__say(t, s->all.v[s->n_shown]);
	pthread_mutex_unlock(&s->lock);
}

bool said__show_progress(struct said *s, struct top *t)
{
	bool any;

	pthread_mutex_lock(&s->lock);
	any = s->progress;
	if (any)
		top__progress(t, s->progress);
	pthread_mutex_unlock(&s->lock);
	return any;
}

void said__leave(struct said *s)
{
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->all.n; i++)
		if (isatty(STDERR_FILENO) && s->all.v[i])
			dprintf(STDERR_FILENO, "malloctrace: %s\n", s->all.v[i]);
}

void said__close(struct said *s)
{
	if (s->fd < 0)
		return;
	log__redirect(NULL);
	for (size_t i = 0; i < s->all.n; i++) {
		if (isatty(STDERR_FILENO) && s->all.v[i])
			say("%s", s->all.v[i]);
		free(s->all.v[i]);
	}
	vec_done(&s->all);
	free(s->progress);
	close(s->fd);
	pthread_mutex_destroy(&s->lock);
	*s = (struct said){ .fd = -1 };
}
