// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the list of files that are not read again, as their readers failed, and of those that have no probes for that reason. What
 * always holds: each counts once and is told once; how many readers may fail is bounded: then nothing is read any more.
 */
#include "reader/reader_parts.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "util/hash.h"
#include "util/util.h"

#define ENDED_MAX 256			/* readers that came to a bad end, */
#define WASTED_NS (120 * SECOND_NS)	/* and what was spent on them */

static struct {
	pthread_mutex_t lock;	/* of all below, but for on_lost; the last one to be taken */
	readers_lost_fn *on_lost;
	struct hash lost;	/* files: hash of their numbers → something */
	struct hash unread;	/* the same, of those whose probes are missing */
	struct hash told;	/* the same, of those that no reader was given, where no probe is missing: they may be read later */
	uint64_t n_unread;
	unsigned int n_ended;
	uint64_t wasted_ns;
	bool given_up;		/* and said so */
} list = { .lock = PTHREAD_MUTEX_INITIALIZER };

void unread__tell_to(readers_lost_fn *on_lost)
{
	list.on_lost = on_lost;
}

void unread__begin_anew(void)
{
	list.given_up = false;
}

void unread__done(void)
{
	hash__done(&list.lost);
	hash__done(&list.unread);
	hash__done(&list.told);
}

static uint64_t key_of_numbers(uint64_t dev, uint64_t ino)
{
	return hash__mix(hash__mix(1, dev), ino) | 1;
}

/* 0: of no file */
static uint64_t key_of(const struct reader_call *c)
{
	struct statx st;

	/* what the kernel knows: nobody else is asked, who may not answer */
	return !c->path || c->fd < 0 || statx(c->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &st) ? 0 :
		key_of_numbers(makedev(st.stx_dev_major, st.stx_dev_minor), st.stx_ino);
}

bool unread__is_lost(const struct reader_call *c)
{
	uint64_t key = key_of(c);
	bool is;

	pthread_mutex_lock(&list.lock);
	is = list.given_up || (key && hash__get(&list.lost, key));
	pthread_mutex_unlock(&list.lock);
	return is;
}

/* Was it the first time? */
static bool count_unread(uint64_t key)
{
	bool first;

	pthread_mutex_lock(&list.lock);
	first = !hash__get(&list.unread, key);
	if (first) {
		list.n_unread++;
		hash__put(&list.unread, key, &list);
	}
	pthread_mutex_unlock(&list.lock);
	return first;
}

void readers__count_unread(uint64_t dev, uint64_t ino)
{
	count_unread(key_of_numbers(dev, ino));
}

void unread__note(const struct reader_call *c)
{
	uint64_t key = c->in_figures ? key_of(c) : 0;

	if (key)
		count_unread(key);
}

uint64_t readers__n_unread(void)
{
	uint64_t n;

	pthread_mutex_lock(&list.lock);
	n = list.n_unread;
	pthread_mutex_unlock(&list.lock);
	return n;
}

bool readers__has_lost(int fd)
{
	uint64_t key = key_of(&(struct reader_call){ .path = "", .fd = fd });
	bool has;

	pthread_mutex_lock(&list.lock);
	has = key && hash__get(&list.unread, key);
	pthread_mutex_unlock(&list.lock);
	return has;
}

/* Is it the first message, of a file whose probes are not missing? */
static bool note_told(uint64_t key)
{
	bool first;

	pthread_mutex_lock(&list.lock);
	first = !hash__get(&list.unread, key) && !hash__get(&list.told, key);
	if (first)
		hash__put(&list.told, key, &list);
	pthread_mutex_unlock(&list.lock);
	return first;
}

void unread__tell(const char *path, const char *why, bool in_figures)
{
	if (list.on_lost)
		list.on_lost(path, why, in_figures);
}

void unread__not_now(const struct reader_call *c, const char *why)
{
	uint64_t key = key_of(c);

	if (!key || note_told(key))
		unread__tell(c->path, why, false);
}

void readers__lose_file(const char *path, uint64_t dev, uint64_t ino, const char *why, bool in_figures)
{
	uint64_t key = key_of_numbers(dev, ino);

	if (in_figures ? count_unread(key) : note_told(key))
		unread__tell(path, why, in_figures);
}

void unread__give_up(const char *why)
{
	bool first;

	pthread_mutex_lock(&list.lock);
	first = !list.given_up;
	list.given_up = true;
	pthread_mutex_unlock(&list.lock);
	if (first)
		unread__tell(NULL, why, true);
}

void unread__lose(const struct reader_call *c, const char *why, uint64_t wasted_ns)
{
	uint64_t key = key_of(c);
	bool first, too_many;

	pthread_mutex_lock(&list.lock);
	first = key && !hash__get(&list.lost, key);
	if (first)
		hash__put(&list.lost, key, &list);
	list.n_ended++;
	list.wasted_ns += wasted_ns;
	too_many = list.n_ended > ENDED_MAX || list.wasted_ns > WASTED_NS;
	pthread_mutex_unlock(&list.lock);
	if (first)
		unread__tell(c->path, why, c->in_figures);
	if (too_many)
		unread__give_up("too many readers came to a bad end");
}
