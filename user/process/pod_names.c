// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the names of pods that were read: thousands of processes may be in a few pods. A uid has one name for good, so what
 * is known is not read again; one that is not known is looked for once a second at most. Where there is no room for more, all are
 * forgotten and read again: pods come and go.
 */
#include "process/pod_names.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "process/engine_files.h"
#include "util/invoker.h"
#include "util/util.h"

#define KNOWN_MAX 4096
#define PAUSE_NS SECOND_NS

struct known {
	char *uid, *name;
};

static struct {
	pthread_mutex_t lock;
	struct vec(struct known) v;
	uint64_t read_ns;	/* when it was; 0: never */
} known = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const char *find(const char *uid)
{
	for (size_t i = 0; i < known.v.n; i++)
		if (!strcmp(known.v.v[i].uid, uid))
			return known.v.v[i].name;
	return NULL;
}

static void forget_all(void)
{
	for (size_t i = 0; i < known.v.n; i++) {
		free(known.v.v[i].uid);
		free(known.v.v[i].name);
	}
	vec_done(&known.v);
}

static void add(const struct engine_named *n, void *arg)
{
	struct known k, *slot;

	(void)arg;
	if (known.v.n >= KNOWN_MAX || find(n->id))
		return;
	k.uid = strdup(n->id);
	if (asprintf(&k.name, "%s/%s", n->ns, n->name) < 0)
		k.name = NULL;
	slot = k.uid && k.name ? vec_push(&known.v) : NULL;
	if (slot) {
		*slot = k;
	} else {
		free(k.uid);
		free(k.name);
	}
}

char *pod_names__get(const char *uid)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	const char *name;
	char *copy;

	pthread_mutex_lock(&known.lock);
	name = find(uid);
	if (!name && (!known.read_ns || now - known.read_ns >= PAUSE_NS)) {
		/* with the user's own rights: root lets all see the names of its pods, or root alone */
		struct invoker_rights before = invoker__begin();

		if (known.v.n >= KNOWN_MAX)
			forget_all();
		engine_files__pods(engine_files__root(), add, NULL);
		invoker__end(&before);
		known.read_ns = now;
		name = find(uid);
	}
	copy = strdup(name ? name : uid);
	pthread_mutex_unlock(&known.lock);
	return copy;
}
