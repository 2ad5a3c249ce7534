// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the table of what the two versions of cgroups call the same things. */
#include "process/memcg.h"

#include <errno.h>
#include <string.h>

#include "process/mounts.h"
#include "process/process.h"
#include "util/parse.h"

/*
 * What probes need beside the copies: page tables, the kernel's records, the page where it carries
 * out what they replaced.
 */
#define SPARE_BYTES (256ull << 10)

/* Version 2 says "max", version 1 the largest number of pages that a word holds. */
#define NO_LIMIT (1ull << 60)

static const struct version {
	const char *type;	/* of the mount */
	const char *controller;	/* as a line of /proc/PID/cgroup has it */
	const char *limit, *usage;
	/* in memory.stat, with what is below: what the kernel takes back when it needs it */
	const char *given_up[3];
} versions[] = {
	{ "cgroup2", "", "memory.max", "memory.current", { "active_file", "inactive_file", "slab_reclaimable" } },
	{ "cgroup", "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", { "total_active_file", "total_inactive_file" } },
};

static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; (at = strstr(at, word)); at += len)
		if ((at == list || at[-1] == ',') && (!at[len] || at[len] == ','))
			return true;
	return false;
}

/* The path of its cgroup in this hierarchy, in the text, which has to stay; NULL: it is in none. */
static char *path_in(const struct version *v, char *cgroups)
{
	char *save = NULL;

	for (char *line = strtok_r(cgroups, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = 0;
		controllers++;
		if (*v->controller ? has_word(controllers, v->controller) : !*controllers)
			return path;
	}
	return NULL;
}

/* -ENOENT where there is no such file, -ERANGE where it says that there is no limit. */
static int read_number(const char *dir, const char *file, uint64_t *ret)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, file), *text = NULL;
	int err = read_small_file(path, &text, NULL);

	if (err)
		return err;
	text[strcspn(text, "\n")] = 0;
	return parse_u64(text, 0, NO_LIMIT - 1, ret) ? -ERANGE : 0;
}

static uint64_t read_given_up(const struct version *v, const char *dir)
{
	_cleanup_free_ char *path = xasprintf("%s/memory.stat", dir), *text = NULL;
	char *save = NULL;
	uint64_t sum = 0;

	if (read_small_file(path, &text, NULL))
		return 0;
	/* lines with a name and a number */
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *value = strchr(line, ' ');
		uint64_t n;

		if (!value)
			continue;
		*value++ = 0;
		for (size_t i = 0; i < ARRAY_SIZE(v->given_up); i++)
			if (v->given_up[i] && !strcmp(line, v->given_up[i]) && !parse_u64(value, 0, INT64_MAX, &n))
				sum += n;
	}
	return sum;
}

/* One cgroup: is it the tightest so far? */
static void look_at(const struct version *v, const char *dir, struct memcg *m)
{
	uint64_t limit, used, given_up, room;

	if (read_number(dir, v->limit, &limit) || read_number(dir, v->usage, &used))
		return;
	given_up = read_given_up(v, dir);
	used = used > given_up ? used - given_up : 0;
	room = limit > used ? limit - used : 0;
	if (room >= m->room_bytes)
		return;
	free(m->dir);
	*m = (struct memcg){ xstrdup(dir), v->limit, limit, used, room };
}

/*
 * The directory of the cgroup in this hierarchy, and how much of it is the mount; the caller's. NULL: it is in none, or
 * lies outside of our own cgroup namespace, where it cannot be seen.
 */
static char *dir_in(const struct version *v, const char *mounts, const char *cgroups, size_t *ret_top)
{
	_cleanup_free_ char *text = xstrdup(mounts), *lines = xstrdup(cgroups);
	char *path = path_in(v, lines), *save = NULL;

	for (char *line = path ? strtok_r(text, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
		struct mount m;
		const char *below;

		if (!mount__parse(line, &m) || strcmp(m.type, v->type) ||
		    (*v->controller && !has_word(m.options, v->controller)))
			continue;
		below = mount__below(&m, path);
		if (!below)
			continue;
		if (strstr(below, "/.."))
			return NULL;
		*ret_top = strlen(m.point);
		return xasprintf("%s%s", m.point, strcmp(below, "/") ? below : "");
	}
	return NULL;
}

/* The one above, in place; false: that is outside of what is mounted. */
static bool go_up(char *dir, size_t top)
{
	char *slash = strrchr(dir, '/');

	if (!slash || (size_t)(slash - dir) < top)
		return false;
	*slash = 0;
	return true;
}

void memcg__look(const char *mounts, const char *cgroups, struct memcg *ret)
{
	*ret = (struct memcg){ .room_bytes = UINT64_MAX };
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		size_t top = 0;
		_cleanup_free_ char *dir = dir_in(&versions[i], mounts, cgroups, &top);

		if (!dir)
			continue;
		do
			look_at(&versions[i], dir, ret);
		while (go_up(dir, top));
	}
}

void memcg__of(pid_t pid, struct memcg *ret)
{
	_cleanup_free_ char *mounts = NULL, *cgroups = NULL;

	*ret = (struct memcg){ .room_bytes = UINT64_MAX };
	if (!mounts__own(&mounts) && !process__cgroups(pid, &cgroups))
		memcg__look(mounts, cgroups, ret);
}

void memcg__done(struct memcg *m)
{
	free(m->dir);
	*m = (struct memcg){ .room_bytes = UINT64_MAX };
}

uint64_t memcg__need_bytes(size_t n_pages)
{
	return n_pages * (uint64_t)sysconf(_SC_PAGESIZE) + SPARE_BYTES;
}

/* ---- of all processes */

struct seen {			/* processes in the same cgroups */
	char *cgroups;
	struct tight tight;
};

struct seens vec(struct seen);

static struct seen *seen_of(struct seens *all, const char *cgroups)
{
	struct seen *s;

	for (size_t i = 0; i < all->n; i++)
		if (!strcmp(all->v[i].cgroups, cgroups))
			return &all->v[i];
	s = vec_push(all);
	s->cgroups = xstrdup(cgroups);
	return s;
}

static void see(struct seens *all, const char *mounts, pid_t pid)
{
	_cleanup_free_ char *cgroups = NULL;
	struct seen *s;

	if (process__cgroups(pid, &cgroups))
		return;
	s = seen_of(all, cgroups);
	if (!s->tight.n_processes++) {
		s->tight.pid = pid;
		memcg__look(mounts, cgroups, &s->tight.memcg);
	}
}

/* Those that are in one cgroup, or below it, have to share its room. */
static void gather(struct seens *all, size_t n_pages, struct tights *ret)
{
	for (size_t i = 0; i < all->n; i++) {
		struct tight *one = &all->v[i].tight;

		for (size_t k = 0; k < i && one->memcg.dir; k++) {
			struct tight *first = &all->v[k].tight;

			if (!first->memcg.dir || strcmp(first->memcg.dir, one->memcg.dir))
				continue;
			first->n_processes += one->n_processes;
			memcg__done(&one->memcg);
		}
	}
	for (size_t i = 0; i < all->n; i++) {
		struct tight *one = &all->v[i].tight;

		if (!one->memcg.dir || one->memcg.room_bytes >= memcg__need_bytes(n_pages * one->n_processes))
			continue;
		*vec_push(ret) = *one;
		one->memcg.dir = NULL;
	}
}

void tights__find(size_t n_pages, struct tights *ret)
{
	_cleanup_free_ char *mounts = NULL;
	struct seens all = {};

	_cleanup_pids_ struct pids pids = pids__of_all();
	pid_t pid;

	if (mounts__own(&mounts))
		return;
	while ((pid = pids__next_other(&pids)))
		see(&all, mounts, pid);
	gather(&all, n_pages, ret);
	for (size_t i = 0; i < all.n; i++) {
		memcg__done(&all.v[i].tight.memcg);
		free(all.v[i].cgroups);
	}
	vec_done(&all);
}

void tights__done(struct tights *t)
{
	for (size_t i = 0; i < t->n; i++)
		memcg__done(&t->v[i].memcg);
	vec_done(t);
}
